//! `export` and `import`: everything stored round-trips, byte for byte, in one commit per ref.

use std::process::Stdio;

use serde_json::Value;

use crate::support::harness::{Repo, RunOutput, Sandbox};

const REFS: [&str; 4] = ["data/journal", "data/checkpoints", "data/handoffs", "handoffs"];

fn reference(name: &str) -> String {
    format!("refs/notes/empirica/{name}")
}

pub fn tips(repo: &Repo<'_>) -> Vec<String> {
    REFS.iter().map(|name| repo.git(["rev-parse", "-q", "--verify", &reference(name)]).out).collect()
}

pub fn trees(repo: &Repo<'_>) -> Vec<String> {
    let tree = |name: &&str| repo.git_out(["rev-parse", &format!("{}^{{tree}}", reference(name))]);
    REFS.iter().map(tree).collect()
}

pub fn export(repo: &Repo<'_>) -> String {
    repo.run(["export", "--jsonl"]).ok().out
}

#[track_caller]
pub fn import(repo: &Repo<'_>, text: &str) -> Value {
    repo.run_with_input(["import", "--jsonl", "-", "--json"], text.as_bytes()).ok().json()
}

/// Sessions, goals, assessments, superseded handoffs and attachments, on several commits.
pub fn lived(place: &Sandbox) -> Repo<'_> {
    let repo = place.set_up("project");
    repo.start("ada", "Find it");
    repo.json(["preflight", "-v", "know=0.5,uncertainty=0.7"]);
    let unknown = repo.json(["unknown", "Which \u{e9}\u{1f980} \"port\"?"])["id"].as_str().expect("an id").to_owned();
    repo.json(["resolve", &unknown, "8080"]);
    repo.hand_over("first");
    repo.hand_over("second");
    repo.commit("a", "a\n", "Add a");
    repo.commit("b", "b\n", "Add b");
    repo.json(["finding", "It is cold"]);
    repo.hand_over("third");
    repo.git(["commit", "-q", "--amend", "-m", "Add b, said better"]).ok();
    repo.write("c", "c\n");
    repo.hand_over("with work that is not committed");
    repo.commit("c", "c\n", "Add c");
    repo.json(["checkpoint"]);
    repo.json(["flush"]);
    repo
}

#[test]
fn an_export_restores_the_same_trees_and_markdown() {
    let place = Sandbox::new();
    let repo = lived(&place);
    let text = export(&repo);
    let lines: usize = ["journal", "checkpoints", "handoffs"].iter().map(|namespace| repo.lines(namespace).len()).sum();
    assert_eq!(text.lines().count(), lines, "a line for each that is stored");
    let clone = place.clone(&repo, "clone", false);
    assert_eq!(export(&clone), "");
    // what the amend left behind is not in the clone
    repo.git(["branch", "old", "HEAD@{2}"]).ok();
    clone.git(["fetch", "-q", "origin"]).ok();
    let file = place.path().join("all.jsonl");
    std::fs::write(&file, &text).expect("a file");
    let answer = clone.json(["import", "--jsonl", file.to_str().expect("UTF-8")]);
    assert_eq!(answer["read"], lines);
    assert_eq!(answer["new"], lines);
    assert_eq!(answer["known"], 0);
    assert_eq!(answer["storage"], "git_notes");
    assert_eq!(trees(&clone), trees(&repo));
    assert_eq!(export(&clone), text, "two clones with the same records export the same");
    assert_eq!(clone.json(["resume"])["sessions"], repo.json(["resume"])["sessions"]);
    clone.fsck();
}

#[test]
fn a_repository_without_the_commits_keeps_the_records_for_when_they_come() {
    let place = Sandbox::new();
    let repo = lived(&place);
    let text = export(&repo);
    let empty = place.init("empty");
    let ran = empty.run_with_input(["import", "--jsonl", "-"], text.as_bytes()).ok();
    assert!(ran.err.contains(" commits with records; the records are stored"), "{}", ran.err);
    assert_eq!(trees(&empty)[..3], trees(&repo)[..3]);
    assert_eq!(export(&empty), text);
    assert!(empty.json(["query"])["total_found"].as_u64().is_some_and(|found| found > 0));
    empty.git(["pull", "-q", repo.path.to_str().expect("UTF-8"), "main"]).ok();
    assert_eq!(empty.handoffs_at(&empty.head()), repo.handoffs_at(&repo.head()));
    empty.fsck();
}

