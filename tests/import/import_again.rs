//! Importing rewritten notes again adds new records once: in one clone, and in clones that import at
//! different times.

use serde_json::{Value, json};

use crate::import::import_shapes::{made, put, put_text};
use crate::support::harness::{Repo, Sandbox};
use crate::sync::team::{clones, hub, lines, sync, trees};

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

fn finding(text: &str) -> Value {
    json!({"finding": text, "session_id": SESSION, "ai_id": "ada", "created_at": "2026-01-05T10:00:00+00:00"})
}

fn with(mut value: Value, more: Value) -> Value {
    let (Value::Object(map), Value::Object(more)) = (&mut value, more) else { panic!("objects") };
    map.extend(more);
    value
}

fn kinds(repo: &Repo<'_>, name: &str) -> Vec<String> {
    let mut kinds: Vec<String> =
        made(repo, name).iter().map(|record| record["kind"].as_str().expect("a kind").to_owned()).collect();
    kinds.sort();
    kinds
}

fn goal(more: Value) -> Value {
    let data = with(json!({"objective": "Rate limiter", "success_criteria": ["done"]}), more);
    json!({"session_id": SESSION, "ai_id": "ada", "created_at": "2026-01-05T09:00:00+00:00", "goal_data": data})
}

#[test]
fn notes_rewritten_in_place_are_imported_completely() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    put(&repo, "findings/f", &finding("Tokens expire"));
    put(&repo, "goals/g", &goal(json!({})));
    repo.json(["import"]);
    let newer = with(
        finding("Tokens expire"),
        json!({"is_resolved": true, "resolution": "longer now",
        "resolved_at": "2026-01-06T10:00:00+00:00", "superseded_by": "MARK1"}),
    );
    put(&repo, "findings/f", &newer);
    put(&repo, "goals/g", &with(goal(json!({})), json!({"lineage": [{"ai_id": "MARK2", "action": "resumed"}]})));
    let answer = repo.json(["import"]);
    let all = lines(&repo).join("\n");
    assert!(all.contains("MARK1") && all.contains("MARK2"), "{answer}");
    assert_eq!(kinds(&repo, "findings/f"), ["activity", "finding", "finding"]);
    assert_eq!(kinds(&repo, "goals/g"), ["activity", "goal"]);
    assert_eq!(repo.json(["import"])["new"], 0);
}

#[test]
fn a_step_without_a_time_is_one_step_open_and_done() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let step = |id: &str, done: Value| json!({"subtask_id": id, "goal_id": "g", "description": format!("step {id}"), "completed_timestamp": done});
    put(&repo, "goals/g", &goal(json!({})));
    put(&repo, "tasks/g", &step("s1", Value::Null));
    repo.json(["import"]);
    let second = repo.commit("b", "b\n", "Second");
    put_text(&repo, "tasks/g", &second, &step("s2", Value::Null).to_string());
    repo.json(["import"]);
    let third = repo.commit("c", "c\n", "Third");
    put_text(&repo, "tasks/g", &third, &step("s1", json!(1767700000)).to_string());
    repo.json(["import"]);
    let mut texts: Vec<String> = made(&repo, "tasks/g")
        .iter()
        .filter(|record| record["kind"] == "subtask")
        .map(|record| record["text"].as_str().expect("a text").to_owned())
        .collect();
    texts.sort();
    assert_eq!(texts, ["step s1", "step s2"]);
    let goals = repo.run(["goal", "list"]).ok().out;
    assert!(goals.contains("1/2"), "{goals}");
    assert_eq!(repo.json(["import"])["new"], 0);
}

