//! Who took up a handoff: the first session that acknowledged it and did not yield, unless another took it over.

use std::collections::BTreeSet;

use crate::fold::task::state::{TaskAction, TaskEvent};
use empirica_notes::model::{Accept, Body, Envelope, Handoff, Id, Record, SessionId};

/// An acknowledgement by another session than that of the handoff.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim<'r> {
    pub envelope: &'r Envelope,
    pub accept: &'r Accept,
}

impl<'r> Claim<'r> {
    pub fn session(&self) -> Option<&'r SessionId> {
        self.envelope.session.as_ref()
    }
}

/// Who has a handoff. The same for any order of the records, in every clone.
#[derive(Debug, Default, PartialEq)]
pub struct Claims<'r> {
    /// Whose it is: of the sessions that did not yield, the one whose acknowledgement has the least id, or that took it over from that.
    pub holder: Option<Claim<'r>>,
    /// The first acknowledgements of sessions that took it up, too, without knowing of the holder's.
    pub beaten: Vec<Claim<'r>>,
}

impl Claims<'_> {
    /// The claim that a session lost, if it did not know of the holder's.
    pub fn lost_by(&self, session: &SessionId) -> Option<&Claim<'_>> {
        self.beaten.iter().find(|claim| claim.session() == Some(session))
    }
}

/// Handoffs, and the acknowledgements of them.
#[derive(Debug, Default)]
pub struct Receipts<'r> {
    handoffs: Vec<(&'r Envelope, &'r Handoff)>,
    accepts: Vec<Claim<'r>>,
}

impl<'r> FromIterator<&'r Record> for Receipts<'r> {
    fn from_iter<I: IntoIterator<Item = &'r Record>>(records: I) -> Self {
        let mut out = Receipts::default();
        for Record { envelope, body } in records {
            match body {
                Body::Handoff(handoff) => out.handoffs.push((envelope, handoff)),
                Body::Accept(accept) => out.accepts.push(Claim { envelope, accept }),
                _ => {}
            }
        }
        out
    }
}

impl<'r> FromIterator<&'r TaskEvent> for Receipts<'r> {
    fn from_iter<I: IntoIterator<Item = &'r TaskEvent>>(events: I) -> Self {
        let mut out = Receipts::default();
        for TaskEvent { envelope, action } in events {
            match action {
                TaskAction::Handoff(handoff, _) => out.handoffs.push((envelope, handoff)),
                TaskAction::Accept(accept) => out.accepts.push(Claim { envelope, accept }),
                TaskAction::Answer(_) => {}
            }
        }
        out
    }
}

impl<'r> Receipts<'r> {
    /// The ids of all versions of a handoff: those it revises or that revise it, and the others of its stage.
    pub fn versions(&self, id: &Id) -> BTreeSet<Id> {
        let mut out = BTreeSet::from([id.clone()]);
        loop {
            let before = out.len();
            let stages: Vec<_> =
                self.members(&out).filter_map(|(envelope, handoff)| stage(envelope, handoff)).collect();
            let revised: Vec<Id> = self.members(&out).filter_map(|(_, handoff)| handoff.regenerates.clone()).collect();
            let others = self.handoffs.iter().filter(|(envelope, handoff)| {
                handoff.regenerates.as_ref().is_some_and(|of| out.contains(of))
                    || stage(envelope, handoff).is_some_and(|stage| stages.contains(&stage))
            });
            let others: Vec<Id> = others.map(|(envelope, _)| envelope.id.clone()).collect();
            out.extend(others.into_iter().chain(revised));
            if out.len() == before {
                return out;
            }
        }
    }

    fn members<'s>(&'s self, ids: &'s BTreeSet<Id>) -> impl Iterator<Item = &'s (&'r Envelope, &'r Handoff)> {
        self.handoffs.iter().filter(|(envelope, _)| ids.contains(&envelope.id))
    }

    /// Who took up a handoff, or another version of it.
    pub fn of(&self, id: &Id) -> Claims<'r> {
        let versions = self.versions(id);
        let owners: BTreeSet<&SessionId> =
            self.members(&versions).filter_map(|(envelope, _)| envelope.session.as_ref()).collect();
        let mut all: Vec<Claim<'r>> = self.accepts.clone();
        all.retain(|claim| versions.contains(&claim.accept.of));
        all.retain(|claim| claim.session().is_some_and(|session| !owners.contains(session)));
        all.sort_by(|a, b| a.envelope.id.cmp(&b.envelope.id));
        let everyone = all.clone();
        // what a session said before it yielded does not count, unless all yielded to each other
        let yields = |claim: &&Claim<'r>| {
            let to = claim.accept.yields_to.as_ref();
            let named = to.and_then(|to| everyone.iter().find(|other| other.envelope.id == *to));
            named.is_some_and(|named| named.session() != claim.session())
        };
        let yielded: Vec<Claim<'r>> = all.iter().filter(yields).copied().collect();
        let is_void = |claim: &Claim<'r>| {
            yielded.iter().any(|last| last.session() == claim.session() && last.envelope.id >= claim.envelope.id)
        };
        if !all.iter().all(is_void) {
            all.retain(|claim| !is_void(claim));
        }
        let is_start = |claim: &&Claim<'r>| {
            claim.accept.takes_over.as_ref().is_none_or(|of| all.iter().all(|other| other.envelope.id != *of))
        };
        let Some(mut holder) = all.iter().find(is_start).or(all.first()).copied() else { return Claims::default() };
        let mut held: Vec<Claim<'r>> = vec![holder];
        loop {
            // of those who take it over from the holder, the first; each once
            let takes_it = |claim: &&Claim<'r>| {
                let of = claim.accept.takes_over.as_ref();
                let named = of.and_then(|of| all.iter().find(|other| other.envelope.id == *of));
                named.is_some_and(|named| named.session() == holder.session()) && !held.contains(*claim)
            };
            let Some(next) = all.iter().find(takes_it).copied() else { break };
            holder = next;
            held.push(next);
        }
        let held: BTreeSet<&SessionId> = held.iter().filter_map(Claim::session).collect();
        let mut beaten: Vec<Claim<'r>> = Vec::new();
        for claim in everyone.iter().filter(|claim| claim.accept.resolution.is_none()) {
            let is_new = beaten.iter().all(|other| other.session() != claim.session());
            if is_new && claim.session().is_some_and(|session| !held.contains(session)) {
                beaten.push(*claim);
            }
        }
        Claims { holder: Some(holder), beaten }
    }
}

