//! `repair`: each rule alone, choices, commits left alone, and no write without a choice.

use std::fs;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

const MARKDOWN: &str = "refs/notes/empirica/handoffs";

/// A handoff on HEAD; returns its id.
#[track_caller]
fn hand_over(repo: &Repo<'_>, task: &str) -> String {
    repo.start("ada", task);
    repo.json(["finding", &format!("learned: {task}")]);
    repo.json(["handoff", "--next", "go on"])["handoff_id"].as_str().expect("an id").to_owned()
}

/// `repair` as a list of (from, to, rule, state).
#[track_caller]
fn repairs(repo: &Repo<'_>, arguments: &[&str]) -> Vec<(String, String, String, String)> {
    let json = repo.json([&["repair"], arguments].concat());
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let list = json["repairs"].as_array().expect("a list");
    list.iter().map(|r| (text(&r["from"]), text(&r["to"]), text(&r["rule"]), text(&r["state"]))).collect()
}

fn row(from: &str, to: &str, rule: &str, state: &str) -> (String, String, String, String) {
    (from.to_owned(), to.to_owned(), rule.to_owned(), state.to_owned())
}

/// The commits whose handoffs `git empirica log` shows, with the ids.
fn logged(repo: &Repo<'_>) -> Vec<(String, Vec<String>)> {
    let log = repo.json(["log", "--handoffs"]);
    let ids = |commit: &Value| -> Vec<String> {
        let handoffs = commit["handoffs"].as_array().expect("a list").iter();
        handoffs.map(|h| h["handoff_id"].as_str().expect("an id").to_owned()).collect()
    };
    let commits = log["commits"].as_array().expect("a list").iter();
    commits.map(|c| (c["commit"].as_str().expect("an id").to_owned(), ids(c))).collect()
}

/// Every ref with its value, and every object.
fn written(repo: &Repo<'_>) -> (String, String) {
    let refs = repo.git_out(["for-each-ref"]);
    (refs, repo.git_out(["cat-file", "--batch-all-objects", "--batch-check", "--unordered"]))
}

/// One commit would follow to another by a rule; nothing is written until it is applied; then the handoff is at home
/// there, for this program and for plain git, and there is nothing left to do.
#[track_caller]
fn follows(repo: &Repo<'_>, id: &str, from: &str, to: &str, rule: &str) {
    let before = written(repo);
    assert_eq!(repairs(repo, &[]), [row(from, to, rule, "would_attach")]);
    assert_eq!(written(repo), before, "nothing is written unasked");
    assert_eq!(repairs(repo, &["--apply"]), [row(from, to, rule, "attached")]);
    assert_eq!(logged(repo), [(to.to_owned(), vec![id.to_owned()])]);
    let plain = repo.git_out(["log", "-1", "--notes=empirica/handoffs", to]);
    assert!(plain.contains("go on") && plain.contains("- All: "), "{plain}");
    let journal = repo.note("refs/notes/empirica/data/journal", to);
    assert!(journal.contains("learned: "), "the journal follows too: {journal}");
    let after = written(repo);
    assert_eq!(repairs(repo, &["--apply"]), []);
    assert_eq!(written(repo), after, "twice is the same as once");
    assert_eq!(repo.json(["handoff", "list"])["total_found"], 1, "attached, not doubled");
    repo.fsck();
}

#[test]
fn a_squash_merge_on_a_moved_base_has_the_patch_of_the_whole_branch() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["switch", "-q", "-c", "feature"]).ok();
    let first = repo.commit("a", "one\n", "First half");
    let id = hand_over(&repo, "feature");
    repo.commit("a", "one\ntwo\n", "Second half");
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("other", "moved\n", "Move the base");
    repo.git(["merge", "-q", "--squash", "feature"]).ok();
    repo.git(["commit", "-q", "-m", "Feature (#1)"]).ok();
    follows(&repo, &id, &first, &repo.head(), "range_patch_id");
}

#[test]
fn a_hosts_squash_is_found_by_the_remote_tracking_branch_and_by_the_reflog() {
    for keep_branch in [true, false] {
        let place = Sandbox::new();
        let origin = place.repo("origin");
        let repo = place.clone(&origin, "clone", false);
        repo.git(["switch", "-q", "-c", "feature"]).ok();
        let first = repo.commit("a", "one\n", "First half");
        let id = hand_over(&repo, "feature");
        repo.commit("b", "two\n", "Second half");
        repo.git(["push", "-q", "origin", "feature"]).ok();
        repo.git(["switch", "-q", "main"]).ok();
        repo.git(["branch", "-q", "-D", "feature"]).ok();
        if keep_branch {
            repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
        } else {
            repo.git(["update-ref", "-d", "refs/remotes/origin/feature"]).ok();
        }
        origin.write("a", "one\n");
        origin.write("b", "two\n");
        origin.write("README.md", "another base\n");
        origin.git(["commit", "-q", "-m", "Base", "README.md"]).ok();
        origin.git(["add", "a", "b"]).ok();
        origin.git(["commit", "-q", "-m", "Feature (#1)"]).ok();
        repo.git(["pull", "-q", "--ff-only"]).ok();
        follows(&repo, &id, &first, &repo.head(), "range_patch_id");
    }
}

