//! The records of a range by session: claims, checks, goals and the newest handoff.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::CommandContext;
use crate::fold::journal::{OwnedGoal, answers, goals, sessions};
use crate::use_cases::report::review::placement::{Placed, RangeCommits, SessionPlaces};
use empirica_notes::error::Result;
use empirica_notes::git::Oid;
use empirica_notes::model::goal::{GoalState, GoalStatus};
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::handoff::{HandoffEvidence, Item};
use empirica_notes::model::journal::{DeadEnd, Decision, Finding, Mistake, Unknown};
use empirica_notes::model::record::Retract;
use empirica_notes::model::session::Session;
use empirica_notes::model::{Body, Envelope, Handoff, Id, Record, SessionId};
use empirica_notes::store::Scan;

/// A run of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckRun {
    pub envelope: Envelope,
    pub evidence: HandoffEvidence,
    /// Where it belongs to.
    pub placed: Placed,
}

/// The records of a session for a range.
#[derive(Debug)]
pub struct SessionWork {
    pub session: Session,
    /// The commits of the range that it recorded something for.
    pub commits: BTreeSet<Oid>,
    /// Its newest handoff in force.
    pub handoff: Option<(Envelope, Handoff)>,
    /// Claims in force, oldest first, without answered questions. One that only a handoff or a digest quotes has the envelope of that.
    pub claims: Vec<Record>,
    /// Retracted and replaced claims, each with its retract.
    pub withdrawn: Vec<(Record, Option<Retract>)>,
    /// Questions and their answers.
    pub answered: Vec<(String, String)>,
    /// Goals that were reached, and those that are open, without suggestions that nobody pursued.
    pub goals_done: Vec<GoalState>,
    pub goals_open: Vec<GoalState>,
    /// Oldest first.
    pub runs: Vec<CheckRun>,
    /// The places of its handoffs and digests.
    pub reports: Vec<Placed>,
    /// Its last record of the range.
    pub last: Id,
}

/// The sessions with records of a range, those that recorded last first.
pub fn of_range(context: &CommandContext<'_>, range: &RangeCommits) -> Result<Vec<SessionWork>> {
    let index = context.index()?;
    let mut ids = index.sessions_on(&range.annotated())?;
    ids.extend(range.named_sessions().cloned());
    let mut out = Vec::new();
    for id in &ids {
        let scan = index.session(id)?;
        out.extend(of_session(context, range, id, &scan));
    }
    out.sort_by(|a, b| b.last.cmp(&a.last));
    Ok(out)
}

fn of_session(context: &CommandContext<'_>, range: &RangeCommits, id: &SessionId, scan: &Scan) -> Option<SessionWork> {
    let places = SessionPlaces::new(context, range, id, scan);
    let own = || scan.entries().filter(|entry| entry.record.envelope.session.as_ref() == Some(id));
    let placed: Vec<(&Record, Placed)> = own().filter_map(|entry| Some((&entry.record, places.of(entry)?))).collect();
    let content =
        |record: &Record| !record.body.is_meta() && !matches!(record.body, Body::SessionStart(_) | Body::SessionEnd(_));
    let last = placed.iter().rev().find(|(record, _)| content(record))?.0.envelope.id.clone();
    let mut work = SessionWork {
        session: sessions(own().map(|entry| &entry.record)).remove(id)?,
        commits: placed.iter().filter(|(record, _)| content(record)).map(|(_, placed)| placed.commit).collect(),
        handoff: None,
        claims: Vec::new(),
        withdrawn: withdrawn(scan, id, |entry| places.of(entry).is_some()),
        answered: Vec::new(),
        goals_done: Vec::new(),
        goals_open: Vec::new(),
        runs: Vec::new(),
        reports: Vec::new(),
        last,
    };
    let hidden = superseded(scan.records());
    for (record, place) in &placed {
        if matches!(record.body, Body::Handoff(_) | Body::Digest(_)) {
            work.reports.push(place.clone());
        }
        match &record.body {
            Body::Handoff(handoff) if !hidden.contains(&record.envelope.id) => {
                work.handoff = Some((record.envelope.clone(), (**handoff).clone()));
            }
            Body::Evidence(run) => work.runs.push(CheckRun {
                envelope: record.envelope.clone(),
                evidence: HandoffEvidence {
                    command: run.command.clone(),
                    exit: run.exit,
                    files: run.files.clone(),
                    runs: 1,
                },
                placed: place.clone(),
            }),
            body if body.claim().is_some() => work.claims.push((*record).clone()),
            _ => {}
        }
    }
    work.add_quoted(scan, &placed, &hidden);
    let answers = answers(scan.records());
    work.claims.retain(|record| match (&record.body, answers.get(&record.envelope.id)) {
        (Body::Unknown(unknown), Some(answer)) => {
            work.answered.push((unknown.text.clone(), answer.clone()));
            false
        }
        _ => true,
    });
    work.add_goals(scan, &placed);
    Some(work)
}

