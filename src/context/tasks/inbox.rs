//! What waits for an agent, and what its sessions took up.

use crate::context::active::ActiveSession;
use crate::context::claims::inject;
use crate::context::handoffs::{ListedHandoff, by_ids};
use crate::context::{CommandContext, records, tasks};
use crate::fold::task::chain::chain;
use crate::fold::task::claims::Receipts;
use crate::fold::task::state::{TaskState, TaskStatus};
use empirica_notes::error::Result;
use empirica_notes::model::{Body, Envelope, Handoff, Id, Record, SessionId};

/// Most handoffs that are looked at.
const MOST: usize = 200;

/// Handoffs that wait for a receiver, oldest first: in force, taken up by no session nor handed on without a word, of tasks that are
/// not complete, and not of the session itself. With the number of those not looked at.
pub fn waiting(context: &CommandContext<'_>, ai: &str, own: Option<&SessionId>) -> Result<(Vec<ListedHandoff>, usize)> {
    let index = context.index()?;
    let ids = index.waiting_for(ai)?;
    let mut out = by_ids(&index, &ids[..ids.len().min(MOST)])?;
    out.retain(|listed| own.is_none() || listed.envelope.session.as_ref() != own);
    let now = context.store.now();
    let mut is_open = Vec::new();
    for ListedHandoff { envelope, handoff } in &out {
        let state = handoff.task_id.as_deref().map(|task| tasks::state(context, task)).transpose()?.flatten();
        let open =
            |state: &TaskState| chain(state, now).iter().any(|link| link.envelope.id == envelope.id && link.is_open);
        is_open.push(state.as_ref().is_none_or(open));
    }
    let mut is_open = is_open.into_iter();
    out.retain(|_| is_open.next().unwrap_or_default());
    Ok((out, ids.len().saturating_sub(MOST)))
}

/// Those of [`waiting`] that may be put into an agent's context unasked, and their number.
pub fn unasked(context: &CommandContext<'_>, ai: &str, own: Option<&SessionId>) -> Result<(Vec<ListedHandoff>, usize)> {
    let (mut listed, more) = waiting(context, ai, own)?;
    let total = listed.len() + more;
    if !listed.is_empty() {
        let mut admitted = context.index()?.ids(listed.iter().map(|one| &one.envelope.id))?;
        if !inject::admit(context, &mut admitted)? {
            listed.retain(|one| admitted.get(&one.envelope.id).is_some());
            return Ok((listed.clone(), listed.len()));
        }
    }
    Ok((listed, total))
}

/// A handoff that a session took up.
#[derive(Debug)]
pub struct Taken {
    pub handoff: ListedHandoff,
    /// The acknowledgement.
    pub claim: Envelope,
    /// Whose it is instead, if another session took it up first, or took it over.
    pub lost_to: Option<Envelope>,
    /// Whether its task is complete.
    pub is_complete: bool,
}

/// The handoffs to a receiver that a session took up and has not handed on, oldest first, unless their task is complete; also those
/// that it lost.
pub fn taken(context: &CommandContext<'_>, session: &SessionId) -> Result<Vec<Taken>> {
    let own = records::session(context, session)?;
    let index = context.index()?;
    let mut out: Vec<Taken> = Vec::new();
    for Record { envelope: claim, body } in own.records() {
        let Body::Accept(accept) = body else { continue };
        if claim.session.as_ref() != Some(session) || out.iter().any(|taken| taken.handoff.envelope.id == accept.of) {
            continue;
        }
        let Some(handoff) = by_ids(&index, std::slice::from_ref(&accept.of))?.pop() else { continue };
        let is_own = handoff.envelope.session.as_ref() == Some(session);
        if is_own || handoff.handoff.to.is_none() || hands_on(own.records(), session, &handoff.handoff, &accept.of) {
            continue;
        }
        let scan = tasks::receipts(context, &accept.of, &handoff.handoff)?;
        let receipts: Receipts<'_> = scan.records().collect();
        let holder = receipts.of(&accept.of).holder;
        let lost_to = holder.filter(|holder| holder.session() != Some(session)).map(|holder| holder.envelope.clone());
        let is_complete = match &handoff.handoff.task_id {
            Some(task) => tasks::state(context, task)?.is_some_and(|state| state.status == TaskStatus::Complete),
            None => false,
        };
        if !is_complete || lost_to.is_some() {
            out.push(Taken { handoff, claim: claim.clone(), lost_to, is_complete });
        }
    }
    Ok(out)
}

/// Whether a session wrote a handoff that continues this one.
fn hands_on<'r>(
    mut records: impl Iterator<Item = &'r Record>,
    session: &SessionId,
    handoff: &Handoff,
    id: &Id,
) -> bool {
    records.any(|record| match &record.body {
        Body::Handoff(next) => {
            record.envelope.session.as_ref() == Some(session)
                && next.task_id == handoff.task_id
                && next.continues.as_ref() == Some(id)
        }
        _ => false,
    })
}

/// The handoffs that active sessions of this worktree took up and lost to others, with a text for each whose task is not complete.
pub fn lost(context: &CommandContext<'_>, sessions: &[ActiveSession]) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for session in sessions {
        for Taken { handoff, lost_to, is_complete, .. } in taken(context, &session.id)? {
            let lost_to = lost_to.filter(|_| !is_complete);
            let text = lost_to.map(|other| not_yours(&handoff.envelope.id, &other));
            let (ai, id) = (&session.ai, session.id.short());
            out.extend(text.map(|text| format!("{ai}, session {id}: {text}; leave the work to it")));
        }
    }
    Ok(out)
}

/// Tells whose a handoff is.
pub fn not_yours(handoff: &Id, claim: &Envelope) -> String {
    let session = claim.session.as_ref().map(|id| format!(" (session {})", id.short())).unwrap_or_default();
    format!("handoff {} is not yours: {}{session} took it up at {}", handoff.short(), claim.ai, claim.at)
}
