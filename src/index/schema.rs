//! Tables of the index, and how values are stored in them.

use rusqlite::Row;

use empirica_notes::model::{Id, SessionId};

/// Increase on every change of the tables or of their content.
pub const LAYOUT: u32 = 37;

/// Begins the `kind` of the row of a record that is not in force; sorts before all letters.
pub const GONE: &str = "-";
/// Whether the record `o` is in force.
pub const IN_FORCE: &str = "o.kind >= 'a'";
/// Whether the record `o` is not in force, or another supersedes it; the condition of the index `record_gone`.
pub const IS_GONE: &str = "(o.kind < 'a' OR o.superseded = 1)";

/// The tables. A record is attached to its `note` and those in `attached`; it belongs to session `s` and those in
/// `concerns`. All of it is derived from the notes; `extra` marks notes outside our refs (pending records, unmerged
/// tips), which are replaced whenever they change. `words` is the full-text index; FTS5 stems its words, which costs less than stemming them here. `tally` counts records, `sums`
/// adds up sessions and their learning in millionths, so that common totals need no scan. Indexes of small tables are
/// created at once.
///
/// `anchor` has the anchors of claims, their own and those of confirmations, so that places are compared without reading notes, and the
/// urgency of a claim with its own; `anchored` has their files, which are few beside them;
/// `mention` has the paths in the texts of claims. `replaced` has the claims that others replace, by the retracts in force, `disputed` those that several
/// replace; `taken` has the goals that sessions took, by the records in force that say so, of which the last counts; `quotes` has the claims in
/// handoffs and digests.
///
/// `handoff_reports` and its two indexes have the filters of handoffs (`works`: it hands over work; `waits_for`: its receiver, until
/// a session owns it or another supersedes it); the other values are read from the note itself.
pub const TABLES: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE note(n INTEGER PRIMARY KEY, namespace INTEGER NOT NULL, target BLOB NOT NULL, blob BLOB, text BLOB, extra INTEGER NOT NULL);
CREATE TABLE session(s INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, began BLOB, newest BLOB, ai TEXT, started_at TEXT,
  ended_at TEXT, task TEXT, kind TEXT, external_id TEXT, head TEXT, worktree TEXT, place TEXT, origin BLOB, origin_handoff BLOB, summary TEXT, know REAL, uncertainty REAL);
CREATE TABLE record(r INTEGER PRIMARY KEY, id BLOB NOT NULL, short INTEGER NOT NULL, tail INTEGER NOT NULL, kind TEXT NOT NULL,
  ai TEXT NOT NULL, s INTEGER, note INTEGER NOT NULL, version INTEGER NOT NULL, doubled INTEGER NOT NULL DEFAULT 0,
  superseded INTEGER NOT NULL DEFAULT 0, closed INTEGER NOT NULL DEFAULT 0);
CREATE TABLE attached(r INTEGER, n INTEGER, PRIMARY KEY(r, n)) WITHOUT ROWID;
CREATE TABLE concerns(s INTEGER, r INTEGER, PRIMARY KEY(s, r)) WITHOUT ROWID;
CREATE TABLE names(id BLOB, r INTEGER, PRIMARY KEY(id, r)) WITHOUT ROWID;
CREATE TABLE handoff_reports(r INTEGER PRIMARY KEY, id BLOB NOT NULL, session_id BLOB, ai_id TEXT NOT NULL,
  timestamp INTEGER, task_id TEXT, task_summary TEXT NOT NULL, calibration_status TEXT NOT NULL, type TEXT NOT NULL,
  works INTEGER NOT NULL, superseded INTEGER NOT NULL DEFAULT 0, waits_for TEXT);
