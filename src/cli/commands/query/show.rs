//! `show`.

use crate::cli::commands::prelude::*;
use crate::use_cases::history::show::view::Format;
use crate::use_cases::history::show::{self, view};

/// Show a whole handoff, record, session, or the records of a commit
#[derive(Debug, Args)]
pub struct Show {
    /// The id of a handoff or other record, a session, or a revision [default: the newest handoff]
    #[arg(value_name = "HANDOFF|SESSION|COMMIT")]
    pub name: Option<String>,
    /// The format; compact has short keys and texts
    #[arg(long, value_name = "FORMAT", default_value = "markdown")]
    #[arg(value_parser = one_of([
        ("markdown", Format::Markdown),
        ("json", Format::Json),
        ("compact", Format::Compact),
    ]))]
    pub format: Format,
    /// Check the signatures of the handoff; exits with 1 unless one is good
    #[arg(long, conflicts_with = "format")]
    pub verify: bool,
}

impl Show {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let (shown, warnings) = show::run(&context.open(Selection::default())?, self.name.as_deref(), self.verify)?;
        view::shown(&shown, self.format, warnings, &mut context.templates()?)
    }
}
