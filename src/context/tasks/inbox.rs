//! What waits for an agent, and what its sessions claimed.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::active::ActiveSession;
use crate::context::claims::inject;
use crate::context::handoffs::{ListedHandoff, by_ids};
use crate::context::{CommandContext, records, tasks};
use crate::fold::task::chain::chain;
use crate::fold::task::claims::Receipts;
use crate::fold::task::state::TaskStatus;
use empirica_notes::error::Result;
use empirica_notes::model::{Body, Envelope, Handoff, Id, Record, SessionId};

/// Most handoffs that are looked at, the newest.
const MOST: usize = 2000;

/// Handoffs that wait for a receiver, oldest first: in force, claimed by no session nor handed on without a word, of tasks that are
/// not complete, and not of the session itself. With the number of those not looked at.
pub fn waiting(context: &CommandContext<'_>, ai: &str, own: Option<&SessionId>) -> Result<(Vec<ListedHandoff>, usize)> {
    let index = context.index()?;
    let ids = index.waiting_for(ai)?;
    let mut out = by_ids(&index, &ids[ids.len().saturating_sub(MOST)..])?;
    out.retain(|listed| own.is_none() || listed.envelope.session.as_ref() != own);
    let names: BTreeSet<&str> = out.iter().filter_map(|listed| listed.handoff.task_id.as_deref()).collect();
    let mut of_tasks = Vec::new();
    for task in names {
        of_tasks.extend(index.of_tasks(Some(task))?);
    }
    let now = context.store.now();
    let states = tasks::states(&index, of_tasks)?;
    let is_open: BTreeMap<&Id, bool> =
        states.values().flat_map(|state| chain(state, now)).map(|link| (&link.envelope.id, link.is_open)).collect();
    out.retain(|listed| listed.handoff.task_id.is_none() || is_open.get(&listed.envelope.id) == Some(&true));
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

/// A handoff that a session claimed.
#[derive(Debug)]
pub struct ClaimedHandoff {
    pub listed: ListedHandoff,
    /// Its first acknowledgement.
    pub claim: Envelope,
    /// Why its work is not the session's.
    pub lost: Option<LostClaim>,
    /// Whether its task is complete.
    pub is_complete: bool,
    /// A handoff by another session that claimed it, too, and did the work.
    pub also_done: Option<Envelope>,
}

/// Why a session no longer has what it claimed.
#[derive(Debug)]
pub enum LostClaim {
    /// Another session has it, by this acknowledgement.
    Owned(Envelope),
    /// Its sender handed over anew, to another receiver.
    Replaced,
}

/// The handoffs to a receiver that a session claimed and has not handed on, oldest first, unless their task is complete; also those
/// that it lost.
pub fn claimed(context: &CommandContext<'_>, session: &SessionId) -> Result<Vec<ClaimedHandoff>> {
    let own = records::session(context, session)?;
    let index = context.index()?;
    let mut out: Vec<ClaimedHandoff> = Vec::new();
    for Record { envelope: claim, body } in own.records() {
        let Body::Accept(accept) = body else { continue };
        if claim.session.as_ref() != Some(session) || out.iter().any(|one| one.listed.envelope.id == accept.of) {
            continue;
        }
        let Some(listed) = by_ids(&index, std::slice::from_ref(&accept.of))?.pop() else { continue };
        let is_own = listed.envelope.session.as_ref() == Some(session);
        let comments = listed.handoff.to.as_deref() != Some(&claim.ai) && accept.takes_over.is_none();
        if is_own || comments || hands_on(own.records(), session, &listed.handoff, &accept.of) {
            continue;
        }
        let scan = tasks::receipts(context, &accept.of, &listed.handoff)?;
        let groups = scan.records().collect::<Receipts<'_>>().grouped();
        let (claims, versions) = (groups.of(&accept.of), groups.versions(&accept.of));
        let Some(owner) = claims.owner else { continue };
        let other = Some(owner).filter(|owner| owner.session() != Some(session)).map(|owner| owner.envelope.clone());
        let superseded = index.superseded(&versions)?;
        let is_in_force = superseded.len() < versions.len();
        let lost = other.map(LostClaim::Owned).or((!is_in_force).then_some(LostClaim::Replaced));
        let is_complete = match &listed.handoff.task_id {
            Some(task) => tasks::state(context, task)?.is_some_and(|state| state.status == TaskStatus::Complete),
            None => false,
        };
        let also_done = scan.records().find(|record| match &record.body {
            Body::Handoff(next) => {
                next.continues.as_ref().is_some_and(|of| versions.contains(of))
                    && record.envelope.session.as_ref() != Some(session)
            }
            _ => false,
        });
        let also_done = also_done.map(|record| record.envelope.clone());
        if !is_complete || lost.is_some() {
            // what was handed over last
            let newest = groups.newest(&accept.of).filter(|newest| !superseded.contains(&newest.id));
            let newest = newest.filter(|newest| newest.id != accept.of).map(|newest| newest.id.clone());
            let listed = match newest {
                Some(newest) => by_ids(&index, &[newest])?.pop().unwrap_or(listed),
                None => listed,
            };
            out.push(ClaimedHandoff { listed, claim: claim.clone(), lost, is_complete, also_done });
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

/// A text for each handoff that active sessions of this worktree claimed and lost, or whose work another session did, too, unless its
/// task is complete.
pub fn lost(context: &CommandContext<'_>, sessions: &[ActiveSession]) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for session in sessions {
        for ClaimedHandoff { listed, lost, is_complete, also_done, .. } in claimed(context, &session.id)? {
            let id = &listed.envelope.id;
            let text = match (lost, also_done) {
                _ if is_complete => continue,
                (Some(lost), _) => format!("{}; stop work on it", why_lost(id, &lost)),
                (None, Some(done)) => format!(
                    "the work of handoff {} was also done by {}: see handoff {}",
                    id.short(),
                    done.ai,
                    done.id.short()
                ),
                (None, None) => continue,
            };
            out.push(format!("{}, session {}: {text}", session.ai, session.id.short()));
        }
    }
    Ok(out)
}

/// Tells what became of a handoff that a session claimed.
pub fn why_lost(id: &Id, lost: &LostClaim) -> String {
    match lost {
        LostClaim::Owned(claim) => owned(id, claim),
        LostClaim::Replaced => format!("handoff {} was replaced by one for another agent", id.short()),
    }
}

/// Tells whose a handoff is.
pub fn owned(id: &Id, claim: &Envelope) -> String {
    let session = claim.session.as_ref().map(|id| format!(" (session {})", id.short())).unwrap_or_default();
    format!("{}{session} owns handoff {}, claimed at {}", claim.ai, id.short(), claim.at)
}
