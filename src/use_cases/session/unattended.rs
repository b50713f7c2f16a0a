//! Sessions that their agents left without a hook that tells.

use std::time::Duration;

use crate::context::active::{self, ActiveSession};
use crate::context::{CommandContext, WorkingSession};
use crate::use_cases::collect::of_session::{find, prepare};
use crate::use_cases::collect::seen::SeenTranscripts;
use crate::use_cases::session::lifecycle;
use empirica_notes::error::Result;
use empirica_notes::model::SessionId;
use empirica_transcripts::find::FoundTranscript;
use empirica_transcripts::model::Agent;

/// The newest ended sessions of a worktree; those of Copilot CLI among them whose transcripts may have grown since.
const ENDED: usize = 20;
const OF_COPILOT: usize = 3;

/// Collects what no hook does, of this worktree: what Copilot CLI writes after its last event, with `-p`; and the transcripts of
/// sessions that only the MCP server knew, after the processes of their agents ended. Such a session ends, with a handoff.
/// Leaves all if another process goes on collecting, and those with transcripts of more than `most` bytes; returns whether there are
/// such. A transcript that cannot be read keeps no other; the last error is returned.
pub fn catch_up(context: &CommandContext<'_>, most: Option<u64>) -> Result<bool> {
    let mut seen = SeenTranscripts::load(context);
    let is_small = |found: &FoundTranscript| most.is_none_or(|most| found.bytes <= most);
    let may_be_copilot = |ai: &str| Agent::parse(ai).is_none_or(|agent| agent == Agent::Copilot);
    let ended = context.index()?.ended_at(&context.store.paths().worktree_ids(), ENDED)?;
    let of_copilot = ended.into_iter().filter(|session| may_be_copilot(&session.ai)).take(OF_COPILOT);
    let late = of_copilot.filter_map(|session| find(context, Agent::Copilot, &session.external_id?));
    let late = late.filter(|found| !seen.has(context, found));
    let (mut late, large): (Vec<_>, Vec<_>) = late.partition(is_small);
    let mut leaves_some = !large.is_empty();
    let mut left: Vec<ActiveSession> = Vec::new();
    for session in active::cached(context).into_iter().filter(ActiveSession::is_unattended) {
        let id = Agent::parse(&session.ai).zip(session.external_id.as_deref());
        match id.and_then(|(agent, id)| find(context, agent, id)) {
            Some(found) if !is_small(&found) => leaves_some = true,
            found => {
                late.extend(found.filter(|found| !seen.has(context, found)));
                left.push(session);
            }
        }
    }
    if left.is_empty() && late.is_empty() {
        return Ok(leaves_some);
    }
    // a command waits for a background run that does the same
    let patience = if most.is_some() { Duration::ZERO } else { Duration::from_secs(5) };
    let Some(_alone) = context.store.try_lock("collecting", patience) else { return Ok(leaves_some) };
    let mut done = Ok(leaves_some);
    for found in late {
        match collect(context, &found) {
            Ok(session) => seen.add(&found, Some(session)),
            Err(error) => done = Err(error),
        }
    }
    seen.save(context);
    for session in left {
        let session = WorkingSession { id: session.id, ai: session.ai, note: None };
        lifecycle::end_with_handoff(context, session, Some("its agent has ended".to_owned()))?;
    }
    done
}

fn collect(context: &CommandContext<'_>, found: &FoundTranscript) -> Result<SessionId> {
    let collection = prepare(context, found)?;
    collection.store(context)?;
    lifecycle::hand_over(context, &collection.session)?;
    Ok(collection.session.id)
}
