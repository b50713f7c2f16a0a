//! `handoff list`.

use crate::cli::commands::prelude::*;
use crate::use_cases::handoff::{list, view};

/// List the handoffs in force, newest first
#[derive(Debug, Args)]
pub struct List {
    /// Only those that no other session has accepted
    #[arg(long)]
    pub unacknowledged: bool,
    #[command(flatten)]
    pub filter: Filter,
}

impl List {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let (handoffs, warnings) = list::list(&context.open(self.filter)?, self.unacknowledged)?;
        Ok(view::list(&handoffs, warnings))
    }
}
