//! `inbox`.

use crate::cli::commands::prelude::*;
use crate::use_cases::task::inbox;

/// List the handoffs for you that no session took up
///
/// Also lists what your sessions here took up and have not handed on, and what another session took up first. A session's start
/// shows what waits.
#[derive(Debug, Args)]
pub struct Inbox {
    #[command(flatten)]
    pub identity: Identity,
}

impl Inbox {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        Ok(inbox::answer(&inbox::run(&context.open(self.identity)?)?))
    }
}
