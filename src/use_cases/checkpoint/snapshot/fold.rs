//! Folds the records of a session and the totals of the project into a snapshot.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, SecondsFormat, Utc};

use crate::fold::assessment::{drift, gate};
use crate::fold::journal::answers;
use crate::fold::session_records::SessionRecords;
use crate::use_cases::checkpoint::snapshot::chains::{chains, path};
use empirica_notes::model::assessment::{Checkpoint, Trigger};
use empirica_notes::model::goal::{GoalState, GoalStatus, completion_rate};
use empirica_notes::model::snapshot::*;
use empirica_notes::model::{Assessment, Body, Envelope, Id, Phase, Record, SessionId, Vector, Vectors};

/// Most entries of a list of recent ones.
pub const RECENT: usize = 5;
/// Most steps of a trajectory.
pub const STEPS: usize = 20;

/// Input of the agent for a checkpoint.
#[derive(Debug, Clone, Default)]
pub struct SnapshotRequest {
    pub phase: Option<Phase>,
    pub round: Option<u32>,
    pub trigger: Trigger,
    pub vectors: Vectors,
    pub reasoning: Option<String>,
    pub cycle: Option<u32>,
    pub scope: Option<f64>,
    pub tags: Vec<String>,
    pub metadata: BTreeMap<String, String>,
    /// Searches earlier records; a blank query searches for the subject of the session. `None` searches nothing.
    pub search: Option<String>,
}

/// Numbers of the project's journal entries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JournalTotals {
    pub findings: u64,
    pub unknowns: u64,
    /// Open unknowns.
    pub unresolved: u64,
    pub dead_ends: u64,
    pub mistakes: u64,
}

/// The snapshot of a session at `now`, with texts unshortened. `request` has its phase and round resolved. `records`, in
/// order of ID, are those of the session and about it, and the newest [`RECENT`] findings, unknowns with their answers,
/// dead ends and mistakes of others.
pub fn fold(
    records: &[&Record],
    session_records: &SessionRecords,
    request: &SnapshotRequest,
    now: DateTime<Utc>,
    totals: &JournalTotals,
    project: Project,
    handoffs: Handoffs,
) -> Snapshot {
    let id = &session_records.session.id;
    let own: Vec<&Record> =
        records.iter().copied().filter(|record| record.envelope.session.as_ref() == Some(id)).collect();
    let session_of = |c: &Checkpoint| c.snapshot.as_ref().map(|snapshot| snapshot.session.clone());
    let cycle = request.cycle.or_else(|| last_given(session_records, |a| a.cycle, |c| session_of(c)?.cycle));
    let scope_depth =
        request.scope.or_else(|| last_given(session_records, |a| a.scope, |c| session_of(c)?.scope_depth));
    let started = DateTime::parse_from_rfc3339(&session_records.session.started_at).ok();
    let last = newest_state(session_records).map(|(envelope, phase, vectors)| LastCheckpoint {
        id: envelope.id.clone(),
        phase,
        timestamp: envelope.at.clone(),
        vectors: vectors.clone(),
    });
    let session = SessionState {
        session_id: id.clone(),
        ai_id: session_records.session.ai.clone(),
        project_id: project.project_id.clone(),
        task: session_records.session.task.clone(),
        start_time: session_records.session.started_at.clone(),
        duration_minutes: started.map_or(0, |started| (now - started.to_utc()).num_minutes().max(0) as u64),
        cascade_phase: request.phase,
        round: request.round,
        cycle,
        scope_depth,
        assessments_count: session_records.assessments.len() as u64,
        checkpoints_count: (session_records.assessments.len() + session_records.checkpoints.len()) as u64,
        journal_count: session_records.entries as u64,
        last_checkpoint: last,
    };
    Snapshot {
        reasoning: reasoning(
            records,
            &own,
            session_records,
            request,
            &now.to_rfc3339_opts(SecondsFormat::Millis, true),
        ),
        breadcrumbs: breadcrumbs(records, id, totals),
        goals: goals(&session_records.goals, &own),
        handoffs,
        session,
        project,
        investigation: Investigation {
            cycle,
            round: request.round,
            scope_depth,
            breadcrumb_chains: newest(chains(&own), RECENT),
            exploration_paths: path(&own).into_iter().collect(),
        },
        reference_docs: reference_docs(&own, session_records),
        semantic_context: None,
    }
}

/// The value given by the last assessment or checkpoint that has one; checkpoints repeat earlier values.
pub(crate) fn last_given<T>(
    records: &SessionRecords,
    of_assessment: impl Fn(&Assessment) -> Option<T>,
    of_checkpoint: impl Fn(&Checkpoint) -> Option<T>,
) -> Option<T> {
    let assessed = records.assessments.iter().rev().find_map(|(envelope, a)| Some((&envelope.id, of_assessment(a)?)));
    let taken = records.checkpoints.iter().rev().find_map(|(envelope, c)| Some((&envelope.id, of_checkpoint(c)?)));
    [assessed, taken].into_iter().flatten().max_by(|a, b| a.0.cmp(b.0)).map(|(_, value)| value)
}

