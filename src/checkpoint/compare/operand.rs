//! A snapshot, an assessment or a handoff as one side of a comparison.

use std::collections::BTreeMap;

use crate::fold::assessment::gaps::answered;
use empirica_notes::model::goal::{GoalState, GoalStatus};
use empirica_notes::model::snapshot::{Chain, GitState, Snapshot};
use empirica_notes::model::{Assessment, Checkpoint, Envelope, Handoff, Id, Phase, SessionId, Vector, Vectors};

/// Things of one kind.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KnownItems {
    /// How many the session has; `None` when that is not known.
    pub session: Option<u64>,
    /// How many the project has; `None` when that is not known.
    pub total: Option<u64>,
    pub listed: Vec<(Option<Id>, String)>,
    /// Whether all of the session's are named.
    pub whole: bool,
}

impl KnownItems {
    fn counted(session: u64, total: u64, listed: Vec<(Option<Id>, String)>) -> Self {
        KnownItems { session: Some(session), total: Some(total), listed, whole: false }
    }

    fn whole(listed: Vec<(Option<Id>, String)>) -> Self {
        KnownItems { session: Some(listed.len() as u64), total: None, listed, whole: true }
    }
}

/// A goal of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct OperandGoal {
    /// Its record.
    pub id: Id,
    /// What is to be reached.
    pub text: String,
    /// Steps done, of all; `None` without steps.
    pub progress: Option<(u64, u64)>,
}

/// The goals of a side.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperandGoals {
    /// All of the session's.
    pub total: u64,
    pub completed: u64,
    pub active: u64,
    pub open: Vec<OperandGoal>,
    /// The one that is worked on; `None` when that is not known.
    pub current: Option<Id>,
}

/// One side of a comparison. What a side does not know is `None`, or empty in lists, and is not compared.
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
    /// The assessment they were taken from, when they were not given with it.
    pub vectors_from: Option<Id>,
    /// The assessment each of them was taken from, by name, where that is known.
    pub vector_sources: BTreeMap<String, Id>,
    pub git: Option<GitState>,
    /// Findings, open and answered unknowns, dead ends, mistakes, decisions.
    pub findings: Option<KnownItems>,
    pub unknowns: Option<KnownItems>,
    /// How many unknowns of the project are answered.
    pub resolved: Option<u64>,
    pub dead_ends: Option<KnownItems>,
    pub mistakes: Option<KnownItems>,
    pub decisions: Option<KnownItems>,
    pub goals: Option<OperandGoals>,
    /// How many handoffs are in force.
    pub handoffs: Option<u64>,
    pub phase: Option<Phase>,
    pub round: Option<u32>,
    /// The iteration of the investigation.
    pub cycle: Option<u32>,
    pub scope: Option<f64>,
    pub sessions: Option<u64>,
    pub active: Option<u64>,
    pub agents: Option<u64>,
    /// Chains of the investigation, on a line each, and the places it led through.
    pub threads: Option<Vec<String>>,
    pub documents: Option<u64>,
    /// The reasoning, oldest first.
    pub reasoning: Vec<String>,
    /// What it is about, what comes next, and what the next one must know.
    pub context: Vec<String>,
    /// Whether work goes on from it: an assessment can follow.
    pub is_present: bool,
}

impl Operand {
    fn of(kind: &'static str, head: &Envelope) -> Self {
        Operand {
            kind,
            id: Some(head.id.clone()),
            session: head.session.clone(),
            ai: head.ai.clone(),
            at: head.at.clone(),
            commit: head.commit.clone(),
            ..Operand::default()
        }
    }

    /// The assessment that a vector was taken from; `None` when it was given with the side.
    pub fn source(&self, vector: Vector) -> Option<&Id> {
        self.vector_sources.get(vector.name()).or(self.vectors_from.as_ref())
    }

    /// A checkpoint, or the present state as one.
    pub fn checkpoint(head: &Envelope, checkpoint: &Checkpoint) -> Self {
        let mut side = Operand::of("checkpoint", head);
        side.vectors = checkpoint.vectors.clone();
        side.vectors_from = checkpoint.vectors_from.clone();
        side.vector_sources = checkpoint.vector_sources.clone();
        side.git = checkpoint.git_state.clone();
        side.phase = checkpoint.phase;
        side.reasoning.extend(checkpoint.said.clone());
        if let Some(snapshot) = &checkpoint.snapshot {
            side.take_in(snapshot);
        }
        side
    }

