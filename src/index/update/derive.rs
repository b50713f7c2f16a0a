//! Derives the row of a session, and which of its records are closed or superseded, from its records.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::{Connection, params};

use crate::fold::journal::{answers, goals, sessions};
use crate::fold::session_records::SessionRecords;
use crate::fold::session_summary::{learned, summarize};
use crate::fold::task::claims::Receipts;
use crate::index::connection::select;
use crate::index::error::IndexError;
use crate::index::note::{ParsedLine, ParsedNotes};
use crate::index::query::found::{FoundRecord, by_note, read_found};
use crate::index::query::of_session;
use crate::index::schema;
use crate::index::update::RowInserter;
use crate::index::update::ahead::{self, NotePart};
use empirica_notes::format::lines;
use empirica_notes::git::Oid;
use empirica_notes::model::goal::GoalStatus;
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::session::Session;
use empirica_notes::model::{Body, Id, Record, SessionId, Vector};
use empirica_notes::store::Store;

struct DerivedSession {
    session: Session,
    newest: Option<Id>,
    summary: Option<String>,
    know: Option<f64>,
    uncertainty: Option<f64>,
    /// Its unknowns and goals, and whether each is closed.
    closed: Vec<(Id, bool)>,
    /// Its handoffs, and whether each is superseded.
    superseded: Vec<(Id, bool)>,
    /// Its handoffs to a receiver, each with that receiver until it is taken up or superseded.
    waiting: Vec<(Id, Option<String>)>,
}

/// Sessions whose notes are read together at first, and records of theirs after which none follows.
const TOGETHER: usize = 256;
const RECORDS: usize = 1 << 16;
/// Fewer notes are not worth a thread.
const FEW: usize = 256;

/// Room for more lines.
enum Room {
    Full,
    Enough,
    Much,
}

/// A session, by row, and its records by note.
type FoundSession = (i64, BTreeMap<i64, Vec<FoundRecord>>);

/// Rebuilds the rows of the sessions that the inserter touched. Calls `tell` for each, and for each note that it reads.
pub fn derive_sessions(
    inserter: &RowInserter<'_>,
    store: &Store<'_>,
    tell: &mut dyn FnMut() -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    let all: Vec<i64> = inserter.touched.iter().copied().collect();
    let (mut left, mut together) = (all.as_slice(), TOGETHER);
    while !left.is_empty() {
        let now = &left[..together.min(left.len())];
        let (done, room) = derive_together(inserter, now, store, tell)?;
        together = match room {
            Room::Full => (now.len() / 2).max(1),
            Room::Enough => together,
            Room::Much => 2 * together,
        };
        left = &left[done..];
    }
    Ok(())
}

/// Rebuilds sessions while there is room for their lines, but one at least; returns how many, and what room is left. Each of their
/// notes is read once: others may have put lines of very many sessions into very many notes, or into a large one.
fn derive_together(
    inserter: &RowInserter<'_>,
    sessions: &[i64],
    store: &Store<'_>,
    tell: &mut dyn FnMut() -> Result<(), IndexError>,
) -> Result<(usize, Room), IndexError> {
    let RowInserter { db, parsed, is_new, .. } = inserter;
    let rebuild = |(s, notes): &FoundSession, ahead: &ParsedNotes| {
        let lines = |n| parsed.get(n).or_else(|| ahead.get(n));
        write(db, *s, derive(inserter, *s, notes, &lines, store)?.as_ref(), *is_new)
    };
    let mut found: Vec<(FoundSession, usize)> = Vec::new();
    let (mut wanted, mut records) = (Wanted::default(), 0);
    for s in sessions {
        if records > RECORDS {
            break;
        }
        let all: Vec<FoundRecord> = of_session(db, *s)?.into_iter().filter(|found| !found.retracted).collect();
        records += all.len();
        let notes = by_note(all);
        notes.keys().filter(|n| parsed.get(**n).is_none()).try_for_each(|n| wanted.add(db, *n))?;
        found.push(((*s, notes), wanted.blobs.len()));
    }
    let ids: HashSet<&str> =
        found.iter().flat_map(|((_, notes), _)| notes.values().flatten().map(|one| one.id.as_str())).collect();
    let wants = |line: &[u8]| lines::id(line).is_some_and(|id| ids.contains(id));
    let (mut done, mut ahead, mut is_full) = (0, ParsedNotes::default(), false);
    let aside = *is_new || wanted.blobs.len() >= FEW;
    let reading =
        ahead::read(store.repo(), &wanted.blobs, aside, &wants, &mut |NotePart { at, lines, bytes, .. }| {
            tell()?;
            // the note before is complete
            while let Some((session, _)) = found.get(done).filter(|(_, needs)| *needs <= at) {
                tell()?;
                rebuild(session, &ahead)?;
                done += 1;
            }
            if !ahead.has_room(bytes) {
                is_full = true;
                return Err(IndexError::Lost);
            }
            ahead.keep(wanted.rows[at], lines, bytes);
            Ok(())
        });
    match reading {
        Err(_) if is_full => ahead = ParsedNotes::default(),
        read => read?,
    }
    let most = if is_full { 1 } else { found.len() };
    while done < most {
        tell()?;
        rebuild(&found[done].0, &ahead)?;
        done += 1;
    }
    let room = match is_full {
        true => Room::Full,
        false if ahead.is_small() => Room::Much,
        false => Room::Enough,
    };
    Ok((done, room))
}

