//! `import` from the Python tool: the formats of its older versions, one by one, and unknown ones.

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

pub fn put(repo: &Repo<'_>, name: &str, payload: &Value) {
    put_text(repo, name, "HEAD", &payload.to_string());
}

pub fn put_text(repo: &Repo<'_>, name: &str, commit: &str, text: &str) {
    repo.set_note(&format!("refs/notes/empirica/{name}"), commit, text.as_bytes());
}

/// The records of a kind that were made of a ref; the whole of it is in the first.
pub fn made(repo: &Repo<'_>, name: &str) -> Vec<Value> {
    let namespaces = ["journal", "checkpoints", "handoffs"];
    let lines = namespaces.iter().flat_map(|namespace| repo.lines(namespace));
    let all = lines.map(|line| serde_json::from_str::<Value>(&line).expect("a record"));
    let mut out: Vec<Value> =
        all.filter(|record| record["foreign"]["ref"] == format!("refs/notes/empirica/{name}").as_str()).collect();
    out.sort_by_key(|record| record["id"].to_string());
    out
}

#[track_caller]
fn only(repo: &Repo<'_>, name: &str) -> Value {
    let made = made(repo, name);
    assert_eq!(made.len(), 1, "{name}: {made:?}");
    made[0].clone()
}

fn reasons(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let list = answer["not_understood"].as_array().expect("a list");
    // the note's path follows the ref
    let reason = |one: &Value| text(&one["reason"]).split(" (the note of ").next().unwrap_or_default().to_owned();
    list.iter().map(|one| (text(&one["ref"]).replace("refs/notes/", ""), reason(one))).collect()
}

fn checkpoint(vectors: Value) -> Value {
    json!({"session_id": SESSION, "phase": "CHECK", "round": 1, "timestamp": "2026-01-05T10:00:00+00:00",
        "vectors": vectors, "overall_confidence": 0.5, "meta": {}})
}

#[test]
fn vectors_of_every_age_are_kept() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let at = |round: &str| format!("session/{SESSION}/CHECK/{round}");
    put(&repo, &at("1"), &checkpoint(json!({"know": 0.6, "scope": 0.4, "foundation": 0.7, "do": 1.5})));
    put(&repo, &at("2"), &checkpoint(json!({"scope": 0.4, "comprehension": 0.6})));
    put(&repo, &at("3"), &checkpoint(json!({})));
    put(&repo, &at("4"), &checkpoint(checkpoint(json!({"know": 0.3, "uncertainty": 0.8}))));
    put(&repo, &at("12"), &checkpoint(json!({"know": {"score": 0.2, "rationale": "r"}})));
    let mut none = checkpoint(json!({"know": 0.1}));
    none["round"] = Value::Null;
    put(&repo, &at("None"), &none);
    let answer = repo.json(["import"]);
    assert_eq!(answer["read"], 6, "{answer}");
    let odd = only(&repo, &at("1"));
    assert_eq!((&odd["kind"], &odd["vectors"]), (&"assessment".into(), &json!({"know": 0.6})));
    assert_eq!(odd["meta"]["foreign_vectors"], "scope=0.4 foundation=0.7 do=1.5");
    assert_eq!(odd["tags"], json!(["odd-vectors"]));
    let other = only(&repo, &at("2"));
    assert_eq!((&other["kind"], &other["phase"]), (&"checkpoint".into(), &"CHECK".into()));
    assert_eq!(other["metadata"]["foreign_vectors"], "scope=0.4 comprehension=0.6");
    assert_eq!(only(&repo, &at("3"))["kind"], "checkpoint");
    let nested = only(&repo, &at("4"));
    assert_eq!(nested["vectors"], json!({"know": 0.3, "uncertainty": 0.8}));
    assert_eq!(nested["tags"], json!(["nested-vectors"]));
    assert_eq!(
        (&only(&repo, &at("12"))["round"], &only(&repo, &at("12"))["vectors"]),
        (&12.into(), &json!({"know": 0.2}))
    );
    let none = only(&repo, &at("None"));
    assert_eq!((&none["round"], &none["meta"]["foreign_round"]), (&1.into(), &"None".into()));
}

