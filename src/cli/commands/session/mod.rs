//! `session`, and the commands below it.

use crate::cli::commands::prelude::*;

mod end;
mod list;
mod show;
mod start;

/// Start, end, list and show sessions
#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    Start(start::Start),
    End(end::End),
    List(list::List),
    Show(show::Show),
}

impl SessionCommand {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        match self {
            SessionCommand::Start(start) => start.run(context),
            SessionCommand::End(end) => end.run(context),
            SessionCommand::List(list) => list.run(context),
            SessionCommand::Show(show) => show.run(context),
        }
    }
}
