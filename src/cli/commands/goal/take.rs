//! `goal take`.

use crate::claim::goal::GoalRequest;
use crate::cli::commands::goal::change;
use crate::cli::commands::prelude::*;

/// Take over the open goals of another session, or a single goal
///
/// A suggested goal closes with its session. Taken by its id, it is a goal of the project.
#[derive(Debug, Args)]
pub struct Take {
    /// The session they come from, or a goal
    #[arg(value_name = "SESSION|GOAL")]
    pub from: String,
    #[command(flatten)]
    pub who: Who,
}

impl Take {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        change(context, self.who, GoalRequest::Take { from: self.from })
    }
}
