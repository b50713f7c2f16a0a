//! `goal`, and the commands below it.

use crate::claim::goal::{self, GoalRequest, view};
use crate::cli::commands::prelude::*;

mod add;
mod done;
mod drop;
mod list;
mod show;
mod sub;
mod take;

/// Set goals, divide them, finish them, take them over
#[derive(Debug, Subcommand)]
pub enum GoalCommand {
    Add(add::Add),
    Sub(sub::Sub),
    Done(done::Done),
    Drop(drop::Drop),
    Take(take::Take),
    List(list::List),
    Show(show::Show),
}

impl GoalCommand {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        match self {
            GoalCommand::Add(add) => add.run(context),
            GoalCommand::Sub(sub) => sub.run(context),
            GoalCommand::Done(done) => done.run(context),
            GoalCommand::Drop(drop) => drop.run(context),
            GoalCommand::Take(take) => take.run(context),
            GoalCommand::List(list) => list.run(context),
            GoalCommand::Show(show) => show.run(context),
        }
    }
}

/// Changes a goal.
fn change(context: &Invocation, who: impl Into<Selection>, request: GoalRequest) -> Result<Answer> {
    Ok(view::changed(&goal::run(&context.open(who)?, request)?))
}
