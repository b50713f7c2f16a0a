//! `mistake`.

use crate::claim::add::ClaimInput;
use crate::cli::commands::journal::entry::EntryArguments;
use crate::cli::commands::prelude::*;

/// Log something you did wrong, and how to prevent it
#[derive(Debug, Args)]
pub struct Mistake {
    /// What went wrong; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// How to prevent it
    #[arg(long, value_name = "TEXT")]
    pub prevention: Option<String>,
    #[command(flatten)]
    pub entry: EntryArguments,
}

impl Mistake {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let mut input = context.input();
        let entry = ClaimInput::Mistake { text: input.words(self.text)?, prevention: input.optional(self.prevention)? };
        self.entry.log(context, entry)
    }
}
