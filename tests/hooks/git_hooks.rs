//! The hooks after a commit, merge, patch and rewrite: attachments, output, and harmlessness.

use crate::support::harness::{Repo, Sandbox};

const HANDOFFS: &str = "refs/notes/empirica/handoffs";

/// The commit, of those given, at which `log` shows the handoff.
fn home(repo: &Repo<'_>, id: &str) -> Vec<String> {
    let log = repo.json(["log", "--handoffs"]);
    let shown = |commit: &&serde_json::Value| {
        let handoffs = commit["handoffs"].as_array().expect("a list");
        handoffs.iter().any(|handoff| handoff["handoff_id"] == id)
    };
    let commits = log["commits"].as_array().expect("a list").iter().filter(shown);
    commits.map(|commit| commit["commit"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn a_handoff_for_uncommitted_work_goes_to_the_commit_that_holds_it() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let before = repo.head();
    repo.start("claude", "cache");
    repo.write("src/cache.rs", "fn cache() {}\n");
    let id = repo.hand_over("cache");
    assert_eq!(home(&repo, &id), std::slice::from_ref(&before));
    repo.git(["add", "."]).ok();
    repo.git(["commit", "-q", "-m", "Cache"]).ok();
    let after = repo.head();
    assert_eq!(home(&repo, &id), std::slice::from_ref(&after));
    let whole = repo.note(HANDOFFS, &after);
    assert!(whole.starts_with(&format!("# cache (claude, {}, session ", &id[28..])), "{whole}");
    let left = repo.note(HANDOFFS, &before);
    assert!(left.starts_with(&format!("# On the next commit (claude, {}, session ", &id[28..])), "{left}");
    assert_eq!(left.trim_end().lines().count(), 2, "{left}");
    let log = repo.git_out(["log", "--notes=empirica/handoffs"]);
    assert_eq!(log.matches("- Next: n").count(), 1, "{log}");
    repo.fsck();
}

#[test]
fn a_commit_of_other_paths_does_not_get_the_handoff() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let before = repo.head();
    repo.start("claude", "cache");
    repo.write("cache.rs", "fn cache() {}\n");
    let id = repo.hand_over("cache");
    repo.commit("other.txt", "x\n", "Other");
    assert_eq!(home(&repo, &id), [before]);
    // the parent is another one now: nobody guesses
    repo.commit("cache.rs", "fn cache() {}\n", "Cache");
    assert_eq!(home(&repo, &id).len(), 1);
    assert_ne!(home(&repo, &id), [repo.head()]);
}

#[test]
fn a_recreated_commit_gets_the_handoff_again() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "cache");
    repo.write("cache.rs", "1\n");
    let id = repo.hand_over("cache");
    repo.commit("cache.rs", "1\n", "Cache");
    repo.git(["reset", "-q", "--soft", "HEAD~1"]).ok();
    repo.git(["commit", "-q", "-m", "Cache, said better"]).ok();
    assert_eq!(home(&repo, &id), [repo.head()]);
}

#[test]
fn a_superseded_handoff_is_not_shown_at_its_commit() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "cache");
    repo.write("cache.rs", "1\n");
    let first = repo.hand_over("first");
    let second = repo.hand_over("second");
    repo.commit("cache.rs", "1\n", "Cache");
    assert_eq!(home(&repo, &second), [repo.head()]);
    assert!(home(&repo, &first).is_empty());
    let note = repo.note(HANDOFFS, &repo.head());
    assert_eq!((note.matches("\n-- empirica ").count(), note.matches("# second (").count()), (1, 1), "{note}");
}

#[test]
fn a_handoff_waits_through_a_rebase_with_autostash() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.git(["switch", "-q", "-c", "topic"]).ok();
    repo.commit("a.txt", "a\n", "A");
    repo.commit("dirty.txt", "1\n", "D");
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("b.txt", "b\n", "B");
    repo.git(["switch", "-q", "topic"]).ok();
    repo.start("claude", "t");
    repo.write("dirty.txt", "2\n");
    let id = repo.hand_over("t");
    repo.git(["rebase", "-q", "--autostash", "main"]).ok();
    let rebased = repo.head();
    assert_eq!(home(&repo, &id), std::slice::from_ref(&rebased), "with the commit it was written on, not with a pick");
    repo.git(["commit", "-q", "-a", "-m", "The work"]).ok();
    assert_eq!(home(&repo, &id), [repo.head()]);
}