#[test]
fn an_interactive_squash_without_hooks_takes_both_commits() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let first = repo.commit("a", "one\n", "First half");
    hand_over(&repo, "first");
    let second = repo.commit("b", "two\n", "Second half");
    hand_over(&repo, "second");
    repo.commit("c", "three\n", "Later");
    let squash =
        ["-c", "sequence.editor=sed -i 2s/pick/squash/", "-c", "core.editor=true", "rebase", "-q", "-i", "HEAD~3"];
    repo.git(squash).ok();
    let squash = repo.git_out(["rev-parse", "HEAD~1"]);
    let mut expected =
        [row(&first, &squash, "range_patch_id", "attached"), row(&second, &squash, "range_patch_id", "attached")];
    expected.sort();
    assert_eq!(repairs(&repo, &["--apply"]), expected);
    assert_eq!(logged(&repo)[0].0, squash);
    assert_eq!(logged(&repo)[0].1.len(), 2);
}

#[test]
fn a_rebase_without_hooks_is_found_by_the_patch() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["switch", "-q", "-c", "feature"]).ok();
    let old = repo.commit("a", "one\n", "Work");
    let id = hand_over(&repo, "feature");
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("README.md", "hello, moved\n", "Move the base");
    repo.git(["switch", "-q", "feature"]).ok();
    repo.git(["rebase", "-q", "main"]).ok();
    follows(&repo, &id, &old, &repo.head(), "patch_id");
}

#[test]
fn a_pick_to_a_release_branch_gets_the_handoff_and_the_original_keeps_it() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["branch", "release"]).ok();
    repo.commit("README.md", "not for the release\n", "Feature");
    let original = repo.commit("fix", "fixed\n", "Fix");
    let id = hand_over(&repo, "fix");
    repo.git(["switch", "-q", "release"]).ok();
    assert_eq!(repairs(&repo, &[]), [], "nothing is wrong with a commit of another branch");
    repo.git(["cherry-pick", &original]).ok();
    follows(&repo, &id, &original, &repo.head(), "patch_id");
    repo.git(["switch", "-q", "main"]).ok();
    assert_eq!(logged(&repo), [(original, vec![id])]);
    assert_eq!(repairs(&repo, &[]), []);
}

#[test]
fn tree_author_and_date_find_a_commit_whose_patch_changed() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.commit("a", "1\n", "First");
    repo.write("b", "1\n");
    repo.write("c", "1\n");
    repo.git(["add", "."]).ok();
    repo.git(["commit", "-q", "-m", "Second"]).ok();
    let old = repo.head();
    let id = hand_over(&repo, "shift");
    // half of the second commit belongs to the first
    repo.git(["reset", "-q", "--hard", "HEAD~2"]).ok();
    for (files, message) in [(["a", "b"].as_slice(), "First"), (&["c"], "Second")] {
        files.iter().for_each(|file| repo.write(file, "1\n"));
        repo.git(["add", "."]).ok();
        repo.git(["commit", "-q", "-m", message]).ok();
    }
    follows(&repo, &id, &old, &repo.head(), "tree_author_date");
}

#[test]
fn an_empty_commit_has_no_patch_and_is_not_matched_to_its_parent() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["commit", "-q", "--allow-empty", "-m", "Empty"]).ok();
    let old = repo.head();
    let id = hand_over(&repo, "empty");
    repo.git(["commit", "-q", "--amend", "--allow-empty", "-m", "Still empty"]).ok();
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    follows(&repo, &id, &old, &repo.head(), "tree_author_date");
}

#[test]
fn a_missing_commit_is_matched_by_tree_alone_and_reported_so() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let old = repo.commit("a", "one\n", "Work");
    let id = hand_over(&repo, "work");
    repo.git(["commit", "-q", "--amend", "-m", "Better said"]).ok();
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    repo.git(["gc", "-q", "--prune=now"]).ok();
    assert_ne!(repo.git(["cat-file", "-e", &old]).code, 0, "it is gone");
    let output = repo.run(["repair"]).ok();
    assert!(
        output.out.contains("the old commit is not here") && output.out.contains("(not in this clone)"),
        "{}",
        output.out
    );
    assert_eq!(repo.json(["repair"])["repairs"][0]["from_subject"], Value::Null);
    follows(&repo, &id, &old, &repo.head(), "tree");
}

