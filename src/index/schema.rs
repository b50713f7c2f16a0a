//! The tables of the index, and how values are written in them.

use empirica_notes::model::{Id, SessionId};

/// Goes up with every change of the tables or of what is put into them.
pub const LAYOUT: u32 = 14;

/// The `kind` of the row of a record that was taken back.
pub const RETRACTED: &str = "retracted";

/// The tables. A record stands on its `note`, and on those in `stands`; it concerns its session `s`, and those in `concerns`.
/// Everything in them follows from the notes; `beside` marks what is read beside our refs (the logs, tips that
/// are not united yet) and is put in anew when that changes. `words` finds records by the words of their texts. `tally` counts
/// records, `sums` sessions, and what those learned, in millionths: what everybody asks for is not
/// counted anew. Indexes of few rows are there from the beginning.
///
/// `handoff_reports` with its two indexes is the table of the specification (handoff reports, "Database Storage"), without
/// what is read from the note itself.
pub const TABLES: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE note(n INTEGER PRIMARY KEY, shelf INTEGER NOT NULL, target BLOB NOT NULL, blob BLOB, text BLOB, beside INTEGER NOT NULL);
CREATE TABLE session(s INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, began BLOB, newest BLOB, ai TEXT, started_at TEXT,
  ended_at TEXT, task TEXT, kind TEXT, external_id TEXT, head TEXT, worktree TEXT, place TEXT, origin BLOB, origin_handoff BLOB, kept TEXT, know REAL, uncertainty REAL);
CREATE TABLE record(r INTEGER PRIMARY KEY, id BLOB NOT NULL, short INTEGER NOT NULL, tail INTEGER NOT NULL, kind TEXT NOT NULL,
  ai TEXT NOT NULL, s INTEGER, note INTEGER NOT NULL, version INTEGER NOT NULL, doubled INTEGER NOT NULL DEFAULT 0,
  aside INTEGER NOT NULL DEFAULT 0, closed INTEGER NOT NULL DEFAULT 0);
CREATE TABLE stands(r INTEGER, n INTEGER, PRIMARY KEY(r, n)) WITHOUT ROWID;
CREATE TABLE concerns(s INTEGER, r INTEGER, PRIMARY KEY(s, r)) WITHOUT ROWID;
CREATE TABLE names(id BLOB, r INTEGER, PRIMARY KEY(id, r)) WITHOUT ROWID;
CREATE TABLE handoff_reports(r INTEGER PRIMARY KEY, id BLOB NOT NULL, session_id BLOB, ai_id TEXT NOT NULL,
  timestamp INTEGER, task_id TEXT, task_summary TEXT NOT NULL, calibration_status TEXT NOT NULL, type TEXT NOT NULL,
  aside INTEGER NOT NULL DEFAULT 0);
CREATE TABLE memory(word TEXT, r INTEGER, PRIMARY KEY(word, r)) WITHOUT ROWID;
CREATE INDEX memory_r ON memory(r);
CREATE TABLE path(path TEXT, r INTEGER, PRIMARY KEY(path, r)) WITHOUT ROWID;
CREATE TABLE tally(kind TEXT, ai TEXT, aside INTEGER, closed INTEGER, n INTEGER NOT NULL, PRIMARY KEY(kind, ai, aside, closed)) WITHOUT ROWID;
CREATE TABLE sums(name TEXT PRIMARY KEY, n INTEGER NOT NULL, total INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX record_aside ON record(r) WHERE aside = 1;
CREATE INDEX record_doubled ON record(id) WHERE doubled = 1;
CREATE INDEX note_beside ON note(beside) WHERE beside = 1;
CREATE INDEX handoff_task ON handoff_reports(task_id, id) WHERE task_id IS NOT NULL;
CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize='ascii');
INSERT INTO words(words, rank) VALUES('hashsize', 33554432);
";

