//! The session and the agent that a command uses: aliases, the environment, concurrent agents, worktrees.

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox, each};

fn id(json: &Value, key: &str) -> String {
    json[key].as_str().unwrap_or_else(|| panic!("no {key}: {json}")).to_owned()
}

/// Starts a session at a time of its own.
fn start_at(repo: &Repo<'_>, minute: u32, arguments: &[&str]) -> String {
    let now = format!("2026-03-01T12:{minute:02}:00.000Z");
    id(&repo.json_with_env(&[("EMPIRICA_NOW", &now)], [&["session", "start"], arguments].concat()), "session_id")
}

/// Three sessions, oldest first: ada's, which has ended, then ada's and bob's, which are active.
fn three(repo: &Repo<'_>) -> [String; 3] {
    let ended = start_at(repo, 1, &["--ai", "ada", "--task", "First", "--external-id", "tool-1"]);
    repo.json(["goal", "add", "Open goal of the first"]);
    repo.json(["handoff", "--next", "From the first"]);
    repo.json(["session", "end"]);
    let active = start_at(repo, 2, &["--ai", "ada", "--task", "Second", "--external-id", "tool-2"]);
    repo.json(["goal", "add", "Open goal of the second"]);
    repo.json(["handoff", "--next", "From the second"]);
    let other = start_at(repo, 3, &["--ai", "bob", "--task", "Third"]);
    repo.json(["goal", "add", "Open goal of the third", "--session", &other]);
    repo.json(["handoff", "--next", "From the third", "--session", &other]);
    [ended, active, other]
}

/// Each way to name a session, and which of the [`three`] it means.
fn names(sessions: &[String; 3]) -> Vec<(String, usize)> {
    let mut out = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        out.extend([(session.clone(), at), (session[..8].to_owned(), at), (session[..8].to_uppercase(), at)]);
        out.push((session[..13].to_owned(), at));
    }
    let aliases = [
        ("latest", 2),
        ("latest:active", 2),
        ("latest:ada", 1),
        ("latest:bob", 2),
        ("latest:active:ada", 1),
        ("latest:active:bob", 2),
        ("tool-1", 0),
        ("tool-2", 1),
    ];
    out.extend(aliases.map(|(name, at)| (name.to_owned(), at)));
    out
}

#[test]
fn every_command_resolves_an_alias_to_the_same_session() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let sessions = three(&repo);
    let taker = start_at(&repo, 0, &["--ai", "taker"]);
    // a way to the session, and where the document names it
    let paths: [(&[&str], &str); 11] = [
        (&["session", "show", "NAME"], "/session_id"),
        (&["show", "NAME"], "/session_id"),
        (&["resume", "--session", "NAME"], "/sessions/0/session_id"),
        (&["handoff", "list", "--session", "NAME"], "/handoffs/0/session_id"),
        (&["finding", "F", "--session", "NAME"], "/session_id"),
        (&["unknown", "U", "--session", "NAME"], "/session_id"),
        (&["source", "s", "--session", "NAME"], "/session_id"),
        (&["activity", "shell", "ls", "--session", "NAME"], "/session_id"),
        (&["goal", "list", "--session", "NAME"], "/goals/0/session_id"),
        (&["checkpoint", "--session", "NAME"], "/session_id"),
        (&["handoff", "--dry-run", "--session", "NAME"], "/session_id"),
    ];
    for (nth, (name, at)) in names(&sessions).into_iter().enumerate() {
        for (command, path) in paths.iter().skip(nth % each(4)).step_by(each(4)) {
            let json = repo.json(command.iter().map(|word| if *word == "NAME" { &name[..] } else { word }));
            assert_eq!(json.pointer(path), Some(&sessions[at].clone().into()), "{name} {command:?}: {json}");
            if command[..2] == ["handoff", "list"] {
                assert_eq!(json["total_found"], 1, "{name}: {json}");
            }
        }
    }
    for (name, at) in [("tool-1", 0), ("latest:active:ada", 1), (&sessions[2][..8], 2)] {
        let json = repo.json(["goal", "take", name, "--session", &taker]);
        let goal = ["first", "second", "third"][at];
        assert_eq!(json["goals"][0]["text"], format!("Open goal of the {goal}"), "{name}: {json}");
        assert_eq!(json["goals"][0]["session_id"], *taker, "{name}");
    }
}

