//! `finding`.

use clap::builder::PossibleValuesParser;

use crate::claim::add::ClaimInput;
use crate::cli::commands::journal::entry::EntryArguments;
use crate::cli::commands::prelude::*;
use empirica_notes::model::journal::MEMORY;

/// Log something you learned
#[derive(Debug, Args)]
pub struct Finding {
    /// What you learned; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// How much it matters, from 0 to 1
    #[arg(long, value_name = "X", value_parser = unit)]
    pub impact: Option<f64>,
    /// What it is for longer memory
    #[arg(long = "as", value_name = "KIND", value_parser = PossibleValuesParser::new(MEMORY))]
    pub memory: Option<String>,
    #[command(flatten)]
    pub entry: EntryArguments,
}

impl Finding {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let text = context.input().words(self.text)?;
        self.entry.log(context, ClaimInput::Finding { text, impact: self.impact, memory: self.memory })
    }
}
