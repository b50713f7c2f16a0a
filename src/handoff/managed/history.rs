//! The history of a task in an escalation: instructions, report and outcome of each round.

use serde::Serialize;
use serde_json::{Value, json};

use crate::fold::task::handoffs;
use crate::fold::task::state::{TaskAction, TaskEvent};

#[derive(Serialize)]
struct Round {
    iteration: u64,
    #[serde(skip_serializing_if = "is_blank")]
    manager_instructions: String,
    #[serde(skip_serializing_if = "is_blank")]
    worker_report: String,
    #[serde(skip_serializing_if = "is_blank")]
    outcome: String,
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The rounds from steps in effective order: one for each report, recovery attempt and escalation, with the decisions, questions,
/// gaps and resolutions of their receivers.
pub fn rounds<'s>(steps: impl Iterator<Item = &'s TaskEvent>) -> Vec<Value> {
    let mut out: Vec<Round> = Vec::new();
    let mut instructions = String::new();
    for step in steps {
        match &step.action {
            TaskAction::Handoff(_, true) | TaskAction::Answer(_) => {}
            TaskAction::Handoff(handoff, false) => {
                let text = |pointer: &str| handoffs::text(handoff, pointer).unwrap_or_default().to_owned();
                let (worker_report, outcome) = match handoff.kind.as_str() {
                    "initialization" => {
                        instructions = text("/instructions");
                        continue;
                    }
                    "progress" => {
                        (handoffs::report_text(handoff).unwrap_or_default(), text("/manager_decision").to_lowercase())
                    }
                    "error_recovery" => {
                        let number = |key| handoffs::number(handoff, key).unwrap_or_default();
                        let attempt = format!("retry {} of {}", number("/retry_count"), number("/max_retries"));
                        (format!("ERROR: {}", text("/error_report/description")), attempt)
                    }
                    "escalation" => (format!("ESCALATED: {}", text("/escalation_details/description")), String::new()),
                    _ => continue,
                };
                let iteration = handoff.iteration.or(out.last().map(|round| round.iteration)).unwrap_or(1).max(1);
                out.push(Round { iteration, manager_instructions: instructions.clone(), worker_report, outcome });
                let next = ["/continuation_instructions", "/recovery_instructions/strategy"].map(text);
                instructions = next.into_iter().find(|text| !text.is_empty()).unwrap_or(instructions);
            }
            TaskAction::Accept(accept) => {
                let decided = accept.decision.map(|decision| decision.name().to_lowercase());
                let resolved = accept.resolution.as_ref().map(|text| format!("resolved: {text}"));
                let questions = accept.questions.iter().map(|text| format!("asked: {text}"));
                let gaps = accept.gaps.iter().map(|text| format!("missed: {text}"));
                if let Some(round) = out.last_mut() {
                    let before = Some(std::mem::take(&mut round.outcome)).filter(|text| !text.is_empty());
                    let parts = before.into_iter().chain(decided).chain(resolved).chain(questions).chain(gaps);
                    round.outcome = parts.collect::<Vec<_>>().join("; ");
                }
                instructions = accept.instructions.clone().unwrap_or(instructions);
            }
        }
    }
    out.into_iter().map(|round| json!(round)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handoff::managed::formats;
    use crate::handoff::managed::payload;
    use empirica_notes::model::{Accept, Envelope, Handoff, Id, Verdict};

    fn step(number: u64, action: TaskAction) -> TaskEvent {
        let id = Id::at(number);
        TaskEvent {
            head: Envelope { v: 1, id, session: None, ai: "a".into(), at: "".into(), commit: None, tree: None },
            action,
        }
    }

    fn handoff(number: u64, kind: &str, mut document: Value) -> TaskEvent {
        document["task_id"] = json!("t");
        let mut handoff = Handoff::default();
        payload::put_in(formats::named(kind).unwrap(), &document, &mut handoff);
        step(number, TaskAction::Handoff(Box::new(handoff), false))
    }

    #[test]
    fn a_round_has_instructions_report_and_outcome() {
        let accept = |decision: Option<Verdict>,
                      instructions: Option<&str>,
                      resolution: Option<&str>,
                      questions: &[&str]| Accept {
            of: Id::at(1),
            concerns: Vec::new(),
            understanding: None,
            decision,
            instructions: instructions.map(str::to_owned),
            questions: questions.iter().map(|text| text.to_string()).collect(),
            gaps: Vec::new(),
            resolution: resolution.map(str::to_owned),
        };
        let report = json!({"iteration": 1, "worker_report": {"status": "PARTIAL", "accomplished": ["a"], "issues": ["c"]},
            "manager_decision": "CONTINUE", "continuation_instructions": "go on"});
        let failed =
            json!({"iteration": 1, "error_report": {"description": "it breaks"}, "retry_count": 1, "max_retries": 3});
        let stopped = json!({"escalation_details": {"description": "no key"}});
        let steps = [
            handoff(1, "initialization", json!({"instructions": "\n begin\nnow"})),
            handoff(2, "progress", report),
            step(3, TaskAction::Accept(accept(Some(Verdict::Refine), Some("use tabs"), None, &["why?"]))),
            handoff(4, "error_recovery", failed),
            handoff(5, "escalation", stopped),
            step(6, TaskAction::Accept(accept(None, None, Some("bought"), &[]))),
            handoff(7, "context", json!({})),
        ];
        assert_eq!(
            Value::from(rounds(steps.iter())),
            json!([
                {"iteration": 1, "manager_instructions": "\n begin\nnow", "worker_report": "PARTIAL: a; issues: c", "outcome": "continue; refine; asked: why?"},
                {"iteration": 1, "manager_instructions": "use tabs", "worker_report": "ERROR: it breaks", "outcome": "retry 1 of 3"},
                {"iteration": 1, "manager_instructions": "use tabs", "worker_report": "ESCALATED: no key", "outcome": "resolved: bought"},
            ])
        );
        assert!(rounds([].into_iter()).is_empty());
    }
}
