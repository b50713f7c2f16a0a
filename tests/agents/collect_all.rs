//! All transcripts of a repository: found by evidence, collected once, dated as they are, none of another repository.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox, fed};

/// Writes a transcript below the home, changed last at `hour` of the day.
pub fn put(place: &Sandbox, path: &str, rows: &[Value], hour: u64) -> PathBuf {
    let path = place.path().join("home").join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(&path, text).expect("a file");
    touch(&path, hour);
    path
}

fn touch(path: &Path, hour: u64) {
    // 2026-03-01
    let time = UNIX_EPOCH + Duration::from_secs(1_772_323_200 + hour * 3600);
    std::fs::File::options().append(true).open(path).expect("a file").set_modified(time).expect("a time");
}

fn at(hour: u64, minute: u64) -> String {
    format!("2026-03-01T{hour:02}:{minute:02}:00.000Z")
}

/// A session of Claude Code: a task, an edit of `src/<id>.rs`, and an answer.
pub fn claude(id: &str, cwd: &Path, hour: u64) -> Vec<Value> {
    let row = |kind: &str, minute: u64, content: Value| {
        json!({"type": kind, "sessionId": id, "cwd": cwd, "uuid": format!("{id}{minute}"), "timestamp": at(hour, minute),
            "message": {"role": kind, "content": content}})
    };
    let file = cwd.join(format!("src/{id}.rs"));
    vec![
        row("user", 0, json!(format!("Mend the {id} parser"))),
        row("assistant", 1, json!([{"type": "tool_use", "id": id, "name": "Edit", "input": {"file_path": file}}])),
        row("user", 2, json!([{"type": "tool_result", "tool_use_id": id, "content": "ok"}])),
        row("assistant", 3, json!([{"type": "text", "text": format!("The {id} parser is mended.")}])),
    ]
}

/// A command of Claude Code that fails.
fn failing(id: &str, cwd: &Path, hour: u64, command: &str) -> [Value; 2] {
    let row = |kind: &str, content: Value| {
        json!({"type": kind, "sessionId": id, "cwd": cwd, "uuid": format!("{id}{kind}{command}"), "timestamp": at(hour, 2),
            "message": {"role": kind, "content": [content]}})
    };
    [
        row("assistant", json!({"type": "tool_use", "id": command, "name": "Bash", "input": {"command": command}})),
        row("user", json!({"type": "tool_result", "tool_use_id": command, "content": "Exit code 1", "is_error": true})),
    ]
}

fn codex(id: &str, cwd: &Path, hour: u64, git: &Value) -> Vec<Value> {
    let row = |kind: &str, minute: u64, payload: Value| json!({"type": kind, "timestamp": at(hour, minute), "payload": payload});
    let plan = json!({"plan": [{"step": "write the docs", "status": "in_progress"}]}).to_string();
    vec![
        row("session_meta", 0, json!({"id": id, "cwd": cwd, "git": git})),
        row(
            "response_item",
            0,
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Add a cache"}]}),
        ),
        row(
            "response_item",
            1,
            json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "1",
            "input": "*** Begin Patch\n*** Add File: src/cache.rs\n+x\n*** End Patch"}),
        ),
        row("response_item", 1, json!({"type": "custom_tool_call_output", "call_id": "1", "output": "ok"})),
        row(
            "response_item",
            2,
            json!({"type": "function_call", "name": "update_plan", "call_id": "2", "arguments": plan}),
        ),
        row("response_item", 2, json!({"type": "function_call_output", "call_id": "2", "output": "ok"})),
    ]
}

pub fn claude_file(id: &str) -> String {
    format!(".claude/projects/x/{id}.jsonl")
}

fn codex_file(id: &str) -> String {
    format!(".codex/sessions/2026/03/01/rollout-{id}.jsonl")
}

/// The agents' own ids of the stored sessions, oldest first.
fn sessions(repo: &Repo<'_>) -> Vec<String> {
    let list = repo.json(["session", "list"]);
    let ids = list["sessions"].as_array().expect("a list").iter().rev();
    ids.map(|session| session["external_id"].as_str().expect("an id").to_owned()).collect()
}

