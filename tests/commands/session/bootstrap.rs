//! The project summary for a new context, its order, and its reader.

use serde_json::Value;

use crate::support::harness::{Repo, RunOutput, Sandbox};
use crate::sync::team::{clones, hub, sync};

const LISTS: [&str; 9] =
    ["active_sessions", "team", "goals", "unknowns", "findings", "dead_ends", "mistakes", "decisions", "handoffs"];

/// The project summary as JSON.
#[track_caller]
fn all(repo: &Repo<'_>, more: &[&str]) -> Value {
    let json = repo.json([&["bootstrap", "--budget", "50000"], more].concat());
    assert!(json.get("omitted").is_none(), "{json}");
    json
}

/// One key of each entry of a list.
#[track_caller]
fn column<'j>(json: &'j Value, list: &str, key: &str) -> Vec<&'j str> {
    let entries = json[list].as_array().unwrap_or_else(|| panic!("no {list}: {json}"));
    entries.iter().map(|entry| entry[key].as_str().unwrap_or_else(|| panic!("no {key}: {entry}"))).collect()
}

/// The id of what a command stored.
#[track_caller]
fn id(repo: &Repo<'_>, arguments: &[&str]) -> String {
    repo.json(arguments)["id"].as_str().expect("an id").to_owned()
}

/// Ada planned and ended, bob is at work in another clone; everything is in both.
fn two_clones<'p>(place: &'p Sandbox) -> (Vec<Repo<'p>>, [String; 2]) {
    let hub = hub(place);
    let repos = clones(place, &hub, 2);
    let (first, second) = (&repos[0], &repos[1]);
    let ada = first.start("ada", "Plan the move of the scheduler");
    first.json(["preflight", "-v", "know=0.5,uncertainty=0.6"]);
    first.json(["goal", "add", "Every job runs from the new queue", "--priority", "low"]);
    let goal = id(first, &["goal", "add", "Nothing is sent twice", "--priority", "high", "--criterion", "a test"]);
    let step = id(first, &["goal", "sub", &goal, "Add a key"]);
    first.json(["goal", "sub", &goal, "Check the key"]);
    first.json(["goal", "done", &step]);
    first.json(["finding", "The queue keeps the order per partition", "--impact", "0.9"]);
    first.json(["unknown", "Who owns the cluster?"]);
    first.json(["deadend", "One lock for all", "--why", "too slow"]);
    first.json(["mistake", "Ran it against production", "--prevention", "set the environment"]);
    first.json(["decision", "Key by tenant", "--why", "tenants are small", "--alternative", "key by user"]);
    first.json(["postflight", "-v", "know=0.8,uncertainty=0.3", "--next", "Ask the owner", "--next", "Second"]);
    first.json(["session", "end"]);
    sync(first);
    sync(second);
    let bob = second.start("bob", "Move the mail jobs");
    second.json(["preflight", "-v", "know=0.6,uncertainty=0.5"]);
    second.json(["check", "-v", "know=0.7,uncertainty=0.4"]);
    second.json(["goal", "add", "Mail jobs are moved"]);
    second.json(["unknown", "How large is a mail?"]);
    second.json(["finding", "Mails are large"]);
    second.json(["deadend", "Inline mails", "--why", "they are large"]);
    second.json(["mistake", "Forgot the index"]);
    second.json(["flush"]);
    sync(second);
    sync(first);
    (repos, [ada, bob])
}

