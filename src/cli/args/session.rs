//! `session`.

use clap::{Args, Subcommand};

use super::{Form, Speaker};

/// Begin, end, list and show sessions
#[derive(Debug, Subcommand)]
#[allow(missing_docs)]
pub enum SessionCommand {
    Start(Start),
    End(End),
    List(List),
    Show(ShowSession),
}

/// Begin a session
///
/// Prints the session's id. The session is the current one of this worktree until it ends. With the --external-id of an
/// active session, that session goes on.
#[derive(Debug, Args)]
#[allow(missing_docs)]
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
    #[command(flatten)]
    pub form: Form,
}

/// End the session, writing everything that waits to the notes
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct End {
    /// Why it ends; - reads standard input, @FILE a file
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub who: Speaker,
    #[command(flatten)]
    pub form: Form,
}

/// List sessions, newest first
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct List {
    /// Only active ones
    #[arg(long)]
    pub active: bool,
    /// Only those of this agent
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    #[command(flatten)]
    pub form: Form,
}

/// Show everything a session said
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct ShowSession {
    /// The session [default: the active one of this worktree]
    #[arg(value_name = "SESSION")]
    pub name: Option<String>,
    #[command(flatten)]
    pub form: Form,
}
