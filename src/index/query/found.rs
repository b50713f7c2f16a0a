//! Finds records in the table, and reads their lines in the notes.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::{Connection, Params};

use crate::index::connection::select;
use crate::index::error::IndexError;
use crate::index::schema;
use crate::index::texts::Texts;
use empirica_notes::format;
use empirica_notes::format::lines;
use empirica_notes::model::{Id, Record};

/// The kinds of claims and sources in force.
pub const CLAIMS: &str = "('finding', 'unknown', 'dead_end', 'mistake', 'decision', 'source')";

/// A record found but not yet read.
pub struct FoundRecord {
    pub r: i64,
    pub id: String,
    pub note: i64,
    /// Hash of its line.
    pub version: i64,
    pub is_conflicting: bool,
    pub retracted: bool,
}

/// The records that match a condition on the table `record`; ORDER BY and LIMIT may follow it.
pub fn found(db: &Connection, condition: &str, values: impl Params) -> Result<Vec<FoundRecord>, IndexError> {
    let sql = format!("SELECT r, id, note, doubled, version, kind FROM record WHERE {condition}");
    select(db, &sql, values, |row| {
        let id = schema::text(row.get_ref(1)?.as_blob()?);
        let retracted = row.get_ref(5)?.as_bytes().is_ok_and(|kind| kind.starts_with(schema::GONE.as_bytes()));
        Ok(FoundRecord {
            r: row.get(0)?,
            id,
            note: row.get(2)?,
            is_conflicting: row.get(3)?,
            version: row.get(4)?,
            retracted,
        })
    })
}

/// Groups records by note, so that each note is read once.
pub fn by_note(found: Vec<FoundRecord>) -> BTreeMap<i64, Vec<FoundRecord>> {
    let mut out: BTreeMap<i64, Vec<FoundRecord>> = BTreeMap::new();
    for one in found {
        out.entry(one.note).or_default().push(one);
    }
    out
}

/// A note of more bytes is not read through again for each few records: it may have those of many sessions.
const LARGE: usize = 1 << 18;

/// A record that was found, its line, and what that says.
type ReadRecord<'f> = (&'f FoundRecord, Vec<u8>, Record);

/// Reads the records found in a note, each with its line.
pub fn read_found<'f>(
    db: &Connection,
    texts: &Texts<'_>,
    n: i64,
    wanted: &'f [FoundRecord],
) -> Result<Vec<ReadRecord<'f>>, IndexError> {
    let text = texts.get(db, n)?;
    let mut lines_of: HashMap<&str, Vec<u8>> = HashMap::new();
    if text.len() > LARGE {
        for one in wanted {
            let Some(id) = Id::parse(&one.id) else { continue };
            for line in texts.lines(db, n, &id)? {
                keep_best(&mut lines_of, &one.id, &line);
            }
        }
    } else {
        let ids: HashSet<&str> = wanted.iter().map(|one| one.id.as_str()).collect();
        for line in lines::split(&text) {
            if let Some(id) = lines::id(line).and_then(|id| ids.get(id)) {
                keep_best(&mut lines_of, id, line);
            }
        }
    }
    let read = |one: &'f FoundRecord| {
        let line = lines_of.get(one.id.as_str())?.clone();
        let record = format::record::decode(&line)?;
        Some((one, line, record))
    };
    Ok(wanted.iter().filter_map(read).collect())
}

/// Canonical notes have the greatest line of an id last, others may not; lines that cannot be decoded do not count.
fn keep_best<'i>(lines_of: &mut HashMap<&'i str, Vec<u8>>, id: &'i str, line: &[u8]) {
    match lines_of.get_mut(id) {
        None => drop(lines_of.insert(id, line.to_vec())),
        Some(best) if line <= best.as_slice() => {}
        Some(best) if format::record::decode(line).is_some() || format::record::decode(best).is_none() => {
            *best = line.to_vec();
        }
        Some(_) => {}
    }
}
