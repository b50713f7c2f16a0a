//! The project for a new context: sessions, open work and claims, folded from records.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::claims::anchors::Place;
use crate::fold::assessment::calibration;
use crate::fold::assessment::confidence::{overall, round4};
use crate::fold::journal::{OwnedGoal, answers, goals};
use empirica_notes::error::Result;
use empirica_notes::model::goal::{GoalStatus, Priority};
use empirica_notes::model::handoff::Calibration;
use empirica_notes::model::handoff::substance::Substance;
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::journal::{DeadEnd, Decision, Mistake};
use empirica_notes::model::session::Session;
use empirica_notes::model::{Assessment, Body, Envelope, Handoff, Horizon, Id, Phase, Record, SessionId};

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
    /// How many of them have not ended.
    pub active: usize,
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
    pub unknowns: Vec<DatedClaim<OpenQuestion>>,
    /// Findings, most important first, then newest.
    pub findings: Vec<DatedClaim<LearnedItem>>,
    /// Dead ends, newest first.
    pub dead_ends: Vec<DatedClaim<DeadEnd>>,
    /// Mistakes, newest first.
    pub mistakes: Vec<DatedClaim<PastMistake>>,
    /// Decisions, newest first.
    pub decisions: Vec<DatedClaim<PastDecision>>,
    /// The last handoff in force of each agent, newest first.
    pub handoffs: Vec<HandoffLine>,
    /// How many older records of a kind were not read.
    pub unread: BTreeMap<&'static str, usize>,
}

/// A session that has not ended.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ActiveSession")]
pub struct RecentSession {
    /// The session.
    #[serde(skip_serializing_if = "never")]
    pub session_id: SessionId,
    /// Its agent.
    pub ai_id: String,
    /// Its task.
    pub task: Option<String>,
    /// Of its last assessment; so are the next two.
    #[serde(skip_serializing_if = "never")]
    pub phase: Option<Phase>,
    /// Which one of its phase, from 1.
    #[serde(skip_serializing_if = "never")]
    pub round: Option<u32>,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "never")]
    pub overall_confidence: Option<f64>,
    /// When it began.
    #[serde(skip_serializing_if = "never")]
    pub started_at: String,
    /// The worktree it began in.
    #[serde(skip_serializing_if = "never")]
    pub worktree: Option<String>,
    /// When its last record was made.
    #[serde(skip_serializing_if = "never")]
    pub last_seen: String,
    /// Whether it is the requesting session.
    #[serde(skip)]
    pub own: bool,
}

/// An agent, as its newest session shows it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TeamMember")]
pub struct AgentWork {
    /// The agent.
    pub ai_id: String,
    /// Its newest session.
    #[serde(skip_serializing_if = "never")]
    pub session_id: SessionId,
    /// Its task.
    pub task: Option<String>,
    /// Whether the session has not ended.
    pub active: bool,
    /// The self-assessment, of the first PREFLIGHT against a POSTFLIGHT that nothing followed.
    pub calibration_status: Calibration,
    /// Of its last assessment, from 0 to 1.
    #[serde(skip_serializing_if = "never")]
    pub overall_confidence: Option<f64>,
    /// The first next step of its handoff in force, else its first open goal.
    pub next_step: Option<String>,
    /// When its last record was made.
    #[serde(skip_serializing_if = "never")]
    pub last_seen: String,
    /// Whether it is the agent of the requesting session.
    #[serde(skip)]
    pub own: bool,
}

/// A goal that is open.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OpenGoal {
    /// The goal.
    #[serde(skip_serializing_if = "never")]
    pub id: Id,
    /// Its text.
    pub text: String,
    /// How urgent it is.
    pub priority: Priority,
    /// "2/4 subtasks"; null without subtasks.
    #[serde(skip_serializing_if = "never")]
    pub progress: Option<String>,
    /// The criteria for reaching it.
    #[serde(skip_serializing_if = "never")]
    pub criteria: Vec<String>,
    /// The session that has it now.
    #[serde(skip_serializing_if = "never")]
    pub session_id: Option<SessionId>,
    /// The agent of that session.
    #[serde(skip_serializing_if = "never")]
    pub ai_id: Option<String>,
    /// active or ended.
    #[serde(skip_serializing_if = "never")]
    pub session_status: Option<&'static str>,
    /// How many goals have this text but for case and outer white space; this is the first.
    #[serde(skip_serializing_if = "never")]
    pub count: usize,
    /// Whether the requesting session has it.
    #[serde(skip)]
    pub own: bool,
}

