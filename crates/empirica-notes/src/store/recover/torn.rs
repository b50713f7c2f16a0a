//! For tests: the state after a kill while refs are moved: the first moved, the others locked.

use crate::git::refs::Identity;
use crate::git::{RefUpdate, Repository};

pub(crate) fn move_one(repo: &Repository, updates: &[RefUpdate], message: &str, identity: &Identity) {
    let Some((first, others)) = updates.split_first() else { return };
    let _ = repo.update_refs(std::slice::from_ref(first), message, identity);
    for other in others {
        let lock = repo.common_dir().join(format!("{}.lock", other.name));
        let _ = lock.parent().map(std::fs::create_dir_all);
        let _ = std::fs::write(lock, format!("{}\n", other.new));
    }
}
