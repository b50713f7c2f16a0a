//! The handoff in the editor, at the end of a postflight, through a user's template, and in the compact form.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};

/// A repository with an active session and a finding.
fn begun<'p>(place: &'p Sandbox, name: &str) -> Repo<'p> {
    let repo = place.repo(name);
    repo.start("ada", "Old task");
    repo.json(["finding", "Known already"]);
    repo
}

/// An editor that runs a script on the draft `$1`.
fn editor(repo: &Repo<'_>, script: &str) -> String {
    let path = repo.place.path().join("my editor");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    format!("'{}'", path.display())
}

fn shown(repo: &Repo<'_>) -> Value {
    repo.json(["show", "--format", "json"])
}

fn handoffs(repo: &Repo<'_>) -> Value {
    repo.json(["handoff", "list"])["total_found"].clone()
}

fn drafts(repo: &Repo<'_>) -> impl Iterator<Item = std::path::PathBuf> {
    let files = std::fs::read_dir(repo.path.join(".git")).expect("a folder").map(|entry| entry.expect("an entry"));
    let drafts = files.filter(|file| file.file_name().to_string_lossy().starts_with("EMPIRICA_EDITMSG"));
    drafts.map(|file| file.path()).collect::<Vec<_>>().into_iter()
}

fn draft_is_kept(repo: &Repo<'_>) -> bool {
    drafts(repo).count() > 0
}

#[test]
fn the_editor_changes_adds_and_removes_handoff_content() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    let editor = editor(
        &repo,
        "cp \"$1\" ../draft\nsed -i -e 's/^Old task$/New task/' -e '/^- Drop me$/d' -e 's/^Findings:$/&\\n- Added by hand\\n  on two lines/' \"$1\"",
    );
    let given = [
        "handoff",
        "--edit",
        "--next",
        "Drop me",
        "--next",
        "Keep me",
        "--context",
        "Mind the gap",
        "--finding",
        "Flag",
    ];
    repo.json_with_env(&[("GIT_EDITOR", &editor)], given);
    let h = shown(&repo);
    assert_eq!(h["task"], "New task");
    assert_eq!(h["next_steps"], json!(["Keep me"]));
    assert_eq!(h["next_session_context"], "Mind the gap");
    assert_eq!(h["key_findings"], json!(["Known already", "Added by hand\non two lines", "Flag"]));
    let draft = std::fs::read_to_string(place.path().join("draft")).expect("the draft");
    assert!(draft.contains("= Known already\n") && draft.contains("- Flag\n"), "{draft}");
    assert!(!draft_is_kept(&repo));
}

#[test]
fn the_editor_of_the_configuration_is_used_as_git_would() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    repo.git([
        "config",
        "core.editor",
        &editor(&repo, "echo '- Via core.editor' > ../x; sed -i 's/^Old/Configured/' \"$1\""),
    ])
    .ok();
    repo.json(["handoff", "--edit"]);
    assert_eq!(shown(&repo)["task"], "Configured task");
}

#[test]
fn an_emptied_draft_or_a_failing_editor_stores_nothing() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    let refs = repo.git_out(["for-each-ref"]);
    for (script, kept) in
        [(": > \"$1\"", false), ("sed -i '/^Old task$/d' \"$1\"", false), ("exit 3", true), ("rm \"$1\"", false)]
    {
        let editor = editor(&repo, script);
        let given = ["handoff", "--edit", "--json", "--finding", "Not stored"];
        let ran = repo.run_with_env(&[("GIT_EDITOR", &editor)], given).code(1);
        assert_eq!(ran.json()["ok"], false, "{script}");
        assert_eq!(draft_is_kept(&repo), kept, "{script}: a draft of worth is kept");
        drafts(&repo).for_each(|draft| std::fs::remove_file(draft).expect("a draft"));
    }
    let ran = repo.run_with_env(&[("GIT_EDITOR", "no-such-editor-here")], ["handoff", "--edit"]).code(1);
    assert!(ran.err.contains("no-such-editor-here") && ran.err.contains("EMPIRICA_EDITMSG"), "{}", ran.err);
    assert_eq!(handoffs(&repo), 0);
    assert_eq!(repo.git_out(["for-each-ref"]), refs);
    repo.run(["flush"]).ok();
    assert!(!repo.lines("journal").iter().any(|line| line.contains("Not stored")));
}

