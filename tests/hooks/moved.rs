//! Hooks in a clone that was moved, and in a copy of one.

use std::fs;
use std::process::Command;

use crate::setup::init::{listing, script};
use crate::support::harness::{Repo, Sandbox};

/// Refuses any commit.
const REFUSES: &str = "#!/bin/sh\necho theirs refuses >&2\nexit 1\n";

/// A repository with hooks of the user's: in git's folder, or in a tracked one.
fn guarded<'p>(place: &'p Sandbox, folder: &str) -> Repo<'p> {
    let repo = place.repo("before");
    if folder != ".git/hooks" {
        repo.git(["config", "core.hooksPath", folder]).ok();
    }
    script(&repo.path.join(folder).join("pre-commit"), REFUSES);
    script(&repo.path.join(folder).join("post-commit"), "#!/bin/sh\nexit 0\n");
    repo
}

/// Whether the hook of the user's refuses a commit.
fn refuses(repo: &Repo<'_>) -> bool {
    let ran = repo.git(["commit", "-q", "--allow-empty", "-m", "x"]);
    assert_eq!(ran.code == 1, ran.err.contains("theirs refuses"), "{}", ran.err);
    ran.code == 1
}

fn moved<'p>(repo: &Repo<'p>) -> Repo<'p> {
    let to = repo.place.path().join("moved/after");
    fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
    fs::rename(&repo.path, &to).expect("moved");
    repo.place.at(to)
}

fn copied<'p>(repo: &Repo<'p>) -> Repo<'p> {
    let to = repo.place.path().join("copy");
    let copied = Command::new("cp").arg("-a").arg(&repo.path).arg(&to).status();
    assert!(copied.expect("cp starts").success());
    repo.place.at(to)
}

/// Where git looks for hooks.
fn hooks_path(repo: &Repo<'_>) -> String {
    repo.git(["config", "core.hooksPath"]).out.trim_end().to_owned()
}

#[test]
fn hooks_of_the_user_run_again_in_a_moved_clone_after_any_set_up() {
    for folder in [".git/hooks", ".husky"] {
        for set_up in [&["init"][..], &["doctor", "--fix"]] {
            let place = Sandbox::older_git();
            let repo = guarded(&place, folder);
            let before = hooks_path(&repo);
            repo.json(["init"]);
            assert!(refuses(&repo));
            let repo = moved(&repo);
            let next = repo.json(["status"])["next_commands"].clone();
            assert_eq!(next[0]["command"], "git empirica init", "git finds no hook where it looks: {next}");
            let ran = repo.run(set_up);
            assert!(!format!("{}{}", ran.out, ran.err).contains("by hand"), "{}{}", ran.out, ran.err);
            assert!(refuses(&repo), "{set_up:?}");
            assert_eq!(repo.json(["init"])["changes"], serde_json::json!([]));
            assert_ne!(repo.json(["status"])["next_commands"][0]["command"], "git empirica init");
            repo.json(["deinit"]);
            assert_eq!(hooks_path(&repo), before);
            assert!(refuses(&repo), "after deinit");
        }
    }
}

#[test]
fn deinit_in_a_moved_clone_restores_the_hooks_of_the_user() {
    for folder in [".git/hooks", ".husky"] {
        let place = Sandbox::older_git();
        let repo = guarded(&place, folder);
        let before = hooks_path(&repo);
        repo.json(["init"]);
        let repo = moved(&repo);
        repo.json(["deinit"]);
        assert_eq!(hooks_path(&repo), before);
        assert!(refuses(&repo) && !repo.path.join(".git/empirica/hooks").exists());
    }
}

#[test]
fn each_worktree_with_hooks_of_its_own_is_set_up_again_after_a_move() {
    let place = Sandbox::older_git();
    let repo = guarded(&place, ".git/hooks");
    repo.git(["config", "extensions.worktreeConfig", "true"]).ok();
    repo.git(["worktree", "add", "-q", "../linked"]).ok();
    let linked = place.at("linked");
    linked.git(["config", "--worktree", "core.hooksPath", ".own"]).ok();
    script(&linked.path.join(".own/pre-commit"), REFUSES);
    repo.json(["init"]);
    linked.json(["init"]);
    assert!(refuses(&repo) && refuses(&linked));
    let repo = moved(&repo);
    repo.git(["worktree", "repair", linked.path.to_str().expect("UTF-8")]).ok();
    repo.json(["init"]);
    assert_eq!(linked.json(["status"])["next_commands"][0]["command"], "git empirica init");
    linked.json(["init"]);
    assert!(refuses(&repo) && refuses(&linked));
    linked.json(["deinit"]);
    assert_eq!(hooks_path(&linked), ".own");
    assert!(refuses(&repo) && refuses(&linked));
}

#[test]
fn setting_up_a_copy_changes_nothing_in_the_original() {
    for folder in [None, Some(".git/hooks"), Some(".husky")] {
        let place = Sandbox::older_git();
        let repo = folder.map_or_else(|| place.repo("before"), |folder| guarded(&place, folder));
        repo.json(["init", "--agents", "claude-code"]);
        // files that the set-up of another worktree wrote
        repo.git(["worktree", "add", "-q", "../linked"]).ok();
        let linked = place.at("linked");
        linked.json(["init", "--agents", "claude-code"]);
        let copy = copied(&repo);
        let before = (listing(&repo.path), listing(&linked.path));
        for set_up in [&["init"][..], &["doctor", "--fix"], &["deinit"]] {
            let ran = copy.run(set_up);
            assert_eq!(ran.code, 0, "{set_up:?}: {}{}", ran.out, ran.err);
            assert!((listing(&repo.path), listing(&linked.path)) == before, "{folder:?} {set_up:?}");
        }
        let left = fs::read_dir(copy.path.join(".git/hooks")).expect("a folder").map(|entry| entry.expect("an entry"));
        let ours = |path: &std::path::Path| fs::read_to_string(path).is_ok_and(|text| text.contains("# git-empirica "));
        assert!(left.map(|entry| entry.path()).all(|path| !ours(&path)), "{folder:?}");
        assert_eq!(refuses(&copy), folder.is_some());
        assert_eq!(refuses(&repo), folder.is_some());
    }
}
