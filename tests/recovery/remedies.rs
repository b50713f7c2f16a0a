//! Actionable errors: each category is caused, has reason and suggestion in JSON and text, and every recovery
//! command is run as printed, in the same folder and environment: it works, and if it fixes the cause, the first command
//! works afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::harness::{Repo, RunOutput, Sandbox};

/// What becomes of the first command after a recovery command.
#[derive(Clone, Copy, Debug, PartialEq)]
enum After {
    /// It works.
    Mended,
    /// The recovery command prints information.
    Shown,
}
use After::{Mended, Shown};

/// A cause of an error: the preparation, the command, its exit code, a part of the error, and what each of its recovery
/// commands does.
type Case = (&'static str, fn(&Repo<'_>), &'static [&'static str], i32, &'static str, &'static [After]);

fn nothing(_: &Repo<'_>) {}

fn active(repo: &Repo<'_>) {
    repo.start("ada", "Work");
}

fn ended(repo: &Repo<'_>) {
    active(repo);
    repo.json(["preflight", "-v", "know=0.5"]);
    repo.json(["session", "end"]);
}

fn two_agents(repo: &Repo<'_>) {
    active(repo);
    repo.start("bob", "Other work");
}

fn twins(repo: &Repo<'_>) {
    let line = |at: u32, session: &str| {
        let id = format!("019ca945-0a03-7ba9-9fc4-0000{at:04}beef");
        format!(
            "{{\"v\":1,\"id\":\"{id}\",\"kind\":\"session_start\",\"session\":\"{session}\",\"ai\":\"twin\",\"at\":\"2026-03-01T10:00:00.000Z\",\"commit\":null,\"tree\":null,\"worktree\":\"main\",\"place\":\"elsewhere\"}}\n"
        )
    };
    let note = line(1, "abcd1111-0000-4000-8000-000000000001") + &line(2, "abcd2222-0000-4000-8000-000000000002");
    repo.set_note("refs/notes/empirica/data/journal", &repo.head(), note.as_bytes());
    active(repo);
}

fn unreachable(repo: &Repo<'_>) {
    active(repo);
    repo.git(["remote", "add", "origin", "../no-such-repository.git"]).ok();
}

fn two_remotes(repo: &Repo<'_>) {
    active(repo);
    for name in ["one", "two"] {
        repo.git(["init", "-q", "--bare", &format!("../{name}.git")]).ok();
        repo.git(["remote", "add", name, &format!("../{name}.git")]).ok();
    }
}

fn wrong_setting(repo: &Repo<'_>) {
    active(repo);
    repo.git(["init", "-q", "--bare", "../hub.git"]).ok();
    repo.git(["remote", "add", "origin", "../hub.git"]).ok();
    repo.git(["config", "empirica.sync", "everything"]).ok();
}

fn broken_template(repo: &Repo<'_>) {
    active(repo);
    let folder = repo.place.path().join("my templates");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("status.txt"), "{% if %}").expect("a file");
    repo.git(["config", "empirica.templateDir", folder.to_str().expect("UTF-8")]).ok();
}

fn template_of_no_text(repo: &Repo<'_>) {
    broken_template(repo);
    fs::write(repo.place.path().join("my templates/status.txt"), b"\xff").expect("a file");
}

fn no_editor(repo: &Repo<'_>) {
    active(repo);
    repo.git(["config", "core.editor", "no-such-editor-here"]).ok();
}

fn emptying_editor(repo: &Repo<'_>) {
    active(repo);
    repo.git(["config", "core.editor", "truncate -s 0"]).ok();
}

fn file_in_place_of_state(repo: &Repo<'_>) {
    fs::write(repo.path.join(".git/empirica"), "").expect("a file");
    let state = repo.place.path().join("home/.local/state");
    fs::create_dir_all(&state).expect("a folder");
    fs::write(state.join("git-empirica"), "").expect("a file");
}

fn block_hooks_folder(repo: &Repo<'_>) {
    fs::write(repo.path.join(".git/empirica"), "").expect("a file");
}

fn block_home(repo: &Repo<'_>) {
    fs::write(repo.place.path().join("home/.local"), "").expect("a file");
}

fn unclear_record(repo: &Repo<'_>) {
    repo.run(["init"]).ok();
    repo.write(".git/empirica/init.json", "{");
}

fn with_handoff(repo: &Repo<'_>) {
    active(repo);
    repo.json(["handoff", "-m", "m"]);
}

fn closed_goal(repo: &Repo<'_>) {
    active(repo);
    let goal = repo.json(["goal", "add", "g"])["id"].as_str().expect("an id").to_owned();
    repo.json(["goal", "done", &goal]);
    repo.git(["config", "test.goal", &goal]).ok();
}

