//! What refers to the handoffs of a task, each step read once.

use std::collections::HashMap;

use crate::fold::task::claims::Claim;
use crate::fold::task::state::{TaskAction, TaskEvent};
use empirica_notes::model::{Id, SessionId, Verdict};

/// Steps by place, in effective order.
type Places = Vec<usize>;

/// The steps of a task, found by what they refer to.
pub struct Replies<'t> {
    steps: Vec<&'t TaskEvent>,
    place_of: HashMap<&'t Id, usize>,
    accepts_of: HashMap<&'t Id, Places>,
    /// Handoffs, superseded ones too, that continue another.
    continuing: HashMap<&'t Id, Places>,
    /// Handoffs in force that continue none.
    hand_on: HashMap<Option<&'t SessionId>, FirstAfter<'t>>,
    /// The same, by agent, and by agent and receiver.
    of_agent: HashMap<(&'t str, Option<&'t str>), BySession<'t>>,
    handed_to: HashMap<&'t str, Places>,
}

impl<'t> Replies<'t> {
    /// Of steps in effective order.
    pub fn new(steps: Vec<&'t TaskEvent>) -> Self {
        let (mut place_of, mut accepts_of, mut continuing) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (mut hand_on, mut of_agent, mut handed_to) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (place, step) in steps.iter().copied().enumerate() {
            let session = step.envelope.session.as_ref();
            place_of.entry(&step.envelope.id).or_insert(place);
            match &step.action {
                TaskAction::Accept(accept) => accepts_of.entry(&accept.of).or_insert_with(Places::new).push(place),
                TaskAction::Handoff(handoff, is_superseded) => {
                    if let Some(of) = &handoff.continues {
                        continuing.entry(of).or_insert_with(Places::new).push(place);
                    } else if !is_superseded {
                        hand_on.entry(session).or_insert_with(Vec::new).push((&step.envelope.id, place));
                        let agent = step.envelope.ai.as_str();
                        let mut add = |to| of_agent.entry((agent, to)).or_insert_with(Vec::new).push((session, place));
                        add(None);
                        handoff.to.as_deref().into_iter().for_each(|to| add(Some(to)));
                    }
                    if let Some(to) = handoff.to.as_deref().filter(|_| !is_superseded) {
                        handed_to.entry(to).or_insert_with(Places::new).push(place);
                    }
                }
                TaskAction::Answer(_) => {}
            }
        }
        let hand_on = hand_on.into_iter().map(|(session, steps)| (session, FirstAfter::new(steps))).collect();
        let of_agent = of_agent.into_iter().map(|(of, steps)| (of, BySession::new(steps))).collect();
        Replies { steps, place_of, accepts_of, continuing, hand_on, of_agent, handed_to }
    }

    /// The steps, in effective order.
    pub fn steps(&self) -> &[&'t TaskEvent] {
        &self.steps
    }