#[test]
fn a_repeated_import_changes_nothing_and_completes_a_partial_one() {
    let place = Sandbox::new();
    let repo = lived(&place);
    let text = export(&repo);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let clone = place.clone(&repo, "clone", false);
    // every other line, so that half of the notes are half there
    let half: String = lines.iter().step_by(2).copied().collect();
    import(&clone, &half);
    let answer = import(&clone, &text);
    assert_eq!(answer["known"], lines.len().div_ceil(2));
    assert_eq!(answer["new"], lines.len() / 2);
    assert_eq!(trees(&clone)[..3], trees(&repo)[..3]);
    assert_eq!(export(&clone), text);
    let before = tips(&clone);
    for text in [text.clone(), lines.iter().rev().copied().collect(), half] {
        let answer = import(&clone, &text);
        assert_eq!((&answer["new"], &answer["storage"]), (&Value::from(0), &Value::Null));
        assert_eq!(answer["kinds"], Value::Array(Vec::new()));
        assert_eq!(tips(&clone), before);
    }
    assert_eq!(import(&repo, &text)["new"], 0, "it has all of it already");
    // what an interrupted import did not come to
    clone.git(["update-ref", "-d", &reference("handoffs")]).ok();
    std::fs::remove_file(clone.path.join(".git/empirica/tips")).expect("the remembered tips");
    import(&clone, &text);
    assert_eq!(trees(&clone)[3], before_tree(&clone, &before[3]));
}

fn before_tree(repo: &Repo<'_>, tip: &str) -> String {
    repo.git_out(["rev-parse", &format!("{}^{{tree}}", tip.trim())])
}

