//! The substance of a handoff, so that one with less never supersedes one with more.

use crate::model::Handoff;
use crate::model::goal::GoalStatus;
use crate::model::handoff::CONTEXT;

/// The substance of a handoff, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Substance {
    /// No claim, commit, assessment or text.
    Nothing,
    /// Assessments, tool use, or a task that a hook copied.
    Assessed,
    /// Claims, commits, or text by the agent.
    Work,
}

impl Substance {
    /// The substance of a handoff. Files named by git do not count: anybody may have changed them.
    pub fn of(handoff: &Handoff) -> Self {
        let claims = !(handoff.findings.is_empty()
            && handoff.unknowns.is_empty()
            && handoff.dead_ends.is_empty()
            && handoff.mistakes.is_empty()
            && handoff.decisions.is_empty()
            && handoff.evidence.is_empty()
            && handoff.sources.is_empty());
        // answered questions, not changes in a vector
        let answered = handoff.gaps_filled.iter().any(|gap| gap.confidence_change.is_none());
        let goals = handoff.goals.iter().any(|goal| goal.vector.is_none() || goal.status == GoalStatus::Done);
        let words = !(handoff.accomplished.is_empty()
            && handoff.context.is_empty()
            && handoff.next_steps.is_empty()
            && handoff.recommendations.is_empty()
            && handoff.named_artifacts.is_empty()
            && (handoff.automatic || handoff.task.is_empty()));
        // the payload of a context is composed from the session's records
        let managed = handoff.payload.is_some() && handoff.kind != CONTEXT;
        if claims || answered || goals || words || managed || !handoff.commits.is_empty() {
            Substance::Work
        } else if !(handoff.assessments.is_empty() && handoff.tools.is_empty() && handoff.task.is_empty()) {
            Substance::Assessed
        } else {
            Substance::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_counts_when_an_agent_handed_it_over() {
        let mut handoff = Handoff { artifacts: vec!["a.txt".into()], ..Handoff::default() };
        assert_eq!(Substance::of(&handoff), Substance::Nothing);
        handoff.task = "the cache".into();
        assert_eq!(Substance::of(&handoff), Substance::Work);
        handoff.automatic = true;
        assert_eq!(Substance::of(&handoff), Substance::Assessed);
        handoff.next_steps = vec!["mend it".into()];
        assert_eq!(Substance::of(&handoff), Substance::Work);
    }
}
