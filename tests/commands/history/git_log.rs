//! Plain `git log` of a session: one short block on each of its commits, or the whole report if configured.

use crate::support::harness::{Repo, Sandbox};

const HANDOFFS: &str = "refs/notes/empirica/handoffs";

/// The columns of a line on a terminal: two for a character of East Asia.
fn columns(line: &str) -> usize {
    line.chars().map(|c| if ('\u{2e80}'..='\u{ffef}').contains(&c) { 2 } else { 1 }).sum()
}

/// The note of a commit, which must be one block of at most 12 lines of at most 100 columns.
#[track_caller]
fn block(repo: &Repo<'_>, commit: &str) -> String {
    let note = repo.note(HANDOFFS, commit);
    let lines: Vec<&str> = note.trim_end().lines().collect();
    assert_eq!(note.matches("-- empirica ").count(), 1, "{note}");
    assert!(lines.len() <= 12 && lines.iter().all(|line| columns(line) <= 100), "{} lines:\n{note}", lines.len());
    note
}

#[test]
fn a_block_has_at_most_12_lines_of_100_columns() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let long = |n: usize| format!("{n} {}", "the cache in src/store/index/postings.rs is keyed by user ".repeat(5));
    repo.start("claude", &long(0));
    for n in 1..5 {
        repo.run(["finding", &long(n)]).ok();
        repo.run(["unknown", &format!("{}?", long(n))]).ok();
        repo.run(["decision", &long(n), "--why", "it is measured"]).ok();
        repo.run(["deadend", &long(n), "--why", "it is slow"]).ok();
        repo.run(["mistake", &long(n)]).ok();
        repo.run(["evidence", &format!("cargo test part_{n}"), "--exit", &(n % 2).to_string()]).ok();
    }
    repo.run(["handoff", "--next", &long(9), "--next", "缓存的键是用户而不是令牌".repeat(9).as_str()]).ok();
    let note = block(&repo, &repo.head());
    assert_eq!(note.trim_end().lines().count(), 12, "{note}");
    for label in ["Next", "Open", "Decided", "Avoid", "Learned", "Checked", "All"] {
        assert!(note.contains(&format!("\n- {label}: ")), "{label}: {note}");
    }
    assert!(note.contains("- Checked: FAILED: cargo test part_1 (exit 1) (+3 more)\n"), "{note}");
    assert!(note.contains("- Learned: 4 the cache") && note.contains(" … (+3 more)\n"), "the newest first: {note}");
    let known = [long(0), long(4), long(9)].concat() + "it is measured slow";
    let words = note.lines().take(10).flat_map(|line| line.split(' ')).filter(|word| word.contains("src/"));
    assert!(words.into_iter().all(|word| known.split(' ').any(|known| known == word)), "a path stays whole: {note}");
    let agent = "an agent whose name is as long as a sentence, 缓存的键是用户而不是令牌";
    repo.json(["finding", "x", "--ai", agent]);
    repo.json(["handoff", "-m", &long(7), "--ai", agent, "--type", "context", "--to", agent]);
    for line in repo.note(HANDOFFS, &repo.head()).lines() {
        assert!(columns(line) <= 100, "{line}");
    }
    let plain = repo.git_out(["log", "-1", "--notes=empirica/handoffs"]);
    assert!(plain.contains("    - Checked: FAILED: "), "{plain}");
}

#[test]
fn a_session_has_one_block_on_a_commit() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "the cache");
    repo.run(["finding", "first"]).ok();
    let one = repo.commit("a.txt", "1\n", "One");
    assert!(block(&repo, &one).contains("- Learned: first\n"));
    // a handoff takes the place of the digest, a newer one its own
    repo.hand_over("the cache");
    assert!(block(&repo, &one).contains("- Next: n\n"));
    let again = repo.json(["handoff", "--next", "again"])["handoff_id"].as_str().expect("an id").to_owned();
    assert!(block(&repo, &one).contains("- Next: again\n"));
    // a handoff for the next commit keeps earlier blocks
    repo.write("a.txt", "2\n");
    repo.run(["handoff", "--next", "on dirty files"]).ok();
    assert!(block(&repo, &one).contains("- Next: on dirty files\n"));
    let two = repo.commit("a.txt", "2\n", "Two");
    assert!(block(&repo, &two).contains("- Next: on dirty files\n"));
    let note = block(&repo, &one);
    assert!(note.contains(&again[28..]) && note.contains("- Learned: first\n"), "{note}");
    // an amend shows records from before and after
    repo.run(["finding", "since"]).ok();
    repo.git(["commit", "-q", "--amend", "-m", "Two, amended"]).ok();
    let note = block(&repo, &repo.head());
    assert!(note.contains("- Next: on dirty files\n") && note.contains("- Learned: since\n"), "{note}");
    // another session has its own
    repo.run(["finding", "other", "--ai", "other"]).ok();
    repo.run(["handoff", "--ai", "other"]).ok();
    let note = repo.note(HANDOFFS, &repo.head());
    assert_eq!((note.matches("-- empirica ").count(), note.matches("(other, ").count()), (2, 1), "{note}");
    repo.fsck();
}