#[test]
fn unknown_lines_and_hostile_bytes_are_preserved() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let head = repo.head();
    let record = |v: u32, at: u32, kind: &str, rest: &str| {
        format!(
            r#"{{"v":{v},"id":"019ab000-0000-7000-8000-{at:012x}","kind":"{kind}","session":null,"ai":"x","at":"2026-01-01T00:00:00.000Z","commit":null,"tree":null,{rest}}}"#
        )
    };
    let known = record(1, 1, "finding", r#""impact":5.0e-1,"text":"\u00e9\/ \u001b[2J","more":{"b":1,"a":[ 2 ]}"#);
    let lines = [
        known.clone(),
        record(2, 2, "finding", r#""text":"t""#),
        record(1, 3, "prophecy", r#""of":1e400"#),
        record(1, 4, "finding", r#""text":"\ud800""#),
        r#"{"v":1,"id":"019ab000-0000-7000-8000-000000000005","torn"#.to_owned(),
        r#"{"a":  1, "a": 2}"#.to_owned(),
        "Reviewed-by: \"me\"\t\u{202e}\u{9b}2J\r".to_owned(),
        "[1]".to_owned(),
        " ".to_owned(),
    ];
    let mut note: Vec<u8> = lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
    note.extend(b"{\"broken\":\"\xff\"}\n\xfe\xff\x00\n");
    for name in ["data/journal", "data/handoffs"] {
        repo.set_note(&reference(name), &head, &note);
    }
    let text = export(&repo);
    assert_eq!(text.lines().count(), 22, "{text}");
    assert!(text.contains(&format!("{{\"commit\":\"{head}\",\"record\":{known}}}\n")), "{text}");
    assert!(text.contains(&format!("{{\"commit\":\"{head}\",\"shelf\":\"handoffs\",\"record\":{known}}}\n")), "{text}");
    assert!(text.contains("\"hex\":\"feff00\"}"), "{text}");
    for line in text.lines().filter(|line| !line.contains("1e400") && !line.contains("ud800")) {
        let json: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(json["commit"], head.as_str());
    }
    let clone = place.clone(&repo, "clone", false);
    let answer = import(&clone, &text);
    let count = |kind: Value| answer["kinds"].as_array().expect("a list").iter().find(|k| k["kind"] == kind).cloned();
    assert_eq!(count("prophecy".into()).expect("a kind")["count"], 2);
    assert_eq!(count("finding".into()).expect("a kind")["count"], 6);
    assert_eq!(count(Value::Null).expect("those of no kind")["count"], 14);
    for name in ["data/journal", "data/handoffs"] {
        let mut wanted: Vec<&[u8]> = note.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        let stored = clone.note_bytes(&reference(name), &head);
        let mut found: Vec<&[u8]> = stored.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted);
    }
    assert_eq!(export(&clone), text);
    assert_eq!(import(&clone, &text)["new"], 0);
}

#[test]
fn an_invalid_line_is_named_and_nothing_is_stored() {
    let place = Sandbox::new();
    let repo = lived(&place);
    let text = export(&repo);
    let empty = place.init("empty");
    let sha256 = format!("{{\"commit\":\"{}\",\"shelf\":\"journal\",\"line\":\"x\"}}", "a".repeat(64));
    for (wrong, word) in [
        ("{", "line 4: it is not one JSON object"),
        (r#"{"record":{}}"#, "no key \"commit\""),
        (r#"{"shelf":"journal","line":"x"}"#, "no key \"commit\""),
        (r#"{"commit":"HEAD","shelf":"journal","line":"x"}"#, "40 hex digits"),
        (sha256.as_str(), "40 hex digits"),
        (r#"{"commit":"09d3540d834a48213dcc44f94da7c913ff162e06","record":{"a":1}}"#, "no key \"shelf\""),
        ("\u{feff}{}", "not one JSON object"),
    ] {
        let head: String = text.split_inclusive('\n').take(2).collect();
        // a blank line is skipped, but counted
        let given = format!("{head}\n{wrong}\n{text}{wrong}\n");
        let ran = empty.run_with_input(["import", "--jsonl", "-", "--json"], given.as_bytes()).code(2);
        let json = ran.json();
        let reason = json["reason"].as_str().expect("a reason");
        assert!(reason.contains(word) && reason.starts_with("line 4: "), "{wrong}: {json}");
        assert_eq!(json["error"], "cannot import line 4 of standard input");
        assert_eq!(reason.matches("line ").count(), 2, "both are named: {json}");
    }
    let many = "{\n".repeat(9);
    let json = empty.run_with_input(["import", "--jsonl", "-", "--json"], many.as_bytes()).code(2).json();
    assert!(json["reason"].as_str().expect("a reason").ends_with("6 more are invalid"), "{json}");
    let bytes = [text.as_bytes(), b"{\"commit\":\"\xff\"}\n"].concat();
    empty.run_with_input(["import", "--jsonl", "-"], &bytes).code(2);
    assert_eq!(tips(&empty), ["", "", "", ""]);
    assert_eq!(empty.json(["status"])["unflushed"], 0);
    for file in ["no such file", "."] {
        let json = empty.fails(2, ["import", "--jsonl", file]);
        assert_eq!(json["error"], format!("cannot read {file}"));
    }
    assert_eq!(import(&empty, "\n \n")["read"], 0);
}

#[test]
fn pending_records_are_exported_and_deduplicated_by_import() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.start("ada", "t");
    repo.json(["finding", "It waits"]);
    assert_eq!(tips(&repo)[0], "", "nothing is in the notes");
    let text = export(&repo);
    assert!(text.contains("It waits") && text.lines().count() == 2, "{text}");
    assert_eq!(import(&repo, &text)["known"], 2);
    assert_eq!(repo.json(["status"])["unflushed"], 2, "the log is not touched");
    let clone = place.clone(&repo, "clone", false);
    import(&clone, &text);
    repo.json(["flush"]);
    assert_eq!(trees_of(&clone, "data/journal"), trees_of(&repo, "data/journal"));
    assert_eq!(export(&repo), text);
}

fn trees_of(repo: &Repo<'_>, name: &str) -> String {
    repo.git_out(["rev-parse", &format!("{}^{{tree}}", reference(name))])
}

#[test]
fn a_repository_of_the_other_hash_is_restored_as_well() {
    let place = Sandbox::new();
    let repo = place.at("sha256");
    std::fs::create_dir_all(&repo.path).expect("a folder");
    repo.git(["init", "-q", "-b", "main", "--object-format=sha256"]).ok();
    repo.git(["config", "user.name", "Test"]).ok();
    repo.git(["config", "user.email", "test@example.com"]).ok();
    repo.commit("a", "a\n", "Begin");
    repo.start("ada", "t");
    repo.json(["preflight", "-v", "know=0.5"]);
    repo.hand_over("done");
    repo.json(["flush"]);
    let text = export(&repo);
    let empty = place.at("empty");
    std::fs::create_dir_all(&empty.path).expect("a folder");
    empty.git(["init", "-q", "-b", "main", "--object-format=sha256"]).ok();
    import(&empty, &text);
    assert_eq!(trees(&empty), trees(&repo));
}

#[test]
fn an_imported_secret_is_stored_unchanged_and_reported() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.git(["config", "empirica.redact", "false"]).ok();
    repo.start("ada", "t");
    repo.json(["finding", "ghp_0123456789abcdefghijABCDEFGHIJ012345 opens it"]);
    let text = export(&repo);
    assert_eq!(import(&repo, &text)["secrets"], Value::Null, "nobody looked");
    let clone = place.clone(&repo, "clone", false);
    let ran = clone.run_with_input(["import", "--jsonl", "-"], text.as_bytes()).ok();
    assert!(ran.err.contains("warning: imported a probable secret in 1 line"), "{}", ran.err);
    assert_eq!(export(&clone), text);
    assert_eq!(import(&clone, &text)["secrets"], 1);
}

#[test]
fn redacted_text_is_neither_exported_nor_imported() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.start("ada", "t");
    let id = repo.json(["finding", "to be forgotten"])["id"].as_str().expect("an id").to_owned();
    repo.json(["flush"]);
    let text = export(&repo);
    let clone = place.repo("clone");
    let epoch = place.path().join("epoch");
    std::fs::write(&epoch, format!("1\n{id}\n")).expect("a file");
    let blob = clone.git_out(["hash-object", "-w", epoch.to_str().expect("UTF-8")]);
    let entries = place.path().join("entries");
    std::fs::write(&entries, format!("100644 blob {blob}\tepoch\n")).expect("a file");
    let input = std::fs::File::open(&entries).expect("a file");
    let made = place.command("git", &clone.path).arg("mktree").stdin(input).output().expect("git starts");
    let tree = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    let commit = clone.git_out(["commit-tree", &tree, "-m", "Redacted"]);
    clone.git(["update-ref", &reference("data/journal"), &commit]).ok();
    let answer = import(&clone, &text);
    assert_eq!((&answer["new"], &answer["left_out"]), (&Value::from(1), &Value::from(1)), "{answer}");
    assert!(!export(&clone).contains("forgotten"));
    assert!(!clone.lines("journal").concat().contains("forgotten"));
}

#[test]
fn an_import_that_cannot_write_fails_and_leaves_nothing_partial() {
    let place = Sandbox::new();
    let repo = lived(&place);
    let text = export(&repo);
    let clone = place.clone(&repo, "clone", false);
    clone.git(["config", "empirica.lockTimeout", "50ms"]).ok();
    std::fs::create_dir_all(clone.path.join(".git/empirica")).expect("a folder");
    let lock = std::fs::File::create(clone.path.join(".git/empirica/lock")).expect("a lock");
    lock.lock().expect("the lock");
    let ran = clone.run_with_input(["import", "--jsonl", "-", "--json"], text.as_bytes()).code(128);
    assert!(ran.json()["error"].as_str().expect("an error").contains("another process holds it"), "{}", ran.out);
    drop(lock);
    assert_eq!(tips(&clone), ["", "", "", ""]);
    let stale = clone.path.join(".git/refs/notes/empirica/data/checkpoints.lock");
    std::fs::create_dir_all(stale.parent().expect("a folder")).expect("a folder");
    std::fs::write(&stale, "").expect("a lock of git's");
    clone.run_with_input(["import", "--jsonl", "-", "--json"], text.as_bytes()).code(128);
    assert_eq!(tips(&clone), ["", "", "", ""]);
    assert_eq!(clone.json(["status"])["unflushed"], 0);
    std::fs::remove_file(&stale).expect("a lock of git's");
    import(&clone, &text);
    assert_eq!(export(&clone), text);
}

#[test]
fn an_import_during_concurrent_writes_loses_nothing() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.start("ada", "t");
    let imported = many(&repo, 400, 7);
    let file = place.path().join("all.jsonl");
    std::fs::write(&file, &imported).expect("a file");
    let spawn = |arguments: &[&str]| {
        let mut command = repo.program();
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
    };
    let mut running = vec![spawn(&["import", "--jsonl", file.to_str().expect("UTF-8")])];
    for at in 0..8 {
        running.push(spawn(&["finding", &format!("beside it {at}")]));
        running.push(spawn(&["flush"]));
    }
    running.push(spawn(&["import", "--jsonl", file.to_str().expect("UTF-8")]));
    for mut child in running {
        assert!(child.wait().expect("it ends").success());
    }
    repo.json(["flush"]);
    let text = export(&repo);
    assert!(imported.lines().all(|line| text.contains(line)));
    for at in 0..8 {
        assert!(text.contains(&format!("beside it {at}\"")), "{at}");
    }
    repo.fsck();
}

/// Lines of findings and handoffs, on commits that are not here and on HEAD.
fn many(repo: &Repo<'_>, count: usize, seed: u64) -> String {
    let head = repo.head();
    let line = |at: usize| {
        let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ seed);
        let on = if at.is_multiple_of(5) { head.clone() } else { format!("{mixed:016x}{mixed:016x}{at:08x}") };
        let (kind, rest) = match at % 10 {
            3 => ("handoff", format!(r#""type":"epistemic","task":"task {at}","context":"c""#)),
            _ => ("finding", format!(r#""text":"text {at}""#)),
        };
        format!(
            "{{\"commit\":\"{on}\",\"record\":{{\"v\":1,\"id\":\"019ab000-0000-7000-8000-{at:012x}\",\"kind\":\"{kind}\",\"session\":\"11111111-2222-4333-8444-555555555555\",\"ai\":\"x\",\"at\":\"2026-01-01T00:00:00.000Z\",\"commit\":null,\"tree\":null,{rest}}}}}\n"
        )
    };
    (0..count).map(line).collect()
}

#[test]
fn thousands_of_records_are_one_commit_a_ref() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.git(["config", "core.logAllRefUpdates", "always"]).ok();
    let text = many(&repo, 2000, 1);
    let answer = import(&repo, &text);
    assert_eq!(answer["new"], 2000);
    assert_eq!(answer["missing_commits"], 1600);
    for name in ["data/journal", "data/handoffs", "handoffs"] {
        assert_eq!(repo.git_out(["rev-list", "--count", &reference(name)]), "1", "{name}");
        assert_eq!(repo.git_out(["reflog", "show", "--format=%H", &reference(name)]).lines().count(), 1, "{name}");
    }
    let whole = export(&repo);
    assert_eq!(whole.lines().count(), 2000);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&whole), sorted(&text), "the lines are the bytes that were given");
    // the layout of the tree does not depend on how the notes came
    let other = place.repo("other");
    for part in [&text[..text.len() / 2], &text] {
        let end = part.rfind('\n').map_or(0, |end| end + 1);
        import(&other, &part[..end]);
    }
    for name in ["data/journal", "data/handoffs", "handoffs"] {
        assert_eq!(trees_of(&other, name), trees_of(&repo, name), "{name}");
    }
}

#[test]
fn a_closed_pipe_breaks_no_export() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    import(&repo, &many(&repo, 3000, 3));
    let mut command = repo.program();
    command.args(["export", "--jsonl"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stderr, b"");
}

#[test]
fn an_export_that_lacks_a_note_fails_before_its_first_line() {
    let place = Sandbox::new();
    let repo = lived(&place);
    let list = repo.git_out(["notes", "--ref", &reference("data/handoffs"), "list"]);
    let blob = list.split(' ').next().expect("a blob");
    std::fs::remove_file(repo.path.join(".git/objects").join(&blob[..2]).join(&blob[2..])).expect("a loose object");
    repo.forget_written_logs();
    let ran = repo.run(["export", "--jsonl"]).code(128);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains(&format!("cannot read the note {blob}: it is missing")), "{}", ran.err);
}

#[test]
fn an_export_needs_a_format_and_has_no_json_document() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let refused = |arguments: &[&str]| -> RunOutput { repo.run(arguments).code(2) };
    refused(&["export"]);
    assert_eq!(refused(&["export", "--jsonl", "--json"]).json()["ok"], false);
    let ran = repo.run(["export", "--jsonl"]).ok();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", "Nothing is stored here.\n"));
}
