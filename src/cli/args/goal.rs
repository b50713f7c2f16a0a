//! `goal`.

use clap::{Subcommand, ValueEnum};

use super::{Filter, Form, Speaker, Who};

/// Set goals, divide them, finish them, take them over
#[derive(Debug, Subcommand)]
#[allow(missing_docs)]
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
        priority: PriorityWord,
        #[command(flatten)]
        who: Speaker,
        #[command(flatten)]
        form: Form,
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
        who: Speaker,
        #[command(flatten)]
        form: Form,
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
        who: Speaker,
        #[command(flatten)]
        form: Form,
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
        who: Speaker,
        #[command(flatten)]
        form: Form,
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
        #[command(flatten)]
        form: Form,
    },
    /// List goals, oldest first
    List {
        /// Only open ones
        #[arg(long)]
        open: bool,
        #[command(flatten)]
        filter: Filter,
        #[command(flatten)]
        form: Form,
    },
    /// Show one goal with its steps and criteria
    Show {
        /// Its id, or a unique part of it
        #[arg(value_name = "GOAL")]
        goal: String,
        #[command(flatten)]
        form: Form,
    },
}

/// How urgent a goal is.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
pub enum PriorityWord {
    High,
    Medium,
    Low,
}