#[test]
fn squashed_commits_of_a_session_share_one_block_with_both() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "t");
    for n in ["one", "two", "three"] {
        repo.run(["finding", &format!("learned at {n}")]).ok();
        repo.commit(&format!("{n}.txt"), "x\n", if n == "one" { "Work" } else { "fixup! Work" });
    }
    let mut rebase = place.command("git", &repo.path);
    rebase.args(["rebase", "-q", "-i", "--autosquash", "HEAD~3"]).env("GIT_SEQUENCE_EDITOR", "true");
    assert!(rebase.env("GIT_EDITOR", "true").status().expect("git").success());
    let note = block(&repo, &repo.head());
    for n in ["one", "two", "three"] {
        assert!(note.contains(&format!("- Learned: learned at {n}\n")), "{note}");
    }
}

#[test]
fn a_handoff_before_the_commit_is_attached_to_it_once() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let before = repo.head();
    repo.start("claude", "the cache");
    repo.run(["finding", "keyed by user"]).ok();
    let id = repo.hand_over("the cache");
    assert!(block(&repo, &before).contains("keyed by user"));
    let work = repo.commit("a.txt", "1\n", "Work");
    assert_eq!(repo.handoffs_at(&work), std::slice::from_ref(&id));
    assert!(block(&repo, &work).contains("keyed by user"));
    assert_eq!(block(&repo, &before).lines().count(), 2, "one line says where it went");
    // not to the one after it, nor to another on the same parent
    let next = repo.commit("b.txt", "1\n", "Next");
    assert_eq!(repo.note(HANDOFFS, &next), "");
    repo.git(["switch", "-q", "-c", "side", &before]).ok();
    let side = repo.commit("c.txt", "1\n", "Side");
    assert_eq!(repo.note(HANDOFFS, &side), "");
    repo.fsck();
}

#[test]
fn a_handoff_before_the_commit_is_attached_to_no_other() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.git(["switch", "-q", "-c", "topic"]).ok();
    let pick = repo.commit("pick.txt", "1\n", "Pick");
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("main.txt", "1\n", "Main");
    let base = repo.head();
    repo.start("claude", "t");
    repo.run(["finding", "known"]).ok();
    let id = repo.hand_over("t");
    let is_at_base =
        || repo.git(["show", "-s", "--format=%N", "--notes=empirica/handoffs", &base]).ok().out.contains("known");
    // a pick, a revert and a rebase are not its work
    repo.git(["cherry-pick", &pick]).ok();
    assert_eq!(repo.note(HANDOFFS, "HEAD"), "");
    repo.git(["reset", "-q", "--hard", &base]).ok();
    repo.git(["revert", "--no-edit", "HEAD"]).ok();
    assert_eq!(repo.note(HANDOFFS, "HEAD"), "");
    repo.git(["switch", "-q", "topic"]).ok();
    repo.git(["rebase", "-q", "main"]).ok();
    assert_eq!(repo.note(HANDOFFS, "HEAD"), "");
    repo.git(["switch", "-q", "main"]).ok();
    repo.git(["reset", "-q", "--hard", &base]).ok();
    // nor another worktree's commit, nor another agent's here
    let other = place.path().join("w");
    repo.git(["worktree", "add", "-q", "-b", "w", other.to_str().expect("UTF-8")]).ok();
    let worktree = place.at(&other);
    worktree.commit("w.txt", "1\n", "W");
    assert_eq!(worktree.note(HANDOFFS, "HEAD"), "");
    repo.write("o.txt", "1\n");
    repo.git(["add", "."]).ok();
    let mut commit = place.command("git", &repo.path);
    commit.args(["commit", "-q", "-m", "Other"]).env("EMPIRICA_AI", "another");
    assert!(commit.status().expect("git").success());
    assert_eq!(repo.note(HANDOFFS, "HEAD"), "");
    assert!(is_at_base());
    repo.git(["reset", "-q", "--hard", &base]).ok();
    // one that ended has no commit to come
    repo.run(["session", "end"]).ok();
    repo.commit("z.txt", "1\n", "Z");
    assert_eq!(repo.note(HANDOFFS, "HEAD"), "");
    assert_eq!(repo.handoffs_at(&base), [id]);
}

