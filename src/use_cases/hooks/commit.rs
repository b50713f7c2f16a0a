//! After a commit: attaches pending handoffs to it, and writes digests of what was logged since.

use std::collections::BTreeSet;

use crate::context::CommandContext;
use crate::context::active::{ActiveSession, cached};
use crate::use_cases::hooks::digest::digest;
use crate::use_cases::hooks::errors::{errors_of, in_one_line};
use crate::use_cases::sync::flush::flush_pending;
use empirica_notes::error::Result;
use empirica_notes::git::history::head_move::{HeadMove, changed_paths};
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::{Body, Id, Record};
use empirica_notes::store::FlushTiming;

/// Attaches handoffs and writes digests. Returns warnings; no record is lost.
pub(crate) fn run(context: &CommandContext<'_>) -> Result<Vec<String>> {
    let store = &context.store;
    let active = cached(context);
    let pending = store.pending_handoffs().list();
    let unflushed = store.log().counts().total();
    if active.is_empty() && pending.is_empty() && unflushed == 0 && !store.log().has_unborn() {
        return Ok(Vec::new());
    }
    let moved = HeadMove::last(context.repo);
    if moved.in_sequence {
        // during a sequence of picks, pending records are written once, at the end
        return Ok(Vec::new());
    }
    let mut warnings = store.reconcile();
    if let Some(head) = store.head().commit.filter(|_| moved.is_own_commit(context.env.get("GIT_REFLOG_ACTION"))) {
        let is_on_parent = |on: &str| moved.parent.is_some() && parse_oid(on) == moved.parent;
        let mut pending: Vec<_> = pending.into_iter().filter(|pending| is_on_parent(&pending.on)).collect();
        let mut touched_paths = BTreeSet::new();
        if let Some(parent) = moved.parent.filter(|_| pending.iter().any(|pending| !pending.paths.is_empty())) {
            touched_paths = changed_paths(context.repo, parent, head)?;
        }
        // a handoff written before any change belongs to the session's next commit only
        let committing = context.open(&active).ok().flatten().map(|session| session.id);
        pending.retain(|pending| match pending.paths.is_empty() {
            true => committing.is_some() && pending.session == committing,
            false => pending.is_touched(&touched_paths),
        });
        if wants_digest(context) {
            // a handoff that stays on its commit does not report to the session's next commit
            let is_reported = |session: &ActiveSession, id: &Id| {
                let is_own = committing.as_ref() == Some(&session.id) && !moved.is_amend();
                !is_own || pending.iter().any(|pending| pending.id == *id)
            };
            match digests(context, &active, moved.parent, &is_reported) {
                Ok(digests) if !digests.is_empty() => {
                    warnings.extend(errors_of(store.writer().append(digests, FlushTiming::Later)?))
                }
                Ok(_) => {}
                Err(error) => warnings.push(in_one_line(&error)),
            }
        }
        if let Some(parent) = moved.parent.filter(|_| !pending.is_empty()) {
            warnings.extend(errors_of(store.pending_handoffs().attach(&pending, parent, head)?));
            // a handoff without paths belongs to one commit only
            let attached = pending.into_iter().filter(|pending| pending.paths.is_empty()).map(|pending| pending.id);
            let attached: BTreeSet<Id> = attached.collect();
            if !attached.is_empty() {
                store.pending_handoffs().remove(&attached);
            }
        }
    }
    if store.log().counts().total() > 0 {
        warnings.extend(flush_pending(store, in_one_line));
    }
    Ok(warnings)
}

/// `empirica.digest`; by default, unless only handoffs may leave this clone.
fn wants_digest(context: &CommandContext<'_>) -> bool {
    let only_handoffs = || context.repo.config("empirica.sync").is_some_and(|sync| sync == "handoffs");
    context.repo.config_bool("empirica.digest").unwrap_or_else(|| !only_handoffs())
}

/// A digest of each active session with new content, except handoffs that `is_reported` attributes to this commit.
fn digests(
    context: &CommandContext<'_>,
    active: &[ActiveSession],
    parent: Option<Oid>,
    is_reported: &dyn Fn(&ActiveSession, &Id) -> bool,
) -> Result<Vec<Record>> {
    let mut out = Vec::new();
    // without a secret, no id tells
    let is_made = |id: &Id| context.store.paths().secret().is_none() || context.store.made(id);
    for session in active {
        let scan = context.store.reader().session_near(&session.id, parent)?;
        let records: Vec<&Record> = scan.records().collect();
        let made = records.iter().filter(|record| is_made(&record.envelope.id));
        let attached: BTreeSet<&Id> = made
            .filter_map(|record| if let Body::Attach(attach) = &record.body { Some(&attach.of) } else { None })
            .flatten()
            .collect();
        let is_reported = |id: &Id| attached.contains(id) || is_reported(session, id);
        let body = digest(&records, &session.id, is_made, is_reported).map(|digest| Body::Digest(Box::new(digest)));
        out.extend(body.map(|body| context.store.writer().new_record(&session.id, &session.ai, body)));
    }
    Ok(out)
}
