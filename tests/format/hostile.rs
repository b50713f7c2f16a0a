//! Text from records forges no structure and controls no terminal; unknown lines in the notes break nothing.

use empirica_notes::format::blocks;
use serde_json::{Value, json};

use crate::support::harness::{Repo, RunOutput, Sandbox};

const MARKDOWN: &str = "refs/notes/empirica/handoffs";
const JOURNAL: &str = "refs/notes/empirica/data/journal";

/// Every trick in one text. Arguments cannot hold a NUL; notes written by others can.
fn hostile() -> String {
    let forged = "-- empirica 019ca945-0a1e-7195-909d-083512cff3d8 r9";
    format!(
        "start\n# Forged heading\n## What I Learned\n```\n- [ ] forged task\n| a | b |\n|---|---|\n{forged}\n\
         * * *\n===\nx ``` <img src=x> `\na ` b\n` c ` <b>\n\
         </script><script>alert(1)</script>\n\x1b[31mred\x1b]8;;http://x\x07link\x1b]8;;\x07 \u{9b}31m \
         \u{202e}evil\u{2066} zero\u{200b}width\u{feff} bell\x07 cr\rover\x7f tab\tend\n{}",
        "long ".repeat(2000)
    )
}

/// No control character besides LF reaches a terminal, nor one that reorders or hides text.
#[track_caller]
fn clean(what: &str, ran: &RunOutput) {
    for text in [&ran.out, &ran.err] {
        let bad = text.chars().find(|c| {
            (c.is_control() && *c != '\n')
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{feff}')
        });
        assert_eq!(bad, None, "{what}: {text:?}");
    }
}

/// A session in which every text is hostile; returns its id.
fn play(repo: &Repo<'_>) -> String {
    let text = hostile();
    let text = text.as_str();
    let started = repo.json(["session", "start", "--ai", text, "--task", text, "--type", text]);
    let run = |arguments: &[&str]| clean(arguments[0], &repo.run(arguments).ok());
    run(&["preflight", "-v", "know=0.4", "--reasoning", text, "--tag", text, "--meta", &format!("k={text}")]);
    run(&["finding", text]);
    run(&["unknown", text]);
    run(&["deadend", text, "--why", text]);
    run(&["mistake", text, "--prevention", text]);
    run(&["decision", text, "--why", text, "--alternative", text]);
    run(&["evidence", text, "--exit", "1", "--file", text]);
    run(&["source", text]);
    run(&["activity", "edit", text, "--file", text]);
    run(&["goal", "add", text, "--criterion", text]);
    run(&["checkpoint"]);
    run(&["postflight", "-v", "know=0.8", "--reasoning", text, "--no-handoff"]);
    run(&["handoff", "--context", text, "--next", text, "--accomplished", text, "--artifact", text]);
    started["session_id"].as_str().expect("an id").to_owned()
}

const READERS: [&[&str]; 15] = [
    &["log", "--handoffs", "--checkpoints", "--journal"],
    &["log", "--oneline"],
    &["session", "list"],
    &["session", "show"],
    &["status"],
    &["resume"],
    &["resume", "--detail", "full"],
    &["bootstrap"],
    &["bootstrap", "--budget", "90000"],
    &["show"],
    &["show", "--format", "compact"],
    &["query"],
    &["handoff", "list"],
    &["goal", "list"],
    &["checkpoint", "list"],
];

#[test]
fn a_handoff_is_one_block_and_its_text_begins_no_line_of_markdown() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("first", "an honest task");
    repo.json(["handoff", "--ai", "first", "--finding", "an honest fact"]);
    repo.json(["session", "end", "--ai", "first"]);
    let honest = repo.note(MARKDOWN, &repo.head());
    play(&repo);
    let note = repo.note(MARKDOWN, &repo.head());
    assert!(note.starts_with(honest.trim_end()), "the other handoff's block is untouched");
    assert_eq!(note.matches("\n-- empirica ").count(), 2, "{note}");
    assert_eq!(note.lines().filter(|line| line.starts_with("# ")).count(), 2, "{note}");
    assert_eq!(note.lines().filter(|line| line.starts_with("## ")).count(), 0, "{note}");
    for line in note.lines() {
        let line = line.trim_start();
        assert!(!line.starts_with("```") && !line.starts_with("# Forged"), "{line:?}");
        assert!(!line.starts_with("- [ ] ") && !line.starts_with("</script>") && line != "* * *", "{line:?}");
        assert!(!line.starts_with("- # ") && !line.starts_with("- ```") && !line.starts_with("- - "), "{line:?}");
    }
    assert!(!note.replace("\\<", "").contains(['<']), "tags are text: {note}");
    let note = note.as_bytes();
    assert_eq!(blocks::union(note, note), note, "the note is what the merge would write");
    let (one, two) = (honest.as_bytes(), blocks::union(honest.as_bytes(), note));
    assert_eq!(blocks::union(one, note), two);
    assert_eq!(two, note);
}

