//! The history of a task as an escalation tells it: what was to be done, what was reported, what was decided.

use serde_json::{Value, json};

use crate::fold::task::handoffs;
use crate::fold::task::state::{TaskAction, TaskEvent};

/// A round of the task.
#[derive(Debug, Default)]
struct Round {
    number: u64,
    instructions: Option<String>,
    report: Option<String>,
    outcome: Vec<String>,
}

impl Round {
    fn json(self) -> Value {
        let mut out = json!({"iteration": self.number.max(1)});
        let outcome = Some(self.outcome.join("; "));
        for (key, said) in
            [("manager_instructions", self.instructions), ("worker_report", self.report), ("outcome", outcome)]
        {
            if let Some(said) = said.filter(|said| !said.trim().is_empty()) {
                out[key] = json!(said);
            }
        }
        out
    }
}

/// The rounds so far, from the steps in the order in which they count: a round for each report, each attempt at recovery and each
/// escalation, with what their receivers decided, asked, missed and resolved.
pub fn rounds<'s>(steps: impl Iterator<Item = &'s TaskEvent>) -> Vec<Value> {
    let mut out: Vec<Round> = Vec::new();
    let mut instructions: Option<String> = None;
    for step in steps {
        match &step.action {
            TaskAction::Handoff(_, true) | TaskAction::Answer(_) => {}
            TaskAction::Handoff(handoff, false) => {
                let text = |pointer: &str| handoffs::text(handoff, pointer).map(str::to_owned);
                let (report, outcome) = match handoff.kind.as_str() {
                    "initialization" => {
                        instructions = text("/instructions");
                        continue;
                    }
                    "progress" => {
                        (handoffs::report_text(handoff), text("/manager_decision").map(|word| word.to_lowercase()))
                    }
                    "error_recovery" => {
                        let number = |key| handoffs::number(handoff, key).unwrap_or_default();
                        let attempt = format!("retry {} of {}", number("/retry_count"), number("/max_retries"));
                        (text("/error_report/description").map(|what| format!("ERROR: {what}")), Some(attempt))
                    }
                    "escalation" => {
                        let what = text("/escalation_details/description");
                        (what.map(|what| format!("ESCALATED: {what}")), None)
                    }
                    _ => continue,
                };
                let number = handoff.iteration.or(out.last().map(|round| round.number)).unwrap_or(1);
                let given = instructions.clone();
                out.push(Round { number, instructions: given, report, outcome: outcome.into_iter().collect() });
                let next = text("/continuation_instructions").or(text("/recovery_instructions/strategy"));
                instructions = next.or(instructions);
            }
            TaskAction::Accept(accept) => {
                let decided = accept.decision.map(|decision| decision.name().to_lowercase());
                let resolved = accept.resolution.as_ref().map(|text| format!("resolved: {text}"));
                let asked = accept.questions.iter().map(|text| format!("asked: {text}"));
                let missed = accept.gaps.iter().map(|text| format!("missed: {text}"));
                if let Some(round) = out.last_mut() {
                    round.outcome.extend(decided.into_iter().chain(resolved).chain(asked).chain(missed));
                }
                instructions = accept.instructions.clone().or(instructions);
            }
        }
    }
    out.into_iter().map(Round::json).collect()
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

    fn handoff(number: u64, kind: &str, mut given: Value) -> TaskEvent {
        given["task_id"] = json!("t");
        let mut handoff = Handoff::default();
        payload::put_in(formats::named(kind).unwrap(), &given, &mut handoff);
        step(number, TaskAction::Handoff(Box::new(handoff), false))
    }

    #[test]
    fn the_history_tells_what_was_asked_reported_decided_and_resolved() {
        let said = |decision: Option<Verdict>,
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
            step(3, TaskAction::Accept(said(Some(Verdict::Refine), Some("use tabs"), None, &["why?"]))),
            handoff(4, "error_recovery", failed),
            handoff(5, "escalation", stopped),
            step(6, TaskAction::Accept(said(None, None, Some("bought"), &[]))),
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
