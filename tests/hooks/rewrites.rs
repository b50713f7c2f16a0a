//! Records and Markdown follow rewritten commits, whatever git's own copying of notes did before.

use crate::support::harness::{Repo, Sandbox, is_long};

const HANDOFFS: &str = "refs/notes/empirica/handoffs";

/// A session with a handoff and a finding on HEAD, and a reviewer's words.
fn annotated(repo: &Repo<'_>) -> (String, String) {
    let commit = repo.commit("a.txt", "a\n", "A");
    repo.start("claude", "the task");
    repo.run(["finding", "known before"]).ok();
    repo.run(["preflight", "-v", "know=0.5,uncertainty=0.5"]).ok();
    let id = repo.hand_over("the task");
    repo.git(["notes", "--ref", HANDOFFS, "append", "-m", "Reviewed.\n\nSee the port."]).ok();
    repo.git(["notes", "--ref", "refs/notes/empirica/data/journal", "append", "-m", "a foreign line"]).ok();
    (commit, id)
}

#[test]
fn an_amend_takes_everything_along_in_every_mode_of_gits_own_copy() {
    for mode in ["", "concatenate", "overwrite", "cat_sort_uniq", "ignore"] {
        let place = Sandbox::new();
        let repo = place.set_up("r");
        if !mode.is_empty() {
            repo.git(["config", "notes.rewriteRef", "refs/notes/*"]).ok();
            repo.git(["config", "notes.rewriteMode", mode]).ok();
        }
        let (old, id) = annotated(&repo);
        let before = repo.note(HANDOFFS, &old);
        // what post-commit writes to the new commit is there before git copies
        repo.run(["finding", "said since"]).ok();
        repo.write("a.txt", "b\n");
        repo.git(["commit", "-q", "-a", "--amend", "-m", "A, amended"]).ok();
        let new = repo.head();
        assert_eq!(repo.handoffs_at(&new), std::slice::from_ref(&id), "{mode}");
        let note = repo.note(HANDOFFS, &new);
        // all but heading and footer, which say what it is rendered from
        for line in before.lines().filter(|line| !line.starts_with("# ") && !line.starts_with("-- ")) {
            assert!(line.contains("All: ") || note.contains(line), "{mode}: {line} is missing in\n{note}");
        }
        assert!(note.contains("- Learned: said since\n"), "{mode}: {note}");
        assert!(note.contains("Reviewed.\n\nSee the port."), "{mode}: {note}");
        assert_eq!(note.matches("- Next: n").count(), 1, "{mode}: {note}");
        assert_eq!(note.matches("-- empirica ").count(), 1, "{mode}: {note}");
        assert!(!note.contains("-- empirica: another note"), "{mode}: {note}");
        for namespace in ["journal", "checkpoints", "handoffs"] {
            let reference = format!("refs/notes/empirica/data/{namespace}");
            let (was, is) = (repo.note(&reference, &old), repo.note(&reference, &new));
            for line in was.lines().filter(|line| !line.is_empty() && !line.contains(r#""kind":"attach""#)) {
                assert_eq!(is.matches(line).count(), 1, "{mode} {namespace}: {line}\n{is}");
            }
            assert_eq!(
                is.lines().filter(|line| line.contains(&format!(r#""to":"{new}""#))).count(),
                1,
                "{mode} {namespace}"
            );
        }
        assert!(repo.note("refs/notes/empirica/data/journal", &new).contains("a foreign line"), "{mode}");
        repo.fsck();
    }
}

#[test]
fn an_undone_amend_returns_the_records() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let (old, id) = annotated(&repo);
    repo.git(["commit", "-q", "--amend", "-m", "A, amended"]).ok();
    assert_eq!(repo.handoffs_at(&repo.head()), std::slice::from_ref(&id));
    repo.git(["reset", "-q", "--hard", &old]).ok();
    assert_eq!(repo.handoffs_at(&old), [id]);
    assert!(repo.note(HANDOFFS, &old).contains("- Next: n"));
}

#[test]
fn the_notes_of_an_amended_commit_outlive_gc_and_a_prune_of_notes() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let (old, id) = annotated(&repo);
    repo.git(["commit", "-q", "--amend", "-m", "A, amended"]).ok();
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    repo.git(["gc", "-q", "--prune=now"]).ok();
    assert_ne!(repo.git(["cat-file", "-e", &old]).code, 0);
    for reference in [HANDOFFS, "refs/notes/empirica/data/handoffs", "refs/notes/empirica/data/journal"] {
        repo.git(["notes", "--ref", reference, "prune"]).ok();
    }
    assert_eq!(repo.handoffs_at(&repo.head()), std::slice::from_ref(&id));
    assert!(repo.note(HANDOFFS, &repo.head()).contains("Reviewed."));
    assert_eq!(repo.json(["resume"])["sessions"][0]["key_findings"][0], "known before");
    repo.git(["commit", "-q", "--amend", "-m", "A, amended again"]).ok();
    assert_eq!(repo.handoffs_at(&repo.head()), [id]);
    repo.fsck();
}

#[test]
fn a_rebase_of_many_commits_costs_one_batch() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.git(["switch", "-q", "-c", "topic"]).ok();
    let count = if is_long() { 100 } else { 12 };
    let mut ids = Vec::new();
    for n in 0..count {
        repo.commit(&format!("t{n}.txt"), "t\n", &format!("T{n}"));
        repo.start("claude", &format!("task {n}"));
        ids.push(repo.hand_over(&format!("task {n}")));
        repo.run(["session", "end"]).ok();
    }
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("m.txt", "m\n", "M");
    repo.git(["switch", "-q", "topic"]).ok();
    repo.run(["flush"]).ok();
    let commits =
        |reference: &str| -> usize { repo.git_out(["rev-list", "--count", reference]).parse().expect("a number") };
    let refs = [HANDOFFS, "refs/notes/empirica/data/handoffs", "refs/notes/empirica/data/journal"];
    let before: Vec<usize> = refs.iter().map(|reference| commits(reference)).collect();
    repo.git(["rebase", "-q", "main"]).ok();
    for (reference, before) in refs.iter().zip(before) {
        assert_eq!(commits(reference), before + 1, "{reference}");
    }
    let rebased = repo.git_out(["rev-list", "--reverse", "main..topic"]);
    for (commit, id) in rebased.lines().zip(&ids) {
        assert_eq!(repo.handoffs_at(commit), std::slice::from_ref(id));
        assert!(repo.note(HANDOFFS, commit).contains("- Next: n"));
    }
    assert_eq!(repo.json(["session", "list"])["sessions"].as_array().expect("a list").len(), count);
}

#[test]
fn squashed_commits_pass_their_records_to_the_result() {
    for backend in ["--merge", "--apply"] {
        let place = Sandbox::new();
        let repo = place.set_up("r");
        repo.git(["switch", "-q", "-c", "topic"]).ok();
        repo.commit("one.txt", "1\n", "One");
        repo.start("claude", "one");
        let one = repo.hand_over("one");
        repo.run(["session", "end"]).ok();
        repo.commit("two.txt", "2\n", if backend == "--merge" { "fixup! One" } else { "Two" });
        repo.start("claude", "two");
        let two = repo.hand_over("two");
        repo.git(["switch", "-q", "main"]).ok();
        repo.commit("m.txt", "m\n", "M");
        repo.git(["switch", "-q", "topic"]).ok();
        if backend == "--merge" {
            let mut rebase = place.command("git", &repo.path);
            rebase.args(["rebase", "-q", "-i", "--autosquash", "main"]).env("GIT_SEQUENCE_EDITOR", "true");
            assert!(rebase.env("GIT_EDITOR", "true").status().expect("git").success());
            assert_eq!(repo.handoffs_at(&repo.head()), [one, two]);
            let note = repo.note(HANDOFFS, &repo.head());
            assert_eq!(note.matches("- Next: n").count(), 2, "{note}");
        } else {
            repo.git(["rebase", "-q", "--apply", "main"]).ok();
            assert_eq!(repo.handoffs_at(&repo.head()), [two]);
            assert_eq!(repo.handoffs_at(&repo.git_out(["rev-parse", "HEAD~1"])), [one]);
        }
    }
}

#[test]
fn a_rewrite_during_concurrent_writes_loses_nothing() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.git(["config", "notes.rewriteRef", "refs/notes/*"]).ok();
    annotated(&repo);
    let writers: Vec<_> = (0..4)
        .map(|n| {
            let mut command = repo.program();
            let script = format!(
                "for i in 1 2 3 4 5; do git-empirica finding \"writer {n} says $i\" >/dev/null 2>&1 || exit 1; git-empirica flush >/dev/null 2>&1; done"
            );
            let mut shell = place.command("sh", &repo.path);
            shell.args(["-c", &script]);
            drop(std::mem::replace(&mut command, shell));
            command.spawn().expect("it starts")
        })
        .collect();
    for n in 0..6 {
        repo.git(["commit", "-q", "--amend", "-m", &format!("Amended {n}")]).ok();
    }
    for mut writer in writers {
        assert!(writer.wait().expect("it ends").success());
    }
    repo.run(["flush"]).ok();
    let journal = repo.lines("journal").join("\n");
    for n in 0..4 {
        for i in 1..=5 {
            assert!(journal.contains(&format!("writer {n} says {i}")), "writer {n} says {i}");
        }
    }
    repo.fsck();
}

