//! Lines of notes, parsed for insertion and cached for the sessions derived from them.

use std::collections::HashMap;

use crate::index::searchable;
use crate::index::texts::CACHED;
use empirica_notes::format;
use empirica_notes::model::Record;
use empirica_notes::model::hash::fnv;

#[derive(Debug)]
pub struct ParsedLine {
    /// Hash of the line.
    pub version: i64,
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
        let begin = lines.partition_point(|line| line.id() < id);
        lines[begin..].iter().take_while(|line| line.id() == id).find(|line| line.version == version)
    }

    fn id(&self) -> &str {
        self.record.envelope.id.as_str()
    }
}

#[derive(Debug, Default)]
pub struct ParsedNotes {
    bytes: usize,
    notes: HashMap<i64, Vec<ParsedLine>>,
}

impl ParsedNotes {
    /// Whether lines of this size may be kept.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.bytes + bytes <= CACHED
    }

    /// Whether lines of three times this size could be kept, too.
    pub fn is_small(&self) -> bool {
        4 * self.bytes <= CACHED
    }

    /// Keeps lines of a note, of this size.
    pub fn keep(&mut self, n: i64, lines: Vec<ParsedLine>, bytes: usize) {
        self.bytes += bytes + lines.len() * size_of::<ParsedLine>();
        let all = self.notes.entry(n).or_default();
        all.extend(lines);
        all.sort_by(|a, b| a.id().cmp(b.id()));
    }

    /// The lines of a note, if kept.
    pub fn get(&self, n: i64) -> Option<&[ParsedLine]> {
        self.notes.get(&n).map(Vec::as_slice)
    }
}
