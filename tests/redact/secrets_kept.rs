//! Stored secrets: allowed once, withheld from a remote, found by `doctor --secrets`.

use crate::support::harness::{Repo, Sandbox};
use crate::sync::team::{clones, hub, is_quiet, lines, statuses, sync, tips};

/// A token of an issuer's form, put together here.
fn token() -> String {
    format!("gh{}_{}", "p", "a8Kd03nfKq92mfLwP20sXz71bVcN5tYh6RjQ")
}

/// Stores a finding that holds the token, as a program without the scan would; its id.
fn plant(repo: &Repo<'_>, text: &str) -> String {
    repo.git(["config", "empirica.redact", "false"]).ok();
    let id = repo.json(["finding", text])["id"].as_str().expect("an id").to_owned();
    repo.git(["config", "--unset", "empirica.redact"]).ok();
    id
}

#[test]
fn allowed_secrets_are_stored_and_reported_in_no_clone() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let repo = &repos[0];
    repo.start("one", "t");
    let text = format!("the sample token {} is public", token());
    let json = repo.json(["finding", &text, "--allow-secret"]);
    let warning = json["warning"].as_str().expect("a warning");
    assert!(warning.contains("text: a secret was stored unchanged") && warning.contains("github"), "{json}");
    assert!(json.get("redacted").is_none() && !warning.contains(&token()), "{json}");
    assert_eq!(json["secrets_allowed"], serde_json::json!([{"field": "text", "rule": "github-pat"}]), "{json}");
    let plain = repo.json(["finding", "nothing in it", "--allow-secret"]);
    assert!(plain.get("warning").is_none() && plain.get("secrets_allowed").is_none(), "{plain}");
    // also while nothing is replaced: another clone would complain
    repo.git(["config", "empirica.redact", "false"]).ok();
    let json = repo.json(["finding", &format!("another {}", token()), "--allow-secret"]);
    assert_eq!(json["secrets_allowed"][0]["field"], "text", "{json}");
    repo.git(["config", "--unset", "empirica.redact"]).ok();
    repo.json(["handoff", "--context", &text, "--allow-secret"]);
    let checks = repo.run(["doctor", "--secrets"]).out;
    assert!(checks.contains("contains a known kind of secret"), "{checks}");
    assert_eq!(statuses(&sync(repo))[2], "sent");
    let all = lines(&hub).join("\n");
    assert!(all.contains(&token()), "{all}");
    assert_eq!(all.matches("\"secret_allowed\":true").count(), 3, "{all}");
    sync(&repos[1]);
    let checks = repos[1].run(["doctor", "--secrets", "--json"]).out;
    assert!(checks.contains("contains a known kind of secret"), "{checks}");
    repos[1].start("two", "u");
    repos[1].json(["finding", "of the other"]);
    sync(&repos[1]);
}

#[test]
fn it_is_accepted_only_where_it_does_something() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    for command in
        [&["status"][..], &["log"], &["drift"], &["diff"], &["search", "x"], &["sync", "--dry-run"], &["goal", "take"]]
    {
        repo.fails(2, [command, &["--allow-secret"]].concat());
    }
}

#[test]
fn a_sync_withholds_a_ref_with_a_secret_until_allowed_and_pushes_the_others() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &clones(&place, &hub, 1)[0];
    repo.start("one", "t");
    let id = plant(repo, &format!("the token is {}", token()));
    repo.json(["handoff", "--task", "done"]);
    let failed = repo.fails(1, ["sync"]);
    assert!(failed["error"].as_str().is_some_and(|text| text.contains(&id)), "{failed}");
    assert!(
        failed["reason"].as_str().is_some_and(|text| text.contains("github") && text.contains(" in text")),
        "{failed}"
    );
    let commands = failed["recovery_commands"].to_string();
    assert!(commands.contains(&format!("git empirica redact {id}")), "{commands}");
    assert!(commands.contains("git empirica sync --allow-secret"), "{commands}");
    let there = tips(&hub);
    assert!(there[0].is_none() && there[2].is_some(), "the journal stays, the handoffs go: {there:?}");
    let json = repo.json(["sync", "--allow-secret"]);
    assert!(json["warning"].as_str().is_some_and(|text| text.contains(&id) && text.contains("github")), "{json}");
    assert!(!json.to_string().contains(&token()), "{json}");
    assert!(is_quiet(&sync(repo)), "what the remote has is not held back any more");
    repo.json(["finding", "and more"]);
    sync(repo);
}

#[test]
fn a_redaction_lets_the_ref_go() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &clones(&place, &hub, 1)[0];
    repo.start("one", "t");
    let id = plant(repo, &format!("the token is {}", token()));
    repo.json(["finding", "beside it"]);
    repo.fails(1, ["sync"]);
    repo.run(["redact", &id]);
    sync(repo);
    let all = lines(&hub).join("\n");
    assert!(all.contains("beside it") && !all.contains(&token()), "{all}");
}

#[test]
fn the_markdown_of_plain_git_is_held_back_too() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &clones(&place, &hub, 1)[0];
    repo.start("one", "t");
    repo.json(["handoff", "--task", "done"]);
    sync(repo);
    let before = tips(&hub);
    let note = format!("Reviewed with {}", token());
    repo.git(["notes", "--ref", "refs/notes/empirica/handoffs", "append", "-m", &note]).ok();
    let failed = repo.fails(1, ["sync"]);
    assert!(failed["error"].as_str().is_some_and(|text| text.contains("holds a secret")), "{failed}");
    assert!(!failed.to_string().contains(&token()), "{failed}");
    assert_eq!(tips(&hub), before);
    repo.json(["sync", "--allow-secret"]);
    assert_ne!(tips(&hub), before);
}

#[test]
fn doctor_locates_every_stored_secret_and_prints_none() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("one", "t");
    let flushed = plant(&repo, &format!("the token is {}", token()));
    repo.json(["flush"]);
    let waiting = plant(&repo, &format!("in the log: {}", token()));
    let note = format!("Reviewed with {}", token());
    repo.git(["notes", "--ref", "refs/notes/empirica/handoffs", "append", "-m", &note]).ok();
    assert!(repo.run(["doctor"]).out.lines().all(|line| !line.contains("holds a secret")), "only when it is asked for");
    let ran = repo.run(["doctor", "--secrets"]);
    let output = format!("{}{}", ran.out, ran.err);
    let head = repo.git_out(["rev-parse", "HEAD"]);
    for id in [&flushed, &waiting] {
        assert!(
            output.contains(&format!("the record {id} on {head} holds a secret, in text (rule github")),
            "{output}"
        );
        assert!(output.contains(&format!("git empirica redact {id}")), "{output}");
    }
    assert!(output.contains(&format!("in the note of {head} in refs/notes/empirica/handoffs")), "{output}");
    assert!(output.contains("git empirica redact --secrets"), "{output}");
    assert!(!output.contains(&token()), "{output}");
    let json = repo.fails(1, ["doctor", "--secrets"]);
    assert!(json["wrong"].as_u64().is_some_and(|wrong| wrong >= 3), "{json}");
    // an explicit scan runs although it is disabled
    repo.git(["config", "empirica.redact", "false"]).ok();
    assert!(repo.run(["doctor", "--secrets"]).out.contains(&flushed));
}
