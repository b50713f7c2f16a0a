//! Each check on both sides of its rule.

use serde_json::{Value, json};

use crate::use_cases::handoff::check::rules::*;
use crate::use_cases::handoff::managed::payload;
use empirica_notes::model::goal::{GoalState, Priority};
use empirica_notes::model::handoff::{HandoffEvidence, Item};
use empirica_notes::model::{Id, Phase};

fn of(kind: &str, payload: Value) -> Handoff {
    let mut handoff = Handoff { kind: kind.into(), ..Default::default() };
    if kind != "epistemic" {
        payload::put_in(kind, payload, &mut handoff);
    }
    handoff
}

fn id() -> Id {
    Id::parse("01900000-0000-7000-8000-000000000001").unwrap()
}

fn proof(exit: i32) -> HandoffEvidence {
    HandoffEvidence { command: "make test".into(), exit, files: Vec::new(), runs: 1 }
}

/// The level of a check, in a commit with the file `there` and `changed` files.
fn look(handoff: &Handoff, name: &str, changed: &[&str], chain: &[&Handoff]) -> Level {
    let changed: Vec<String> = changed.iter().map(|path| path.to_string()).collect();
    let place = |path: &str| match path {
        "there" | "docs" => PathState::Committed,
        "loose" => PathState::Uncommitted,
        "gone" => PathState::Deleted,
        "/etc/passwd" => PathState::Outside,
        _ => PathState::Missing,
    };
    let declares = |name: &str| (name != "nowhere").then(|| name == "serde");
    let facts = CheckFacts {
        place: &place,
        plain: &str::to_owned,
        own: None,
        changed: Some(&changed),
        chain,
        declares: &declares,
        reported: &[],
    };
    let found = checks(handoff, &facts);
    assert_eq!(found.len(), 11);
    found.into_iter().find(|check| check.name == name).expect("a check").level
}

fn level(kind: &str, name: &str, payload: Value) -> Level {
    look(&of(kind, payload), name, &[], &[])
}

use Level::{Error as Fail, NotApplicable as None_, Pass, Warning as Warn};

#[test]
fn instructions_are_there_and_have_an_imperative() {
    let name = "instructions_actionable";
    let begun = |text: &str| level("initialization", name, json!({"task_id": "t", "instructions": text}));
    assert_eq!((begun("Add a form"), begun("A form"), begun("登录表单")), (Pass, Warn, Pass));
    let report = |decision: &str, next: &str| {
        level("progress", name, json!({"manager_decision": decision, "continuation_instructions": next}))
    };
    assert_eq!(report("COMPLETE", ""), None_);
    assert_eq!((report("REFINE", ""), report("CONTINUE", "Test it")), (Fail, Pass));
    let recovery = |steps: Value| level("error_recovery", name, json!({"recovery_instructions": {"steps": steps}}));
    assert_eq!((recovery(json!([])), recovery(json!(["Pin the version"]))), (Fail, Pass));
    let escalated = |text: &str| level("escalation", name, json!({"escalation_details": {"recommendation": text}}));
    assert_eq!((escalated(" "), escalated("Buy a key"), escalated("a key")), (Fail, Pass, Warn));
    assert_eq!(level("epistemic", name, json!({})), Warn);
    let handoff = Handoff { next_steps: vec!["Test the form".into()], ..of("epistemic", json!({})) };
    assert_eq!(look(&handoff, name, &[], &[]), Pass);
}

#[test]
fn files_that_are_named_are_in_the_commit() {
    let name = "files_exist";
    let files = |list: Value| level("initialization", name, json!({"context": {"relevant_files": list}}));
    assert_eq!(files(json!(["there"])), Pass);
    assert_eq!(files(json!(["there", "loose"])), Warn);
    assert_eq!(files(json!(["gone"])), Pass, "that it was deleted is known");
    assert_eq!((files(json!(["missing", "loose"])), files(json!(["/etc/passwd"]))), (Fail, Fail));
    assert_eq!(files(json!([])), Warn);
    assert_eq!(level("error_recovery", name, json!({"error_report": {"affected_files": ["x"]}})), Fail);
    assert_eq!(level("escalation", name, json!({"current_state": {"files_modified": ["there"]}})), Pass);
    assert_eq!(level("progress", name, json!({"worker_report": {"files_modified": [{"path": "x"}]}})), Fail);
    let named = Handoff { artifacts: vec!["x".into()], ..of("epistemic", json!({})) };
    assert_eq!((look(&named, name, &[], &[]), level("epistemic", name, json!({}))), (Fail, None_));
}

