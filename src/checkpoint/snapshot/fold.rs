//! The snapshot of a session: folded from the records, then bounded.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, SecondsFormat, Utc};

use crate::checkpoint::snapshot::chains::{chains, path};
use crate::fold::assessment::{drift, gate};
use crate::fold::journal::answers;
use crate::fold::session_state::SessionRecords;
use empirica_notes::model::assessment::{Checkpoint, Trigger};
use empirica_notes::model::goal::{GoalState, GoalStatus, completion_rate};
use empirica_notes::model::snapshot::*;
use empirica_notes::model::{Assessment, Body, Envelope, Id, Phase, Record, SessionId, Vector};

/// The most entries of a list of recent ones (the seed's limit).
pub const RECENT: usize = 5;
/// The most steps of a way.
pub const STEPS: usize = 20;
/// What git knows beside the state of the work tree.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GitPosition {
    pub project_id: Option<String>,
    pub name: String,
    pub description: Option<String>,
    pub repos: Vec<String>,
}

/// What is said with the checkpoint.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CheckpointInput {
    pub phase: Option<Phase>,
    pub round: u32,
    pub reasoning: Option<String>,
    pub tags: Vec<String>,
    pub cycle: Option<u32>,
    pub scope: Option<f64>,
}

/// What all records amount to, beside those at hand.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordTotals {
    pub findings: u64,
    pub unknowns: u64,
    /// How many of them nobody has answered.
    pub unresolved: u64,
    pub dead_ends: u64,
    pub mistakes: u64,
    pub handoffs: Handoffs,
    pub sessions: u64,
    /// Those that have not ended, the one that began last first.
    pub active: Vec<ActiveSession>,
    /// The agents that began sessions, the one that was heard of last first.
    pub agents: Vec<String>,
    /// The mean change over the sessions that give it.
    pub learning: LearningDeltas,
}

/// The snapshot of a session at `now`; texts are whole and lists short. `gathered` is the session. `records`, in order of
/// id, are those of the session and about it, and the newest [`RECENT`] findings, unknowns with their answers, dead ends and
/// mistakes of others; `totals` stands for the rest.
pub fn fold(
    records: &[&Record],
    gathered: &SessionRecords,
    place: GitPosition,
    said: &CheckpointInput,
    now: DateTime<Utc>,
    totals: &RecordTotals,
) -> Snapshot {
    let id = &gathered.session.id;
    let own: Vec<&Record> = records.iter().copied().filter(|record| record.head.session.as_ref() == Some(id)).collect();
    let last = gathered.last().map(|(_, assessment)| assessment);
    let phase = said.phase.or(last.map(|assessment| assessment.phase));
    let cycle = said.cycle.or(last_said(gathered, |a| a.cycle, |s| s.cycle));
    let scope_depth = said.scope.or(last_said(gathered, |a| a.scope, |s| s.scope_depth));
    let round = Some(said.round);
    let minutes = |from: &str| {
        let from = DateTime::parse_from_rfc3339(from).ok();
        from.map_or(0, |from| (now - from.to_utc()).num_minutes().max(0) as u64)
    };
    let session = SessionState {
        session_id: id.clone(),
        ai_id: gathered.session.ai.clone(),
        project_id: place.project_id.clone(),
        task: gathered.session.task.clone(),
        start_time: gathered.session.started_at.clone(),
        duration_minutes: minutes(&gathered.session.started_at),
        cascade_phase: phase,
        round,
        cycle,
        scope_depth,
        assessments_count: gathered.assessments.len() as u64,
        checkpoints_count: (gathered.assessments.len() + gathered.checkpoints.len()) as u64,
        journal_count: gathered.entries as u64,
        last_checkpoint: last_checkpoint(gathered),
    };
    Snapshot {
        reasoning: reasoning(records, &own, gathered, said, &now.to_rfc3339_opts(SecondsFormat::Millis, true)),
        breadcrumbs: breadcrumbs(records, id, totals),
        goals: goals(&gathered.goals, &own),
        handoffs: totals.handoffs.clone(),
        session,
        project: project(totals, place),
        investigation: Investigation {
            cycle,
            round,
            scope_depth,
            breadcrumb_chains: newest(chains(&own), RECENT),
            exploration_paths: path(&own).into_iter().collect(),
        },
        reference_docs: reference_docs(&own, gathered),
        semantic_context: None,
    }
}

