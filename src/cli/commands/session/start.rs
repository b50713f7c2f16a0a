//! `session start`.

use crate::cli::commands::prelude::*;
use crate::session::{lifecycle, view};

/// Begin a session
///
/// Prints the session's id. The session is the current one of this worktree until it ends. With the --external-id of an
/// active session, that session goes on.
#[derive(Debug, Args)]
pub struct Start {
    /// The agent that works [default: EMPIRICA_AI, else the agent that runs the command, else empirica.ai,
    /// else user.name]
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// What it is going to do
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// What sort of work it is, in a word of yours
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// The id the agent's own tool knows the session by
    #[arg(long, value_name = "ID")]
    pub external_id: Option<String>,
    /// The session or handoff it continues. A session without a handoff gets one of its context; the task is taken over
    #[arg(long, value_name = "SESSION|HANDOFF")]
    pub from: Option<String>,
    /// Store what looks like a secret as it is, and let it leave
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
            since_ms: Some(context.env.now().timestamp_millis().max(0) as u64),
            from: self.from,
        };
        Ok(view::started(&lifecycle::start(&opened, request)?))
    }
}
