//! `setup`.

use clap_complete::Shell;

use crate::cli::commands::prelude::*;
use crate::cli::help::manual;
use crate::use_cases::setup::{user, view};

/// Install the manual pages and shell completions for you
#[derive(Debug, Args)]
pub struct Setup {
    /// Print the completions of a shell, and install nothing
    #[arg(long, value_name = "SHELL", conflicts_with_all = ["dry_run", "json"])]
    pub completions: Option<Shell>,
    /// List the files and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl Setup {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let program = (context.program)();
        if let Some(shell) = self.completions {
            return Ok(Answer::default().text(manual::completions(&program, shell)).data());
        }
        Ok(view::installed(&user::run(context.env, &manual::files(&program), self.dry_run)?))
    }
}
