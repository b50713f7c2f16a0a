//! What a newcomer needs to know of the whole project, folded from all records.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::fold::assessment::calibration;
use crate::fold::assessment::confidence::{overall, round4};
use crate::fold::journal::OwnedGoal;
use crate::fold::journal::answers;
use crate::fold::journal::by_session;
use crate::fold::journal::goals;
use empirica_notes::model::goal::{GoalState, GoalStatus};
use empirica_notes::model::handoff::Calibration;
use empirica_notes::model::handoff::substance::Substance;
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::journal::{DeadEnd, Decision, Finding, Mistake, Unknown};
use empirica_notes::model::session::Session;
use empirica_notes::model::{Assessment, Body, Envelope, Handoff, Id, Phase, Record, SessionId};

/// What a finding whose impact was not given counts as.
pub const UNSAID: f64 = 0.5;
/// How many newer findings halve the importance of one.
pub const HALVED_BY: usize = 50;

/// The project as it stands. Texts that say the same, but for case and outer white space, are there once; in every
/// list what the own session said comes first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// How many sessions are stored.
    pub sessions: usize,
    /// How many agents began them.
    pub agents: usize,
    /// The session that asks, and its agent; `None` when it is not known.
    pub own: Option<(SessionId, String)>,
    /// The sessions that have not ended, the last seen first.
    pub active_sessions: Vec<RecentSession>,
    /// Each agent once: active ones first, then the last seen.
    pub team: Vec<AgentWork>,
    /// The open goals of all sessions: those that agents set before those that were proposed to active sessions, then by
    /// priority, those of active sessions first, then the newest.
    pub goals: Vec<OpenGoal>,
    /// The questions nobody has answered, newest first.
    pub unknowns: Vec<DatedClaim<Unknown>>,
    /// What was learned, most important first, then newest.
    pub findings: Vec<LearnedItem>,
    /// What failed, newest first.
    pub dead_ends: Vec<DatedClaim<DeadEnd>>,
    /// What went wrong, newest first.
    pub mistakes: Vec<DatedClaim<Mistake>>,
    /// What was decided, newest first.
    pub decisions: Vec<DatedClaim<Decision>>,
    /// The last handoff in force of each agent, newest first.
    pub handoffs: Vec<HandoffLine>,
}

/// A session at work.
#[derive(Debug, Clone, PartialEq)]
pub struct RecentSession {
    pub session: Session,
    /// Phase and round of its last assessment; `None` before the first.
    pub phase: Option<(Phase, u32)>,
    /// The overall confidence of its last assessment, in [0, 1]; `None` without one.
    pub overall_confidence: Option<f64>,
    /// The time of its last record, RFC 3339 UTC.
    pub last_seen: String,
    /// Whether it is the session that asks.
    pub own: bool,
}

/// An agent, as its newest session shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentWork {
    /// Its newest session.
    pub session: Session,
    /// Whether knowing and doubting moved together in it.
    pub calibration_status: Calibration,
    /// The overall confidence of its last assessment, in [0, 1]; `None` without one.
    pub overall_confidence: Option<f64>,
    /// The first next step of its handoff in force, else its first open goal, else `None`.
    pub next_step: Option<String>,
    /// The time of its last record, RFC 3339 UTC.
    pub last_seen: String,
    /// Whether it is the agent that asks.
    pub own: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OpenGoal {
    pub goal: GoalState,
    /// The session that has it now; `None` when none is named.
    pub session: Option<SessionId>,
    /// That session's agent; `None` when nothing else is stored of it.
    pub ai: Option<String>,
    pub active: bool,
    /// Whether it is the session that asks.
    pub own: bool,
    /// How many goals say the same, 1 or more.
    pub count: usize,
}

/// Something that was said along the way.
#[derive(Debug, Clone, PartialEq)]
pub struct DatedClaim<T> {
    /// Who said it, when, on which commit.
    pub head: Envelope,
    /// What was said.
    pub body: T,
    /// Whether the session that asks said it.
    pub own: bool,
    /// How many records say the same, 1 or more.
    pub count: usize,
}

