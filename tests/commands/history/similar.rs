//! `similar`, and the similar records a checkpoint includes.

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

fn id(json: &Value, key: &str) -> String {
    json[key].as_str().unwrap_or_else(|| panic!("no {key}: {json}")).to_owned()
}

/// A session with a finding and a handoff; returns session and handoff.
fn work(repo: &Repo<'_>, ai: &str, task: &str, finding: &str) -> (String, String) {
    let session = repo.start(ai, task);
    repo.json(["deadend", &format!("Guessing about {finding}"), "--why", "it was wrong"]);
    let handoff = id(&repo.json(["handoff", "-m", task, "--finding", finding]), "handoff_id");
    repo.json(["session", "end"]);
    (session, handoff)
}

fn sessions(json: &Value) -> Vec<String> {
    json["sessions"].as_array().expect("a list").iter().map(|row| id(row, "session_id")).collect()
}

#[test]
fn similar_sessions_are_listed_with_reasons_and_results() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (login, handed) = work(&repo, "ada", "Fix the flaky login test", "The clock is mocked too late");
    let (again, _) = work(&repo, "bob", "The login test is flaky again, on Windows", "Timers are coarse there");
    let (chart, _) = work(&repo, "cyd", "Draw the chart of sales", "Axes need labels");
    let open = repo.start("dee", "Login tests fail: flaky");

    let json = repo.json(["similar", "stabilise the flaky login tests"]);
    let found = sessions(&json);
    assert!(found.len() == 3 && !found.contains(&chart), "{json}");
    let row = json["sessions"].as_array().expect("a list").iter().find(|row| row["session_id"] == login).expect("it");
    assert_eq!((&row["handoff_id"], &row["ai_id"]), (&handed.as_str().into(), &"ada".into()), "{row}");
    assert_eq!(row["shared_words"], serde_json::json!(["flaky", "login", "tests"]), "{row}");
    assert_eq!(row["key_findings"], serde_json::json!(["The clock is mocked too late"]));
    assert_eq!(row["dead_ends"][0]["why"], "it was wrong");
    assert_eq!((&row["calibration_status"], &row["active"]), (&"not_assessable".into(), &false.into()));
    let likeness: Vec<f64> =
        json["sessions"].as_array().expect("a list").iter().map(|row| row["likeness"].as_f64().expect("one")).collect();
    assert!(likeness.windows(2).all(|pair| pair[0] >= pair[1]) && likeness[0] <= 1.0, "{likeness:?}");
    let own = json["sessions"].as_array().expect("a list").iter().find(|row| row["session_id"] == open).expect("it");
    assert_eq!((&own["handoff_id"], &own["calibration_status"]), (&Value::Null, &Value::Null), "{own}");

    // never the session itself, whether it is named or its handoff
    for named in [&login, &handed, &handed[28..].to_owned()] {
        let json = repo.json(["similar", named]);
        let found = sessions(&json);
        assert!(found.contains(&again) && found.contains(&open) && !found.contains(&login), "{named}: {json}");
    }
    assert_eq!(repo.json(["similar", &handed])["about"]["kind"], "handoff");
    assert_eq!(repo.json(["similar", "latest"])["about"]["id"], open.as_str());
    let json = repo.json(["similar", "flaky login", "--limit", "1"]);
    assert_eq!((sessions(&json).len(), &json["total_found"]), (1, &3.into()), "{json}");
    let text = repo.run(["similar", "flaky login test"]).ok().unfenced();
    assert!(text.contains("  shares: flaky, login, test\n") && text.contains("tried and FAILED: Guessing"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let ran = repo.run(["similar", "nothing of this kind"]).ok();
    assert!(ran.err.contains("No session resembles it."), "{}", ran.err);
}

#[test]
fn a_checkpoint_includes_similar_records_only_on_request() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    work(&repo, "ada", "Fix the flaky login test", "The login clock is mocked too late");
    repo.json(["finding", "The token cache is keyed by nonce", "--session", "latest:ada"]);
    repo.start("bob", "Login tests are flaky");
    for n in 0..5 {
        repo.json(["finding", &format!("Unrelated thing number {n}")]);
    }
    let plain = repo.json(["checkpoint"]);
    assert_eq!(plain["semantic_context"], Value::Null);
    let stored = repo.git_out(["notes", "--ref", "refs/notes/empirica/data/checkpoints", "show", "HEAD"]);
    assert!(!stored.contains("semantic_context"), "{stored}");

    let own = repo.json(["checkpoint", "--search"]);
    let context = &own["semantic_context"];
    assert!(id(context, "query").starts_with("Login tests are flaky "), "{context}");
    let results = context["results"].as_array().expect("a list");
    assert!(!results.is_empty() && results.len() <= 5, "{context}");
    let texts: Vec<String> = results.iter().map(|found| id(found, "text")).collect();
    assert!(texts.iter().any(|text| text.contains("flaky login")), "{texts:?}");
    assert!(texts.iter().all(|text| !text.starts_with("Unrelated")), "what the snapshot quotes is left out: {texts:?}");
    let scores: Vec<f64> =
        context["relevance_scores"].as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
    assert_eq!((scores.len(), scores[0]), (results.len(), 1.0), "{scores:?}");
    assert!(scores.windows(2).all(|pair| pair[0] >= pair[1] && pair[1] > 0.0), "{scores:?}");

    for arguments in
        [&["--search", "token nonce"][..], &["--semantic-query", "token nonce"], &["--semantic-search", "token nonce"]]
    {
        let json = repo.json([&["assess-state"], arguments].concat());
        assert_eq!(json["semantic_context"]["query"], "token nonce");
        assert_eq!(json["semantic_context"]["results"][0]["text"], "The token cache is keyed by nonce", "{json}");
        assert_eq!(json["semantic_context"]["results"][0]["commit"], repo.head());
        let shown = repo.json(["checkpoint", "show", &id(&json, "checkpoint_id")]);
        assert_eq!(shown["semantic_context"], json["semantic_context"], "it is stored");
    }
    let text = repo.run(["checkpoint", "show"]).ok().out;
    assert!(text.contains("Searched:  token nonce\n") && text.contains("The token cache is keyed"), "{text}");
    assert_eq!(repo.json(["checkpoint", "--search", "zebra"])["semantic_context"]["results"], serde_json::json!([]));
    let before = repo.json(["checkpoint", "list"])["total_found"].clone();
    repo.fails(2, ["checkpoint", "--search", "\""]);
    repo.fails(2, ["checkpoint", "--search", "a", "--semantic-query", "b"]);
    assert_eq!(repo.json(["checkpoint", "list"])["total_found"], before, "what fails stores nothing");
}

#[test]
fn similar_records_in_a_checkpoint_count_within_its_bounds() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", &"flaky login ".repeat(200));
    for n in 0..12 {
        repo.json(["finding", &format!("{n} {}", "flaky login 令牌 ".repeat(300))]);
    }
    let query = "flaky \"".to_owned() + "login flaky ".repeat(300).trim_end() + "\"";
    for query in ["", &query] {
        let json = repo.json(["checkpoint", "--search", query]);
        assert_eq!(json["semantic_context"]["results"].as_array().map(Vec::len), Some(5), "{json}");
        let shown = repo.git_out(["notes", "--ref", "refs/notes/empirica/data/checkpoints", "show", "HEAD"]);
        assert!(shown.lines().all(|line| line.len() <= 16 * 1024), "{}", shown.len());
    }
}
