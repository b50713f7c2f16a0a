//! `inbox`.

use crate::cli::commands::prelude::*;
use crate::use_cases::task::inbox;

/// List unclaimed handoffs addressed to you
///
/// Also lists what your sessions here claimed and have not handed on, and what they lost. The start of a session shows what
/// waits.
#[derive(Debug, Args)]
pub struct Inbox {
    #[command(flatten)]
    pub filter: Recipient,
}

/// Whose inbox.
#[derive(Debug, Args)]
pub struct Recipient {
    /// The agent [default: EMPIRICA_AI, else the session's agent, else empirica.ai, else the agent that runs the command,
    /// else user.name]
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// Only this session's claims
    #[arg(long, alias = "session-id", value_name = "ALIAS")]
    pub session: Option<String>,
}

impl Inbox {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        Ok(inbox::answer(&inbox::run(&context.open(Selection {
            ai: self.filter.ai,
            session: self.filter.session,
            ..Selection::default()
        })?)?))
    }
}
