//! What every entry of the journal can say beside its text; a text can be `-` (standard input) or `@FILE`.

use crate::claim::add::{self, ClaimInput};
use crate::claim::view;
use crate::cli::commands::prelude::*;

/// What every entry can say beside its text.
#[derive(Debug, Args)]
pub struct EntryArguments {
    /// The record that led to it
    #[arg(long, value_name = "ID")]
    pub led_from: Option<String>,
    #[command(flatten)]
    pub who: Speaker,
}

impl EntryArguments {
    /// Logs an entry.
    pub fn log(self, context: &mut Invocation, entry: ClaimInput) -> Result<Answer> {
        Ok(view::logged(&add::log(&context.open(self.who)?, entry, self.led_from.as_deref())?))
    }
}
