//! Notes read and understood, before they are put into the database.

use std::sync::Arc;

use crate::index::fault::IndexError;
use crate::index::searchable;
use empirica_notes::format;
use empirica_notes::format::lines;
use empirica_notes::git::{Oid, Repository};
use empirica_notes::model::Record;
use empirica_notes::model::hash::fnv;

/// A longer note, in bytes, is not kept in memory as lines.
const LONG: usize = 1 << 20;

/// A line of a note that is understood.
#[derive(Debug)]
pub struct ParsedLine {
    /// Stands for the bytes.
    pub version: i64,
    /// What it says.
    pub record: Record,
    /// The words of its text, if it is searched.
    pub words: Option<String>,
}

impl ParsedLine {
    /// Reads a line; `None` for one that nobody understands.
    pub fn read(line: &[u8]) -> Option<Self> {
        let record = format::record::decode(line)?;
        Some(ParsedLine { version: fnv(line) as i64, words: searchable::compared(&record.body), record })
    }

    /// Of the lines of a note, in order, the one with this id and version.
    pub fn find<'l>(lines: &'l [ParsedLine], id: &str, version: i64) -> Option<&'l ParsedLine> {
        fn id_of(line: &ParsedLine) -> &str {
            line.record.head.id.as_str()
        }
        let begin = lines.partition_point(|line| id_of(line) < id);
        lines[begin..].iter().take_while(|line| id_of(line) == id).find(|line| line.version == version)
    }
}

/// A note.
#[derive(Debug)]
pub enum ParsedNote {
    /// What is understood of it, in the order of the ids, and how many bytes that is.
    Lines(Arc<Vec<ParsedLine>>, usize),
    /// One so long that its lines are better read one by one.
    Text(Vec<u8>),
}

impl ParsedNote {
    fn of(text: &mut Vec<u8>) -> Self {
        if text.len() > LONG {
            return ParsedNote::Text(std::mem::take(text));
        }
        let mut lines: Vec<ParsedLine> = lines::split(text).filter_map(ParsedLine::read).collect();
        lines.sort_by(|a, b| a.record.head.id.cmp(&b.record.head.id));
        let bytes = text.len() + lines.len() * size_of::<ParsedLine>();
        ParsedNote::Lines(Arc::new(lines), bytes)
    }
}

/// Takes a note, with its place; `None` for one that is not here. Gives back what it does not keep.
pub type Take<'t> = dyn FnMut(usize, Option<ParsedNote>) -> Result<Option<ParsedNote>, IndexError> + 't;

/// Has `take` take each of these blobs, with its place among them, in order.
pub fn each(repo: &Repository, blobs: &[Oid], take: &mut Take<'_>) -> Result<(), IndexError> {
    let mut room = Vec::new();
    for (at, blob) in blobs.iter().enumerate() {
        // one that is damaged hides no other: doctor names it
        let is_here = repo.read_blob_into(*blob, &mut room).unwrap_or(false);
        take(at, is_here.then(|| ParsedNote::of(&mut room)))?;
    }
    Ok(())
}
