//! `goal`, and the commands below it.

use crate::cli::commands::prelude::*;
use crate::use_cases::claim::goal::{self, GoalRequest, view};
use empirica_notes::model::goal::Priority;

/// Set goals, divide them, finish them, take them over
#[derive(Debug, Subcommand)]
pub enum GoalCommand {
    /// Set a goal
    Add {
        /// The goal; - reads standard input, @FILE a file
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
        /// A success criterion; can be given several times
        #[arg(long, value_name = "TEXT")]
        criterion: Vec<String>,
        /// Its urgency
        #[arg(long, value_name = "PRIORITY", default_value = "medium")]
        #[arg(value_parser = named(Priority::ALL, Priority::name))]
        priority: Priority,
        #[command(flatten)]
        author: Author,
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
        author: Author,
    },
    /// Finish a goal or a step
    Done {
        /// Its id, or a unique part of it
        #[arg(value_name = "ID")]
        id: String,
        /// Proof that it is done
        #[arg(long, value_name = "TEXT")]
        evidence: Option<String>,
        #[command(flatten)]
        author: Author,
    },
    /// Give up a goal or a step
    Drop {
        /// Its id, or a unique part of it
        #[arg(value_name = "ID")]
        id: String,
        /// The reason
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
        #[command(flatten)]
        author: Author,
    },
    /// Take over the open goals of another session, or a single goal
    ///
    /// A suggested goal closes with its session, unless you take it by its id.
    Take {
        /// The session to take goals from, or a goal
        #[arg(value_name = "SESSION|GOAL")]
        from: String,
        #[command(flatten)]
        identity: Identity,
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
        let (selection, request): (Selection, _) = match self {
            GoalCommand::Add { text, criterion, priority, author } => {
                let (text, criteria) = (input.words(text)?, input.each(criterion)?);
                (author.into(), GoalRequest::Add { text, criteria, priority })
            }
            GoalCommand::Sub { goal, text, author } => {
                (author.into(), GoalRequest::Sub { goal, text: input.words(text)? })
            }
            GoalCommand::Done { id, evidence, author } => {
                (author.into(), GoalRequest::Done { id, evidence: input.optional(evidence)? })
            }
            GoalCommand::Drop { id, why, author } => {
                (author.into(), GoalRequest::Drop { id, why: input.optional(why)? })
            }
            GoalCommand::Take { from, identity } => (identity.into(), GoalRequest::Take { from }),
            GoalCommand::List { open, filter } => {
                let (goals, warnings) = goal::list(&context.open(filter)?, open)?;
                return Ok(view::list(&goals, warnings));
            }
            GoalCommand::Show { goal, .. } => {
                let (owned, warnings) = goal::show(&context.open(Selection::default())?, &goal)?;
                return Ok(view::shown(&owned, warnings));
            }
        };
        Ok(view::changed(&goal::run(&context.open(selection)?, request)?))
    }
}