    /// The first of the steps with these ids.
    pub fn first<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Option<&'t TaskEvent> {
        self.at(ids.into_iter().filter_map(|id| self.place_of.get(id).copied()).min())
    }

    /// The last decision of the owner of a handoff about it.
    pub fn verdict<'i>(&self, versions: impl IntoIterator<Item = &'i Id>, owner: &Claim<'_>) -> Option<Verdict> {
        let accepts = self.referring(&self.accepts_of, versions);
        let own = accepts.filter(|(_, step)| step.envelope.session.as_ref() == owner.session());
        own.filter_map(|(place, step)| Some((place, step.decision()?)))
            .max_by_key(|(place, _)| *place)
            .map(|(_, of)| of)
    }

    /// What ended the work of the owner of a handoff: its first handoff that continues it, else its next one, else its decision that
    /// the task is complete.
    pub fn ended<'i>(
        &self,
        versions: impl IntoIterator<Item = &'i Id> + Clone,
        owner: &Claim<'_>,
    ) -> Option<&'t TaskEvent> {
        let later = |step: &TaskEvent| {
            step.envelope.session.as_ref() == owner.session() && step.envelope.id > owner.envelope.id
        };
        let continues = self.referring(&self.continuing, versions.clone()).filter(|(_, step)| later(step));
        let hands_on = || self.hand_on.get(&owner.session())?.after(&owner.envelope.id);
        let completed = || {
            let ends = |step: &TaskEvent| later(step) || step.envelope.id == owner.envelope.id;
            let accepts = self.referring(&self.accepts_of, versions).map(|(_, step)| step).filter(|step| ends(step));
            let complete = accepts.filter(|step| step.decision() == Some(Verdict::Complete));
            complete.max_by(|a, b| a.envelope.id.cmp(&b.envelope.id))
        };
        self.at(continues.map(|(place, _)| place).min().or_else(hands_on)).or_else(completed)
    }

    /// The next handoff of the task by the receiver, who did not say that it took this one up: to the sender, or as the newest that
    /// it was handed.
    pub fn answered(&self, to: &str, handoff: &TaskEvent) -> Option<&'t TaskEvent> {
        let (envelope, place) = (&handoff.envelope, *self.place_of.get(&handoff.envelope.id)?);
        let next = |of: (&str, Option<&str>)| self.of_agent.get(&of)?.next(place, envelope.session.as_ref());
        let newer = self.handed_to.get(to).and_then(|places| places.get(places.partition_point(|of| *of <= place)));
        let as_the_newest = next((to, None)).filter(|found| newer.is_none_or(|newer| found <= newer));
        self.at(as_the_newest.or_else(|| next((to, Some(&envelope.ai)))))
    }

    fn at(&self, place: Option<usize>) -> Option<&'t TaskEvent> {
        place.map(|place| self.steps[place])
    }

    fn referring<'i>(
        &self,
        of: &HashMap<&'t Id, Places>,
        ids: impl IntoIterator<Item = &'i Id>,
    ) -> impl Iterator<Item = (usize, &'t TaskEvent)> {
        let places = ids.into_iter().filter_map(|id| of.get(id)).flatten();
        places.map(|place| (*place, self.steps[*place]))
    }
}

/// Steps by id, each with the first place of those that are not older.
struct FirstAfter<'t>(Vec<(&'t Id, usize)>);

impl<'t> FirstAfter<'t> {
    fn new(mut steps: Vec<(&'t Id, usize)>) -> Self {
        steps.sort();
        for at in (1..steps.len()).rev() {
            steps[at - 1].1 = steps[at - 1].1.min(steps[at].1);
        }
        FirstAfter(steps)
    }

    /// The first place of a newer one.
    fn after(&self, id: &Id) -> Option<usize> {
        self.0.get(self.0.partition_point(|(of, _)| *of <= id)).map(|(_, place)| *place)
    }
}

/// Steps in effective order with their sessions; each with the index of the next of another session.
struct BySession<'t>(Vec<(Option<&'t SessionId>, usize, usize)>);

