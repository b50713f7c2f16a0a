//! `session end`.

use crate::cli::commands::prelude::*;
use crate::use_cases::session::{lifecycle, view};

/// End the session, and write pending records to the notes
#[derive(Debug, Args)]
pub struct End {
    /// The reason; - reads standard input, @FILE a file
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub author: Author,
}

impl End {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let reason = context.input().optional(self.reason)?;
        Ok(view::ended(&lifecycle::end(&context.open(self.author)?, reason)?))
    }
}