#[test]
fn postflight_writes_the_handoff_unless_disabled() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    let json = repo.json(["postflight", "-v", "know=0.9", "--no-handoff", "--finding", "Late"]);
    assert!(json["handoff"].is_null() && json.get("warning").is_none(), "{json}");
    assert_eq!(handoffs(&repo), 0);
    let json = repo.json([
        "postflight",
        "-v",
        "know=0.9",
        "-m",
        "Renamed",
        "--next",
        "Go",
        "--context",
        "C",
        "--artifact",
        "x",
    ]);
    assert_eq!(json["round"], 2);
    assert_eq!(json["handoff"]["handoff_id"], shown(&repo)["handoff_id"]);
    let h = shown(&repo);
    assert_eq!(
        (&h["task"], &h["next_steps"][0], &h["artifacts_created"][0]),
        (&json!("Renamed"), &json!("Go"), &json!("x"))
    );
    assert_eq!(h["key_findings"], json!(["Known already", "Late"]));
}

#[test]
fn a_broken_template_of_the_user_fails_neither_postflight_nor_handoff() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    std::fs::create_dir(place.path().join("templates")).expect("a folder");
    std::fs::write(place.path().join("templates/handoff.md"), "{% for x in %}").expect("a template");
    repo.git(["config", "empirica.templateDir", place.path().join("templates").to_str().expect("UTF-8")]).ok();
    let json = repo.json(["postflight", "-v", "know=0.9"]);
    assert!(json["handoff"]["handoff_id"].is_string(), "{json}");
    repo.run(["postflight", "-v", "know=0.9"]).ok();
    let ran = repo.run(["handoff"]).ok();
    assert!(ran.err.contains("handoff.md") && ran.out.contains("# Handoff"), "{} {}", ran.out, ran.err);
    assert!(repo.note("refs/notes/empirica/handoffs", "HEAD").contains("- All: "));
    let ran = repo.run(["show"]).code(1);
    assert!(ran.err.contains("handoff.md"), "a reading command names the file: {}", ran.err);
}

#[test]
fn a_users_template_changes_the_terminal_and_never_the_notes() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    repo.json(["handoff", "--context", "C"]);
    let templates = place.path().join("templates");
    std::fs::create_dir(&templates).expect("a folder");
    std::fs::write(templates.join("handoff.md"), "MINE {{ h.context }}\n").expect("a template");
    repo.git(["config", "empirica.templateDir", templates.to_str().expect("UTF-8")]).ok();
    assert_eq!(repo.run(["show"]).ok().unfenced(), "MINE C\n");
    let json = repo.json(["handoff"]);
    assert!(json["markdown"].as_str().is_some_and(|text| text.contains("## What I Learned")), "{json}");
    assert_eq!(repo.run(["handoff"]).ok().out, "MINE C\n");
    let now = repo.note("refs/notes/empirica/handoffs", "HEAD");
    assert!(!now.contains("MINE") && now.contains("- Learned: C\n"), "{now}");
}

/// Runs a shell line in which no file can grow beyond 64 KB.
fn in_a_full_store(repo: &Repo<'_>, line: &str) -> Value {
    let line = format!("trap '' XFSZ; ulimit -f 128; exec git-empirica {line} --json");
    let out = repo.place.command("sh", &repo.path).args(["-c", &line]).output().expect("a shell");
    assert_eq!(
        out.status.code(),
        Some(0),
        "{} {}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
    serde_json::from_slice(&out.stdout).expect("one document")
}

#[test]
fn a_handoff_that_cannot_be_stored_keeps_the_postflight() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    repo.write("big", &"The context is longer than the store can take. ".repeat(5000));
    let json = in_a_full_store(&repo, "postflight -v know=0.9 --context @big");
    assert_eq!((&json["ok"], &json["handoff"]), (&json!(true), &Value::Null));
    assert!(json["warning"].as_str().is_some_and(|text| text.contains("handoff")), "{json}");
    let checkpoint = json["checkpoint_id"].as_str().expect("an id");
    assert_eq!(repo.json(["checkpoint", "show", checkpoint])["vectors"]["know"], 0.9);
    assert_eq!(handoffs(&repo), 0, "no part of it is taken for a handoff");
    repo.json(["handoff", "--context", "@big"]);
    assert_eq!(handoffs(&repo), 1, "with room it is written");
    repo.fsck();
}