#[test]
fn no_control_character_reaches_the_terminal() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    play(&repo);
    for arguments in READERS {
        let ran = repo.run(arguments).ok();
        clean(&arguments.join(" "), &ran);
        assert!(!ran.out.lines().any(|line| line.starts_with("-- empirica ")), "{}", ran.out);
    }
}

#[test]
fn errors_show_hostile_arguments_as_text() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let text = hostile();
    repo.start("a", "t");
    for arguments in [
        &["show", &text][..],
        &["session", "show", &text],
        &["resume", "--session", &text],
        &["finding", "x", "--session", &text],
        &["resolve", &text, "x"],
        &["goal", "done", &text],
        &["preflight", "-v", &text],
        &["finding", &format!("@{text}")],
        &["query", "--since", "\x1bnonsense\u{202e}"],
        &["query", "--task", &format!("({text}")],
        &["log", &format!("^{text}")],
        &["activity", &text, "x"],
        &[&text],
    ] {
        let ran = repo.run(arguments);
        assert!([1, 2, 128].contains(&ran.code), "{arguments:?}: {ran:?}");
        clean(arguments[0], &ran);
        repo.fails(ran.code, arguments);
    }
}

#[test]
fn json_keeps_the_text_byte_for_byte() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    play(&repo);
    let text = Value::from(hostile());
    let shown = repo.json(["show", "--format", "json"]);
    let handoff = if shown["key_findings"].is_array() { &shown } else { &shown["handoff"] };
    assert_eq!(handoff["key_findings"][0], text, "{shown}");
    assert_eq!(handoff["remaining_unknowns"][0], text);
    assert_eq!(handoff["dead_ends"][0]["why"], text);
    assert_eq!(handoff["decisions"][0]["alternatives"][0], text);
    assert_eq!(handoff["evidence"][0]["command"], text);
    assert_eq!(handoff["next_session_context"], text);
    assert_eq!(repo.json(["session", "list"])["sessions"][0]["task"], text);
}

/// A journal record as another program might have written it.
fn line(id: &str, version: u32, kind: &str, session: &str, rest: Value) -> Vec<u8> {
    let mut json = json!({"v": version, "id": id, "kind": kind, "session": session, "ai": "other",
        "at": "2026-01-01T00:00:00.000Z", "commit": null, "tree": null});
    let map = json.as_object_mut().expect("an object");
    map.extend(rest.as_object().expect("an object").clone());
    json.to_string().into_bytes()
}

const ID: &str = "019b7000-0000-7000-8000-00000000000";
const SESSION: &str = "11111111-2222-4333-8444-555555555555";

fn id(n: u8) -> String {
    format!("{ID}{n:x}")
}

/// Every reader works and prints nothing that drives a terminal.
#[track_caller]
fn readers_work(repo: &Repo<'_>) {
    for arguments in READERS {
        let ran = repo.run(arguments);
        let nothing = ["show", "session"].contains(&arguments[0]) && ran.code == 1;
        assert!(ran.code == 0 || nothing, "{arguments:?}: {ran:?}");
        clean(arguments[0], &ran);
        repo.run(arguments.iter().copied().chain(["--json"])).json();
    }
}

