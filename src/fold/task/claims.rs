//! Who has a handoff: the first session of its receiver that acknowledged it and did not give it up, unless another took it over.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use crate::fold::task::state::{TaskAction, TaskEvent};
use empirica_notes::model::handoff::superseded::Stage;
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

    /// Whether it ends the claims that its session made before: it gives the handoff back, or leaves it to a known claim of another session.
    fn gives_up(&self, by_id: &HashMap<&Id, Claim<'r>>) -> bool {
        let yields = self.accept.yields_to.as_ref().and_then(|id| by_id.get(id));
        self.accept.released || yields.is_some_and(|other| other.session() != self.session())
    }
}

fn by_id<'r>(all: &[Claim<'r>]) -> HashMap<&'r Id, Claim<'r>> {
    all.iter().map(|claim| (&claim.envelope.id, *claim)).collect()
}

/// Who has a handoff. The same for any order of the records, in every clone.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Claims<'r> {
    /// Whom it is for: of an escalated one that a person resolved, whom it goes to then.
    pub to: Option<&'r str>,
    /// Whose it is; `None` while nobody has it.
    pub owner: Option<Claim<'r>>,
    /// The claim of the session that owned it first, from which others took it over.
    pub first: Option<Claim<'r>>,
    /// The first claims of sessions that claimed it, too, and neither lost it to a session that took it over nor gave it up at their end.
    pub rivals: Vec<Claim<'r>>,
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
    /// With the versions of each handoff together: those that `regenerates` connects, and those of a stage to the same receiver.
    pub fn grouped(self) -> Groups<'r> {
        let mut group_of: HashMap<&'r Id, usize> = HashMap::new();
        let mut of_stage: HashMap<(Stage<'r>, Option<&'r str>), usize> = HashMap::new();
        // groups that turn out to be one
        let mut same: Vec<usize> = Vec::new();
        fn root(same: &mut [usize], mut group: usize) -> usize {
            while same[group] != group {
                // halves the way for the next
                same[group] = same[same[group]];
                group = same[group];
            }
            group
        }
        let mut handoffs = self.handoffs;
        handoffs.sort_by(|a, b| a.0.id.cmp(&b.0.id));
        let receivers: HashMap<&Id, Option<&str>> =
            handoffs.iter().map(|(envelope, handoff)| (&envelope.id, handoff.to.as_deref())).collect();
        for (envelope, handoff) in &handoffs {
            let own = *group_of.entry(&envelope.id).or_insert_with(|| {
                same.push(same.len());
                same.len() - 1
            });
            let mut joins = Vec::new();
            if let Some(of) = &handoff.regenerates
                && receivers.get(of).is_none_or(|to| *to == handoff.to.as_deref())
            {
                joins.push(*group_of.entry(of).or_insert_with(|| {
                    same.push(same.len());
                    same.len() - 1
                }));
            }
            if let Some(stage) = stage(envelope, handoff) {
                joins.push(*of_stage.entry(stage).or_insert(own));
            }
            for other in joins {
                let (a, b) = (root(&mut same, own), root(&mut same, other));
                same[a.max(b)] = a.min(b);
            }
        }
        let mut groups: HashMap<usize, Group<'r>> = HashMap::new();
        for (envelope, handoff) in handoffs {
            let group = root(&mut same, group_of[&envelope.id]);
            groups.entry(group).or_default().handoffs.push((envelope, handoff));
        }
        for claim in self.accepts {
            let group = *group_of.entry(&claim.accept.of).or_insert_with(|| {
                same.push(same.len());
                same.len() - 1
            });
            groups.entry(root(&mut same, group)).or_default().accepts.push(claim);
        }
        let group_of = group_of.into_iter().map(|(id, group)| (id, root(&mut same, group))).collect();
        Groups { group_of, groups, no_claims: Claims::default() }
    }

    /// Who has a handoff, or another version of it.
    pub fn of(self, id: &Id) -> Claims<'r> {
        self.grouped().of(id).clone()
    }
}

