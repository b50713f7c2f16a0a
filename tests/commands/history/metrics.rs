//! Accepting a handoff and the metrics derived from it, in two clones.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};

fn id<'v>(json: &'v Value, key: &str) -> &'v str {
    json[key].as_str().unwrap_or_else(|| panic!("no {key}: {json}"))
}

/// At a time of the first of March 2026.
fn at(time: &str) -> [(&'static str, String); 1] {
    [("EMPIRICA_NOW", format!("2026-03-01T{time}.000Z"))]
}

#[track_caller]
fn run_at(repo: &Repo<'_>, time: &str, arguments: &[&str]) -> Value {
    let env = at(time);
    repo.json_with_env(&[(env[0].0, &env[0].1)], arguments)
}

fn ratio(numerator: u64, denominator: u64, value: Value) -> Value {
    json!({"value": value, "numerator": numerator, "denominator": denominator})
}

/// Two clones of one hub. Ada hands over in the first, Bob takes it up in the second and hands over in turn; Ada finds
/// that one done and then not.
struct Team<'p> {
    ada: Repo<'p>,
    bob: Repo<'p>,
    handoff: String,
    answer: String,
}

impl<'p> Team<'p> {
    fn new(place: &'p Sandbox) -> Self {
        let ada = place.repo("ada");
        ada.git(["init", "-q", "--bare", "../hub.git"]).ok();
        ada.git(["remote", "add", "origin", "../hub.git"]).ok();
        ada.git(["push", "-q", "origin", "main"]).ok();
        run_at(&ada, "10:00:00", &["session", "start", "--ai", "ada", "--task", "Cache the tokens"]);
        run_at(&ada, "10:00:30", &["unknown", "Does the mobile client reuse nonces?"]);
        run_at(&ada, "10:01:00", &["deadend", "Retrying the login", "--why", "the cache is stale"]);
        for file in ["src/cache.rs", "src/login.rs", "docs/cache.md"] {
            ada.commit(file, "x\n", file);
        }
        let handoff = run_at(&ada, "10:02:00", &["handoff", "--context", "Mind the cache", "--next", "Ask"]);
        ada.git(["push", "-q", "origin", "main"]).ok();
        run_at(&ada, "10:03:00", &["sync"]);

        let hub = place.at("hub.git");
        let bob = place.clone(&hub, "bob", false);
        bob.git(["checkout", "-q", "main"]).ok();
        run_at(&bob, "10:59:00", &["sync"]);
        run_at(&bob, "11:00:00", &["session", "start", "--ai", "bob", "--task", "Go on with the cache"]);
        let handoff = id(&handoff, "handoff_id").to_owned();
        let accepted = ["accept", &handoff, "--understanding", "The cache is keyed anew", "--decision", "continue"];
        run_at(&bob, "11:00:05", &accepted);
        run_at(&bob, "11:00:10", &["unknown", "does the mobile client REUSE nonces"]);
        run_at(&bob, "11:00:20", &["activity", "edit", "key it", "--file", "./src/cache.rs"]);
        run_at(&bob, "11:00:30", &["activity", "read", "look", "--file", "docs/cache.md"]);
        let answer =
            run_at(&bob, "11:01:00", &["handoff", "--artifact", "src/cache.rs", "--context", "c", "--next", "n"]);
        run_at(&bob, "11:02:00", &["sync"]);
        run_at(&ada, "11:03:00", &["sync"]);
        let answer = id(&answer, "handoff_id").to_owned();
        run_at(&ada, "11:04:00", &["accept", &answer, "--decision", "COMPLETE"]);
        let refined = ["accept", &answer, "--decision", "REFINE", "--question", "And logout?", "--gap", "No test"];
        run_at(&ada, "11:05:00", &refined);
        Team { ada, bob, handoff, answer }
    }
}

