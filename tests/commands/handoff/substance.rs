//! A handoff with less content never supersedes one with more, and an empty one is not stored.

use serde_json::{Value, json};

use crate::mcp::server::Client;
use crate::support::harness::{Repo, Sandbox};

fn hook(repo: &Repo<'_>, event: &str) {
    let payload = json!({"session_id": "c0ffee", "transcript_path": null, "cwd": repo.path, "hook_event_name": event,
        "source": "startup", "reason": "exit", "permission_mode": "default"});
    let ran = repo.run_with_input(["hook", "agent", "claude-code", event], payload.to_string().as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{event}");
}

#[test]
fn an_assessment_of_another_session_displaces_no_handoff() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let first = repo.start("ada", "Mend the cache");
    let handoff = repo.json(["handoff", "--finding", "it is stale", "--next", "mend it"])["handoff_id"].clone();
    repo.json(["session", "end"]);
    let second = repo.start("bob", "Look at the login");
    repo.json(["check", "-v", "know=.4,uncertainty=.9"]);
    for _ in ["while it is active", "when it has ended"] {
        let answer = repo.run(["resume"]).ok().unfenced();
        assert!(answer.starts_with(&format!("# Session {} by ada", &first[..8])), "{answer}");
        assert!(answer.contains("- mend it"), "{answer}");
        let line = format!(
            "Since then bob assessed itself: CHECK 1, know 0.40, uncertainty 0.90. All of it: git empirica session show {}",
            &second[..8]
        );
        assert!(answer.contains(&line), "{answer}");
        let json = repo.json(["resume"]);
        assert_eq!((&json["sessions"][0]["handoff_id"], &json["total_sessions"]), (&handoff, &json!(1)), "{json}");
        assert_eq!(json["assessed_since"]["session_id"], *second, "{json}");
        repo.run(["session", "end", "--session", &second]);
    }
    // where nothing else is known, it is what there is
    let answer = repo.run(["resume", "--ai", "bob"]).ok().out;
    assert!(answer.contains(&format!("# Session {} by bob", &second[..8])), "{answer}");
}

#[test]
fn a_handoff_that_a_hook_makes_displaces_none_that_says_something() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Mend the cache");
    let handoff = repo.json(["handoff", "--next", "mend it"])["handoff_id"].clone();
    repo.json(["session", "end"]);
    hook(&repo, "SessionStart");
    repo.json(["preflight", "--task", "Look at the login", "-v", "know=.9,uncertainty=.1"]);
    hook(&repo, "SessionEnd");
    let listed = repo.json(["handoff", "list"]);
    assert_eq!((&listed["total_found"], &listed["handoffs"][0]["task"]), (&json!(2), &json!("Look at the login")));
    assert_eq!(repo.json(["resume"])["sessions"][0]["handoff_id"], handoff);
    assert_eq!(repo.json(["show"])["handoff_id"], handoff);
    // one with content comes first, whatever made it
    hook(&repo, "SessionStart");
    repo.json(["finding", "the login is slow"]);
    hook(&repo, "SessionEnd");
    assert_eq!(repo.json(["resume"])["sessions"][0]["key_findings"], json!(["the login is slow"]));
    // and one that would say nothing is not made
    let before = repo.json(["handoff", "list"])["total_found"].clone();
    hook(&repo, "SessionStart");
    hook(&repo, "SessionEnd");
    assert_eq!(repo.json(["handoff", "list"])["total_found"], before);
}

