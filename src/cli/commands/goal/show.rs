//! `goal show`.

use crate::claim::goal::{self, view};
use crate::cli::commands::prelude::*;

/// Show one goal with its steps and criteria
#[derive(Debug, Args)]
pub struct Show {
    /// Its id, or a unique part of it
    #[arg(value_name = "GOAL")]
    pub goal: String,
    #[command(flatten)]
    pub form: Form,
}

impl Show {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let (owned, warnings) = goal::show(&context.open(Selection::default())?, &self.goal)?;
        Ok(view::shown(&owned, warnings))
    }
}
