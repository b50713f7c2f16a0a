//! The chain of a task: each handoff with who took it up, when, and what came of it.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use chrono::{DateTime, Utc};

use crate::fold::task::claims::{Claim, Claims, Groups, Receipts};
use crate::fold::task::replies::Replies;
use crate::fold::task::state::{TaskAction, TaskEvent, TaskState, TaskStatus};
use empirica_notes::model::{Envelope, Handoff, Id, Verdict};

/// A handoff in force, and the work that its receiver did.
#[derive(Debug)]
pub struct Link<'t> {
    pub envelope: &'t Envelope,
    pub handoff: &'t Handoff,
    /// The decision of the handoff.
    pub decision: Option<Verdict>,
    /// Whom it is for.
    pub to: Option<&'t str>,
    /// Who has it; `None` while nobody does.
    pub owner: Option<Claim<'t>>,
    /// Who had it before another session took it over.
    pub taken_over_from: Option<Claim<'t>>,
    /// Who claimed it, too.
    pub rivals: Rc<[Claim<'t>]>,
    /// The last decision of its owner about it.
    pub verdict: Option<Verdict>,
    /// The handoff, or the completing acknowledgement, that ended its receiver's work.
    pub ended: Option<&'t TaskEvent>,
    /// From the first version of the handoff until it was claimed, else until its receiver handed on, else until now; in seconds.
    pub waited: u64,
    /// From then until the receiver handed on or, while it works, until now; in seconds.
    pub worked: Option<u64>,
    /// Whether it, its receiver's work, or a person's decision is still awaited.
    pub is_open: bool,
    /// Whether a person must decide.
    pub is_escalated: bool,
}

impl<'t> Link<'t> {
    /// Who has the handoff, else its receiver.
    pub fn receiver(&self) -> Option<&'t str> {
        self.owner.map(|owner| owner.envelope.ai.as_str()).or(self.to)
    }
}

/// What all versions of a handoff have in common.
struct Shared<'t> {
    claims: Claims<'t>,
    rivals: Rc<[Claim<'t>]>,
    /// The first version.
    first: &'t Envelope,
    ended: Option<&'t TaskEvent>,
    verdict: Option<Verdict>,
}

impl<'t> Shared<'t> {
    fn of(groups: &Groups<'t>, replies: &Replies<'t>, envelope: &'t Envelope) -> Self {
        let (mut claims, versions) = (groups.of(&envelope.id).clone(), groups.versions(&envelope.id));
        Shared {
            rivals: std::mem::take(&mut claims.rivals).into(),
            first: replies.first(&*versions).map_or(envelope, |first| &first.envelope),
            ended: claims.owner.and_then(|owner| replies.ended(&*versions, &owner)),
            verdict: claims.owner.and_then(|owner| replies.verdict(&*versions, &owner)),
            claims,
        }
    }
}

/// The links of a task, in effective order.
pub fn chain(state: &TaskState, now: DateTime<Utc>) -> Vec<Link<'_>> {
    let groups = state.steps.iter().collect::<Receipts<'_>>().grouped();
    let replies = Replies::new(state.in_order().collect());
    let waiting_for_a_person: BTreeSet<&Id> = state.escalated.iter().map(|at| &state.steps[*at].envelope.id).collect();
    let mut of_group: HashMap<Option<usize>, Shared<'_>> = HashMap::new();
    let links = replies.steps().iter().filter_map(|step| {
        let TaskAction::Handoff(handoff, false) = &step.action else { return None };
        let envelope = &step.envelope;
        let group = of_group.entry(groups.number(&envelope.id));
        let shared = group.or_insert_with(|| Shared::of(&groups, &replies, envelope));
        let claims = &shared.claims;
        let ended = match claims.owner {
            Some(_) => shared.ended,
            None => claims.to.and_then(|to| replies.answered(to, step)),
        };
        let at_once = |claim: Claim<'_>| time(claim.envelope, now);
        let (first_claim, taken_at) = (claims.first.map(at_once), claims.owner.map(at_once));
        let is_closed = ended.is_some() || state.status == TaskStatus::Complete;
        let until = |from: DateTime<Utc>, to: DateTime<Utc>| (to - from).num_seconds().max(0) as u64;
        // what nobody claimed before the task was complete waits no longer
        let end = if is_closed { replies.steps().last().map_or(now, |last| time(&last.envelope, now)) } else { now };
        let is_escalated = waiting_for_a_person.contains(&envelope.id);
        Some(Link {
            envelope,
            handoff,
            decision: step.decision(),
            to: claims.to,
            owner: claims.owner,
            taken_over_from: claims.first.filter(|first| Some(first.session()) != claims.owner.map(|o| o.session())),
            rivals: shared.rivals.clone(),
            verdict: shared.verdict,
            ended,
            waited: until(
                time(shared.first, now),
                first_claim.or(ended.map(|ended| time(&ended.envelope, now))).unwrap_or(end),
            ),
            worked: taken_at.map(|taken| until(taken, ended.map_or(end, |ended| time(&ended.envelope, now)))),
            is_open: is_escalated || !is_closed && (claims.to.is_some() || claims.owner.is_some()),
            is_escalated,
        })
    });
    links.collect()
}

