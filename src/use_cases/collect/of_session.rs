//! The transcript of a session, found by the agent's own id of it.

use std::path::PathBuf;

use crate::context::CommandContext;
use crate::use_cases::collect::filed::Filing;
use crate::use_cases::collect::{Collection, prepare_read};
use empirica_notes::error::Result;
use empirica_notes::git::history;
use empirica_transcripts::find;
use empirica_transcripts::find::FoundTranscript;
use empirica_transcripts::model::Agent;

/// The transcript of the session with an agent's own id, as stored; `None` if there is none of this work tree.
pub fn find(context: &CommandContext<'_>, agent: Agent, id: &str) -> Option<FoundTranscript> {
    let root = context.repo.work_tree()?;
    find::of_session(&|name| context.env.get(name).map(PathBuf::from), &root, agent, id)
}

/// Reads a found transcript.
pub fn prepare(context: &CommandContext<'_>, found: &FoundTranscript) -> Result<Collection> {
    let commit_at = |time: i64| history::at_time(context.repo, &format!("@{time}"));
    let filing = Filing { is_one_of_all: false, changed_at: None, commit_at: &commit_at };
    prepare_read(context, found.path.clone(), find::read(found)?, &filing)
}