/// A claim of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "{T}")]
pub struct DatedClaim<T> {
    /// The record.
    #[serde(skip_serializing_if = "never")]
    pub id: Id,
    /// Its agent.
    #[serde(skip_serializing_if = "never")]
    pub ai_id: String,
    /// Its session.
    #[serde(skip_serializing_if = "never")]
    pub session_id: Option<SessionId>,
    /// When.
    #[serde(skip_serializing_if = "never")]
    pub timestamp: String,
    /// How many records have this text but for case and outer white space; this is the first.
    #[serde(skip_serializing_if = "never")]
    pub count: usize,
    /// Until when it holds, a time or `changed`; absent if that is not limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Whether that is over; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ran_out: bool,
    /// The places in the code that it is about; absent without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Place>,
    /// Who confirmed it last, when, and on what commit; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmation>,
    /// Other claims that replace the same one; absent without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disagrees_with: Vec<Id>,
    /// Who vouches for it by a signature that git accepts; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    #[serde(flatten)]
    pub body: T,
    /// Whether the requesting session logged it.
    #[serde(skip)]
    pub own: bool,
}

/// Who confirmed a claim.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Confirmation {
    /// The agent.
    pub ai_id: String,
    /// When.
    pub timestamp: String,
    /// HEAD at that time; null if it was unborn.
    pub commit: Option<String>,
    #[serde(skip)]
    id: Id,
}

impl<T> DatedClaim<T> {
    /// The record that made it, or renewed it last; ids sort by time.
    fn renewed(&self) -> &Id {
        self.confirmed.as_ref().map_or(&self.id, |confirmed| (&confirmed.id).max(&self.id))
    }
}

impl Overview {
    /// Sets of each claim its places in the code, its signer, whether its time is over, and those that it disagrees with; in each
    /// list, what is over comes last, and before that what is about changed code.
    pub fn set_states(
        &mut self,
        mut places: BTreeMap<Id, Vec<Place>>,
        mut signers: BTreeMap<Id, String>,
        has_run_out: impl Fn(&str, &[Place]) -> bool,
        rivals: impl Fn(&Id) -> Result<Vec<Id>>,
    ) -> Result<()> {
        macro_rules! set {
            ($($list:ident)*) => {
                $(for claim in &mut self.$list {
                    claim.anchors = places.remove(&claim.id).unwrap_or_default();
                    claim.ran_out = claim.until.as_deref().is_some_and(|until| has_run_out(until, &claim.anchors));
                    claim.disagrees_with = rivals(&claim.id)?;
                    claim.signed_by = signers.remove(&claim.id);
                }
                // the sort is stable
                self.$list.sort_by_key(|claim| (claim.ran_out, claim.anchors.iter().any(|place| place.state.is_lost())));)*
            };
        }
        set!(unknowns findings dead_ends mistakes decisions);
        Ok(())
    }
}

/// The text of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OpenQuestion {
    /// Its text.
    pub text: String,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub struct LearnedItem {
    /// Its text.
    pub text: String,
    /// How much it matters, from 0 to 1, as the agent gave it.
    #[serde(skip_serializing_if = "never")]
    pub impact: Option<f64>,
    /// The impact (0.5 when none was given) / (1 + newer / 50), with the number of newer findings, 4 decimals.
    #[serde(skip_serializing_if = "never")]
    pub importance: f64,
    /// HEAD when it was logged.
    #[serde(skip_serializing_if = "never")]
    pub commit: Option<String>,
}

/// A mistake.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Mistake")]
pub struct PastMistake {
    /// Its text.
    pub text: String,
    /// How to prevent it.
    #[serde(skip_serializing_if = "never")]
    pub prevention: Option<String>,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Decision")]
pub struct PastDecision {
    /// Its text.
    pub text: String,
    /// Why.
    pub why: String,
    /// The alternatives it was chosen over.
    #[serde(skip_serializing_if = "never")]
    pub alternatives: Vec<String>,
}

/// The last handoff in force of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "LastHandoff")]
pub struct HandoffLine {
    /// The handoff.
    #[serde(skip_serializing_if = "never")]
    pub handoff_id: Id,
    /// Its session.
    #[serde(skip_serializing_if = "never")]
    pub session_id: Option<SessionId>,
    /// Its agent.
    pub ai_id: String,
    /// When it was written.
    #[serde(skip_serializing_if = "never")]
    pub timestamp: String,
    /// The commit it is attached to.
    #[serde(skip_serializing_if = "never")]
    pub commit: Option<String>,
    /// Its task.
    pub task: String,
    /// The self-assessment.
    #[serde(skip_serializing_if = "never")]
    pub calibration_status: Calibration,
    /// Whether the requesting session wrote it.
    #[serde(skip)]
    pub own: bool,
}

/// Marks a key that only whole entries have.
pub fn never<T>(_: &T) -> bool {
    false
}

/// `active` or `ended`.
pub fn status(active: bool) -> &'static str {
    if active { "active" } else { "ended" }
}

