//! Forged managed handoffs, texts that look like arguments, and flags that could be ignored.

use serde_json::{Value, json};

use crate::commands::handoff::managed::{count, escalate, hand_over, payload};
use crate::support::harness::{Repo, Sandbox};

/// Puts a changed copy of the only stored handoff beside it, as somebody else's, and gives its id.
fn forged(repo: &Repo<'_>, number: u64, change: impl Fn(&mut Value)) -> String {
    let reference = "empirica/data/handoffs";
    let note = repo.note(reference, &repo.head());
    let mut record: Value = serde_json::from_str(note.lines().next().expect("a record")).expect("JSON");
    let id = format!("019ab000-0000-7000-8000-{number:012}");
    record["id"] = json!(id);
    change(&mut record);
    repo.set_note(reference, &repo.head(), format!("{note}\n{record}\n").as_bytes());
    id
}

#[test]
fn records_with_odd_keys_and_numbers_are_shown_safely() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("worker", "The login");
    hand_over(&repo, "progress", "t", &["worker_report.status=PARTIAL"]);
    let odd = forged(&repo, 1, |record| {
        record["iteration"] = json!(u64::MAX);
        record["payload"] =
            json!({"k\n\n# FORGED\n<script>": "x", "o": {"b**\n## FORGED\n": "y", "a\u{1b}[31m": ["l"]}});
    });
    forged(&repo, 2, |record| {
        record["iteration"] = json!(0);
        record["payload"]["worker_report"]["files_modified"] = json!([{"path": " "}, {"path": "a.js"}]);
    });
    let typed = forged(&repo, 3, |record| {
        (record["task_id"], record["iteration"], record["payload"], record["to"]) =
            (json!(7), json!(-1), json!([1]), json!({}));
    });
    for arguments in [&["show", odd.as_str()][..], &["show", "HEAD"], &["resume"], &["log"]] {
        let text = repo.run(arguments).ok().out;
        assert!(
            !text.contains('\u{1b}')
                && !text.lines().any(|line| line.trim_start().starts_with("# FORGED")
                    || line.starts_with("## FORGED")
                    || line.starts_with("<script>")),
            "{text}"
        );
    }
    // a value of another kind hides nothing else
    let shown = repo.json(["show", &typed]);
    assert_eq!(
        (&shown["task"], &shown["task_id"], &shown["payload"]),
        (&json!("The login"), &json!(null), &json!(null))
    );
    assert_eq!(count(&repo), 4);
    // numbers nobody counted to do not count
    let next = hand_over(&repo, "progress", "t", &["worker_report.status=PARTIAL"]);
    assert_eq!(next["iteration"], 2);
    let escalation = escalate(&repo, "t", "D", &[]);
    let shown = payload(&repo, &escalation);
    assert_eq!(shown["current_state"]["files_modified"], json!(["a.js"]));
    repo.json(["accept", escalation["handoff_id"].as_str().unwrap(), "--resolution", "R"]);
    let again = repo.run_with_input(["handoff", "--from", "-", "--json"], shown.to_string().as_bytes());
    assert_eq!(payload(&repo, &again.ok().json()), shown);
}

#[test]
fn the_suggested_escalation_runs_with_any_text_and_other_agents() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("other", "Something else");
    repo.start("worker", "The login");
    for (task, told) in [("-t1", "@nofile"), ("a b", "-"), ("t", "two\nlines 'quoted' $HOME")] {
        repo.write("text", told);
        let task_id = format!("--task-id={task}");
        let attempt = [
            "handoff",
            "--ai",
            "worker",
            "--type",
            "error_recovery",
            &task_id,
            "--set",
            "error_report.error_type=integration",
            "--set",
            "error_report.severity=low",
            "--set",
            "error_report.description=@text",
            "--set",
            "max_retries=1",
        ];
        repo.json(attempt);
        let refused = repo.fails(1, attempt);
        let command = refused["recovery_commands"][0].as_str().unwrap();
        let shell =
            place.command("sh", &repo.path).args(["-c", &format!("{command} --json")]).output().expect("sh starts");
        let stored: Value = serde_json::from_slice(&shell.stdout).expect("one document");
        assert_eq!(stored["ok"], true, "{command}: {stored}");
        let shown = payload(&repo, &stored);
        let description = if told == "-" { "(-)" } else { told };
        assert_eq!(
            (&shown["escalation_details"]["description"], &shown["task_id"]),
            (&json!(description), &json!(task))
        );
    }
}

#[test]
fn no_input_is_dropped_silently() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("worker", "The login");
    for more in [
        &["-m", "x"][..],
        &["--finding", "x"],
        &["--context", "x"],
        &["--next", "x"],
        &["--ai", "x"],
        &["--set", "a=b"],
    ] {
        repo.fails(2, [&["handoff", "--type", "progress", "--example"], more].concat());
    }
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let failed =
        repo.fails(2, ["handoff", "--type", "initialization", "--task-id", &secret, "--set", "instructions=I"]);
    assert_eq!(failed["error"], "cannot use the task id: it looks like a secret");
    for document in ["null", "[]", "3"] {
        let arguments = [
            "handoff",
            "--type",
            "initialization",
            "--from",
            "-",
            "--task-id",
            "t",
            "--set",
            "instructions=I",
            "--json",
        ];
        let ran = repo.run_with_input(arguments, document.as_bytes()).code(2);
        assert_eq!(ran.json()["error"], "cannot read the handoff document: it is not a JSON object");
    }
    assert_eq!(count(&repo), 0);
    // what a managed handoff lacks is a matter of its format
    let stored = hand_over(&repo, "initialization", "t", &["instructions=I"]);
    assert_eq!(stored["missing"], json!([]));
}
