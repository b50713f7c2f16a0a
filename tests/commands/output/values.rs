//! Invalid values are reported when they are entered, with a remedy.

use serde_json::{Value, json};

use crate::mcp::server::Client;
use crate::support::harness::Sandbox;

#[test]
fn a_resolved_unknown_names_its_resolver_and_needs_again_to_change() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Find out");
    let id = repo.json(["unknown", "Which clock?"])["id"].as_str().expect("an id").to_owned();
    repo.json(["resolve", &id, "the system's"]);
    repo.start("bob", "Find out more");
    let answers = || repo.run(["export", "--jsonl"]).ok().out.matches("\"kind\":\"resolve\"").count();
    let ran = repo.run(["resolve", &id, "the caller's", "--ai", "bob"]).code(1);
    let unknown = &id[28..];
    let expected = format!(
        "error: cannot resolve unknown {unknown}: ada resolved it on 2026-03-01 12:00 UTC\nreason: its answer is: the system's\n\
         hint: Add another answer with --again.\nhint:   git empirica resolve {unknown} 'the caller'\\''s' --again\n"
    );
    assert_eq!((ran.err, answers()), (expected, 1));
    let json = repo.run(["resolve", &id, "a", "--ai", "bob", "--json"]).code(1).json();
    assert_eq!(json["recovery_commands"], json!([format!("git empirica resolve {unknown} a --again")]), "{json}");
    repo.json(["resolve", &id, "the caller's", "--again", "--ai", "bob"]);
    assert_eq!(answers(), 2);
    assert!(repo.run(["resolve", &id, "c", "--ai", "bob"]).code(1).err.contains("bob resolved it"));
    let mut client = Client::new(&repo, &[]);
    let call = json!({"unknown_id": id, "answer": "again"});
    assert!(client.fails("resolve_unknown", call)["error"].as_str().expect("a text").contains("bob resolved it"));
    client.ok("resolve_unknown", json!({"unknown_id": id, "answer": "again", "again": true}));
    drop(client);
    assert_eq!(answers(), 3);
}

#[test]
fn a_missing_path_is_reported_and_stored() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Write it down");
    repo.write("docs/api.md", "x\n");
    let run_json = |arguments: &[&str]| -> Vec<String> {
        let json = repo.json(arguments);
        let warnings = json["warnings"].as_array().cloned().unwrap_or_default();
        warnings.iter().map(|text| text.as_str().expect("a text").to_owned()).collect()
    };
    let missing = |what: &str| vec![format!("{what}: no such file in the work tree or in HEAD")];
    assert_eq!(run_json(&["source", "./nofile"]), missing("source ./nofile"));
    assert_eq!(run_json(&["source", "docs/nofile.md:12"]), missing("source docs/nofile.md"));
    assert_eq!(run_json(&["source", "no/such/file.md"]), missing("source no/such/file.md"));
    assert_eq!(run_json(&["source", "nofile.md"]), missing("source nofile.md"));
    assert_eq!(run_json(&["evidence", "make", "--exit", "0", "--file", "nofile"]), missing("file nofile"));
    assert_eq!(run_json(&["handoff", "--artifact", "nofile", "--artifact", "README.md"]), missing("artifact nofile"));
    for source in [
        "docs/api.md:3",
        "https://example.org/nofile",
        "the manual",
        "tokio/net",
        "docs.rs/tokio/index.html",
        "RFC 9110",
    ] {
        assert_eq!(run_json(&["source", source]), Vec::<String>::new(), "{source}");
    }
    // one that was deleted and is committed is known
    std::fs::remove_file(repo.path.join("README.md")).expect("a file");
    assert_eq!(run_json(&["handoff", "--artifact", "docs", "--artifact", "README.md"]), Vec::<String>::new());
    let handoff = repo.json(["show"]);
    for (list, path) in [("artifacts_created", "nofile"), ("investigation_tools", "./nofile")] {
        let list = handoff[list].as_array().expect("a list");
        assert!(list.contains(&json!(path)), "{handoff}");
    }
}

#[test]
fn a_handoff_whose_checks_fail_is_not_ok() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Write it down");
    let json = repo.run(["handoff", "--validate", "--artifact", "nofile", "--json"]).code(3).json();
    assert_eq!(
        (&json["ok"], &json["stored"], &json["validation"]["passed"]),
        (&json!(false), &json!(false), &json!(false))
    );
    assert_eq!(json["error"], "cannot store the handoff: the check files_exist has an error");
    assert_eq!(json["reason"], "neither in the commit nor in the work tree: nofile");
    assert_eq!(json["recovery_commands"], json!(["git empirica handoff --validate --dry-run"]));
    let ran = repo.run(["handoff", "--validate", "--artifact", "nofile"]).code(3);
    assert!(ran.err.contains("git empirica handoff --validate --dry-run"), "{}", ran.err);
    assert_eq!(repo.json(["handoff", "list"])["total_found"], 0);
}

#[test]
fn an_invalid_value_comes_with_a_command_or_call_that_works() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Write it down");
    for arguments in [
        &["preflight", "-v", "know=2"][..],
        &["preflight", "-v", "foo=.5"],
        &["finding", "x", "--impact", "7"],
        &["activity", "wild", "x"],
        &["resume", "--last", "9"],
        &["resume", "--detail", "wild"],
        &["query", "--since", "wild"],
        &["query", "--task", "("],
        &["checkpoint", "--trigger", "wild"],
        &["handoff", "--type", "wild"],
    ] {
        let json = repo.run([arguments, &["--json"]].concat()).code(2).json();
        let commands = json["recovery_commands"].as_array().expect("a list");
        assert!(!commands.is_empty(), "{arguments:?}: {json}");
    }
    let mut client = Client::new(&repo, &[]);
    for (tool, given, again) in [
        ("submit_preflight_assessment", json!({"vectors": {"know": 2}}), "vectors={'know': 0.7, 'uncertainty': 0.3}"),
        ("log_finding", json!({"finding": "x", "impact": 7}), "finding='<finding>'"),
        ("log_finding", json!({"finding": "x", "as": "wild"}), "finding='<finding>'"),
        ("log_evidence", json!({"command": "make", "exit_code": "x"}), "command='<command>', exit_code=0"),
        ("resume_previous_session", json!({"detail_level": "wild"}), ""),
        ("create_git_checkpoint", json!({"vectors": {"know": "x"}}), ""),
        ("query_handoff_reports", json!({"since": "wild"}), ""),
    ] {
        let output = client.fails(tool, given);
        let call = Value::from(vec![format!("{tool}({again})")]);
        assert_eq!(output["recovery_commands"], call, "{output}");
    }
}
