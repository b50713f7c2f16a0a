//! Programs and records of different versions.

use crate::commands::code::anchors::id;
use crate::support::harness::{Repo, Sandbox};

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
    let said = "3 records written by a newer version of this program: kept and synced, but not shown; update the program";
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
    let note = repo.note(reference, "HEAD").replace(r#""text":"has a new key""#, r#""text":"has a new key","color":"blue""#);
    repo.set_note(reference, "HEAD", note.as_bytes());
    assert_eq!(repo.json(["show", &with_key])["text"], "has a new key");
    repo.json(["finding", "one more", "--session", &session]);
    repo.run(["flush"]).ok();
    assert!(repo.note(reference, "HEAD").contains(r#""color":"blue""#));
}
