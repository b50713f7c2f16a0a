//! The commands that correct or confirm a claim. A text can be `-` (standard input) or `@FILE`.

use crate::cli::commands::prelude::*;
use crate::use_cases::claim::correct::{self, Change};
use crate::use_cases::claim::view;

/// The names of the commands.
pub const NAMES: [&str; 3] = ["replace", "retract", "confirm"];

/// One command per change.
#[derive(Debug, Subcommand)]
pub enum CorrectCommand {
    /// Replace an entry that is wrong: a finding, question, dead end, mistake, decision or source
    ///
    /// The new one is of the same kind, and holds as long as the old one without --until; the old one is left to show and
    /// search --all, which tell what replaced it.
    Replace {
        /// The id of the old one, or a unique part of it
        #[arg(value_name = "ID")]
        id: String,
        /// The new text; - reads standard input, @FILE a file
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
        /// Of a dead end or a decision its new reason, else why it is replaced
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
        /// The date until which it holds, in any format of git
        #[arg(long, value_name = "DATE")]
        until: Option<String>,
        #[command(flatten)]
        author: Author,
    },
    /// Withdraw an entry that is wrong: a finding, question, dead end, mistake, decision or source
    ///
    /// It is left to show and search --all, which tell why. redact removes a record everywhere.
    Retract {
        /// Its id, or a unique part of it
        #[arg(value_name = "ID")]
        id: String,
        /// The reason
        #[arg(long, value_name = "TEXT", required = true)]
        why: String,
        #[command(flatten)]
        author: Author,
    },
    /// Confirm that an entry still holds: a finding, question, dead end, mistake, decision or source
    Confirm {
        /// Its id, or a unique part of it
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        author: Author,
    },
}

impl CorrectCommand {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let mut input = context.input();
        let (id, change, author) = match self {
            CorrectCommand::Replace { id, text, why, until, author } => {
                (id, Change::Replace { text: input.words(text)?, why: input.optional(why)?, until }, author)
            }
            CorrectCommand::Retract { id, why, author } => (id, Change::Retract { why: input.text(why)? }, author),
            CorrectCommand::Confirm { id, author } => (id, Change::Confirm, author),
        };
        Ok(view::corrected(&correct::run(&context.open(author)?, &id, change)?))
    }
}