/// The importance of a finding: its impact, else [`DEFAULT_IMPACT`], weighed with its age by rank: halved by [`HALVED_BY`]
/// newer findings, a third by twice as many, and so on.
pub fn importance(impact: Option<f64>, newer: usize) -> f64 {
    round4(impact.unwrap_or(DEFAULT_IMPACT) / (1.0 + newer as f64 / HALVED_BY as f64))
}

/// Folds records, oldest first, for the requesting session, if known; the stored sessions and agents are not counted. `all`
/// has the sessions that made the records; of active ones, and the newest of each agent, their last record and assessments are there.
pub fn overview(
    records: &[&Record],
    all: &BTreeMap<SessionId, Session>,
    own: Option<&SessionId>,
    horizon: Horizon,
) -> Overview {
    let mut states: BTreeMap<&SessionId, SessionState<'_>> = BTreeMap::new();
    for record in records {
        if let Some(id) = &record.envelope.session {
            let state = states.entry(id).or_default();
            // records ahead of the clock come last, and count only without others
            if state.last.is_none() || !horizon.is_ahead(&record.envelope.id) {
                state.add(record);
            }
        }
    }
    let own = own.and_then(|id| all.get(id)).map(|session| (session.id.clone(), session.ai.clone()));
    let (own_id, own_ai) = own.as_ref().map(|(id, ai)| (id, ai)).unzip();
    let scope = Scope { records, own: own_id, horizon };

    let mut active: Vec<(&Session, &SessionState<'_>)> =
        all.values().filter(|s| s.is_active()).filter_map(|s| Some((s, states.get(&s.id)?))).collect();
    active.sort_by_cached_key(|(session, state)| (!scope.is_own(Some(&session.id)), state.last_seen(horizon)));
    let mut newest: BTreeMap<&str, &Session> = BTreeMap::new();
    for session in all.values() {
        let latest = newest.entry(&session.ai).or_insert(session);
        if session.began > latest.began {
            *latest = session;
        }
    }
    let mut team: Vec<(&Session, &SessionState<'_>)> =
        newest.into_values().filter_map(|s| Some((s, states.get(&s.id)?))).collect();
    team.sort_by_cached_key(|(session, state)| {
        (Some(&session.ai) != own_ai, !session.is_active(), state.last_seen(horizon))
    });

    let open = scope.open_goals(all);
    let handoffs = scope.in_force();
    // the first of each session
    let mut steps: BTreeMap<Option<&SessionId>, Option<&String>> = BTreeMap::new();
    for (envelope, handoff) in &handoffs {
        steps.entry(envelope.session.as_ref()).or_insert(handoff.next_steps.first());
    }
    let next_step = |session: &Session| {
        let goal = || open.iter().find(|goal| goal.session_id.as_ref() == Some(&session.id)).map(|goal| &goal.text);
        steps.get(&Some(&session.id)).copied().flatten().or_else(goal).cloned()
    };
    let team = team.iter().map(|(session, state)| AgentWork {
        ai_id: session.ai.clone(),
        session_id: session.id.clone(),
        task: session.task.clone(),
        active: session.is_active(),
        calibration_status: state.calibration(),
        overall_confidence: state.confidence(),
        next_step: next_step(session),
        last_seen: state.last_seen.to_owned(),
        own: Some(&session.ai) == own_ai,
    });
    let active_sessions = active.iter().map(|(session, state)| RecentSession {
        session_id: session.id.clone(),
        ai_id: session.ai.clone(),
        task: session.task.clone(),
        phase: state.newest.map(|assessment| assessment.phase),
        round: state.newest.map(|assessment| assessment.round),
        overall_confidence: state.confidence(),
        started_at: session.started_at.clone(),
        worktree: session.worktree.clone(),
        last_seen: state.last_seen.to_owned(),
        own: scope.is_own(Some(&session.id)),
    });
    let answered = answers(records.iter().copied());
    Overview {
        active_sessions: active_sessions.collect(),
        team: team.collect(),
        unknowns: scope.claims(
            |record| match &record.body {
                Body::Unknown(unknown) if !answered.contains_key(&record.envelope.id) => {
                    Some(OpenQuestion { text: unknown.text.clone() })
                }
                _ => None,
            },
            |unknown| folded(&[&unknown.text]),
        ),
        findings: scope.findings(),
        dead_ends: scope.claims(
            |record| match &record.body {
                Body::DeadEnd(dead_end) => Some(dead_end.quoted()),
                _ => None,
            },
            |dead_end| folded(&[&dead_end.approach, &dead_end.why]),
        ),
        mistakes: scope.claims(
            |record| match &record.body {
                Body::Mistake(Mistake { text, prevention, .. }) => {
                    Some(PastMistake { text: text.clone(), prevention: prevention.clone() })
                }
                _ => None,
            },
            |mistake| folded(&[&mistake.text, mistake.prevention.as_deref().unwrap_or_default()]),
        ),
        decisions: scope.claims(
            |record| match &record.body {
                Body::Decision(Decision { text, why, alternatives, .. }) => {
                    Some(PastDecision { text: text.clone(), why: why.clone(), alternatives: alternatives.clone() })
                }
                _ => None,
            },
            |decision| folded(&[&decision.text, &decision.why]),
        ),
        handoffs: scope.last_of_each(handoffs),
        goals: once(open, |goal| folded(&[&goal.text]), |goal| goal.count += 1),
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
        (self.last, self.last_seen) = (Some(&record.envelope.id), &record.envelope.at);
        if let Body::Assessment(assessment) = &record.body {
            self.newest = Some(assessment);
            self.first_preflight = self.first_preflight.or(Some(&**assessment).filter(|a| a.phase == Phase::Preflight));
        }
    }

    fn confidence(&self) -> Option<f64> {
        self.newest.and_then(|assessment| overall(&assessment.vectors))
    }

    /// The key that sorts sessions by their last record, newest first.
    fn last_seen(&self, horizon: Horizon) -> Option<(bool, Reverse<Id>)> {
        self.last.map(|id| horizon.newest_first(id))
    }

    /// As in a handoff of the session: the first PREFLIGHT against a POSTFLIGHT that nothing followed.
    fn calibration(&self) -> Calibration {
        let after = self.newest.filter(|assessment| assessment.phase == Phase::Postflight);
        calibration::status(self.first_preflight.map(|a| &a.vectors), after.map(|a| &a.vectors))
    }
}

/// Records, oldest first, as the requesting session sees them.
struct Scope<'a> {
    records: &'a [&'a Record],
    own: Option<&'a SessionId>,
    horizon: Horizon,
}