fn commit_at(repo: &Repo<'_>, name: &str, hour: u64) -> String {
    repo.write(name, name);
    repo.git(["add", name]).ok();
    let mut commit = repo.place.command("git", &repo.path);
    commit
        .args(["commit", "-q", "-m", name])
        .env("GIT_AUTHOR_DATE", at(hour, 0))
        .env("GIT_COMMITTER_DATE", at(hour, 0));
    assert!(commit.status().expect("git").success());
    repo.head()
}

/// A repository with commits at 3 and 6 o'clock.
fn repository(place: &Sandbox) -> (Repo<'_>, [String; 2]) {
    let repo = place.init("work");
    let commits = [commit_at(&repo, "a", 3), commit_at(&repo, "b", 6)];
    (repo, commits)
}

#[test]
fn the_sessions_of_all_agents_and_worktrees_are_collected_once_and_dated_as_they_were() {
    let place = Sandbox::new();
    let (repo, [first, second]) = repository(&place);
    let tree = place.path().join("tree");
    repo.git(["worktree", "add", "-q", "--detach", tree.to_str().expect("UTF-8")]).ok();
    let root = &repo.path;
    let mut rows = claude("c1", root, 2);
    rows.splice(3..3, failing("c1", root, 2, "make check"));
    put(&place, &claude_file("c1"), &rows, 9);
    // a subagent is none of its own
    let child = claude("c2", root, 2).into_iter().map(|mut row| (row["isSidechain"] = json!(true), row).1);
    put(&place, ".claude/projects/x/agent-c2.jsonl", &child.collect::<Vec<_>>(), 9);
    put(&place, &codex_file("x1"), &codex("x1", &tree.join("src"), 4, &json!({})), 9);
    put(
        &place,
        ".gemini/tmp/work/chats/session-g1.jsonl",
        &[
            json!({"sessionId": "g1", "projectHash": "0", "startTime": at(5, 0)}),
            json!({"id": "1", "timestamp": at(5, 1), "type": "user", "content": "Write the docs"}),
            json!({"id": "2", "timestamp": at(5, 2), "type": "gemini", "content": "They are written."}),
        ],
        9,
    );
    std::fs::write(place.path().join("home/.gemini/tmp/work/.project_root"), root.to_str().expect("UTF-8"))
        .expect("a file");
    put(
        &place,
        ".copilot/session-state/p1/events.jsonl",
        &[
            json!({"type": "session.start", "id": "1", "timestamp": at(7, 0), "data": {"sessionId": "p1", "context": {"cwd": root, "gitRoot": root}}}),
            json!({"type": "user.message", "id": "2", "timestamp": at(7, 0), "data": {"content": "Rename it"}}),
        ],
        9,
    );
    // no times in it: the file's counts
    let slug = root.to_str().expect("UTF-8").replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    put(
        &place,
        &format!(".cursor/projects/{}/agent-transcripts/u1/u1.jsonl", slug.trim_matches('-')),
        &[
            json!({"role": "user", "message": {"content": [{"type": "text", "text": "Add a page"}]}}),
            json!({"role": "assistant", "message": {"content": [{"type": "text", "text": "It is added."}]}}),
        ],
        8,
    );
    let millis = |hour: u64| (1_772_323_200 + hour * 3600) * 1000;
    let storage = ".local/share/opencode/storage";
    for (id, cwd) in [("o1", root.as_path()), ("o2", place.path().as_path())] {
        put(
            &place,
            &format!("{storage}/session/p/{id}.json"),
            &[json!({"id": id, "directory": cwd, "title": "t", "time": {"updated": millis(10)}})],
            9,
        );
        put(
            &place,
            &format!("{storage}/message/{id}/m{id}.json"),
            &[json!({"id": format!("m{id}"), "role": "user", "time": {"created": millis(9)}})],
            9,
        );
        put(&place, &format!("{storage}/part/m{id}/1.json"), &[json!({"type": "text", "text": "Profile it"})], 9);
    }
    let all = repo.json(["collect", "--all"]);
    assert_eq!((&all["collected"], &all["new_sessions"]), (&json!(6), &json!(6)), "{all}");
    let agents = all["agents"].as_array().expect("a list").iter();
    let agents: Vec<Value> = agents.map(|one| json!([one["agent"], one["transcripts"]])).collect();
    let wanted = ["claude-code", "codex", "gemini", "copilot", "cursor", "opencode"].map(|name| json!([name, 1]));
    assert_eq!(agents, wanted);
    assert_eq!(sessions(&repo), ["c1", "x1", "g1", "p1", "u1", "o1"]);
    let list = repo.json(["session", "list"]);
    let list = list["sessions"].as_array().expect("a list");
    let key = |key: &str| list.iter().rev().map(|session| session[key].clone()).collect::<Vec<_>>();
    assert_eq!(key("started_at"), [2, 4, 5, 7, 8, 9].map(|hour| json!(at(hour, 0))));
    assert!(key("ended_at").iter().all(Value::is_string), "{list:?}");
    assert_eq!(key("worktree"), ["main", "tree", "main", "main", "main", "main"].map(|name| json!(name)));
    // before the first commit is at it
    assert_eq!(key("commit"), [&first, &first, &first, &second, &second, &second].map(|commit| json!(commit)));
    // each part of the work is where the readers look
    let resume = repo.json(["resume", "--ai", "codex"]);
    assert_eq!(
        resume["sessions"][0]["next_steps"],
        json!(["write the docs (in progress)", "unanswered: Add a cache"]),
        "{resume}"
    );
    let resume = repo.json(["resume", "--ai", "claude-code"]);
    let context = "The c1 parser is mended.\nCommands that still fail: make check";
    assert_eq!(resume["sessions"][0]["next_session_context"], context, "{resume}");
    let shown = repo.json(["session", "show", "x1"]);
    assert_eq!(shown["transcripts"][0]["files_modified"], json!(["src/src/cache.rs"]), "{shown}");
    assert!(repo.run(["search", "mended"]).ok().out.contains("c1 parser is mended"));
    assert_eq!(repo.json(["resume"])["sessions"][0]["ai_id"], "opencode", "the last one");
    let before = repo.run(["export", "--jsonl"]).ok().out;
    let again = repo.json(["collect", "--all"]);
    assert_eq!(
        (&again["collected"], &again["stored"], &again["agents"][0]["new"]),
        (&json!(0), &Value::Null, &json!(0))
    );
    // nor without the list of what was read
    std::fs::remove_file(root.join(".git/empirica/collected")).expect("a file");
    assert_eq!(repo.json(["collect", "--all"])["collected"], 0);
    assert_eq!(repo.run(["export", "--jsonl"]).ok().out, before);
    repo.fsck();
}