#[test]
fn sessions_of_any_name_and_phases_of_any_age() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let mut bare = checkpoint(json!({"know": 0.5}));
    bare["session_id"] = "0badcafe".into();
    bare.as_object_mut().expect("an object").remove("phase");
    put(&repo, "session/0badcafe", &bare);
    for (phase, round) in [("PRE_MEMORY_COMPACT", "1"), ("THINK", "None"), ("SESSION_CONTINUATION", "1"), ("ACT", "1")]
    {
        put(&repo, &format!("session/test-cli-create/{phase}/{round}"), &checkpoint(json!({"know": 0.5})));
    }
    put(&repo, "session/test-cli-create/noema/PREFLIGHT/1", &checkpoint(json!({"know": 0.5})));
    let mut single = checkpoint(json!({"know": 0.5}));
    single["ai_id"] = "old".into();
    single["metadata"] = json!({"reasoning": "because"});
    put(&repo, "checkpoints", &single);
    let answer = repo.json(["import"]);
    assert_eq!((&answer["read"], &answer["sessions"]), (&7.into(), &3.into()), "{answer}");
    assert_eq!(only(&repo, "session/0badcafe")["phase"], Value::Null);
    let compact = only(&repo, "session/test-cli-create/PRE_MEMORY_COMPACT/1");
    assert_eq!((&compact["trigger"], &compact["tags"]), (&"pre_compact".into(), &json!(["phase:PRE_MEMORY_COMPACT"])));
    assert_eq!(only(&repo, "session/test-cli-create/THINK/None")["tags"], json!(["phase:THINK"]));
    assert_eq!(only(&repo, "session/test-cli-create/ACT/1")["phase"], "ACT");
    assert_eq!(only(&repo, "session/test-cli-create/noema/PREFLIGHT/1")["kind"], "assessment");
    let single = only(&repo, "checkpoints");
    assert_eq!(
        (&single["kind"], &single["ai"], &single["reasoning"]),
        (&"assessment".into(), &"old".into(), &"because".into())
    );
    let sessions = repo.json(["session", "list"])["sessions"].as_array().expect("a list").clone();
    let external = |name: &str| sessions.iter().any(|session| session["external_id"] == name);
    assert!(external("0badcafe") && external("test-cli-create"), "{sessions:?}");
    assert_eq!(repo.json(["import"])["new"], 0);
}

#[test]
fn entries_are_ordered_by_their_own_time() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let commits: Vec<String> = (0..4).map(|n| repo.commit("f", &format!("{n}\n"), "Change")).collect();
    // the newest report is on each commit once: none of them is first by its id alone
    let words = ["good", "moderate", "poor", "overconfident"];
    for (n, commit) in commits.iter().enumerate() {
        let report = json!({"s": "11111111", "ai": "ada", "ts": format!("2026-01-0{}T10:00:00.5", 9 - n), "dur": 60.0,
            "task": format!("report {n}"), "deltas": {}, "findings": [], "next": "go on", "cal": words[n]});
        put_text(&repo, &format!("handoff/{SESSION}"), commit, &report.to_string());
    }
    let answer = repo.json(["import"]);
    assert_eq!(answer["from"], json!([{"kind": "handoff", "count": 4}]));
    let all = made(&repo, &format!("handoff/{SESSION}"));
    let texts: Vec<&Value> = all.iter().map(|handoff| &handoff["task"]).collect();
    assert_eq!(texts, ["report 3", "report 2", "report 1", "report 0"], "all are kept");
    let calibrations: Vec<&Value> = all.iter().map(|handoff| &handoff["calibration_status"]).collect();
    assert_eq!(calibrations, ["overconfident", "not_assessable", "not_assessable", "well_calibrated"]);
    assert_eq!(all[0]["started_at"], "2026-01-06T09:59:00.500Z");
    let counts = repo.json(["query"]);
    assert_eq!(
        (&counts["total_found"], &counts["reports"][0]["task"]),
        (&1.into(), &"report 0".into()),
        "the newest counts"
    );
}