/// Something learned.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedItem {
    /// What, and who said it.
    pub noted: DatedClaim<Finding>,
    /// How much it matters now, in [0, 1]: see [`importance`].
    pub importance: f64,
}

/// An agent's last handoff.
#[derive(Debug, Clone, PartialEq)]
pub struct HandoffLine {
    /// Its envelope.
    pub head: Envelope,
    /// What was to be done.
    pub task: String,
    /// Whether knowing and doubting moved together.
    pub calibration_status: Calibration,
    /// Whether the session that asks wrote it.
    pub own: bool,
}

/// How much a finding matters: its impact ([`UNSAID`] when not given), weighed with its age by rank: halved when
/// [`HALVED_BY`] findings are newer, a third is left when twice as many are, and so on.
pub fn importance(impact: Option<f64>, newer: usize) -> f64 {
    round4(impact.unwrap_or(UNSAID) / (1.0 + newer as f64 / HALVED_BY as f64))
}

/// Folds records, oldest first, for the session that asks, if it is known. `all` has the sessions that made them; those that
/// are active, and the newest of each agent, are there with all their records.
pub fn overview<'a>(
    records: impl IntoIterator<Item = &'a Record> + Clone,
    all: &BTreeMap<SessionId, Session>,
    own: Option<&SessionId>,
) -> Overview {
    let of_session = by_session(records.clone());
    let stands: BTreeMap<&SessionId, ProjectState<'_>> = all
        .keys()
        .map(|id| (id, ProjectState::of(id, of_session.get(id).map(Vec::as_slice).unwrap_or_default())))
        .collect();
    let own = own.and_then(|id| all.get(id)).map(|session| (session.id.clone(), session.ai.clone()));
    let own_id = own.as_ref().map(|(id, _)| id);
    let is_own = |session: Option<&SessionId>| own_id.is_some() && session == own_id;

    let mut active: Vec<(&Session, &ProjectState<'_>)> =
        all.values().filter(|s| s.is_active()).filter_map(|s| Some((s, stands.get(&s.id)?))).collect();
    active.sort_by_key(|(session, stand)| (!is_own(Some(&session.id)), Reverse(stand.last)));
    let mut newest: BTreeMap<&str, &Session> = BTreeMap::new();
    for session in all.values() {
        let known = newest.entry(&session.ai).or_insert(session);
        if session.began > known.began {
            *known = session;
        }
    }

    let open = open_goals(records.clone(), all, own_id);
    let aside = superseded(records.clone());
    let handoffs = in_force(records.clone(), &aside);
    // the first of each session
    let mut named: BTreeMap<Option<&SessionId>, Option<&String>> = BTreeMap::new();
    for (head, handoff) in &handoffs {
        named.entry(head.session.as_ref()).or_insert(handoff.next_steps.first());
    }
    let mut set: BTreeMap<Option<&SessionId>, &String> = BTreeMap::new();
    for goal in &open {
        set.entry(goal.session.as_ref()).or_insert(&goal.goal.text);
    }
    let next_step = |session: &Session| {
        let id = Some(&session.id);
        named.get(&id).copied().flatten().or_else(|| set.get(&id).copied()).cloned()
    };
    let own_ai = own.as_ref().map(|(_, ai)| ai);
    let mut team: Vec<(&Session, &ProjectState<'_>)> =
        newest.values().filter_map(|s| Some((*s, stands.get(&s.id)?))).collect();
    team.sort_by_key(|(session, stand)| (Some(&session.ai) != own_ai, !session.is_active(), Reverse(stand.last)));

    let answered = answers(records.clone());
    let unknown = |record: &Record| match &record.body {
        Body::Unknown(unknown) if !answered.contains_key(&record.head.id) => Some(unknown.clone()),
        _ => None,
    };
    Overview {
        sessions: all.len(),
        agents: newest.len(),
        active_sessions: active
            .iter()
            .map(|(session, stand)| stand.active(session, is_own(Some(&session.id))))
            .collect(),
        team: team
            .iter()
            .map(|(session, stand)| AgentWork {
                session: (*session).clone(),
                calibration_status: stand.calibration(),
                overall_confidence: stand.confidence(),
                next_step: next_step(session),
                last_seen: stand.last_seen.to_owned(),
                own: Some(&session.ai) == own_ai,
            })
            .collect(),
        unknowns: once(noted(records.clone(), own_id, unknown), |n| folded(&[&n.body.text]), |n| n.count += 1),
        findings: findings(records.clone(), own_id),
        dead_ends: once(
            noted(records.clone(), own_id, |r| match &r.body {
                Body::DeadEnd(said) => Some(said.clone()),
                _ => None,
            }),
            |n| folded(&[&n.body.approach, &n.body.why]),
            |n| n.count += 1,
        ),
        mistakes: once(
            noted(records.clone(), own_id, |r| match &r.body {
                Body::Mistake(said) => Some(said.clone()),
                _ => None,
            }),
            |n| folded(&[&n.body.text, n.body.prevention.as_deref().unwrap_or_default()]),
            |n| n.count += 1,
        ),
        decisions: once(
            noted(records, own_id, |r| match &r.body {
                Body::Decision(said) => Some(said.clone()),
                _ => None,
            }),
            |n| folded(&[&n.body.text, &n.body.why]),
            |n| n.count += 1,
        ),
        handoffs: last_of_each(&handoffs, is_own),
        goals: once(open, |goal| folded(&[&goal.goal.text]), |goal| goal.count += 1),
        own,
    }
}

/// What the last and first assessments of a session say, and when it was last heard of.
struct ProjectState<'a> {
    first: Option<&'a Assessment>,
    assessed: Option<&'a Assessment>,
    last: Option<&'a Id>,
    last_seen: &'a str,
}

impl<'a> ProjectState<'a> {
    fn of(id: &SessionId, records: &[&'a Record]) -> Self {
        let mut out = ProjectState { first: None, assessed: None, last: None, last_seen: "" };
        for record in records.iter().filter(|record| record.head.session.as_ref() == Some(id)) {
            (out.last, out.last_seen) = (Some(&record.head.id), &record.head.at);
            if let Body::Assessment(assessment) = &record.body {
                out.assessed = Some(assessment);
                out.first = out.first.or(Some(&**assessment).filter(|a| a.phase == Phase::Preflight));
            }
        }
        out
    }

    fn confidence(&self) -> Option<f64> {
        self.assessed.and_then(|assessment| overall(&assessment.vectors))
    }

    /// As a handoff of the session would say it: the first PREFLIGHT against a POSTFLIGHT that nothing followed.
    fn calibration(&self) -> Calibration {
        let after = self.assessed.filter(|assessment| assessment.phase == Phase::Postflight);
        calibration::status(self.first.map(|a| &a.vectors), after.map(|a| &a.vectors))
    }

    fn active(&self, session: &Session, own: bool) -> RecentSession {
        RecentSession {
            session: session.clone(),
            phase: self.assessed.map(|assessment| (assessment.phase, assessment.round)),
            overall_confidence: self.confidence(),
            last_seen: self.last_seen.to_owned(),
            own,
        }
    }
}

/// The open goals in their order, with repetitions.
fn open_goals<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    all: &BTreeMap<SessionId, Session>,
    own: Option<&SessionId>,
) -> Vec<OpenGoal> {
    let open = goals(records).into_iter().filter(|owned| owned.goal.status == GoalStatus::Open);
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

/// What was said of one kind: the own session's first, then newest first.
fn noted<'a, T>(
    records: impl IntoIterator<Item = &'a Record>,
    own: Option<&SessionId>,
    kind: impl Fn(&Record) -> Option<T>,
) -> Vec<DatedClaim<T>> {
    let own = |record: &Record| own.is_some() && record.head.session.as_ref() == own;
    let mut out: Vec<DatedClaim<T>> = records
        .into_iter()
        .filter_map(|r| Some(DatedClaim { head: r.head.clone(), body: kind(r)?, own: own(r), count: 1 }))
        .collect();
    out.sort_by(|a, b| b.own.cmp(&a.own).then_with(|| b.head.id.cmp(&a.head.id)));
    out
}

fn findings<'a>(records: impl IntoIterator<Item = &'a Record>, own: Option<&SessionId>) -> Vec<LearnedItem> {
    let mut all = noted(records, own, |record| match &record.body {
        Body::Finding(finding) => Some(finding.clone()),
        _ => None,
    });
    all.sort_by(|a, b| b.head.id.cmp(&a.head.id));
    let weighed = |(newer, noted): (usize, DatedClaim<Finding>)| LearnedItem {
        importance: importance(noted.body.impact, newer),
        noted,
    };
    let mut out: Vec<LearnedItem> = all.into_iter().enumerate().map(weighed).collect();
    // the sort is stable: newest first among equals
    out.sort_by(|a, b| b.noted.own.cmp(&a.noted.own).then(b.importance.total_cmp(&a.importance)));
    once(out, |learned| folded(&[&learned.noted.body.text]), |learned| learned.noted.count += 1)
}