#[test]
fn a_transcript_whose_folder_is_gone_needs_evidence_and_none_of_another_repository_is_taken() {
    let place = Sandbox::new();
    let (repo, [commit, _]) = repository(&place);
    repo.git(["remote", "add", "origin", "https://example.com/o/work.git"]).ok();
    let clone = place.clone(&repo, "clone", false);
    let known = json!({"commit_hash": commit});
    let foreign = json!({"commit_hash": "0123456789012345678901234567890123456789", "repository_url": "git@example.com:o/other.git"});
    let (old, gone) = (place.path().join("old"), place.path().join("gone"));
    put(&place, &codex_file("by-commit"), &codex("by-commit", &old, 4, &known), 9);
    put(&place, &claude_file("beside-it"), &claude("beside-it", &old.join("sub"), 5), 9);
    let url = json!({"repository_url": "ssh://git@example.com/o/work"});
    put(&place, &codex_file("by-url"), &codex("by-url", &place.path().join("older"), 6, &url), 9);
    // none of these
    put(&place, &claude_file("unproven"), &claude("unproven", &gone, 5), 9);
    put(&place, &codex_file("other"), &codex("other", &place.path().join("elsewhere"), 5, &foreign), 9);
    put(&place, &codex_file("clone"), &codex("clone", &clone.path, 5, &known), 9);
    put(&place, &codex_file("was-here"), &codex("was-here", &repo.path, 5, &foreign), 9);
    put(&place, &claude_file("beside"), &claude("beside", &place.path().join("workbench"), 5), 9);
    let all = repo.json(["collect", "--all"]);
    assert_eq!(sessions(&repo), ["by-commit", "beside-it", "by-url"], "{all}");
    let folders = all["unproven"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["folder"].as_str().expect("a folder").to_owned());
    let wanted = [&gone, &repo.path, &place.path().join("workbench")].map(|folder| folder.display().to_string());
    assert!(folders.eq(wanted), "{all}");
    let text = repo.run(["collect", "--all"]).ok();
    let command = format!("git empirica collect --all {}", gone.display());
    assert!(text.err.contains(&command), "{}", text.err);
    // by the user's word, which is remembered
    repo.json(["collect", "--all", gone.to_str().expect("UTF-8")]);
    assert!(sessions(&repo).contains(&"unproven".to_owned()));
    let files = &repo.json(["session", "show", "unproven"])["transcripts"][0]["files_modified"];
    assert_eq!(files, &json!(["src/unproven.rs"]), "from the earlier root");
    assert!(!repo.run(["collect", "--all"]).ok().err.contains(&command));
    clone.json(["collect", "--all", "--agent", "codex"]);
    assert_eq!(sessions(&clone), ["by-commit", "clone"], "its own, and what is of both");
}