impl<'t> BySession<'t> {
    fn new(steps: Vec<(Option<&'t SessionId>, usize)>) -> Self {
        let mut out: Vec<_> = steps.into_iter().map(|(session, place)| (session, place, usize::MAX)).collect();
        for at in (1..out.len()).rev() {
            out[at - 1].2 = if out[at - 1].0 == out[at].0 { out[at].2 } else { at };
        }
        BySession(out)
    }

    /// The first place after another that is not of this session.
    fn next(&self, place: usize, session: Option<&SessionId>) -> Option<usize> {
        let (of, at, other) = self.0.get(self.0.partition_point(|(_, at, _)| *at <= place))?;
        if *of == session { self.0.get(*other).map(|(_, at, _)| *at) } else { Some(*at) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use empirica_notes::model::{Accept, Envelope, Handoff};

    fn id(n: usize) -> Id {
        Id::parse(&format!("01900000-0000-7000-8000-{n:012}")).expect("an id")
    }

    /// Of few agents and sessions, that refer to each other in any order.
    fn step(at: usize) -> impl Strategy<Value = TaskEvent> {
        let handoff = (0..3_usize, prop::option::of(0..12_usize), any::<bool>()).prop_map(|(to, of, is_superseded)| {
            let to = (to > 0).then(|| format!("a{to}"));
            let handoff = Handoff { to, continues: of.map(id), ..Handoff::default() };
            TaskAction::Handoff(Box::new(handoff), is_superseded)
        });
        let verdicts = [None, Some(Verdict::Continue), Some(Verdict::Complete)];
        let accept = (0..12_usize, prop::sample::select(verdicts.to_vec()))
            .prop_map(|(of, decision)| TaskAction::Accept(Accept { decision, ..Accept::new(id(of)) }));
        let said = (0..3_u8, 1..3_u8, prop_oneof![handoff, accept]);
        said.prop_map(move |(session, ai, action)| {
            let session = SessionId::parse(&format!("{session:08x}-0000-4000-8000-000000000000"));
            let (ai, at_time) = (format!("a{ai}"), String::new());
            TaskEvent {
                envelope: Envelope { v: 1, id: id(at), session, ai, at: at_time, commit: None, tree: None },
                action,
            }
        })
    }

    fn handed(step: &TaskEvent) -> Option<(&Handoff, bool)> {
        if let TaskAction::Handoff(handoff, superseded) = &step.action { Some((handoff, *superseded)) } else { None }
    }

    proptest! {
        /// What is looked up is what reading all steps finds.
        #[test]
        fn replies_are_those_that_all_steps_tell(
            steps in (0..12_usize).map(step).collect::<Vec<_>>().prop_shuffle(),
            versions in prop::collection::btree_set((0..12_usize).prop_map(id), 1..3),
            owner in 0..12_usize,
        ) {
            let steps: Vec<&TaskEvent> = steps.iter().collect();
            let replies = Replies::new(steps.clone());
            let owner = steps.iter().find_map(|step| match &step.action {
                TaskAction::Accept(accept) if step.envelope.id >= id(owner) => {
                    Some(Claim { envelope: &step.envelope, accept })
                }
                _ => None,
            });
            let first = steps.iter().find(|step| versions.contains(&step.envelope.id)).copied();
            prop_assert_eq!(replies.first(&versions), first);
            if let Some(owner) = &owner {
                prop_assert_eq!(replies.verdict(&versions, owner), verdict(&steps, &versions, owner));
                prop_assert_eq!(replies.ended(&versions, owner), ended(&steps, &versions, owner));
            }
            for (at, step) in steps.iter().enumerate().filter(|(_, step)| handed(step).is_some()) {
                prop_assert_eq!(replies.answered("a1", step), answered(&steps, "a1", at));
            }
        }
    }

    fn verdict(steps: &[&TaskEvent], versions: &BTreeSet<Id>, owner: &Claim<'_>) -> Option<Verdict> {
        let own = steps.iter().rev().filter(|step| step.envelope.session.as_ref() == owner.session());
        own.filter(|step| matches!(&step.action, TaskAction::Accept(accept) if versions.contains(&accept.of)))
            .find_map(|step| step.decision())
    }

    fn ended<'t>(steps: &[&'t TaskEvent], versions: &BTreeSet<Id>, owner: &Claim<'_>) -> Option<&'t TaskEvent> {
        let is_own = |step: &&&TaskEvent| step.envelope.session.as_ref() == owner.session();
        let own = || steps.iter().filter(is_own).filter(|step| step.envelope.id > owner.envelope.id).copied();
        let of = |step: &TaskEvent| handed(step).map(|(handoff, superseded)| (handoff.continues.clone(), superseded));
        let continues = own().find(|step| matches!(of(step), Some((Some(of), _)) if versions.contains(&of)));
        let hands_on = own().find(|step| matches!(of(step), Some((None, false))));
        let completes = |step: &&TaskEvent| {
            matches!(&step.action, TaskAction::Accept(accept) if versions.contains(&accept.of))
                && step.decision() == Some(Verdict::Complete)
        };
        let claim = steps.iter().filter(|step| step.envelope.id == owner.envelope.id).copied();
        let completed = own().chain(claim).filter(completes).max_by_key(|step| &step.envelope.id);
        continues.or(hands_on).or(completed)
    }

    fn answered<'t>(steps: &[&'t TaskEvent], to: &str, at: usize) -> Option<&'t TaskEvent> {
        let envelope = &steps[at].envelope;
        let mut is_newest = true;
        for step in &steps[at + 1..] {
            let Some((next, false)) = handed(step) else { continue };
            let by_receiver = step.envelope.ai == to && step.envelope.session != envelope.session;
            if next.continues.is_none() && by_receiver && (is_newest || next.to.as_ref() == Some(&envelope.ai)) {
                return Some(step);
            }
            is_newest &= next.to.as_deref() != Some(to);
        }
        None
    }
}