#[test]
fn criteria_say_how_to_see_that_it_is_done() {
    let name = "success_criteria";
    let begun = |list: Value| of("initialization", json!({"success_criteria": list}));
    assert_eq!((look(&begun(json!([])), name, &[], &[]), look(&begun(json!(["a"])), name, &[], &[])), (Fail, Pass));
    let report = of("progress", json!({"manager_decision": "CONTINUE"}));
    assert_eq!(look(&report, name, &[], &[&begun(json!([]))]), Warn);
    assert_eq!(look(&report, name, &[], &[&begun(json!(["a"]))]), Pass);
    assert_eq!(level("progress", name, json!({})), None_);
    assert_eq!(level("error_recovery", name, json!({})), Warn);
    assert_eq!(level("error_recovery", name, json!({"recovery_instructions": {"success_indicators": ["a"]}})), Pass);
    let goal = |criteria: &[&str]| GoalState {
        id: id(),
        text: "g".into(),
        status: GoalStatus::Open,
        priority: Priority::Medium,
        criteria: criteria.iter().map(|text| text.to_string()).collect(),
        subtasks: Vec::new(),
        evidence: None,
        rationale: None,
        vector: None,
    };
    let with = |goal: GoalState| look(&Handoff { goals: vec![goal], ..of("epistemic", json!({})) }, name, &[], &[]);
    assert_eq!((with(goal(&[])), with(goal(&["c"])), level("epistemic", name, json!({}))), (Warn, Pass, None_));
}

#[test]
fn the_scope_is_one_iteration() {
    let name = "single_iteration";
    let steps = |count: usize| {
        let text: String = (0..count).map(|at| format!("- Do {at}\n")).collect();
        level("initialization", name, json!({"instructions": text}))
    };
    assert_eq!((steps(7), steps(8)), (Pass, Warn));
    let files = |count: usize| {
        let list: Vec<String> = (0..count).map(|at| at.to_string()).collect();
        level("initialization", name, json!({"instructions": "Do", "context": {"relevant_files": list}}))
    };
    assert_eq!((files(20), files(21)), (Pass, Warn));
    let criteria = |count: usize| {
        let list: Vec<String> = (0..count).map(|at| at.to_string()).collect();
        level("initialization", name, json!({"instructions": "Do", "success_criteria": list}))
    };
    assert_eq!((criteria(10), criteria(11)), (Pass, Warn));
    assert_eq!(level("progress", name, json!({})), None_);
}

#[test]
fn dependencies_exist() {
    let name = "dependencies_present";
    let added = |list: Value| of("progress", json!({"context_updates": {"dependencies_added": list}}));
    let found = |list: Value| look(&added(list), name, &[], &[]);
    assert_eq!((found(json!(["serde"])), found(json!(["serde", "tokio"]))), (Pass, Fail));
    assert_eq!((found(json!(["nowhere"])), found(json!([]))), (Warn, None_), "there is no manifest");
    // earlier rounds count
    assert_eq!(look(&of("initialization", json!({})), name, &[], &[&added(json!(["tokio"]))]), Warn);
    let root = |root: &str| level("initialization", name, json!({"context": {"project_root": root}}));
    assert_eq!((root("."), root("/path/to/project"), root("nowhere")), (None_, None_, Fail));
    let sources = |list: &[&str]| {
        let sources = list.iter().map(|text| text.to_string()).collect();
        look(&Handoff { sources, ..of("epistemic", json!({})) }, name, &[], &[])
    };
    assert_eq!((sources(&["there", "https://x.org/y"]), sources(&["docs/none.md"])), (Pass, Warn));
}

