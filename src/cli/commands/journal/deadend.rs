//! `deadend`.

use crate::claim::add::ClaimInput;
use crate::cli::commands::journal::entry::EntryArguments;
use crate::cli::commands::prelude::*;

/// Log an approach that failed, and why
#[derive(Debug, Args)]
pub struct DeadEnd {
    /// What you tried; - reads standard input, @FILE a file
    #[arg(value_name = "APPROACH", required = true)]
    pub approach: Vec<String>,
    /// Why it failed
    #[arg(long, value_name = "TEXT", required = true)]
    pub why: String,
    #[command(flatten)]
    pub entry: EntryArguments,
}

impl DeadEnd {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let mut input = context.input();
        let entry = ClaimInput::DeadEnd { approach: input.words(self.approach)?, why: input.text(self.why)? };
        self.entry.log(context, entry)
    }
}