fn stage<'h>(
    envelope: &'h Envelope,
    handoff: &'h Handoff,
) -> Option<empirica_notes::model::handoff::superseded::Stage<'h>> {
    let session = envelope.session.as_ref().filter(|_| handoff.kind == "epistemic");
    session.map(|session| handoff.stage(session))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u64) -> Id {
        Id::parse(&format!("01900000-0000-7000-8000-{n:012}")).expect("an id")
    }

    fn session(n: u32) -> SessionId {
        SessionId::parse(&format!("{n:08x}-0000-4000-8000-000000000000")).expect("an id")
    }

    fn envelope(n: u64, of: u32) -> Envelope {
        let (commit, tree) = (None, None);
        Envelope { v: 1, id: id(n), session: Some(session(of)), ai: "a".into(), at: String::new(), commit, tree }
    }

    fn handoff(n: u64, of: u32) -> Record {
        let handoff = Handoff { kind: "epistemic".into(), task_id: Some("t".into()), ..Handoff::default() };
        Record { envelope: envelope(n, of), body: Body::Handoff(Box::new(handoff)) }
    }

    fn yields(n: u64, by: u32, to: u64) -> Record {
        let accept = Accept { yields_to: Some(id(to)), ..Accept::new(id(1)) };
        Record { envelope: envelope(n, by), body: Body::Accept(accept) }
    }

    fn accept(n: u64, by: u32, of: u64, takes_over: Option<u64>) -> Record {
        let accept = Accept { takes_over: takes_over.map(id), ..Accept::new(id(of)) };
        Record { envelope: envelope(n, by), body: Body::Accept(accept) }
    }

    /// The holder of handoff 1, and who was beaten.
    fn held(records: &[Record]) -> (Option<SessionId>, Vec<SessionId>) {
        let found = |receipts: Receipts<'_>| {
            let claims = receipts.of(&id(1));
            let holder = claims.holder.and_then(|claim| claim.session().cloned());
            (holder, claims.beaten.iter().filter_map(|claim| claim.session().cloned()).collect())
        };
        let out = found(records.iter().collect());
        assert_eq!(out, found(records.iter().rev().collect()), "the same in any order");
        out
    }

    #[test]
    fn the_first_session_has_it() {
        let first = [handoff(1, 1), accept(2, 2, 1, None), accept(3, 3, 1, None), accept(4, 2, 1, None)];
        assert_eq!(held(&first), (Some(session(2)), vec![session(3)]));
        assert_eq!(held(&[handoff(1, 1), accept(2, 1, 1, None)]), (None, vec![]), "its own does not count");
        assert_eq!(held(&[accept(2, 2, 1, None)]), (Some(session(2)), vec![]), "the handoff is elsewhere");
    }

    #[test]
    fn it_is_taken_over_by_name() {
        let over = [handoff(1, 1), accept(2, 2, 1, None), accept(3, 3, 1, Some(2)), accept(4, 4, 1, Some(3))];
        assert_eq!(held(&over), (Some(session(4)), vec![]));
        let at_once = [handoff(1, 1), accept(2, 2, 1, None), accept(3, 3, 1, Some(2)), accept(4, 4, 1, Some(2))];
        assert_eq!(held(&at_once), (Some(session(3)), vec![session(4)]));
        let back = [handoff(1, 1), accept(2, 2, 1, None), accept(3, 3, 1, Some(2)), accept(4, 2, 1, Some(3))];
        assert_eq!(held(&back), (Some(session(2)), vec![]));
        let lost = [handoff(1, 1), accept(3, 3, 1, Some(2))];
        assert_eq!(held(&lost), (Some(session(3)), vec![]), "the first is elsewhere");
    }

    #[test]
    fn who_yields_has_it_no_longer() {
        let both = [handoff(1, 1), accept(2, 2, 1, None), accept(3, 3, 1, None), yields(4, 2, 3)];
        assert_eq!(held(&both), (Some(session(3)), vec![session(2)]));
        let back = [&both[..], &[accept(5, 2, 1, Some(3))]].concat();
        assert_eq!(held(&back), (Some(session(2)), vec![]), "it takes it over later");
        let each = [&both[..], &[yields(5, 3, 2)]].concat();
        assert_eq!(held(&each), (Some(session(2)), vec![session(3)]), "over two remotes");
        let unknown = [handoff(1, 1), accept(2, 2, 1, None), yields(4, 2, 3)];
        assert_eq!(held(&unknown), (Some(session(2)), vec![]), "the other is elsewhere");
    }

    #[test]
    fn all_versions_of_a_handoff_are_taken_up_at_once() {
        let newer = handoff(5, 1);
        let all = [handoff(1, 1), accept(2, 2, 1, None), newer];
        let receipts: Receipts<'_> = all.iter().collect();
        let holder = receipts.of(&id(5)).holder.and_then(|claim| claim.session().cloned());
        assert_eq!(holder, Some(session(2)));
    }
}
