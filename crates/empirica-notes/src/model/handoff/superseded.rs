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

/// The handoffs among the records that a supersede record of their own session names, each with its successor, which may be elsewhere.
/// What another session says of them does not count.
pub fn replacements<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeMap<&'a Id, &'a Id> {
    let records: Vec<&Record> = records.into_iter().collect();
    let handoffs = records.iter().copied().filter(|record| matches!(record.body, Body::Handoff(_)));
    let session_of: BTreeMap<&Id, Option<&SessionId>> =
        handoffs.map(|record| (&record.envelope.id, record.envelope.session.as_ref())).collect();
    let named = records.iter().filter_map(|record| match &record.body {
        Body::Supersede(supersede) => Some((supersede, record.envelope.session.as_ref())),
        _ => None,
    });
    let own = named.filter(|(supersede, session)| session_of.get(&supersede.of) == Some(session));
    own.map(|(supersede, _)| (&supersede.of, &supersede.by)).collect()
}

/// The ids of superseded handoffs: those with a [replacement](replacements), unless they have more [`Substance`] than that; then, of each stage's others, all but the newest of those with the most. At least one handoff of each
/// stage always remains.
pub fn superseded<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeSet<Id> {
    let records: Vec<&Record> = records.into_iter().collect();
    let mut of_stage: BTreeMap<Stage<'_>, BTreeSet<&Id>> = BTreeMap::new();
    let mut substance: BTreeMap<&Id, Substance> = BTreeMap::new();
    for record in &records {
        if let (Body::Handoff(handoff), Some(session)) = (&record.body, &record.envelope.session)
            && handoff.kind == "epistemic"
        {
            substance.insert(&record.envelope.id, Substance::of(handoff));
            of_stage.entry(handoff.stage(session)).or_default().insert(&record.envelope.id);
        }
    }
    let has_more = |(of, by): &(&Id, &Id)| substance.get(of).zip(substance.get(by)).is_some_and(|(of, by)| of > by);
    let replaced = replacements(records).into_iter().filter(|pair| !has_more(pair));
    let mut out: BTreeSet<Id> = replaced.map(|(of, _)| of.clone()).collect();
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
