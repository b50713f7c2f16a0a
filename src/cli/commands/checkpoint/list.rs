//! `checkpoint list`.

use crate::cli::commands::prelude::*;
use crate::use_cases::checkpoint::save;
use crate::use_cases::history::show::record;

/// List checkpoints and assessments, newest first
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    pub filter: Filter,
}

impl List {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let (records, warnings) = save::list(&context.open(self.filter)?)?;
        Ok(record::points(&records, warnings))
    }
}