#[test]
fn a_digest_lists_records_since_the_last_commit() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "port the cache");
    repo.run(["finding", "the cache is keyed by user"]).ok();
    repo.run(["decision", "keep LRU", "--why", "it is measured"]).ok();
    repo.run(["evidence", "cargo test", "--exit", "0"]).ok();
    repo.run(["unknown", "who calls it?"]).ok();
    let first = repo.commit("a.txt", "a\n", "A");
    let note = repo.note(HANDOFFS, &first);
    for expected in [
        "# port the cache (claude, ",
        "- Learned: the cache is keyed by user\n",
        "- Decided: keep LRU — it is measured\n",
        "- Checked: passed: cargo test\n",
        "- Open: who calls it?\n",
    ] {
        assert!(note.contains(expected), "{expected}: {note}");
    }
    repo.run(["finding", "the second one"]).ok();
    let second = repo.commit("b.txt", "b\n", "B");
    let note = repo.note(HANDOFFS, &second);
    assert!(note.contains("the second one") && !note.contains("keyed by user"), "{note}");
    let third = repo.commit("c.txt", "c\n", "C");
    assert_eq!(repo.note(HANDOFFS, &third), "", "nothing new was said");
    let log = repo.json(["log", "--digests"]);
    assert_eq!(log["commits"][0]["digests"][0]["findings"][0]["text"], "the second one");
    let text = repo.run(["log", "--digests"]).ok().out;
    assert!(text.contains("learned: the second one"), "{text}");
    assert!(repo.run(["log", "--digests", "--oneline"]).ok().out.contains("digest of port the cache"));
    repo.fsck();
}

#[test]
fn a_digest_does_not_repeat_a_handoff() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "t");
    repo.run(["finding", "told"]).ok();
    repo.write("a.txt", "a\n");
    repo.hand_over("t");
    let commit = repo.commit("a.txt", "a\n", "A");
    let note = repo.note(HANDOFFS, &commit);
    assert_eq!((note.matches("-- empirica ").count(), note.matches("told").count()), (1, 1), "{note}");
    assert!(!repo.lines("handoffs").iter().any(|line| line.contains("\"kind\":\"digest\"")));
}

#[test]
fn digests_are_made_only_if_configured() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "t");
    for (key, value, made) in [
        ("empirica.digest", "false", false),
        ("empirica.digest", "true", true),
        ("empirica.sync", "handoffs", false),
        ("empirica.sync", "all", true),
    ] {
        repo.git(["config", key, value]).ok();
        repo.run(["finding", &format!("{key} {value}")]).ok();
        let commit = repo.commit("a.txt", &format!("{key} {value}\n"), "A");
        assert_eq!(repo.note(HANDOFFS, &commit).contains("- Learned: "), made, "{key} {value}");
        if key == "empirica.digest" && made {
            repo.git(["config", "--unset", key]).ok();
        }
    }
    repo.git(["config", "empirica.sync", "handoffs"]).ok();
    repo.git(["config", "empirica.digest", "true"]).ok();
    repo.run(["finding", "asked for"]).ok();
    let commit = repo.commit("a.txt", "asked\n", "A");
    assert!(repo.note(HANDOFFS, &commit).contains("asked for"));
}

#[test]
fn a_commit_flushes_pending_records() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let before = repo.head();
    repo.start("claude", "t");
    repo.run(["unknown", "why?"]).ok();
    assert!(repo.lines("journal").is_empty());
    repo.commit("a.txt", "a\n", "A");
    assert!(repo.lines("journal").iter().any(|line| line.contains("why?")));
    assert!(repo.note("refs/notes/empirica/data/journal", &before).contains("why?"), "on the commit it was said on");
}