#[test]
fn a_handoff_of_committed_work_stays_and_the_next_commit_lists_later_records() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "t");
    let one = repo.commit("a.txt", "1\n", "One");
    repo.run(["finding", "after one"]).ok();
    let id = repo.hand_over("t");
    let two = repo.commit("b.txt", "1\n", "Two");
    assert_eq!(repo.handoffs_at(&one), [id]);
    assert!(block(&repo, &one).contains("- Next: n\n"));
    assert!(block(&repo, &two).contains("- Learned: after one\n"));
    assert!(!block(&repo, &two).contains("- Next: "));
}

#[test]
fn every_claim_is_in_the_digest_of_the_next_commit() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "t");
    let question = repo.json(["unknown", "Which port?"])["id"].as_str().expect("an id").to_owned();
    let commit_id = repo.commit("asked.txt", "1\n", "Asked");
    assert!(block(&repo, &commit_id).contains("- Open: Which port?\n"));
    let claims: [(&[&str], &str); 7] = [
        (&["resolve", &question, "8080"], "- Learned: Which port? → 8080\n"),
        (&["finding", "a fact"], "- Learned: a fact\n"),
        (&["deadend", "a way", "--why", "a wall"], "- Avoid: a way — a wall\n"),
        (&["decision", "a choice", "--why", "a reason"], "- Decided: a choice — a reason\n"),
        (&["mistake", "a slip", "--prevention", "care"], "- Avoid: a slip — care\n"),
        (&["evidence", "make check", "--exit", "2"], "- Checked: FAILED: make check (exit 2)\n"),
        (
            &["preflight", "-v", "know=0.8,uncertainty=0.3,state=0.9"],
            "- Checked: PREFLIGHT know 0.80, uncertainty 0.30\n",
        ),
    ];
    for (at, (claim, expected)) in claims.iter().enumerate() {
        repo.run(claim.iter()).ok();
        let commit = repo.commit(&format!("{at}.txt"), "1\n", "Work");
        let note = block(&repo, &commit);
        assert!(note.contains(expected), "{expected}: {note}");
    }
    repo.run(["goal", "add", "Ship it"]).ok();
    repo.run(["finding", "another"]).ok();
    let commit = repo.commit("goal.txt", "1\n", "Work");
    assert!(block(&repo, &commit).contains("- Next: Finish: Ship it\n"));
    assert_eq!(repo.note(HANDOFFS, &repo.commit("none.txt", "1\n", "None")), "");
    // a digest of an earlier version is read as before
    let digests = repo.json(["log", "--digests", "-n", "9"]).to_string();
    assert!(digests.contains("a fact") && digests.contains("\"answers\""), "{digests}");
}

#[test]
fn the_note_has_the_full_report_if_configured() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.git(["config", "empirica.note", "full"]).ok();
    repo.start("claude", "t");
    repo.run(["finding", "a fact that is long ".repeat(20).as_str()]).ok();
    let commit = repo.commit("a.txt", "1\n", "A");
    assert_eq!(repo.note(HANDOFFS, &commit).matches("a fact that is long").count(), 20, "a digest is whole as well");
    repo.run(["handoff", "--next", "go on"]).ok();
    let note = repo.note(HANDOFFS, &commit);
    let shown = repo.run(["show"]).ok().unfenced();
    let report = shown.split("\n## Since Then").next().expect("a report");
    for line in report.lines().skip(1).filter(|line| !line.starts_with("- **Commit:**")) {
        assert!(note.contains(line), "{line}: {note}");
    }
    assert!(note.contains("\n## What I Learned\n") && note.contains("- All: `git empirica show "), "{note}");
    assert_eq!(note.matches("-- empirica ").count(), 1, "{note}");
    repo.git(["config", "empirica.note", "long"]).ok();
    let doctor = repo.run(["doctor"]).out;
    assert!(doctor.contains("empirica.note is 'long' and must be short or full"), "{doctor}");
}

#[test]
fn clones_with_short_and_full_notes_converge() {
    let place = Sandbox::new();
    let hub = place.init("hub");
    hub.git(["config", "core.bare", "true"]).ok();
    let one = place.set_up("one");
    one.git(["remote", "add", "origin", hub.path.to_str().expect("UTF-8")]).ok();
    one.git(["push", "-q", "origin", "HEAD:refs/heads/main"]).ok();
    let two = place.clone(&one, "two", false);
    two.git(["remote", "set-url", "origin", hub.path.to_str().expect("UTF-8")]).ok();
    two.git(["config", "empirica.note", "full"]).ok();
    let session = one.start("claude", "t");
    one.run(["finding", "a fact"]).ok();
    one.hand_over("t");
    for repo in [&one, &two, &one, &two] {
        repo.run(["sync", "origin"]).ok();
    }
    // both render the same record: one of them wins in both
    let exported = one.run(["export", "--jsonl"]).ok().out;
    two.run_with_input(["import", "--jsonl", "-"], exported.as_bytes()).ok();
    two.run(["handoff", "--session", &session, "--next", "n two"]).ok();
    for repo in [&one, &two, &one] {
        repo.run(["sync", "origin"]).ok();
    }
    let tips = || hub.git_out(["for-each-ref", "refs/notes"]);
    let settled = tips();
    for repo in [&one, &two, &one, &two] {
        repo.run(["sync", "origin"]).ok();
        assert_eq!(tips(), settled);
    }
    assert_eq!(one.note(HANDOFFS, "HEAD"), two.note(HANDOFFS, "HEAD"));
}

