//! `status`.

use crate::cli::commands::prelude::*;
use crate::use_cases::session::{project_overview, status};
use empirica_notes::error::Kind;

/// Show the state of the project and the next step; the default command
///
/// With --all, shows the project for a new context, within a budget of tokens: active sessions, each
/// agent's task, self-assessment and next step, open goals and unknowns, findings by importance, dead ends, mistakes,
/// decisions and the last handoff of each agent. Counts omitted entries, and names the command that shows them.
#[derive(Debug, Args)]
pub struct Status {
    /// Show the whole project: active sessions, open work, failures
    #[arg(long)]
    pub all: bool,
    /// The same with this budget of tokens, 100 or more [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..))]
    pub budget: Option<u32>,
    /// Print three numbers for a prompt: s active sessions, ? open questions, h waiting handoffs; nothing outside a repository
    #[arg(long, conflicts_with_all = ["all", "budget", "ai", "session"])]
    pub prompt: bool,
    /// The agent of --all, whose records come first
    #[arg(long, value_name = "ID", conflicts_with = "session", hide = true)]
    pub ai: Option<String>,
    /// The session of --all
    #[arg(long, alias = "session-id", value_name = "ALIAS", hide = true)]
    pub session: Option<String>,
}

impl Status {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        if self.prompt {
            return match context.open(Selection::default()) {
                Ok(opened) => Ok(status::prompt::answer(&status::prompt::run(&opened))),
                Err(error) if error.kind() == Kind::NoRepository => Ok(status::prompt::answer(&Default::default())),
                Err(error) => Err(error),
            };
        }
        let opened = context.open(Selection { ai: self.ai, session: self.session, ..Default::default() })?;
        let mut templates = context.templates()?;
        match self.budget.or(self.all.then_some(project_overview::view::BUDGET)) {
            Some(budget) => {
                let outcome = project_overview::run(&opened)?;
                project_overview::view::answer(&outcome, budget as usize, context.form(), &mut templates)
            }
            None => status::view::answer(&status::run(&opened)?, &mut templates),
        }
    }
}