#[test]
fn the_first_commit_gets_the_records_of_an_unborn_head() {
    let place = Sandbox::new();
    let repo = place.init("r");
    repo.run(["init"]).ok();
    repo.start("claude", "t");
    repo.run(["finding", "early"]).ok();
    let id = repo.hand_over("t");
    let first = repo.commit("a.txt", "a\n", "A");
    assert!(repo.note(HANDOFFS, &first).contains("early"), "plain git shows it before any command of ours");
    assert_eq!(home(&repo, &id), [first]);
}

#[test]
fn other_peoples_work_in_another_worktree_is_not_attached() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let linked = place.at("linked");
    repo.git(["worktree", "add", "-q", linked.path.to_str().expect("UTF-8"), "-b", "side"]).ok();
    repo.start("claude", "t");
    repo.write("a.txt", "a\n");
    let id = repo.hand_over("t");
    linked.commit("a.txt", "a\n", "The same path, elsewhere");
    assert_ne!(home(&repo, &id), [linked.head()]);
    linked.start("codex", "linked work");
    linked.run(["finding", "seen in the linked worktree"]).ok();
    linked.write("b.txt", "b\n");
    let second = linked.hand_over("linked work");
    let commit = linked.commit("b.txt", "b\n", "B");
    assert_eq!(home(&linked, &second), std::slice::from_ref(&commit));
    assert!(linked.note(HANDOFFS, &commit).contains("linked work"));
    assert!(!linked.path.join(".git").is_dir());
}

#[test]
fn every_way_to_commit_gets_its_digest_and_keeps_its_author() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.commit("sub/a.txt", "a\n", "Sub");
    repo.start("claude", "t");
    let sub = place.at("r/sub");
    let ways: [(&Repo<'_>, &[&str]); 4] = [
        (&repo, &["commit", "-q", "-a", "-m", "all"]),
        (&repo, &["commit", "-q", "-m", "path", "sub/a.txt"]),
        (&sub, &["commit", "-q", "-a", "-m", "from a subfolder"]),
        (&repo, &["commit", "-q", "-a", "-m", "authored", "--author", "Somebody <s@example.com>"]),
    ];
    for (n, (cwd, arguments)) in ways.into_iter().enumerate() {
        repo.run(["finding", &format!("number {n}")]).ok();
        repo.write("sub/a.txt", &format!("{n}\n"));
        cwd.git(arguments).ok();
        assert!(repo.note(HANDOFFS, &repo.head()).contains(&format!("number {n}")), "{arguments:?}");
        assert_eq!(repo.git_out(["status", "--porcelain"]), "");
        let who = repo.git_out(["log", "-1", "--format=%an <%ae> %cn", HANDOFFS]);
        assert_eq!(who, "Test <test@example.com> Test", "{arguments:?}");
    }
}

#[test]
fn a_submodule_has_its_own_records() {
    let place = Sandbox::new();
    let inner = place.repo("inner");
    let outer = place.set_up("outer");
    let url = inner.path.to_str().expect("UTF-8");
    outer.git(["-c", "protocol.file.allow=always", "submodule", "add", "-q", url, "lib"]).ok();
    outer.git(["commit", "-q", "-m", "Add lib"]).ok();
    let lib = place.at("outer/lib");
    lib.git(["config", "user.name", "Test"]).ok();
    lib.git(["config", "user.email", "test@example.com"]).ok();
    lib.run(["init"]).ok();
    lib.start("claude", "inside");
    lib.run(["finding", "about the library"]).ok();
    let commit = lib.commit("x.txt", "x\n", "X");
    assert!(lib.note(HANDOFFS, &commit).contains("about the library"));
    outer.git(["commit", "-q", "-a", "-m", "Move lib"]).ok();
    assert_eq!(outer.note(HANDOFFS, &outer.head()), "");
}

