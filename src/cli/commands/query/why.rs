//! `why`.

use crate::cli::commands::prelude::*;
use crate::use_cases::search::why::{self, view};

/// Show what was logged about a file, or lines in it
///
/// Lists, best first, claims about this code (see --at of finding), then the decisions and dead ends of the commits that made the lines, as git
/// blame tells, or of the last 30 that changed the file, then handoffs that list it. Claims whose code changed come after those that hold.
#[derive(Debug, Args)]
pub struct Why {
    /// The file, and lines in it
    #[arg(value_name = "PATH[:LINE[-LINE]]", value_hint = clap::ValueHint::FilePath)]
    pub place: String,
    /// The most tokens of the answer, 100 or more
    #[arg(long, value_name = "N", default_value_t = view::BUDGET as u32)]
    #[arg(value_parser = clap::value_parser!(u32).range(100..))]
    pub budget: u32,
}

impl Why {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let outcome = why::run(&context.open(Selection::default())?, &self.place)?;
        Ok(view::answer(&outcome, self.budget as usize, context.form()))
    }
}
