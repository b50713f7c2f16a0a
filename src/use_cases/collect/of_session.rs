//! The transcript of a session, found by the agent's own id of it; also of one that the agent completes after its last event.

use std::path::PathBuf;

use crate::context::CommandContext;
use crate::use_cases::collect::filed::Filing;
use crate::use_cases::collect::{Collection, prepare_read};
use empirica_notes::error::Result;
use empirica_notes::git::history;
use empirica_notes::model::session::Session;
use empirica_transcripts::find;
use empirica_transcripts::model::Agent;

/// Reads the transcript of the session with an agent's own id, as stored; `None` if there is none of this work tree.
pub fn prepare(context: &CommandContext<'_>, agent: Agent, id: &str) -> Result<Option<Collection>> {
    let Some(root) = context.repo.work_tree() else { return Ok(None) };
    let repository = find::Repository {
        roots: &[root],
        earlier: &[],
        cwd: &context.env.cwd,
        has_commit: &|_| false,
        has_remote: &|_| false,
    };
    let found = find::all(&|name| context.env.get(name).map(PathBuf::from), &repository, Some(agent)).transcripts;
    let is_wanted = |found: &find::FoundTranscript| match &found.session {
        Some(session) => session == id,
        None => found.path.to_string_lossy().contains(id),
    };
    let Some(found) = found.into_iter().rfind(is_wanted) else { return Ok(None) };
    let commit_at = |time: i64| history::at_time(context.repo, &format!("@{time}"));
    let filing = Filing { is_one_of_all: false, changed_at: None, commit_at: &commit_at };
    prepare_read(context, found.path.clone(), find::read(&found)?, &filing).map(Some)
}

/// Adds what Copilot CLI wrote to the transcripts of its newest sessions after they ended: with `-p`, it writes after its last event.
pub fn catch_up(context: &CommandContext<'_>) -> Result<()> {
    let newest = context.index()?.sessions_like(&format!("latest:{}", Agent::Copilot.name()))?;
    let is_late = |session: &&Session| session.ai == Agent::Copilot.name() && !session.is_active();
    for id in newest.iter().filter(is_late).filter_map(|session| session.external_id.as_deref()) {
        if let Some(collection) = prepare(context, Agent::Copilot, id)?.filter(|found| found.added.is_some()) {
            collection.store(context)?;
        }
    }
    Ok(())
}