#[test]
fn a_newcomer_sees_the_work_of_both_clones_in_sections() {
    let place = Sandbox::new();
    let (repos, [ada, bob]) = two_clones(&place);
    let (ada, bob) = (&ada[..8], &bob[..8]);
    let text = repos[0].run(["bootstrap", "--budget", "5000"]).ok().unfenced();
    let masked = regex::Regex::new(r"(?m)^- [0-9a-f]{8} ").expect("a pattern").replace_all(&text, "- <id> ");
    let head = &repos[0].head()[..8];
    let expected = format!(
        "\
# Project: 2 agents, 2 sessions, 1 active

Working memory:
- task: Move the mail jobs

Active sessions:
- <id> bob: Move the mail jobs (CHECK 1, confidence 0.67, worktree main, since 2026-03-01 12:00 UTC, last seen 2026-03-01 12:00 UTC)

Team:
- bob: Move the mail jobs; next: Mail jobs are moved (active session {bob}, no self-assessment, confidence 0.67, last seen 2026-03-01 12:00 UTC)
- ada: Plan the move of the scheduler; next: Ask the owner (ended session {ada}, self-assessment consistent, confidence 0.80, last seen 2026-03-01 12:00 UTC)

Goals:
- <id> high, ada: Nothing is sent twice (1/2 subtasks, ended session {ada})
- <id> medium, bob: Mail jobs are moved (active session {bob})
- <id> low, ada: Every job runs from the new queue (ended session {ada})
- <id> high, bob: Find out what it takes to move the mail jobs (active session {bob})
- <id> medium, bob: List what is unclear before you move the mail jobs (active session {bob})

Unknowns:
- <id> bob: How large is a mail?
- <id> ada: Who owns the cluster?

Findings:
- <id> ada: The queue keeps the order per partition (impact 0.90, on {head})
- <id> bob: Mails are large (on {head})

Dead ends:
- <id> bob: Inline mails — they are large
- <id> ada: One lock for all — too slow

Mistakes:
- <id> bob: Forgot the index
- <id> ada: Ran it against production — prevention: set the environment

Decisions:
- <id> ada: Key by tenant — tenants are small; rejected: key by user

Handoffs:
- <id> ada: Plan the move of the scheduler (2026-03-01 12:00 UTC, on {head}, self-assessment consistent)
"
    );
    let confidence = regex::Regex::new(r"confidence 0\.\d\d").expect("a pattern");
    let plain = |text: &str| confidence.replace_all(text, "confidence").into_owned();
    assert_eq!(plain(&masked), plain(&expected));
}

#[test]
fn json_has_the_same_content_with_full_ids_and_null_for_unknowns() {
    let place = Sandbox::new();
    let (repos, [ada, bob]) = two_clones(&place);
    let json = all(&repos[0], &[]);
    assert_eq!(json["project"], serde_json::json!({"sessions": 2, "active_sessions": 1, "agents": 2}));
    assert_eq!(json["own_session_id"], Value::Null);
    let session = &json["active_sessions"][0];
    let key_of = |key: &str| session[key].clone();
    assert_eq!(
        (key_of("session_id"), key_of("phase"), key_of("round")),
        (bob.clone().into(), "CHECK".into(), 1.into())
    );
    assert_eq!((key_of("worktree"), key_of("own"), key_of("ai_id")), ("main".into(), false.into(), "bob".into()));
    let checked = repos[1].json(["status"])["sessions"][0]["overall_confidence"].clone();
    assert_eq!(session["overall_confidence"], checked);
    let team = json["team"].as_array().expect("a list");
    assert_eq!(team[0]["next_step"], "Mail jobs are moved");
    assert_eq!((&team[1]["next_step"], &team[1]["active"]), (&"Ask the owner".into(), &false.into()));
    assert_eq!(team[1]["calibration_status"], "well_calibrated");
    assert_eq!(column(&json, "goals", "priority"), ["high", "medium", "low", "high", "medium"]);
    assert_eq!(column(&json, "goals", "session_status"), ["ended", "active", "ended", "active", "active"]);
    assert_eq!(json["goals"][0]["progress"], "1/2 subtasks");
    assert_eq!(json["goals"][0]["criteria"][0], "a test");
    assert_eq!(json["goals"][1]["progress"], Value::Null);
    assert_eq!(json["findings"][1]["impact"], Value::Null, "nobody said it");
    assert_eq!(json["findings"][1]["importance"], 0.5);
    assert_eq!(json["findings"][0]["commit"], repos[0].head());
    assert_eq!(json["mistakes"][0]["prevention"], Value::Null);
    assert_eq!(json["decisions"][0]["alternatives"][0], "key by user");
    assert_eq!(json["handoffs"][0]["session_id"], ada);
    let listed = repos[0].json(["handoff", "list"]);
    assert_eq!(json["handoffs"][0]["handoff_id"], listed["handoffs"][0]["handoff_id"]);
    for list in LISTS {
        assert!(json[list].as_array().is_some_and(|list| list.iter().all(|entry| entry["own"] == false)), "{list}");
    }
}

