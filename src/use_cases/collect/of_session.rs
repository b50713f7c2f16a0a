//! The transcript of a session, found by the agent's own id of it; also of one that the agent completes after its last event.

use std::path::PathBuf;

use crate::context::CommandContext;
use crate::context::active::{self, ActiveSession};
use crate::use_cases::collect::filed::Filing;
use crate::use_cases::collect::{Collection, prepare_read};
use empirica_notes::error::Result;
use empirica_notes::git::history;
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

/// Adds what no hook collects to the sessions of an agent, or of all: what Copilot CLI writes after its last event, with `-p`, and the
/// transcript of the newest session that only the MCP server knew, after its agent's process ended.
pub fn catch_up(context: &CommandContext<'_>, of: Option<Agent>) -> Result<()> {
    let is_of = |agent: Agent| of.is_none_or(|of| of == agent);
    let mut late: Vec<(Agent, String)> = Vec::new();
    if is_of(Agent::Copilot) {
        let newest = context.index()?.sessions_like(&format!("latest:{}", Agent::Copilot.name()))?;
        let ended = newest.into_iter().filter(|session| session.ai == Agent::Copilot.name() && !session.is_active());
        late.extend(ended.filter_map(|session| Some((Agent::Copilot, session.external_id?))));
    }
    let left = active::cached(context).into_iter().rev().filter(ActiveSession::is_left);
    let mut left = left.filter_map(|session| Some((Agent::parse(&session.ai)?, session.external_id?)));
    late.extend(left.find(|(agent, _)| is_of(*agent)));
    for (agent, id) in late {
        if let Some(collection) = prepare(context, agent, &id)?.filter(|found| found.added.is_some()) {
            collection.store(context)?;
        }
    }
    Ok(())
}