#[test]
fn clones_importing_at_different_times_have_no_duplicates() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let commits: Vec<String> =
        ["HEAD~2", "HEAD~1", "HEAD"].iter().map(|name| repos[0].git_out(["rev-parse", name])).collect();
    let resolved = json!({"is_resolved": true, "resolution": "r", "resolved_at": "2026-01-06T10:00:00+00:00"});
    let states = [
        finding("moving finding"),
        with(finding("moving finding"), resolved.clone()),
        with(with(finding("moving finding"), resolved), json!({"impact": 0.9})),
    ];
    let session = format!("session/{SESSION}/PREFLIGHT/1");
    let checkpoint = json!({"session_id": SESSION, "phase": "PREFLIGHT", "round": 1,
        "timestamp": "2026-01-05T09:30:00+00:00", "vectors": {"know": 0.5}});
    let handoff = json!({"s": &SESSION[..8], "ai": "ada", "ts": "2026-01-07T10:00:00", "task": "It", "findings": []});
    let write = |repo: &Repo<'_>, from: usize, to: usize| {
        for at in from..to {
            put_text(repo, "findings/f", &commits[at], &states[at].to_string());
        }
        if from == 0 {
            put_text(repo, &session, &commits[0], &checkpoint.to_string());
        }
        if to == 3 {
            put_text(repo, &format!("handoff/{SESSION}"), &commits[2], &handoff.to_string());
        }
    };
    // the first imports at each stage, the second all at once
    for at in 0..3 {
        write(&repos[0], at, at + 1);
        repos[0].json(["import"]);
    }
    write(&repos[1], 0, 3);
    repos[1].json(["import"]);
    for at in [0, 1, 0, 1] {
        sync(&repos[at]);
    }
    assert_eq!(trees(&repos[0]), trees(&repos[1]));
    for repo in &repos {
        let shown = repo.json(["session", "show", SESSION]);
        assert_eq!(shown["findings"].as_array().expect("a list").len(), 2, "{shown}");
        assert_eq!(shown["ai_id"], "ada");
        assert_eq!(repo.json(["session", "list", "--ai", "ada"])["total_sessions"], 1);
        assert_eq!(repo.json(["import"])["new"], 0);
    }
}

#[test]
fn of_entries_with_one_time_the_deciding_one_counts() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let payload_of = |status: &str| json!({"assumption": "clock is UTC", "status": status, "session_id": SESSION, "created_at": "2026-01-05T10:00:00+00:00"});
    put(&repo, "assumptions/a", &payload_of("unverified"));
    repo.json(["import"]);
    for at in ["b", "c", "d"] {
        let commit = repo.commit(at, at, at);
        put_text(&repo, "assumptions/a", &commit, &payload_of("verified").to_string());
        repo.json(["import"]);
    }
    let kinds = kinds(&repo, "assumptions/a");
    for (kind, count) in [("unknown", 1), ("resolve", 1), ("finding", 1)] {
        assert_eq!(kinds.iter().filter(|known| *known == kind).count(), count, "{kinds:?}");
    }
    assert_eq!(repo.json(["import"])["new"], 0);
}

#[test]
fn redacted_text_does_not_return_with_rewritten_notes() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let unknown = json!({"unknown": "SECRETU question", "session_id": SESSION, "ai_id": "ada", "created_at": "2026-01-05T10:00:00+00:00"});
    put(&repo, "unknowns/u", &unknown);
    put(&repo, "goals/g", &goal(json!({})));
    let step =
        json!({"subtask_id": "s1", "goal_id": "g", "description": "SECRETTASK step", "completed_timestamp": null});
    put(&repo, "tasks/g", &step);
    repo.json(["import"]);
    for name in ["unknowns/u", "tasks/g"] {
        let id = made(&repo, name)[0]["id"].as_str().expect("an id").to_owned();
        repo.json(["redact", &id]);
    }
    let second = repo.commit("b", "b\n", "Second");
    put_text(&repo, "unknowns/u", &second, &unknown.to_string());
    put_text(&repo, "tasks/g", &second, &with(step, json!({"subtask_id": "s2", "description": "another"})).to_string());
    repo.json(["import"]);
    let all = lines(&repo).join("\n");
    assert!(!all.contains("SECRETU") && !all.contains("SECRETTASK"), "{all}");
}

#[test]
fn an_import_does_not_end_the_current_session() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let session = repo.start("ada", "ours");
    put(&repo, "findings/f", &with(finding("theirs"), json!({"session_id": session})));
    repo.json(["import"]);
    assert_eq!(repo.json(["session", "list", "--active"])["total_sessions"], 1);
    assert!(lines(&repo).join("\n").contains("theirs"));
}

#[test]
fn a_bad_entry_drops_no_good_one_and_every_change_is_reported() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    put(&repo, "findings/mixed", &json!({"session_id": SESSION, "created_at": "2026-01-04T10:00:00+00:00"}));
    let second = repo.commit("b", "b\n", "Second");
    put_text(&repo, "findings/mixed", &second, &finding("the good one").to_string());
    let odd = r#"{"finding": "odd numbers", "n": 123456789012345678901234567890, "n": 2, "created_at": "9999-12-31T00:00:00"}"#;
    put_text(&repo, "findings/odd", "HEAD", odd);
    let answer = repo.json(["import"]);
    assert_eq!(answer["not_understood"].as_array().expect("a list").len(), 1, "{answer}");
    assert_eq!(made(&repo, "findings/mixed")[0]["text"], "the good one");
    let record = made(&repo, "findings/odd").remove(0);
    assert_eq!(record["foreign"]["original"], odd, "as it was, to the byte");
    assert!(record["at"].as_str().expect("a time") < "2027", "{record}");
}
