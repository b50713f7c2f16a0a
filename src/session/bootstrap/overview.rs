//! The project for a new context: sessions, open work and claims, folded from records.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::fold::assessment::calibration;
use crate::fold::assessment::confidence::{overall, round4};
use crate::fold::journal::{OwnedGoal, answers, goals};
use empirica_notes::model::goal::{GoalState, GoalStatus};
use empirica_notes::model::handoff::Calibration;
use empirica_notes::model::handoff::substance::Substance;
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::journal::{DeadEnd, Decision, Finding, Mistake, Unknown};
use empirica_notes::model::session::Session;
use empirica_notes::model::{Assessment, Body, Envelope, Handoff, Id, Phase, Record, SessionId};

/// The impact of a finding without one.
pub const DEFAULT_IMPACT: f64 = 0.5;
/// How many newer findings halve the importance of one.
pub const HALVED_BY: usize = 50;

/// The project. Texts that differ only in case and outer white space are one entry; in every list the own session's entries
/// come first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// How many sessions are stored.
    pub sessions: usize,
    /// How many agents began them.
    pub agents: usize,
    /// The requesting session and its agent; `None` if it is not known.
    pub own: Option<(SessionId, String)>,
    /// The sessions that have not ended, the last seen first.
    pub active_sessions: Vec<RecentSession>,
    /// Each agent once: active ones first, then the last seen.
    pub team: Vec<AgentWork>,
    /// The open goals of all sessions: those that agents set before those that were suggested to active sessions, then by
    /// priority, those of active sessions first, then the newest.
    pub goals: Vec<OpenGoal>,
    /// The open questions, newest first.
    pub unknowns: Vec<DatedClaim<Unknown>>,
    /// Findings, most important first, then newest.
    pub findings: Vec<LearnedItem>,
    /// Dead ends, newest first.
    pub dead_ends: Vec<DatedClaim<DeadEnd>>,
    /// Mistakes, newest first.
    pub mistakes: Vec<DatedClaim<Mistake>>,
    /// Decisions, newest first.
    pub decisions: Vec<DatedClaim<Decision>>,
    /// The last handoff in force of each agent, newest first.
    pub handoffs: Vec<HandoffLine>,
}

/// An active session.
#[derive(Debug, Clone, PartialEq)]
pub struct RecentSession {
    pub session: Session,
    /// Phase and round of its last assessment; `None` before the first.
    pub phase: Option<(Phase, u32)>,
    /// The overall confidence of its last assessment, in [0, 1]; `None` without one.
    pub overall_confidence: Option<f64>,
    /// The time of its last record, RFC 3339 UTC.
    pub last_seen: String,
    /// Whether it is the requesting session.
    pub own: bool,
}

/// An agent, by its newest session.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentWork {
    /// Its newest session.
    pub session: Session,
    pub calibration_status: Calibration,
    /// The overall confidence of its last assessment, in [0, 1]; `None` without one.
    pub overall_confidence: Option<f64>,
    /// The first next step of its handoff in force, else its first open goal, else `None`.
    pub next_step: Option<String>,
    /// The time of its last record, RFC 3339 UTC.
    pub last_seen: String,
    /// Whether it is the agent of the requesting session.
    pub own: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OpenGoal {
    pub goal: GoalState,
    /// The session that has it now; `None` if none is named.
    pub session: Option<SessionId>,
    /// That session's agent; `None` if nothing else is stored of it.
    pub ai: Option<String>,
    pub active: bool,
    /// Whether the requesting session has it.
    pub own: bool,
    /// How many goals have this text, 1 or more.
    pub count: usize,
}

/// A claim of the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct DatedClaim<T> {
    pub head: Envelope,
    pub body: T,
    /// Whether the requesting session logged it.
    pub own: bool,
    /// How many records have this text, 1 or more.
    pub count: usize,
}

/// A finding.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedItem {
    pub noted: DatedClaim<Finding>,
    /// Its present [`importance`], in [0, 1].
    pub importance: f64,
}