#[test]
fn blocks_of_an_earlier_renderer_stay_as_they_are() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("claude", "t");
    let id = repo.hand_over("t");
    let old = format!("# Handoff {}: t\n\n## What I Learned\n\nNone recorded.\n\n-- empirica {id} r4\n", &id[28..]);
    repo.set_note(HANDOFFS, "HEAD", old.as_bytes());
    repo.run(["status"]).ok();
    repo.git(["commit", "-q", "--amend", "-m", "Amended"]).ok();
    let note = repo.note(HANDOFFS, "HEAD");
    assert!(note.starts_with(old.trim_end()), "{note}");
}

#[test]
fn empty_sections_are_printed_nowhere() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let session = repo.json(["session", "start", "--ai", "ada"])["session_id"].as_str().expect("an id").to_owned();
    repo.run(["finding", "only this"]).ok();
    let handed = repo.run(["handoff"]).ok().out;
    let plain = repo.git_out(["log", "-1", "--notes=empirica/handoffs"]);
    let context = repo.run(["handoff", "--type", "context", "--to", "bob", "--dry-run"]).ok().out;
    let exported = place.path().join("out.md");
    repo.run(["export", "--markdown", exported.to_str().expect("UTF-8")]).ok();
    repo.git(["config", "empirica.note", "full"]).ok();
    repo.run(["handoff", "--accomplished", "Done"]).ok();
    let whole = repo.git_out(["log", "-1", "--notes=empirica/handoffs"]);
    let mut texts = vec![handed, plain, whole, context];
    for command in [&["show"][..], &["resume"], &["session", "show", &session], &["log"], &["show", &session]] {
        texts.push(repo.run(command.iter()).ok().out);
    }
    for text in texts {
        for empty in
            ["None recorded", "Not assessed", "no task given", "Nothing was said", "## Remaining Unknowns", "None\n"]
        {
            assert!(!text.contains(empty), "{empty}: {text}");
        }
        assert!(text.contains("only this"), "{text}");
    }
}

#[test]
fn a_block_drops_redacted_text_even_if_truncated() {
    let place = Sandbox::new();
    let hub = place.init("hub");
    hub.git(["config", "core.bare", "true"]).ok();
    let repo = place.set_up("one");
    repo.git(["remote", "add", "origin", hub.path.to_str().expect("UTF-8")]).ok();
    repo.start("claude", "t");
    let long = format!("the private name of the customer is Wintermute {}", "and so on ".repeat(30));
    let id = repo.json(["finding", &long])["id"].as_str().expect("an id").to_owned();
    for n in 0..4 {
        repo.run(["finding", &format!("fact {n}")]).ok();
    }
    repo.commit("a.txt", "1\n", "A");
    repo.run(["finding", "since"]).ok();
    repo.git(["commit", "-q", "--amend", "-m", "A, amended"]).ok();
    let note = block(&repo, &repo.head());
    assert!(note.contains("- Learned: since\n") && note.contains("private name") && note.contains(" …\n"), "{note}");
    repo.git(["push", "-q", "origin", "HEAD:refs/heads/main"]).ok();
    repo.run(["sync", "origin"]).ok();
    let other = place.clone(&hub, "two", false);
    other.git(["remote", "set-url", "origin", hub.path.to_str().expect("UTF-8")]).ok();
    other.run(["sync", "origin"]).ok();
    repo.run(["redact", &id, "--reason", "private"]).ok();
    other.git(["notes", "--ref", HANDOFFS, "append", "-m", "Reviewed."]).ok();
    for repo in [&other, &repo, &other, &repo] {
        repo.run(["sync", "origin"]).ok();
    }
    for repo in [&repo, &other, &hub] {
        let note = repo.note(HANDOFFS, "main");
        assert!(!note.contains("private name"), "{note}");
        assert!(note.contains("- Learned: since\n") && note.contains("Reviewed."), "{note}");
        assert_eq!(note.matches("-- empirica 0").count(), 1, "{note}");
    }
}