#[test]
fn picks_reverts_and_patches_get_no_digest() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.git(["switch", "-q", "-c", "topic"]).ok();
    let topic = repo.commit("t.txt", "t\n", "T");
    let patch = repo.git(["format-patch", "-1", "--stdout"]).ok().out;
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("m.txt", "m\n", "M");
    repo.start("claude", "t");
    repo.run(["finding", "mine"]).ok();
    repo.git(["cherry-pick", &topic]).ok();
    assert_eq!(repo.note(HANDOFFS, &repo.head()), "");
    repo.git(["revert", "--no-edit", "HEAD"]).ok();
    assert_eq!(repo.note(HANDOFFS, &repo.head()), "");
    std::fs::write(place.path().join("p"), patch).expect("a file");
    repo.git(["am", "-q", place.path().join("p").to_str().expect("UTF-8")]).ok();
    assert_eq!(repo.note(HANDOFFS, &repo.head()), "");
    let own = repo.commit("o.txt", "o\n", "O");
    assert!(repo.note(HANDOFFS, &own).contains("mine"), "it is told at the next commit of one's own");
}

#[test]
fn no_failure_fails_a_commit() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "t");
    repo.run(["finding", "kept"]).ok();
    // a lock that nobody lifts
    repo.write(".git/refs/notes/empirica/handoffs.lock", "");
    repo.write(".git/refs/notes/empirica/data/journal.lock", "");
    let commit = repo.commit("a.txt", "a\n", "A");
    assert_eq!(repo.note(HANDOFFS, &commit), "");
    let errors = std::fs::read_to_string(repo.path.join(".git/empirica/hook-errors")).expect("errors of hooks");
    assert!(errors.contains("post-commit: "), "{errors}");
    std::fs::remove_file(repo.path.join(".git/refs/notes/empirica/handoffs.lock")).expect("removed");
    std::fs::remove_file(repo.path.join(".git/refs/notes/empirica/data/journal.lock")).expect("removed");
    repo.run(["flush"]).ok();
    assert!(repo.note(HANDOFFS, &commit).contains("kept"), "the digest waited in the log");
    // no repository, an unknown hook, no program
    let elsewhere = place.at("home");
    elsewhere.run(["hook", "post-commit"]).ok();
    repo.run(["hook", "pre-receive"]).code(2);
    for reference in ["handoffs", "data/journal"] {
        repo.write(&format!(".git/refs/notes/empirica/{reference}"), "garbage\n");
    }
    repo.run(["finding", "more"]);
    repo.commit("b.txt", "b\n", "B");
}

#[test]
fn a_commit_without_a_session_leaves_no_trace() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let commit = repo.commit("a.txt", "a\n", "A");
    repo.git(["commit", "-q", "--amend", "-m", "A2"]).ok();
    assert_ne!(commit, repo.head());
    let left = std::fs::read_dir(repo.path.join(".git/empirica")).expect("a folder");
    let left: Vec<_> = left.map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(left, ["init.json"]);
    assert_eq!(repo.git_out(["for-each-ref", "refs/notes"]), "");
}

#[test]
fn a_tool_that_names_its_commits_gets_digests_too() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "t");
    repo.run(["finding", "by the tool"]).ok();
    repo.write("a.txt", "a\n");
    repo.git(["add", "."]).ok();
    let mut commit = place.command("git", &repo.path);
    commit.args(["commit", "-q", "-m", "A"]).env("GIT_REFLOG_ACTION", "mytool");
    assert!(commit.status().expect("git starts").success());
    assert!(repo.note(HANDOFFS, &repo.head()).contains("by the tool"));
}

#[test]
fn a_digest_needs_no_reading_of_all_history() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "t");
    repo.run(["finding", "early"]).ok();
    repo.commit("a.txt", "a\n", "A");
    repo.run(["finding", "late"]).ok();
    // the list of the session's notes is gone, as after a pull
    std::fs::remove_dir_all(repo.path.join(".git/empirica/sessions")).expect("removed");
    let commit = repo.commit("b.txt", "b\n", "B");
    let note = repo.note(HANDOFFS, &commit);
    assert!(note.contains("late") && !note.contains("early"), "{note}");
}
