//! Notes parsed before insertion.

use std::sync::Arc;

use crate::index::fault::IndexError;
use crate::index::searchable;
use empirica_notes::format;
use empirica_notes::format::lines;
use empirica_notes::git::{Oid, Repository};
use empirica_notes::model::Record;
use empirica_notes::model::hash::fnv;

/// Longer notes, in bytes, are not kept as parsed lines.
const LONG: usize = 1 << 20;
#[derive(Debug)]
pub struct ParsedLine {
    /// Hash of the line.
    pub version: i64,
    /// The decoded record.
    pub record: Record,
    /// Words of its searchable text, if any.
    pub words: Option<String>,
}

impl ParsedLine {
    /// Parses a line; `None` if it cannot be decoded.
    pub fn read(line: &[u8]) -> Option<Self> {
        let record = format::record::decode(line)?;
        Some(ParsedLine { version: fnv(line) as i64, words: searchable::compared(&record.body), record })
    }

    /// Finds the line with this ID and version; `lines` are sorted by ID.
    pub fn find<'l>(lines: &'l [ParsedLine], id: &str, version: i64) -> Option<&'l ParsedLine> {
        fn id_of(line: &ParsedLine) -> &str {
            line.record.head.id.as_str()
        }
        let begin = lines.partition_point(|line| id_of(line) < id);
        lines[begin..].iter().take_while(|line| id_of(line) == id).find(|line| line.version == version)
    }
}

/// A parsed note.
#[derive(Debug)]
pub enum ParsedNote {
    /// Decoded lines, sorted by ID, and their size in bytes.
    Lines(Arc<Vec<ParsedLine>>, usize),
    /// A note so long that its lines are parsed one by one.
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

/// Takes a note and its position; `None` if missing. Returns the note if it is not kept.
pub type Take<'t> = dyn FnMut(usize, Option<ParsedNote>) -> Result<Option<ParsedNote>, IndexError> + 't;

/// Calls `take` for each blob in order.
pub fn each(repo: &Repository, blobs: &[Oid], take: &mut Take<'_>) -> Result<(), IndexError> {
    let mut room = Vec::new();
    for (at, blob) in blobs.iter().enumerate() {
        // a damaged note hides no others; doctor reports it
        let is_here = repo.read_blob_into(*blob, &mut room).unwrap_or(false);
        take(at, is_here.then(|| ParsedNote::of(&mut room)))?;
    }
    Ok(())
}