fn other_without_goals(repo: &Repo<'_>) {
    closed_goal(repo);
    repo.json(["session", "end"]);
    repo.start("bob", "Other work");
}

fn remote_that_refuses(repo: &Repo<'_>) {
    active(repo);
    repo.git(["init", "-q", "--bare", "../hub.git"]).ok();
    repo.git(["remote", "add", "origin", "../hub.git"]).ok();
    let hook = repo.place.path().join("hub.git/hooks/update");
    fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
    fs::write(&hook, "#!/bin/sh\nexit 1\n").expect("a file");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("a mode");
}

const CASES: &[Case] = &[
    // session not found
    ("no active session", nothing, &["session", "end"], 1, "no active session", &[Mended, Shown]),
    ("no active session to judge", nothing, &["drift"], 1, "no active session", &[Mended, Shown]),
    (
        "no active session of an agent",
        nothing,
        &["session", "show", "latest:active:claude-code"],
        1,
        "latest:active:claude-code",
        &[Mended],
    ),
    ("an agent with a quoted name", active, &["session", "show", "latest:active:it's me"], 1, "it's me", &[Mended]),
    ("an agent whose name is an option", active, &["session", "show", "latest:-x"], 1, "latest:-x", &[Shown]),
    ("nothing stored at all", nothing, &["resume", "--session", "latest"], 1, "'latest'", &[Mended]),
    ("an ended session", ended, &["check", "-v", "know=0.5", "--session", "latest"], 1, "has ended", &[Mended]),
    (
        "a session that ended twice",
        ended,
        &["session", "end", "--session", "latest"],
        1,
        "has already ended",
        &[Mended],
    ),
    ("several agents at once", two_agents, &["finding", "F"], 1, "several agents", &[Mended, Mended]),
    // invalid alias
    ("an alias of no form", active, &["session", "show", "latest:a:b:c"], 1, "latest:a:b:c", &[Shown]),
    ("an alias without an agent", active, &["session", "show", "latest:active:"], 1, "latest:active:", &[Shown]),
    ("an id of no session", active, &["session", "show", "ffffffff"], 1, "ffffffff", &[Shown]),
    ("an id that is too short", active, &["session", "show", "abc"], 1, "abc", &[Shown]),
    ("an id of several sessions", twins, &["session", "show", "abcd"], 1, "2 sessions", &[Shown]),
    ("an id of several records", twins, &["finding", "F", "--led-from", "beef"], 1, "2 records", &[Shown]),
    ("an id of no record", active, &["finding", "F", "--led-from", "ffffffff"], 1, "cannot find record", &[Shown]),
    ("an id of no goal", closed_goal, &["goal", "show", "ffffffff"], 1, "cannot find goal", &[Shown]),
    ("an id of no checkpoint", ended, &["checkpoint", "show", "ffffffff"], 1, "cannot find checkpoint", &[Shown]),
    ("an id of nothing", with_handoff, &["show", "ffffffff"], 1, "not a handoff, session or commit", &[Shown]),
    ("no handoff to show", active, &["show"], 1, "cannot show a handoff", &[Shown]),
    ("no checkpoint to show", nothing, &["checkpoint", "show"], 1, "cannot find a checkpoint", &[Shown]),
    ("a session without open goals", other_without_goals, &["goal", "take", "latest:ada"], 1, "none is open", &[Shown]),
    ("its own session", closed_goal, &["goal", "take", "latest"], 1, "it is this session", &[Shown, Shown]),
    ("a revision that git does not know", active, &["log", "no-such-branch"], 1, "no-such-branch", &[Shown]),
    (
        "a commit that is none",
        with_handoff,
        &["repair", "--apply", "--to", "HEAD=nowhere"],
        1,
        "not a commit",
        &[Shown],
    ),
    (
        "a commit without records",
        active,
        &["repair", "--apply", "--to", "ffffffff=HEAD"],
        1,
        "no records are on it",
        &[Shown],
    ),
    // component unavailable
    ("no editor of that name", no_editor, &["handoff", "--edit"], 1, "no-such-editor-here", &[Shown, Shown, Shown]),
    ("an editor that left nothing", emptying_editor, &["handoff", "--edit"], 1, "the draft is empty", &[Shown]),
    ("a broken template", broken_template, &["status"], 1, "cannot use", &[Mended]),
    ("a template that is no text", template_of_no_text, &["status"], 1, "cannot read", &[Mended]),
    ("a remote that is not there", unreachable, &["sync"], 1, "cannot fetch the notes", &[Shown]),
    ("a remote of no such name", unreachable, &["sync", "upstream"], 1, "cannot find remote 'upstream'", &[Shown]),
    ("no remote at all", active, &["sync"], 1, "cannot sync: there is no remote", &[]),
    ("several remotes", two_remotes, &["sync"], 1, "cannot sync: there is no remote", &[Mended]),
    ("a server that refuses notes", remote_that_refuses, &["sync"], 1, " rejected it", &[Mended]),
    // invalid input
    ("a vector out of range", active, &["preflight", "-v", "know=1.5"], 2, "know", &[Shown]),
    ("a vector of no such name", active, &["preflight", "-v", "knwo=0.5"], 2, "knwo", &[Shown]),
    ("a vector twice", active, &["preflight", "-v", "know=0.1,know=0.2"], 2, "twice", &[Shown]),
    ("a vector without a value", active, &["preflight", "-v", "know"], 2, "know", &[Shown]),
    ("no vector", active, &["preflight"], 2, "no vector", &[Shown]),
    ("an empty text", active, &["finding", " "], 2, "empty", &[Shown]),
    ("a file that is not there", active, &["finding", "@no-such-file"], 2, "no-such-file", &[Shown]),
    ("a category of no such name", active, &["activity", "shel", "ls"], 2, "shel", &[Shown]),
    ("a command of no such name", active, &["findng", "F"], 2, "findng", &[Shown]),
    ("a pattern that is none", active, &["query", "--task", "("], 2, "regular expression", &[Shown]),
    ("a date that is none", active, &["query", "--since", "soon"], 2, "soon", &[Shown]),
    ("a setting of no such value", wrong_setting, &["sync"], 1, "everything", &[Mended]),
    ("a commit in its own place", with_handoff, &["repair", "--apply", "--to", "HEAD=HEAD"], 2, " by itself", &[Shown]),
    ("no compact form", active, &["show", "latest", "--format", "compact"], 2, "compact", &[Shown]),
    // permission denied and similar errors
    (
        "no place for any record",
        file_in_place_of_state,
        &["session", "start", "--ai", "ada"],
        128,
        "cannot store the record anywhere",
        &[Mended, Mended],
    ),
    ("no place for the set-up", block_hooks_folder, &["init"], 1, "cannot write", &[Mended]),
    ("no place for the manual", block_home, &["setup"], 1, "cannot write", &[Mended]),
    ("a record of the set-up that is no more", unclear_record, &["init"], 1, "cannot parse", &[Mended]),
];

