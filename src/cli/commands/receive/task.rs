//! `task`.

use crate::cli::commands::prelude::*;
use crate::use_cases::task::{list, view};

/// Show a task: its handoffs, agents, decisions and questions
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Show a task: its state, the chain of its handoffs with times, and its whole history
    ///
    /// A task is open, escalated (waiting for a person) or complete. Superseded handoffs stay in the history.
    Show {
        /// The task, as in --task-id of its handoffs
        #[arg(value_name = "ID")]
        task: String,
    },
    /// List tasks, most recently active first
    List {
        /// Only incomplete ones
        #[arg(long)]
        open: bool,
    },
}

impl TaskCommand {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let context = context.open(Selection::default())?;
        Ok(match self {
            TaskCommand::Show { task, .. } => {
                let (task, warnings) = list::show(&context, &task)?;
                view::shown(&task, context.store.now(), warnings)
            }
            TaskCommand::List { open, .. } => {
                let (tasks, warnings) = list::list(&context, open)?;
                view::list(&tasks, open, warnings)
            }
        })
    }
}
