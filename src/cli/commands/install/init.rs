//! `init`.

use clap::builder::PossibleValuesParser;

use crate::cli::commands::prelude::*;
use crate::cli::progress::Progress;
use crate::use_cases::setup::init::Agents;
use crate::use_cases::setup::{init, view};
use empirica_transcripts::model::Agent;

/// Set the clone up: git hooks, what git log shows, the remotes and what they have, the files of agents
///
/// Existing hooks keep running, before the new ones. Changes no file of git except the repository's configuration. Fetches the
/// records of the remotes, each within empirica.syncTimeout, and pushes nothing. If files or programs show that agents are in
/// use, asks on a terminal whether to add hooks and the MCP server to the agents' files; otherwise writes nothing to the
/// work tree. If agents have transcripts of earlier sessions here, asks on a terminal whether to collect them, as collect --all
/// does; otherwise names the command. Running it twice changes nothing more; deinit reverts it.
#[derive(Debug, Args)]
pub struct Init {
    /// The agents whose files get hooks and the MCP server, separated by commas; auto: those in use; none: do not ask
    #[arg(long, alias = "agent", value_name = "LIST", value_delimiter = ',', value_parser = agents())]
    pub agents: Vec<String>,
    /// Let the MCP server list all its tools, not only the 12 everyday ones
    #[arg(long, requires = "agents")]
    pub all_tools: bool,
    /// Show every change and make none
    #[arg(long)]
    pub dry_run: bool,
}

impl Init {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let opened = context.open(Selection::default())?;
        let request = init::InitRequest { agents: self.chosen()?, all_tools: self.all_tools, dry_run: self.dry_run };
        let progress = Progress::new(context.output, "collecting");
        let mut ask = |question: init::Question<'_>| {
            // no user answers at an agent's terminal
            match context.env.agent() {
                Some(_) => Ok(None),
                None => context.output.ask(&view::question(&question)),
            }
        };
        let outcome = init::run(&opened, &request, &mut ask, &mut |done, total| progress.set(done, total))?;
        Ok(view::set_up(&outcome))
    }

    fn chosen(&self) -> Result<Agents> {
        let words: Vec<&str> = self.agents.iter().map(String::as_str).collect();
        let named: Option<Vec<Agent>> = words.iter().map(|name| Agent::parse(name)).collect();
        match (words.as_slice(), named) {
            ([], _) => Ok(Agents::Ask),
            (["auto"], _) => Ok(Agents::Used),
            (["none"], _) if !self.all_tools => Ok(Agents::Named(Vec::new())),
            (_, Some(named)) => Ok(Agents::Named(named)),
            _ => Err(Error::usage("cannot combine auto or none with other agents, or none with --all-tools")
                .suggest("Name the agents, or select those in use.")
                .command(empirica("init").option("--agents", "auto"))),
        }
    }
}

/// The words of `--agents`.
fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(["auto", "none"].into_iter().chain(Agent::ALL.map(Agent::name)))
}