/// Notes to read, in the order in which sessions need them.
#[derive(Default)]
struct Wanted {
    known: HashSet<i64>,
    rows: Vec<i64>,
    blobs: Vec<Oid>,
}

impl Wanted {
    fn add(&mut self, db: &Connection, n: i64) -> Result<(), IndexError> {
        if self.known.insert(n) {
            let find = "SELECT blob FROM note WHERE n = ? AND blob IS NOT NULL";
            let blob = select(db, find, [n], |row| Ok(Oid::try_from(row.get_ref(0)?.as_blob()?)))?.pop();
            if let Some(Ok(blob)) = blob {
                self.rows.push(n);
                self.blobs.push(blob);
            }
        }
        Ok(())
    }
}

/// `None` if the session has no record of its own; records of others may still concern it. Its newest record is not
/// ahead of the clock, unless all are. It began with the start that this clone made, whatever others stored under it.
fn derive<'l>(
    inserter: &RowInserter<'_>,
    s: i64,
    notes: &BTreeMap<i64, Vec<FoundRecord>>,
    lines: &dyn Fn(i64) -> Option<&'l [ParsedLine]>,
    store: &Store<'_>,
) -> Result<Option<DerivedSession>, IndexError> {
    let horizon = store.horizon();
    let RowInserter { db, texts, .. } = inserter;
    let row: Vec<u8> = db.prepare_cached("SELECT id FROM session WHERE s = ?")?.query_row([s], |row| row.get(0))?;
    let id = SessionId::parse(&schema::text(&row)).ok_or(IndexError::Lost)?;
    let mut read: Vec<Record> = Vec::new();
    for (n, found) in notes.iter().filter(|(n, _)| lines(**n).is_none()) {
        read.extend(read_found(db, texts, *n, found)?.into_iter().map(|(_, _, record)| record));
    }
    let parsed = notes.iter().flat_map(|(n, found)| {
        let lines = lines(*n).unwrap_or_default();
        found.iter().filter_map(move |one| Some(&ParsedLine::find(lines, &one.id, one.version)?.record))
    });
    let mut records: Vec<&Record> = parsed.chain(&read).collect();
    records.sort_by(|a, b| a.envelope.id.cmp(&b.envelope.id));
    let all = || records.iter().copied();
    let own = || all().filter(|record| record.envelope.session.as_ref() == Some(&id));
    let Some(mut session) = sessions(own()).remove(&id) else { return Ok(None) };
    let is_start = |record: &&Record| match &record.body {
        Body::SessionStart(_) => true,
        Body::Redacted(redacted) => redacted.was == "session_start",
        _ => false,
    };
    let is_made = |record: &&Record| store.made(&record.envelope.id);
    let began = match own().any(|record| is_start(&record)) {
        true => own().rfind(|record| is_start(record) && is_made(record)),
        false => own().find(is_made),
    };
    if let Some(began) = began {
        session.began = began.envelope.id.clone();
    }
    // what supersedes a handoff must be there
    let is_there = |id: &Id| inserter.record(id).map(|found| found.is_some());
    let mut counting = Vec::new();
    for record in all() {
        if !matches!(&record.body, Body::Supersede(by) if !is_there(&by.by)?) {
            counting.push(record);
        }
    }
    let superseded = superseded(counting);
    let session_records = SessionRecords::collect(all(), &id);
    let learned = |vector| session_records.as_ref().and_then(|session_records| learned(session_records, vector));
    let answered = answers(all());
    let open: BTreeSet<Id> = goals(all())
        .into_iter()
        .filter(|owned| owned.goal.status == GoalStatus::Open)
        .map(|owned| owned.goal.id)
        .collect();
    let closed = own().filter_map(|record| match &record.body {
        Body::Unknown(_) => Some((record.envelope.id.clone(), answered.contains_key(&record.envelope.id))),
        Body::Goal(_) => Some((record.envelope.id.clone(), !open.contains(&record.envelope.id))),
        _ => None,
    });
    let handoffs = own().filter(|record| matches!(record.body, Body::Handoff(_)));
    let groups = all().collect::<Receipts<'_>>().grouped();
    let waiting = own().filter_map(|record| {
        let (Body::Handoff(handoff), id) = (&record.body, &record.envelope.id) else { return None };
        if handoff.to.is_none() && handoff.route.is_none() {
            return None;
        }
        let claims = groups.of(id);
        let waits = !superseded.contains(id) && claims.owner.is_none();
        Some((id.clone(), claims.to.filter(|_| waits).map(str::to_owned)))
    });
    Ok(Some(DerivedSession {
        newest: own()
            .rfind(|record| !horizon.is_ahead(&record.envelope.id))
            .or_else(|| own().next_back())
            .map(|record| record.envelope.id.clone()),
        // numbers and texts only: serializing cannot fail
        summary: session_records
            .as_ref()
            .and_then(|session_records| serde_json::to_string(&summarize(session_records, &superseded)).ok()),
        know: learned(Vector::Know),
        uncertainty: learned(Vector::Uncertainty),
        closed: closed.collect(),
        waiting: waiting.collect(),
        superseded: handoffs
            .map(|record| (record.envelope.id.clone(), superseded.contains(&record.envelope.id)))
            .collect(),
        session,
    }))
}