/// The versions of a handoff, oldest first, and the acknowledgements of them.
#[derive(Debug, Default)]
struct Group<'r> {
    handoffs: Vec<(&'r Envelope, &'r Handoff)>,
    accepts: Vec<Claim<'r>>,
    claims: OnceCell<Claims<'r>>,
    ids: OnceCell<BTreeSet<Id>>,
}

/// Handoffs and acknowledgements, the versions of each handoff together.
#[derive(Debug)]
pub struct Groups<'r> {
    group_of: HashMap<&'r Id, usize>,
    groups: HashMap<usize, Group<'r>>,
    no_claims: Claims<'r>,
}

impl<'r> Groups<'r> {
    fn group(&self, id: &Id) -> Option<&Group<'r>> {
        self.groups.get(self.group_of.get(id)?)
    }

    /// A number that the versions of a handoff have in common; `None` if it is unknown.
    pub fn number(&self, id: &Id) -> Option<usize> {
        self.group_of.get(id).copied()
    }

    /// The ids of all versions of a handoff.
    pub fn versions(&self, id: &Id) -> Cow<'_, BTreeSet<Id>> {
        match self.group(id).map(Group::ids) {
            Some(ids) if ids.contains(id) => Cow::Borrowed(ids),
            ids => Cow::Owned(ids.into_iter().flatten().chain([id]).cloned().collect()),
        }
    }

    /// The newest version of a handoff that is known.
    pub fn newest(&self, id: &Id) -> Option<&'r Envelope> {
        self.group(id)?.handoffs.last().map(|(envelope, _)| *envelope)
    }

    /// Who has a handoff, or another version of it.
    pub fn of(&self, id: &Id) -> &Claims<'r> {
        self.group(id).map_or(&self.no_claims, |group| group.claims.get_or_init(|| group.claims()))
    }
}

impl<'r> Group<'r> {
    fn ids(&self) -> &BTreeSet<Id> {
        self.ids.get_or_init(|| self.handoffs.iter().map(|(envelope, _)| envelope.id.clone()).collect())
    }

    /// The first resolution of an escalated one.
    fn resolved(&self) -> Option<&'r Id> {
        let resolutions = self.accepts.iter().filter(|claim| claim.accept.resolution.is_some());
        resolutions.map(|claim| &claim.envelope.id).min()
    }

    /// Whom the handoff is for: an escalated one goes on when a person resolved it.
    fn to(&self, is_resolved: bool) -> Option<&'r str> {
        let (_, newest) = self.handoffs.last()?;
        match &newest.route {
            Some(route) if route.escalated && is_resolved => route.then.as_deref(),
            _ => newest.to.as_deref(),
        }
    }

    /// In a time that grows with the number of acknowledgements, of which others may store very many.
    fn claims(&self) -> Claims<'r> {
        let owners: BTreeSet<&SessionId> =
            self.handoffs.iter().filter_map(|(envelope, _)| envelope.session.as_ref()).collect();
        let first_version = self.handoffs.first().map(|(envelope, _)| &envelope.id);
        let resolved = self.resolved();
        let to = self.to(resolved.is_some());
        let is_claim = |claim: &Claim<'r>| {
            let Claim { envelope, accept } = claim;
            let then = self.to(resolved.is_some_and(|resolved| *resolved <= envelope.id));
            let is_receiver = then.is_none_or(|to| to == envelope.ai) || accept.takes_over.is_some();
            accept.resolution.is_none()
                // nobody can accept what is not yet there
                && first_version.is_none_or(|first| envelope.id > *first)
                && (accept.yields_to.is_some() || accept.released || is_receiver)
        };
        let mut all: Vec<Claim<'r>> = self.accepts.clone();
        all.retain(is_claim);
        all.retain(|claim| claim.session().is_some_and(|session| !owners.contains(session)));
        all.sort_by(|a, b| a.envelope.id.cmp(&b.envelope.id));
        let everyone = all.clone();
        // what a session said before it gave up does not count, unless all yielded to each other
        let known = by_id(&everyone);
        let gave_up = everyone.iter().filter(|claim| claim.gives_up(&known));
        let gave_up: HashMap<_, _> = gave_up.map(|claim| (claim.session(), &claim.envelope.id)).collect();
        let is_void = |claim: &Claim<'r>| gave_up.get(&claim.session()).is_some_and(|last| **last >= claim.envelope.id);
        let lost = lost_to_released(&everyone);
        let has_released = |claim: &Claim<'r>| {
            let ends = claim.session().and_then(|session| lost.get(session));
            ends.is_some_and(|end| claim.envelope.id <= **end)
        };
        all.retain(|claim| !has_released(claim));
        if all.iter().any(|claim| !is_void(claim)) {
            all.retain(|claim| !is_void(claim));
        }
        let left = by_id(&all);
        let taken_from = |claim: &Claim<'r>| claim.accept.takes_over.as_ref().and_then(|of| left.get(of));
        let Some(first) = all.iter().find(|claim| taken_from(claim).is_none()).or(all.first()).copied() else {
            return Claims { to, ..Claims::default() };
        };
        // by the session from which they take it over, the first last
        let mut takers: HashMap<Option<&SessionId>, Vec<Claim<'r>>> = HashMap::new();
        for claim in all.iter().rev().filter(|claim| claim.envelope.id != first.envelope.id) {
            if let Some(from) = taken_from(claim) {
                takers.entry(from.session()).or_default().push(*claim);
            }
        }
        let (mut owner, mut line) = (first, BTreeSet::from([first.session()]));
        while let Some(next) = takers.get_mut(&owner.session()).and_then(Vec::pop) {
            owner = next;
            line.insert(next.session());
        }
        let mut rivals: Vec<Claim<'r>> = Vec::new();
        for claim in everyone.iter().filter(|claim| !has_released(claim)) {
            // the first of each session
            if line.insert(claim.session()) {
                rivals.push(*claim);
            }
        }
        Claims { to, owner: Some(owner), first: Some(first), rivals }
    }
}

