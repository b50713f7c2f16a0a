//! The history of a task in an escalation: instructions, report and outcome of each round.

use std::num::NonZeroU64;

use crate::fold::task::handoffs;
use crate::fold::task::state::{TaskAction, TaskEvent};
use crate::use_cases::handoff::managed::payload::escalation::Round;
use crate::use_cases::handoff::managed::payload::text::text as non_blank;

/// The rounds from steps in effective order: one for each report, recovery attempt and escalation, with the decisions, questions,
/// gaps and resolutions of their receivers.
pub fn rounds<'s>(steps: impl Iterator<Item = &'s TaskEvent>) -> Vec<Round> {
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
                let number = handoff.iteration.and_then(NonZeroU64::new);
                out.push(Round {
                    iteration: number.or(out.last().map(|round| round.iteration)).unwrap_or(NonZeroU64::MIN),
                    manager_instructions: non_blank(&instructions),
                    worker_report: non_blank(worker_report),
                    outcome: non_blank(outcome),
                });
                let next = ["/continuation_instructions", "/recovery_instructions/strategy"].map(text);
                instructions = next.into_iter().find(|text| !text.is_empty()).unwrap_or(instructions);
            }
            TaskAction::Accept(accept) => {
                let decided = accept.decision.map(|decision| decision.name().to_lowercase());
                let resolved = accept.resolution.as_ref().map(|text| format!("resolved: {text}"));
                let questions = accept.questions.iter().map(|text| format!("asked: {text}"));
                let gaps = accept.gaps.iter().map(|text| format!("missed: {text}"));
                if let Some(round) = out.last_mut() {
                    let before = round.outcome.take().map(|text| text.to_string());
                    let parts = before.into_iter().chain(decided).chain(resolved).chain(questions).chain(gaps);
                    round.outcome = non_blank(parts.collect::<Vec<_>>().join("; "));
                }
                instructions = accept.instructions.clone().unwrap_or(instructions);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::use_cases::handoff::managed::payload;
    use empirica_notes::model::{Accept, Envelope, Handoff, Id, Verdict};

    fn step(number: u64, action: TaskAction) -> TaskEvent {
        let id = Id::at(number);
        TaskEvent {
            envelope: Envelope { v: 1, id, session: None, ai: "a".into(), at: "".into(), commit: None, tree: None },
            action,
        }
    }

    fn handoff(number: u64, kind: &str, mut document: Value) -> TaskEvent {
        document["task_id"] = json!("t");
        let mut handoff = Handoff::default();
        payload::put_in(kind, document, &mut handoff);
        step(number, TaskAction::Handoff(Box::new(handoff), false))
    }

    #[test]
    fn a_round_has_instructions_report_and_outcome() {
        let accept = |decision: Option<Verdict>,
                      instructions: Option<&str>,
                      resolution: Option<&str>,
                      questions: &[&str]| Accept {
            decision,
            instructions: instructions.map(str::to_owned),
            questions: questions.iter().map(|text| text.to_string()).collect(),
            resolution: resolution.map(str::to_owned),
            ..Accept::new(Id::at(1))
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
            payload::without_nulls(json!(rounds(steps.iter()))),
            json!([
                {"iteration": 1, "manager_instructions": "\n begin\nnow", "worker_report": "PARTIAL: a; issues: c", "outcome": "continue; refine; asked: why?"},
                {"iteration": 1, "manager_instructions": "use tabs", "worker_report": "ERROR: it breaks", "outcome": "retry 1 of 3"},
                {"iteration": 1, "manager_instructions": "use tabs", "worker_report": "ESCALATED: no key", "outcome": "resolved: bought"},
            ])
        );
        assert!(rounds([].into_iter()).is_empty());
    }
}