#[test]
fn the_environment_names_session_and_agent_and_flags_come_before_it() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let [ended, active, other] = three(&repo);
    let of = |env: &[(&str, &str)], given: &[&str]| id(&repo.json_with_env(env, given), "session_id");
    for name in [&ended[..], &ended[..8], "tool-1"] {
        assert_eq!(of(&[("EMPIRICA_SESSION", name)], &["finding", "F"]), ended, "{name}");
        assert_eq!(of(&[("EMPIRICA_SESSION", name)], &["session", "show"]), ended, "{name}");
    }
    assert_eq!(of(&[("EMPIRICA_AI", "ada")], &["finding", "F"]), active);
    assert_eq!(of(&[("EMPIRICA_AI", "bob")], &["session", "show"]), other);
    let both = [("EMPIRICA_SESSION", &ended[..]), ("EMPIRICA_AI", "ada")];
    assert_eq!(of(&both, &["finding", "F", "--session", &other]), other, "the flag wins");
    assert_eq!(of(&both, &["finding", "F"]), ended, "a named session wins over the agent's newest");
    assert_eq!(of(&[("EMPIRICA_AI", "ada")], &["finding", "F", "--ai", "bob"]), other);
    // an empty variable is none
    let ran = repo.run_with_env(&[("EMPIRICA_SESSION", ""), ("EMPIRICA_AI", "")], ["finding", "F"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert_eq!(
        repo.run_with_env(&[("EMPIRICA_SESSION", "nobody")], ["finding", "F", "--json"]).code(1).json()["provided"],
        "nobody"
    );
    let all = |env: &[(&str, &str)], given: &[&str]| repo.json_with_env(env, given);
    let env = [("EMPIRICA_AI", "bob"), ("EMPIRICA_SESSION", &other[..])];
    assert_eq!(all(&env, &["handoff", "list"])["total_found"], 3, "reading filters only by what is given explicitly");
    assert_eq!(all(&env, &["session", "list"])["total_sessions"], 3);
    assert_eq!(all(&env, &["query"])["total_found"], 3);
    assert_eq!(all(&env, &["resume", "--last", "5"])["total_sessions"], 3);
    assert_eq!(all(&env, &["handoff", "list", "--ai", "ada"])["total_found"], 2);
}

#[test]
fn two_agents_in_one_worktree_must_name_themselves() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let ada = start_at(&repo, 1, &["--ai", "ada"]);
    let bob = start_at(&repo, 2, &["--ai", "bob"]);
    for given in [
        &["finding", "F"][..],
        &["preflight", "-v", "know=0.5"],
        &["handoff"],
        &["session", "end"],
        &["session", "show"],
    ] {
        let json = repo.fails(1, given);
        let alternatives = json["alternatives"].as_array().expect("a list");
        assert!(alternatives.contains(&ada.clone().into()) && alternatives.contains(&bob.clone().into()), "{json}");
        for name in ["ada", "bob"] {
            assert!(json["reason"].as_str().is_some_and(|text| text.contains(name)), "{json}");
        }
        assert!(json["suggestion"].as_str().is_some_and(|text| text.contains("--ai")), "{json}");
    }
    assert_eq!(repo.json(["finding", "F", "--ai", "ada"])["session_id"], *ada);
    assert_eq!(repo.json(["finding", "F", "--ai", "bob"])["session_id"], *bob);
    repo.json(["session", "end", "--ai", "bob"]);
    assert_eq!(repo.json(["finding", "F"])["session_id"], *ada, "one is left, and needs no name");
}

#[test]
fn an_agents_second_session_is_the_current_one_until_it_ends() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let first = start_at(&repo, 1, &["--ai", "ada"]);
    let second = start_at(&repo, 2, &["--ai", "ada"]);
    assert_eq!(repo.json(["finding", "F"])["session_id"], *second);
    assert_eq!(repo.json(["status"])["sessions"][0]["session_id"], *second);
    assert_eq!(repo.json(["session", "end"])["session_id"], *second);
    assert_eq!(repo.json(["finding", "F"])["session_id"], *first);
    assert_eq!(repo.json(["session", "end"])["session_id"], *first);
    repo.fails(1, ["drift"]);
    repo.fails(1, ["session", "end", "--session", &first]);
    let json = repo.fails(1, ["postflight", "-v", "know=0.5", "--session", &first]);
    assert!(json["error"].as_str().is_some_and(|text| text.contains("ended")), "{json}");
}