impl<'a> Scope<'a> {
    fn is_own(&self, session: Option<&SessionId>) -> bool {
        self.own.is_some() && session == self.own
    }

    /// The open goals in their order, with repetitions.
    fn open_goals(&self, all: &BTreeMap<SessionId, Session>) -> Vec<OpenGoal> {
        let holder = |owned: &OwnedGoal| owned.session.as_ref().and_then(|id| all.get(id));
        let is_own = |owned: &OwnedGoal| self.is_own(owned.session.as_ref());
        let mut open = goals(self.records.iter().copied());
        open.retain(|owned| owned.goal.status == GoalStatus::Open);
        open.sort_by_cached_key(|owned| {
            let (goal, active) = (&owned.goal, holder(owned).is_some_and(Session::is_active));
            (!is_own(owned), goal.vector.is_some(), goal.priority, !active, self.horizon.newest_first(&goal.id))
        });
        let line = |owned: OwnedGoal| {
            let of = holder(&owned);
            OpenGoal {
                progress: owned.goal.progress(),
                ai_id: of.map(|session| session.ai.clone()),
                session_status: owned.session.as_ref().map(|_| status(of.is_some_and(Session::is_active))),
                own: is_own(&owned),
                id: owned.goal.id,
                text: owned.goal.text,
                priority: owned.goal.priority,
                criteria: owned.goal.criteria,
                session_id: owned.session,
                count: 1,
            }
        };
        open.into_iter().map(line).collect()
    }

