//! Where things stand: the sessions of this worktree, what waits, what is stored.

pub mod pending;
pub mod view;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::context::active::load;
use crate::context::records::gather_from;
use crate::fold::assessment::drift::WINDOW;
use crate::fold::assessment::gate::Gate;
use crate::fold::assessment::session_gate::gate;
use crate::fold::session_state::SessionRecords;
use crate::session::status::pending::{PendingRecords, Unsynced};
use crate::setup::record::SetupRecord;
use empirica_notes::error::{Command, Result, blank, empirica};

/// A session somebody works in.
#[derive(Debug)]
pub struct WorkingState {
    /// What it said.
    pub gathered: SessionRecords,
    /// How its confidence moved, and what that means for acting.
    pub gate: Gate,
}

/// A command that makes sense next.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NextStep {
    /// The command.
    #[schemars(with = "String")]
    pub command: Command,
    /// Why.
    pub reason: String,
}

/// Where things stand.
#[derive(Debug)]
pub struct StatusOutcome {
    /// The branch; `None` when detached.
    pub branch: Option<String>,
    /// HEAD, hex; `None` when unborn.
    pub commit: Option<String>,
    pub worktree: String,
    /// The active sessions of this worktree, newest first.
    pub sessions: Vec<WorkingState>,
    /// How many sessions are stored.
    pub total_sessions: usize,
    /// How many handoffs are in force.
    pub handoffs: usize,
    /// The records that wait in the logs.
    pub waiting: PendingRecords,
    /// The records that have not reached a remote; `None` when none is set to go anywhere, or it cannot be told.
    pub unsynced: Option<Unsynced>,
    /// Whether `init` set the clone up.
    pub is_set_up: bool,
    /// The commands that make sense next, at most two.
    pub next: Vec<NextStep>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// How many commands are named.
const NEXT: usize = 2;

/// What makes sense next: first what is not done at all, then what others need.
fn next(outcome: &StatusOutcome) -> Vec<NextStep> {
    let mut out = Vec::new();
    let finding = || empirica("finding").arg(blank("<what you learned>"));
    let mut add = |command: Command, reason: String| out.push(NextStep { command, reason });
    if !outcome.is_set_up {
        add(empirica("init"), "hooks and remotes are not set up in this clone".to_owned());
    }
    match outcome.sessions.first() {
        Some(WorkingState { gathered, .. }) => {
            let said = gathered.findings.len() + gathered.decisions.len() + gathered.dead_ends.len();
            let is_told = gathered.session.task.is_some()
                || gathered.assessments.iter().any(|(_, assessment)| assessment.task.is_some());
            let lacks = [
                (said > 0, "a finding, decision or dead end"),
                (is_told, "the task (-m)"),
                (false, "next steps (--next)"),
            ];
            let lacks: Vec<&str> = lacks.iter().filter(|(there, _)| !there).map(|(_, what)| *what).collect();
            match said {
                0 => add(finding(), "the session has nothing to hand over yet".to_owned()),
                _ if gathered.in_force() > 0 => {}
                _ => add(empirica("handoff"), format!("hands the session over; add {}", lacks.join(", "))),
            }
        }
        None if outcome.handoffs > 0 => {
            add(empirica("resume"), "work was handed over, and no session has begun here".to_owned())
        }
        None => add(finding(), "the first record begins a session".to_owned()),
    }
    if outcome.unsynced.as_ref().is_some_and(|unsynced| unsynced.records > 0) {
        add(empirica("sync"), "the remote lacks records of yours".to_owned());
    }
    out.truncate(NEXT);
    out
}

/// Looks at everything once.
pub fn run(context: &CommandContext<'_>) -> Result<StatusOutcome> {
    let mut warnings = context.store.reconcile();
    let mut active = Vec::new();
    for session in load(context)?.iter().rev() {
        let scan = context.session(&session.id)?;
        match gather_from(&scan, &session.id) {
            Ok(gathered) => active.push(WorkingState { gate: gate(&scan, &session.id, WINDOW), gathered }),
            Err(error) => warnings.push(error.to_string()),
        }
    }
    let index = context.index()?;
    warnings.extend(index.double_warnings()?);
    let unsynced = pending::unsynced(context).unwrap_or_else(|error| {
        warnings.push(format!("what has not reached the remotes cannot be told: {}", error.in_one_line()));
        None
    });
    let head = context.store.head();
    let set_up = SetupRecord::load(&context.repo.common_dir()).unwrap_or_else(|error| {
        warnings.push(error.in_one_line());
        None
    });
    let mut outcome = StatusOutcome {
        branch: head.branch.clone(),
        commit: head.commit.map(|id| id.to_string()),
        worktree: context.store.paths().worktree().to_owned(),
        sessions: active,
        total_sessions: index.count_sessions()?,
        handoffs: index.count_handoffs()?,
        waiting: PendingRecords::look(context),
        unsynced,
        is_set_up: set_up.is_some_and(|record| record.is_set_up()),
        next: Vec::new(),
        warnings,
    };
    outcome.next = next(&outcome);
    Ok(outcome)
}