#[test]
fn an_agents_own_session_id_continues_its_session() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let first = repo.json(["session", "start", "--ai", "ada", "--external-id", "tool-7"]);
    let again = repo.json(["session", "start", "--ai", "ada", "--external-id", "tool-7"]);
    assert_eq!((&again["session_id"], &again["resumed"]), (&first["session_id"], &true.into()));
    repo.json(["session", "end", "--session", "tool-7"]);
    let answer = repo.json(["session", "start", "--ai", "ada", "--external-id", "tool-7"]);
    assert_ne!(answer["session_id"], first["session_id"], "an ended session does not go on");
}

#[test]
fn the_author_is_the_flag_the_variable_the_sessions_agent_the_configuration_or_the_user() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let started = |env: &[(&str, &str)], given: &[&str]| {
        id(&repo.json_with_env(env, [&["session", "start"], given].concat()), "ai_id")
    };
    assert_eq!(started(&[], &[]), "Test", "user.name");
    repo.git(["config", "empirica.ai", "configured"]).ok();
    assert_eq!(started(&[], &[]), "configured");
    assert_eq!(started(&[("EMPIRICA_AI", "variable")], &[]), "variable");
    assert_eq!(started(&[("EMPIRICA_AI", "variable")], &["--ai", "flag"]), "flag");
    let author = |env: &[(&str, &str)], given: &[&str]| {
        let entry = id(&repo.json_with_env(env, [&["finding", "F", "--session", "latest:flag"], given].concat()), "id");
        id(&repo.json(["show", &entry]), "ai_id")
    };
    assert_eq!(author(&[], &[]), "flag", "the session's own agent speaks");
    assert_eq!(author(&[("EMPIRICA_AI", "guest")], &[]), "guest");
    assert_eq!(author(&[("EMPIRICA_AI", "guest")], &["--ai", "other"]), "other");
}

#[test]
fn the_sessions_of_linked_worktrees_are_apart_and_their_records_shared() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    repo.git(["worktree", "add", "-q", "../linked"]).ok();
    let linked = place.at("linked");
    let here = start_at(&repo, 1, &["--ai", "ada"]);
    linked.fails(1, ["drift"]);
    let there = start_at(&linked, 2, &["--ai", "ada"]);
    assert_eq!(linked.json(["finding", "F"])["session_id"], *there);
    assert_eq!(repo.json(["finding", "F"])["session_id"], *here);
    assert_eq!(repo.json(["status"])["sessions"].as_array().map(Vec::len), Some(1));
    assert_eq!(repo.json(["session", "list"])["total_sessions"], 2);
    assert_eq!(repo.json(["session", "show", "latest"])["session_id"], *there, "a name reaches across");
    linked.json(["session", "end"]);
    assert_eq!(repo.json(["finding", "F"])["session_id"], *here);
    linked.fails(1, ["drift"]);
}

#[test]
fn losing_the_current_session_file_changes_nothing() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    repo.git(["worktree", "add", "-q", "../linked"]).ok();
    let linked = place.at("linked");
    let ended = start_at(&repo, 1, &["--ai", "ada"]);
    repo.json(["session", "end"]);
    let first = start_at(&repo, 2, &["--ai", "ada"]);
    let second = start_at(&repo, 3, &["--ai", "ada", "--external-id", "tool-9"]);
    let there = start_at(&linked, 4, &["--ai", "ada"]);
    let forget = || std::fs::remove_dir_all(repo.path.join(".git/empirica/current")).expect("it was there");
    for flushed in [false, true] {
        if flushed {
            repo.run(["flush"]).ok();
        }
        forget();
        assert_eq!(repo.json(["finding", "F"])["session_id"], *second);
        assert_eq!(linked.json(["finding", "F"])["session_id"], *there);
        forget();
        assert_eq!(repo.json(["session", "start", "--external-id", "tool-9"])["session_id"], *second);
    }
    repo.json(["session", "end"]);
    forget();
    assert_eq!(repo.json(["finding", "F"])["session_id"], *first);
    repo.json(["session", "end"]);
    forget_if_there(&repo);
    repo.fails(1, ["drift"]);
    assert_ne!(ended, first);
    let other = place.clone(&repo, "other", true);
    other.fails(1, ["drift"]);
    assert_eq!(other.json(["session", "show", "latest:active"])["session_id"], *there, "another clone's can be named");
}

fn forget_if_there(repo: &Repo<'_>) {
    let path = repo.path.join(".git/empirica/current");
    if path.exists() {
        std::fs::remove_dir_all(path).expect("it goes");
    }
}
