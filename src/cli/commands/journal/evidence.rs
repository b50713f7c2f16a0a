//! `evidence`.

use crate::claim::add::ClaimInput;
use crate::cli::commands::journal::entry::EntryArguments;
use crate::cli::commands::prelude::*;

/// Log a check you ran, and how it ended
///
/// The command is not run again; only its last run counts in the handoff.
#[derive(Debug, Args)]
pub struct Evidence {
    /// The command line you ran
    #[arg(value_name = "CMD")]
    pub command: String,
    /// Its exit code; 0 passed
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub exit: i32,
    /// A file it vouches for; can be given several times
    #[arg(long, value_name = "PATH")]
    pub file: Vec<String>,
    #[command(flatten)]
    pub entry: EntryArguments,
}

impl Evidence {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let command = context.input().text(self.command)?;
        self.entry.log(context, ClaimInput::Evidence { command, exit: self.exit, files: self.file })
    }
}