/// What was said last with an assessment or a checkpoint; a checkpoint repeats what was said before it.
fn last_said<T>(
    gathered: &SessionRecords,
    assessed: fn(&Assessment) -> Option<T>,
    taken: fn(&SessionState) -> Option<T>,
) -> Option<T> {
    let of_checkpoint = |(head, checkpoint): &(Envelope, Checkpoint)| {
        Some((head.id.clone(), taken(&checkpoint.snapshot.as_ref()?.session)?))
    };
    let assessed =
        gathered.assessments.iter().rev().find_map(|(head, assessment)| Some((head.id.clone(), assessed(assessment)?)));
    let taken = gathered.checkpoints.iter().rev().find_map(of_checkpoint);
    [assessed, taken].into_iter().flatten().max_by(|a, b| a.0.cmp(&b.0)).map(|(_, value)| value)
}

/// The last `most` of a list.
fn newest<T>(mut list: Vec<T>, most: usize) -> Vec<T> {
    list.split_off(list.len().saturating_sub(most))
}

fn last_checkpoint(gathered: &SessionRecords) -> Option<LastCheckpoint> {
    let assessed = gathered.assessments.last().map(|(head, a)| (head, Some(a.phase), &a.vectors));
    let taken = gathered.checkpoints.last().map(|(head, c)| (head, c.phase, &c.vectors));
    let (head, phase, vectors) = [assessed, taken].into_iter().flatten().max_by_key(|(head, ..)| head.id.clone())?;
    Some(LastCheckpoint { id: head.id.clone(), phase, timestamp: head.at.clone(), vectors: vectors.clone() })
}

fn reasoning(
    records: &[&Record],
    own: &[&Record],
    gathered: &SessionRecords,
    said: &CheckpointInput,
    at: &str,
) -> Reasoning {
    let thoughts = own.iter().filter_map(|record| {
        let text = match &record.body {
            Body::Assessment(assessment) => assessment.reasoning.as_ref()?,
            Body::Checkpoint(checkpoint) => checkpoint.said.as_ref()?,
            _ => return None,
        };
        Some(Thought { timestamp: record.head.at.clone(), reasoning: text.clone() })
    });
    let now_said = said.reasoning.iter().map(|text| Thought { timestamp: at.to_owned(), reasoning: text.clone() });
    let trajectory: Vec<Thought> = thoughts.chain(now_said).collect();
    // of all records, as a CHECK itself: others answer its questions, too
    let steps = drift::steps(records.iter().copied(), &gathered.session.id);
    let decided = steps.iter().enumerate().skip(steps.len().saturating_sub(STEPS)).map(|(at, (_, assessment, _))| {
        let confidence = gate::confidence(assessment);
        let gate = (assessment.phase == Phase::Check).then(|| gate::gate(&steps[..=at], drift::WINDOW));
        let decision = gate.and_then(|gate| gate.decision).map(|decision| decision.name().to_owned());
        let name = assessment.phase.name();
        let checkpoint = match (assessment.phase, assessment.round) {
            (Phase::Preflight | Phase::Postflight, 1) => name.to_owned(),
            (_, round) => format!("{name}-{round}"),
        };
        Decided { checkpoint, decision, confidence }
    });
    let given = gathered.assessments.iter().flat_map(|(_, a)| &a.tags);
    let taken = gathered.checkpoints.iter().flat_map(|(_, c)| &c.tags);
    let all: Vec<&String> = given.chain(taken).chain(&said.tags).collect();
    let mut known = BTreeSet::new();
    // the newest place of a label is its place
    let tags = all.into_iter().rev().filter(|tag| known.insert(*tag)).take(STEPS).cloned();
    let mut tags: Vec<String> = tags.collect();
    tags.reverse();
    Reasoning {
        latest: trajectory.last().map(|thought| thought.reasoning.clone()),
        trajectory: newest(trajectory, STEPS),
        decision_history: decided.collect(),
        epistemic_tags: tags,
    }
}

/// The recent ones of `all`, newest first, those of the session before the others.
fn recent<T>(all: Vec<(bool, T)>) -> Vec<T> {
    let (own, others): (Vec<_>, Vec<_>) = all.into_iter().rev().partition(|(own, _)| *own);
    own.into_iter().chain(others).take(RECENT).map(|(_, entry)| entry).collect()
}

