//! The versions of records: the lines that have their ids, in all their notes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::Connection;

use crate::index::connection::select;
use crate::index::error::IndexError;
use crate::index::schema;
use crate::index::texts::{CACHED, Texts};
use empirica_notes::format::lines;
use empirica_notes::model::Id;

/// The lines of a record, also those that cannot be decoded, each with the notes that have it in ascending order.
pub type Versions = BTreeMap<Vec<u8>, Vec<i64>>;

/// Most places of records that are looked up at once; a record has one for each note that it is in.
const PLACES: usize = 1 << 17;
/// What a line takes in memory in addition to its text, in bytes.
const OVERHEAD: usize = 128;

/// Reads the versions of the first of these records: of as many as there is room for, but of one at least; an unknown one has none. Each note
/// is read once for all of them: others may have put versions of very many records into very many notes.
pub fn versions(db: &Connection, texts: &Texts<'_>, ids: &[Id]) -> Result<Vec<Versions>, IndexError> {
    let find = "SELECT note FROM record WHERE id = ?1 UNION \
                SELECT a.n FROM record o CROSS JOIN attached a ON a.r = o.r WHERE o.id = ?1";
    let (mut positions, mut notes, mut places) = (HashMap::new(), BTreeSet::new(), 0);
    for (at, id) in ids.iter().enumerate() {
        if places > PLACES {
            break;
        }
        let of = select(db, find, [schema::id(id)], |row| row.get::<_, i64>(0))?;
        places += 1 + of.len();
        notes.extend(of);
        positions.insert(id.as_str(), at);
    }
    let (mut out, mut size) = (vec![Versions::new(); positions.len()], 0);
    for n in notes {
        let text = texts.get(db, n)?;
        for line in lines::split(&text) {
            let at = lines::id(line).and_then(|id| positions.get(id));
            let Some(versions) = at.and_then(|at| out.get_mut(*at)) else { continue };
            match versions.get_mut(line) {
                Some(notes) if notes.last() == Some(&n) => {}
                Some(notes) => {
                    notes.push(n);
                    size += size_of::<i64>();
                }
                None => {
                    versions.insert(line.to_vec(), vec![n]);
                    size += line.len() + OVERHEAD;
                }
            }
            while size > CACHED && out.len() > 1 {
                let later = out.split_off(out.len().div_ceil(2));
                size -= later.iter().map(size_of_lines).sum::<usize>();
            }
        }
    }
    Ok(out)
}

fn size_of_lines(versions: &Versions) -> usize {
    versions.iter().map(|(line, notes)| line.len() + OVERHEAD + (notes.len() - 1) * size_of::<i64>()).sum()
}
