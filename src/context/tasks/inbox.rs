//! What waits for an agent, and what its sessions claimed.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::active::ActiveSession;
use crate::context::claims::inject;
use crate::context::handoffs::{ListedHandoff, by_ids};
use crate::context::{CommandContext, records, tasks};
use crate::fold::task::chain::chain;
use crate::fold::task::claims::Receipts;
use crate::fold::task::state::TaskStatus;
use crate::index::Index;
use empirica_notes::error::Result;
use empirica_notes::model::{Accept, Body, Envelope, Id, Record, SessionId};

/// Handoffs that wait for a receiver, oldest first: in force, claimed by no session nor handed on without a word, of tasks that are
/// not complete, and not of the session itself.
pub fn waiting(context: &CommandContext<'_>, ai: &str, own: Option<&SessionId>) -> Result<Vec<ListedHandoff>> {
    let index = context.index()?;
    let mut out = by_ids(&index, &index.waiting_for(ai)?)?;
    out.retain(|listed| own.is_none() || listed.envelope.session.as_ref() != own);
    let now = context.store.now();
    let states = tasks::states(&index, of_their_tasks(&index, &out)?)?;
    let is_open: BTreeMap<&Id, bool> =
        states.values().flat_map(|state| chain(state, now)).map(|link| (&link.envelope.id, link.is_open)).collect();
    out.retain(|listed| listed.handoff.task_id.is_none() || is_open.get(&listed.envelope.id) == Some(&true));
    Ok(out)
}

/// All handoffs of the tasks of these, each with its task.
fn of_their_tasks(index: &Index<'_>, listed: &[ListedHandoff]) -> Result<Vec<(String, Id)>> {
    let names: BTreeSet<&str> = listed.iter().filter_map(|listed| listed.handoff.task_id.as_deref()).collect();
    let mut out = Vec::new();
    for task in names {
        out.extend(index.of_tasks(Some(task))?);
    }
    Ok(out)
}

/// Those of [`waiting`] that may be put into an agent's context unasked, and their number.
pub fn unasked(context: &CommandContext<'_>, ai: &str, own: Option<&SessionId>) -> Result<(Vec<ListedHandoff>, usize)> {
    let mut listed = waiting(context, ai, own)?;
    let total = listed.len();
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
    /// Whom it is for.
    pub to: Option<String>,
    /// Its first acknowledgement.
    pub claim: Envelope,
    /// Whether the session handed it on.
    pub is_handed_on: bool,
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
    /// Its sender handed it to another agent instead.
    Replaced,
}

/// The handoffs to a receiver that a session claimed and has not handed on, oldest first, unless their task is complete; also those
/// that it lost.
pub fn claimed(context: &CommandContext<'_>, session: &SessionId) -> Result<Vec<ClaimedHandoff>> {
    let scan = records::session(context, session)?;
    let own: Vec<&Record> = scan.records().filter(|record| record.envelope.session.as_ref() == Some(session)).collect();
    let mut first: BTreeMap<&Id, &Envelope> = BTreeMap::new();
    for Record { envelope, body } in &own {
        if let Body::Accept(Accept { of, resolution: None, .. }) = body {
            first.entry(of).or_insert(envelope);
        }
    }
    let answered: BTreeSet<&Id> = own.iter().copied().filter_map(continued).collect();
    let index = context.index()?;
    let listed = by_ids(&index, &first.keys().map(|id| (*id).clone()).collect::<Vec<_>>())?;
    let of_tasks = of_their_tasks(&index, &listed)?;
    let ids = of_tasks.iter().map(|(_, id)| id).chain(listed.iter().map(|listed| &listed.envelope.id));
    let ids: Vec<Id> = ids.cloned().collect::<BTreeSet<Id>>().into_iter().collect();
    let (scan, set_aside) = (tasks::about(&index, &ids)?, index.superseded(&ids)?);
    let groups = scan.records().collect::<Receipts<'_>>().grouped();
    let states = tasks::states(&index, of_tasks)?;
    let mut out: Vec<ClaimedHandoff> = Vec::new();
    let mut seen: BTreeSet<Id> = BTreeSet::new();
    for listed in listed {
        let id = listed.envelope.id.clone();
        let Some(claim) = first.get(&id).copied().filter(|_| listed.envelope.session.as_ref() != Some(session)) else {
            continue;
        };
        let (claims, versions) = (groups.of(&id), groups.versions(&id));
        let has_claim = claims.owner.iter().chain(&claims.rivals).any(|claim| claim.session() == Some(session));
        // else it lost it, or only remarked on it
        let was_for_it = claims.to == Some(claim.ai.as_str()) || own.iter().any(|record| takes_over(record, &versions));
        let Some(owner) = claims.owner.filter(|_| has_claim || was_for_it) else { continue };
        // all versions are claimed at once
        if !seen.insert(versions.first().unwrap_or(&id).clone()) {
            continue;
        }
        let is_handed_on = versions.iter().any(|version| answered.contains(version));
        let other = Some(owner).filter(|owner| owner.session() != Some(session));
        let is_replaced = versions.iter().all(|version| set_aside.contains(version));
        let lost = other.map(|owner| LostClaim::Owned(owner.envelope.clone()));
        let lost = lost.or(is_replaced.then_some(LostClaim::Replaced));
        let state = listed.handoff.task_id.as_ref().and_then(|task| states.get(task));
        let is_complete = state.is_some_and(|state| state.status == TaskStatus::Complete);
        if is_handed_on && !matches!(lost, Some(LostClaim::Owned(_))) || is_complete && lost.is_none() {
            continue;
        }
        let also_done = scan.records().find(|record| {
            continued(record).is_some_and(|of| versions.contains(of))
                && record.envelope.session.as_ref() != Some(session)
        });
        let also_done = also_done.map(|record| record.envelope.clone());
        let to = claims.to.map(str::to_owned);
        // what was handed over last
        let newest = groups.newest(&id).filter(|newest| newest.id != id && !set_aside.contains(&newest.id));
        let listed = match newest {
            Some(newest) => by_ids(&index, std::slice::from_ref(&newest.id))?.pop().unwrap_or(listed),
            None => listed,
        };
        let claim = claim.clone();
        out.push(ClaimedHandoff { listed, to, claim, is_handed_on, lost, is_complete, also_done });
    }
    out.sort_by(|a, b| a.claim.id.cmp(&b.claim.id));
    Ok(out)
}

/// What a handoff continues.
fn continued(record: &Record) -> Option<&Id> {
    match &record.body {
        Body::Handoff(handoff) => handoff.continues.as_ref(),
        _ => None,
    }
}

/// Whether a record takes over a version of a handoff.
fn takes_over(record: &Record, versions: &BTreeSet<Id>) -> bool {
    matches!(&record.body, Body::Accept(accept) if accept.takes_over.is_some() && versions.contains(&accept.of))
}

/// A text for each handoff that active sessions of this worktree claimed and lost, or whose work another session did, too, unless its
/// task is complete.
pub fn lost(context: &CommandContext<'_>, sessions: &[ActiveSession]) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for session in sessions {
        for ClaimedHandoff { listed, is_handed_on, lost, is_complete, also_done, .. } in claimed(context, &session.id)?
        {
            let id = &listed.envelope.id;
            let text = match (lost, also_done) {
                _ if is_complete => continue,
                (Some(lost), _) if is_handed_on => format!("{}; this session did its work, too", why_lost(id, &lost)),
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
