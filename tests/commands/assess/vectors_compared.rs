//! Assessments with different vectors: only common vectors are compared.

use crate::support::harness::Sandbox;

#[test]
fn growth_is_over_the_vectors_that_both_assessments_give() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Fix it");
    repo.json(["preflight", "-v", "know=.8,uncertainty=.3,engagement=.3,completion=0,clarity=.3"]);
    let answer = repo.run(["check", "-v", "know=.8,uncertainty=.3"]).ok().out;
    assert!(answer.contains("overall confidence +0.00 (know alone)"), "{answer}");
    let json = repo.json(["postflight", "-v", "know=.8,uncertainty=.3"]);
    assert_eq!(json["deltas"], serde_json::json!({"know": 0.0, "uncertainty": 0.0, "overall_confidence": 0.0}));
    let shown = repo.json(["show"]);
    let row = &shown["trajectory"][5];
    assert_eq!(
        (&row["vector"], &row["before"], &row["after"]),
        (&"overall_confidence".into(), &0.8.into(), &0.8.into())
    );
    assert_eq!(shown["epistemic_deltas"]["overall_confidence"], 0.0);
    let answer = repo.run(["show"]).ok().out;
    assert!(answer.contains("| Overall Confidence | 0.80 | 0.80 | +0.00 |"), "{answer}");
    assert!(answer.contains("rests on know alone"), "{answer}");
    assert_eq!(repo.json(["handoff", "list"])["handoffs"][0]["epistemic_growth"], 0.0);
    assert_eq!(repo.json(["query"])["reports"][0]["epistemic_growth"], 0.0);
    // the lines of a session, and the page
    let session = repo.run(["session", "show"]).ok().out;
    let line = session.lines().find(|line| line.trim_start().starts_with("overall")).expect("its line").to_owned();
    assert!(line.contains("0.80") && line.ends_with("+0.00 (know alone)"), "{line}");
    assert!(repo.run(["resume"]).ok().out.contains("overall confidence +0.00 (know alone)"));
    assert!(repo.run(["query"]).ok().out.contains("+0.00 (know alone)"));
    let page = repo.run(["report", "--html", "-"]).ok().out;
    assert!(page.contains("overall confidence (know alone)"));
    assert!(page.contains("0.80 → 0.80") && !page.contains("0.40 → 0.80"), "the page shows a growth");
}

#[test]
fn without_a_common_vector_a_missing_delta_is_reported() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Fix it");
    repo.json(["preflight", "-v", "know=.3,uncertainty=.5"]);
    let answer = repo.run(["check", "-v", "do=.9,uncertainty=.4"]).ok().out;
    let expected = "Since PREFLIGHT: uncertainty -0.10, overall confidence: no vector in common\n";
    assert!(answer.contains(expected), "{answer}");
    let json = repo.json(["postflight", "-v", "do=.9"]);
    assert_eq!(json["deltas"], serde_json::json!({}));
    assert_eq!(json["calibration_status"], "not_assessable");
    let shown = repo.run(["show"]).ok().out;
    assert!(shown.contains("| Overall Confidence | 0.30 | 0.90 | – | No vector in common |"), "{shown}");
    assert_eq!(repo.json(["handoff", "list"])["handoffs"][0]["epistemic_growth"], serde_json::Value::Null);
    assert!(repo.run(["report", "--html", "-"]).ok().out.contains("no vector in common"));
}
