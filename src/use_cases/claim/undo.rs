//! Undo of the last record that a session logged.

use std::collections::BTreeSet;

use crate::context::CommandContext;
use crate::context::stored::StoreReport;
use crate::use_cases::assess::goal_suggestions;
use crate::use_cases::claim::correct::quoting;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::model::record::Retract;
use empirica_notes::model::{Assessment, Body, Id, Record, SessionId};
use empirica_notes::store::FlushTiming;

#[derive(Debug)]
pub struct UndoOutcome {
    /// The session that logged it.
    pub session_id: SessionId,
    pub record: Record,
    /// The goals that a rule had set or closed with it.
    pub goals: usize,
    /// Whether it was still in the log only, and is deleted.
    pub dropped: bool,
    pub stored: StoreReport,
}

/// Takes back the last record that the session logged: deletes it from the log, else stores a `retract` record.
pub fn run(context: &CommandContext<'_>) -> Result<UndoOutcome> {
    let _turn = context.store.read_decide_write_lock();
    let nothing = |why: String| Error::not_found("cannot undo: nothing is logged").reason(why);
    let Some(session) = context.own_session()? else {
        return Err(nothing("no session of yours is active here".to_owned())
            .suggest("Name the session with --session.")
            .command(empirica("session list")));
    };
    let scan = context.index()?.session(&session.id)?;
    let own: Vec<&Record> =
        scan.records().filter(|record| record.envelope.session.as_ref() == Some(&session.id)).collect();
    let assessed = own.iter().rev().find_map(|record| match &record.body {
        Body::Assessment(assessment) => Some((&record.envelope.id, &**assessment)),
        _ => None,
    });
    let by_rule = |record: &Record| {
        assessed.is_some_and(|(id, made): (&Id, &Assessment)| {
            record.envelope.id > *id && goal_suggestions::by_rule(record, made)
        })
    };
    let Some(last) = own.iter().rev().find(|record| is_logged(&record.body) && !by_rule(record)) else {
        return Err(nothing(format!(
            "session {} of {} has no record that is not retracted",
            session.id.short(),
            session.ai
        ))
        .suggest("List the records.")
        .command(empirica("log").flag("--journal")));
    };
    if let Body::Handoff(_) = last.body {
        let short = last.envelope.id.short();
        return Err(Error::refused(format!("cannot undo handoff {short}: it was handed over, not logged"))
            .reason("it is the session's last record, and contains those logged before it")
            .suggest("Hand over again: a handoff with as much in it supersedes the one before.")
            .command(empirica("handoff")));
    }
    let mut gone = vec![*last];
    match &last.body {
        Body::Assessment(_) => gone.extend(own.iter().filter(|record| by_rule(record))),
        Body::Retract(Retract { by: Some(by), .. }) => {
            gone.extend(own.iter().filter(|record| record.envelope.id == *by))
        }
        _ => {}
    }
    let ids: BTreeSet<Id> = gone.iter().map(|record| record.envelope.id.clone()).collect();
    let mut out = UndoOutcome {
        session_id: session.id.clone(),
        record: (*last).clone(),
        goals: gone.iter().filter(|record| matches!(record.body, Body::Goal(_))).count(),
        dropped: false,
        stored: StoreReport::default(),
    };
    let index = context.index()?;
    let is_alone = ids.iter().try_fold(true, |alone, id| Ok::<_, Error>(alone && !index.is_named(id)?))?;
    let is_there = |id: &Id| context.index().and_then(|index| index.has(id));
    // a flush can have left it in the notes as well
    if is_alone
        && context.store.log().withdraw(&ids)
        && !ids.iter().try_fold(false, |any, id| Ok::<_, Error>(any || is_there(id)?))?
    {
        out.dropped = true;
        return Ok(out);
    }
    let mut places = BTreeSet::new();
    for id in &ids {
        places.extend(context.index()?.notes_of(id)?);
    }
    places.extend(quoting(context, &ids)?);
    let retract = context.store.writer().new_record(
        &session.id,
        &session.ai,
        Body::Retract(Retract { of: ids.into_iter().collect(), ..Retract::default() }),
    );
    out.stored.add(&mut context.store.writer().append_in_notes(&retract, &places, None, FlushTiming::Later)?);
    Ok(out)
}

/// Whether a session logs or hands over such records, rather than a rule or a hook.
fn is_logged(body: &Body) -> bool {
    use Body::{Accept, Checkpoint, Digest, Redacted, SessionEnd, SessionStart, Transcript};
    let follows = matches!(
        body,
        Accept(_) | SessionStart(_) | SessionEnd(_) | Checkpoint(_) | Digest(_) | Transcript(_) | Redacted(_)
    );
    match body {
        // but not one of undo
        Body::Retract(retract) => retract.is_correction(),
        Body::Confirm(_) => true,
        _ => !follows && !body.is_meta(),
    }
}
