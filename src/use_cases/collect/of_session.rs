//! The transcript of a session, found by the agent's own id of it.

use std::path::PathBuf;

use crate::context::CommandContext;
use crate::use_cases::collect::{Collection, prepare_one};
use empirica_notes::error::Result;
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
    prepare_one(context, found.path.clone(), find::read(found)?)
}