/// In a new index, nothing is superseded or closed before.
fn write(db: &Connection, s: i64, derived: Option<&DerivedSession>, is_new: bool) -> Result<(), IndexError> {
    let session = derived.map(|derived| &derived.session);
    db.prepare_cached(
        "UPDATE session SET began = ?, newest = ?, ai = ?, started_at = ?, ended_at = ?, task = ?, kind = ?, \
         external_id = ?, head = ?, worktree = ?, place = ?, origin = ?, origin_handoff = ?, summary = ?, know = ?, uncertainty = ? WHERE s = ?",
    )?
    .execute(params![
        session.map(|session| schema::id(&session.began)),
        derived.and_then(|derived| derived.newest.as_ref()).map(schema::id),
        session.map(|session| &session.ai),
        session.map(|session| &session.started_at),
        session.map(|session| &session.ended_at),
        session.map(|session| &session.task),
        session.map(|session| &session.kind),
        session.map(|session| &session.external_id),
        session.map(|session| &session.commit),
        session.map(|session| &session.worktree),
        session.map(|session| &session.place),
        session.and_then(|session| session.from.as_ref()).map(schema::session),
        session.and_then(|session| session.from_handoff.as_ref()).map(schema::id),
        derived.map(|derived| &derived.summary),
        derived.map(|derived| derived.know),
        derived.map(|derived| derived.uncertainty),
        s
    ])?;
    let Some(DerivedSession { closed, superseded, waiting, .. }) = derived else { return Ok(()) };
    for (id, closed) in closed.iter().filter(|(_, closed)| *closed || !is_new) {
        let set = "UPDATE record SET closed = ?1 WHERE id = ?2 AND closed <> ?1";
        db.prepare_cached(set)?.execute(params![closed, schema::id(id)])?;
    }
    for (id, waits_for) in waiting.iter().filter(|(_, waits_for)| waits_for.is_some() || !is_new) {
        let set = "UPDATE handoff_reports SET waits_for = ?1 WHERE r = (SELECT r FROM record WHERE id = ?2)";
        db.prepare_cached(set)?.execute(params![waits_for, schema::id(id)])?;
    }
    let superseded = superseded.iter().filter(|(_, superseded)| *superseded || !is_new);
    superseded.into_iter().try_for_each(|(id, superseded)| set_superseded(db, &schema::id(id), *superseded))
}

/// Marks superseded handoffs without a session, which only a record without one can supersede.
pub fn sessionless(db: &Connection) -> Result<(), IndexError> {
    let find = "SELECT o.id, EXISTS(SELECT 1 FROM names x JOIN record b ON b.r = x.r WHERE x.id = o.id AND b.kind = 'supersede' AND b.s IS NULL) \
                FROM handoff_reports o WHERE o.session_id IS NULL";
    let all: Vec<(Vec<u8>, bool)> = select(db, find, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    all.iter().try_for_each(|(id, superseded)| set_superseded(db, id, *superseded))
}

fn set_superseded(db: &Connection, id: &[u8], superseded: bool) -> Result<(), IndexError> {
    let set = "UPDATE record SET superseded = ?1 WHERE id = ?2 AND superseded <> ?1 RETURNING r";
    let changed: Option<i64> = select(db, set, params![superseded, id], |row| row.get(0))?.pop();
    if let Some(r) = changed {
        db.prepare_cached("UPDATE handoff_reports SET superseded = ? WHERE r = ?")?.execute(params![superseded, r])?;
    }
    Ok(())
}