#[test]
fn an_empty_handoff_of_the_same_session_supersedes_none_that_says_something() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Mend the cache");
    let handoff = repo.json(["handoff", "--next", "mend it"])["handoff_id"].clone();
    // as earlier versions stored them: one that says nothing, and that it took the place of the other
    let export = repo.run(["export", "--jsonl"]).ok().out;
    let line = export.lines().find(|line| line.contains("\"kind\":\"handoff\"")).expect("its line");
    let mut empty: Value = serde_json::from_str(line).expect("JSON");
    let later = |n: u8| json!(format!("{}-7000-8000-00000000000{n}", &handoff.as_str().expect("an id")[..13]));
    let record = empty["record"].as_object_mut().expect("an object");
    record.extend([("id".into(), later(1)), ("next_steps".into(), json!([])), ("task".into(), json!(""))]);
    let mut aside = record.clone();
    aside.retain(|key, _| ["v", "session", "ai", "at", "commit", "tree"].contains(&key.as_str()));
    let says = json!({"id": later(2), "kind": "supersede", "of": handoff, "by": later(1)});
    aside.extend(says.as_object().expect("an object").clone());
    let lines = format!("{empty}\n{}\n", json!({"commit": empty["commit"], "shelf": "handoffs", "record": aside}));
    repo.run_with_input(["import", "--jsonl", "-"], lines.as_bytes()).ok();
    assert_eq!(repo.json(["resume"])["sessions"][0]["handoff_id"], handoff);
    assert_eq!(repo.json(["handoff", "list"])["handoffs"].as_array().map(Vec::len), Some(1));
    assert_eq!(repo.handoffs_at(&repo.head()), [handoff.as_str().expect("an id")]);
    let page = repo.run(["report", "--html", "-"]).ok().out;
    assert!(page.contains(&handoff.as_str().expect("an id")[28..]) && !page.contains("00000001"), "the page");
}

#[test]
fn an_empty_handoff_is_refused_with_a_remedy() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.json(["session", "start", "--ai", "ada"]);
    let before = repo.json(["session", "list"])["sessions"][0]["session_id"].clone();
    repo.write("README.md", "changed\n");
    for more in [&["handoff"][..], &["handoff", "--dry-run"], &["handoff", "--type", "context", "--to", "bob"]] {
        let ran = repo.run(more).code(1);
        assert!(ran.err.contains("it has no content yet"), "{}", ran.err);
        let json = repo.run([more, &["--json"]].concat()).code(1).json();
        let error =
            format!("cannot hand over session {}: it has no content yet", &before.as_str().expect("an id")[..8]);
        assert_eq!((&json["ok"], &json["error"]), (&json!(false), &json!(error)), "{json}");
        assert_eq!(
            json["recovery_commands"],
            json!(["git empirica handoff -m \"<what was done>\" --next \"<what to do next>\""]),
            "{json}"
        );
    }
    let mut client = Client::new(&repo, &[]);
    let answer = client.call("generate_handoff_report", json!({}));
    assert_eq!((&answer["ok"], &answer["status"]), (&json!(false), &json!("error")), "{answer}");
    assert!(answer["error"].as_str().expect("a text").contains("has no content yet"), "{answer}");
    drop(client);
    assert_eq!(repo.json(["handoff", "list"])["total_found"], 0);
    // any of these is enough
    repo.json(["handoff", "-m", "Stopped before the login"]);
}

#[test]
fn assessments_alone_are_no_summary_but_their_reason_is() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.json(["session", "start", "--ai", "ada"]);
    repo.json(["preflight", "-v", "know=0.4"]);
    let json = repo.run(["handoff", "--json"]).code(1).json();
    let said = json["error"].as_str().expect("a text");
    assert!(said.ends_with(": nothing in it says what was done"), "{json}");
    let missing = "it has no task, finding, unknown, decision or commit, and no text was given for the handoff";
    assert_eq!(json["reason"], missing, "{json}");
    assert_eq!(
        json["recovery_commands"],
        json!(["git empirica handoff -m \"<what was done>\" --next \"<what to do next>\""]),
        "{json}"
    );
    let mut client = Client::new(&repo, &[]);
    let answer = client.call("generate_handoff_report", json!({}));
    assert_eq!(answer["reason"], missing, "{answer}");
    assert_eq!(
        answer["recovery_commands"],
        json!(["generate_handoff_report(task_summary='<what was done>', next_steps=['<what to do next>'])"]),
        "{answer}"
    );
    let answer = client.call("generate_handoff_report", json!({"task_summary": "Read the cache"}));
    assert_eq!(answer["ok"], true, "{answer}");
    drop(client);

    let other = place.repo("other");
    other.json(["session", "start", "--ai", "ada"]);
    let json = other.json(["postflight", "-v", "know=0.4"]);
    let next = "Hand over with: git empirica handoff -m \"<what was done>\" --next \"<what to do next>\"";
    assert_eq!((&json["next_step"], &json["handoff"]), (&json!(next), &json!(null)), "{json}");
    other.json(["preflight", "-v", "know=0.4", "--reasoning", "The cache is new to me"]);
    other.json(["handoff"]);
}
