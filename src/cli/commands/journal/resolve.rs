//! `resolve`.

use crate::claim::add::ClaimInput;
use crate::cli::commands::journal::entry::EntryArguments;
use crate::cli::commands::prelude::*;

/// Answer an open question, your own or another session's
#[derive(Debug, Args)]
pub struct Resolve {
    /// The id of the unknown, or a unique part of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// The answer; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// Add another answer to one that is resolved
    #[arg(long)]
    pub again: bool,
    #[command(flatten)]
    pub who: Speaker,
}

impl Resolve {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let text = context.input().words(self.text)?;
        let entry = EntryArguments { led_from: None, who: self.who };
        entry.log(context, ClaimInput::Resolve { of: self.id, text, again: self.again })
    }
}
