//! `session start`.

use crate::cli::commands::prelude::*;
use crate::use_cases::session::{lifecycle, view};

/// Start a session
///
/// Prints the session's id. The session is the current one of this worktree until it ends. The --external-id of an active
/// session continues that session.
#[derive(Debug, Args)]
pub struct Start {
    /// The agent [default: EMPIRICA_AI, else empirica.ai, else the agent that runs the command,
    /// else user.name]
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// Its task
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// The type of work, a word of your choice
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// The session id in the agent's own tool
    #[arg(long, value_name = "ID")]
    pub external_id: Option<String>,
    /// The session or handoff to continue, with its task. A session without a handoff gets one of its context
    #[arg(long, value_name = "SESSION|HANDOFF")]
    pub from: Option<String>,
    /// Store a likely secret unchanged, and let it leave
    #[arg(long)]
    pub allow_secret: bool,
}

impl Start {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let opened = context.open(Selection { ai: self.ai, allow_secret: self.allow_secret, ..Default::default() })?;
        let request = lifecycle::StartRequest {
            task: context.input().optional(self.task)?,
            kind: self.kind,
            external_id: self.external_id,
            by_hook: false,
            from: self.from,
        };
        Ok(view::started(&lifecycle::start(&opened, request)?))
    }
}
