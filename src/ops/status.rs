//! Where things stand: the sessions of this worktree, what waits, what is stored.

use super::backlog::{self, Unsynced, Waiting};
use super::context::Context;
use super::current::Current;
use super::drift::gate;
use super::session::gather_from;
use crate::epistemics::drift::WINDOW;
use crate::epistemics::gate::Gate;
use crate::epistemics::gathered::Gathered;
use crate::error::Result;

/// A session somebody works in.
#[derive(Debug)]
pub struct AtWork {
    /// What it said.
    pub gathered: Gathered,
    /// How its confidence moved, and what that means for acting.
    pub gate: Gate,
}

/// Where things stand.
#[derive(Debug)]
pub struct Outcome {
    /// The branch; `None` when detached.
    pub branch: Option<String>,
    /// HEAD, hex; `None` when unborn.
    pub commit: Option<String>,
    /// The worktree's name.
    pub worktree: String,
    /// The active sessions of this worktree, newest first.
    pub sessions: Vec<AtWork>,
    /// How many sessions are stored.
    pub total_sessions: usize,
    /// How many handoffs are in force.
    pub handoffs: usize,
    /// The records that wait in the logs.
    pub waiting: Waiting,
    /// The records that have not reached a remote; `None` when none is set to go anywhere, or it cannot be told.
    pub unsynced: Option<Unsynced>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Looks at everything once.
pub fn run(context: &Context<'_>) -> Result<Outcome> {
    let mut warnings = context.store.settle();
    let current = Current::load(context)?;
    let mut active = Vec::new();
    for session in current.active.iter().rev() {
        let scan = context.store.session(&session.id)?;
        match gather_from(&scan, &session.id) {
            Ok(gathered) => active.push(AtWork { gate: gate(&scan, &session.id, WINDOW), gathered }),
            Err(error) => warnings.push(error.to_string()),
        }
    }
    let index = context.store.index()?;
    for id in index.doubled()? {
        warnings.push(format!("two versions of the record {id} are stored; the one with the greater bytes is shown"));
    }
    let unsynced = backlog::unsynced(context).unwrap_or_else(|error| {
        warnings.push(format!("what has not reached the remotes cannot be told: {}", error.in_one_line()));
        None
    });
    let head = context.store.head();
    Ok(Outcome {
        branch: head.branch.clone(),
        commit: head.commit.map(|id| id.to_string()),
        worktree: context.store.paths().worktree().to_owned(),
        sessions: active,
        total_sessions: index.count_sessions()?,
        handoffs: index.count_handoffs()?,
        waiting: Waiting::look(context),
        unsynced,
        warnings,
    })
}
