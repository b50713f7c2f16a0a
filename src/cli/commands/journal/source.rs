//! `source`.

use crate::claim::add::ClaimInput;
use crate::cli::commands::journal::entry::EntryArguments;
use crate::cli::commands::prelude::*;

/// Log a document or page you consulted
#[derive(Debug, Args)]
pub struct Source {
    /// A path or a URL
    #[arg(value_name = "PATH|URL")]
    pub location: String,
    #[command(flatten)]
    pub entry: EntryArguments,
}

impl Source {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        self.entry.log(context, ClaimInput::Source { location: self.location })
    }
}
