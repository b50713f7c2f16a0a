//! `status`.

use crate::cli::commands::prelude::*;
use crate::session::{bootstrap, status};

/// Show where things stand and what to do next, as without a command
///
/// With --all, what a new context needs to know about the project, fitted into a budget of tokens: active sessions, each
/// agent's task, self-assessment and next step, open goals and unknowns, findings by importance, dead ends, mistakes,
/// decisions and the last handoff of each agent. What does not fit is counted, with the command that shows it.
#[derive(Debug, Args)]
pub struct Status {
    /// Show the whole project: who is at work, what is open, what failed
    #[arg(long)]
    pub all: bool,
    /// The same in at most so many tokens, 100 or more [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..))]
    pub budget: Option<u32>,
    /// The agent that asks, for --all: what it said comes first
    #[arg(long, value_name = "ID", conflicts_with = "session", hide = true)]
    pub ai: Option<String>,
    /// The session that asks, for --all
    #[arg(long, alias = "session-id", value_name = "ALIAS", hide = true)]
    pub session: Option<String>,
    #[command(flatten)]
    pub form: Form,
}

impl Status {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let opened = context.open(Selection { ai: self.ai, session: self.session, ..Default::default() })?;
        let mut templates = context.templates()?;
        match self.budget.or(self.all.then_some(bootstrap::view::BUDGET)) {
            Some(budget) => {
                let outcome = bootstrap::run(&opened, None)?;
                bootstrap::view::answer(&outcome, budget as usize, context.form(), &mut templates)
            }
            None => status::view::answer(&status::run(&opened)?, &mut templates),
        }
    }
}
