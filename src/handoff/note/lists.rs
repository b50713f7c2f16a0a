//! What handoffs and digests tell in short, by label.

use std::collections::BTreeSet;

use crate::handoff::build::next_steps::unfinished;
use crate::render::format;
use empirica_notes::model::handoff::{Assessed, HandoffEvidence};
use empirica_notes::model::{Digest, Handoff, Vector};

/// What handoffs and digests tell in short, by label.
pub struct NoteLists([(&'static str, Vec<String>); 6]);

impl NoteLists {
    /// What a handoff tells, and digests of its session that are newer.
    pub fn of(handoff: Option<&Handoff>, digests: &[&Digest]) -> Self {
        let mut lists: [(&str, Vec<String>); 6] =
            ["Next", "Open", "Decided", "Avoid", "Learned", "Checked"].map(|label| (label, Vec::new()));
        let [next, open, decided, avoid, learned, checked] = &mut lists;
        let mut proofs: Vec<&HandoffEvidence> = Vec::new();
        let mut assessed: Vec<&Assessed> = Vec::new();
        if let Some(handoff) = handoff {
            let told = |key: &&str| handoff.payload.as_ref()?.get(*key)?.as_str().map(str::to_owned);
            next.1.extend(["instructions", "continuation_instructions"].iter().filter_map(told));
            next.1.extend(handoff.next_steps.iter().cloned());
            if next.1.is_empty() {
                next.1.extend(unfinished(&handoff.goals));
            }
            open.1.extend(handoff.unknowns.iter().map(|item| item.text.clone()));
            decided.1.extend(handoff.decisions.iter().map(|c| format::decision(&c.text, &c.why, &c.alternatives)));
            avoid.1.extend(handoff.dead_ends.iter().map(|dead| format!("{} — {}", dead.approach, dead.why)));
            avoid.1.extend(handoff.mistakes.iter().map(mistake));
            learned.1.extend(handoff.findings.iter().map(|item| item.text.clone()));
            let answered = crate::handoff::view::settled(handoff).filter(|(_, text)| !learned.1.contains(text));
            let answered: Vec<String> = answered.map(|(_, text)| text).collect();
            learned.1.extend(answered);
            learned.1.extend(Some(handoff.context.clone()).filter(|context| !context.trim().is_empty()));
            proofs.extend(&handoff.evidence);
            assessed.extend(&handoff.assessments);
        }
        for digest in digests {
            open.1.retain(|question| digest.answers.iter().all(|reply| reply.question != *question));
            open.1.extend(digest.unknowns.iter().map(|item| item.text.clone()));
            decided.1.extend(digest.decisions.iter().map(|c| format::decision(&c.text, &c.why, &c.alternatives)));
            avoid.1.extend(digest.dead_ends.iter().map(|dead| format!("{} — {}", dead.approach, dead.why)));
            avoid.1.extend(digest.mistakes.iter().map(mistake));
            learned.1.extend(digest.findings.iter().map(|item| item.text.clone()));
            learned.1.extend(digest.answers.iter().map(|reply| match reply.question.is_empty() {
                true => reply.answer.clone(),
                false => format!("{} → {}", reply.question, reply.answer),
            }));
            proofs.extend(&digest.evidence);
            assessed.extend(&digest.assessments);
        }
        if let (None, Some(digest)) = (handoff, digests.last()) {
            next.1.extend(digest.next_steps.iter().cloned());
        }
        let last_run = |(at, proof): &(usize, &&HandoffEvidence)| {
            proofs[at + 1..].iter().all(|later| later.command != proof.command)
        };
        let (failed, passed): (Vec<&HandoffEvidence>, Vec<&HandoffEvidence>) =
            proofs.iter().enumerate().filter(last_run).map(|(_, proof)| *proof).partition(|proof| proof.exit != 0);
        checked.1.extend(failed.iter().map(|proof| format!("FAILED: {} (exit {})", proof.command, proof.exit)));
        checked.1.extend(passed.iter().map(|proof| format!("passed: {}", proof.command)));
        checked.1.extend(assessed.last().map(|assessed| assessment(assessed)));
        for (_, list) in &mut lists {
            let mut seen = BTreeSet::new();
            list.retain(|text| seen.insert(text.clone()));
        }
        NoteLists(lists)
    }

    /// Those that have something in them, the most useful first.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        self.0.iter().filter(|(_, list)| !list.is_empty()).map(|(label, list)| (*label, list.as_slice()))
    }

    /// For a reader who sees the first ones only: what was said last comes first.
    pub(crate) fn newest_first(mut self) -> Self {
        for (_, list) in &mut self.0[1..5] {
            list.reverse();
        }
        self
    }

    /// Without what a newer handoff tells again, as far as it still holds.
    pub(crate) fn superseded(mut self) -> Self {
        self.0[..2].iter_mut().for_each(|(_, list)| list.clear());
        self
    }

    /// How much there is under each label.
    pub fn counts(&self) -> String {
        self.all()
            .map(|(label, list)| format!("{} {}", list.len(), label.to_lowercase()))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

fn mistake(slip: &empirica_notes::model::handoff::HandoffMistake) -> String {
    slip.prevention.as_ref().map_or_else(|| slip.text.clone(), |prevention| format!("{} — {prevention}", slip.text))
}

/// An assessment in short: what it says of knowing and doubting, else of anything.
fn assessment(assessed: &Assessed) -> String {
    let given = |vector: Vector| assessed.vectors.get(vector).map(|value| (vector, value));
    let mut values: Vec<(Vector, f64)> = [Vector::Know, Vector::Uncertainty].into_iter().filter_map(given).collect();
    if values.is_empty() {
        values = assessed.vectors.iter().take(3).collect();
    }
    let values: Vec<String> = values.iter().map(|(vector, value)| format!("{} {value:.2}", vector.name())).collect();
    format!("{} {}", assessed.phase.name(), values.join(", "))
}
