//! `session list`.

use crate::cli::commands::prelude::*;
use crate::use_cases::session::{lifecycle, view};

/// List sessions, newest first
#[derive(Debug, Args)]
pub struct List {
    /// Only active ones
    #[arg(long)]
    pub active: bool,
    /// Only those of this agent
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
}

impl List {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let context = context.open(Selection { ai: self.ai, ..Default::default() })?;
        Ok(view::list(&lifecycle::list(&context, self.active)?))
    }
}
