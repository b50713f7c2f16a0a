//! Checks a handoff before it is stored; collects their facts from the commit and the work tree.

pub mod gaps;
pub mod missing;
pub mod reported;
pub mod rules;
pub mod view;

use std::collections::BTreeSet;

use crate::context::{CommandContext, tasks};
use crate::use_cases::handoff::build::DraftHandoff;
use crate::use_cases::handoff::check::rules::{Check, CheckFacts, PathState};
use empirica_notes::error::Result;
use empirica_notes::git::objects::content::{PathContent, Tree, WorkTree, inside};
use empirica_notes::model::Handoff;

/// Most folders searched for manifests.
const MAX_FOLDERS: usize = 200;
/// The largest manifest read, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// The names of files that declare dependencies.
const MANIFESTS: [&str; 31] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "setup.py",
    "setup.cfg",
    "Pipfile",
    "environment.yml",
    "go.mod",
    "Gemfile",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "composer.json",
    "mix.exs",
    "pubspec.yaml",
    "Package.swift",
    "Podfile",
    "deno.json",
    "flake.nix",
    "CMakeLists.txt",
    "conanfile.txt",
    "vcpkg.json",
    "stack.yaml",
    "dune-project",
    "rebar.config",
    "deps.edn",
    "project.clj",
    "build.sbt",
    "Dockerfile",
];

pub fn checks(context: &CommandContext<'_>, draft: &DraftHandoff) -> Result<Vec<Check>> {
    let handoff = &draft.handoff;
    let state = handoff.task_id.as_deref().map(|id| tasks::state(context, id)).transpose()?.flatten();
    let chain: Vec<&Handoff> =
        state.iter().flat_map(|state| state.chain_without(handoff.regenerates.as_ref())).collect();
    let root = context.repo.work_tree();
    let files = WorkTree::of(context.repo);
    let committed = std::cell::RefCell::new(Tree::new(context.repo, context.store.head().tree));
    let changed: BTreeSet<&str> = draft.changed.iter().flatten().map(String::as_str).collect();
    let place = |path: &str| {
        if matches!(path.trim_end_matches('/'), "." | "") {
            return PathState::Committed;
        }
        let Some(path) = inside(root.as_deref(), path) else { return PathState::Outside };
        let on_disk = files.as_ref().is_some_and(|files| files.has(&path));
        match committed.borrow_mut().find(&path) {
            PathContent::File(_) | PathContent::Folder(_) | PathContent::Unknown if files.is_none() || on_disk => {
                PathState::Committed
            }
            PathContent::Nothing if on_disk => PathState::Uncommitted,
            PathContent::Nothing if !changed.contains(path.as_str()) => PathState::Missing,
            _ => PathState::Deleted,
        }
    };
    let manifests = manifests(context, draft);
    let declares = |name: &str| (!manifests.is_empty()).then(|| manifests.iter().any(|text| names(text, name)));
    let reported = reported::reported(context, handoff)?;
    let plain = |path: &str| inside(root.as_deref(), path).unwrap_or_else(|| path.to_owned());
    let facts = CheckFacts {
        place: &place,
        plain: &plain,
        own: draft.own.as_deref(),
        changed: draft.changed.as_deref(),
        chain: &chain,
        declares: &declares,
        reported: &reported,
    };
    Ok(rules::checks(handoff, &facts))
}

/// The contents of manifests in the work tree: at its root, and in the folders of changed files and their parents.
fn manifests(context: &CommandContext<'_>, draft: &DraftHandoff) -> Vec<String> {
    let Some(root) = context.repo.work_tree() else { return Vec::new() };
    let mut folders: BTreeSet<String> = BTreeSet::from([String::new()]);
    let named = draft.changed.iter().flatten().chain(&draft.handoff.artifacts);
    for path in named.filter_map(|path| inside(Some(&root), path)) {
        let above = path.match_indices('/').map(|(at, _)| path[..at].to_owned());
        folders.extend(above);
    }
    let in_folder = |folder: &String| MANIFESTS.map(|name| root.join(folder).join(name));
    let paths = folders.iter().take(MAX_FOLDERS).flat_map(in_folder);
    let read = |path: std::path::PathBuf| {
        let meta = path.symlink_metadata().ok()?;
        // a link may lead outside
        let text = (meta.is_file() && meta.len() <= MAX_BYTES).then(|| std::fs::read(&path).ok())??;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    paths.filter_map(read).collect()
}

/// Whether a text has the name of a dependency, without version and features, in any case, as a whole word outside comments.
fn names(text: &str, dependency: &str) -> bool {
    let name = dependency.split([' ', ',', '[', '(', ';']).next().unwrap_or_default();
    // `@` begins a scope or a version
    let name = name.char_indices().skip(1).find(|(_, c)| "@=<>~^:!".contains(*c)).map_or(name, |(at, _)| &name[..at]);
    if name.is_empty() {
        return true;
    }
    let name = name.to_lowercase();
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let is_comment = |line: &&str| line.trim_start().starts_with(['#', '/', ';']);
    text.lines().filter(|line| !is_comment(line)).any(|line| {
        let line = line.to_lowercase();
        line.match_indices(&name).any(|(at, _)| {
            let before = line[..at].chars().next_back().is_none_or(|c| !is_of_name(c));
            before && line[at + name.len()..].chars().next().is_none_or(|c| !is_of_name(c))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_match_as_whole_words_without_version() {
        let text = "[dependencies]\nserde_json = \"1\"\n\"@scope/pkg\": \"^2\"\nrequests>=2\n# todo: tokio\n";
        for name in [
            "serde_json",
            "serde_json 1.0",
            "serde_json@1",
            "@scope/pkg",
            "@scope/pkg@^2",
            "requests==2.1",
            "serde_json, 1.0",
            "serde_json[raw]",
            "Serde_JSON",
        ] {
            assert!(names(text, name), "{name}");
        }
        for name in ["serde", "json", "request", "pkg2", "tokio"] {
            assert!(!names(text, name), "{name}");
        }
    }
}