#[test]
fn the_status_is_given_and_not_contradicted() {
    let name = "status_given";
    let report = |status: &str, exits: &[i32]| {
        let evidence = exits.iter().map(|exit| proof(*exit)).collect();
        look(&Handoff { evidence, ..of("progress", json!({"worker_report": {"status": status}})) }, name, &[], &[])
    };
    assert_eq!((report("COMPLETED", &[0]), report("COMPLETED", &[1]), report("FAILED", &[1])), (Pass, Fail, Pass));
    let tests = |added: u64, passing: u64| {
        let report = json!({"status": "COMPLETED", "tests": {"added": added, "passing": passing}});
        level("progress", name, json!({"worker_report": report}))
    };
    assert_eq!((tests(5, 5), tests(5, 4)), (Pass, Fail));
    let urgency = |report: Value| level("escalation", name, json!({"escalation_details": report}));
    assert_eq!((urgency(json!({})), urgency(json!({"urgency": "high"}))), (Warn, Pass));
    let severity = |report: Value| level("error_recovery", name, json!({"error_report": report}));
    assert_eq!((severity(json!({})), severity(json!({"severity": "high"}))), (Warn, Pass));
    assert_eq!((level("initialization", name, json!({})), level("epistemic", name, json!({}))), (None_, Warn));
    let assessed = empirica_notes::model::handoff::Assessed {
        id: id(),
        phase: Phase::Postflight,
        round: 1,
        at: String::new(),
        vectors: Default::default(),
        confidence: None,
        reasoning: None,
    };
    let handoff = Handoff { assessments: vec![assessed], ..of("epistemic", json!({})) };
    assert_eq!(look(&handoff, name, &[], &[]), Pass);
}

#[test]
fn tests_are_reported() {
    let name = "tests_reported";
    let report = |report: Value| level("progress", name, json!({"worker_report": report}));
    assert_eq!(report(json!({"status": "COMPLETED"})), Fail);
    assert_eq!(report(json!({"status": "PARTIAL"})), Warn);
    assert_eq!(report(json!({"status": "COMPLETED", "tests": {"added": 1}})), Warn, "without accomplishments");
    assert_eq!(report(json!({"status": "COMPLETED", "accomplished": ["a"], "tests": {"added": 1}})), Pass);
    let run = Handoff { evidence: vec![proof(0)], ..of("progress", json!({"worker_report": {"status": "PARTIAL"}})) };
    assert_eq!(look(&run, name, &[], &[]), Pass);
    let tried = |list: Value| level("error_recovery", name, json!({"error_report": {"attempted_solutions": list}}));
    assert_eq!((tried(json!([])), tried(json!(["a"]))), (Warn, Pass));
    let changed = Handoff { artifacts: vec!["there".into()], ..of("epistemic", json!({})) };
    assert_eq!((look(&changed, name, &[], &[]), level("epistemic", name, json!({}))), (Warn, None_));
    assert_eq!(look(&Handoff { evidence: vec![proof(0)], ..changed }, name, &[], &[]), Pass);
}

#[test]
fn changes_are_documented() {
    let name = "files_documented";
    let report = |files: Value| of("progress", json!({"worker_report": {"files_modified": files}}));
    let one = json!([{"path": "a.rs", "description": "the form"}]);
    assert_eq!(look(&report(one.clone()), name, &["a.rs"], &[]), Pass);
    assert_eq!(look(&report(one.clone()), name, &["a.rs", "b.rs"], &[]), Fail);
    assert_eq!(look(&report(one.clone()), name, &[], &[]), Warn, "git knows of no change to it");
    assert_eq!(look(&report(json!([{"path": "a.rs"}])), name, &["a.rs"], &[]), Warn, "without a description");
    let earlier = report(json!([{"path": "b.rs", "description": "before"}]));
    assert_eq!(look(&report(one), name, &["a.rs", "b.rs"], &[&earlier]), Pass);
    // a new folder is one path for git
    let below = json!([{"path": "new/a.rs", "description": "the form"}]);
    assert_eq!(look(&report(below.clone()), name, &["new/"], &[]), Pass);
    assert_eq!(look(&report(below), name, &["newer/"], &[]), Fail);
    assert_eq!(look(&report(json!([])), name, &[], &[]), None_);
    let escalated = of("escalation", json!({"current_state": {"files_modified": ["a.rs"]}}));
    assert_eq!((look(&escalated, name, &["a.rs"], &[]), look(&escalated, name, &["b.rs"], &[])), (Pass, Warn));
    let unknown = CheckFacts {
        place: &|_| PathState::Committed,
        plain: &str::to_owned,
        own: None,
        changed: None,
        chain: &[],
        declares: &|_| None,
        reported: &[],
    };
    let found = checks(&report(json!([])), &unknown);
    assert_eq!(found[7].level, Warn, "git cannot tell");
}