#[test]
fn a_nul_in_a_note_is_shown_as_text() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let text = format!("nul\0here {}", hostile());
    let finding = line(&id(1), 1, "finding", SESSION, json!({"text": text}));
    let unknown = line(&id(2), 1, "unknown", SESSION, json!({"text": text}));
    repo.set_note(JOURNAL, &repo.head(), &[&finding[..], b"\n", &unknown[..], b"\n"].concat());
    readers_work(&repo);
    let json = repo.json(["resume", "--session", SESSION, "--detail", "full"]);
    assert!(json.to_string().contains("nul\\u0000here"), "{json}");
}

#[test]
fn unknown_lines_break_nothing_and_survive_writes() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let deep = "[".repeat(100_000);
    let deep_record = format!(r#"{{"v":1,"id":"{}","kind":"finding","session":{deep}"#, id(4));
    let lines: Vec<Vec<u8>> = vec![
        line(&id(1), 2, "finding", SESSION, json!({"text": "from the future"})),
        line(&id(2), 1, "prophecy", SESSION, json!({"text": "of a new kind"})),
        line(&id(3), 1, "finding", SESSION, json!({"text": 7})),
        deep_record.into_bytes(),
        deep.into_bytes(),
        b"\xff\xfe not UTF-8 \x00".to_vec(),
        [line(&id(5), 1, "finding", SESSION, json!({"text": "x"})).as_slice(), b"\xff"].concat(),
        b"Reviewed-by: somebody".to_vec(),
        line("../../../../etc/passwd-0000-0000-000", 1, "finding", SESSION, json!({"text": "a path"})),
        line(&id(6), 1, "finding", "../../../escape", json!({"text": "a path as a session"})),
        line(&id(7), 1, "attach", SESSION, json!({"of": [id(1)], "from": "../..", "to": "-x"})),
        br#"{"v":1}"#.to_vec(),
        b"\r".to_vec(),
    ];
    repo.set_note(JOURNAL, &repo.head(), &(lines.join(&b'\n')));
    for namespace in ["handoffs", "checkpoints"] {
        repo.set_note(&format!("refs/notes/empirica/data/{namespace}"), &repo.head(), &(lines.join(&b'\n')));
    }
    readers_work(&repo);
    repo.start("a", "t");
    repo.json(["finding", "ours"]);
    repo.json(["handoff"]);
    repo.json(["flush"]);
    readers_work(&repo);
    let after = repo.note_bytes(JOURNAL, &repo.head());
    let kept: Vec<&[u8]> = after.split(|byte| *byte == b'\n').collect();
    for line in &lines {
        assert!(kept.contains(&line.as_slice()), "lost: {:?}", String::from_utf8_lossy(&line[..line.len().min(80)]));
    }
    assert!(String::from_utf8_lossy(&after).contains("ours"));
    assert!(!place.path().join("escape").exists() && !repo.path.join("escape").exists());
}

#[test]
fn of_two_variants_of_a_record_the_greater_bytes_win_and_status_reports_it() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let lesser = line(&id(1), 1, "finding", SESSION, json!({"text": "aaa lesser"}));
    let greater = line(&id(1), 1, "finding", SESSION, json!({"text": "bbb greater"}));
    for lines in [[&lesser, &greater], [&greater, &lesser]] {
        repo.set_note(JOURNAL, &repo.head(), &[lines[0].as_slice(), b"\n", lines[1], b"\n"].concat());
        let out = repo.run(["resume", "--session", SESSION]).ok().out;
        assert!(out.contains("bbb greater") && !out.contains("aaa lesser"), "{out}");
        let status = repo.json(["status"]);
        assert!(status["warning"].as_str().is_some_and(|text| text.contains("two versions")), "{status}");
    }
    repo.start("a", "t");
    repo.json(["flush"]);
    let note = repo.note(JOURNAL, &repo.head());
    assert!(note.contains("bbb greater") && note.contains("aaa lesser"), "both are kept");
}

#[test]
fn a_note_of_very_many_lines_is_read_and_kept() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let note: String = (0..200_000).map(|n| format!("line {n:06}\n")).collect();
    repo.set_note(JOURNAL, &repo.head(), note.as_bytes());
    repo.start("a", "t");
    repo.json(["finding", "ours"]);
    repo.json(["flush"]);
    let after = repo.note_bytes(JOURNAL, &repo.head());
    assert!(after.ends_with(note.as_bytes()));
    assert!(repo.run(["session", "show"]).ok().out.contains("ours"));
}