CREATE TABLE memory(word TEXT, r INTEGER, PRIMARY KEY(word, r)) WITHOUT ROWID;
CREATE INDEX memory_r ON memory(r);
CREATE TABLE replaced(id BLOB, by BLOB, r INTEGER, PRIMARY KEY(id, by, r)) WITHOUT ROWID;
CREATE INDEX replaced_r ON replaced(r);
CREATE INDEX replaced_by ON replaced(by);
CREATE TABLE disputed(id BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE taken(id BLOB, by BLOB, r INTEGER, PRIMARY KEY(id, by)) WITHOUT ROWID;
CREATE INDEX taken_r ON taken(r);
CREATE TABLE quotes(id BLOB, r INTEGER, PRIMARY KEY(id, r)) WITHOUT ROWID;
CREATE INDEX quotes_r ON quotes(r);
CREATE TABLE path(path TEXT, r INTEGER, PRIMARY KEY(path, r)) WITHOUT ROWID;
CREATE TABLE anchor(path TEXT, id BLOB, r INTEGER, n INTEGER, first INTEGER, last INTEGER, blob BLOB, hash TEXT, urgency INTEGER,
  PRIMARY KEY(path, id, r, n)) WITHOUT ROWID;
CREATE TABLE anchored(path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE mention(path TEXT, r INTEGER, PRIMARY KEY(path, r)) WITHOUT ROWID;
CREATE INDEX mention_r ON mention(r);
CREATE INDEX anchor_id ON anchor(id);
CREATE INDEX anchor_r ON anchor(r);
CREATE TABLE tally(kind TEXT, ai TEXT, superseded INTEGER, closed INTEGER, n INTEGER NOT NULL, PRIMARY KEY(kind, ai, superseded, closed)) WITHOUT ROWID;
CREATE TABLE sums(name TEXT PRIMARY KEY, n INTEGER NOT NULL, total INTEGER NOT NULL) WITHOUT ROWID;
CREATE UNIQUE INDEX record_id ON record(id);
CREATE INDEX record_doubled ON record(id) WHERE doubled = 1;
CREATE INDEX note_extra ON note(extra) WHERE extra = 1;
CREATE INDEX handoff_waits ON handoff_reports(waits_for, id) WHERE waits_for IS NOT NULL;
CREATE INDEX handoff_task ON handoff_reports(task_id, id) WHERE task_id IS NOT NULL;
CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize='porter ascii');
INSERT INTO words(words, rank) VALUES('hashsize', 33554432);
";

/// Indexes and triggers, created after the bulk insert.
pub const INDEXES: &str = "
CREATE INDEX record_gone ON record(r) WHERE (kind < 'a' OR superseded = 1);
CREATE INDEX record_s ON record(s);
CREATE INDEX concerns_r ON concerns(r);
CREATE INDEX names_r ON names(r);
CREATE INDEX path_r ON path(r);
CREATE INDEX record_kind ON record(kind, id);
CREATE INDEX record_tail ON record(tail);
CREATE INDEX record_short ON record(short);
CREATE INDEX record_note ON record(note);
CREATE INDEX record_open ON record(kind, id) WHERE closed = 0 AND kind IN ('unknown', 'goal');
CREATE INDEX attached_n ON attached(n, r);
CREATE INDEX note_target ON note(target, namespace);
CREATE INDEX idx_handoff_ai ON handoff_reports(ai_id, superseded, id, timestamp);
CREATE INDEX idx_handoff_timestamp ON handoff_reports(superseded, timestamp);
CREATE INDEX handoff_ai_timestamp ON handoff_reports(ai_id, superseded, timestamp);
CREATE INDEX handoff_newest ON handoff_reports(superseded, id, timestamp);
CREATE INDEX handoff_works ON handoff_reports(superseded, id) WHERE works = 1;
CREATE INDEX handoff_session ON handoff_reports(session_id, id);
INSERT INTO disputed SELECT id FROM replaced GROUP BY id HAVING count(DISTINCT by) > 1;
INSERT INTO anchored SELECT DISTINCT path FROM anchor;
CREATE TRIGGER replaced_in AFTER INSERT ON replaced
  WHEN EXISTS (SELECT 1 FROM replaced WHERE id = new.id AND by <> new.by) BEGIN
  INSERT OR IGNORE INTO disputed VALUES(new.id);
END;
CREATE TRIGGER replaced_out AFTER DELETE ON replaced
  WHEN (SELECT count(DISTINCT by) FROM replaced WHERE id = old.id) < 2 BEGIN
  DELETE FROM disputed WHERE id = old.id;
END;
CREATE TRIGGER anchor_in AFTER INSERT ON anchor BEGIN
  INSERT OR IGNORE INTO anchored VALUES(new.path);
END;
CREATE TRIGGER anchor_out AFTER DELETE ON anchor WHEN NOT EXISTS (SELECT 1 FROM anchor WHERE path = old.path) BEGIN
  DELETE FROM anchored WHERE path = old.path;
END;
CREATE TRIGGER record_in AFTER INSERT ON record BEGIN
  INSERT INTO tally VALUES(new.kind, new.ai, new.superseded, new.closed, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER record_out AFTER DELETE ON record BEGIN
  UPDATE tally SET n = n - 1 WHERE kind = old.kind AND ai = old.ai AND superseded = old.superseded AND closed = old.closed;
END;
CREATE TRIGGER record_changed AFTER UPDATE OF kind, ai, superseded, closed ON record BEGIN
  UPDATE tally SET n = n - 1 WHERE kind = old.kind AND ai = old.ai AND superseded = old.superseded AND closed = old.closed;
  INSERT INTO tally VALUES(new.kind, new.ai, new.superseded, new.closed, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
";

/// Indexes and triggers of sessions, created after their rows.
pub const SESSION_INDEXES: &str = "
CREATE INDEX session_newest ON session(newest);
CREATE INDEX session_ai ON session(ai, newest);
CREATE INDEX session_began ON session(ai, began);
CREATE INDEX session_place ON session(place, started_at, began);
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

/// The 16 bytes of a UUID; zeros if the text is not a UUID.
fn bytes(text: &str) -> [u8; 16] {
    uuid::Uuid::try_parse(text).map(uuid::Uuid::into_bytes).unwrap_or_default()
}

/// A record ID as stored; sorts like its text.
pub fn id(id: &Id) -> [u8; 16] {
    bytes(id.as_str())
}

/// A session ID as stored.
pub fn session(id: &SessionId) -> [u8; 16] {
    bytes(id.as_str())
}

/// The text of a stored ID; empty if it is not a UUID.
pub fn text(kept: &[u8]) -> String {
    uuid::Uuid::from_slice(kept).map(|id| id.to_string()).unwrap_or_default()
}

pub fn id_in(row: &Row<'_>, column: usize) -> rusqlite::Result<Id> {
    Id::parse(&text(row.get_ref(column)?.as_blob()?)).ok_or(rusqlite::Error::InvalidQuery)
}

pub fn session_in(row: &Row<'_>, column: usize) -> rusqlite::Result<SessionId> {
    SessionId::parse(&text(row.get_ref(column)?.as_blob()?)).ok_or(rusqlite::Error::InvalidQuery)
}

/// Least and greatest stored UUID that begin with these hex digits.
pub fn around(digits: &str) -> ([u8; 16], [u8; 16]) {
    let filled = |fill: char| {
        let text: String = digits.chars().chain(std::iter::repeat(fill)).take(32).collect();
        bytes(&text)
    };
    (filled('0'), filled('f'))
}

/// The last 8 hex digits of an ID (its short form) as a number.
pub fn short(id: &[u8; 16]) -> i64 {
    id[12..].iter().fold(0, |number, byte| number << 8 | i64::from(*byte))
}

/// Number of digits in [`tail`].
pub const TAIL: usize = 15;

/// The last 15 hex digits of an ID, reversed, as a number: IDs with the same end are neighbors.
pub fn tail(id: &[u8; 16]) -> i64 {
    let nibbles = id.iter().rev().flat_map(|byte| [byte & 15, byte >> 4]).take(TAIL);
    nibbles.fold(0, |number, nibble| number << 4 | i64::from(nibble))
}

/// Least and greatest number of `length` hex digits that begin with `digits`. `None` for no digits, too many, or
/// other characters.
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
