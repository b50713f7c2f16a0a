//! Handoffs and digests without claims that are no longer in force.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::handoff::Item;
use crate::model::journal::{DeadEnd, Decision, Mistake};
use crate::model::record::retracted_among;
use crate::model::{Body, Digest, Handoff, Id, Record};

impl Body {
    /// Whether it quotes claims: a handoff or digest.
    pub fn quotes(&self) -> bool {
        matches!(self, Body::Handoff(_) | Body::Digest(_))
    }

    /// The ids of the claims in a handoff or digest; none for other records.
    pub fn quoted_claims(&self) -> BTreeSet<Id> {
        let mut out = BTreeSet::new();
        if self.quotes() {
            // looks at each and keeps all
            self.clone().retain_claims(|id| {
                out.insert(id.clone());
                true
            });
        }
        out
    }

    /// Leaves out of a handoff or digest the claims for which `holds` is false; those without an id are kept. No effect on
    /// other records.
    pub fn retain_claims(&mut self, mut holds: impl FnMut(&Id) -> bool) {
        let (items, decisions, dead_ends, mistakes) = match self {
            Body::Handoff(of) => {
                of.relevant.retain(|relevant| holds(&relevant.id));
                ([&mut of.findings, &mut of.unknowns], &mut of.decisions, &mut of.dead_ends, &mut of.mistakes)
            }
            Body::Digest(of) => {
                of.answers.retain(|reply| reply.id.as_ref().is_none_or(&mut holds));
                ([&mut of.findings, &mut of.unknowns], &mut of.decisions, &mut of.dead_ends, &mut of.mistakes)
            }
            _ => return,
        };
        let mut holds = |id: &Option<Id>| id.as_ref().is_none_or(&mut holds);
        items.into_iter().for_each(|items| items.retain(|item| holds(&item.id)));
        decisions.retain(|decision| holds(&decision.id));
        dead_ends.retain(|dead_end| holds(&dead_end.id));
        mistakes.retain(|mistake| holds(&mistake.id));
    }
}

/// The claims in a handoff or digest, with their main texts.
macro_rules! quoting {
    ($($quotes:ident)*) => {
        $(impl $quotes {
            /// Calls `mark` with the id and the main text of each claim that it quotes.
            pub fn mark_claims(&mut self, mark: impl Fn(&Id, &mut String)) {
                let mark = |(id, text): (&Option<Id>, &mut String)| id.iter().for_each(|id| mark(id, text));
                self.findings.iter_mut().chain(&mut self.unknowns).map(|of| (&of.id, &mut of.text)).for_each(mark);
                self.dead_ends.iter_mut().map(|of| (&of.id, &mut of.approach)).for_each(mark);
                self.decisions.iter_mut().map(|of| (&of.id, &mut of.text)).for_each(mark);
                self.mistakes.iter_mut().map(|of| (&of.id, &mut of.text)).for_each(mark);
            }
        })*
    };
}

quoting! { Handoff Digest }

impl Record {
    /// Calls `mark` with the id and the main text of the claim that it is, or of each claim that it quotes.
    pub fn mark_claims(&mut self, mark: impl Fn(&Id, &mut String)) {
        match &mut self.body {
            Body::Handoff(of) => of.mark_claims(mark),
            Body::Digest(of) => of.mark_claims(mark),
            body => body.claim_mut().into_iter().for_each(|claim| mark(&self.envelope.id, claim.text)),
        }
    }
}

impl Body {
    /// Replaces claims in a handoff or digest of agent `ai`: by their ids, the claims in force that replace each of them, of the same
    /// kind, which name their agent if it is another. One that is there already is not repeated.
    pub fn replace_claims(&mut self, ai: &str, successors: &BTreeMap<Id, impl AsRef<[Record]>>) {
        let mut seen = self.quoted_claims();
        let (items, decisions, dead_ends, mistakes) = match self {
            Body::Handoff(of) => {
                ([&mut of.findings, &mut of.unknowns], &mut of.decisions, &mut of.dead_ends, &mut of.mistakes)
            }
            Body::Digest(of) => {
                ([&mut of.findings, &mut of.unknowns], &mut of.decisions, &mut of.dead_ends, &mut of.mistakes)
            }
            _ => return,
        };
        let mut newer = |of: &Option<Id>| -> Option<Vec<&Record>> {
            let all = successors.get(of.as_ref()?)?.as_ref();
            Some(all.iter().filter(|record| seen.insert(record.envelope.id.clone())).collect())
        };
        let id = |record: &Record| Some(record.envelope.id.clone());
        let text = |text: &str, record: &Record| match record.envelope.ai.as_str() {
            same if same == ai => text.to_owned(),
            other => format!("{text} (corrected by {other})"),
        };
        for items in items {
            replace(
                items,
                |item| newer(&item.id),
                |record| Some(Item { id: id(record), text: text(record.body.claim()?.text, record) }),
            );
        }
        replace(
            decisions,
            |one| newer(&one.id),
            |record| match &record.body {
                Body::Decision(new) => Some(Decision { id: id(record), text: text(&new.text, record), ..new.quoted() }),
                _ => None,
            },
        );
        replace(
            dead_ends,
            |one| newer(&one.id),
            |record| match &record.body {
                Body::DeadEnd(new) => {
                    Some(DeadEnd { id: id(record), approach: text(&new.approach, record), ..new.quoted() })
                }
                _ => None,
            },
        );
        replace(
            mistakes,
            |one| newer(&one.id),
            |record| match &record.body {
                Body::Mistake(new) => Some(Mistake { id: id(record), text: text(&new.text, record), ..new.quoted() }),
                _ => None,
            },
        );
    }
}

/// Puts what replaces an entry in its place.
fn replace<'r, T>(
    list: &mut Vec<T>,
    mut newer: impl FnMut(&T) -> Option<Vec<&'r Record>>,
    quoted: impl Fn(&Record) -> Option<T>,
) {
    for one in std::mem::take(list) {
        match newer(&one) {
            Some(records) => list.extend(records.into_iter().filter_map(&quoted)),
            None => list.push(one),
        }
    }
}

/// What the retracts in force among the records of a note name.
pub fn gone_by<'r>(records: impl IntoIterator<Item = &'r Record>) -> BTreeSet<Id> {
    let records: Vec<&Record> = records.into_iter().collect();
    if !records.iter().any(|record| matches!(record.body, Body::Retract(_))) {
        return BTreeSet::new();
    }
    let by_id: BTreeMap<&Id, &Record> = records.iter().map(|record| (&record.envelope.id, *record)).collect();
    retracted_among(records.iter().copied(), |id| by_id.get(id).copied(), &BTreeSet::new())
}

/// Leaves out of the handoffs and digests of a note what is no longer in force.
pub fn leave_out_gone(records: &mut [Record]) {
    let gone = gone_by(&*records);
    if !gone.is_empty() {
        records.iter_mut().for_each(|record| record.body.retain_claims(|id| !gone.contains(id)));
    }
}
