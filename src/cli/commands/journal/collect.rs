//! `collect`.

use crate::cli::commands::prelude::*;
use crate::cli::progress::Progress;
use crate::use_cases::collect::{self, all, view};
use empirica_transcripts::model::Agent;

/// Log from agents' transcripts: tools, files, todos, decisions, tokens
///
/// Recognizes the transcripts of the agents of --agent by their content. Logs new entries in the session with the agent's
/// own id, or in a new session. Collecting a transcript again adds only its new entries. Replaces secrets, and counts
/// unreadable rows.
///
/// With --all, reads every transcript of this repository that the agents on this machine keep: made in any of its worktrees,
/// or in a folder that no longer exists, if the transcript names a commit or a remote of this repository. Name any other
/// folder where the repository was earlier; it is remembered. Dates the records as the transcripts, on the commits of that time, and
/// writes a handoff for each session that is over. Leaves out transcripts that changed within the last 5 minutes and have
/// no session: they may go on. Sends nothing. If a transcript cannot be read, collects the others, and exits with 1.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("which").required(true).multiple(true).args(["transcript", "latest", "all"])))]
pub struct Collect {
    /// The transcript: a file, or the agent's folder or database of transcripts; with --all, a folder where this repository
    /// was earlier
    #[arg(value_name = "TRANSCRIPT")]
    pub transcript: Option<String>,
    /// The newest transcript from this work tree
    #[arg(long, conflicts_with_all = ["transcript", "all"])]
    pub latest: bool,
    /// Every transcript of this repository on this machine
    #[arg(long, conflicts_with_all = ["ai", "session"])]
    pub all: bool,
    /// The agent of the transcript [default: recognized by the content]; with --all, only its transcripts
    #[arg(long, value_name = "AGENT", value_parser = named(Agent::ALL, Agent::name))]
    pub agent: Option<Agent>,
    /// Show the entries, or with --all the number of transcripts, and store nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub identity: Identity,
}

impl Collect {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let opened = context.open(self.identity)?;
        if self.all {
            let request = all::CollectAllRequest { earlier: self.transcript, agent: self.agent, dry_run: self.dry_run };
            let progress = Progress::new(context.output, "collecting");
            return Ok(all::view::answer(&all::run(&opened, &request, &mut |done, total| progress.set(done, total))?));
        }
        let request = collect::CollectRequest { path: self.transcript, agent: self.agent, dry_run: self.dry_run };
        Ok(view::answer(&collect::run(&opened, &request)?))
    }
}