/// The sessions that released the handoff or had lost it to one that did, each with the last record up to which its claims are void.
fn lost_to_released<'r>(all: &[Claim<'r>]) -> HashMap<&'r SessionId, &'r Id> {
    let known = by_id(all);
    // by the session that got it: the claim by which it did, the session that lost it, and the record up to which the latter's claims are void
    let mut got: HashMap<&SessionId, Vec<(&Id, &SessionId, &Id)>> = HashMap::new();
    let mut released: Vec<(&SessionId, &Id)> = Vec::new();
    for Claim { envelope, accept } in all {
        let (Some(own), id) = (envelope.session.as_ref(), &envelope.id) else { continue };
        released.extend(accept.released.then_some((own, id)));
        let other =
            |of: &Id| Some((known.get(of)?.session().filter(|other| *other != own)?, &known.get(of)?.envelope.id));
        let to = accept.yields_to.as_ref().and_then(other);
        let from = accept.takes_over.as_ref().and_then(other);
        match (to, from) {
            (Some((to, by)), _) => got.entry(to).or_default().push((by, own, id)),
            (None, Some((from, _))) => got.entry(own).or_default().push((id, from, id)),
            (None, None) => {}
        }
    }
    got.values_mut().for_each(|got| got.sort_by(|a, b| b.cmp(a)));
    let mut lost: HashMap<&SessionId, &Id> = HashMap::new();
    while let Some((session, until)) = released.pop() {
        let end = lost.entry(session).or_insert(until);
        *end = until.max(*end);
        let end = *end;
        while let Some((_, loser, until)) = got.get_mut(session).and_then(|got| got.pop_if(|(by, ..)| *by <= end)) {
            released.push((loser, until));
        }
    }
    lost
}