/// The last assessment or checkpoint: its envelope, phase and vectors.
pub(crate) fn newest_state(records: &SessionRecords) -> Option<(&Envelope, Option<Phase>, &Vectors)> {
    let assessed = records.assessments.last().map(|(envelope, a)| (envelope, Some(a.phase), &a.vectors));
    let taken = records.checkpoints.last().map(|(envelope, c)| (envelope, c.phase, &c.vectors));
    [assessed, taken].into_iter().flatten().max_by_key(|(envelope, ..)| &envelope.id)
}

/// The last `most` of a list.
fn newest<T>(mut list: Vec<T>, most: usize) -> Vec<T> {
    list.split_off(list.len().saturating_sub(most))
}

fn reasoning(
    records: &[&Record],
    own: &[&Record],
    session_records: &SessionRecords,
    request: &SnapshotRequest,
    at: &str,
) -> Reasoning {
    let thoughts = own.iter().filter_map(|record| {
        let text = match &record.body {
            Body::Assessment(assessment) => assessment.reasoning.as_ref()?,
            Body::Checkpoint(checkpoint) => checkpoint.said.as_ref()?,
            _ => return None,
        };
        Some(ReasoningStep { timestamp: record.envelope.at.clone(), reasoning: text.clone() })
    });
    let newest_thought =
        request.reasoning.clone().map(|reasoning| ReasoningStep { timestamp: at.to_owned(), reasoning });
    let trajectory: Vec<ReasoningStep> = thoughts.chain(newest_thought).collect();
    // all records count, as other sessions may answer its questions
    let steps = drift::steps(records.iter().copied(), &session_records.session.id);
    let decided = steps.iter().enumerate().skip(steps.len().saturating_sub(STEPS)).map(|(at, (_, assessment, _))| {
        let confidence = gate::confidence(assessment);
        let gate = (assessment.phase == Phase::Check).then(|| gate::gate(&steps[..=at], drift::WINDOW));
        let decision = gate.and_then(|gate| gate.decision).map(|decision| decision.name().to_owned());
        let name = assessment.phase.name();
        let checkpoint = match (assessment.phase, assessment.round) {
            (Phase::Preflight | Phase::Postflight, 1) => name.to_owned(),
            (_, round) => format!("{name}-{round}"),
        };
        AssessmentDecision { checkpoint, decision, confidence }
    });
    let assessed = session_records.assessments.iter().flat_map(|(_, a)| &a.tags);
    let taken = session_records.checkpoints.iter().flat_map(|(_, c)| &c.tags);
    let all: Vec<&String> = assessed.chain(taken).chain(&request.tags).collect();
    let mut seen = BTreeSet::new();
    // a repeated tag keeps its last place
    let tags = all.into_iter().rev().filter(|tag| seen.insert(*tag)).take(STEPS).cloned();
    let mut tags: Vec<String> = tags.collect();
    tags.reverse();
    Reasoning {
        latest: trajectory.last().map(|thought| thought.reasoning.clone()),
        trajectory: newest(trajectory, STEPS),
        decision_history: decided.collect(),
        epistemic_tags: tags,
    }
}

/// The newest entries, newest first, those of the session (`true`) before the others.
fn recent<T>(all: Vec<(bool, T)>) -> Vec<T> {
    let (own, others): (Vec<_>, Vec<_>) = all.into_iter().rev().partition(|(own, _)| *own);
    own.into_iter().chain(others).take(RECENT).map(|(_, entry)| entry).collect()
}

fn breadcrumbs(records: &[&Record], id: &SessionId, totals: &JournalTotals) -> Breadcrumbs {
    let answered = answers(records.iter().copied());
    let (mut findings, mut unknowns) = (Vec::new(), Vec::new());
    let (mut dead_ends, mut mistakes) = (Vec::new(), Vec::new());
    for record in records {
        let own = record.envelope.session.as_ref() == Some(id);
        let id = record.envelope.id.clone();
        match &record.body {
            Body::Finding(b) => {
                let seen = FindingSummary { id, finding: b.text.clone(), timestamp: record.envelope.at.clone() };
                findings.push((own, seen));
            }
            Body::Unknown(b) => {
                let is_resolved = answered.contains_key(&id);
                unknowns.push((own, UnknownSummary { id, unknown: b.text.clone(), is_resolved }));
            }
            Body::DeadEnd(b) => {
                let seen = DeadEndSummary { id, approach: b.approach.clone(), why_failed: b.why.clone() };
                dead_ends.push((own, seen));
            }
            Body::Mistake(b) => {
                let seen = MistakeSummary { id, mistake: b.text.clone(), prevention: b.prevention.clone() };
                mistakes.push((own, seen));
            }
            _ => {}
        }
    }
    fn own<T>(all: &[(bool, T)]) -> u64 {
        all.iter().filter(|(own, _)| *own).count() as u64
    }
    Breadcrumbs {
        findings: Findings { total: totals.findings, session: own(&findings), recent: recent(findings) },
        unknowns: Unknowns {
            total: totals.unknowns,
            unresolved: totals.unresolved,
            resolved: totals.unknowns.saturating_sub(totals.unresolved),
            session: own(&unknowns),
            recent: recent(unknowns),
        },
        dead_ends: DeadEnds { total: totals.dead_ends, session: own(&dead_ends), recent: recent(dead_ends) },
        mistakes: Mistakes { total: totals.mistakes, session: own(&mistakes), recent: recent(mistakes) },
    }
}