#[test]
fn rewritten_artifacts_become_one_record_without_loss() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let first = repo.head();
    let second = repo.commit("f", "1\n", "Change");
    let goal = |status: Value, at: &str| {
        json!({"goal_id": "g", "session_id": SESSION, "ai_id": "ada", "created_at": at,
            "goal_data": {"objective": "Ship it", "success_criteria": [{"description": "it runs"}, "green"], "archived": status}})
    };
    put_text(&repo, "goals/g", &first, &goal(0.into(), "2026-01-01T10:00:00+00:00").to_string());
    put_text(&repo, "goals/g", &second, &goal(1.into(), "2026-01-02T10:00:00+00:00").to_string());
    let task = json!({"subtask_id": "t", "goal_id": "g", "description": "Step", "completed_timestamp": 1767348000.5, "completion_evidence": "seen"});
    put(&repo, "tasks/g", &task);
    put(&repo, "tasks/gone", &task);
    let finding =
        |at: &str| json!({"finding": "Same", "session_id": SESSION, "ai_id": "ada", "created_at": at, "impact": 7});
    put_text(&repo, "findings/f", &first, &finding("2026-01-01T10:00:00+00:00").to_string());
    put_text(&repo, "findings/f", &second, &finding("2026-01-02T10:00:00+00:00").to_string());
    let assumed = |status| json!({"assumption": "It is UTC", "session_id": SESSION, "ai_id": "", "created_at": "2026-01-01T10:00:00+00:00", "status": status});
    put(&repo, "assumptions/a", &assumed("verified"));
    put(&repo, "assumptions/b", &assumed("falsified"));
    repo.json(["import"]);
    let kinds = |name: &str| -> Vec<String> {
        made(&repo, name).iter().map(|record| record["kind"].as_str().expect("a kind").to_owned()).collect()
    };
    assert_eq!(kinds("goals/g"), ["goal", "goal_drop"]);
    assert_eq!(made(&repo, "goals/g")[0]["criteria"], json!(["it runs", "green"]));
    assert_eq!(kinds("tasks/g"), ["subtask", "goal_done"]);
    assert_eq!(kinds("tasks/gone"), ["activity"]);
    let shown = repo.json(["goal", "list"]);
    assert_eq!(shown["goals"][0]["subtasks"][0]["status"], "done", "{shown}");
    assert_eq!(shown["goals"][0]["status"], "dropped");
    assert_eq!(kinds("findings/f"), ["finding", "activity"], "it is one finding");
    let findings = made(&repo, "findings/f");
    assert!(findings.iter().all(|record| record["foreign"]["original"]["finding"] == "Same"), "both are kept whole");
    assert!(findings[0]["impact"].is_null(), "7 is no impact");
    let mut verified = kinds("assumptions/a");
    verified.sort();
    assert_eq!(verified, ["finding", "resolve", "unknown"]);
    assert_eq!(kinds("assumptions/b"), ["unknown", "resolve"]);
    assert_eq!(made(&repo, "assumptions/b")[0]["ai"], "ada", "who worked in the session");
}

#[test]
fn cascades_messages_signatures_and_deletions() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let blocks = "PREFLIGHT: {\"timestamp\": \"2026-01-05T10:00:00+00:00\", \"vectors\": {\"know\": 0.4}}\n\n\
        INVESTIGATE: {\"content\": \"Looked at logs\"}\n\nnot a block\n";
    put_text(&repo, "cascades/cascade-test_edge_cases-1764360726/tx", "HEAD", blocks);
    put_text(&repo, "cascades/plain/tx", "HEAD", "just words\n");
    put(
        &repo,
        "messages/a/m",
        &json!({"from": {"ai_id": "ada"}, "to": {"ai_id": "bob"}, "timestamp": "2026-01-05T10:00:00+00:00", "subject": "hi", "body": "there"}),
    );
    put(
        &repo,
        &format!("signatures/{SESSION}/ACT/1"),
        &json!({"signature": "ab", "ai_id": "ada", "signed_at": "2026-01-05T10:00:00+00:00"}),
    );
    let deleted =
        json!({"finding": "Gone", "session_id": SESSION, "ai_id": "ada", "created_at": "2026-01-05T10:00:00+00:00"});
    repo.set_note("refs/notes/empirica-archive/findings/x", "HEAD", deleted.to_string().as_bytes());
    let answer = repo.json(["import"]);
    assert_eq!(answer["read"], 5, "{answer}");
    let cascade = made(&repo, "cascades/cascade-test_edge_cases-1764360726/tx");
    let mut kinds: Vec<&str> = cascade.iter().map(|record| record["kind"].as_str().expect("a kind")).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["activity", "assessment"]);
    let whole: Vec<&Value> = cascade.iter().filter_map(|record| record["foreign"].get("original")).collect();
    assert_eq!(whole, [blocks.trim_end()], "all of the text, once");
    assert_eq!(only(&repo, "cascades/plain/tx")["text"], "just words");
    assert_eq!(only(&repo, "messages/a/m")["text"], "Message to bob: hi \u{2014} there");
    assert!(only(&repo, "messages/a/m")["session"].is_null());
    assert_eq!(only(&repo, &format!("signatures/{SESSION}/ACT/1"))["kind"], "activity");
    assert!(repo.lines("journal").iter().any(|line| line.contains("Deleted from findings: Gone")));
    assert!(!repo.json(["bootstrap"]).to_string().contains("Gone"), "what was deleted is no finding");
}

