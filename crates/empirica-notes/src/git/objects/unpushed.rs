//! The objects reachable from one commit and not from another, which a push would send.

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

/// The objects reachable from `tip` and not from `pushed`, newest first, with their paths. Skips those missing from a
/// partial clone.
pub fn objects(repo: &Repository, tip: Oid, pushed: Option<Oid>) -> Result<Vec<(Oid, String)>> {
    repo.store_objects()?;
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--objects"]).args(is_partial(repo).then_some("--missing=allow-promisor"));
    command.arg(tip.to_string()).args(pushed.map(|pushed| format!("^{pushed}"))).arg("--");
    let listed = text(&mut command).map_err(|error| {
        Error::storage("cannot list the objects of the notes")
            .reason(error.in_one_line())
            .suggest(
                "An object of the notes or their history may be damaged or missing. Run doctor; it can rewrite the notes without it.",
            )
            .command(empirica("doctor"))
            .command(empirica("flush").flag("--without-damaged"))
    })?;
    let object = |line: &str| {
        let (id, path) = line.split_once(' ').unwrap_or((line, ""));
        Some((parse_oid(id)?, path.to_owned()))
    };
    Ok(listed.lines().filter_map(object).collect())
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
