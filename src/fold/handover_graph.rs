//! Handovers between sessions.

use std::collections::{BTreeMap, BTreeSet};

use crate::fold::session_records::SessionRecords;
use empirica_notes::model::{Id, SessionId};

/// A session that continued another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handover {
    /// `None` if the continued session wrote none.
    pub handoff: Option<Id>,
    /// The continued session.
    pub from: SessionId,
    /// The continuing session.
    pub to: SessionId,
    /// The record of the continuing session that states it: its start, or an acknowledgement.
    pub by: Id,
    /// Whether it acknowledged the handoff rather than only started with it.
    pub accepted: bool,
}

/// Handovers among these sessions, in order of time; starting with a handoff and acknowledging it counts once.
pub fn handovers<'g>(sessions: impl IntoIterator<Item = &'g SessionRecords> + Clone) -> Vec<Handover> {
    let mut by_handoff: BTreeMap<&Id, &SessionId> = BTreeMap::new();
    let mut of_session: BTreeMap<&SessionId, Vec<&Id>> = BTreeMap::new();
    for records in sessions.clone() {
        let handoffs: Vec<&Id> = records.handoffs.iter().map(|(envelope, _)| &envelope.id).collect();
        by_handoff.extend(handoffs.iter().map(|id| (*id, &records.session.id)));
        of_session.insert(&records.session.id, handoffs);
    }
    let mut out = Vec::new();
    for records in sessions {
        let session = &records.session;
        let began_with = session.from_handoff.as_ref().filter(|id| by_handoff.contains_key(id));
        let from = began_with.and_then(|id| by_handoff.get(id).copied()).or(session.from.as_ref());
        if let Some(from) = from.filter(|from| of_session.contains_key(from) && **from != session.id) {
            let before = || of_session.get(from)?.iter().rev().find(|id| **id < &session.began).copied();
            let (handoff, by) = (began_with.or_else(before).cloned(), session.began.clone());
            out.push(Handover { handoff, from: from.clone(), to: session.id.clone(), by, accepted: false });
        }
        for (envelope, accept) in &records.accepts {
            let Some(from) = by_handoff.get(&accept.of).filter(|from| ***from != session.id) else { continue };
            let (handoff, to) = (Some(accept.of.clone()), session.id.clone());
            out.push(Handover { handoff, from: (*from).clone(), to, by: envelope.id.clone(), accepted: true });
        }
    }
    let mut seen = BTreeSet::new();
    out.sort_by(|a, b| (&a.by, a.accepted).cmp(&(&b.by, b.accepted)));
    out.retain(|handover| seen.insert((handover.handoff.clone(), handover.from.clone(), handover.to.clone())));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::session::SessionStart;
    use empirica_notes::model::{Accept, Body, Envelope, Handoff, Record};

    fn id(n: u32) -> Id {
        Id::parse(&format!("00000000-0000-7000-8000-0000{n:08x}")).unwrap()
    }

    fn session(n: u32) -> SessionId {
        SessionId::parse(&format!("{n:08x}-0000-4000-8000-000000000000")).unwrap()
    }

    fn record(n: u32, of: u32, body: Body) -> Record {
        let at = format!("2026-01-01T00:00:{n:02}.000Z");
        let (commit, tree) = (None, None);
        Record {
            envelope: Envelope { v: 1, id: id(n), session: Some(session(of)), ai: "a".into(), at, commit, tree },
            body,
        }
    }

    fn start(n: u32, of: u32, from: Option<u32>, from_handoff: Option<u32>) -> Record {
        let start = SessionStart {
            task: None,
            kind: None,
            external_id: None,
            worktree: "main".into(),
            place: "p".into(),
            from: from.map(session),
            from_handoff: from_handoff.map(id),
        };
        record(n, of, Body::SessionStart(start))
    }

    fn handoff(n: u32, of: u32) -> Record {
        record(n, of, Body::Handoff(Box::new(Handoff { kind: "epistemic".into(), ..Handoff::default() })))
    }

    fn accept(n: u32, of: u32, handoff: u32) -> Record {
        record(n, of, Body::Accept(Accept::new(id(handoff))))
    }

    /// Handoff, from, to, record and accepted of each handover.
    fn handovers(records: &[Record], sessions: &[u32]) -> Vec<(Option<Id>, SessionId, SessionId, Id, bool)> {
        let session_records: Vec<SessionRecords> =
            sessions.iter().filter_map(|n| SessionRecords::collect(records, &session(*n))).collect();
        super::handovers(&session_records).into_iter().map(|p| (p.handoff, p.from, p.to, p.by, p.accepted)).collect()
    }

    #[test]
    fn a_session_begins_with_a_handoff_or_takes_it_up() {
        let records = [
            start(1, 1, None, None),
            handoff(2, 1),
            handoff(3, 1),
            start(4, 2, Some(1), Some(2)),
            accept(5, 2, 2),
            start(6, 3, Some(1), None),
            start(7, 4, None, None),
            accept(8, 4, 3),
            accept(9, 1, 3),
        ];
        let expected = [(2, 1, 2, 4, false), (3, 1, 3, 6, false), (3, 1, 4, 8, true)];
        let expected =
            expected.map(|(h, from, to, by, accepted)| (Some(id(h)), session(from), session(to), id(by), accepted));
        assert_eq!(handovers(&records, &[1, 2, 3, 4]), expected);
        assert_eq!(handovers(&records, &[4, 3, 2, 1]), expected, "in any order");
        assert_eq!(handovers(&records, &[2, 3, 4]), [], "the continued session is missing");
    }

    #[test]
    fn a_session_may_be_continued_without_a_handoff() {
        let records = [start(1, 1, None, None), start(2, 2, Some(1), None), handoff(3, 1), start(4, 4, Some(4), None)];
        assert_eq!(handovers(&records, &[1, 2, 4]), [(None, session(1), session(2), id(2), false)]);
    }
}