/// The time of a record; `now` if it is none.
fn time(envelope: &Envelope, now: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(&envelope.at).map_or(now, |at| at.to_utc())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::task::state::task_state;
    use empirica_notes::model::{Accept, Body, Record, SessionId};

    fn id(n: u64) -> Id {
        Id::parse(&format!("01900000-0000-7000-8000-{n:012}")).expect("an id")
    }

    /// Record number `n`, `minute` minutes after the start, of session and agent `of`.
    fn record(n: u64, minute: u32, of: &str, body: Body) -> Record {
        let digit = of.len();
        let session = SessionId::parse(&format!("{digit:08x}-0000-4000-8000-000000000000"));
        let at = format!("2026-01-01T10:{minute:02}:00.000Z");
        let envelope = Envelope { v: 1, id: id(n), session, ai: of.into(), at, commit: None, tree: None };
        Record { envelope, body }
    }

    fn handoff(to: Option<&str>, continues: Option<u64>) -> Body {
        Body::Handoff(Box::new(Handoff {
            kind: "epistemic".into(),
            task_id: Some("t".into()),
            to: to.map(str::to_owned),
            continues: continues.map(id),
            ..Handoff::default()
        }))
    }

    fn accept(of: u64, decision: Option<Verdict>) -> Body {
        Body::Accept(Accept { decision, ..Accept::new(id(of)) })
    }

    type Shown = (String, Option<String>, u64, Option<u64>, bool);

    /// Receiver, who took it up, minutes waited and worked, and whether it is open, of each link.
    fn links(records: &[Record]) -> Vec<Shown> {
        let state = task_state(records.to_vec(), &BTreeSet::new());
        let now = DateTime::parse_from_rfc3339("2026-01-01T11:00:00Z").expect("a time").to_utc();
        let link = |link: Link<'_>| {
            let by = link.owner.map(|claim| claim.envelope.ai.clone());
            let to = link.handoff.to.clone().unwrap_or_default();
            (to, by, link.waited / 60, link.worked.map(|worked| worked / 60), link.is_open)
        };
        chain(&state, now).into_iter().map(link).collect()
    }

    #[test]
    fn a_chain_has_waiting_and_work_of_each_stage() {
        let all = [
            record(1, 0, "lead", handoff(Some("tester"), None)),
            record(2, 12, "tester", accept(1, None)),
            record(3, 52, "tester", handoff(Some("validator"), Some(1))),
            record(4, 55, "validator", accept(3, None)),
        ];
        let tester = ("tester".to_owned(), Some("tester".to_owned()), 12, Some(40), false);
        let by = Some("validator".to_owned());
        assert_eq!(links(&all[..1]), [("tester".to_owned(), None, 60, None, true)]);
        assert_eq!(links(&all[..2])[0], ("tester".to_owned(), Some("tester".to_owned()), 12, Some(48), true));
        assert_eq!(links(&all), [tester.clone(), ("validator".to_owned(), by.clone(), 3, Some(5), true)]);
        let done = [&all[..], &[record(5, 58, "validator", accept(3, Some(Verdict::Complete)))]].concat();
        assert_eq!(links(&done), [tester, ("validator".to_owned(), by, 3, Some(3), false)]);
    }

    #[test]
    fn a_receiver_may_hand_on_without_a_word() {
        let all =
            [record(1, 0, "lead", handoff(Some("tester"), None)), record(2, 7, "tester", handoff(Some("lead"), None))];
        assert_eq!(links(&all)[0], ("tester".to_owned(), None, 7, None, false));
    }

    #[test]
    fn what_nobody_took_up_waits_until_the_task_is_complete() {
        let all = [
            record(1, 0, "lead", handoff(Some("tester"), None)),
            record(2, 5, "author", handoff(Some("validator"), None)),
            record(3, 30, "validator", accept(2, Some(Verdict::Complete))),
        ];
        assert_eq!(links(&all)[0], ("tester".to_owned(), None, 30, None, false));
    }
}