impl SessionWork {
    /// Adds the claims and checks of handoffs and digests whose own records are not stored here.
    fn add_quoted(&mut self, scan: &Scan, placed: &[(&Record, Placed)], hidden: &BTreeSet<Id>) {
        let checked: BTreeSet<String> = self.runs.iter().map(|run| run.evidence.command.clone()).collect();
        let mut seen: BTreeSet<(Option<Id>, String)> = BTreeSet::new();
        for (record, place) in placed.iter().filter(|(record, _)| !hidden.contains(&record.envelope.id)) {
            let (items, evidence) = match &record.body {
                Body::Handoff(h) => {
                    (quoted(&h.findings, &h.unknowns, &h.decisions, &h.dead_ends, &h.mistakes), &h.evidence)
                }
                Body::Digest(d) => {
                    (quoted(&d.findings, &d.unknowns, &d.decisions, &d.dead_ends, &d.mistakes), &d.evidence)
                }
                _ => continue,
            };
            for (id, body) in items {
                let text = body.claim().map(|claim| claim.text.to_owned()).unwrap_or_default();
                if id.as_ref().is_some_and(|id| scan.get(id).is_some()) || !seen.insert((id.clone(), text)) {
                    continue;
                }
                let envelope =
                    Envelope { id: id.unwrap_or_else(|| record.envelope.id.clone()), ..record.envelope.clone() };
                self.claims.push(Record { envelope, body });
            }
            let unrecorded = evidence.iter().filter(|run| !checked.contains(&run.command));
            self.runs.extend(unrecorded.map(|run| CheckRun {
                envelope: record.envelope.clone(),
                evidence: run.clone(),
                placed: place.clone(),
            }));
            // what a digest lists as open, a later one answers
            if let Body::Digest(digest) = &record.body {
                for reply in &digest.answers {
                    let is_answered = |claim: &Record| matches!(&claim.body, Body::Unknown(unknown) if unknown.text == reply.question);
                    if let Some(at) = self.claims.iter().position(is_answered) {
                        self.claims.remove(at);
                        self.answered.push((reply.question.clone(), reply.answer.clone()));
                    }
                }
            }
        }
        self.claims.sort_by(|a, b| a.envelope.id.cmp(&b.envelope.id));
    }

    fn add_goals(&mut self, scan: &Scan, placed: &[(&Record, Placed)]) {
        let in_range: BTreeSet<&Id> = placed.iter().map(|(record, _)| &record.envelope.id).collect();
        let ended: BTreeMap<&Id, &Id> = scan
            .records()
            .filter_map(|record| match &record.body {
                Body::GoalDone(done) => Some((&done.of, &record.envelope.id)),
                _ => None,
            })
            .collect();
        for OwnedGoal { goal, session, .. } in goals(scan.records()) {
            if session.as_ref() != Some(&self.session.id) || goal.is_idle_suggestion() {
                continue;
            }
            match goal.status {
                GoalStatus::Done if ended.get(&goal.id).is_some_and(|by| in_range.contains(by)) => {
                    self.goals_done.push(goal);
                }
                GoalStatus::Open if in_range.contains(&goal.id) => self.goals_open.push(goal),
                _ => {}
            }
        }
    }
}

/// The claims of a session in the range that were retracted or replaced.
fn withdrawn(
    scan: &Scan,
    session: &SessionId,
    is_placed: impl Fn(&empirica_notes::store::RecordEntry) -> bool,
) -> Vec<(Record, Option<Retract>)> {
    let mut by: BTreeMap<&Id, &Retract> = BTreeMap::new();
    for record in scan.records() {
        if let Body::Retract(retract) = &record.body {
            by.extend(retract.of.iter().map(|of| (of, retract)));
        }
    }
    let own = scan.retracted().filter(|record| record.envelope.session.as_ref() == Some(session));
    let claims = own.filter(|record| record.body.claim().is_some());
    // what an undo takes back was a slip
    let corrected = claims.filter(|record| by.get(&record.envelope.id).is_none_or(|retract| retract.is_correction()));
    corrected
        .filter(|record| scan.get(&record.envelope.id).is_some_and(&is_placed))
        .map(|record| (record.clone(), by.get(&record.envelope.id).map(|retract| (*retract).clone())))
        .collect()
}

/// The claims of a handoff or digest with their records.
fn quoted(
    findings: &[Item],
    unknowns: &[Item],
    decisions: &[Decision],
    dead_ends: &[DeadEnd],
    mistakes: &[Mistake],
) -> Vec<(Option<Id>, Body)> {
    let finding = |item: &Item| Body::Finding(Finding { text: item.text.clone(), ..Finding::default() });
    let unknown = |item: &Item| Body::Unknown(Unknown { text: item.text.clone(), ..Unknown::default() });
    let mut out: Vec<(Option<Id>, Body)> = Vec::new();
    out.extend(findings.iter().map(|item| (item.id.clone(), finding(item))));
    out.extend(unknowns.iter().map(|item| (item.id.clone(), unknown(item))));
    out.extend(decisions.iter().map(|one| (one.id.clone(), Body::Decision(one.clone()))));
    out.extend(dead_ends.iter().map(|one| (one.id.clone(), Body::DeadEnd(one.clone()))));
    out.extend(mistakes.iter().map(|one| (one.id.clone(), Body::Mistake(one.clone()))));
    out
}
