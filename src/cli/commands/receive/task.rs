//! `task`.

use crate::cli::commands::prelude::*;
use crate::task::{list, view};

/// Show a task: its handoffs, who acted, decisions and questions
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Show the whole history of a task, oldest first, and where it stands
    ///
    /// A task is open, escalated (it waits for a person) or complete. A superseded handoff stays in
    /// the history.
    Show {
        /// The task, as handoffs name it with --task-id
        #[arg(value_name = "ID")]
        task: String,
    },
    /// List tasks, what happened last first
    List {
        /// Only those that are not complete
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
                view::shown(&task, warnings)
            }
            TaskCommand::List { open, .. } => {
                let (tasks, warnings) = list::list(&context, open)?;
                view::list(&tasks, open, warnings)
            }
        })
    }
}
