//! Handoffs and digests without claims that are no longer in force.

use std::collections::BTreeSet;

use crate::model::handoff::Item;
use crate::model::hash::fnv;
use crate::model::journal::{DeadEnd, Decision, Mistake};
use crate::model::record::{Retract, retracted};
use crate::model::{Body, Record};

/// The hash by which a claim's main text is found in handoffs and digests, 16 hex digits.
pub fn hash(text: &str) -> String {
    format!("{:016x}", fnv(text.trim().as_bytes()))
}

/// The texts that retracts in force name by their hashes.
#[derive(Debug, Default)]
pub struct GoneTexts(BTreeSet<String>);

impl GoneTexts {
    /// Those of the retracts among the records of a note.
    pub fn of<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let retracts: Vec<(&Record, &Retract)> = records
            .into_iter()
            .filter_map(|record| match &record.body {
                Body::Retract(retract) => Some((record, retract)),
                _ => None,
            })
            .collect();
        let gone = retracted(retracts.iter().map(|(record, retract)| (&record.envelope.id, retract.of.as_slice())), []);
        let in_force = retracts.iter().filter(|(record, _)| !gone.contains(&record.envelope.id));
        GoneTexts(in_force.flat_map(|(_, retract)| retract.hashes.iter().cloned()).collect())
    }

    /// Whether a handoff or digest has one of the texts.
    pub fn are_in(&self, body: &Body) -> bool {
        let mut left = body.clone();
        self.leave_out(&mut left);
        left != *body
    }

    /// Leaves the texts out of a handoff or digest; no effect on other records.
    pub fn leave_out(&self, body: &mut Body) {
        if self.0.is_empty() {
            return;
        }
        let (items, decisions, dead_ends, mistakes): ([&mut Vec<Item>; 2], _, _, _) = match body {
            Body::Handoff(of) => {
                ([&mut of.findings, &mut of.unknowns], &mut of.decisions, &mut of.dead_ends, &mut of.mistakes)
            }
            Body::Digest(of) => {
                ([&mut of.findings, &mut of.unknowns], &mut of.decisions, &mut of.dead_ends, &mut of.mistakes)
            }
            _ => return,
        };
        let holds = |text: &str| !self.0.contains(&hash(text));
        items.into_iter().for_each(|items| items.retain(|item| holds(&item.text)));
        decisions.retain(|decision: &Decision| holds(&decision.text));
        dead_ends.retain(|dead_end: &DeadEnd| holds(&dead_end.approach));
        mistakes.retain(|mistake: &Mistake| holds(&mistake.text));
    }
}

/// Leaves out of the handoffs and digests of a note what is no longer in force.
pub fn leave_out_gone(records: &mut [Record]) {
    let gone = GoneTexts::of(&*records);
    records.iter_mut().for_each(|record| gone.leave_out(&mut record.body));
}