#[test]
fn issues_are_described() {
    let name = "issues_described";
    let report = |status: &str, issues: Value| {
        level("progress", name, json!({"worker_report": {"status": status, "issues": issues}}))
    };
    assert_eq!((report("FAILED", json!([])), report("PARTIAL", json!(["a"]))), (Fail, Pass));
    assert_eq!(report("COMPLETED", json!([])), Pass);
    let open = of("progress", json!({"worker_report": {"status": "COMPLETED"}}));
    let open = Handoff { unknowns: vec![Item { id: None, text: "why".into() }], ..open };
    assert_eq!(look(&open, name, &[], &[]), Warn);
    let error = |report: Value| level("error_recovery", name, json!({"error_report": report}));
    assert_eq!((error(json!({})), error(json!({"error_messages": ["E1"]}))), (Fail, Pass));
    let impact = |report: Value| level("escalation", name, json!({"escalation_details": report}));
    assert_eq!((impact(json!({})), impact(json!({"impact": "a day"}))), (Warn, Pass));
    let failed = Handoff { evidence: vec![proof(1)], ..of("epistemic", json!({})) };
    assert_eq!((look(&failed, name, &[], &[]), level("epistemic", name, json!({}))), (Warn, None_));
}

#[test]
fn validation_was_performed() {
    let name = "validation_steps";
    let report = |status: &str, steps: Value| {
        level("progress", name, json!({"worker_report": {"status": status, "validation": steps}}))
    };
    assert_eq!((report("COMPLETED", json!([])), report("COMPLETED", json!(["ran it"]))), (Fail, Pass));
    assert_eq!(report("PARTIAL", json!([])), Warn);
    assert_eq!(level("initialization", name, json!({})), Warn);
    assert_eq!(level("initialization", name, json!({"quality_gates": ["lint"]})), Pass);
    assert_eq!(level("escalation", name, json!({})), Warn);
    assert_eq!(level("escalation", name, json!({"resume_instructions": "go on"})), Pass);
    let work = Handoff { artifacts: vec!["there".into()], ..of("epistemic", json!({})) };
    assert_eq!(look(&work, name, &[], &[]), Warn);
    assert_eq!(look(&Handoff { evidence: vec![proof(1)], ..work.clone() }, name, &[], &[]), Warn);
    assert_eq!(look(&Handoff { evidence: vec![proof(0)], ..work }, name, &[], &[]), Pass);
}

#[test]
fn reported_gaps_are_covered() {
    let gap = |text: &str| ReportedGap { gap: text.into(), by: "bob".into(), of: "12345678".into() };
    let found = |handoff: &Handoff, gaps: &[ReportedGap]| {
        let facts = CheckFacts {
            place: &|_| PathState::Committed,
            plain: &str::to_owned,
            own: None,
            changed: None,
            chain: &[],
            declares: &|_| None,
            reported: gaps,
        };
        checks(handoff, &facts)[10].level
    };
    let handoff = of("initialization", json!({"instructions": "Run the tests by make test"}));
    assert_eq!(found(&handoff, &[]), None_);
    assert_eq!(found(&handoff, &[gap("How the tests run")]), Pass);
    assert_eq!(found(&handoff, &[gap("Which database to use")]), Warn);
    // the report of a gap does not cover it
    let missed =
        empirica_notes::model::handoff::ReportedGap { gap: "Which database to use".into(), reported_by: "bob".into() };
    let revised = Handoff { missed: vec![missed], ..handoff };
    assert_eq!(found(&revised, &[gap("Which database to use")]), Warn);
}
