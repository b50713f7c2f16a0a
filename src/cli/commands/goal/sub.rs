//! `goal sub`.

use crate::claim::goal::GoalRequest;
use crate::cli::commands::goal::change;
use crate::cli::commands::prelude::*;

/// Add a step to a goal
#[derive(Debug, Args)]
pub struct Sub {
    /// The goal's id, or a unique part of it
    #[arg(value_name = "GOAL")]
    pub goal: String,
    /// The step; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    #[command(flatten)]
    pub who: Speaker,
}

impl Sub {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let text = context.input().words(self.text)?;
        change(context, self.who, GoalRequest::Sub { goal: self.goal, text })
    }
}
