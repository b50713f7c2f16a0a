//! `demo`.

use crate::cli::commands::prelude::*;
use crate::render::template::Templates;
use crate::use_cases::setup::demo::{self, view};

/// Show the main workflow in a temporary repository: two agents, a handoff, git log, a resume
#[derive(Debug, Args)]
pub struct Demo {}

impl Demo {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        view::answer(&demo::run(context.env)?, &mut Templates::built_in())
    }
}
