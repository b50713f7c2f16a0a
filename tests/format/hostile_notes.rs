//! Foreign notes of every size and shape: each command ends in time, controls no terminal, writes nowhere else, and later
//! writes keep foreign lines. `EMPIRICA_TEST_LONG` tries the full sizes, for which a debug build is too
//! slow: `cargo test --release`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox, each, is_long};

pub const JOURNAL: &str = "refs/notes/empirica/data/journal";
pub const HANDOFFS: &str = "refs/notes/empirica/data/handoffs";
const SESSION: &str = "11111111-2222-4333-8444-555555555555";
/// Nothing may take longer.
const LIMIT: Duration = Duration::from_secs(60);

/// Every command that reads, with what it may exit with beside 0.
const READERS: [&[&str]; 25] = [
    &["resume"],
    &["resume", "--detail", "full"],
    &["show"],
    &["show", "HEAD"],
    &["show", "--verify"],
    &["log", "--handoffs", "--checkpoints", "--journal"],
    &["query"],
    &["search", "text"],
    &["similar", "text"],
    &["session", "list"],
    &["session", "show"],
    &["status"],
    &["doctor"],
    &["bootstrap"],
    &["metrics"],
    &["calibration"],
    &["handoff", "list"],
    &["task", "list"],
    &["goal", "list"],
    &["checkpoint", "list"],
    &["diff"],
    &["drift"],
    &["export", "--jsonl"],
    &["export", "--markdown", "../out/markdown"],
    &["report", "--html", "../out/page.html"],
];

