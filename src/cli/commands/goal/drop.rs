//! `goal drop`.

use crate::claim::goal::GoalRequest;
use crate::cli::commands::goal::change;
use crate::cli::commands::prelude::*;

/// Give up a goal or a step
#[derive(Debug, Args)]
pub struct Drop {
    /// Its id, or a unique part of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
    #[command(flatten)]
    pub who: Speaker,
}

impl Drop {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let why = context.input().optional(self.why)?;
        change(context, self.who, GoalRequest::Drop { id: self.id, why })
    }
}
