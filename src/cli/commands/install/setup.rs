//! `setup`.

use crate::cli::commands::prelude::*;
use crate::cli::help::manual::Shell;
use crate::cli::help::{complete, manual};
use crate::use_cases::setup::{user, view};

/// Install the manual pages and shell completions for you
#[derive(Debug, Args)]
pub struct Setup {
    /// Print the completions of a shell, and install nothing
    #[arg(long, value_name = "SHELL", value_parser = named(Shell::ALL, Shell::name), conflicts_with_all = ["dry_run", "json"])]
    pub completions: Option<Shell>,
    /// Print what completes this word of a command line, counted from 0
    #[arg(long, value_name = "N", hide = true, conflicts_with_all = ["completions", "dry_run", "json"])]
    pub complete: Option<usize>,
    /// The command line
    #[arg(value_name = "WORD", last = true, hide = true, requires = "complete")]
    pub words: Vec<std::ffi::OsString>,
    /// List the files and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl Setup {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let program = (context.program)();
        if let Some(shell) = self.completions {
            return Ok(Answer::default().text(shell.script()).data());
        }
        if let Some(at) = self.complete {
            return Ok(Answer::default().text(complete::lines(program, context.env, self.words, at)).data());
        }
        Ok(view::installed(&user::run(context.env, &manual::files(&program), self.dry_run)?))
    }
}
