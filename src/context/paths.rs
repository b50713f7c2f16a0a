//! Warnings about given paths that do not exist.

use std::path::Path;

use crate::context::CommandContext;
use empirica_notes::git::objects::content::{PathContent, Tree, WorkTree, inside, tree_path};

/// A warning for each file that is neither in the worktree nor in HEAD, relative to the worktree root or the current
/// folder.
pub(crate) fn files(context: &CommandContext<'_>, what: &str, paths: &[String]) -> Vec<String> {
    let missing = paths.iter().filter(|path| !is_there(context, path));
    missing.map(|path| format!("{what} {path}: no such file in the work tree or in HEAD")).collect()
}

/// Same for a source if it looks like a path: begins like one, is in an existing folder, or ends in a file name whose
/// extension is not a domain.
pub(crate) fn source(context: &CommandContext<'_>, source: &str) -> Vec<String> {
    let begins = ["./", "../", "/"].iter().any(|start| source.starts_with(start));
    let folder = source.split_once('/').is_some_and(|(folder, _)| is_there(context, folder));
    // without a position in the file
    let path = source.split([':', '#', '?']).next().unwrap_or(source);
    let parts: Vec<&str> = path.split('/').collect();
    let named = match parts.as_slice() {
        [name] => name.rsplit_once('.').is_some_and(|(_, end)| !["com", "org", "net", "io", "dev"].contains(&end)),
        [first, .., name] => !first.contains('.') && name.contains('.'),
        [] => false,
    };
    if source.contains("://") || source.contains(char::is_whitespace) || !begins && !folder && !named {
        return Vec::new();
    }
    files(context, "source", &[path.to_owned()])
}

fn is_there(context: &CommandContext<'_>, text: &str) -> bool {
    let root = context.repo.work_tree();
    let cwd = &context.env.cwd;
    let files = WorkTree::of(context.repo);
    let mut head = Tree::new(context.repo, context.store.head().tree);
    let mut is_in_tree = |path: String| {
        path.is_empty()
            || files.as_ref().is_some_and(|files| files.has(&path))
            || head.find(&path) != PathContent::Nothing
    };
    let path = text.trim_end_matches('/');
    let inside = [inside(root.as_deref(), path), tree_path(root.as_deref(), cwd, path)];
    inside.into_iter().flatten().any(&mut is_in_tree) || cwd.join(Path::new(text)).exists()
}
