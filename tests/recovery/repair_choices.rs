//! `repair` with ambiguous candidates, commits left alone, and repositories and settings of every kind.

use std::fs;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

/// A handoff on HEAD; returns its id.
#[track_caller]
fn hand_over(repo: &Repo<'_>, task: &str) -> String {
    repo.start("ada", task);
    repo.json(["handoff", "--next", "go on"])["handoff_id"].as_str().expect("an id").to_owned()
}

/// A commit with a handoff on a branch that is deleted, and picked to main, reverted and picked again; returns the
/// handoff, the commit, and both picks, the newest first.
fn picked_twice(repo: &Repo<'_>) -> (String, String, [String; 2]) {
    repo.git(["switch", "-q", "-c", "feature"]).ok();
    let old = repo.commit("a", "one\n", "Work");
    let id = hand_over(repo, "work");
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("b", "moved\n", "Move the base");
    repo.git(["cherry-pick", "feature"]).ok();
    let first = repo.head();
    repo.git(["revert", "--no-edit", "HEAD"]).ok();
    repo.git(["cherry-pick", "feature"]).ok();
    repo.git(["branch", "-q", "-D", "feature"]).ok();
    (id, old, [repo.head(), first])
}

fn commits_with_handoffs(repo: &Repo<'_>) -> Vec<String> {
    let log = repo.json(["log", "--handoffs"]);
    log["commits"].as_array().expect("a list").iter().map(|c| c["commit"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn several_candidates_need_a_choice_and_nothing_is_written() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (id, old, picks) = picked_twice(&repo);
    let refs = repo.git_out(["for-each-ref"]);
    let json = repo.json(["repair", "--apply"]);
    let text = &json["repairs"][0];
    assert_eq!((&text["state"], &text["rule"], &text["to"]), (&"ambiguous".into(), &"patch_id".into(), &Value::Null));
    let candidates: Vec<&str> =
        text["candidates"].as_array().expect("a list").iter().filter_map(|c| c["commit"].as_str()).collect();
    assert_eq!(candidates, picks);
    assert_eq!(text["records"][0]["id"], *id);
    assert_eq!(repo.git_out(["for-each-ref"]), refs, "never guessed");
    let ran = repo.run(["repair"]).ok();
    let command = format!("git empirica doctor --fix --to {old}={}", picks[1]);
    assert!(ran.out.contains(&command) && ran.err.contains("wait for your choice"), "{}{}", ran.out, ran.err);

    // the command that is shown does it
    assert_eq!(text["candidates"][1]["command"], *command);
    let words: Vec<&str> = command.split(' ').skip(2).collect();
    let chosen = repo.json(&words);
    assert_eq!((&chosen["repairs"][0]["state"], &chosen["repairs"][0]["rule"]), (&"attached".into(), &"chosen".into()));
    assert_eq!(commits_with_handoffs(&repo), [picks[1].clone()]);
    let refs = repo.git_out(["for-each-ref"]);
    assert_eq!(repo.json(&words)["repairs"][0]["state"], "attached");
    assert_eq!(repo.json(["repair", "--apply"])["total_found"], 0);
    assert_eq!(repo.git_out(["for-each-ref"]), refs, "twice is the same as once");
}

#[test]
fn a_choice_is_shown_first_and_takes_short_ids_and_revisions() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (_, old, picks) = picked_twice(&repo);
    let refs = repo.git_out(["for-each-ref"]);
    let shown = repo.json(["repair", "--to", &format!("{}=HEAD", &old[..7])]);
    assert_eq!(shown["repairs"][0]["state"], "would_attach");
    assert_eq!(shown["repairs"][0]["to"], *picks[0]);
    assert_eq!(repo.git_out(["for-each-ref"]), refs);
    repo.run(["repair", "--apply", "--to", &format!("{}=HEAD", &old[..7])]).ok();
    assert_eq!(commits_with_handoffs(&repo), [picks[0].clone()]);
}

#[test]
fn a_choice_names_a_commit_that_is_gone_and_has_only_a_journal() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let old = repo.commit("a", "one\n", "Work");
    repo.start("ada", "work");
    repo.json(["finding", "a fact"]);
    repo.run(["flush"]).ok();
    repo.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    repo.git(["gc", "-q", "--prune=now"]).ok();
    let new = repo.commit("b", "two\n", "Instead");
    let json = repo.json(["repair", "--apply", "--to", &format!("{old}=HEAD")]);
    assert_eq!(json["repairs"][0]["records"].as_array().map(Vec::len), Some(2), "{json}");
    assert!(repo.note("refs/notes/empirica/data/journal", &new).contains("a fact"));
    let log = repo.json(["log", "--journal"]);
    assert_eq!(log["commits"][0]["commit"], *new);
}

