//! `docs/specification.md`: the command of each row prints what the row says, and no section is without a row.

use std::path::Path;

use crate::commands::meaning::kept::model;
use crate::support::harness::{RunOutput, Sandbox};
use crate::support::qdrant::Qdrant;

/// The documents, and the sections of each that the program shows.
const DOCUMENTS: [(&str, &[&str]); 5] = [
    (
        "Phase 1.6: Epistemic Handoff Reports",
        &[
            "Core Concept",
            "Report Structure",
            "1. Report Generator",
            "2. Storage Layer, Option A: Git Notes",
            "2. Storage Layer, Option B: Session Database",
            "2. Storage Layer, Option C: Markdown Files",
            "3. MCP Tools for Handoff Reports: generate_handoff_report",
            "3. MCP Tools for Handoff Reports: resume_previous_session",
            "3. MCP Tools for Handoff Reports: query_handoff_reports",
            "4. CLI Integration",
            "5. Workflow Integration",
            "6. Integration with Existing Systems: Git Checkpoints",
            "6. Integration with Existing Systems: Session Database",
            "6. Integration with Existing Systems: Goal Orchestrator",
            "6. Integration with Existing Systems: Calibration System",
            "Example 1: Generate Handoff During POSTFLIGHT",
            "Example 2: Resume Previous Session",
            "Example 3: Query Team History",
            "Example 4: Multi-Agent Coordination",
            "Success Metrics: Token Efficiency",
            "Success Metrics: Context Transfer Speed",
            "Success Metrics: Semantic Completeness",
            "Success Metrics: Multi-Agent Coordination",
            "Risk 1: AI Forgets to Generate Handoff",
            "Risk 2: Handoff Reports Incomplete",
            "Risk 3: Storage Failures",
            "Risk 4: Token Estimates Inaccurate",
            "Phase 1.7: Semantic Search",
            "Phase 1.8: Automated Handoff Chains",
            "Phase 1.9: Handoff Visualization",
        ],
    ),
    (
        "Complete Epistemic State Capture Design",
        &[
            "Current Vectors (13)",
            "1. Git State",
            "2. Reasoning Trail",
            "3. Database Artifacts",
            "4. Session Metadata",
            "5. Project Context",
            "6. Investigation Context",
            "7. Reference Docs",
            "Optional: Semantic Search Context (Qdrant)",
            "Optional: Semantic Search Context (Qdrant): Use Case",
            "Optional: Semantic Search Context (Qdrant): Proposed Design",
            "Complete Capture Schema",
            "Post-Compact Hook Requirements",
            "Key Design Decisions: Capture Everything Listed Above",
            "Key Design Decisions: Make Semantic Search Optional",
            "Key Design Decisions: Comprehensive Drift Comparison",
            "Key Design Decisions: Dynamic Bootstrap Loading",
        ],
    ),
    (
        "HANDOFF MECHANISMS - Dual-Agent System",
        &[
            "1. INITIALIZATION HANDOFF: Process Flow",
            "1. INITIALIZATION HANDOFF: Data Transfer Format",
            "2. PROGRESS HANDOFF: Process Flow",
            "2. PROGRESS HANDOFF: Data Transfer Format",
            "3. ERROR RECOVERY HANDOFF: Process Flow",
            "3. ERROR RECOVERY HANDOFF: Data Transfer Format",
            "4. ESCALATION HANDOFF: Process Flow, Human Handoff",
            "4. ESCALATION HANDOFF: Process Flow, Resolution Integration",
            "4. ESCALATION HANDOFF: Data Transfer Format",
            "Session Context Maintenance",
            "Cross-Iteration Memory",
            "Context Optimization",
            "Pre-Handoff Checks",
            "Post-Handoff Validation",
            "Handoff Failure Recovery",
            "Handoff Efficiency Metrics",
            "Optimization Strategies",
        ],
    ),
    (
        "Plan: Agent Handoff Service (Phase 6)",
        &[
            "6.1 Create Handoff Service",
            "6.2 Integration Points: Session Reassign Endpoint",
            "6.2 Integration Points: Agent Wrapper",
            "6.2 Integration Points: Session Storage",
            "6.3 API Endpoint (Optional)",
            "Future Considerations: JSONL Storage",
            "Future Considerations: Handoff UI",
            "Future Considerations: Automatic Context",
        ],
    ),
    (
        "Empirica Reliability Improvements Specification",
        &[
            "Improvement 1: Automatic Drift Detection in CHECK Phase",
            "Improvement 2: Auto-Generate Investigation Goals from PREFLIGHT",
            "Improvement 3: Session Alias Support Across All MCP Tools",
            "Improvement 4: Graceful Degradation for Storage Failures",
            "Improvement 5: Actionable Error Messages",
            "Improvement 6: Clearer Decision Criteria in System Prompts",
            "Definition of \"Works\"",
            "Using Empirica to Dogfood Itself",
            "Appendix A: Complete Tool Audit",
            "Appendix B: Drift Detection",
            "Appendix B: Goal Generation",
            "Appendix B: Session Aliases",
            "Appendix B: Graceful Degradation",
            "Appendix B: Error Messages",
            "Appendix B: System Prompts",
        ],
    ),
];

