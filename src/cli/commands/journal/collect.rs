//! `collect`.

use crate::cli::commands::prelude::*;
use crate::use_cases::collect::{self, view};
use empirica_transcripts::model::Agent;

/// Log from an agent's transcript: tools, files, todos, decisions, tokens
///
/// Recognizes the transcripts of the agents of --agent by their content. Logs new entries in the session with the agent's
/// own id, or in a new session. Collecting a transcript again adds only its new entries. Replaces secrets, and counts
/// unreadable rows.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("which").required(true).args(["transcript", "latest"])))]
pub struct Collect {
    /// The transcript: a file, or the agent's folder or database of transcripts
    #[arg(value_name = "TRANSCRIPT")]
    pub transcript: Option<String>,
    /// The newest transcript from this work tree
    #[arg(long)]
    pub latest: bool,
    /// The agent of the transcript [default: recognized by the content]
    #[arg(long, value_name = "AGENT", value_parser = named(Agent::ALL, Agent::name))]
    pub agent: Option<Agent>,
    /// Show the entries and store nothing
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
