//! Derives the row of a session and its current handoffs from its records.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension, params};

use crate::fold::journal::{answers, goals, sessions};
use crate::fold::session_state::SessionRecords;
use crate::fold::session_summary::{kept, learned};
use crate::index::fault::IndexError;
use crate::index::note::ParsedLine;
use crate::index::query::FoundRecord;
use crate::index::texts::{NotePlace, ParsedNotes, Texts, place};
use crate::index::{query, schema};
use empirica_notes::git::Repository;
use empirica_notes::model::goal::GoalStatus;
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::session::Session;
use empirica_notes::model::{Body, Id, Record, SessionId, Vector};

/// A session, and where its records are stored.
struct SessionSource {
    s: i64,
    id: SessionId,
    notes: Vec<(i64, NotePlace, Vec<FoundRecord>)>,
}

struct DerivedSession {
    s: i64,
    /// `None` if it has no record of its own; records of others may still concern it.
    row: Option<DerivedRow>,
}

struct DerivedRow {
    session: Session,
    newest: Option<Id>,
    kept: Option<String>,
    know: Option<f64>,
    uncertainty: Option<f64>,
    /// Its unknowns and goals, and whether each is closed.
    closed: Vec<(Id, bool)>,
    /// Its handoffs, and whether each is superseded.
    aside: Vec<(Id, bool)>,
}

/// Rebuilds the rows of these sessions. Calls `tell` for each. With `is_new`, nothing was superseded or closed
/// before.
pub fn derive_sessions(
    db: &Connection,
    repo: &Repository,
    touched: &BTreeSet<i64>,
    kept: &ParsedNotes,
    is_new: bool,
    tell: &mut dyn FnMut(),
) -> Result<(), IndexError> {
    let texts = Texts::new(repo);
    let mut places = Places { db, kept, known: HashMap::new() };
    touched.iter().try_for_each(|s| {
        tell();
        write(db, &follows(&texts, &places.source(*s)?)?, is_new)
    })
}

/// Sources of notes, each looked up once.
struct Places<'p> {
    db: &'p Connection,
    kept: &'p ParsedNotes,
    known: HashMap<i64, NotePlace>,
}

impl Places<'_> {
    fn place(&mut self, n: i64) -> Result<NotePlace, IndexError> {
        if let Some(place) = self.known.get(&n) {
            return Ok(place.clone());
        }
        let found = match self.kept.get(n) {
            Some(lines) => NotePlace::Lines(lines),
            None => place(self.db, n)?,
        };
        self.known.insert(n, found.clone());
        Ok(found)
    }

    fn source(&mut self, s: i64) -> Result<SessionSource, IndexError> {
        let find = "SELECT id FROM session WHERE s = ?";
        let row: Vec<u8> = self.db.prepare_cached(find)?.query_row([s], |row| row.get(0))?;
        // only session IDs are stored
        let id = SessionId::parse(&schema::text(&row)).ok_or(IndexError::Lost)?;
        let found = query::of_session(self.db, s)?.into_iter().filter(|found| !found.retracted);
        let notes = query::by_note(found.collect());
        let notes =
            notes.into_iter().map(|(n, found)| Ok((n, self.place(n)?, found))).collect::<Result<_, IndexError>>()?;
        Ok(SessionSource { s, id, notes })
    }
}