/// The handoffs that no newer one has taken the place of, newest first.
fn in_force<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    aside: &BTreeSet<Id>,
) -> Vec<(&'a Envelope, &'a Handoff)> {
    let handoff = |record: &'a Record| match &record.body {
        Body::Handoff(handoff) if !aside.contains(&record.head.id) => Some((&record.head, &**handoff)),
        _ => None,
    };
    let mut out: Vec<(&Envelope, &Handoff)> = records.into_iter().filter_map(handoff).collect();
    out.reverse();
    out
}

fn last_of_each(handoffs: &[(&Envelope, &Handoff)], is_own: impl Fn(Option<&SessionId>) -> bool) -> Vec<HandoffLine> {
    let mut ordered: Vec<&(&Envelope, &Handoff)> = handoffs.iter().collect();
    // the sort is stable: of each agent the newest that hands over work
    ordered.sort_by_key(|(_, handoff)| Substance::of(handoff) < Substance::Work);
    let mut seen = BTreeSet::new();
    let mut last: Vec<_> = ordered.into_iter().filter(|(head, _)| seen.insert(&head.ai)).collect();
    last.sort_by(|a, b| b.0.id.cmp(&a.0.id));
    let mut out: Vec<HandoffLine> = last
        .into_iter()
        .map(|(head, handoff)| HandoffLine {
            head: (*head).clone(),
            task: handoff.task.clone(),
            calibration_status: handoff.calibration_status,
            own: is_own(head.session.as_ref()),
        })
        .collect();
    out.sort_by_key(|handed| !handed.own);
    out
}

/// What two texts have in common when they say the same.
fn folded(texts: &[&str]) -> String {
    let folded: Vec<String> = texts.iter().map(|text| text.trim().to_lowercase()).collect();
    folded.join("\0")
}

/// The first of those that say the same, told how many more there are.
fn once<E>(all: Vec<E>, said: impl Fn(&E) -> String, more: impl Fn(&mut E)) -> Vec<E> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut out: Vec<E> = Vec::new();
    for entry in all {
        match known.get(&said(&entry)) {
            Some(at) => out.get_mut(*at).into_iter().for_each(&more),
            None => {
                known.insert(said(&entry), out.len());
                out.push(entry);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn importance_is_halved_by_fifty_newer_findings_and_the_middle_when_not_said() {
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
    fn what_says_the_same_is_there_once_and_counted() {
        let texts = ["Cold cache", " cold CACHE ", "warm", "cold cache"].map(|text| (text.to_owned(), 1));
        let once = once(texts.to_vec(), |(text, _)| folded(&[text]), |(_, count)| *count += 1);
        assert_eq!(once, [("Cold cache".to_owned(), 3), ("warm".to_owned(), 1)]);
        assert_ne!(folded(&["a", "b"]), folded(&["ab", ""]));
    }
}