#[test]
fn an_invalid_choice_is_refused_and_nothing_is_written() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (_, old, _) = picked_twice(&repo);
    let refs = repo.git_out(["for-each-ref"]);
    for (code, choice) in [
        (2, "nonsense".to_owned()),
        (2, format!("{old}=")),
        (2, "=HEAD".to_owned()),
        (2, format!("{old}={old}")),
        (1, format!("{old}=no-such-revision")),
        (1, format!("{old}=HEAD:a")),
        (1, "HEAD=HEAD~1".to_owned()),
        (1, format!("{}=HEAD", "f".repeat(40))),
        (1, "no-such-revision=HEAD".to_owned()),
    ] {
        repo.fails(code, ["repair", "--apply", "--to", &choice]);
    }
    assert_eq!(repo.git_out(["for-each-ref"]), refs);
}

#[test]
fn a_commit_that_something_holds_is_not_lost() {
    for keep in [
        &["branch", "kept", "HEAD"][..],
        &["tag", "-a", "-m", "x", "kept"],
        &["update-ref", "refs/remotes/o/x", "HEAD"],
    ] {
        let place = Sandbox::new();
        let repo = place.repo("r");
        repo.git(["switch", "-q", "--detach"]).ok();
        repo.commit("a", "one\n", "Work");
        hand_over(&repo, "work");
        repo.git(keep).ok();
        repo.git(["switch", "-q", "main"]).ok();
        assert_eq!(repo.json(["repair"])["total_found"], 0, "{keep:?}");
    }
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["worktree", "add", "-q", "--detach", "../other"]).ok();
    let other = place.at("other");
    other.commit("a", "one\n", "Work");
    hand_over(&other, "work");
    assert_eq!(repo.json(["repair"])["total_found"], 0, "a worktree has it checked out");
    other.git(["switch", "-q", "--detach", "main"]).ok();
    assert_eq!(repo.json(["repair"])["repairs"][0]["state"], "lost");
}

#[test]
fn a_superseded_handoff_is_not_called_lost() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["switch", "-q", "--detach"]).ok();
    repo.commit("a", "one\n", "Given up");
    hand_over(&repo, "work");
    repo.git(["switch", "-q", "main"]).ok();
    assert_eq!(repo.json(["repair"])["repairs"][0]["state"], "lost");
    repo.json(["handoff", "--next", "again"]);
    assert_eq!(repo.json(["repair"])["total_found"], 0);
}