/// Runs a command to its end within the limit; its exit code, and what it printed.
#[track_caller]
fn within(repo: &Repo<'_>, arguments: &[&str]) -> (i32, Vec<u8>, Vec<u8>) {
    let folder = repo.place.path();
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    let mut command = repo.program();
    command.args(arguments).stdout(File::create(&out).expect("a file")).stderr(File::create(&err).expect("a file"));
    let mut child = command.spawn().expect("the program starts");
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().expect("its state") {
            Some(status) => break status,
            None if begun.elapsed() > LIMIT => {
                child.kill().expect("it ends");
                panic!("{arguments:?} hangs");
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let read = |path| fs::read(path).expect("what it printed");
    (status.code().unwrap_or(-1), read(&out), read(&err))
}

/// Every command that reads works, and drives no terminal.
#[track_caller]
pub fn readers_work(repo: &Repo<'_>) {
    work_of(repo, 1);
}

/// Every `step`-th command that reads works, and drives no terminal.
#[track_caller]
fn work_of(repo: &Repo<'_>, step: usize) {
    let out = repo.place.path().join("out");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir(&out).expect("a folder");
    for arguments in READERS.into_iter().step_by(step) {
        let (code, stdout, stderr) = within(repo, arguments);
        let output = String::from_utf8_lossy(&stderr);
        assert!([0, 1].contains(&code), "{arguments:?}: {code}: {output:.2000}");
        assert!(!output.contains("panicked"), "{arguments:?}: {output:.2000}");
        if arguments[0] != "export" {
            let bad = |text: &str| {
                text.chars().find(|c| {
                    (c.is_control() && *c != '\n')
                        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
                })
            };
            let stdout = String::from_utf8(stdout).expect("UTF-8");
            assert_eq!(bad(&stdout).or(bad(&output)), None, "{arguments:?}");
        }
    }
    let inside: BTreeSet<String> = fs::read_dir(repo.place.path())
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let known = ["home", "note", "out", "r", "stderr", "stdout", "tree", "source"];
    assert!(inside.iter().all(|name| known.contains(&name.as_str())), "{inside:?}");
    assert_eq!(repo.git_out(["status", "--porcelain"]), "", "nothing is written to the work tree");
}

/// Writes something of each namespace.
#[track_caller]
pub fn write(repo: &Repo<'_>) {
    for arguments in [
        &["session", "start", "--ai", "us", "--task", "text"][..],
        &["finding", "text of ours", "--ai", "us"],
        &["handoff", "--ai", "us", "--context", "c", "--next", "n"],
        &["flush"],
    ] {
        let (code, _, stderr) = within(repo, arguments);
        assert_eq!(code, 0, "{arguments:?}: {:.2000}", String::from_utf8_lossy(&stderr));
    }
}

/// Reading and writing on top of a note of others, which must still be there, line by line.
#[track_caller]
fn survives(what: &str, note: &[u8]) {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let head = repo.head();
    repo.set_note(JOURNAL, &head, note);
    repo.set_note(HANDOFFS, &head, note);
    readers_work(&repo);
    write(&repo);
    work_of(&repo, each(4));
    let twin = place.path().join("source");
    let pushed = within(
        &repo,
        &["sync", {
            repo.git(["init", "-q", "--bare", twin.to_str().expect("UTF-8")]).ok();
            twin.to_str().expect("UTF-8")
        }],
    );
    assert_eq!(pushed.0, 0, "{what}: {}", String::from_utf8_lossy(&pushed.2));
    for reference in [JOURNAL, HANDOFFS] {
        let after = repo.note_bytes(reference, &head);
        let kept: BTreeSet<&[u8]> = after.split(|byte| *byte == b'\n').collect();
        for line in note.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            assert!(kept.contains(line), "{what}: lost {:.80}", String::from_utf8_lossy(line));
        }
        assert!(String::from_utf8_lossy(&after).contains("\"ai\":\"us\""), "{what}");
    }
}

/// A record as another program might have written it.
fn record(number: u64, version: u32, kind: &str, rest: Value) -> String {
    let mut json = json!({"v": version, "id": format!("019b7000-0000-7000-8000-{number:012x}"), "kind": kind, "session": SESSION,
        "ai": "other", "at": "2026-01-01T00:00:00.000Z", "commit": null, "tree": null});
    json.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
    json.to_string()
}

/// How large the notes of these tests are, in KB.
fn size() -> usize {
    if is_long() { 60 << 10 } else { 200 }
}

#[test]
fn a_note_of_one_long_line() {
    let long = "x".repeat(size() << 10);
    survives("a foreign line", format!("{long}\n").as_bytes());
}

#[test]
fn a_note_with_one_long_record() {
    let long = "text ".repeat((size() << 10) / 5);
    survives("a record", format!("{}\n", record(1, 1, "finding", json!({"text": long}))).as_bytes());
}

#[test]
fn a_note_of_many_records() {
    let one = |number| record(number, 1, "finding", json!({"text": format!("text {number} {}", "word ".repeat(160))}));
    let lines: Vec<String> = (0..size() as u64).map(one).collect();
    survives("records", format!("{}\n", lines.join("\n")).as_bytes());
}

#[test]
fn a_note_of_very_many_short_lines() {
    let count = if is_long() { 1_000_000 } else { 5_000 };
    let line = |number: usize| format!("{}\n", char::from(b'!' + (number % 90) as u8));
    let note: String = (0..count).map(line).collect();
    survives("lines of one byte", note.as_bytes());
    let note: String = (0..count).map(|number| format!("{number:x}\n")).collect();
    survives("short lines", note.as_bytes());
}

#[test]
fn a_note_of_unknown_lines() {
    let deep = "[".repeat(100_000);
    let object = "{\"a\":".repeat(100_000);
    let lines: Vec<Vec<u8>> = vec![
        deep.clone().into_bytes(),
        object.clone().into_bytes(),
        record(1, 1, "finding", json!({"text": "text"})).replace("\"text\":\"text\"", &format!("\"text\":{deep}")).into_bytes(),
        record(2, 1, "finding", json!({"text": "text"})).replace('}', &format!(",\"x\":{object}")).into_bytes(),
        record(3, 1, "finding", json!({"text": "text"})).replace('}', &format!(",\"x\":{deep}{}}}", "]".repeat(100_000))).into_bytes(),
        [record(4, 1, "finding", json!({"text": "text"})).as_bytes(), b"\xff\xfe"].concat(),
        record(5, 1, "finding", json!({"text": "@"})).replace('@', "\u{fffd}").into_bytes(),
        b"{\"v\":1,\"id\":\"019b7000-0000-7000-8000-0000000000ff\",\"kind\":\"finding\",\"text\":\"\xc3\x28\"}".to_vec(),
        b"\xff\xfe\x9b31m \x00 \x1b]52;c;x\x07".to_vec(),
        record(6, 2, "finding", json!({"text": "text"})).into_bytes(),
        record(7, 99, "handoff", json!({"task": "text"})).into_bytes(),
        record(8, 1, "prophecy", json!({"text": "text"})).into_bytes(),
        record(9, 1, "handoff", json!({"task": 7})).into_bytes(),
        record(10, 1, "signature", json!({"of": "--exec", "sha256": "", "signed": ""})).into_bytes(),
        record(11, 1, "finding", json!({"text": "lesser"})).into_bytes(),
        record(11, 1, "finding", json!({"text": "text greater"})).into_bytes(),
        b"1e999999".to_vec(),
        format!("{{\"v\":1,\"id\":\"019b7000-0000-7000-8000-0000000000fe\",\"kind\":\"finding\",\"session\":\"{SESSION}\",\"ai\":\"x\",\"at\":\"\",\"commit\":null,\"tree\":null,\"text\":\"t\",\"impact\":1e999}}").into_bytes(),
    ];
    survives("lines nobody understands", &[lines.join(&b'\n'), b"\n".to_vec()].concat());
}

/// Texts that look like options, paths, markup or commands of a terminal.
const NAMES: [&str; 16] = [
    "--exec=touch pwned",
    "-",
    "--",
    "../../../../../../../../tmp/../pwned",
    "/etc/passwd",
    "nul\0here",
    "line\nbreak\n-- empirica 019ca945-0a1e-7195-909d-083512cff3d8 r9",
    "$(touch pwned)`touch pwned`;touch pwned|touch pwned",
    "\u{1b}[2J\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{7}\u{1b}]52;c;eA==\u{7}\u{9b}31m\u{90}q",
    "\u{202e}live\u{2066}\u{200b}\u{feff}",
    "</script><script>alert(1)</script><img src=x onerror=alert(1)>",
    "x](javascript:alert(1)) ![i](http://x/y) [a]: http://x",
    "# Forged\n## What I Learned\n```\n| a | b |\n- [ ] x",
    ":(top,glob)**",
    "refs/notes/empirica/data/journal",
    "%s%n%(trailers) %x00",
];

/// Puts a text in the place of every text that is free to say anything.
fn put(value: &mut Value, text: &str, is_free: bool) {
    const SAID: [&str; 30] = [
        "text",
        "why",
        "task",
        "ai",
        "approach",
        "prevention",
        "alternatives",
        "location",
        "command",
        "files",
        "file",
        "path",
        "category",
        "context",
        "next_steps",
        "accomplished",
        "artifacts",
        "task_id",
        "to",
        "branch",
        "worktree",
        "external_id",
        "reason",
        "reasoning",
        "tags",
        "cycle",
        "criteria",
        "understanding",
        "questions",
        "name",
    ];
    match value {
        Value::String(expected) if is_free => *expected = text.to_owned(),
        Value::Array(list) => list.iter_mut().for_each(|one| put(one, text, is_free)),
        Value::Object(map) => map.iter_mut().for_each(|(key, one)| put(one, text, SAID.contains(&key.as_str()))),
        _ => {}
    }
}

#[test]
fn texts_like_options_paths_or_markup_are_text() {
    let place = Sandbox::new();
    let source = place.repo("source");
    let id = source.start("ada", "t");
    for arguments in [
        &["preflight", "-v", "know=0.4", "--reasoning", "r", "--tag", "t", "--cycle", "1"][..],
        &["finding", "f"],
        &["unknown", "u"],
        &["deadend", "d", "--why", "w"],
        &["mistake", "m", "--prevention", "p"],
        &["decision", "d", "--why", "w", "--alternative", "a"],
        &["evidence", "e", "--exit", "1", "--file", "f"],
        &["source", "s"],
        &["activity", "edit", "e", "--file", "f"],
        &["goal", "add", "g", "--criterion", "c"],
        &["checkpoint"],
        &["postflight", "-v", "know=0.8", "--context", "c", "--next", "n", "--accomplished", "a", "--artifact", "p"],
        &["handoff", "--type", "initialization", "--task-id", "t", "--to", "bob", "--set", "instructions=I"],
    ] {
        source.json(arguments);
    }
    source.json([
        "accept",
        source.json(["show"])["handoff_id"].as_str().expect("an id"),
        "--understanding",
        "u",
        "--question",
        "q",
    ]);
    source.json(["flush"]);
    let lines: Vec<(&str, String)> = ["journal", "checkpoints", "handoffs"]
        .into_iter()
        .flat_map(|namespace| source.lines(namespace).into_iter().map(move |line| (namespace, line)))
        .collect();
    fs::remove_dir_all(&source.path).expect("it goes");
    let repo = place.repo("r");
    let head = repo.head();
    let some: Vec<&str> = if is_long() { NAMES.to_vec() } else { vec![NAMES[0], NAMES[8]] };
    let all = NAMES.join(" ");
    for text in some.into_iter().chain([all.as_str()]) {
        for namespace in ["journal", "checkpoints", "handoffs"] {
            let of_namespace = lines.iter().filter(|(on, _)| *on == namespace).map(|(_, line)| {
                let mut json: Value = serde_json::from_str(line).expect("a record");
                put(&mut json, text, false);
                if !json["commit"].is_null() {
                    json["commit"] = json!(head);
                }
                json.to_string() + "\n"
            });
            repo.set_note(
                &format!("refs/notes/empirica/data/{namespace}"),
                &head,
                of_namespace.collect::<String>().as_bytes(),
            );
        }
        let _ = fs::remove_dir_all(repo.path.join(".git/empirica"));
        readers_work(&repo);
        for arguments in
            [&["session", "show", &id][..], &["resume", "--session", &id], &["goal", "list", "--session", &id]]
        {
            let (code, ..) = within(&repo, arguments);
            assert_eq!(code, 0, "{text:?}: {arguments:?}");
        }
        let page = fs::read_to_string(place.path().join("out/page.html")).expect("a page");
        assert!(!page.contains("<script>alert") && !page.contains("<img src=x"), "{text:?}");
        let mut files = vec![place.path().join("out/markdown")];
        while let Some(path) = files.pop() {
            match path.is_dir() {
                // output for programs is data
                false if path.extension() != Some(OsStr::new("md")) => {}
                true => files.extend(fs::read_dir(&path).expect("a folder").flatten().map(|entry| entry.path())),
                false => {
                    let text = fs::read_to_string(&path).expect("Markdown");
                    assert!(
                        !text.replace("\\<", "").contains("<script>")
                            && !text.lines().any(|line| line.starts_with("# Forged")),
                        "{text}"
                    );
                }
            }
        }
        assert!(!repo.path.join("pwned").exists() && !place.path().join("pwned").exists());
    }
}
