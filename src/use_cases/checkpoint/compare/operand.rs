//! One operand of a comparison: a checkpoint, an assessment, a handoff, or the present state.

use std::collections::BTreeMap;

use crate::fold::assessment::gaps::answered;
use empirica_notes::model::goal::{GoalState, GoalStatus};
use empirica_notes::model::handoff::Item;
use empirica_notes::model::snapshot::{Breadcrumbs, Chain, GitState, Snapshot};
use empirica_notes::model::{Assessment, Checkpoint, Envelope, Handoff, Id, Phase, SessionId, Vector, Vectors};

/// Journal entries of a kind.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JournalItems {
    /// Number of the session's; `None` if unknown.
    pub session: Option<u64>,
    /// Number of the project's; `None` if unknown.
    pub total: Option<u64>,
    pub listed: Vec<(Option<Id>, String)>,
    /// Whether all of the session's are listed.
    pub whole: bool,
}

impl JournalItems {
    fn counted<'s>(session: u64, total: u64, recent: impl Iterator<Item = (&'s Id, &'s String)>) -> Option<Self> {
        let listed = recent.map(|(id, text)| (Some(id.clone()), text.clone())).collect();
        Some(JournalItems { session: Some(session), total: Some(total), listed, whole: false })
    }

    fn whole(listed: Vec<(Option<Id>, String)>) -> Self {
        JournalItems { session: Some(listed.len() as u64), total: None, listed, whole: true }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct OperandGoal {
    pub id: Id,
    pub text: String,
    /// Subtasks done, and all; `None` without subtasks.
    pub progress: Option<(u64, u64)>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperandGoals {
    /// Number of the session's goals.
    pub total: u64,
    pub completed: u64,
    pub active: u64,
    /// Open goals, as far as they are listed.
    pub open: Vec<OperandGoal>,
    /// The goal in progress; `None` if unknown.
    pub current: Option<Id>,
}

/// One operand of a comparison. Unknown values are `None`, or empty lists, and are not compared.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Operand {
    /// checkpoint, assessment, handoff, or now.
    pub kind: &'static str,
    /// The record; `None` for now.
    pub id: Option<Id>,
    pub session: Option<SessionId>,
    pub ai: String,
    /// When, RFC 3339 UTC.
    pub at: String,
    /// The commit it was made on, hex.
    pub commit: Option<String>,
    pub vectors: Vectors,
    /// The assessment they are from, unless they were given with the operand.
    pub vectors_from: Option<Id>,
    /// The assessment of each vector, by name, if known.
    pub vector_sources: BTreeMap<String, Id>,
    pub git: Option<GitState>,
    pub findings: Option<JournalItems>,
    pub unknowns: Option<JournalItems>,
    /// Number of the project's answered unknowns.
    pub resolved: Option<u64>,
    pub dead_ends: Option<JournalItems>,
    pub mistakes: Option<JournalItems>,
    pub decisions: Option<JournalItems>,
    pub goals: Option<OperandGoals>,
    /// Number of handoffs in force.
    pub handoffs: Option<u64>,
    pub phase: Option<Phase>,
    pub round: Option<u32>,
    /// The iteration of the investigation.
    pub cycle: Option<u32>,
    pub scope: Option<f64>,
    pub sessions: Option<u64>,
    pub active: Option<u64>,
    pub agents: Option<u64>,
    /// Chains and paths of the investigation, on a line each.
    pub threads: Option<Vec<String>>,
    pub documents: Option<u64>,
    /// Oldest first.
    pub reasoning: Vec<String>,
    /// Task, context and next steps.
    pub context: Vec<String>,
    /// Whether it is the present state, which an assessment can still follow.
    pub is_present: bool,
}

impl Operand {
    fn of(kind: &'static str, envelope: &Envelope) -> Self {
        Operand {
            kind,
            id: Some(envelope.id.clone()),
            session: envelope.session.clone(),
            ai: envelope.ai.clone(),
            at: envelope.at.clone(),
            commit: envelope.commit.clone(),
            ..Operand::default()
        }
    }

    /// The assessment of a vector; `None` if it was given with the operand.
    pub fn source(&self, vector: Vector) -> Option<&Id> {
        self.vector_sources.get(vector.name()).or(self.vectors_from.as_ref())
    }

    /// A checkpoint, or the present state as one.
    pub fn checkpoint(envelope: &Envelope, checkpoint: &Checkpoint) -> Self {
        let mut operand = Operand::of("checkpoint", envelope);
        operand.vectors = checkpoint.vectors.clone();
        operand.vectors_from = checkpoint.vectors_from.clone();
        operand.vector_sources = checkpoint.vector_sources.clone();
        operand.git = checkpoint.git_state.clone();
        operand.phase = checkpoint.phase;
        operand.reasoning.extend(checkpoint.said.clone());
        if let Some(snapshot) = &checkpoint.snapshot {
            operand.add_snapshot(snapshot);
        }
        operand
    }

    fn add_snapshot(&mut self, s: &Snapshot) {
        let Breadcrumbs { findings, unknowns, dead_ends, mistakes } = &s.breadcrumbs;
        let recent = findings.recent.iter().map(|seen| (&seen.id, &seen.finding));
        self.findings = JournalItems::counted(findings.session, findings.total, recent);
        let recent = unknowns.recent.iter().map(|seen| (&seen.id, &seen.unknown));
        self.unknowns = JournalItems::counted(unknowns.session, unknowns.total, recent);
        self.resolved = Some(unknowns.resolved);
        let recent = dead_ends.recent.iter().map(|seen| (&seen.id, &seen.approach));
        self.dead_ends = JournalItems::counted(dead_ends.session, dead_ends.total, recent);
        let recent = mistakes.recent.iter().map(|seen| (&seen.id, &seen.mistake));
        self.mistakes = JournalItems::counted(mistakes.session, mistakes.total, recent);
        let current = s.goals.current.iter().map(|goal| OperandGoal {
            id: goal.id.clone(),
            text: goal.objective.clone(),
            progress: goal.progress.as_deref().and_then(steps),
        });
        self.goals = Some(OperandGoals {
            total: s.goals.total,
            completed: s.goals.completed,
            active: s.goals.active,
            open: current.collect(),
            current: s.goals.current.as_ref().map(|goal| goal.id.clone()),
        });
        self.handoffs = Some(s.handoffs.count);
        self.round = s.session.round;
        self.cycle = s.session.cycle;
        self.scope = s.session.scope_depth;
        self.sessions = Some(s.project.total_sessions);
        self.active = Some(s.project.active_total);
        self.agents = Some(s.project.ai_total);
        let chains = s.investigation.breadcrumb_chains.iter().map(thread);
        self.threads = Some(chains.chain(s.investigation.exploration_paths.iter().cloned()).collect());
        self.documents = Some(s.reference_docs.loaded_count);
        self.reasoning = s.reasoning.trajectory.iter().map(|thought| thought.reasoning.clone()).collect();
        self.context.extend(s.session.task.clone());
        self.context.extend(s.goals.current.iter().map(|goal| goal.objective.clone()));
    }

    pub fn now(envelope: &Envelope, checkpoint: &Checkpoint, goals: &[GoalState]) -> Self {
        Operand { kind: "now", id: None, ..Operand::taken(envelope, checkpoint, goals) }
    }

    /// A checkpoint taken just now, with all goals of the session, as the checkpoint lists only one.
    pub fn taken(envelope: &Envelope, checkpoint: &Checkpoint, goals: &[GoalState]) -> Self {
        let mut operand = Operand { is_present: true, ..Operand::checkpoint(envelope, checkpoint) };
        if let Some(seen) = &mut operand.goals {
            seen.open = open(goals);
        }
        operand
    }

    pub fn assessment(envelope: &Envelope, assessment: &Assessment) -> Self {
        Operand {
            vectors: assessment.vectors.clone(),
            phase: Some(assessment.phase),
            round: Some(assessment.round),
            cycle: assessment.cycle,
            scope: assessment.scope,
            reasoning: assessment.reasoning.iter().cloned().collect(),
            context: assessment.task.iter().cloned().collect(),
            ..Operand::of("assessment", envelope)
        }
    }

    pub fn handoff(envelope: &Envelope, handoff: &Handoff) -> Self {
        let items =
            |list: &[Item]| JournalItems::whole(list.iter().map(|item| (item.id.clone(), item.text.clone())).collect());
        let texts = |list: Vec<String>| JournalItems::whole(list.into_iter().map(|text| (None, text)).collect());
        let open = open(&handoff.goals);
        let last = handoff.assessments.last();
        let mut context = vec![handoff.task.clone(), handoff.context.clone()];
        context.extend(handoff.next_steps.iter().cloned());
        context.retain(|text| !text.is_empty());
        let mut unknowns = items(&handoff.unknowns);
        // an answered question is not forgotten
        unknowns.listed.extend(answered(&handoff.gaps_filled).map(|question| (None, question.to_owned())));
        unknowns.session = Some(unknowns.listed.len() as u64);
        Operand {
            vectors: last.map(|assessed| assessed.vectors.clone()).unwrap_or_default(),
            vectors_from: last.map(|assessed| assessed.id.clone()),
            findings: Some(items(&handoff.findings)),
            unknowns: Some(unknowns),
            dead_ends: Some(texts(handoff.dead_ends.iter().map(|dead_end| dead_end.approach.clone()).collect())),
            mistakes: Some(texts(handoff.mistakes.iter().map(|mistake| mistake.text.clone()).collect())),
            decisions: Some(texts(handoff.decisions.iter().map(|decision| decision.text.clone()).collect())),
            goals: Some(OperandGoals {
                total: handoff.goals.len() as u64,
                completed: handoff.goals.iter().filter(|goal| goal.status == GoalStatus::Done).count() as u64,
                active: open.len() as u64,
                open,
                current: None,
            }),
            phase: last.map(|assessed| assessed.phase),
            round: last.map(|assessed| assessed.round),
            documents: Some(handoff.sources.len() as u64),
            reasoning: handoff.assessments.iter().filter_map(|assessed| assessed.reasoning.clone()).collect(),
            context,
            ..Operand::of("handoff", envelope)
        }
    }
}

fn open(goals: &[GoalState]) -> Vec<OperandGoal> {
    let open = goals.iter().filter(|goal| goal.status == GoalStatus::Open);
    let seen = |goal: &GoalState| OperandGoal { id: goal.id.clone(), text: goal.text.clone(), progress: goal.steps() };
    open.map(seen).collect()
}

/// A chain on a line.
fn thread(chain: &Chain) -> String {
    let links = [&chain.finding, &chain.led_to_unknown, &chain.led_to_finding, &chain.led_to_fix];
    links.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" → ")
}

/// Parses "2/4 subtasks".
fn steps(text: &str) -> Option<(u64, u64)> {
    let (done, all) = text.split_whitespace().next()?.split_once('/')?;
    Some((done.parse().ok()?, all.parse().ok()?))
}