#[test]
fn the_next_commands_take_the_ids_that_are_shown() {
    let place = Sandbox::new();
    let (repos, _) = two_clones(&place);
    let text = repos[1].run(["bootstrap", "--budget", "5000"]).ok().out;
    let shown = |expected: &str| {
        let line = text.lines().find(|line| line.contains(expected)).unwrap_or_else(|| panic!("{expected}: {text}"));
        line.trim_start_matches("- ").split(' ').next().expect("a word").to_owned()
    };
    repos[1].run(["resolve", &shown("Who owns the cluster?"), "Operations"]).ok();
    repos[1].run(["goal", "done", &shown("medium, own: Mail jobs are moved")]).ok();
    repos[1].run(["show", &shown("Mails are large")]).ok();
    let handoff = repos[1].run(["show", &shown("(2026-03-01 12:00 UTC, on ")]).ok().unfenced();
    assert!(handoff.starts_with("# Handoff "), "{handoff}");
    repos[1].run(["session", "show", &shown("own, bob")]).ok();
    let json = all(&repos[1], &[]);
    assert_eq!(column(&json, "unknowns", "text"), ["How large is a mail?"]);
    let (learn, answer) = ("Find out what it takes to move", "Answer \"How large is a mail?\"");
    let open = column(&json, "goals", "text");
    assert!(
        open[0].starts_with(learn) && (open[1].starts_with(answer) || open[1].starts_with("List what is unclear")),
        "{open:?}"
    );
    assert_eq!(open[2..], ["Nothing is sent twice", "Every job runs from the new queue"]);
    assert_eq!(json["team"][0]["next_step"], open[0], "no handoff, no goal of its own");
    // what was proposed to a session is its own
    repos[1].json(["session", "end"]);
    let json = all(&repos[1], &[]);
    assert_eq!(column(&json, "goals", "text"), ["Nothing is sent twice", "Every job runs from the new queue"]);
    assert_eq!(json["team"][0]["next_step"], Value::Null, "no handoff, no goal");
}

#[test]
fn an_answer_and_an_end_that_were_fetched_take_effect() {
    let place = Sandbox::new();
    let (repos, [_, bob]) = two_clones(&place);
    let unknown = all(&repos[0], &[])["unknowns"][1]["id"].as_str().expect("an id").to_owned();
    repos[1].json(["resolve", &unknown, "Operations"]);
    repos[1].json(["session", "end"]);
    repos[1].json(["flush"]);
    sync(&repos[1]);
    assert_eq!(column(&all(&repos[0], &[]), "active_sessions", "session_id"), [bob.as_str()], "not fetched yet");
    repos[0].git(["fetch", "-q"]).ok();
    let json = all(&repos[0], &[]);
    assert_eq!(column(&json, "unknowns", "text"), ["How large is a mail?"]);
    assert_eq!(json["active_sessions"], serde_json::json!([]));
    assert_eq!(json["project"]["active_sessions"], 0);
    assert_eq!(json["goals"][1]["session_status"], "ended");
}

