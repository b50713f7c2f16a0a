//! `init`.

use clap::builder::PossibleValuesParser;

use crate::cli::commands::prelude::*;
use crate::setup::init::Agents;
use crate::setup::{init, view};
use empirica_transcripts::model::Agent;

/// How changes are made and told.
#[derive(Debug, Args)]
pub struct Changes {
    /// Show every change and make none
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub form: Form,
}

/// Set the clone up: git hooks, what git log shows, the remotes and what they have, the files of agents
///
/// Hooks that are there keep running, before ours. Nothing of git's own is changed but the configuration of the repository. What the
/// remotes have is fetched at once, each within empirica.syncTimeout; nothing is sent. Where agents are used, which is told by their files
/// and programs, it asks on a terminal whether to enter hooks and the MCP server into their files, beside what is in them; else
/// nothing is written to the work tree. Twice is the same as once; deinit takes it back.
#[derive(Debug, Args)]
pub struct Init {
    /// The agents whose files get hooks and the MCP server, with commas between them; auto: those used here; none: ask nothing
    #[arg(long, alias = "agent", value_name = "LIST", value_delimiter = ',', value_parser = agents())]
    pub agents: Vec<String>,
    /// Let the MCP server list all its tools, not only the 10 of a day's work
    #[arg(long, requires = "agents")]
    pub all_tools: bool,
    #[command(flatten)]
    pub changes: Changes,
}

impl Init {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let opened = context.open(Selection::default())?;
        let request =
            init::InitRequest { agents: self.chosen()?, all_tools: self.all_tools, dry_run: self.changes.dry_run };
        let outcome = init::run(&opened, &request, &mut |agents| {
            // at an agent's terminal nobody answers
            if context.env.agent().is_some() {
                return Ok(None);
            }
            let names: Vec<&str> = agents.iter().map(|agent| agent.name()).collect();
            context.output.ask(&format!("Enter hooks and MCP tools into the files of {} here?", names.join(", ")))
        })?;
        Ok(view::set_up(&outcome))
    }

    /// The agents whose files are changed.
    fn chosen(&self) -> Result<Agents> {
        let words: Vec<&str> = self.agents.iter().map(String::as_str).collect();
        let named: Option<Vec<Agent>> = words.iter().map(|name| Agent::parse(name)).collect();
        match (words.as_slice(), named) {
            ([], _) => Ok(Agents::Confirmed),
            (["auto"], _) => Ok(Agents::Used),
            (["none"], _) if !self.all_tools => Ok(Agents::Named(Vec::new())),
            (_, Some(named)) => Ok(Agents::Named(named)),
            _ => Err(Error::usage("auto and none stand alone, and none enters no tools")
                .suggest("Name the agents, or let those be entered that are used here.")
                .command(empirica("init").option("--agents", "auto"))),
        }
    }
}

/// The words of `--agents`.
fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(["auto", "none"].into_iter().chain(Agent::ALL.map(Agent::name)))
}