/// A script of the page: a shell block, or the command of a row with what it prints.
#[derive(Debug)]
struct Step {
    line: usize,
    document: String,
    section: Option<String>,
    script: String,
    expected: Vec<String>,
    code: i32,
}

/// The cells of a row of a table; `\|` is a bar in a cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.replace("\\|", "\0");
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
}

/// The code spans of a cell, and its other words.
fn spans(cell: &str) -> (Vec<String>, String) {
    let parts = || cell.split('`');
    (parts().skip(1).step_by(2).map(str::to_owned).collect(), parts().step_by(2).collect())
}

fn row(line: usize, document: &str, text: &str) -> Step {
    let [section, command, output]: [String; 3] =
        cells(text).try_into().unwrap_or_else(|cells| panic!("line {line}: {cells:?}"));
    let [script]: [String; 1] = spans(&command).0.try_into().unwrap_or_else(|all| panic!("line {line}: {all:?}"));
    let (expected, words) = spans(&output);
    assert!(!expected.is_empty(), "line {line} expects nothing");
    let code = words.split_once("exit ").map_or(0, |(_, code)| {
        let digits: String = code.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or_else(|error| panic!("line {line}: {error}"))
    });
    Step { line, document: document.to_owned(), section: Some(section), script, expected, code }
}

/// The shell blocks and rows of the page, in order.
fn steps(page: &str) -> Vec<Step> {
    let (mut out, mut document) = (Vec::new(), "");
    let mut lines = page.lines().enumerate().map(|(at, line)| (at + 1, line));
    while let Some((line, text)) = lines.next() {
        if let Some(title) = text.strip_prefix("## ") {
            document = title;
        } else if text == "```sh" {
            let script: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
            let script = script.join("\n");
            out.push(Step { line, document: document.to_owned(), section: None, script, expected: vec![], code: 0 });
        } else if text.starts_with("| ") && !text.starts_with("| Section ") {
            out.push(row(line, document, text));
        }
    }
    out
}

fn page() -> Vec<Step> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/specification.md");
    steps(&std::fs::read_to_string(path).expect("the page"))
}

#[test]
fn every_row_prints_what_it_says() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    model(&place.path().join("model"), 1.0);
    let qdrant = Qdrant::new("");
    for step in page() {
        let mut command = place.command("sh", &repo.path);
        command.env("QDRANT", qdrant.url());
        let ran = RunOutput::new(command.args(["-e", "-c", &step.script]).output().expect("the shell starts"));
        let at = format!("docs/specification.md:{}\n{}\n{}\n{}", step.line, step.script, ran.out, ran.err);
        assert_eq!(ran.code, step.code, "{at}");
        for expected in step.expected {
            assert!(ran.out.contains(&expected), "'{expected}' is not in the output of {at}");
        }
    }
}

#[test]
fn every_section_of_every_document_has_its_row() {
    let steps = page();
    let rows = steps.iter().filter_map(|step| Some((step.document.as_str(), step.section.as_deref()?)));
    let sections = DOCUMENTS.iter().flat_map(|(title, sections)| sections.iter().map(|section| (*title, *section)));
    assert_eq!(rows.collect::<Vec<_>>(), sections.collect::<Vec<_>>());
}

#[test]
fn a_row_is_read_as_it_is_written() {
    let steps = steps(
        "## A\n\n```sh\na\nb\n```\n\n| Section | Command |\n|---|---|\n| 1. S | `a \\| b` | exit 3, `x \\| y`, `z`; not c |\n",
    );
    assert_eq!((steps[0].line, steps[0].script.as_str()), (3, "a\nb"));
    let row = &steps[1];
    assert_eq!((row.document.as_str(), row.section.as_deref(), row.script.as_str()), ("A", Some("1. S"), "a | b"));
    assert_eq!(
        (row.expected.as_slice(), row.code, steps.len()),
        (["x | y".to_owned(), "z".to_owned()].as_slice(), 3, 2)
    );
}
