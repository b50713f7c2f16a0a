//! The session of an agent's event.

use crate::context::caller::stored_id;
use crate::context::own_session::OwnSession;
use crate::context::{CommandContext, active, records};
use crate::use_cases::collect;
use crate::use_cases::hooks::agent::background::is_large;
use crate::use_cases::hooks::agent::event::{HookEvent, HookKind, StartSource};
use crate::use_cases::session::lifecycle;
use empirica_notes::error::Result;
use empirica_notes::model::SessionId;
use empirica_transcripts::model::Agent;

/// A session that records or the cache of this worktree know.
pub struct KnownSession {
    pub id: SessionId,
    pub is_active: bool,
}

/// The session with the agent's ID, an active one first, else the newest; without an ID, the active one of the agent's process.
pub fn known(context: &CommandContext<'_>, event: &HookEvent) -> Result<Option<KnownSession>> {
    let active = |id: &SessionId| KnownSession { id: id.clone(), is_active: true };
    let cached = active::cached(context);
    let Some(external) = &event.session else {
        return Ok(match context.own(&cached) {
            OwnSession::Certain(own) => Some(active(&own.id)),
            _ => None,
        });
    };
    if let Some(found) = cached.iter().rev().find(|s| s.external_id.as_ref() == Some(external)) {
        return Ok(Some(active(&found.id)));
    }
    let mut all = collect::own_sessions_with_external_id(context, external)?;
    let newest =
        all.iter().rposition(|session| session.is_active()).map(|at| all.swap_remove(at)).or_else(|| all.pop());
    Ok(newest.map(|session| KnownSession { is_active: session.is_active(), id: session.id }))
}

/// As [`known`], if it is active.
pub fn active_session(context: &CommandContext<'_>, event: &HookEvent) -> Result<Option<SessionId>> {
    Ok(known(context, event)?.filter(|session| session.is_active).map(|session| session.id))
}

/// A session of an event.
pub struct EventSession {
    pub id: SessionId,
    /// Whether it continues an earlier one.
    pub continues: bool,
}

/// The active session with the agent's ID, otherwise a new one that continues an ended one, or the one that the agent's process
/// resumed, which a fork copies. `None` if it ended, or the event is of a subagent, and the event does not start a session: late
/// events belong to none.
pub fn find_or_start(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    is_beginning: bool,
) -> Result<Option<EventSession>> {
    // hooks of a session can run concurrently
    let _turn = context.store.need_read_decide_write_lock()?;
    let session = match known(context, event)? {
        Some(KnownSession { id, is_active: true }) => EventSession { id, continues: true },
        ended => {
            if event.is_of_subagent || ended.is_some() && !is_beginning {
                return Ok(None);
            }
            let continues = ended.is_some();
            let copied = if continues { None } else { copied_session(context, event)? };
            let from = ended.map(|session| session.id).or(copied.as_ref().map(|copied| copied.parent.clone()));
            let request = lifecycle::StartRequest {
                external_id: event.session.clone(),
                by_hook: true,
                from: from.map(|id| id.as_str().to_owned()),
                ..Default::default()
            };
            let id = lifecycle::start(context, request)?.session_id;
            if let Some(empty) = copied.and_then(|copied| copied.empty) {
                context.selection.session = Some(empty.as_str().to_owned());
                lifecycle::end(context, Some("forked before it continued".to_owned()))?;
            }
            EventSession { id, continues }
        }
    };
    context.selection.session = Some(session.id.as_str().to_owned());
    Ok(Some(session))
}

/// A session that a fork copies.
struct CopiedSession {
    parent: SessionId,
    /// A session that only resumed the parent, to be forked.
    empty: Option<SessionId>,
}

/// The session of which an event with an unknown ID starts a copy: named by the transcript, otherwise the one that the agent's process
/// resumed last. Claude Code resumes the parent under its ID, then goes on under another.
fn copied_session(context: &CommandContext<'_>, event: &HookEvent) -> Result<Option<CopiedSession>> {
    if event.event == HookKind::SessionStart(StartSource::Fork) {
        let parent =
            event.transcript.as_ref().filter(|path| path.is_file() && !is_large(context, event)).and_then(|path| {
                let transcript = empirica_transcripts::read(path, None).ok()?;
                transcript.parent
            });
        let Some(parent) = parent else { return Ok(None) };
        let known = collect::own_sessions_with_external_id(context, &stored_id(event.agent.name(), &parent))?.pop();
        return Ok(known.map(|parent| CopiedSession { parent: parent.id, empty: None }));
    }
    if event.event != HookKind::Prompt || event.agent != Agent::ClaudeCode {
        return Ok(None);
    }
    let active = active::cached(context);
    let Some(resumed) = context.of_agent_process(&active) else { return Ok(None) };
    let records = records::gather(context, &resumed.id)?;
    Ok(Some(match records.session.from.clone().filter(|_| !records.has_content()) {
        Some(parent) => CopiedSession { parent, empty: Some(resumed.id.clone()) },
        None => CopiedSession { parent: resumed.id.clone(), empty: None },
    }))
}
