//! `collect`.

use crate::cli::commands::prelude::*;
use crate::collect::{self, view};
use empirica_transcripts::model::Agent;

/// Log from an agent's transcript: tools, files, todos, decisions, tokens
///
/// Understands the transcripts of the agents that --agent takes, by their content. What is new goes into the session of the
/// transcript: the one that has the agent's own id, else one that is made for it. A transcript that has grown adds only
/// what is new. Secrets are replaced; rows that cannot be read are counted.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("which").required(true).args(["transcript", "latest"])))]
pub struct Collect {
    /// The transcript: a file, or the folder or database an agent keeps it in
    #[arg(value_name = "TRANSCRIPT")]
    pub transcript: Option<String>,
    /// The newest transcript that was made in this work tree
    #[arg(long)]
    pub latest: bool,
    /// Whose transcript it is [default: as its content tells]
    #[arg(long, value_name = "AGENT", value_parser = named(Agent::ALL, Agent::name))]
    pub agent: Option<Agent>,
    /// Show what it tells and store nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub identity: Identity,
}

impl Collect {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let request = collect::CollectRequest { path: self.transcript, agent: self.agent, dry_run: self.dry_run };
        Ok(view::answer(&collect::run(&context.open(self.identity)?, &request)?))
    }
}