#[test]
fn a_shallow_clone_does_not_call_the_history_it_lacks_lost() {
    let place = Sandbox::new();
    let origin = place.repo("origin");
    hand_over(&origin, "old work");
    let path = format!("file://{}", origin.path.display());
    // a commit with the same tree is no evidence where the other one is only cut off
    for name in ["same", "other"] {
        match name {
            "same" => drop(origin.git(["commit", "-q", "--allow-empty", "-m", "Start the checks again"]).ok()),
            _ => drop(origin.commit("a", "one\n", "Later")),
        }
        origin.git(["clone", "-q", "--depth", "1", &path, &format!("../{name}")]).ok();
        let clone = place.at(name);
        clone.git(["fetch", "-q", "--depth", "1", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
        let json = clone.json(["repair", "--apply"]);
        assert_eq!(json["total_found"], 0, "{json}");
        assert!(json["warning"].as_str().is_some_and(|text| text.contains("shallow")), "{json}");
    }
}

#[test]
fn a_handoff_of_a_commit_that_was_dropped_can_be_put_on_its_parent() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let kept = repo.head();
    let dropped = repo.commit("a", "one\n", "Dropped");
    let id = hand_over(&repo, "work");
    repo.run(["flush"]).ok();
    let other = place.clone(&repo, "other", true);
    other.run(["sync"]).ok();
    repo.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    repo.json(["doctor", "--fix", "--to", &format!("{dropped}=HEAD")]);
    assert_eq!(repo.handoffs_at(&kept), std::slice::from_ref(&id));
    // also in a clone that has not made the choice
    other.run(["sync"]).ok();
    other.git(["reset", "-q", "--hard", &kept]).ok();
    assert_eq!(other.handoffs_at(&kept), [id]);
}

#[test]
fn a_colleagues_commit_that_is_not_here_yet_is_listed_and_kept_readable() {
    let place = Sandbox::new();
    let first = place.repo("first");
    let second = place.clone(&first, "second", false);
    first.commit("a", "one\n", "Not pushed");
    let id = hand_over(&first, "their work");
    let path = first.path.to_str().expect("UTF-8");
    second.git(["fetch", "-q", path, "refs/notes/empirica/data/*:refs/notes/empirica/remotes/origin/data/*"]).ok();
    let json = second.json(["repair", "--apply"]);
    assert_eq!((&json["repairs"][0]["state"], &json["repairs"][0]["from_subject"]), (&"lost".into(), &Value::Null));
    assert!(second.run(["show", &id]).ok().out.contains("their work"));
}

#[test]
fn nothing_to_do_and_an_unborn_head_are_reported() {
    let place = Sandbox::new();
    let repo = place.init("r");
    hand_over(&repo, "first");
    assert!(repo.run(["repair"]).ok().out.contains("HEAD has no commit yet"));
    repo.commit("a", "one\n", "First");
    let ran = repo.run(["repair", "--apply"]).ok();
    assert!(ran.out.contains("Nothing to repair: every handoff has its commit."), "{}", ran.out);
}

#[test]
fn the_users_diff_settings_change_nothing() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["switch", "-q", "-c", "feature"]).ok();
    let old = repo.commit("sub/a b\tc", "one\n\n\ntwo\n", "First half");
    hand_over(&repo, "work");
    fs::write(repo.path.join("binary"), [0, 1, 2, 255]).expect("a file");
    repo.git(["add", "."]).ok();
    repo.git(["commit", "-q", "-m", "Second half"]).ok();
    repo.git(["switch", "-q", "main"]).ok();
    repo.write(".gitattributes", "* diff=odd\n");
    repo.commit("README.md", "moved\n", "Move the base");
    repo.git(["merge", "-q", "--squash", "feature"]).ok();
    repo.git(["commit", "-q", "-m", "Squash"]).ok();
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.external", "false"),
        ("diff.odd.command", "false"),
        ("diff.odd.textconv", "false"),
        ("diff.renames", "copies"),
        ("diff.context", "0"),
        ("diff.interHunkContext", "9"),
        ("diff.relative", "true"),
        ("diff.orderFile", "/dev/null"),
        ("diff.suppressBlankEmpty", "true"),
        ("diff.submodule", "log"),
        ("diff.algorithm", "patience"),
        ("color.ui", "always"),
        ("color.diff", "always"),
        ("core.pager", "false"),
        ("log.showSignature", "true"),
        ("log.showRoot", "false"),
        ("log.date", "relative"),
        ("log.follow", "true"),
        ("format.pretty", "oneline"),
        ("notes.displayRef", "refs/notes/*"),
        ("patchid.stable", "false"),
        ("core.quotePath", "false"),
        ("i18n.logOutputEncoding", "latin1"),
    ] {
        repo.git(["config", key, value]).ok();
    }
    let new = repo.head();
    let mut command = place.command(env!("CARGO_BIN_EXE_git-empirica"), &repo.path.join("sub"));
    command.env("GIT_EXTERNAL_DIFF", "false").env("GIT_DIFF_OPTS", "-u0").args(["repair", "--json"]);
    let out = command.output().expect("the program starts");
    let json: Value = serde_json::from_slice(&out.stdout).expect("a document");
    let found = &json["repairs"][0];
    assert_eq!(
        (&found["from"], &found["to"], &found["rule"]),
        (&old.into(), &new.into(), &"range_patch_id".into()),
        "{json}"
    );
    assert_eq!(json["warnings"], Value::Null);
}