#[test]
fn unknown_notes_are_listed_and_left() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.json(["session", "start", "--ai", "ours"]);
    repo.json(["finding", "One of ours"]);
    repo.hand_over("ours");
    put_text(&repo, "findings/no-json", "HEAD", "oops\n");
    put_text(&repo, "findings/list", "HEAD", "[1]\n");
    repo.set_note("refs/notes/empirica/findings/latin", "HEAD", b"{\"finding\": \"\xe9\"}\n");
    put(&repo, "unknowns/empty", &json!({"session_id": SESSION}));
    put(&repo, "test7", &json!({"finding": "x"}));
    let tree = repo.git_out(["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let empty = repo.git_out(["commit-tree", "-m", "e", &tree]);
    repo.git(["update-ref", "refs/notes/empirica/test-conflict-check", &empty]).ok();
    repo.set_note("refs/notes/breadcrumbs", "HEAD", b"x\n");
    let before = repo.git_out(["for-each-ref", "refs/notes/empirica/findings", "refs/notes/breadcrumbs"]);
    let answer = repo.json(["import"]);
    let reasons = reasons(&answer);
    let texts: Vec<(&str, &str)> = reasons.iter().map(|(name, reason)| (name.as_str(), reason.as_str())).collect();
    let called = "the Python tool has no ref of this name";
    assert_eq!(
        texts,
        [
            ("breadcrumbs", "it holds only data of the Python tool's hooks"),
            ("empirica/findings/latin", "it is not UTF-8"),
            ("empirica/findings/list", "it is not a JSON object"),
            ("empirica/findings/no-json", "it is not valid JSON"),
            ("empirica/test-conflict-check", "its tree holds no note"),
            ("empirica/test7", called),
            ("empirica/unknowns/empty", "it lacks \"unknown\""),
        ]
    );
    assert_eq!(
        (&answer["refs"], &answer["read"], &answer["new"]),
        (&6.into(), &0.into(), &0.into()),
        "ours are not theirs"
    );
    assert_eq!(repo.git_out(["for-each-ref", "refs/notes/empirica/findings", "refs/notes/breadcrumbs"]), before);
    let text = repo.run(["import"]).ok();
    assert!(text.out.contains("Not converted, and left where it is:"), "{}", text.out);
}

#[test]
fn python_writes_nan_times_without_a_zone_and_none_at_all() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let text = format!("{{\"finding\": \"NaN is kept\", \"impact\": NaN, \"session_id\": \"{SESSION}\"}}");
    put_text(&repo, "findings/nan", "HEAD", &text);
    put(
        &repo,
        "dead_ends/d",
        &json!({"approach": "Poll", "why_failed": "slow", "created_at": "2026-01-05T10:00:00.25"}),
    );
    repo.json(["import"]);
    let nan = only(&repo, "findings/nan");
    assert_eq!((&nan["foreign"]["original"], &nan["foreign"]["time"]), (&text.as_str().into(), &"missing".into()));
    assert_eq!(
        (&nan["ai"], &nan["at"]),
        (&"(unknown)".into(), &"2026-03-01T11:00:00.000Z".into()),
        "as the ref's commit"
    );
    let naive = only(&repo, "dead_ends/d");
    assert_eq!((&naive["at"], &naive["foreign"]["time"]), (&"2026-01-05T10:00:00.250Z".into(), &"naive".into()));
}

#[test]
fn secrets_are_replaced_in_every_stored_text() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    put(
        &repo,
        "findings/s",
        &json!({"finding": format!("It is {token}"), "session_id": SESSION, "created_at": "2026-01-05T10:00:00+00:00"}),
    );
    let dry = repo.json(["import", "--dry-run"]);
    assert_eq!(dry["secrets_replaced"], 2, "in the text and in the original: {dry}");
    let answer = repo.json(["import"]);
    assert!(answer["warning"].as_str().is_some_and(|text| text.contains("foreign.original.finding")), "{answer}");
    assert!(repo.lines("journal").iter().all(|line| !line.contains(&token)));
    repo.git(["config", "empirica.redact", "false"]).ok();
    assert!(repo.json(["import"])["secrets_replaced"].is_null());
}

#[test]
fn an_empty_import_is_reported() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let ran = repo.run(["import"]).ok();
    assert_eq!(ran.out, "There are no notes of the Python tool here.\n");
    assert!(ran.err.contains("git fetch origin"), "{}", ran.err);
    assert_eq!(repo.git_out(["for-each-ref", "refs/notes/"]), "");
}