    fn take_in(&mut self, s: &Snapshot) {
        let crumbs = &s.breadcrumbs;
        let findings = crumbs.findings.recent.iter().map(|seen| (Some(seen.id.clone()), seen.finding.clone()));
        self.findings = Some(KnownItems::counted(crumbs.findings.session, crumbs.findings.total, findings.collect()));
        let unknowns = crumbs.unknowns.recent.iter().map(|seen| (Some(seen.id.clone()), seen.unknown.clone()));
        self.unknowns = Some(KnownItems::counted(crumbs.unknowns.session, crumbs.unknowns.total, unknowns.collect()));
        self.resolved = Some(crumbs.unknowns.resolved);
        let dead_ends = crumbs.dead_ends.recent.iter().map(|seen| (Some(seen.id.clone()), seen.approach.clone()));
        self.dead_ends =
            Some(KnownItems::counted(crumbs.dead_ends.session, crumbs.dead_ends.total, dead_ends.collect()));
        let mistakes = crumbs.mistakes.recent.iter().map(|seen| (Some(seen.id.clone()), seen.mistake.clone()));
        self.mistakes = Some(KnownItems::counted(crumbs.mistakes.session, crumbs.mistakes.total, mistakes.collect()));
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

    /// The present state.
    pub fn now(head: &Envelope, checkpoint: &Checkpoint, goals: &[GoalState]) -> Self {
        Operand { kind: "now", id: None, ..Operand::taken(head, checkpoint, goals) }
    }

    /// A checkpoint that was taken just now, with all of the session's goals: it names one of them.
    pub fn taken(head: &Envelope, checkpoint: &Checkpoint, goals: &[GoalState]) -> Self {
        let mut side = Operand { is_present: true, ..Operand::checkpoint(head, checkpoint) };
        if let Some(seen) = &mut side.goals {
            seen.open = open(goals);
        }
        side
    }

    /// An assessment: vectors, place in the workflow and reasoning only.
    pub fn assessment(head: &Envelope, assessment: &Assessment) -> Self {
        Operand {
            vectors: assessment.vectors.clone(),
            phase: Some(assessment.phase),
            round: Some(assessment.round),
            cycle: assessment.cycle,
            scope: assessment.scope,
            reasoning: assessment.reasoning.iter().cloned().collect(),
            context: assessment.task.iter().cloned().collect(),
            ..Operand::of("assessment", head)
        }
    }

    /// A handoff: what it hands over, whole.
    pub fn handoff(head: &Envelope, handoff: &Handoff) -> Self {
        let items = |list: &[empirica_notes::model::handoff::Item]| {
            KnownItems::whole(list.iter().map(|item| (item.id.clone(), item.text.clone())).collect())
        };
        let texts = |list: Vec<String>| KnownItems::whole(list.into_iter().map(|text| (None, text)).collect());
        let open = open(&handoff.goals);
        let last = handoff.assessments.last();
        let mut context = vec![handoff.task.clone(), handoff.context.clone()];
        context.extend(handoff.next_steps.iter().cloned());
        context.retain(|text| !text.is_empty());
        let mut unknowns = items(&handoff.unknowns);
        // a question that was answered is not forgotten
        unknowns.listed.extend(answered(&handoff.gaps_filled).map(|question| (None, question.to_owned())));
        unknowns.session = Some(unknowns.listed.len() as u64);
        Operand {
            vectors: last.map(|assessed| assessed.vectors.clone()).unwrap_or_default(),
            vectors_from: last.map(|assessed| assessed.id.clone()),
            findings: Some(items(&handoff.findings)),
            unknowns: Some(unknowns),
            dead_ends: Some(texts(handoff.dead_ends.iter().map(|failure| failure.approach.clone()).collect())),
            mistakes: Some(texts(handoff.mistakes.iter().map(|slip| slip.text.clone()).collect())),
            decisions: Some(texts(handoff.decisions.iter().map(|choice| choice.text.clone()).collect())),
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
            ..Operand::of("handoff", head)
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

/// Reads "2/4 subtasks".
fn steps(text: &str) -> Option<(u64, u64)> {
    let (done, all) = text.split_whitespace().next()?.split_once('/')?;
    Some((done.parse().ok()?, all.parse().ok()?))
}
