//! `decision`.

use crate::claim::add::ClaimInput;
use crate::cli::commands::journal::entry::EntryArguments;
use crate::cli::commands::prelude::*;

/// Log a decision, its reason and what you rejected
#[derive(Debug, Args)]
pub struct Decision {
    /// What you decided; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// Why
    #[arg(long, value_name = "TEXT", required = true)]
    pub why: String,
    /// A rejected alternative; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub alternative: Vec<String>,
    #[command(flatten)]
    pub entry: EntryArguments,
}

impl Decision {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let mut input = context.input();
        let (text, why) = (input.words(self.text)?, input.text(self.why)?);
        let entry = ClaimInput::Decision { text, why, alternatives: input.each(self.alternative)? };
        self.entry.log(context, entry)
    }
}