#[test]
fn a_note_pruned_with_its_commit_still_follows() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let old = repo.commit("a", "one\n", "Work");
    hand_over(&repo, "work");
    repo.git(["commit", "-q", "--amend", "-m", "Better said"]).ok();
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    repo.git(["gc", "-q", "--prune=now"]).ok();
    for reference in ["empirica/data/handoffs", "empirica/data/journal", "empirica/handoffs"] {
        repo.git(["notes", "--ref", reference, "prune"]).ok();
        assert_eq!(repo.note(reference, &old), "", "git took it away");
    }
    assert_eq!(repairs(&repo, &["--apply"]), [row(&old, &repo.head(), "tree", "attached")]);
    assert_eq!(logged(&repo)[0].0, repo.head());
}

#[test]
fn repeated_amends_that_change_content_are_found_by_the_reflog() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let old = repo.commit("a", "one\n", "Work");
    let id = hand_over(&repo, "work");
    for content in ["two\n", "three\n", "four\n"] {
        repo.write("a", content);
        repo.git(["commit", "-q", "-a", "--amend", "-m", content]).ok();
    }
    follows(&repo, &id, &old, &repo.head(), "amend");
}

#[test]
fn a_commit_amended_then_squashed_is_followed_through_both() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["switch", "-q", "-c", "feature"]).ok();
    let old = repo.commit("a", "one\n", "First half");
    let id = hand_over(&repo, "feature");
    repo.write("a", "better\n");
    repo.git(["commit", "-q", "-a", "--amend", "--no-edit"]).ok();
    repo.commit("b", "two\n", "Second half");
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("other", "moved\n", "Move the base");
    repo.git(["merge", "-q", "--squash", "feature"]).ok();
    repo.git(["commit", "-q", "-m", "Feature (#1)"]).ok();
    follows(&repo, &id, &old, &repo.head(), "range_patch_id");
}

/// Rewrites HEAD's last commit as filter-repo would: another tree, and no trace but the map.
fn filter(repo: &Repo<'_>, content: &str) -> String {
    repo.write("filtered", content);
    repo.git(["add", "-A"]).ok();
    let tree = repo.git_out(["write-tree"]);
    let commit = repo.git_out(["commit-tree", &tree, "-p", "HEAD~1", "-m", "Filtered"]);
    repo.git(["update-ref", "refs/heads/main", &commit]).ok();
    repo.git(["reset", "-q", "--hard"]).ok();
    commit
}

fn write_map(repo: &Repo<'_>, pairs: &[(&str, &str)]) {
    let folder = repo.path.join(".git/filter-repo");
    fs::create_dir_all(&folder).expect("a folder");
    let head = format!("{:<40} {}\n", "old", "new");
    let lines: String = pairs.iter().map(|(old, new)| format!("{old} {new}\n")).collect();
    fs::write(folder.join("commit-map"), head + &lines).expect("a map");
}

#[test]
fn filter_repos_map_is_followed_also_when_it_ran_twice_and_the_commit_is_gone() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let root = repo.head();
    let old = repo.commit("a", "one\n", "Work");
    let id = hand_over(&repo, "work");
    let once = filter(&repo, "1\n");
    let twice = filter(&repo, "2\n");
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    repo.git(["gc", "-q", "--prune=now"]).ok();
    assert_eq!(repairs(&repo, &[]), [row(&old, "-", "-", "lost")], "without the map there is no way");
    write_map(&repo, &[(&once, &twice), (&root, &root), (&old, &once)]);
    follows(&repo, &id, &old, &twice, "commit_map");
}

#[test]
fn filter_repo_rewrites_every_branch_and_a_dropped_commit_leads_nowhere() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let dropped = repo.commit("a", "one\n", "Dropped");
    let lost = hand_over(&repo, "dropped");
    let new = filter(&repo, "1\n");
    repo.git(["switch", "-q", "-c", "other", "HEAD~1"]).ok();
    let old = repo.commit("b", "two\n", "On another branch");
    hand_over(&repo, "other");
    repo.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    write_map(&repo, &[(&dropped, &"0".repeat(40)), (&old, &new)]);
    let mut expected = [row(&dropped, "-", "-", "lost"), row(&old, &new, "commit_map", "attached")];
    expected.sort();
    assert_eq!(repairs(&repo, &["--apply"]), expected);
    assert!(repo.note(MARKDOWN, &new).contains("learned: other"));
    let output = repo.run(["repair"]).ok();
    let show = format!("git empirica show {}", &lost[lost.len() - 8..]);
    assert!(output.out.contains("lost ") && output.out.contains(&show), "{}", output.out);
    assert!(repo.run(["show", &lost]).ok().out.contains("learned: dropped"), "it stays readable");
}