#[test]
fn records_of_the_asking_session_are_first_and_marked() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let run_json = |ai: &str, n: u32| {
        repo.json(["unknown", &format!("{ai} asks {n}"), "--ai", ai]);
        repo.json(["finding", &format!("{ai} found {n}"), "--impact", "0.9", "--ai", ai]);
        repo.json(["goal", "add", &format!("{ai} wants {n}"), "--priority", "high", "--ai", ai]);
    };
    let ada = repo.start("ada", "first");
    run_json("ada", 1);
    let bob = repo.start("bob", "second");
    run_json("bob", 1);
    run_json("bob", 2);
    repo.json(["handoff", "--ai", "ada"]);
    repo.json(["handoff", "--ai", "bob"]);

    let nobody = all(&repo, &[]);
    assert_eq!(nobody["own_session_id"], Value::Null, "two are at work here");
    assert_eq!(column(&nobody, "unknowns", "text"), ["bob asks 2", "bob asks 1", "ada asks 1"]);
    let as_ada = |json: Value| {
        assert_eq!(json["own_session_id"], ada.as_str());
        assert_eq!(column(&json, "unknowns", "text"), ["ada asks 1", "bob asks 2", "bob asks 1"]);
        assert_eq!(column(&json, "findings", "text")[0], "ada found 1");
        assert_eq!(column(&json, "goals", "text")[0], "ada wants 1");
        for list in ["team", "active_sessions", "handoffs"] {
            assert_eq!(column(&json, list, "ai_id"), ["ada", "bob"], "{list}");
        }
        for list in LISTS {
            let entries = json[list].as_array().expect("a list");
            assert!(entries.iter().all(|entry| entry["own"] == (entry["ai_id"] == "ada")), "{list}: {json}");
        }
    };
    as_ada(all(&repo, &["--ai", "ada"]));
    as_ada(all(&repo, &["--session", &ada[..8]]));
    let ask = ["bootstrap", "--budget", "50000"];
    as_ada(repo.json_with_env(&[("EMPIRICA_AI", "ada")], ask));
    as_ada(repo.json_with_env(&[("EMPIRICA_SESSION", &ada)], ask));
    let both = [&ask[..], &["--ai", "bob"]].concat();
    let json = repo.json_with_env(&[("EMPIRICA_SESSION", &ada)], both);
    assert_eq!(json["own_session_id"], bob, "what is said in the command counts more");

    let text = repo.run(["bootstrap", "--ai", "ada"]).ok().out;
    assert!(text.contains(&format!("\nYou are ada in session {}.\n", &ada[..8])), "{text}");
    assert!(text.contains(" own: ada asks 1\n") && text.contains(" bob: bob asks 1\n"), "{text}");
    assert!(text.contains(" high, own: ada wants 1\n"), "{text}");

    // a session that is over is still the agent's own
    repo.json(["session", "end", "--ai", "ada"]);
    let json = all(&repo, &["--ai", "ada"]);
    assert_eq!((&json["own_session_id"], column(&json, "team", "ai_id")), (&ada.into(), vec!["ada", "bob"]));
    assert_eq!(column(&json, "active_sessions", "ai_id"), ["bob"]);
    assert_eq!(all(&repo, &[])["own_session_id"], bob, "the only one at work");
    let stranger = repo.run(["bootstrap", "--ai", "adda"]).ok();
    assert!(stranger.err.contains("no session of adda"), "{}", stranger.err);
    let wrong = repo.json_with_env(&[("EMPIRICA_SESSION", "ffffffff")], ask);
    assert!(wrong["warning"].as_str().is_some_and(|text| text.contains("EMPIRICA_SESSION")), "{wrong}");
    repo.fails(1, ["bootstrap", "--session", "ffffffff"]);
    repo.fails(2, ["bootstrap", "--session", &bob, "--ai", "bob"]);
    repo.fails(2, ["bootstrap", "--budget", "99"]);
}

#[test]
fn findings_come_by_impact_and_the_newer_first_among_equals() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    for (text, impact) in [("old and great", "1"), ("small", "0.1"), ("great", "0.9"), ("middle", "0.5")] {
        repo.json(["finding", text, "--impact", impact]);
    }
    repo.json(["finding", "not said"]);
    let json = all(&repo, &[]);
    let order = ["old and great", "great", "not said", "middle", "small"];
    assert_eq!(column(&json, "findings", "text"), order);
    let importance: Vec<f64> = json["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|f| f["importance"].as_f64().expect("a number"))
        .collect();
    // impact / (1 + newer / 50)
    assert_eq!(importance, [0.9259, 0.8654, 0.5, 0.4902, 0.0943]);
    // newer records displace old important ones over time
    for n in 0..60 {
        repo.json(["finding", &format!("later {n}"), "--impact", "0.5"]);
    }
    let json = all(&repo, &[]);
    assert_eq!(column(&json, "findings", "text")[0], "later 59");
    let at = |text: &str| column(&json, "findings", "text").iter().position(|found| *found == text);
    assert!(at("great") > at("later 49") && at("great") < at("later 0"), "{json}");
}

