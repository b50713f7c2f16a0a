//! `activity`.

use crate::claim::add::ClaimInput;
use crate::cli::commands::journal::entry::EntryArguments;
use crate::cli::commands::prelude::*;
use empirica_transcripts::model::CATEGORIES;

/// Log the use of a tool
#[derive(Debug, Args)]
pub struct Activity {
    #[arg(value_name = "CATEGORY", help = format!("One of {}", CATEGORIES.join(", ")))]
    pub category: String,
    /// What you did; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// It failed
    #[arg(long)]
    pub failed: bool,
    /// A file it touched; can be given several times
    #[arg(long, value_name = "PATH")]
    pub file: Vec<String>,
    #[command(flatten)]
    pub entry: EntryArguments,
}

impl Activity {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let text = context.input().words(self.text)?;
        let entry = ClaimInput::Activity { category: self.category, text, failed: self.failed, files: self.file };
        self.entry.log(context, entry)
    }
}