/// Runs a command as the user's shell would.
fn shell(repo: &Repo<'_>, script: &str) -> RunOutput {
    let out = repo.place.command("sh", &repo.path).args(["-c", script]).output().expect("a shell");
    RunOutput {
        code: out.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&out.stdout).into_owned(),
        err: String::from_utf8_lossy(&out.stderr).into_owned(),
    }
}

/// The error of a case, in both forms alike.
#[track_caller]
fn fails(repo: &Repo<'_>, what: &str, given: &[&str], code: i32, expected: &str) -> Value {
    let json = repo.fails(code, given);
    let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
    assert!(text("error").contains(expected), "{what}: {json}");
    assert!(!text("suggestion").is_empty(), "{what}: {json}");
    let commands = json["recovery_commands"].as_array().expect("a list");
    for command in commands {
        assert!(!command.as_str().expect("a text").replace("<what you are going to do>", "").contains('<'), "{json}");
    }
    json
}

/// The text of a case says what its document does.
#[track_caller]
fn text_says_it(repo: &Repo<'_>, what: &str, given: &[&str], code: i32, json: &Value) {
    let ran = repo.run(given).code(code);
    let line = |start: &str| ran.err.lines().any(|line| line.starts_with(start));
    assert!(line("error: ") && ran.out.is_empty(), "{what}: {} {}", ran.out, ran.err);
    let reason = json["reason"].as_str().expect("a text");
    assert_eq!(ran.err.contains("\nreason: "), !reason.is_empty(), "{what}: {}", ran.err);
    assert!(ran.err.contains("\nhint: "), "{what}: {}", ran.err);
    for text in ["alternatives", "recovery_commands"].iter().flat_map(|key| json[key].as_array().expect("a list")) {
        let text = text.as_str().expect("a text");
        // the name of a leftover draft differs each time
        let shown = text.split("EMPIRICA_EDITMSG").next().unwrap_or(text);
        let lines = [format!("hint: {shown}"), format!("hint:   {shown}"), format!("'{shown}'")];
        assert!(lines.iter().any(|line| ran.err.contains(line)), "{what}: {text}: {}", ran.err);
    }
}

