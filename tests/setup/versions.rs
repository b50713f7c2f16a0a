//! Programs and records of different versions.

use std::collections::BTreeSet;

use crate::commands::code::anchors::id;
use crate::support::harness::{Repo, RunOutput, Sandbox};

/// Adds lines to the note of HEAD in the journal, as a newer program would write them.
fn written_by_a_newer(repo: &Repo<'_>, lines: &[String]) {
    let reference = "refs/notes/empirica/data/journal";
    let note = repo.note(reference, "HEAD");
    let all = format!("{note}{}\n", lines.join("\n"));
    repo.set_note(reference, "HEAD", all.as_bytes());
}

fn record(n: u32, version: u32, kind: &str) -> String {
    format!(
        r#"{{"v":{version},"id":"019ab000-0000-7000-8000-{n:012}","kind":"{kind}","session":null,"ai":"new","at":"2026-02-01T00:00:00.000Z","commit":null,"tree":null,"shape":"new"}}"#
    )
}

#[test]
fn the_version_names_the_build_the_features_and_the_format() {
    let sandbox = Sandbox::new();
    let outside = sandbox.at(".");
    for words in [["--version", "--json"], ["--json", "--version"], ["-V", "--json"]] {
        let version = outside.run(words).ok().json();
        assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(version["format_version"], 1);
        assert!(version["features"].as_array().is_some_and(|all| all.contains(&"mcp".into())), "{version}");
        assert_eq!(version["build"]["profile"], "debug");
        assert!(version["build"]["target"].as_str().is_some_and(|target| target.contains('-')), "{version}");
    }
    assert_eq!(outside.run(["--version"]).ok().out, format!("git-empirica {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn records_of_a_newer_version_are_kept_passed_on_and_named_by_doctor() {
    let sandbox = Sandbox::new();
    let repo = sandbox.set_up("r");
    repo.start("ada", "Old");
    let known = id(&repo.json(["finding", "as ever"]));
    repo.run(["flush"]).ok();
    let newer = [record(1, 2, "finding"), record(2, 1, "invention"), record(3, 2, "invention")];
    written_by_a_newer(&repo, &newer);
    let doctor = repo.run(["doctor"]).code(1);
    let said =
        "3 records written by a newer version of this program: kept and synced, but not shown; update the program";
    assert!(doctor.out.contains(said), "{}", doctor.out);
    // every kind of write and merge keeps them
    repo.json(["finding", "another"]);
    repo.json(["retract", &known, "--why", "it is not"]);
    repo.run(["flush"]).ok();
    repo.commit("a.txt", "a\n", "A");
    repo.git(["commit", "-q", "--amend", "-m", "B"]).ok();
    let remote = sandbox.path().join("remote.git");
    repo.git(["init", "-q", "--bare", remote.to_str().expect("UTF-8")]).ok();
    repo.git(["remote", "add", "origin", remote.to_str().expect("UTF-8")]).ok();
    repo.git(["push", "-q", "origin", "main"]).ok();
    repo.run(["sync", "origin"]).ok();
    let other = sandbox.clone(&sandbox.at("remote.git"), "other", false);
    other.run(["init"]).ok();
    other.json(["finding", "from elsewhere", "--ai", "bo"]);
    other.run(["sync"]).ok();
    repo.run(["sync", "origin"]).ok();
    for clone in [&repo, &other] {
        let lines = clone.lines("journal");
        for line in &newer {
            assert!(lines.contains(line), "{line}\n{lines:?}");
        }
        let found = clone.json(["search", "elsewhere"]);
        assert_eq!(found["hits"].as_array().map(Vec::len), Some(1), "{found}");
    }
    // a new key in a known record is kept, and does not hide it
    let session = repo.start("ada", "Keys");
    let with_key = id(&repo.json(["finding", "has a new key", "--session", &session]));
    repo.run(["flush"]).ok();
    let reference = "refs/notes/empirica/data/journal";
    let note =
        repo.note(reference, "HEAD").replace(r#""text":"has a new key""#, r#""text":"has a new key","color":"blue""#);
    repo.set_note(reference, "HEAD", note.as_bytes());
    assert_eq!(repo.json(["show", &with_key])["text"], "has a new key");
    repo.json(["finding", "one more", "--session", &session]);
    repo.run(["flush"]).ok();
    assert!(repo.note(reference, "HEAD").contains(r#""color":"blue""#));
}

/// A clone in which the commands and hooks are those of another program; `None` without one, which EMPIRICA_TEST_OLDER names.
struct Older<'p> {
    repo: Repo<'p>,
    path: String,
}

impl<'p> Older<'p> {
    fn at(repo: Repo<'p>) -> Option<Self> {
        let program = std::env::var_os("EMPIRICA_TEST_OLDER")?;
        let bin = repo.place.path().join("older");
        std::fs::create_dir_all(&bin).expect("a folder");
        let link = bin.join("git-empirica");
        if !link.exists() {
            std::os::unix::fs::symlink(program, link).expect("a link");
        }
        let path = std::env::var("PATH").unwrap_or_default();
        Some(Older { repo, path: format!("{}:{path}", bin.display()) })
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = self.repo.place.command("git", &self.repo.path);
        RunOutput::new(git.args(arguments).env("PATH", &self.path).output().expect("it starts")).ok().out
    }

    fn run(&self, arguments: &[&str]) -> String {
        self.git(&[&["empirica"], arguments].concat())
    }
}

/// All lines that a clone has in its notes.
fn all_lines(repo: &Repo<'_>) -> BTreeSet<String> {
    ["journal", "checkpoints", "handoffs"].iter().flat_map(|namespace| repo.lines(namespace)).collect()
}

/// Records of many kinds, which both programs can write.
fn work(run: &dyn Fn(&[&str]) -> String, name: &str) {
    let say = |text: &str| format!("{text} of {name}");
    run(&["session", "start", "--ai", name, "--task", &say("The task")]);
    run(&["preflight", "-v", "know=0.4,uncertainty=0.6"]);
    for kind in ["finding", "unknown"] {
        run(&[kind, &say(kind)]);
    }
    run(&["deadend", &say("deadend"), "--why", "slow"]);
    run(&["decision", &say("decision"), "--why", "fast", "--alternative", "none"]);
    run(&["evidence", "true", "--exit", "0"]);
    run(&["goal", "add", &say("goal")]);
    run(&["checkpoint"]);
    run(&["postflight", "-v", "know=0.8,uncertainty=0.2", "--next", "go on"]);
    run(&["handoff", "-m", &say("Did the task"), "--context", "c", "--next", "n"]);
    run(&["session", "end"]);
}

#[test]
fn an_older_and_this_program_read_each_other_and_lose_nothing() {
    let sandbox = Sandbox::new();
    let remote = sandbox.path().join("remote.git");
    let first = sandbox.set_up("new");
    first.git(["init", "-q", "--bare", "-b", "main", remote.to_str().expect("UTF-8")]).ok();
    first.git(["remote", "add", "origin", remote.to_str().expect("UTF-8")]).ok();
    first.run(["init"]).ok();
    first.git(["push", "-q", "-u", "origin", "main"]).ok();
    let Some(older) = Older::at(sandbox.clone(&sandbox.at("remote.git"), "old", false)) else { return };
    let new = |arguments: &[&str]| first.run(arguments).ok().out;
    let old = |arguments: &[&str]| older.run(arguments);
    old(&["init"]);

    work(&old, "bo");
    older.repo.write("b.txt", "b\n");
    older.git(&["add", "b.txt"]);
    older.git(&["commit", "-q", "-m", "B"]);
    older.git(&["pull", "-q", "--rebase"]);
    older.git(&["push", "-q"]);
    old(&["sync"]);
    let by_old = all_lines(&older.repo);
    assert!(by_old.len() >= 10, "{by_old:?}");

    // this program reads them, and corrects what the other wrote
    first.git(["pull", "-q", "--rebase"]).ok();
    new(&["sync"]);
    assert!(new(&["resume"]).contains("Did the task of bo"));
    let found = first.json(["search", "finding of bo"]);
    let theirs = found["hits"][0]["id"].as_str().expect("an id").to_owned();
    work(&new, "ada");
    new(&["session", "start", "--ai", "ada", "--task", "Correct"]);
    first.commit("src/a.rs", "one\ntwo\n", "A");
    new(&["replace", &theirs, "the finding, corrected"]);
    new(&["finding", "about a place", "--at", "src/a.rs:2", "--until", "changed"]);
    new(&["unknown", "May it?", "--blocking"]);
    new(&["finding", "for a while", "--until", "2027-01-01"]);
    new(&["handoff", "-m", "Corrected", "--to", "bo"]);
    first.git(["push", "-q"]).ok();
    new(&["sync"]);
    let by_new = all_lines(&first);
    assert!(by_new.is_superset(&by_old));

    // the older one reads those, goes on, and merges
    older.git(&["pull", "-q", "--rebase"]);
    old(&["sync"]);
    for command in ["resume", "status", "log", "bootstrap"] {
        old(&[command]);
    }
    assert!(old(&["search", "finding of ada"]).contains("finding of ada"));
    assert!(old(&["log", "--handoffs"]).contains("Corrected"));
    work(&old, "cy");
    older.repo.write("c.txt", "c\n");
    older.git(&["add", "c.txt"]);
    older.git(&["commit", "-q", "-m", "C"]);
    older.git(&["commit", "-q", "--amend", "-m", "C, again"]);
    older.git(&["push", "-q"]);
    old(&["sync"]);
    let by_both = all_lines(&older.repo);
    assert!(by_both.is_superset(&by_new), "{:?}", by_new.difference(&by_both).collect::<Vec<_>>());

    // in turns in one clone, which is updated, and set back
    let Some(back) = Older::at(sandbox.at("new")) else { return };
    first.git(["pull", "-q", "--rebase"]).ok();
    for round in 0..2 {
        back.run(&["finding", &format!("turn {round} of the older"), "--ai", "dee"]);
        new(&["finding", &format!("turn {round} of this"), "--ai", "dee"]);
    }
    for program in [&new as &dyn Fn(&[&str]) -> String, &|arguments| back.run(arguments)] {
        let found = program(&["search", "turn"]);
        for of in ["0 of the older", "1 of the older", "0 of this", "1 of this"] {
            assert!(found.contains(&format!("turn {of}")), "{of}: {found}");
        }
    }
    new(&["sync"]);
    let last = all_lines(&first);
    assert!(last.is_superset(&by_both), "{:?}", by_both.difference(&last).collect::<Vec<_>>());
    let doctor = first.run(["doctor"]);
    assert!(!doctor.out.contains("newer version") && !doctor.out.contains("damaged"), "{}", doctor.out);
    for repo in [&first, &older.repo] {
        repo.fsck();
    }
}
