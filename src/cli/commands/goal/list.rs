//! `goal list`.

use crate::claim::goal::{self, view};
use crate::cli::commands::prelude::*;

/// List goals, oldest first
#[derive(Debug, Args)]
pub struct List {
    /// Only open ones
    #[arg(long)]
    pub open: bool,
    #[command(flatten)]
    pub filter: Filter,
}

impl List {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let (goals, warnings) = goal::list(&context.open(self.filter)?, self.open)?;
        Ok(view::list(&goals, warnings))
    }
}