#[test]
fn every_recovery_command_of_every_category_works() {
    assert!(CASES.len() >= 25);
    let mut wrong: Vec<String> = Vec::new();
    for (what, prepare, given, code, expected, after) in CASES {
        let place = Sandbox::new();
        let repo = place.repo("r");
        prepare(&repo);
        let json = fails(&repo, what, given, *code, expected);
        text_says_it(&repo, what, given, *code, &json);
        let count = json["recovery_commands"].as_array().map_or(0, Vec::len);
        if count != after.len() {
            wrong.push(format!("{what}: {count} commands: {json}"));
            continue;
        }
        // each command by itself, in a place of its own, so that none lives on another's work
        for (at, after) in after.iter().enumerate() {
            let place_of_next = Sandbox::new();
            let next = (at > 0).then(|| place_of_next.repo("r"));
            let repo = next.as_ref().unwrap_or(&repo);
            if at > 0 {
                prepare(repo);
            }
            let json = if at > 0 { fails(repo, what, given, *code, expected) } else { json.clone() };
            let command = json["recovery_commands"][at].as_str().expect("a command").to_owned();
            let ran = shell(repo, &command);
            if ran.code != 0 {
                wrong.push(format!("{what}: {command}: {}{}", ran.out, ran.err));
                continue;
            }
            let works = match after {
                Mended => repo.run(given.iter()).code == 0,
                Shown => !ran.out.is_empty() || !ran.err.is_empty(),
            };
            if !works {
                wrong.push(format!("{what}: {command}: not {after:?}: {}{}", ran.out, ran.err));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_missing_session_of_an_agent_names_that_agent_and_what_there_is() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let start = |ai: &str| format!("git empirica session start --ai {ai} --task \"<what you are going to do>\"");
    let json = repo.fails(1, ["session", "show", "latest:active:claude-code"]);
    assert_eq!(json["reason"], "No active sessions are stored here for ai_id 'claude-code'");
    assert!(json["suggestion"].as_str().is_some_and(|text| text.contains(&start("claude-code"))), "{json}");
    assert_eq!(json["recovery_commands"][0], start("claude-code"));
    assert_eq!(json["alternatives"], Value::Array(Vec::new()), "nothing is stored that could be meant");
    assert_eq!(json["provided"], "latest:active:claude-code");

    let bob = repo.start("bob", "t");
    let ended = repo.start("claude-code", "t");
    repo.json(["session", "end", "--session", &ended]);
    let json = repo.fails(1, ["session", "show", "latest:active:claude-code"]);
    let alternatives: Vec<&str> =
        json["alternatives"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(alternatives, ["latest:claude-code", "latest:active", "latest", &ended, &bob]);
    for name in &alternatives {
        repo.json(["session", "show", name]);
    }
    // the agent that the environment names, too
    let ran = repo.run_with_env(
        &[("EMPIRICA_AI", "$(touch pwned)")],
        ["finding", "F", "--session", "latest:active:x y", "--json"],
    );
    assert_eq!(ran.code(1).json()["recovery_commands"][0], start("'x y'"));
    repo.json(["session", "end", "--session", &bob]);
    let ran = repo.run_with_env(&[("EMPIRICA_AI", "$(touch pwned)")], ["session", "end", "--json"]).code(1).json();
    assert_eq!(ran["recovery_commands"][0], start("'$(touch pwned)'"));
    shell(&repo, ran["recovery_commands"][0].as_str().expect("a command")).ok();
    assert!(!repo.path.join("pwned").exists());
}

#[test]
fn without_a_repository_the_suggested_command_creates_one() {
    let place = Sandbox::new();
    fs::create_dir(place.path().join("plain")).expect("a folder");
    let plain = place.at("plain");
    let json = fails(&plain, "no repository", &["status"], 128, "repository");
    assert_eq!(json["recovery_commands"].as_array().map(Vec::len), Some(1));
    shell(&plain, json["recovery_commands"][0].as_str().expect("a command")).ok();
    plain.run(["status"]).ok();
}

/// Whether a folder without permission refuses us: not where we are root.
fn bound(folder: &std::path::Path) -> bool {
    fs::File::create(folder.join("probe")).is_err()
}

#[test]
fn a_refused_permission_names_the_place_and_the_command_that_gives_it() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let set = |path: &PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    let wal = repo.path.join(".git/empirica/wal");
    repo.json(["flush"]);
    set(&wal, 0o500);
    if !bound(&wal) {
        // nothing is refused to root; what an error then says is tested beside the code, in src/error/path.rs
        set(&wal, 0o700);
        return;
    }
    let state = place.path().join("home/.local/state");
    fs::create_dir_all(&state).expect("a folder");
    set(&state, 0o500);
    let json = repo.fails(128, ["finding", "F"]);
    let commands: Vec<&str> =
        json["recovery_commands"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(commands, [format!("chmod u+rwx {}", wal.display()), format!("chmod u+rwx {}", state.display())]);
    assert!(json["reason"].as_str().is_some_and(|text| text.contains("permission denied")), "{json}");
    shell(&repo, commands[0]).ok();
    repo.json(["finding", "F"]);
    set(&state, 0o700);
}