/// The indexes by which sessions are read, made after a bulk of rows, and what goes on counting records.
pub const INDEXES: &str = "
CREATE UNIQUE INDEX record_id ON record(id);
CREATE INDEX record_s ON record(s);
CREATE INDEX concerns_r ON concerns(r);
CREATE INDEX names_r ON names(r);
CREATE INDEX path_r ON path(r);
CREATE TRIGGER record_in AFTER INSERT ON record BEGIN
  INSERT INTO tally VALUES(new.kind, new.ai, new.aside, new.closed, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER record_out AFTER DELETE ON record BEGIN
  UPDATE tally SET n = n - 1 WHERE kind = old.kind AND ai = old.ai AND aside = old.aside AND closed = old.closed;
END;
CREATE TRIGGER record_changed AFTER UPDATE OF kind, ai, aside, closed ON record BEGIN
  UPDATE tally SET n = n - 1 WHERE kind = old.kind AND ai = old.ai AND aside = old.aside AND closed = old.closed;
  INSERT INTO tally VALUES(new.kind, new.ai, new.aside, new.closed, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
";

/// The others, made while another thread reads the sessions.
pub const MEANWHILE: [&str; 12] = [
    "CREATE INDEX record_kind ON record(kind, id)",
    "CREATE INDEX record_tail ON record(tail)",
    "CREATE INDEX record_short ON record(short)",
    "CREATE INDEX record_note ON record(note)",
    "CREATE INDEX record_open ON record(kind, id) WHERE closed = 0 AND kind IN ('unknown', 'goal')",
    "CREATE INDEX stands_n ON stands(n, r)",
    "CREATE INDEX note_target ON note(target, shelf)",
    "CREATE INDEX idx_handoff_ai ON handoff_reports(ai_id, aside, id, timestamp)",
    "CREATE INDEX idx_handoff_timestamp ON handoff_reports(aside, timestamp)",
    "CREATE INDEX handoff_ai_timestamp ON handoff_reports(ai_id, aside, timestamp)",
    "CREATE INDEX handoff_newest ON handoff_reports(aside, id, timestamp)",
    "CREATE INDEX handoff_session ON handoff_reports(session_id, id)",
];

/// Those of the sessions, made after their rows, and what counts them.
pub const LAST: &str = "
CREATE INDEX session_newest ON session(newest);
CREATE INDEX session_ai ON session(ai, newest);
CREATE INDEX session_began ON session(ai, began);
CREATE INDEX session_place ON session(place, ai);
CREATE INDEX session_started ON session(started_at, began);
CREATE INDEX session_active ON session(started_at, began) WHERE ended_at IS NULL AND began IS NOT NULL;
CREATE INDEX session_external ON session(external_id) WHERE external_id IS NOT NULL;
INSERT INTO sums SELECT 'session', count(began), 0 FROM session
  UNION ALL SELECT 'know', count(know), ifnull(sum(CAST(round(know * 1000000) AS INTEGER)), 0) FROM session
  UNION ALL SELECT 'uncertainty', count(uncertainty), ifnull(sum(CAST(round(uncertainty * 1000000) AS INTEGER)), 0) FROM session;
CREATE TRIGGER session_changed AFTER UPDATE OF began, know, uncertainty ON session BEGIN
  UPDATE sums SET n = n + (new.began IS NOT NULL) - (old.began IS NOT NULL) WHERE name = 'session';
  UPDATE sums SET n = n + (new.know IS NOT NULL) - (old.know IS NOT NULL),
    total = total + CAST(round(ifnull(new.know, 0) * 1000000) AS INTEGER) - CAST(round(ifnull(old.know, 0) * 1000000) AS INTEGER)
    WHERE name = 'know';
  UPDATE sums SET n = n + (new.uncertainty IS NOT NULL) - (old.uncertainty IS NOT NULL),
    total = total + CAST(round(ifnull(new.uncertainty, 0) * 1000000) AS INTEGER) - CAST(round(ifnull(old.uncertainty, 0) * 1000000) AS INTEGER)
    WHERE name = 'uncertainty';
END;
";

/// The sixteen bytes of a UUID in its text; zeros for what is none.
fn bytes(text: &str) -> [u8; 16] {
    uuid::Uuid::try_parse(text).map(uuid::Uuid::into_bytes).unwrap_or_default()
}

/// A record's id as it is kept; ordered as the text is.
pub fn id(id: &Id) -> [u8; 16] {
    bytes(id.as_str())
}

/// A session's id as it is kept.
pub fn session(id: &SessionId) -> [u8; 16] {
    bytes(id.as_str())
}

/// The text of an id as it is kept; empty for what is none.
pub fn text(kept: &[u8]) -> String {
    uuid::Uuid::from_slice(kept).map(|id| id.to_string()).unwrap_or_default()
}

/// The least and the greatest UUID that begin with these hex digits, as they are kept.
pub fn around(digits: &str) -> ([u8; 16], [u8; 16]) {
    let filled = |fill: char| {
        let text: String = digits.chars().chain(std::iter::repeat(fill)).take(32).collect();
        bytes(&text)
    };
    (filled('0'), filled('f'))
}

/// The last 8 hex digits of an id, the short form, as a number.
pub fn short(id: &[u8; 16]) -> i64 {
    id[12..].iter().fold(0, |number, byte| number << 8 | i64::from(*byte))
}

/// How many digits from the end [`tail`] holds.
pub const TAIL: usize = 15;

/// The last 15 hex digits of an id, read from the end, as a number: ids that end alike are neighbours.
pub fn tail(id: &[u8; 16]) -> i64 {
    let nibbles = id.iter().rev().flat_map(|byte| [byte & 15, byte >> 4]).take(TAIL);
    nibbles.fold(0, |number, nibble| number << 4 | i64::from(nibble))
}

/// The numbers that begin with these hex digits, among numbers of `length` digits: the least and the greatest. `None` for
/// no digits, too many, or what is none.
pub fn range(digits: &str, length: usize) -> Option<(i64, i64)> {
    if digits.is_empty() || digits.len() > length {
        return None;
    }
    let number = i64::from_str_radix(digits, 16).ok()?;
    let shift = 4 * (length - digits.len()) as u32;
    Some((number << shift, (number << shift) | ((1 << shift) - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "019ab000-0000-7000-8000-0123456789ab";

    #[test]
    fn ids_are_found_by_their_parts() {
        let kept = id(&Id::parse(ID).unwrap());
        assert_eq!(text(&kept), ID);
        let within = |number: i64, digits: &str, length| {
            range(digits, length).is_some_and(|(least, most)| (least..=most).contains(&number))
        };
        assert!(within(short(&kept), "4567", 8) && within(short(&kept), "456789ab", 8));
        assert!(!within(short(&kept), "4568", 8) && !within(short(&kept), "456789ab0", 8));
        let reversed = |end: &str| end.chars().rev().collect::<String>();
        assert!(within(tail(&kept), &reversed("89ab"), TAIL));
        assert!(within(tail(&kept), &reversed("0000123456789ab"[..].trim_start_matches('x')), TAIL));
        assert!(!within(tail(&kept), &reversed("89aa"), TAIL));
        assert_eq!(range("", 8), None);
        assert_eq!(range("zz", 8), None);
    }
}
