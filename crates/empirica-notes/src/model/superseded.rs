//! Which handoffs of a session are superseded by another one.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::substance::Substance;
use crate::model::{Body, Id, Record, SessionId};

/// The ids of handoffs that another of the same session put aside: first what was put aside by a record, unless it says
/// more than the one named for it, then, of the rest of each session, all but the newest of those that say most. One of
/// each session always stays.
pub fn superseded<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeSet<Id> {
    let mut of_session: BTreeMap<&SessionId, BTreeSet<&Id>> = BTreeMap::new();
    let mut says: BTreeMap<&Id, Substance> = BTreeMap::new();
    let mut named: Vec<(&Id, &Id)> = Vec::new();
    for record in records {
        match (&record.body, &record.head.session) {
            (Body::Supersede(supersede), _) => named.push((&supersede.of, &supersede.by)),
            (Body::Handoff(handoff), Some(session)) if handoff.kind == "epistemic" => {
                says.insert(&record.head.id, Substance::of(handoff));
                of_session.entry(session).or_default().insert(&record.head.id);
            }
            _ => {}
        }
    }
    let says_more = |(of, by): &(&Id, &Id)| says.get(of).zip(says.get(by)).is_some_and(|(of, by)| of > by);
    let mut out: BTreeSet<Id> = named.iter().filter(|pair| !says_more(pair)).map(|(of, _)| (*of).clone()).collect();
    for handoffs in of_session.values() {
        let most = |among: &mut dyn Iterator<Item = &Id>| among.max_by_key(|id| (says.get(id), *id)).cloned();
        let left = most(&mut handoffs.iter().copied().filter(|id| !out.contains(*id)));
        match left {
            Some(stays) => out.extend(handoffs.iter().filter(|id| ***id != stays).map(|id| (*id).clone())),
            None if handoffs.len() > 1 => {
                if let Some(stays) = most(&mut handoffs.iter().copied()) {
                    out.remove(&stays);
                }
            }
            // a single one in a note may well be put aside by one that stands elsewhere
            None => {}
        }
    }
    out
}
