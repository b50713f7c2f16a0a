//! Handoffs and digests as short labeled lists.

use std::collections::BTreeSet;

use crate::use_cases::handoff::build::next_steps::unfinished;
use crate::use_cases::handoff::view::settled;
use empirica_notes::model::handoff::{Assessed, HandoffEvidence};
use empirica_notes::model::journal::{DeadEnd, Decision, Mistake};
use empirica_notes::model::{Digest, Handoff, Vector, decision_text};

/// Lists by label, the most useful first.
pub struct NoteLists([(&'static str, Vec<String>); 6]);

impl NoteLists {
    /// The lists of a handoff and of later digests of its session.
    pub fn of(handoff: Option<&Handoff>, digests: &[&Digest]) -> Self {
        let mut lists: [(&str, Vec<String>); 6] =
            ["Next", "Open", "Decided", "Avoid", "Learned", "Checked"].map(|label| (label, Vec::new()));
        let [next, open, decided, avoid, learned, checked] = lists.each_mut().map(|(_, list)| list);
        let mut proofs: Vec<&HandoffEvidence> = Vec::new();
        let mut assessed: Option<&Assessed> = None;
        let mut claims = |decisions: &[Decision], dead_ends: &[DeadEnd], mistakes: &[Mistake]| {
            decided.extend(decisions.iter().map(|one| decision_text(&one.text, &one.why, &one.alternatives)));
            avoid.extend(dead_ends.iter().map(|dead| format!("{} — {}", dead.approach, dead.why)));
            avoid.extend(mistakes.iter().map(mistake));
        };
        if let Some(handoff) = handoff {
            let of_payload = |key: &&str| handoff.payload.as_ref()?.get(*key)?.as_str().map(str::to_owned);
            next.extend(["instructions", "continuation_instructions"].iter().filter_map(of_payload));
            next.extend(handoff.next_steps.iter().cloned());
            if next.is_empty() {
                next.extend(unfinished(&handoff.goals));
            }
            open.extend(handoff.unknowns.iter().map(|item| item.text.clone()));
            claims(&handoff.decisions, &handoff.dead_ends, &handoff.mistakes);
            learned.extend(handoff.findings.iter().map(|item| item.text.clone()));
            learned.extend(settled(handoff).map(|(_, text)| text));
            learned.extend(Some(handoff.context.clone()).filter(|context| !context.trim().is_empty()));
            proofs.extend(&handoff.evidence);
            assessed = handoff.assessments.last();
        }
        for digest in digests {
            open.retain(|question| digest.answers.iter().all(|reply| reply.question != *question));
            open.extend(digest.unknowns.iter().map(|item| item.text.clone()));
            claims(&digest.decisions, &digest.dead_ends, &digest.mistakes);
            learned.extend(digest.findings.iter().map(|item| item.text.clone()));
            learned.extend(digest.answers.iter().map(|reply| match reply.question.is_empty() {
                true => reply.answer.clone(),
                false => format!("{} → {}", reply.question, reply.answer),
            }));
            proofs.extend(&digest.evidence);
            assessed = digest.assessments.last().or(assessed);
        }
        if let (None, Some(digest)) = (handoff, digests.last()) {
            next.extend(digest.next_steps.iter().cloned());
        }
        let last_run = |(at, proof): &(usize, &&HandoffEvidence)| {
            proofs[at + 1..].iter().all(|later| later.command != proof.command)
        };
        let (failed, passed): (Vec<&HandoffEvidence>, Vec<&HandoffEvidence>) =
            proofs.iter().enumerate().filter(last_run).map(|(_, proof)| *proof).partition(|proof| proof.exit != 0);
        checked.extend(failed.iter().map(|proof| format!("FAILED: {} (exit {})", proof.command, proof.exit)));
        checked.extend(passed.iter().map(|proof| format!("passed: {}", proof.command)));
        checked.extend(assessed.map(assessment));
        for (_, list) in &mut lists {
            let mut seen = BTreeSet::new();
            list.retain(|text| seen.insert(text.clone()));
        }
        NoteLists(lists)
    }

    /// The lists that are not empty.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        self.0.iter().filter(|(_, list)| !list.is_empty()).map(|(label, list)| (*label, list.as_slice()))
    }

    /// With the newest entries first, for views that cut the lists.
    pub(crate) fn newest_first(mut self) -> Self {
        for (_, list) in &mut self.0[1..5] {
            list.reverse();
        }
        self
    }

    /// Without next steps and open questions: a newer handoff has those still valid.
    pub(crate) fn superseded(mut self) -> Self {
        self.0[..2].iter_mut().for_each(|(_, list)| list.clear());
        self
    }

    /// The lengths of the lists: "2 open, 1 learned".
    pub fn counts(&self) -> String {
        let counts = self.all().map(|(label, list)| format!("{} {}", list.len(), label.to_lowercase()));
        counts.collect::<Vec<_>>().join(", ")
    }
}

fn mistake(mistake: &Mistake) -> String {
    mistake
        .prevention
        .as_ref()
        .map_or_else(|| mistake.text.clone(), |prevention| format!("{} — {prevention}", mistake.text))
}

/// The vectors `know` and `uncertainty` of an assessment, otherwise its first three.
fn assessment(assessed: &Assessed) -> String {
    let value = |vector: Vector| assessed.vectors.get(vector).map(|value| (vector, value));
    let mut values: Vec<(Vector, f64)> = [Vector::Know, Vector::Uncertainty].into_iter().filter_map(value).collect();
    if values.is_empty() {
        values = assessed.vectors.iter().take(3).collect();
    }
    let values: Vec<String> = values.iter().map(|(vector, value)| format!("{} {value:.2}", vector.name())).collect();
    format!("{} {}", assessed.phase.name(), values.join(", "))
}