#[test]
fn clones_that_collect_the_same_transcript_have_one_session() {
    let place = Sandbox::new();
    let (repo, [commit, _]) = repository(&place);
    let bare = place.path().join("bare");
    repo.git(["clone", "-q", "--bare", ".", bare.to_str().expect("UTF-8")]).ok();
    let clones = ["one", "two"].map(|name| {
        let clone = place.clone(&place.at("bare"), name, false);
        clone.run(["init"]).ok();
        clone
    });
    put(&place, &codex_file("x1"), &codex("x1", &place.path().join("old"), 4, &json!({"commit_hash": commit})), 9);
    for clone in &clones {
        assert_eq!(clone.json(["collect", "--all"])["new_sessions"], 1);
    }
    for clone in [&clones[0], &clones[1], &clones[0]] {
        clone.run(["sync"]).ok();
    }
    for clone in &clones {
        assert_eq!(sessions(clone), ["x1"]);
        assert_eq!(clone.json(["handoff", "list"])["handoffs"].as_array().expect("a list").len(), 1);
        assert_eq!(clone.lines("journal").len(), 3, "start, transcript and end once");
        assert_eq!(clone.json(["collect", "--all"])["collected"], 0);
    }
}

#[test]
fn a_session_that_may_go_on_is_not_ended() {
    let place = Sandbox::new();
    let (repo, _) = repository(&place);
    let live = put(&place, &claude_file("live"), &claude("live", &repo.path, 5), 9);
    let hooked = put(&place, &claude_file("hooked"), &claude("hooked", &repo.path, 5), 9);
    for file in [&live, &hooked] {
        std::fs::File::options()
            .append(true)
            .open(file)
            .expect("a file")
            .set_modified(std::time::SystemTime::now())
            .expect("a time");
    }
    repo.json(["session", "start", "--ai", "claude-code", "--external-id", "hooked"]);
    let all = repo.json(["collect", "--all"]);
    assert_eq!((&all["in_use"], &all["collected"], &all["handoffs"]), (&json!(1), &json!(1), &json!(0)), "{all}");
    assert_eq!(sessions(&repo), ["hooked"]);
    assert_eq!(repo.json(["session", "list", "--active"])["sessions"][0]["external_id"], "hooked");
    touch(&live, 9);
    assert_eq!(repo.json(["collect", "--all"])["new_sessions"], 1);
    assert_eq!(sessions(&repo), ["live", "hooked"]);
    // more of a session that is over: added to it, and handed over again
    let more = json!({"type": "assistant", "sessionId": "live", "cwd": repo.path, "uuid": "n", "timestamp": at(6, 0),
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Now with a test."}]}});
    let text = std::fs::read_to_string(&live).expect("a file") + &format!("{more}\n");
    std::fs::write(&live, text).expect("a file");
    touch(&live, 10);
    let all = repo.json(["collect", "--all"]);
    assert_eq!((&all["collected"], &all["new_sessions"], &all["rows"]), (&json!(1), &json!(0), &json!(1)), "{all}");
    let shown = repo.json(["session", "show", "live"]);
    assert_eq!(shown["ended_at"], at(6, 0), "{shown}");
    let resume = repo.json(["resume", "--session", "live"]);
    assert_eq!(resume["sessions"][0]["next_session_context"], "Now with a test.", "{resume}");
}

#[test]
fn a_fork_continues_the_parent_that_is_collected_with_it() {
    let place = Sandbox::new();
    let (repo, _) = repository(&place);
    // the parent went on last
    for (id, parent, hour) in [("x1", None, 9), ("x2", Some("x1"), 8), ("x3", Some("x2"), 7)] {
        let mut rows = codex(id, &repo.path, 4, &json!({}));
        rows[0]["payload"]["forked_from_id"] = json!(parent);
        put(&place, &codex_file(id), &rows, hour);
    }
    assert_eq!(repo.json(["collect", "--all"])["new_sessions"], 3);
    let [first, second, third] = ["x1", "x2", "x3"].map(|id| repo.json(["session", "show", id]));
    assert_eq!((&second["from"], &third["from"]), (&first["session_id"], &second["session_id"]), "{second}");
}

#[test]
fn what_a_subagent_wrote_to_a_file_of_its_own_is_no_session() {
    let place = Sandbox::new();
    let (repo, [commit, _]) = repository(&place);
    put(&place, &codex_file("x1"), &codex("x1", &repo.path, 4, &json!({})), 8);
    let mut child = codex("x2", &repo.path, 4, &json!({"commit_hash": commit}));
    child[0]["payload"]["parent_thread_id"] = json!("x1");
    put(&place, &codex_file("x2"), &child, 8);
    let all = repo.json(["collect", "--all"]);
    assert_eq!((&all["agents"][0]["transcripts"], &all["unproven"]), (&json!(1), &json!([])), "{all}");
    assert_eq!(sessions(&repo), ["x1"]);
}

#[test]
fn agents_keep_transcripts_where_their_variables_say() {
    let place = Sandbox::new();
    let (repo, _) = repository(&place);
    let own = place.path().join("home/own");
    let start = json!({"type": "session.start", "timestamp": at(4, 0), "data": {"sessionId": "p1", "context": {"cwd": repo.path}}});
    let said = json!({"type": "user.message", "timestamp": at(4, 1), "data": {"content": "Add a cache"}});
    put(&place, "own/session-state/p1/events.jsonl", &[start, said.clone()], 8);
    put(
        &place,
        "own/.gemini/tmp/work/chats/session-g1.jsonl",
        &[
            json!({"sessionId": "g1", "startTime": at(5, 0), "kind": "main"}),
            json!({"id": "1", "timestamp": at(5, 1), "type": "user", "content": "Add a cache"}),
        ],
        9,
    );
    std::fs::write(own.join(".gemini/tmp/work/.project_root"), repo.path.display().to_string()).expect("a file");
    for (variable, id) in [("COPILOT_HOME", "p1"), ("GEMINI_CLI_HOME", "g1")] {
        let mut command = repo.program();
        command.args(["collect", "--all"]).env(variable, &own);
        fed(command, b"").ok();
        assert_eq!(sessions(&repo).last().map(String::as_str), Some(id));
    }
}

#[test]
fn a_new_user_with_sixty_old_sessions_has_something_to_resume_search_and_look_at() {
    let place = Sandbox::new();
    let (repo, _) = repository(&place);
    for number in 0..60 {
        let id = format!("s{number}");
        let (hour, file) = (4 + number / 12, claude_file(&id));
        match number % 2 {
            0 => put(&place, &file, &claude(&id, &repo.path, hour), hour),
            _ => put(&place, &codex_file(&id), &codex(&id, &repo.path, hour, &json!({})), hour),
        };
    }
    let all = repo.json(["collect", "--all"]);
    assert_eq!(
        (&all["new_sessions"], &all["handoffs"], &all["sent_to"]),
        (&json!(60), &json!(60), &json!([])),
        "{all}"
    );
    let resume = repo.json(["resume"]);
    let left = resume["sessions"][0]["next_session_context"].as_str().unwrap_or_default();
    assert!(left.starts_with("The s") && left.ends_with(" parser is mended."), "{resume}");
    let found = repo.json(["search", "cache"]);
    assert!(!found["hits"].as_array().expect("a list").is_empty(), "{found}");
    let page = repo.run(["report", "--html", "-"]).ok().out;
    assert!(page.contains("Mend the s58 parser") && page.contains("claude-code"), "{}", page.len());
}

#[test]
fn a_damaged_transcript_stops_no_other_and_a_dry_run_stores_nothing() {
    let place = Sandbox::new();
    let (repo, _) = repository(&place);
    let mut torn = claude("torn", &repo.path, 4);
    torn.insert(1, json!("no row"));
    put(&place, &claude_file("torn"), &torn, 7);
    let damaged = put(&place, &claude_file("damaged"), &[json!({"cwd": repo.path}), json!("?")], 8);
    put(&place, &claude_file("nothing"), &claude("nothing", &repo.path, 4)[..0], 8);
    put(&place, &claude_file("good"), &claude("good", &repo.path, 5), 9);
    let dry = repo.json(["collect", "--all", "--dry-run"]);
    let claude = &dry["agents"][0];
    assert_eq!(
        (&claude["transcripts"], &claude["new"], &claude["since"]),
        (&json!(3), &json!(3), &json!(at(4, 0))),
        "{dry}"
    );
    assert!(claude["bytes"].as_u64().is_some_and(|bytes| bytes > 1000), "{dry}");
    assert_eq!(repo.git_out(["for-each-ref", "refs/notes"]), "");
    assert!(!repo.path.join(".git/empirica/wal").exists() && !repo.path.join(".git/empirica/collected").exists());
    let ran = repo.fails(1, ["collect", "--all"]);
    assert_eq!((&ran["collected"], &ran["failed"][0]["path"]), (&json!(2), &json!(damaged)), "{ran}");
    assert_eq!(sessions(&repo), ["torn", "good"]);
    let text = repo.run(["collect", "--all"]).code(1);
    let cause = format!("warning: cannot read {}: it is not a transcript of a known agent", damaged.display());
    assert!(text.err.contains(&cause), "{}", text.err);
    for wrong in [
        &["collect", "--all", "--latest"][..],
        &["collect", "--all", "--session", "latest"],
        &["collect", "--all", "--ai", "x"],
    ] {
        repo.fails(2, wrong);
    }
}

#[test]
fn secrets_are_replaced_and_the_command_s_own_session_takes_nothing() {
    let place = Sandbox::new();
    let (repo, _) = repository(&place);
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let rows: Vec<Value> = claude("c1", &repo.path, 5)
        .into_iter()
        .map(|row| serde_json::from_str(&row.to_string().replace("parser", secret)).expect("JSON"))
        .collect();
    put(&place, &claude_file("c1"), &rows, 9);
    let own = repo.start("me", "other work");
    let env = [("EMPIRICA_SESSION", own.as_str()), ("EMPIRICA_AI", "me")];
    repo.json_with_env(&env, ["collect", "--all"]);
    let session = &repo.json(["session", "show", "c1"]);
    assert_eq!((&session["ai_id"], session["session_id"] == json!(own)), (&json!("claude-code"), false), "{session}");
    let all = repo.git_out(["log", "--all", "-p", "--format=%H"]);
    assert!(!all.contains(secret) && all.contains("[redacted:"), "a secret was stored");
}

#[test]
fn two_collections_at_once_store_each_transcript_once() {
    let place = Sandbox::new();
    let (repo, _) = repository(&place);
    for number in 0..20 {
        let id = format!("c{number}");
        put(&place, &claude_file(&id), &claude(&id, &repo.path, 5), 9);
    }
    let start = || {
        repo.program()
            .args(["collect", "--all", "--json"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("it starts")
    };
    let both = [start(), start()].map(|child| {
        let ended = child.wait_with_output().expect("it ends");
        serde_json::from_slice::<Value>(&ended.stdout).expect("JSON")
    });
    let collected = both.iter().map(|one| one["collected"].as_u64().expect("a number")).sum::<u64>();
    assert_eq!(collected, 20, "{both:?}");
    assert_eq!(sessions(&repo).len(), 20);
    assert_eq!(repo.lines("journal").len(), 60);
    assert_eq!(repo.lines("handoffs").len(), 20);
    repo.fsck();
}

/// Runs a command line at a terminal and types answers.
fn typed(repo: &Repo<'_>, line: &str, answers: &str) -> String {
    let mut command = repo.place.command("script", &repo.path);
    command.args(["-qec", line, "/dev/null"]);
    crate::support::harness::fed(command, answers.as_bytes()).ok().out
}

#[test]
fn init_offers_the_earlier_sessions_and_says_where_they_go() {
    let place = Sandbox::new();
    let (repo, _) = repository(&place);
    let bare = place.path().join("bare");
    repo.git(["clone", "-q", "--bare", ".", bare.to_str().expect("UTF-8")]).ok();
    repo.git(["remote", "add", "origin", bare.to_str().expect("UTF-8")]).ok();
    put(&place, &claude_file("c1"), &claude("c1", &repo.path, 4), 9);
    put(&place, &codex_file("x1"), &codex("x1", &repo.path, 5, &json!({})), 9);
    let offer = "2 earlier sessions here (1 of claude-code, 1 of codex, since 2026-03-01 04:00 UTC)";
    for arguments in [&["init"][..], &["init", "--agents", "none"]] {
        let ran = repo.run(arguments).ok();
        assert!(ran.err.contains(&format!("{offer}; to collect them: git empirica collect --all")), "{}", ran.err);
    }
    let json = repo.json(["init"]);
    assert_eq!((&json["transcripts"][1]["agent"], &json["collected"]), (&json!("codex"), &Value::Null), "{json}");
    let question = format!("Collect {offer}? The next push sends the records to origin. [Y/n]");
    let unasked = typed(&repo, "git-empirica init --agents none", "y\n");
    assert!(!unasked.contains("[Y/n]"), "{unasked}");
    let declined = typed(&repo, "git-empirica init", "n\n");
    assert!(declined.contains(&question) && declined.contains("collect --all"), "{declined}");
    assert_eq!(repo.git_out(["for-each-ref", "refs/notes"]), "");
    repo.git(["config", "empirica.sync", "off"]).ok();
    let agreed = typed(&repo, "git-empirica init", "y\n");
    assert!(
        agreed.contains(&format!("Collect {offer}? [Y/n]"))
            && agreed.contains("Collected 2 transcripts: 2 new sessions"),
        "{agreed}"
    );
    assert_eq!(sessions(&repo), ["c1", "x1"]);
    assert!(!typed(&repo, "git-empirica init", "y\n").contains("earlier session"), "offered once");
    assert_eq!(place.at("bare").git_out(["for-each-ref", "refs/notes"]), "", "nothing was sent");
}
