//! Handoffs superseded by another of their session.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::handoff::substance::Substance;
use crate::model::{Body, Handoff, Id, Record, SessionId};

/// What a session hands over once: its work, or a stage of a task, which begins with the handoff that it took up.
pub type Stage<'h> = (&'h SessionId, Option<&'h str>, Option<&'h Id>);

impl Handoff {
    /// The stage that it hands over, as part of this session. A newer `epistemic` handoff of a stage supersedes the earlier ones.
    pub fn stage<'h>(&'h self, session: &'h SessionId) -> Stage<'h> {
        (session, self.task_id.as_deref(), self.continues.as_ref())
    }
}

/// The ids of superseded handoffs: those named by a supersede record, unless they have more [`Substance`] than their
/// successor; then, of each stage's others, all but the newest of those with the most. At least one handoff of each
/// stage always remains.
pub fn superseded<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeSet<Id> {
    let mut of_stage: BTreeMap<Stage<'_>, BTreeSet<&Id>> = BTreeMap::new();
    let mut substance: BTreeMap<&Id, Substance> = BTreeMap::new();
    let mut named: Vec<(&Id, &Id)> = Vec::new();
    for record in records {
        match (&record.body, &record.envelope.session) {
            (Body::Supersede(supersede), _) => named.push((&supersede.of, &supersede.by)),
            (Body::Handoff(handoff), Some(session)) if handoff.kind == "epistemic" => {
                substance.insert(&record.envelope.id, Substance::of(handoff));
                of_stage.entry(handoff.stage(session)).or_default().insert(&record.envelope.id);
            }
            _ => {}
        }
    }
    let has_more = |(of, by): &(&Id, &Id)| substance.get(of).zip(substance.get(by)).is_some_and(|(of, by)| of > by);
    let mut out: BTreeSet<Id> = named.iter().filter(|pair| !has_more(pair)).map(|(of, _)| (*of).clone()).collect();
    for handoffs in of_stage.values() {
        let most = |among: &mut dyn Iterator<Item = &Id>| among.max_by_key(|id| (substance.get(id), *id)).cloned();
        let kept = most(&mut handoffs.iter().copied().filter(|id| !out.contains(*id)));
        match kept {
            Some(kept_id) => out.extend(handoffs.iter().filter(|id| ***id != kept_id).map(|id| (*id).clone())),
            None if handoffs.len() > 1 => {
                if let Some(kept_id) = most(&mut handoffs.iter().copied()) {
                    out.remove(&kept_id);
                }
            }
            // the successor of a single handoff may be in another note
            None => {}
        }
    }
    out
}