#[test]
fn handoffs_exchanged_by_two_clones_are_measured() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let json = team.ada.json(["metrics", "--by", "day"]);
    let all = &json["overall"];
    assert_eq!((&all["sessions"], &all["handoffs"]), (&json!(2), &json!(2)));
    assert_eq!(all["first_entry"], json!({"n": 2, "median_seconds": 20.0, "mean_seconds": 20.0}));
    assert_eq!(all["first_try_completeness"], ratio(1, 2, json!(0.5)));
    // Bob touched one of Ada's three, Ada what Bob names
    assert_eq!(all["context_relevance"], ratio(2, 4, json!(0.5)));
    assert_eq!(all["decision_accuracy"], ratio(0, 1, json!(0.0)), "COMPLETE was reopened");
    assert_eq!(all["duplicates"], 1);
    let pair = &json["duplicate_pairs"][0];
    assert_eq!((&pair["kind"], &pair["likeness"]), (&json!("unknown"), &json!(1.0)));
    assert_eq!((&pair["earlier"]["ai_id"], &pair["later"]["ai_id"]), (&json!("ada"), &json!("bob")));
    let agents: Vec<&Value> = json["agents"].as_array().expect("a list").iter().collect();
    assert_eq!((id(agents[0], "ai_id"), id(agents[1], "ai_id")), ("ada", "bob"));
    assert_eq!(agents[0]["first_try_completeness"], ratio(1, 1, json!(1.0)));
    assert_eq!(agents[1]["first_try_completeness"], ratio(0, 1, json!(0.0)));
    assert_eq!(agents[1]["decision_accuracy"], ratio(0, 0, Value::Null), "of none nothing is known");
    assert_eq!(json["periods"][0]["period"], "2026-03-01");
    assert_eq!(all["resume"]["transcript_tokens"], Value::Null);
    // Bob has not fetched Ada's acknowledgements
    let behind = team.bob.json(["metrics"]);
    assert_eq!(behind["overall"]["decision_accuracy"], ratio(0, 0, Value::Null));
    assert_eq!(behind["periods"][0]["period"], "2026-03");
    team.ada.json(["sync"]);
    team.bob.json(["sync"]);
    assert_eq!(team.bob.json(["metrics", "--by", "day"])["overall"], *all);
}

#[test]
fn metrics_filter_by_agent_and_time() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let json = team.ada.json(["metrics", "--ai", "bob", "--by", "week"]);
    assert_eq!((&json["ai_id"], &json["overall"]["sessions"]), (&json!("bob"), &json!(1)));
    assert_eq!(json["agents"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["periods"][0]["period"], "2026-W09");
    let json = team.ada.json(["metrics", "--since", "2026-03-01 10:30:00"]);
    assert_eq!((&json["overall"]["sessions"], &json["overall"]["handoffs"]), (&json!(1), &json!(1)));
    assert_eq!(json["since"], "2026-03-01T10:30:00.000Z");
    let json = team.ada.json(["metrics", "--until", "2026-03-01 10:30:00", "--limit", "0"]);
    assert_eq!((&json["overall"]["sessions"], &json["overall"]["duplicates"]), (&json!(1), &json!(0)));
    let json = team.ada.json(["metrics", "--ai", "nobody"]);
    assert_eq!(json["message"], "Nothing that is stored here fits.");
    assert_eq!(json["overall"]["context_relevance"], ratio(0, 0, Value::Null));
    team.ada.fails(2, ["metrics", "--since", "whenever"]);
    team.ada.fails(2, ["metrics", &team.handoff, "--ai", "bob"]);
    let text = team.ada.run(["metrics", "--limit", "0"]).ok();
    assert!(text.err.contains("1 more duplicates"), "{}", text.err);
}

