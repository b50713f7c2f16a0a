//! How much a handoff says, so that one that says less never takes the place of one that says more.

use crate::model::Handoff;
use crate::model::goal::GoalStatus;
use crate::model::handoff::CONTEXT;

/// How much a handoff says, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Substance {
    /// No claim, no commit, no assessment, no words.
    Nothing,
    /// How sure the session was, which tools it used, and a task that a hook took over.
    Assessed,
    /// Claims, commits, or words of the agent.
    Work,
}

impl Substance {
    /// How much this handoff says. Files that git names do not count: they can be changes of anybody.
    pub fn of(handoff: &Handoff) -> Self {
        let claims = !(handoff.findings.is_empty()
            && handoff.unknowns.is_empty()
            && handoff.dead_ends.is_empty()
            && handoff.mistakes.is_empty()
            && handoff.decisions.is_empty()
            && handoff.evidence.is_empty()
            && handoff.sources.is_empty());
        // an answered question, not a vector that rose
        let answered = handoff.gaps_filled.iter().any(|gap| gap.confidence_change.is_none());
        let goals = handoff.goals.iter().any(|goal| goal.vector.is_none() || goal.status == GoalStatus::Done);
        let words = !(handoff.accomplished.is_empty()
            && handoff.context.is_empty()
            && handoff.next_steps.is_empty()
            && handoff.recommendations.is_empty()
            && handoff.named_artifacts.is_empty()
            && (handoff.automatic || handoff.task.is_empty()));
        // the document of a context is made of what the session said
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