#[test]
fn sha256_a_linked_worktree_and_no_identity_are_no_hindrance() {
    let place = Sandbox::new();
    let path = place.path().join("r");
    fs::create_dir_all(&path).expect("a folder");
    let repo = place.at("r");
    repo.git(["init", "-q", "-b", "main", "--object-format=sha256"]).ok();
    let who = ["-c", "user.name=T", "-c", "user.email=t@example.com"];
    let git = |repo: &Repo<'_>, words: &[&str]| drop(repo.git([&who[..], words].concat()).ok());
    git(&repo, &["commit", "-q", "--allow-empty", "-m", "Begin"]);
    git(&repo, &["worktree", "add", "-q", "-b", "feature", "../linked"]);
    let linked = place.at("linked");
    linked.write("a", "one\n");
    git(&linked, &["add", "."]);
    git(&linked, &["commit", "-q", "-m", "Work"]);
    let old = linked.head();
    hand_over(&linked, "work");
    linked.write("a", "two\n");
    git(&linked, &["commit", "-q", "-a", "--amend", "-m", "Work, amended"]);
    assert_eq!(repo.json(["repair"])["repairs"][0]["state"], "would_attach", "a branch has the amended commit");
    let json = linked.json(["repair", "--apply"]);
    let found = &json["repairs"][0];
    assert_eq!((&found["from"], &found["rule"]), (&old.into(), &"amend".into()));
    assert_eq!(found["to"], *linked.head());
    assert_eq!(commits_with_handoffs(&linked), [linked.head()]);
    assert_eq!(repo.json(["repair"])["total_found"], 0);
    let by = linked.git_out(["log", "-1", "--format=%an <%ae>", "refs/notes/empirica/data/handoffs"]);
    assert_eq!(by, "git-empirica <git-empirica@localhost>");
    linked.fsck();
}

#[test]
fn records_follow_again_if_their_new_commit_vanishes() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.commit("a", "one\n", "Work");
    let id = hand_over(&repo, "work");
    repo.git(["commit", "-q", "--amend", "-m", "Better"]).ok();
    repo.json(["repair", "--apply"]);
    let between = repo.head();
    repo.git(["commit", "-q", "--amend", "-m", "Best"]).ok();
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    let json = repo.json(["repair", "--apply"]);
    assert_eq!(
        (&json["repairs"][0]["from"], &json["repairs"][0]["rule"]),
        (&between.into(), &"patch_id".into()),
        "{json}"
    );
    assert_eq!(commits_with_handoffs(&repo), [repo.head()]);
    assert_eq!(repo.json(["handoff", "list"])["handoffs"][0]["handoff_id"], *id);
}

