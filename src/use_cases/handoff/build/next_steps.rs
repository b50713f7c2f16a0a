//! Next steps derived from the failed checks, open goals and open questions of a handoff.

use empirica_notes::model::Handoff;
use empirica_notes::model::goal::{GoalState, GoalStatus};

/// Most derived steps.
const MAX_STEPS: usize = 3;
/// Generic advice in handoffs of earlier versions and imported ones.
const GENERIC: [&str; 4] = [
    "Continue investigation - uncertainty still elevated",
    "Validate assumptions - showing overconfidence pattern",
    "Consider execution - showing underconfidence pattern",
    "Ready for execution - strong epistemic foundation",
];

/// The advice of an imported handoff, then at most 3 derived steps: failed checks, and without steps of the agent, open goals and
/// questions.
pub fn steps(handoff: &Handoff) -> Vec<String> {
    let counts = |text: &str| text.starts_with("Address ") && text.ends_with(" remaining unknowns");
    let advice = handoff.recommendations.iter().filter(|text| !GENERIC.contains(&text.as_str()) && !counts(text));
    let failing = handoff.evidence.iter().filter(|proof| proof.exit != 0);
    let failing = failing.map(|proof| format!("Fix the failing check: {} (exit {})", proof.command, proof.exit));
    let goals = unfinished(&handoff.goals);
    let questions = handoff.unknowns.iter().map(|unknown| {
        let verb = if unknown.text.trim_end().ends_with('?') { "Answer" } else { "Clarify" };
        format!("{verb}: {}", unknown.text)
    });
    let left = goals.chain(questions).filter(|_| handoff.next_steps.is_empty());
    advice.cloned().chain(failing.chain(left).take(MAX_STEPS)).collect()
}

/// The open goals, except suggested ones.
pub fn unfinished(goals: &[GoalState]) -> impl Iterator<Item = String> {
    let open = goals.iter().filter(|goal| goal.status == GoalStatus::Open && goal.vector.is_none());
    open.map(|goal| {
        let progress = goal.progress().map(|progress| format!(" ({progress})")).unwrap_or_default();
        format!("Finish: {}{progress}", goal.text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::Id;
    use empirica_notes::model::goal::Priority;
    use empirica_notes::model::handoff::{HandoffEvidence, Item};

    fn goal(text: &str, status: GoalStatus, vector: Option<&str>) -> GoalState {
        GoalState {
            id: Id::at(1),
            text: text.into(),
            status,
            priority: Priority::Medium,
            criteria: Vec::new(),
            subtasks: Vec::new(),
            evidence: None,
            rationale: None,
            vector: vector.map(str::to_owned),
        }
    }

    #[test]
    fn a_step_names_the_thing_it_is_about() {
        let proof = |command: &str, exit| HandoffEvidence { command: command.into(), exit, files: Vec::new(), runs: 1 };
        let mut handoff = Handoff {
            evidence: vec![proof("cargo fmt", 0), proof("cargo test", 101)],
            goals: vec![
                goal("Green login", GoalStatus::Open, None),
                goal("Old", GoalStatus::Done, None),
                goal("Map it", GoalStatus::Open, Some("state")),
            ],
            unknowns: ["Which clock?", "The load"].map(|text| Item { id: None, text: text.into() }).to_vec(),
            ..Handoff::default()
        };
        let all = ["Fix the failing check: cargo test (exit 101)", "Finish: Green login", "Answer: Which clock?"];
        assert_eq!(steps(&handoff), all);
        handoff.evidence.clear();
        assert_eq!(steps(&handoff)[1..], ["Answer: Which clock?", "Clarify: The load"]);
        handoff.evidence.push(proof("cargo test", 101));
        handoff.next_steps = vec!["Release it".into()];
        assert_eq!(steps(&handoff), all[..1]);
        assert!(steps(&Handoff::default()).is_empty());
    }

    #[test]
    fn sentences_that_fit_every_handoff_are_left_out() {
        let mut recommendations: Vec<String> = GENERIC.map(str::to_owned).to_vec();
        recommendations.extend(["Address 2 remaining unknowns".to_owned(), "Ask the owner".to_owned()]);
        assert_eq!(steps(&Handoff { recommendations, ..Handoff::default() }), ["Ask the owner"]);
    }
}
