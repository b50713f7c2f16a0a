//! The status: sessions of this worktree, pending records, stored records.

pub mod pending;
pub mod prompt;
pub mod view;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::context::active::load;
use crate::context::records::{self, gather_from};
use crate::context::tasks;
use crate::fold::assessment::drift::WINDOW;
use crate::fold::assessment::gate::Gate;
use crate::fold::assessment::session_gate::gate;
use crate::fold::session_records::SessionRecords;
use crate::render::format::count;
use crate::use_cases::session::status::pending::{PendingRecords, Unsynced};
use crate::use_cases::setup::record::SetupRecord;
use empirica_notes::error::{Command, Result, blank, empirica};

/// An active session.
#[derive(Debug)]
pub struct WorkingState {
    pub records: SessionRecords,
    pub gate: Gate,
}

/// A command to run next.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NextStep {
    /// The command.
    #[schemars(with = "String")]
    pub command: Command,
    /// Why.
    pub reason: String,
}

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
    pub waiting: PendingRecords,
    /// The agent, and how many handoffs wait for it.
    pub agent: String,
    pub inbox: usize,
    /// The records that a remote lacks; `None` if none is synced, or it is not known.
    pub unsynced: Option<Unsynced>,
    pub is_set_up: bool,
    /// The commands to run next, at most 2.
    pub next: Vec<NextStep>,
    pub warnings: Vec<String>,
}

/// The most next commands.
const NEXT: usize = 2;

/// The commands to run next: first setup, then the session, then sync.
fn next(outcome: &StatusOutcome) -> Vec<NextStep> {
    let mut out = Vec::new();
    let finding = || empirica("finding").arg(blank("<what you learned>"));
    let mut add = |command: Command, reason: String| out.push(NextStep { command, reason });
    if !outcome.is_set_up {
        add(empirica("init"), "hooks and remotes are not set up in this clone".to_owned());
    }
    if outcome.inbox > 0 {
        add(empirica("inbox"), format!("waiting for {}: {}", outcome.agent, count(outcome.inbox, "handoff")));
    }
    match outcome.sessions.first() {
        Some(WorkingState { records, .. }) => {
            let claims = records.findings.len() + records.decisions.len() + records.dead_ends.len();
            let has_task = records.session.task.is_some()
                || records.assessments.iter().any(|(_, assessment)| assessment.task.is_some());
            let lacks = [
                (claims > 0, "a finding, decision or dead end"),
                (has_task, "the task (-m)"),
                (false, "next steps (--next)"),
            ];
            let lacks: Vec<&str> = lacks.iter().filter(|(has, _)| !has).map(|(_, missing)| *missing).collect();
            match claims {
                0 => add(finding(), "the session has nothing to hand over yet".to_owned()),
                _ if records.in_force() > 0 => {}
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

pub fn run(context: &CommandContext<'_>) -> Result<StatusOutcome> {
    let mut warnings = context.store.reconcile();
    let mut active = Vec::new();
    let sessions = load(context)?;
    for session in sessions.iter().rev() {
        let scan = records::session(context, &session.id)?;
        match gather_from(&scan, &session.id) {
            Ok(records) => active.push(WorkingState { gate: gate(&scan, &session.id, WINDOW), records }),
            Err(error) => warnings.push(error.to_string()),
        }
    }
    let index = context.index()?;
    warnings.extend(index.double_warnings()?);
    let counted = active.iter().flat_map(|WorkingState { records, .. }| {
        records.entry_ids.iter().chain(records.handoffs.iter().map(|(envelope, _)| &envelope.id))
    });
    warnings.extend(context.unproven(counted));
    warnings.extend(tasks::inbox::lost(context, &sessions)?);
    let own = context.own_session().ok().flatten();
    let ai = context.author(own.as_ref().map(|session| session.ai.as_str()));
    let inbox = tasks::inbox::waiting(context, &ai, own.as_ref().map(|session| &session.id))?;
    let unsynced = pending::unsynced(context).unwrap_or_else(|error| {
        warnings.push(format!("cannot compare with the remotes: {}", error.in_one_line()));
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
        waiting: PendingRecords::new(context),
        inbox: inbox.len(),
        agent: ai,
        unsynced,
        is_set_up: set_up.is_some_and(|record| record.is_set_up() && !record.is_left_behind(context.repo)),
        next: Vec::new(),
        warnings,
    };
    outcome.next = next(&outcome);
    Ok(outcome)
}