#[test]
fn equal_texts_are_shown_once_with_a_count() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let first = id(&repo, &["unknown", "Which port?"]);
    repo.json(["flush"]);
    for text in [" which PORT? ", "Which port?", "Which porch?"] {
        repo.json(["unknown", text]);
    }
    for why in ["slow", "Slow", "wrong"] {
        repo.json(["deadend", "A lock", "--why", why]);
        repo.json(["mistake", "Forgot it", "--prevention", why]);
        repo.json(["goal", "add", "Reach it"]);
        repo.json(["finding", "The cache is cold"]);
        repo.json(["flush"]);
    }
    let json = all(&repo, &[]);
    let counts = |list: &str| -> Vec<u64> {
        json[list].as_array().expect("a list").iter().map(|entry| entry["count"].as_u64().expect("a count")).collect()
    };
    assert_eq!(column(&json, "unknowns", "text"), ["Which porch?", "Which port?"]);
    assert_eq!(counts("unknowns"), [1, 3]);
    assert_eq!((counts("dead_ends"), counts("mistakes")), (vec![1, 2], vec![1, 2]));
    assert_eq!((counts("goals"), counts("findings")), (vec![3], vec![3]));
    assert!(repo.run(["bootstrap"]).ok().out.contains("own: Which port? (×3)\n"));
    // an answer is to one of them
    repo.json(["resolve", &first, "8080"]);
    let json = all(&repo, &[]);
    assert_eq!(json["unknowns"][1]["count"], 2);
}

#[test]
fn an_agents_row_is_its_newest_session_and_handoffs_are_at_their_commits() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("ada", "the first");
    repo.json(["preflight", "-v", "know=0.2,uncertainty=0.8"]);
    repo.json(["postflight", "-v", "know=0.3,uncertainty=0.2", "--next", "old step"]);
    repo.json(["session", "end"]);
    assert_eq!(all(&repo, &[])["team"][0]["calibration_status"], "overconfident");
    let newer = repo.start("ada", "the second");
    let json = all(&repo, &[]);
    assert_eq!(json["team"].as_array().map(Vec::len), Some(1));
    let row = &json["team"][0];
    assert_eq!((&row["session_id"], &row["task"]), (&newer.into(), &"the second".into()));
    assert_eq!((&row["next_step"], &row["overall_confidence"]), (&Value::Null, &Value::Null));
    assert_eq!(row["calibration_status"], "not_assessable");
    assert_eq!(json["handoffs"][0]["task"], "the first");

    repo.commit("b", "b\n", "Add b");
    repo.json(["handoff", "-m", "the second", "--next", "a"]);
    let last = repo.json(["handoff", "-m", "the second", "--next", "new step"]);
    repo.git(["commit", "-q", "--amend", "-m", "Add b, said better"]).ok();
    let json = all(&repo, &[]);
    assert_eq!(json["team"][0]["next_step"], "new step");
    assert_eq!(column(&json, "handoffs", "handoff_id"), [last["handoff_id"].as_str().expect("an id")]);
    assert_eq!(json["handoffs"][0]["commit"], repo.head());
}

#[test]
fn an_empty_repository_gets_instructions_to_begin() {
    let place = Sandbox::new();
    for repo in [place.repo("r"), place.init("unborn")] {
        let ran = repo.run(["bootstrap"]).ok();
        assert!(ran.out.contains("git empirica finding") && ran.err.is_empty(), "{ran:?}");
        assert!(ran.out.starts_with("# Project: 0 agents, 0 sessions, 0 active\n"), "{}", ran.out);
        for budget in ["100", "1000"] {
            let json = repo.json(["bootstrap", "--budget", budget]);
            assert!(json["message"].as_str().is_some_and(|text| text.contains("git empirica finding")), "{json}");
        }
        let json = all(&repo, &[]);
        assert!(LISTS.iter().all(|list| json[list] == serde_json::json!([])), "{json}");
        repo.start("ada", "t");
        assert!(all(&repo, &[]).get("message").is_none());
    }
}

#[test]
fn project_bootstrap_is_the_same_command() {
    let place = Sandbox::new();
    let (repos, _) = two_clones(&place);
    let output_of = |ran: RunOutput| ran.ok().out;
    let text = output_of(repos[1].run(["bootstrap"]));
    assert_eq!(output_of(repos[1].run(["project-bootstrap"])), text);
    assert!(text.contains("own: Mails are large"), "{text}");
    assert_eq!(repos[1].json(["project-bootstrap"]), repos[1].json(["bootstrap"]));
}