/// An agent's last handoff.
#[derive(Debug, Clone, PartialEq)]
pub struct HandoffLine {
    /// Its envelope.
    pub head: Envelope,
    pub task: String,
    pub calibration_status: Calibration,
    /// Whether the requesting session wrote it.
    pub own: bool,
}

/// The importance of a finding: its impact, else [`DEFAULT_IMPACT`], weighed with its age by rank: halved by [`HALVED_BY`]
/// newer findings, a third by twice as many, and so on.
pub fn importance(impact: Option<f64>, newer: usize) -> f64 {
    round4(impact.unwrap_or(DEFAULT_IMPACT) / (1.0 + newer as f64 / HALVED_BY as f64))
}

/// Folds records, oldest first, for the requesting session, if known; the stored sessions and agents are not counted. `all`
/// has the sessions that made the records; active ones, and the newest of each agent, are there with all their records.
pub fn overview(records: &[&Record], all: &BTreeMap<SessionId, Session>, own: Option<&SessionId>) -> Overview {
    let mut states: BTreeMap<&SessionId, SessionState<'_>> = BTreeMap::new();
    for record in records {
        if let Some(id) = &record.head.session {
            states.entry(id).or_default().add(record);
        }
    }
    let own = own.and_then(|id| all.get(id)).map(|session| (session.id.clone(), session.ai.clone()));
    let (own_id, own_ai) = own.as_ref().map(|(id, ai)| (id, ai)).unzip();
    let is_own = |session: Option<&SessionId>| own_id.is_some() && session == own_id;

    let mut active: Vec<(&Session, &SessionState<'_>)> =
        all.values().filter(|s| s.is_active()).filter_map(|s| Some((s, states.get(&s.id)?))).collect();
    active.sort_by_key(|(session, state)| (!is_own(Some(&session.id)), Reverse(state.last)));
    let mut newest: BTreeMap<&str, &Session> = BTreeMap::new();
    for session in all.values() {
        let known = newest.entry(&session.ai).or_insert(session);
        if session.began > known.began {
            *known = session;
        }
    }
    let mut team: Vec<(&Session, &SessionState<'_>)> =
        newest.into_values().filter_map(|s| Some((s, states.get(&s.id)?))).collect();
    team.sort_by_key(|(session, state)| (Some(&session.ai) != own_ai, !session.is_active(), Reverse(state.last)));

    let open = open_goals(records, all, own_id);
    let handoffs = in_force(records);
    // the first of each session
    let mut steps: BTreeMap<Option<&SessionId>, Option<&String>> = BTreeMap::new();
    for (head, handoff) in &handoffs {
        steps.entry(head.session.as_ref()).or_insert(handoff.next_steps.first());
    }
    let next_step = |session: &Session| {
        let goal = || open.iter().find(|goal| goal.session.as_ref() == Some(&session.id)).map(|goal| &goal.goal.text);
        steps.get(&Some(&session.id)).copied().flatten().or_else(goal).cloned()
    };
    let team = team.iter().map(|(session, state)| AgentWork {
        session: (*session).clone(),
        calibration_status: state.calibration(),
        overall_confidence: state.confidence(),
        next_step: next_step(session),
        last_seen: state.last_seen.to_owned(),
        own: Some(&session.ai) == own_ai,
    });
    let active_sessions = active.iter().map(|(session, state)| RecentSession {
        session: (*session).clone(),
        phase: state.newest.map(|assessment| (assessment.phase, assessment.round)),
        overall_confidence: state.confidence(),
        last_seen: state.last_seen.to_owned(),
        own: is_own(Some(&session.id)),
    });
    let answered = answers(records.iter().copied());
    Overview {
        active_sessions: active_sessions.collect(),
        team: team.collect(),
        unknowns: claims(
            records,
            own_id,
            |record| match &record.body {
                Body::Unknown(unknown) if !answered.contains_key(&record.head.id) => Some(unknown),
                _ => None,
            },
            |unknown| folded(&[&unknown.text]),
        ),
        findings: findings(records, own_id),
        dead_ends: claims(
            records,
            own_id,
            |record| if let Body::DeadEnd(dead_end) = &record.body { Some(dead_end) } else { None },
            |dead_end| folded(&[&dead_end.approach, &dead_end.why]),
        ),
        mistakes: claims(
            records,
            own_id,
            |record| if let Body::Mistake(mistake) = &record.body { Some(mistake) } else { None },
            |mistake| folded(&[&mistake.text, mistake.prevention.as_deref().unwrap_or_default()]),
        ),
        decisions: claims(
            records,
            own_id,
            |record| if let Body::Decision(decision) = &record.body { Some(decision) } else { None },
            |decision| folded(&[&decision.text, &decision.why]),
        ),
        handoffs: last_of_each(handoffs, is_own),
        goals: once(open, |goal| folded(&[&goal.goal.text]), |goal| goal.count += 1),
        own,
        ..Overview::default()
    }
}

/// The assessments and the last record of a session.
#[derive(Default)]
struct SessionState<'a> {
    first_preflight: Option<&'a Assessment>,
    newest: Option<&'a Assessment>,
    last: Option<&'a Id>,
    last_seen: &'a str,
}

impl<'a> SessionState<'a> {
    fn add(&mut self, record: &'a Record) {
        (self.last, self.last_seen) = (Some(&record.head.id), &record.head.at);
        if let Body::Assessment(assessment) = &record.body {
            self.newest = Some(assessment);
            self.first_preflight = self.first_preflight.or(Some(&**assessment).filter(|a| a.phase == Phase::Preflight));
        }
    }

    fn confidence(&self) -> Option<f64> {
        self.newest.and_then(|assessment| overall(&assessment.vectors))
    }

    /// As in a handoff of the session: the first PREFLIGHT against a POSTFLIGHT that nothing followed.
    fn calibration(&self) -> Calibration {
        let after = self.newest.filter(|assessment| assessment.phase == Phase::Postflight);
        calibration::status(self.first_preflight.map(|a| &a.vectors), after.map(|a| &a.vectors))
    }
}

/// The open goals in their order, with repetitions.
fn open_goals(records: &[&Record], all: &BTreeMap<SessionId, Session>, own: Option<&SessionId>) -> Vec<OpenGoal> {
    let open = goals(records.iter().copied()).into_iter().filter(|owned| owned.goal.status == GoalStatus::Open);
    let mut out: Vec<OpenGoal> = open
        .map(|OwnedGoal { session, goal, .. }| {
            let of = session.as_ref().and_then(|id| all.get(id));
            OpenGoal {
                goal,
                ai: of.map(|session| session.ai.clone()),
                active: of.is_some_and(Session::is_active),
                own: own.is_some() && session.as_ref() == own,
                session,
                count: 1,
            }
        })
        .collect();
    out.sort_by(|a, b| {
        let key = |goal: &OpenGoal| (!goal.own, goal.goal.vector.is_some(), goal.goal.priority, !goal.active);
        key(a).cmp(&key(b)).then_with(|| b.goal.id.cmp(&a.goal.id))
    });
    out
}

/// The claims of a kind, newest first, with repetitions.
fn dated<'a, T: Clone + 'a>(
    records: &[&'a Record],
    own: Option<&SessionId>,
    kind: impl Fn(&'a Record) -> Option<&'a T>,
) -> Vec<DatedClaim<T>> {
    let own = |record: &Record| own.is_some() && record.head.session.as_ref() == own;
    let claim = |record: &&'a Record| {
        Some(DatedClaim { head: record.head.clone(), body: kind(record)?.clone(), own: own(record), count: 1 })
    };
    let mut out: Vec<DatedClaim<T>> = records.iter().filter_map(claim).collect();
    out.sort_by(|a, b| b.head.id.cmp(&a.head.id));
    out
}

/// The claims of a kind, each text once: the own session's first, then newest first.
fn claims<'a, T: Clone + 'a>(
    records: &[&'a Record],
    own: Option<&SessionId>,
    kind: impl Fn(&'a Record) -> Option<&'a T>,
    key: impl Fn(&T) -> String,
) -> Vec<DatedClaim<T>> {
    let mut all = dated(records, own, kind);
    // the sort is stable: newest first among equals
    all.sort_by_key(|claim| !claim.own);
    once(all, |claim| key(&claim.body), |claim| claim.count += 1)
}

fn findings(records: &[&Record], own: Option<&SessionId>) -> Vec<LearnedItem> {
    let all = dated(records, own, |record| match &record.body {
        Body::Finding(finding) => Some(finding),
        _ => None,
    });
    let weighed = |(newer, noted): (usize, DatedClaim<Finding>)| LearnedItem {
        importance: importance(noted.body.impact, newer),
        noted,
    };
    let mut out: Vec<LearnedItem> = all.into_iter().enumerate().map(weighed).collect();
    // the sort is stable: newest first among equals
    out.sort_by(|a, b| b.noted.own.cmp(&a.noted.own).then(b.importance.total_cmp(&a.importance)));
    once(out, |learned| folded(&[&learned.noted.body.text]), |learned| learned.noted.count += 1)
}

/// The handoffs that none supersedes, newest first.
fn in_force<'a>(records: &[&'a Record]) -> Vec<(&'a Envelope, &'a Handoff)> {
    let superseded = superseded(records.iter().copied());
    let handoff = |record: &&'a Record| match &record.body {
        Body::Handoff(handoff) if !superseded.contains(&record.head.id) => Some((&record.head, &**handoff)),
        _ => None,
    };
    records.iter().rev().filter_map(handoff).collect()
}

/// The newest handoff of each agent, with work if there is one.
fn last_of_each(
    mut handoffs: Vec<(&Envelope, &Handoff)>,
    is_own: impl Fn(Option<&SessionId>) -> bool,
) -> Vec<HandoffLine> {
    // the sort is stable: newest first among equals
    handoffs.sort_by_key(|(_, handoff)| Substance::of(handoff) < Substance::Work);
    let mut seen = BTreeSet::new();
    handoffs.retain(|(head, _)| seen.insert(&head.ai));
    handoffs.sort_by_key(|(head, _)| (!is_own(head.session.as_ref()), Reverse(&head.id)));
    let line = |(head, handoff): (&Envelope, &Handoff)| HandoffLine {
        head: head.clone(),
        task: handoff.task.clone(),
        calibration_status: handoff.calibration_status,
        own: is_own(head.session.as_ref()),
    };
    handoffs.into_iter().map(line).collect()
}

/// Texts as they are compared.
fn folded(texts: &[&str]) -> String {
    let folded: Vec<String> = texts.iter().map(|text| text.trim().to_lowercase()).collect();
    folded.join("\0")
}

/// The first entry of each key; `repeated` is called on it for every other one.
fn once<E>(all: Vec<E>, key: impl Fn(&E) -> String, repeated: impl Fn(&mut E)) -> Vec<E> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut out: Vec<E> = Vec::new();
    for entry in all {
        let place = *places.entry(key(&entry)).or_insert(out.len());
        match out.get_mut(place) {
            Some(first) => repeated(first),
            None => out.push(entry),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_newer_findings_halve_the_importance_and_the_default_impact_is_the_middle() {
        assert_eq!(importance(Some(0.8), 0), 0.8);
        assert_eq!(importance(Some(0.8), 50), 0.4);
        assert_eq!(importance(Some(0.9), 100), 0.3);
        assert_eq!(importance(None, 0), 0.5);
        assert_eq!(importance(None, 50), 0.25);
        assert_eq!(importance(Some(0.0), 0), 0.0);
        assert_eq!(importance(Some(1.0), 50), importance(None, 0));
        assert!(importance(Some(1.0), 49) > importance(None, 0) && importance(Some(1.0), 51) < importance(None, 0));
    }

    #[test]
    fn equal_texts_are_one_entry_with_a_count() {
        let texts = ["Cold cache", " cold CACHE ", "warm", "cold cache"].map(|text| (text.to_owned(), 1));
        let once = once(texts.to_vec(), |(text, _)| folded(&[text]), |(_, count)| *count += 1);
        assert_eq!(once, [("Cold cache".to_owned(), 3), ("warm".to_owned(), 1)]);
        assert_ne!(folded(&["a", "b"]), folded(&["ab", ""]));
    }
}