#[test]
fn one_handoff_is_measured_with_its_receivers_and_paths() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let json = team.ada.json(["metrics", &team.handoff]);
    assert_eq!(json["first_try_complete"], true);
    let receiver = &json["receivers"][0];
    assert_eq!((id(receiver, "ai_id"), &receiver["first_entry_seconds"]), ("bob", &json!(10.0)));
    let paths = [("docs/cache.md", false), ("src/cache.rs", true), ("src/login.rs", false)];
    assert_eq!(receiver["paths"], json!(paths.map(|(path, touched)| json!({"path": path, "touched": touched}))));
    assert_eq!(receiver["context_relevance"], ratio(1, 3, json!(0.3333)));
    assert_eq!(json["acknowledgements"][0]["understanding"], "The cache is keyed anew");
    let json = team.ada.json(["metrics", &team.answer]);
    assert_eq!(
        (&json["first_try_complete"], &json["acknowledgements"][1]["gaps"]),
        (&json!(false), &json!(["No test"]))
    );
    let text = team.ada.run(["metrics", &team.answer]).ok().out;
    for part in ["accepted with questions or gaps", "Received by ada", "touched     src/cache.rs", "gap: No test"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn tokens_count_the_output_of_resume() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let session = id(&team.ada.json(["show", &team.handoff]), "session_id").to_owned();
    let json = team.ada.json(["metrics", &team.handoff]);
    assert_eq!((&json["exact"], &json["transcript_tokens"]), (&json!(false), &Value::Null));
    for detail in ["summary", "detailed", "full"] {
        let resume = ["resume", "--session", &session, "--detail", detail];
        let text = team.ada.run(resume).ok().out;
        let estimate = git_empirica::text::tokens::estimate;
        assert_eq!(json["tokens"][detail]["text"], estimate(&text), "{detail}");
        let document = team.ada.run(resume.into_iter().chain(["--json"])).ok().out;
        assert_eq!(json["tokens"][detail]["json"], estimate(document.trim_end()), "{detail}");
    }
    let of_ada = team.ada.json(["metrics", "--ai", "ada"]);
    assert_eq!(of_ada["overall"]["resume"]["n"], 1);
    assert_eq!(of_ada["overall"]["resume"]["text_tokens"], json["tokens"]["summary"]["text"]);
    let (first, second) = (json, team.ada.json(["metrics", &team.answer]));
    let mean = |form: &str| {
        let count = |json: &Value| json["tokens"]["summary"][form].as_f64().expect("a number");
        ((count(&first) + count(&second)) / 2.0).round() as u64
    };
    let all = &team.ada.json(["metrics"])["overall"]["resume"];
    assert_eq!(
        (&all["n"], &all["text_tokens"], &all["json_tokens"]),
        (&json!(2), &json!(mean("text")), &json!(mean("json")))
    );
    let text = team.ada.run(["metrics"]).ok().out;
    assert!(text.contains("no transcript was collected to compare it with"), "{text}");
    // resume shows another one now
    run_at(&team.ada, "11:06:00", &["handoff", "--context", "Anew", "--next", "n"]);
    let json = team.ada.json(["metrics", &team.handoff]);
    assert_eq!((&json["tokens"], &json["first_try_complete"]), (&Value::Null, &json!(true)));
}

#[cfg(not(feature = "exact-tokens"))]
#[test]
fn exact_counts_are_refused_by_a_program_that_has_no_tables() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.start("ada", "t");
    let handoff = repo.hand_over("t");
    for arguments in [&["metrics", "--exact"][..], &["metrics", &handoff, "--exact"]] {
        let json = repo.fails(1, arguments);
        assert!(id(&json, "reason").contains("exact-tokens"), "{json}");
        assert_eq!(json["recovery_commands"], json!(["cargo install --locked --path . --features exact-tokens"]));
    }
}

#[cfg(feature = "exact-tokens")]
#[test]
fn exact_counts_are_those_of_the_tables() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let session = repo.start("ada", "Größe messen");
    let handoff = repo.hand_over("Größe messen");
    let json = repo.json(["metrics", &handoff, "--exact"]);
    assert_eq!(json["exact"], true);
    let text = repo.run(["resume", "--session", &session]).ok().out;
    let count = crate::support::harness::tokens(&text);
    assert_eq!(json["tokens"]["summary"]["text"], count);
    assert_eq!(repo.json(["metrics", "--exact"])["overall"]["resume"]["text_tokens"], count);
}

/// Every file below a folder with its content.
fn files(folder: &Path, out: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files(&path, out),
            // every reader derives the index from the records
            false if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("index.")) => {}
            false => drop(out.insert(path.display().to_string(), std::fs::read(&path).expect("a file"))),
        }
    }
}

#[test]
fn measuring_writes_nothing() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    team.ada.json(["sync"]);
    // what plain git fetched is not united yet, and a record waits in the log
    team.bob
        .git(["fetch", "-q", "origin", "+refs/notes/empirica/data/*:refs/notes/empirica/remotes/origin/data/*"])
        .ok();
    run_at(&team.bob, "11:10:00", &["finding", "It waits"]);
    let all = |repo: &Repo<'_>| {
        let mut out = BTreeMap::new();
        files(&repo.path.join(".git"), &mut out);
        out
    };
    let before = all(&team.bob);
    let json = team.bob.json(["metrics"]);
    assert_eq!(json["overall"]["decision_accuracy"], ratio(0, 1, json!(0.0)), "what was fetched counts");
    team.bob.json(["metrics", &team.handoff]);
    team.bob.run(["metrics"]).ok();
    let after = all(&team.bob);
    assert!(before.len() > 20);
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    assert!(before == after, "a file changed");
}