fn goals(goals: &[GoalState], own: &[&Record]) -> Goals {
    let with = |status: GoalStatus| goals.iter().filter(|goal| goal.status == status).count();
    // the newest record about each record
    let mut about: BTreeMap<&Id, &Id> = BTreeMap::new();
    for record in own {
        for id in record.referenced_ids().into_iter().chain([&record.envelope.id]) {
            about.insert(id, &record.envelope.id);
        }
    }
    let touched = |goal: &GoalState| {
        let ids = goal.subtasks.iter().map(|step| &step.id).chain([&goal.id]);
        ids.filter_map(|id| about.get(id).copied()).max()
    };
    let open = goals.iter().filter(|goal| goal.status == GoalStatus::Open);
    let current = open.max_by_key(|goal| (goal.vector.is_none(), touched(goal)));
    Goals {
        total: goals.len() as u64,
        active: with(GoalStatus::Open) as u64,
        completed: with(GoalStatus::Done) as u64,
        completion_rate: completion_rate(goals),
        current: current.map(|goal| CurrentGoal {
            id: goal.id.clone(),
            objective: goal.text.clone(),
            progress: goal.progress(),
        }),
    }
}

fn reference_docs(own: &[&Record], records: &SessionRecords) -> ReferenceDocs {
    let mut seen = BTreeSet::new();
    // a document consulted repeatedly counts once, at its last consultation
    let consulted = own.iter().rev().filter_map(|record| match &record.body {
        Body::Source(source) if seen.insert(&source.location) => {
            let kind = document_kind(&source.location);
            Some(ConsultedDocument { path: source.location.clone(), kind, accessed: record.envelope.at.clone() })
        }
        _ => None,
    });
    let mut consulted: Vec<ConsultedDocument> = consulted.collect();
    let before = |(_, checkpoint): &&(_, Checkpoint)| checkpoint.trigger == Trigger::PreCompact;
    let summaries: Vec<_> = records.checkpoints.iter().filter(before).collect();
    ReferenceDocs {
        loaded_count: consulted.len() as u64,
        recent: consulted.drain(..RECENT.min(consulted.len())).collect(),
        pre_summaries: PreSummaries {
            count: summaries.len() as u64,
            most_recent: summaries.last().map(|(envelope, checkpoint)| PreSummary {
                id: envelope.id.clone(),
                timestamp: envelope.at.clone(),
                impact: checkpoint.vectors.get(Vector::Impact),
                completion: checkpoint.vectors.get(Vector::Completion),
            }),
        },
    }
}

/// Kind of a document: `url`; the folder below `docs` or `doc`; `documentation`; `code`.
fn document_kind(location: &str) -> String {
    if location.contains("://") {
        return "url".to_owned();
    }
    let parts: Vec<&str> = location.split('/').collect();
    let docs = parts.iter().position(|part| matches!(*part, "docs" | "doc"));
    if let Some(at) = docs {
        let below = parts.get(at + 1).filter(|_| parts.len() > at + 2);
        return below.map_or_else(|| "documentation".to_owned(), |folder| (*folder).to_owned());
    }
    let ending = location.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    let prose = ["md", "txt", "rst", "adoc", "html", "pdf", "org"].contains(&ending.as_str());
    if prose { "documentation" } else { "code" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_a_kind() {
        for (location, kind) in [
            ("https://example.com/a.md", "url"),
            ("docs/architecture/CYCLES.md", "architecture"),
            ("pkg/doc/api/x.rs", "api"),
            ("docs/guide.md", "documentation"),
            ("README.md", "documentation"),
            ("src/main.rs", "code"),
            ("Makefile", "code"),
        ] {
            assert_eq!(document_kind(location), kind, "{location}");
        }
    }

    #[test]
    fn recent_ones_are_the_sessions_own_first() {
        let all: Vec<(bool, u32)> = (0..10).map(|n| (n % 4 == 0, n)).collect();
        assert_eq!(recent(all), [8, 4, 0, 9, 7]);
    }
}
