//! Folds the records of a session.

use crate::context::claims::inject::{self, Inject};
use crate::context::{CommandContext, active};
use crate::fold::session_records::SessionRecords;
use empirica_notes::error::{Error, Result, empirica, text};
use empirica_notes::git::Oid;
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::{Body, Record, SessionId};
use empirica_notes::store::{Placements, Scan};

/// The records of a session, and those that refer to them; of a session that this clone began, those that `empirica.inject` admits, as its
/// handoffs are told unasked.
pub fn session(context: &CommandContext<'_>, id: &SessionId) -> Result<Scan> {
    let mut scan = context.stored_session(id)?;
    if Inject::configured(context.repo) == Inject::All {
        return Ok(scan);
    }
    // also if another stored a second record under the id of its start
    let is_own_start = |record: &Record| {
        let is_start = matches!(record.body, Body::SessionStart(_));
        is_start && record.envelope.session.as_ref() == Some(id) && context.store.made(&record.envelope.id)
    };
    if scan.records().any(is_own_start) || active::cached(context).iter().any(|session| session.id == *id) {
        inject::admit(context, &mut scan)?;
    }
    Ok(scan)
}

/// The folded records of a session, read from the store.
pub fn gather(context: &CommandContext<'_>, id: &SessionId) -> Result<SessionRecords> {
    gather_from(&session(context, id)?, id)
}

/// The folded records of a session, from records already read.
pub fn gather_from(scan: &Scan, id: &SessionId) -> Result<SessionRecords> {
    collect_session(&scan.records().collect::<Vec<_>>(), id)
}

/// As [`gather_from`], from records in order of ID.
pub fn collect_session(records: &[&Record], id: &SessionId) -> Result<SessionRecords> {
    SessionRecords::collect(records.iter().copied(), id).ok_or_else(|| nothing_of(id))
}

/// The records of the sessions that a commit's message names which are on no commit of HEAD's history, as a squash leaves them; without
/// superseded handoffs.
pub fn of_sessions_named(context: &CommandContext<'_>, sessions: &[SessionId]) -> Result<Vec<Record>> {
    let mut out = Vec::new();
    for id in sessions {
        let scan = context.index()?.session(id)?;
        let (placements, superseded) = (Placements::new(&scan), superseded(scan.records()));
        let own = scan.entries().filter(|entry| entry.record.envelope.session.as_ref() == Some(id));
        let content =
            own.filter(|entry| !entry.record.body.is_meta() && !superseded.contains(&entry.record.envelope.id));
        let is_left = |commit: Oid| commit != context.repo.empty_tree() && !context.store.reader().is_reachable(commit);
        let left = content.filter(|entry| is_left(placements.of(&context.store, entry)));
        out.extend(left.map(|entry| entry.record.clone()));
    }
    Ok(out)
}

/// Error: a session without records.
pub(crate) fn nothing_of(id: &SessionId) -> Error {
    Error::not_found(format!("cannot find session {id}: nothing is stored of it"))
        .reason("its records are in another clone, or were removed from the notes")
        .suggest(text!["Use a session of the list, or fetch the others with ", empirica("sync"), "."])
        .command(empirica("session list"))
}
