//! `session show`.

use crate::cli::commands::prelude::*;
use crate::use_cases::history::show::{committer, trust};
use crate::use_cases::session::{lifecycle, view};

/// Show all records of a session
#[derive(Debug, Args)]
pub struct Show {
    /// The session [default: the active one of this worktree]
    #[arg(value_name = "SESSION")]
    pub name: Option<String>,
}

impl Show {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let opened = context.open(Selection::default())?;
        let (shown, warnings) = lifecycle::show(&opened, self.name.as_deref())?;
        let committers = committer::of_session(&opened, &shown.records.session.id)?;
        Ok(trust::session(view::show(&shown, warnings, &mut context.templates()?)?, &committers))
    }
}