#[test]
fn a_merge_was_squashed_with_its_branch() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["switch", "-q", "-c", "feature"]).ok();
    repo.commit("a", "one\n", "First half");
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("b", "moved\n", "Move the base");
    repo.git(["switch", "-q", "feature"]).ok();
    repo.git(["merge", "-q", "--no-edit", "main"]).ok();
    let merge = repo.head();
    hand_over(&repo, "on the merge");
    repo.commit("c", "two\n", "Second half");
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("d", "moved again\n", "Move the base again");
    repo.git(["merge", "-q", "--squash", "feature"]).ok();
    repo.git(["commit", "-q", "-m", "Feature (#1)"]).ok();
    let json = repo.json(["repair"]);
    let found = &json["repairs"][0];
    assert_eq!((&found["from"], &found["to"]), (&merge.into(), &repo.head().into()), "{json}");
    assert_eq!(found["rule"], "range_patch_id");
}

#[test]
fn a_pick_from_an_unrelated_history_is_found_by_its_patch() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["switch", "-q", "--orphan", "fresh"]).ok();
    repo.commit("z", "z\n", "Another root");
    let old = repo.commit("a", "one\n", "Work");
    hand_over(&repo, "elsewhere");
    repo.git(["switch", "-q", "main"]).ok();
    repo.git(["cherry-pick", "fresh"]).ok();
    repo.git(["branch", "-q", "-D", "fresh"]).ok();
    let found = &repo.json(["repair"])["repairs"][0];
    assert_eq!((&found["from"], &found["to"]), (&old.into(), &repo.head().into()), "{found}");
    assert_eq!(found["rule"], "patch_id");
}

#[test]
fn a_partial_clone_fetches_nothing_and_names_uncompared_commits() {
    let place = Sandbox::new();
    let origin = place.repo("origin");
    origin.git(["config", "uploadpack.allowFilter", "true"]).ok();
    origin.git(["switch", "-q", "-c", "feature"]).ok();
    origin.commit("a", "one\n", "Work");
    hand_over(&origin, "work");
    origin.git(["switch", "-q", "main"]).ok();
    origin.commit("b", "moved\n", "Move the base");
    origin.git(["cherry-pick", "feature"]).ok();
    let path = format!("file://{}", origin.path.display());
    origin.git(["clone", "-q", "--no-checkout", "--filter=blob:none", &path, "../partial"]).ok();
    let clone = place.at("partial");
    clone.git(["fetch", "-q", "--no-filter", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    let objects = || clone.git_out(["rev-list", "--objects", "--all", "--missing=print"]);
    let before = objects();
    assert!(before.contains("\n?"), "blobs are missing: {before}");
    let json = clone.json(["repair"]);
    assert!(json["warning"].as_str().is_some_and(|text| text.contains("cannot compare the")), "{json}");
    assert_eq!((&json["total_found"], objects()), (&0.into(), before));
    clone.git(["checkout", "-q", "main"]).ok();
    assert_eq!(clone.json(["repair"])["repairs"][0]["rule"], "patch_id", "what is here is compared");
    origin.git(["clone", "-q", "--no-checkout", "--filter=tree:0", &path, "../treeless"]).ok();
    let clone = place.at("treeless");
    clone.git(["fetch", "-q", "--no-filter", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    let json = clone.json(["repair"]);
    assert!(json["warning"].as_str().is_some_and(|text| text.contains("cannot compare the")), "{json}");
}

#[test]
fn an_ancestor_with_the_same_patch_did_not_take_the_place() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["switch", "-q", "--detach"]).ok();
    repo.commit("old", "x\n", "An old line of work");
    hand_over(&repo, "old");
    repo.git(["switch", "-q", "main"]).ok();
    let first = repo.commit("a", "one\n", "Work");
    repo.git(["revert", "--no-edit", "HEAD"]).ok();
    repo.git(["switch", "-q", "--detach"]).ok();
    repo.git(["cherry-pick", &first]).ok();
    let again = repo.head();
    hand_over(&repo, "again");
    repo.git(["switch", "-q", "main"]).ok();
    let json = repo.json(["repair"]);
    let found = json["repairs"].as_array().expect("a list").iter().find(|one| one["from"] == *again);
    assert_eq!(found.expect("it is listed")["state"], "lost", "{json}");
}
