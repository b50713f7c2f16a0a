//! The commands that correct or confirm a claim. A text can be `-` (standard input) or `@FILE`.

use crate::cli::commands::journal::entry::{AtArguments, ScopeArguments};
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
    /// The new one is of the same kind, and holds as long as the old one without --until, and is about the
    /// same code without --at; the old one is left to show and
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
        #[command(flatten)]
        scope: ScopeArguments,
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
    ///
    /// From then on the code is compared with what it is now.
    Confirm {
        /// Its id, or a unique part of it
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        at: AtArguments,
        #[command(flatten)]
        author: Author,
    },
}

impl CorrectCommand {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let mut input = context.input();
        let (id, change, author) = match self {
            CorrectCommand::Replace { id, text, why, scope, author } => {
                let (text, why) = (input.words(text)?, input.optional(why)?);
                (id, Change::Replace { text, why, scope: scope.into() }, author)
            }
            CorrectCommand::Retract { id, why, author } => (id, Change::Retract { why: input.text(why)? }, author),
            CorrectCommand::Confirm { id, at, author } => (id, Change::Confirm { at: at.at }, author),
        };
        Ok(view::corrected(&correct::run(&context.open(author)?, &id, change)?))
    }
}