    /// The claims of a kind, the last made or confirmed first, with repetitions.
    fn dated<T>(&self, kind: impl Fn(&Record) -> Option<T>) -> Vec<DatedClaim<T>> {
        let confirming = self.records.iter().filter_map(|record| match &record.body {
            Body::Confirm(confirm) if !self.horizon.is_ahead(&record.envelope.id) => {
                Some((&confirm.of, &record.envelope))
            }
            _ => None,
        });
        // in order of ID: the newest is the last
        let confirmed: BTreeMap<&Id, &Envelope> = confirming.collect();
        let confirmation = |envelope: &&Envelope| Confirmation {
            ai_id: envelope.ai.clone(),
            timestamp: envelope.at.clone(),
            commit: envelope.commit.clone(),
            id: envelope.id.clone(),
        };
        let claim = |record: &&Record| {
            let envelope = &record.envelope;
            Some(DatedClaim {
                id: envelope.id.clone(),
                ai_id: envelope.ai.clone(),
                session_id: envelope.session.clone(),
                timestamp: envelope.at.clone(),
                count: 1,
                until: record.body.until().map(str::to_owned),
                ran_out: false,
                anchors: Vec::new(),
                confirmed: confirmed.get(&envelope.id).map(confirmation),
                disagrees_with: Vec::new(),
                signed_by: None,
                body: kind(record)?,
                own: self.is_own(envelope.session.as_ref()),
            })
        };
        let mut out: Vec<DatedClaim<T>> = self.records.iter().filter_map(claim).collect();
        out.sort_by_cached_key(|claim| self.horizon.newest_first(claim.renewed()));
        out
    }

    /// The claims of a kind, each text once: the own session's first, then the last made or confirmed first.
    fn claims<T>(&self, kind: impl Fn(&Record) -> Option<T>, key: impl Fn(&T) -> String) -> Vec<DatedClaim<T>> {
        let mut all = self.dated(kind);
        // the sort is stable: newest first among equals
        all.sort_by_key(|claim| !claim.own);
        once(all, |claim| key(&claim.body), |claim| claim.count += 1)
    }

    fn findings(&self) -> Vec<DatedClaim<LearnedItem>> {
        let mut all = self.dated(|record| match &record.body {
            Body::Finding(finding) => Some(LearnedItem {
                text: finding.text.clone(),
                impact: finding.impact,
                importance: 0.0,
                commit: record.envelope.commit.clone(),
            }),
            _ => None,
        });
        for (newer, finding) in all.iter_mut().enumerate() {
            finding.body.importance = importance(finding.body.impact, newer);
        }
        // the sort is stable: newest first among equals
        let place = |claim: &DatedClaim<LearnedItem>| (!claim.own, self.horizon.is_ahead(claim.renewed()));
        all.sort_by(|a, b| place(a).cmp(&place(b)).then(b.body.importance.total_cmp(&a.body.importance)));
        once(all, |finding| folded(&[&finding.body.text]), |finding| finding.count += 1)
    }

    /// The handoffs that none supersedes, newest first.
    fn in_force(&self) -> Vec<(&'a Envelope, &'a Handoff)> {
        let superseded = superseded(self.records.iter().copied());
        let handoff = |record: &&'a Record| match &record.body {
            Body::Handoff(handoff) if !superseded.contains(&record.envelope.id) => Some((&record.envelope, &**handoff)),
            _ => None,
        };
        let mut out: Vec<(&Envelope, &Handoff)> = self.records.iter().filter_map(handoff).collect();
        out.sort_by_cached_key(|(envelope, _)| self.horizon.newest_first(&envelope.id));
        out
    }

    /// The newest handoff of each agent, with work if there is one.
    fn last_of_each(&self, mut handoffs: Vec<(&Envelope, &Handoff)>) -> Vec<HandoffLine> {
        // the sort is stable: newest first among equals
        handoffs.sort_by_key(|(_, handoff)| Substance::of(handoff) < Substance::Work);
        let mut seen = BTreeSet::new();
        handoffs.retain(|(envelope, _)| seen.insert(&envelope.ai));
        handoffs.sort_by_cached_key(|(envelope, _)| {
            (!self.is_own(envelope.session.as_ref()), self.horizon.newest_first(&envelope.id))
        });
        let line = |(envelope, handoff): (&Envelope, &Handoff)| HandoffLine {
            handoff_id: envelope.id.clone(),
            session_id: envelope.session.clone(),
            ai_id: envelope.ai.clone(),
            timestamp: envelope.at.clone(),
            commit: envelope.commit.clone(),
            task: handoff.task.clone(),
            calibration_status: handoff.calibration_status,
            own: self.is_own(envelope.session.as_ref()),
        };
        handoffs.into_iter().map(line).collect()
    }
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
