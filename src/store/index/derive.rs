//! What follows from the records of a session, by the folds that everybody reads them with: its row, and which of its
//! handoffs are in force.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::Fault;
use super::ask;
use super::fill::Texts;
use super::schema;
use crate::epistemics::gathered::Gathered;
use crate::epistemics::journal::{answers, goals, sessions, superseded};
use crate::epistemics::kept::{kept, learned};
use crate::model::goal::GoalStatus;
use crate::model::{Body, Id, Record, SessionId, Vector};

/// Makes the rows of these sessions anew; with `is_new` nothing was put aside or closed before. `tell` is told of every one.
pub fn sessions_anew(
    db: &Connection,
    texts: &Texts<'_>,
    touched: &BTreeSet<i64>,
    is_new: bool,
    tell: &mut dyn FnMut(),
) -> Result<(), Fault> {
    for s in touched {
        tell();
        let row: Vec<u8> = db.prepare_cached("SELECT id FROM session WHERE s = ?")?.query_row([s], |row| row.get(0))?;
        let Some(id) = SessionId::parse(&schema::text(&row)) else { continue };
        let scan = ask::of_session(db, texts, *s)?;
        let own = || scan.records().filter(|record| record.head.session.as_ref() == Some(&id));
        let Some(session) = sessions(own()).remove(&id) else {
            // nothing is left of its own; who concerned it may be there still
            db.prepare_cached(
                "UPDATE session SET began = NULL, newest = NULL, ai = NULL, started_at = NULL, ended_at = NULL, task = NULL, \
                 kind = NULL, external_id = NULL, head = NULL, worktree = NULL, place = NULL, kept = NULL, know = NULL, uncertainty = NULL WHERE s = ?",
            )?
            .execute([s])?;
            continue;
        };
        let aside = superseded(scan.records());
        let records: Vec<&Record> = scan.records().collect();
        let gathered = Gathered::collect(records.iter().copied(), &id);
        let learned = |vector| gathered.as_ref().and_then(|gathered| learned(gathered, vector));
        let (know, uncertainty) = (learned(Vector::Know), learned(Vector::Uncertainty));
        // what is kept is made of numbers and texts: it can be written
        let kept = gathered.as_ref().and_then(|gathered| serde_json::to_string(&kept(gathered, &aside)).ok());
        let newest = own().next_back().map(|record| schema::id(&record.head.id));
        db.prepare_cached(
            "UPDATE session SET began = ?, newest = ?, ai = ?, started_at = ?, ended_at = ?, task = ?, kind = ?, \
             external_id = ?, head = ?, worktree = ?, place = ?, kept = ?, know = ?, uncertainty = ? WHERE s = ?",
        )?
        .execute(params![
            schema::id(&session.began),
            newest,
            session.ai,
            session.started_at,
            session.ended_at,
            session.task,
            session.kind,
            session.external_id,
            session.commit,
            session.worktree,
            session.place,
            kept,
            know,
            uncertainty,
            s
        ])?;
        let answered = answers(scan.records());
        let open: BTreeSet<Id> = goals(scan.records())
            .into_iter()
            .filter(|owned| owned.goal.status == GoalStatus::Open)
            .map(|owned| owned.goal.id)
            .collect();
        for record in own() {
            let closed = match &record.body {
                Body::Unknown(_) => answered.contains_key(&record.head.id),
                Body::Goal(_) => !open.contains(&record.head.id),
                _ => continue,
            };
            if is_new && !closed {
                continue;
            }
            let set = "UPDATE record SET closed = ?1 WHERE id = ?2 AND closed <> ?1";
            db.prepare_cached(set)?.execute(params![closed, schema::id(&record.head.id)])?;
        }
        for record in own().filter(|record| matches!(record.body, Body::Handoff(_))) {
            put_aside(db, &schema::id(&record.head.id), aside.contains(&record.head.id), is_new)?;
        }
    }
    Ok(())
}

/// The same for handoffs that no session wrote: one is put aside by a record only.
pub fn sessionless(db: &Connection) -> Result<(), Fault> {
    let find = "SELECT o.id, EXISTS(SELECT 1 FROM names x JOIN record b ON b.r = x.r WHERE x.id = o.id AND b.kind = 'supersede') \
                FROM handoff_reports o WHERE o.session_id IS NULL";
    let mut find = db.prepare_cached(find)?;
    let all: Vec<(Vec<u8>, bool)> =
        find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    all.iter().try_for_each(|(id, aside)| put_aside(db, id, *aside, false))
}

fn put_aside(db: &Connection, id: &[u8], aside: bool, is_new: bool) -> Result<(), Fault> {
    if is_new && !aside {
        return Ok(());
    }
    let set = "UPDATE record SET aside = ?1 WHERE id = ?2 AND aside <> ?1 RETURNING r";
    let changed: Option<i64> = db.prepare_cached(set)?.query_row(params![aside, id], |row| row.get(0)).optional()?;
    if let Some(r) = changed {
        db.prepare_cached("UPDATE handoff_reports SET aside = ? WHERE r = ?")?.execute(params![aside, r])?;
    }
    Ok(())
}