#[test]
fn an_acknowledgement_is_stored_beside_the_handoffs_and_shown_with_its_handoff() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let shown = team.ada.json(["show", &team.answer]);
    let list = shown["acknowledgements"].as_array().expect("a list");
    assert_eq!(list.len(), 2);
    assert_eq!((id(&list[0], "decision"), id(&list[1], "decision")), ("COMPLETE", "REFINE"));
    assert_eq!(list[1]["questions"], json!(["And logout?"]));
    let text = team.ada.run(["show", &team.answer]).ok().out;
    assert!(text.contains("## Acknowledgements"), "{text}");
    assert!(text.contains("accepted, REFINE, 1 question, 1 gap\n  - gap: No test"), "{text}");
    let question = format!("## Questions\n\n- {} And logout?", shown["questions"][0]["question_id"].as_str().unwrap());
    assert!(text.contains(&question), "{text}");
    let accept = team.ada.json(["show", id(&list[1], "accept_id")]);
    assert_eq!((id(&accept, "kind"), id(&accept, "of")), ("accept", team.answer.as_str()));
    let log = team.ada.json(["log", "--handoffs"]);
    let commits = log["commits"].as_array().expect("a list").iter();
    let logged: Vec<&Value> = commits.flat_map(|c| c["acknowledgements"].as_array().expect("a list")).collect();
    assert_eq!(logged.len(), 3, "{log}");
    for text in [team.ada.run(["log", "--oneline"]).ok().out, team.ada.run(["log"]).ok().out] {
        assert!(text.contains(" accepted, REFINE, 1 question, 1 gap"), "{text}");
    }
    let lines = team.ada.lines("handoffs");
    let lines: Vec<&String> = lines.iter().filter(|line| line.contains("\"kind\":\"accept\"")).collect();
    assert_eq!(lines.len(), 3);
    let bob = id(&team.ada.json(["show", &team.answer]), "session_id").to_owned();
    let of_bob = lines.iter().filter(|line| line.contains(&format!("\"concerns\":[\"{bob}\"]"))).count();
    assert_eq!(of_bob, 2, "the session that handed over is told");
    assert!(
        !team.ada.git(["notes", "--ref", "empirica/handoffs", "show"]).out.contains("accept"),
        "Markdown is as it was"
    );
    team.ada.fsck();
}

#[test]
fn an_acknowledgement_follows_an_amend_and_is_not_doubled() {
    let place = Sandbox::new();
    let repo = place.set_up("project");
    repo.start("ada", "t");
    let handoff = repo.hand_over("t");
    repo.json(["session", "start", "--ai", "bob"]);
    repo.json(["accept", &handoff, "--ai", "bob", "--question", "why?"]);
    repo.git(["commit", "-q", "--amend", "-m", "Said better"]).ok();
    let log = repo.json(["log", "--handoffs"]);
    assert_eq!(log["commits"][0]["acknowledgements"].as_array().map(Vec::len), Some(1), "{log}");
    assert_eq!(repo.json(["show", &handoff])["acknowledgements"].as_array().map(Vec::len), Some(1));
    assert_eq!(repo.json(["metrics"])["overall"]["first_try_completeness"], ratio(0, 1, json!(0.0)));
}

#[test]
fn unacceptable_handoffs_are_refused_and_oddities_reported() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let handoff = {
        repo.start("ada", "t");
        let finding = id(&repo.json(["finding", "f"]), "id").to_owned();
        let json = repo.fails(1, ["accept", &finding]);
        assert_eq!(json["recovery_commands"], json!(["git empirica handoff list"]), "{json}");
        repo.hand_over("t")
    };
    repo.fails(1, ["accept", "ffffffff"]);
    repo.fails(2, ["accept", &handoff, "--decision", "MAYBE"]);
    repo.fails(2, ["accept", &handoff, "--question", " "]);
    let own = repo.json(["accept", &handoff, "--decision", "complete"]);
    assert!(id(&own, "warning").contains("its own handoff"), "{own}");
    assert_eq!(repo.json(["metrics"])["overall"]["decision_accuracy"], ratio(0, 0, Value::Null));
    let newer = repo.hand_over("t");
    let json = repo.json(["accept", &handoff]);
    assert!(id(&json, "warning").contains(&newer[newer.len() - 8..]), "{json}");
    let again = repo.json(["accept", &newer, "--instructions", "go on"]);
    assert!(!id(&again, "warning").contains("took the place"), "{again}");
    assert_eq!((&again["decision"], &again["storage"]), (&Value::Null, &json!("git_notes")));
}
