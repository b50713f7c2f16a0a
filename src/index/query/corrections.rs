//! What a record that quotes others says now: without claims and sources that are no longer in force, and with the claims that
//! replaced them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rusqlite::{Connection, Params, params};

use crate::index::connection::select;
use crate::index::error::IndexError;
use crate::index::query::found::{CLAIMS, by_note, found, read_found};
use crate::index::schema;
use crate::index::texts::Texts;
use empirica_notes::model::{Body, Id, Record, SessionId};

/// Most steps in which replacements of a claim are followed, and most of these that are shown: others may store very many.
const STEPS: usize = 256;
const SHOWN: usize = 16;
/// Corrects a record, if it quotes others.
pub fn correct(db: &Connection, texts: &Texts<'_>, record: &mut Record) -> Result<(), IndexError> {
    if !record.body.quotes() || !has_kind(db, "retract")? {
        return Ok(());
    }
    let gone = gone_of(db, &record.body.quoted_claims())?;
    let mut successors = BTreeMap::new();
    for id in &gone {
        let newer = successors_of(db, texts, id)?;
        if !newer.is_empty() {
            successors.insert(id.clone(), newer);
        }
    }
    let ai = record.envelope.ai.clone();
    record.body.replace_claims(&ai, &successors);
    record.body.retain_claims(|id| !gone.contains(id));
    if let (Body::Handoff(handoff), Some(session)) = (&mut record.body, &record.envelope.session)
        && !handoff.sources.is_empty()
    {
        let gone = gone_sources(db, texts, session)?;
        handoff.sources.retain(|location| !gone.contains(location));
    }
    Ok(())
}

/// The sources that a session logged and no longer has.
fn gone_sources(db: &Connection, texts: &Texts<'_>, session: &SessionId) -> Result<Rc<BTreeSet<String>>, IndexError> {
    if let Some(gone) = texts.known().sources.get(session) {
        return Ok(gone.clone());
    }
    let mut gone = locations(db, texts, session, &format!("{}source", schema::GONE))?;
    if !gone.is_empty() {
        let held = locations(db, texts, session, "source")?;
        gone.retain(|location| !held.contains(location));
    }
    let gone = Rc::new(gone);
    let mut known = texts.known();
    known.make_room(gone.iter().map(String::len).sum());
    known.sources.insert(session.clone(), gone.clone());
    Ok(gone)
}

/// The sources of a kind of row that a session logged.
fn locations(
    db: &Connection,
    texts: &Texts<'_>,
    session: &SessionId,
    kind: &str,
) -> Result<BTreeSet<String>, IndexError> {
    let of_session = "+kind = ? AND s = (SELECT s FROM session WHERE id = ?)";
    let all = records(db, texts, of_session, params![kind, schema::session(session)])?;
    let sources = all.into_iter().filter_map(|record| match record.body {
        Body::Source(source) => Some(source.location),
        _ => None,
    });
    Ok(sources.collect())
}

/// The records that match a condition, which quote no others, in order of ID.
fn records(
    db: &Connection,
    texts: &Texts<'_>,
    condition: &str,
    values: impl Params,
) -> Result<Vec<Record>, IndexError> {
    let mut out = Vec::new();
    for (note, wanted) in by_note(found(db, condition, values)?) {
        out.extend(read_found(db, texts, note, &wanted)?.into_iter().map(|(_, _, record)| record));
    }
    out.sort_by(|a, b| a.envelope.id.cmp(&b.envelope.id));
    Ok(out)
}

fn has_kind(db: &Connection, kind: &str) -> Result<bool, IndexError> {
    Ok(!select(db, "SELECT 1 FROM tally WHERE kind = ? AND n > 0", [kind], |_| Ok(()))?.is_empty())
}

/// The first claims in force that replace one that is not, perhaps in several steps.
fn successors_of(db: &Connection, texts: &Texts<'_>, id: &Id) -> Result<Rc<[Record]>, IndexError> {
    if let Some(newer) = texts.known().newer.get(id) {
        return Ok(newer.clone());
    }
    let newer = "id IN (WITH RECURSIVE newer(id) AS (SELECT by FROM replaced WHERE id = ? \
                 UNION SELECT p.by FROM newer CROSS JOIN replaced p ON p.id = newer.id LIMIT ?) SELECT id FROM newer)";
    let condition = format!("{newer} AND +kind IN {CLAIMS} ORDER BY id LIMIT ?");
    let values = params![schema::id(id), STEPS as i64, SHOWN as i64];
    let newer: Rc<[Record]> = records(db, texts, &condition, values)?.into();
    let size = |record: &Record| record.body.own_texts().iter().map(|(_, text)| text.len()).sum::<usize>();
    let mut known = texts.known();
    known.make_room(newer.iter().map(size).sum());
    known.newer.insert(id.clone(), newer.clone());
    Ok(newer)
}

/// Which of these records are not in force.
fn gone_of(db: &Connection, ids: &BTreeSet<Id>) -> Result<BTreeSet<Id>, IndexError> {
    let mut out = BTreeSet::new();
    for id in ids {
        let find = format!("SELECT 1 FROM record o WHERE o.id = ? AND NOT {}", schema::IN_FORCE);
        if !select(db, &find, [schema::id(id)], |_| Ok(()))?.is_empty() {
            out.insert(id.clone());
        }
    }
    Ok(out)
}