#[test]
fn notes_that_cannot_be_written_degrade_and_lose_nothing() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    repo.git(["config", "empirica.lockTimeout", "50ms"]).ok();
    repo.run(["flush"]).ok();
    let lock = repo.path.join(".git/refs/notes/empirica/data/handoffs.lock");
    std::fs::create_dir_all(lock.parent().expect("a folder")).expect("a folder");
    std::fs::write(&lock, "").expect("a stale lock");
    let json = repo.json(["postflight", "-v", "know=0.9", "--next", "Waits"]);
    assert_eq!(json["degraded_mode"], true, "{json}");
    assert!(json["warning"].as_str().is_some_and(|text| text.contains("handoffs")), "{json}");
    assert_eq!(repo.json(["resume"])["sessions"][0]["next_steps"][0], "Waits", "readers see what waits");
    std::fs::remove_file(&lock).expect("the lock goes");
    let json = repo.json(["flush"]);
    assert_eq!((&json["degraded_mode"], &json["waiting"]), (&json!(false), &json!(0)));
    assert!(repo.note("refs/notes/empirica/handoffs", "HEAD").contains("- Next: Waits\n"));
}

#[test]
fn the_compact_form_has_the_seeds_keys_and_limits() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let long = |n: usize| "é".repeat(n);
    let session = repo.start("ada", &long(250));
    repo.json(["preflight", "-v", "know=0.5,do=0.5,clarity=0.3,uncertainty=0.6"]);
    for n in 0..7 {
        repo.json(["finding", &format!("{n}{}", long(200))]);
        repo.json(["unknown", &format!("{n}{}", long(200))]);
    }
    let next: Vec<String> = (0..5).map(|n| format!("{n}{}", long(150))).collect();
    let mut given = vec!["postflight", "-v", "know=0.625,do=0.5999,clarity=0.4,uncertainty=0.2", "--context"];
    let context = long(400);
    given.push(&context);
    next.iter().for_each(|step| given.extend(["--next", step]));
    repo.json(given);
    let json = repo.json(["show", "--format", "compact"]);
    let length = |value: &Value| value.as_str().expect("a text").chars().count();
    let lengths = |key: &str| -> Vec<usize> { json[key].as_array().expect("a list").iter().map(length).collect() };
    assert_eq!(json["s"], session[..8]);
    assert_eq!(json["ai"], "ada");
    assert_eq!(length(&json["task"]), 200);
    assert_eq!(lengths("findings"), [150; 5]);
    assert_eq!(lengths("unknowns"), [100; 5]);
    assert_eq!(length(&json["next"]), 300);
    assert_eq!(lengths("recommend"), [100; 3]);
    let deltas = json["deltas"].as_object().expect("deltas");
    assert_eq!(deltas.get("clarity"), Some(&json!(0.1)), "0.10 counts: {deltas:?}");
    assert_eq!(deltas.get("do"), None, "0.0999 does not");
    assert_eq!(deltas.get("uncertainty"), Some(&json!(-0.4)));
    assert_eq!(deltas.get("know"), Some(&json!(0.13)), "two decimals: {deltas:?}");
    assert_eq!(json["calibrated"], "overconfident");
    let text: Value = serde_json::from_str(&repo.run(["show", "--format", "compact"]).ok().out).expect("JSON");
    assert_eq!(text["findings"], json["findings"]);
}