fn breadcrumbs(records: &[&Record], id: &SessionId, totals: &RecordTotals) -> Breadcrumbs {
    let answered = answers(records.iter().copied());
    let (mut findings, mut unknowns) = (Vec::new(), Vec::new());
    let (mut dead_ends, mut mistakes) = (Vec::new(), Vec::new());
    for record in records {
        let own = record.head.session.as_ref() == Some(id);
        let id = record.head.id.clone();
        match &record.body {
            Body::Finding(b) => {
                let seen = FindingSeen { id, finding: b.text.clone(), timestamp: record.head.at.clone() };
                findings.push((own, seen));
            }
            Body::Unknown(b) => {
                let is_resolved = answered.contains_key(&id);
                unknowns.push((own, UnknownSeen { id, unknown: b.text.clone(), is_resolved }));
            }
            Body::DeadEnd(b) => {
                let seen = DeadEndSeen { id, approach: b.approach.clone(), why_failed: b.why.clone() };
                dead_ends.push((own, seen));
            }
            Body::Mistake(b) => {
                let seen = MistakeSeen { id, mistake: b.text.clone(), prevention: b.prevention.clone() };
                mistakes.push((own, seen));
            }
            _ => {}
        }
    }
    fn own<T>(all: &[(bool, T)]) -> u64 {
        all.iter().filter(|(own, _)| *own).count() as u64
    }
    let RecordTotals { unresolved, .. } = *totals;
    Breadcrumbs {
        findings: Findings { total: totals.findings, session: own(&findings), recent: recent(findings) },
        unknowns: Unknowns {
            total: totals.unknowns,
            unresolved,
            resolved: totals.unknowns.saturating_sub(unresolved),
            session: own(&unknowns),
            recent: recent(unknowns),
        },
        dead_ends: DeadEnds { total: totals.dead_ends, session: own(&dead_ends), recent: recent(dead_ends) },
        mistakes: Mistakes { total: totals.mistakes, session: own(&mistakes), recent: recent(mistakes) },
    }
}

fn goals(goals: &[GoalState], own: &[&Record]) -> Goals {
    let with = |status: GoalStatus| goals.iter().filter(|goal| goal.status == status).count();
    // the newest record that is about a goal or a step of it
    let mut about: BTreeMap<&Id, &Id> = BTreeMap::new();
    for record in own {
        for id in record.names().into_iter().chain([&record.head.id]) {
            about.insert(id, &record.head.id);
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

fn project(totals: &RecordTotals, place: GitPosition) -> Project {
    Project {
        project_id: place.project_id,
        name: place.name,
        description: place.description,
        repos: place.repos.into_iter().take(RECENT).collect(),
        active_total: totals.active.len() as u64,
        active_sessions: totals.active.iter().take(RECENT).cloned().collect(),
        ai_total: totals.agents.len() as u64,
        ai_collaborators: totals.agents.iter().take(RECENT).cloned().collect(),
        total_sessions: totals.sessions,
        learning_deltas: totals.learning,
    }
}

fn reference_docs(own: &[&Record], gathered: &SessionRecords) -> ReferenceDocs {
    let mut known = BTreeSet::new();
    // what was consulted again was consulted last
    let consulted = own.iter().rev().filter_map(|record| match &record.body {
        Body::Source(source) if known.insert(&source.location) => {
            let kind = document_kind(&source.location);
            Some(Consulted { path: source.location.clone(), kind, accessed: record.head.at.clone() })
        }
        _ => None,
    });
    let mut seen: Vec<Consulted> = consulted.collect();
    let before = |(_, checkpoint): &&(_, Checkpoint)| checkpoint.trigger == Trigger::PreCompact;
    let summaries: Vec<_> = gathered.checkpoints.iter().filter(before).collect();
    ReferenceDocs {
        loaded_count: seen.len() as u64,
        recent: seen.drain(..RECENT.min(seen.len())).collect(),
        pre_summaries: PreSummaries {
            count: summaries.len() as u64,
            most_recent: summaries.last().map(|(head, checkpoint)| PreSummary {
                id: head.id.clone(),
                timestamp: head.at.clone(),
                impact: checkpoint.vectors.get(Vector::Impact),
                completion: checkpoint.vectors.get(Vector::Completion),
            }),
        },
    }
}

/// What sort of document a location is: `url`; below a folder `docs` or `doc` the folder there; `documentation`; `code`.
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