#[test]
fn lines_follow_as_the_bytes_they_are() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let (old, _) = annotated(&repo);
    // of a later version, with keys and numbers this program would write otherwise
    let later = r#"{"v":2,"id":"019ab000-0000-7000-8000-00000000000a","kind":"prophecy","x":0.70}"#;
    let odd = r#"{"v":1,"id":"019ab000-0000-7000-8000-00000000000b","kind":"finding","session":null,"ai":"x","at":"","commit":null,"tree":null,"text":"\u00e9","impact":0.70,"new":[1]}"#;
    let reference = "refs/notes/empirica/data/journal";
    for line in [later, odd] {
        repo.git(["notes", "--ref", reference, "append", "-m", line, &old]).ok();
    }
    repo.git(["commit", "-q", "--amend", "-m", "Amended"]).ok();
    let note = repo.note(reference, &repo.head());
    assert!(note.contains(later) && note.contains(odd), "{note}");
}

#[test]
fn a_log_of_many_rewritten_commits_asks_git_for_none_of_them() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    for n in 0..3 {
        repo.commit(&format!("{n}.txt"), "x\n", &format!("N{n}"));
        repo.start("claude", &format!("task {n}"));
        repo.hand_over(&format!("task {n}"));
        repo.run(["session", "end"]).ok();
        repo.git(["commit", "-q", "--amend", "-m", &format!("N{n}, better")]).ok();
    }
    // without git on PATH the same is shown: history and homes are found in process
    let with = repo.json(["log", "--handoffs"]);
    let without = repo.json_with_env(&[("PATH", "/nonexistent")], ["log", "--handoffs"]);
    assert_eq!(with, without);
    assert_eq!(with["total_found"], 3);
}
