//! `unknown`.

use crate::claim::add::ClaimInput;
use crate::cli::commands::journal::entry::EntryArguments;
use crate::cli::commands::prelude::*;

/// Log an open question
#[derive(Debug, Args)]
pub struct Unknown {
    /// The question; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    #[command(flatten)]
    pub entry: EntryArguments,
}

impl Unknown {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let text = context.input().words(self.text)?;
        self.entry.log(context, ClaimInput::Unknown { text })
    }
}
