//! The rules of `empirica.require`, which `--validate` applies.

use serde_json::Value;

use super::branch;
use crate::commands::code::anchors::id;
use crate::support::harness::{Repo, Sandbox};

fn broken(repo: &Repo<'_>, rules: &str) -> Vec<(String, String)> {
    repo.git(["config", "empirica.require", rules]).ok();
    let ran = repo.run(["handoff", "--pr", "main..topic", "--validate", "--json"]);
    let answer = ran.json();
    let violations = answer["violations"].as_array().expect("a list").clone();
    assert_eq!(ran.code, if violations.is_empty() { 0 } else { 3 }, "{answer}");
    assert_eq!(answer["ok"], violations.is_empty());
    let pair =
        |one: &Value| (one["rule"].as_str().expect("a name").into(), one["text"].as_str().expect("a text").into());
    violations.iter().map(pair).collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(rule, text)| ((*rule).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_range_fails_only_where_the_team_asks_for_it() {
    let sandbox = Sandbox::new();
    let repo = branch(&sandbox);
    let nothing = repo.run(["handoff", "--pr", "main..topic", "--validate"]).ok();
    assert_eq!(nothing.err, "Checked nothing in main..topic: empirica.require names no rule.\n");
    assert_eq!(broken(&repo, "checks"), pairs(&[("checks", "cargo bench (exit 101)")]));
    assert_eq!(broken(&repo, "questions"), pairs(&[("questions", "Does it hold on ARM?")]));
    let lost = pairs(&[("claims", "ring() wraps at 1024"), ("claims", "Keep the queue a list")]);
    assert_eq!(broken(&repo, "claims"), lost);
    assert_eq!(broken(&repo, "checks questions, claims").len(), 4);
    // the text is the same, and says it on standard error
    let ran = repo.run(["handoff", "--pr", "main..topic", "--validate"]).code(3);
    assert_eq!(ran.out, repo.run(["handoff", "--pr", "main..topic"]).ok().out);
    assert!(ran.err.contains("checks: cargo bench (exit 101) ("), "{}", ran.err);
    assert!(ran.err.contains("\nChecked main..topic: 4 violations of empirica.require.\n"), "{}", ran.err);
    repo.git(["config", "empirica.require", "tests"]).ok();
    let refused = repo.fails(2, ["handoff", "--pr", "main..topic", "--validate"]);
    assert_eq!(refused["alternatives"], serde_json::json!(["checks", "questions", "claims"]));
    repo.fails(2, ["handoff", "--pr", "main..topic", "--dry-run"]);
}

#[test]
fn a_later_pass_an_answer_and_a_correction_mend_it() {
    let sandbox = Sandbox::new();
    let repo = branch(&sandbox);
    let all = "checks,questions,claims";
    assert_eq!(broken(&repo, all).len(), 4);
    let answer = repo.json(["handoff", "--pr", "main..topic"]);
    let sessions = answer["sessions"].as_array().expect("a list").iter();
    let claims: Vec<Value> = sessions.flat_map(|one| one["claims"].as_array().expect("a list").clone()).collect();
    let of = |text: &str| id(claims.iter().find(|claim| claim["text"] == text).expect("a claim"));
    repo.start("cy", "Mend it");
    repo.json(["evidence", "cargo bench", "--exit", "0"]);
    assert_eq!(broken(&repo, "checks"), []);
    repo.json(["resolve", &of("Does it hold on ARM?"), "It does"]);
    assert_eq!(broken(&repo, "questions"), []);
    repo.json(["replace", &of("ring() wraps at 1024"), "ring(n) wraps at n", "--at", "src/a.rs:2"]);
    let earlier = id(&answer["contradicted"][0]);
    repo.json(["retract", &earlier, "--why", "it is a ring"]);
    assert_eq!(broken(&repo, all), []);
    let text = super::text(&repo, "main..topic");
    assert!(text.contains("**Withdrawn**\n\n- ring() wraps at 1024 (replaced by "), "{text}");
    assert!(!super::unfolded(&text).contains("Keep the queue a list"), "{text}");
    // a failure after the pass counts again, also of another session
    repo.start("dee", "Again");
    repo.json(["evidence", "cargo bench", "--exit", "2", "--ai", "dee"]);
    assert_eq!(broken(&repo, all), pairs(&[("checks", "cargo bench (exit 2)")]));
}

#[test]
fn a_confirmed_claim_is_not_contradicted() {
    let sandbox = Sandbox::new();
    let repo = branch(&sandbox);
    let earlier = id(&repo.json(["handoff", "--pr", "main..topic"])["contradicted"][0]);
    repo.start("cy", "Look again");
    repo.json(["confirm", &earlier, "--at", "src/a.rs:2"]);
    let answer = repo.json(["handoff", "--pr", "main..topic"]);
    assert_eq!(answer["contradicted"], serde_json::json!([]));
}