fn stage<'h>(envelope: &'h Envelope, handoff: &'h Handoff) -> Option<(Stage<'h>, Option<&'h str>)> {
    let session = envelope.session.as_ref().filter(|_| handoff.kind == "epistemic");
    session.map(|session| (handoff.stage(session), handoff.to.as_deref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::handoff::Route;

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

    /// The owner of handoff 1, and its rivals.
    fn held(records: &[Record]) -> (Option<SessionId>, Vec<SessionId>) {
        let found = |receipts: Receipts<'_>| {
            let claims = receipts.of(&id(1));
            let holder = claims.owner.and_then(|claim| claim.session().cloned());
            (holder, claims.rivals.iter().filter_map(|claim| claim.session().cloned()).collect())
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
        assert_eq!(held(&[handoff(1, 1), accept(0, 2, 1, None)]), (None, vec![]), "before there was anything");
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
    fn only_the_receiver_claims_by_a_word() {
        let for_b = |n: u64| {
            let mut record = handoff(n, 1);
            if let Body::Handoff(handoff) = &mut record.body {
                handoff.to = Some("b".to_owned());
            }
            record
        };
        assert_eq!(held(&[for_b(1), accept(2, 2, 1, None)]), (None, vec![]), "the agent a comments");
        assert_eq!(held(&[for_b(1), accept(2, 2, 1, Some(1))]), (Some(session(2)), vec![]), "it takes it over");
        let moved = [for_b(1), accept(2, 2, 1, Some(1)), handoff(3, 1)];
        let receipts: Receipts<'_> = moved.iter().collect();
        assert!(receipts.of(&id(3)).owner.is_none(), "a version for another receiver is another handoff");
    }

    #[test]
    fn who_ends_gives_it_up() {
        let released = |n: u64, by: u32| {
            let accept = Accept { released: true, ..Accept::new(id(1)) };
            Record { envelope: envelope(n, by), body: Body::Accept(accept) }
        };
        let all = [handoff(1, 1), accept(2, 2, 1, None), released(3, 2)];
        assert_eq!(held(&all), (None, vec![]));
        let next = [&all[..], &[accept(4, 3, 1, None)]].concat();
        assert_eq!(held(&next), (Some(session(3)), vec![]));
        let both = [handoff(1, 1), accept(2, 2, 1, None), accept(3, 3, 1, None), yields(4, 2, 3), released(5, 3)];
        assert_eq!(held(&both), (None, vec![]), "who yielded was told to stop");
        let over = [handoff(1, 1), accept(2, 2, 1, None), accept(3, 3, 1, Some(2)), accept(4, 4, 1, Some(3))];
        assert_eq!(held(&[&over[..], &[released(5, 4)]].concat()), (None, vec![]), "so were those before");
        let again = [&over[..], &[accept(5, 2, 1, None), released(6, 4)]].concat();
        assert_eq!(held(&again), (Some(session(2)), vec![]), "unless it claimed it again");
        let loser = [&over[..], &[released(5, 2), released(6, 3)]].concat();
        assert_eq!(held(&loser), (Some(session(4)), vec![]), "who lost it ends");
    }

    #[test]
    fn what_was_said_before_a_resolution_is_a_remark() {
        let mut escalated = handoff(1, 1);
        if let Body::Handoff(handoff) = &mut escalated.body {
            let then = Some("a".to_owned());
            let (rule, detail, budget) = ("r".to_owned(), None, None);
            handoff.route = Some(Route { rule, escalated: true, then, detail, budget });
            handoff.to = Some("maria".to_owned());
        }
        let resolves = Accept { resolution: Some("go on".to_owned()), ..Accept::new(id(1)) };
        let mut resolution = Record { envelope: envelope(3, 9), body: Body::Accept(resolves) };
        resolution.envelope.ai = "maria".to_owned();
        let all = [escalated, accept(2, 2, 1, None), resolution];
        assert_eq!(held(&all), (None, vec![]));
        assert_eq!(held(&[&all[..], &[accept(4, 2, 1, None)]].concat()), (Some(session(2)), vec![]));
    }

    #[test]
    fn all_versions_of_a_handoff_are_taken_up_at_once() {
        let newer = handoff(5, 1);
        let all = [handoff(1, 1), accept(2, 2, 1, None), newer];
        let receipts: Receipts<'_> = all.iter().collect();
        let holder = receipts.of(&id(5)).owner.and_then(|claim| claim.session().cloned());
        assert_eq!(holder, Some(session(2)));
    }
}
