//! `route`.

use crate::cli::commands::prelude::*;
use crate::use_cases::task::{route, route_view};

/// Show where the rules of .empirica/routes.toml send a handoff
///
/// The first rule that matches names the receiver of a handoff without --to. git empirica help routes describes the rules.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Route {
    #[command(subcommand)]
    pub command: Option<RouteCommand>,
    /// The handoff's id, or a unique part of it [default: the one that the session would write now]
    #[arg(value_name = "HANDOFF")]
    pub handoff: Option<String>,
    /// Show each rule, and why it does or does not match
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub identity: Identity,
}

/// The commands below `route`.
#[derive(Debug, Subcommand)]
pub enum RouteCommand {
    /// Check the rules: syntax, unknown agents, unreachable rules, unbounded cycles
    ///
    /// Exits with 1 if there are problems, with their line numbers.
    Check {},
}

impl Route {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let opened = context.open(self.identity)?;
        Ok(match self.command {
            Some(RouteCommand::Check {}) => route_view::checked(&route::check(&opened)?),
            None => route_view::answer(&route::explain(&opened, self.handoff.as_deref())?, self.explain),
        })
    }
}
