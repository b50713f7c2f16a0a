//! `goal`, and the commands below it.

use crate::claim::goal::{self, GoalRequest, view};
use crate::cli::commands::prelude::*;
use empirica_notes::model::goal::Priority;

/// Set goals, divide them, finish them, take them over
#[derive(Debug, Subcommand)]
pub enum GoalCommand {
    /// Set a goal
    Add {
        /// What is to be reached; - reads standard input, @FILE a file
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
        /// How one knows that it is reached; can be given several times
        #[arg(long, value_name = "TEXT")]
        criterion: Vec<String>,
        /// How urgent it is
        #[arg(long, value_name = "PRIORITY", default_value = "medium")]
        #[arg(value_parser = named([Priority::High, Priority::Medium, Priority::Low], Priority::name))]
        priority: Priority,
        #[command(flatten)]
        who: Author,
    },
    /// Add a step to a goal
    Sub {
        /// The goal's id, or a unique part of it
        #[arg(value_name = "GOAL")]
        goal: String,
        /// The step; - reads standard input, @FILE a file
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
        #[command(flatten)]
        who: Author,
    },
    /// Finish a goal or a step
    Done {
        /// Its id, or a unique part of it
        #[arg(value_name = "ID")]
        id: String,
        /// What shows that it is done
        #[arg(long, value_name = "TEXT")]
        evidence: Option<String>,
        #[command(flatten)]
        who: Author,
    },
    /// Give up a goal or a step
    Drop {
        /// Its id, or a unique part of it
        #[arg(value_name = "ID")]
        id: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
        #[command(flatten)]
        who: Author,
    },
    /// Take over the open goals of another session, or a single goal
    ///
    /// A suggested goal closes with its session. Taken by its id, it is a goal of the project.
    Take {
        /// The session they come from, or a goal
        #[arg(value_name = "SESSION|GOAL")]
        from: String,
        #[command(flatten)]
        who: Who,
    },
    /// List goals, oldest first
    List {
        /// Only open ones
        #[arg(long)]
        open: bool,
        #[command(flatten)]
        filter: Filter,
    },
    /// Show one goal with its steps and criteria
    Show {
        /// Its id, or a unique part of it
        #[arg(value_name = "GOAL")]
        goal: String,
    },
}

impl GoalCommand {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let mut input = context.input();
        let (who, request): (Selection, _) = match self {
            GoalCommand::Add { text, criterion, priority, who } => {
                let (text, criteria) = (input.words(text)?, input.each(criterion)?);
                (who.into(), GoalRequest::Add { text, criteria, priority })
            }
            GoalCommand::Sub { goal, text, who } => (who.into(), GoalRequest::Sub { goal, text: input.words(text)? }),
            GoalCommand::Done { id, evidence, who } => {
                (who.into(), GoalRequest::Done { id, evidence: input.optional(evidence)? })
            }
            GoalCommand::Drop { id, why, who } => (who.into(), GoalRequest::Drop { id, why: input.optional(why)? }),
            GoalCommand::Take { from, who } => (who.into(), GoalRequest::Take { from }),
            GoalCommand::List { open, filter } => {
                let (goals, warnings) = goal::list(&context.open(filter)?, open)?;
                return Ok(view::list(&goals, warnings));
            }
            GoalCommand::Show { goal, .. } => {
                let (owned, warnings) = goal::show(&context.open(Selection::default())?, &goal)?;
                return Ok(view::shown(&owned, warnings));
            }
        };
        Ok(view::changed(&goal::run(&context.open(who)?, request)?))
    }
}
