//! The objects reachable from one commit and not from another, which a push would send.

use crate::error::{Error, Result, empirica};
use crate::git::Oid;
use crate::git::objects::unreadable;
use crate::git::process::{git, output};
use crate::git::remotes::is_partial;
use crate::git::repository::Repository;

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

/// The objects reachable from `tip` and not from `known`, newest first, with their paths. Skips those missing from a
/// partial clone.
pub fn objects(repo: &Repository, tip: Oid, known: Option<Oid>) -> Result<Vec<(Oid, String)>> {
    repo.store_objects()?;
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--objects"]).args(is_partial(repo).then_some("--missing=allow-promisor"));
    command.arg(tip.to_string()).args(known.map(|known| format!("^{known}"))).arg("--");
    let listed = output(&mut command).map_err(|error| {
        Error::storage("what the notes lead to cannot be listed")
            .reason(error.in_one_line())
            .suggest(
                "An object of the notes or their history may be damaged or missing. Run doctor; it can rewrite the notes without it.",
            )
            .command(empirica("doctor"))
            .command(empirica("flush").flag("--without-damaged"))
    })?;
    let listed = String::from_utf8_lossy(&listed);
    let object = |line: &str| {
        let (id, path) = line.split_once(' ').unwrap_or((line, ""));
        Some((crate::git::parse_oid(id)?, path.to_owned()))
    };
    Ok(listed.lines().filter_map(object).collect())
}

/// Reads an object; `None` if it is missing or a tag.
pub fn object(repo: &Repository, id: Oid) -> Result<Option<Object>> {
    if !repo.has_object(id) {
        return Ok(None);
    }
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
            let name = |entry: Result<_, _>| -> Option<String> {
                let entry: gix::object::tree::EntryRef<'_, '_> = entry.ok()?;
                Some(entry.filename().to_string())
            };
            Some(Object::Tree(tree.iter().filter_map(name).collect()))
        }
        gix::objs::Kind::Tag => None,
    })
}
