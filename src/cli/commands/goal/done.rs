//! `goal done`.

use crate::claim::goal::GoalRequest;
use crate::cli::commands::goal::change;
use crate::cli::commands::prelude::*;

/// Finish a goal or a step
#[derive(Debug, Args)]
pub struct Done {
    /// Its id, or a unique part of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// What shows that it is done
    #[arg(long, value_name = "TEXT")]
    pub evidence: Option<String>,
    #[command(flatten)]
    pub who: Speaker,
}

impl Done {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let evidence = context.input().optional(self.evidence)?;
        change(context, self.who, GoalRequest::Done { id: self.id, evidence })
    }
}