/// Derives a session from its records, without a database.
fn follows(texts: &Texts<'_>, source: &SessionSource) -> Result<DerivedSession, IndexError> {
    let SessionSource { s, id, notes } = source;
    let s = *s;
    let mut read: Vec<Record> = Vec::new();
    for (n, place, found) in notes {
        if !matches!(place, NotePlace::Lines(_)) {
            let text = texts.at(*n, place)?;
            read.extend(query::read_found(&text, found).into_iter().map(|(_, _, record)| record));
        }
    }
    let known = notes.iter().flat_map(|(_, place, found)| {
        let lines: &[ParsedLine] = if let NotePlace::Lines(lines) = place { lines } else { &[] };
        found.iter().filter_map(move |one| Some(&ParsedLine::find(lines, &one.id, one.version)?.record))
    });
    let mut records: Vec<&Record> = known.chain(&read).collect();
    records.sort_by(|a, b| a.head.id.cmp(&b.head.id));
    let all = || records.iter().copied();
    let own = || all().filter(|record| record.head.session.as_ref() == Some(id));
    let Some(session) = sessions(own()).remove(id) else { return Ok(DerivedSession { s, row: None }) };
    let aside = superseded(all());
    let gathered = SessionRecords::collect(all(), id);
    let learned = |vector| gathered.as_ref().and_then(|gathered| learned(gathered, vector));
    let answered = answers(all());
    let open: BTreeSet<Id> = goals(all())
        .into_iter()
        .filter(|owned| owned.goal.status == GoalStatus::Open)
        .map(|owned| owned.goal.id)
        .collect();
    let closed = own().filter_map(|record| match &record.body {
        Body::Unknown(_) => Some((record.head.id.clone(), answered.contains_key(&record.head.id))),
        Body::Goal(_) => Some((record.head.id.clone(), !open.contains(&record.head.id))),
        _ => None,
    });
    let handoffs = own().filter(|record| matches!(record.body, Body::Handoff(_)));
    let row = DerivedRow {
        newest: own().next_back().map(|record| record.head.id.clone()),
        // numbers and texts only: serialising cannot fail
        kept: gathered.as_ref().and_then(|gathered| serde_json::to_string(&kept(gathered, &aside)).ok()),
        know: learned(Vector::Know),
        uncertainty: learned(Vector::Uncertainty),
        closed: closed.collect(),
        aside: handoffs.map(|record| (record.head.id.clone(), aside.contains(&record.head.id))).collect(),
        session,
    };
    Ok(DerivedSession { s, row: Some(row) })
}

fn write(db: &Connection, follows: &DerivedSession, is_new: bool) -> Result<(), IndexError> {
    let s = follows.s;
    let Some(DerivedRow { session, newest, kept, know, uncertainty, closed, aside }) = &follows.row else {
        db.prepare_cached(
            "UPDATE session SET began = NULL, newest = NULL, ai = NULL, started_at = NULL, ended_at = NULL, task = NULL, \
             kind = NULL, external_id = NULL, head = NULL, worktree = NULL, place = NULL, origin = NULL, origin_handoff = NULL, kept = NULL, know = NULL, uncertainty = NULL WHERE s = ?",
        )?
        .execute([s])?;
        return Ok(());
    };
    db.prepare_cached(
        "UPDATE session SET began = ?, newest = ?, ai = ?, started_at = ?, ended_at = ?, task = ?, kind = ?, \
         external_id = ?, head = ?, worktree = ?, place = ?, origin = ?, origin_handoff = ?, kept = ?, know = ?, uncertainty = ? WHERE s = ?",
    )?
    .execute(params![
        schema::id(&session.began),
        newest.as_ref().map(schema::id),
        session.ai,
        session.started_at,
        session.ended_at,
        session.task,
        session.kind,
        session.external_id,
        session.commit,
        session.worktree,
        session.place,
        session.from.as_ref().map(schema::session),
        session.from_handoff.as_ref().map(schema::id),
        kept,
        know,
        uncertainty,
        s
    ])?;
    for (id, closed) in closed.iter().filter(|(_, closed)| *closed || !is_new) {
        let set = "UPDATE record SET closed = ?1 WHERE id = ?2 AND closed <> ?1";
        db.prepare_cached(set)?.execute(params![closed, schema::id(id)])?;
    }
    aside.iter().try_for_each(|(id, aside)| set_superseded(db, &schema::id(id), *aside, is_new))
}

/// Same for handoffs without a session, which only a record can supersede.
pub fn sessionless(db: &Connection) -> Result<(), IndexError> {
    let find = "SELECT o.id, EXISTS(SELECT 1 FROM names x JOIN record b ON b.r = x.r WHERE x.id = o.id AND b.kind = 'supersede') \
                FROM handoff_reports o WHERE o.session_id IS NULL";
    let mut find = db.prepare_cached(find)?;
    let all: Vec<(Vec<u8>, bool)> =
        find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    all.iter().try_for_each(|(id, aside)| set_superseded(db, id, *aside, false))
}

fn set_superseded(db: &Connection, id: &[u8], aside: bool, is_new: bool) -> Result<(), IndexError> {
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
