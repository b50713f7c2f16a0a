//! The objects reachable from one commit and not from another, which a push would send.

use std::collections::{BTreeMap, HashSet};

use gix::objs::FindExt;
use gix::objs::tree::EntryKind;

use crate::error::{Error, Result, empirica};
use crate::git::objects::unreadable;
use crate::git::process::{git, text};
use crate::git::remotes::is_partial;
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// The text of an object.
#[derive(Debug)]
pub enum Object {
    /// A commit: its headers without tree, parents and signature, and its message.
    Commit(String),
    /// A tree: its entry names.
    Tree(Vec<String>),
    /// A blob: its content.
    Blob(Vec<u8>),
}

/// The longest path that is extended, in bytes; what is below has its path.
const LONGEST_PATH: usize = 4096;

/// The objects of the commits reachable from `tip` and not from `pushed`, newest first, with their paths, without those that a parent has at the same path. Skips
/// those missing from a partial clone. `git rev-list --objects` lists fewer, but reads all trees of `pushed` for it.
pub fn objects(repo: &Repository, tip: Oid, pushed: Option<Oid>) -> Result<Vec<(Oid, String)>> {
    repo.store_objects()?;
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--parents"]).args(is_partial(repo).then_some("--missing=allow-promisor"));
    command.arg(tip.to_string()).args(pushed.map(|pushed| format!("^{pushed}"))).arg("--");
    let listed = text(&mut command).map_err(|error| incomplete().reason(error.in_one_line()))?;
    let mut walk = Walk { repo, is_partial: is_partial(repo), seen: HashSet::new(), out: Vec::new() };
    for line in listed.lines() {
        let mut ids = line.split(' ').filter_map(parse_oid);
        let Some(commit) = ids.next() else { continue };
        walk.out.push((commit, String::new()));
        let parents = ids.filter(|parent| repo.has_object(*parent)).map(|parent| repo.tree_of(parent));
        walk.tree(repo.tree_of(commit)?, parents.collect::<Result<_>>()?)?;
    }
    Ok(walk.out)
}

fn incomplete() -> Error {
    Error::storage("cannot list the objects of the notes")
        .suggest(
            "An object of the notes or their history may be damaged or missing. Run doctor; it can rewrite the notes without it.",
        )
        .command(empirica("doctor"))
        .command(empirica("flush").flag("--without-damaged"))
}

/// The entries of a tree by name.
type TreeEntries = BTreeMap<Vec<u8>, (EntryKind, Oid)>;

struct Walk<'r> {
    repo: &'r Repository,
    is_partial: bool,
    seen: HashSet<Oid>,
    out: Vec<(Oid, String)>,
}

impl Walk<'_> {
    /// Adds a tree and what is in it and in none of these, the trees of the parents.
    fn tree(&mut self, root: Oid, before: Vec<Oid>) -> Result<()> {
        let mut pending = vec![(root, String::new(), before)];
        while let Some((tree, path, before)) = pending.pop() {
            if before.contains(&tree) || !self.seen.insert(tree) {
                continue;
            }
            let Some(entries) = self.entries(tree)? else { continue };
            self.out.push((tree, path.clone()));
            let before: Vec<Oid> = before.into_iter().filter(|id| self.repo.has_object(*id)).collect();
            let before = before.into_iter().map(|id| self.entries(id)).collect::<Result<Vec<_>>>()?;
            let before: Vec<TreeEntries> = before.into_iter().flatten().collect();
            for (name, (kind, id)) in entries {
                let others = || before.iter().filter_map(|entries| entries.get(&name));
                if kind == EntryKind::Commit || others().any(|(_, other)| *other == id) {
                    continue;
                }
                let name_text = String::from_utf8_lossy(&name);
                let path = match (path.as_str(), path.len() < LONGEST_PATH) {
                    ("", _) => name_text.into_owned(),
                    (_, true) => format!("{path}/{name_text}"),
                    (_, false) => path.clone(),
                };
                if kind == EntryKind::Tree {
                    let others = others().filter(|(kind, _)| *kind == EntryKind::Tree).map(|(_, id)| *id);
                    pending.push((id, path, others.collect()));
                } else if self.seen.insert(id) {
                    match self.repo.has_object(id) {
                        true => self.out.push((id, path)),
                        false if self.is_partial => {}
                        false => return Err(incomplete().reason(format!("{id} is missing"))),
                    }
                }
            }
        }
        Ok(())
    }

    /// The entries of a tree; `None` if it is missing from a partial clone.
    fn entries(&self, tree: Oid) -> Result<Option<TreeEntries>> {
        if tree == self.repo.empty_tree() || (self.is_partial && !self.repo.has_object(tree)) {
            return Ok(None);
        }
        let mut buffer = Vec::new();
        let read = self.repo.find_tree(&tree, &mut buffer);
        let read = read.map_err(|error| incomplete().reason(unreadable(tree, error).in_one_line()))?;
        let entries = read.entries.iter();
        Ok(Some(entries.map(|entry| (entry.filename.to_vec(), (entry.mode.kind(), entry.oid.to_owned()))).collect()))
    }
}

/// Reads an object; `None` if it is missing or a tag.
pub fn object(repo: &Repository, id: Oid) -> Result<Option<Object>> {
    if !repo.has_object(id) {
        return Ok(None);
    }
    repo.check_size(&id).map_err(|error| unreadable(id, error))?;
    let object = repo.gix().find_object(id).map_err(|error| unreadable(id, error))?;
    Ok(match object.kind {
        gix::objs::Kind::Blob => Some(Object::Blob(object.data.clone())),
        gix::objs::Kind::Commit => {
            let text = String::from_utf8_lossy(&object.data).into_owned();
            let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
            let mut is_signature = false;
            let kept = head.lines().filter(|line| {
                // continuation lines of a signature are indented
                is_signature = line.starts_with("gpgsig") || is_signature && line.starts_with(' ');
                !is_signature && !line.starts_with("tree ") && !line.starts_with("parent ")
            });
            Some(Object::Commit(kept.chain([message]).collect::<Vec<_>>().join("\n")))
        }
        gix::objs::Kind::Tree => {
            let tree = object.try_into_tree().map_err(|error| unreadable(id, error))?;
            let names = tree.iter().filter_map(|entry| Some(entry.ok()?.filename().to_string()));
            Some(Object::Tree(names.collect()))
        }
        gix::objs::Kind::Tag => None,
    })
}
