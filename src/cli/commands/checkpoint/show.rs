//! `checkpoint show`.

use crate::cli::commands::prelude::*;
use crate::use_cases::checkpoint::save;
use crate::use_cases::history::show::record;

/// Show one checkpoint or assessment
#[derive(Debug, Args)]
pub struct Show {
    /// Its id [default: the newest]
    #[arg(value_name = "ID")]
    pub id: Option<String>,
}

impl Show {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let (shown, warnings) = save::show(&context.open(Selection::default())?, self.id.as_deref())?;
        Ok(record::shown(&shown, warnings))
    }
}
