//! `session end`.

use crate::cli::commands::prelude::*;
use crate::session::{lifecycle, view};

/// End the session, writing everything that waits to the notes
#[derive(Debug, Args)]
pub struct End {
    /// Why it ends; - reads standard input, @FILE a file
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
