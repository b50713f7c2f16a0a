//! Queries for totals: counts of records, and their agents.

use serde_json::json;

use crate::index::connection::Index;
use crate::index::schema;
use crate::text::query::KINDS;
use empirica_notes::error::Result;
use empirica_notes::model::{Id, Namespace, SessionId};

/// The kinds of records that can be searched, in force or not, as JSON.
fn searchable_kinds() -> String {
    let gone = KINDS.map(|kind| format!("{}{kind}", schema::GONE));
    json!(KINDS.into_iter().map(str::to_owned).chain(gone).collect::<Vec<_>>()).to_string()
}

impl Index<'_> {
    /// Number of records of a kind.
    pub fn count(&self, kind: &str) -> Result<usize> {
        self.number("SELECT ifnull(sum(n), 0) FROM tally WHERE kind = ?", [kind])
    }

    /// Number of records that can be searched, in force or not.
    pub fn searchable(&self) -> Result<usize> {
        let doubled = self.number(
            "SELECT count(*) FROM record WHERE doubled = 1 AND kind IN (SELECT value FROM json_each(?))",
            [searchable_kinds()],
        )?;
        let all = self.number(
            "SELECT ifnull(sum(n), 0) FROM tally WHERE kind IN (SELECT value FROM json_each(?))",
            [searchable_kinds()],
        )?;
        Ok(all.saturating_sub(doubled))
    }

    /// The records that can be searched, in force or not, newest first.
    pub fn searchable_ids(&self) -> Result<Vec<Id>> {
        let sql = "SELECT DISTINCT id FROM record WHERE kind IN (SELECT value FROM json_each(?)) ORDER BY id DESC";
        self.select(sql, [searchable_kinds()], |row| schema::id_in(row, 0))
    }

    /// The redacted records.
    pub fn redacted(&self) -> Result<Vec<Id>> {
        let sql = "SELECT DISTINCT id FROM record WHERE kind IN ('redacted', '-redacted')";
        self.select(sql, [], |row| schema::id_in(row, 0))
    }

    /// Number of records.
    pub fn count_all(&self) -> Result<usize> {
        self.number("SELECT ifnull(sum(n), 0) FROM tally", [])
    }

    /// Number of handoffs in force.
    pub fn count_handoffs(&self) -> Result<usize> {
        self.number("SELECT ifnull(sum(n), 0) FROM tally WHERE kind = 'handoff' AND superseded = 0", [])
    }

    /// Number of unanswered unknowns, or of open goals.
    pub fn count_open(&self, kind: &str) -> Result<usize> {
        self.number("SELECT ifnull(sum(n), 0) FROM tally WHERE kind = ? AND closed = 0", [kind])
    }

    /// Number of handoffs that wait for a receiver.
    pub fn count_waiting(&self) -> Result<usize> {
        self.number("SELECT count(*) FROM handoff_reports WHERE waits_for IS NOT NULL", [])
    }

    pub fn count_sessions(&self) -> Result<usize> {
        self.number("SELECT n FROM sums WHERE name = 'session'", [])
    }

    /// How many sessions have not ended.
    pub fn count_active(&self) -> Result<usize> {
        self.number("SELECT count(*) FROM session WHERE ended_at IS NULL AND began IS NOT NULL", [])
    }

    /// The newest unanswered unknowns, or open goals, newest first, those ahead of the clock last.
    pub fn open(&self, kind: &str, most: usize) -> Result<Vec<Id>> {
        self.ahead_last(0, most, |when, most, _| {
            // this condition lets the partial index of open records serve the query
            let sql = format!(
                "SELECT id FROM record WHERE closed = 0 AND kind IN ('unknown', 'goal') AND kind = ? AND id {when} \
                 ORDER BY id DESC LIMIT {most}"
            );
            self.select(&sql, [kind], |row| schema::id_in(row, 0))
        })
    }

    /// The agents that began sessions, each with its session that began last, the last of these first; sessions ahead of the clock
    /// count only for agents without others, and come last.
    pub fn agents(&self) -> Result<Vec<(String, SessionId)>> {
        let ahead = format!("x'{}'", self.store.horizon().digits());
        let last = |when: &str| {
            format!("(SELECT id FROM session WHERE ai = a.ai AND began {when} {ahead} ORDER BY began DESC LIMIT 1)")
        };
        // from name to name, without a scan of the sessions
        let sql = format!(
            "WITH RECURSIVE a(ai) AS (SELECT min(ai) FROM session UNION ALL \
             SELECT (SELECT min(ai) FROM session WHERE ai > a.ai) FROM a WHERE a.ai IS NOT NULL) \
             SELECT s.ai, s.id FROM a CROSS JOIN session s ON s.id = coalesce({}, {}) WHERE a.ai IS NOT NULL \
             ORDER BY s.began >= {ahead}, s.began DESC",
            last("<"),
            last(">=")
        );
        self.select(&sql, [], |row| Ok((row.get(0)?, schema::session_in(row, 1)?)))
    }

    /// Mean change of know and of uncertainty over the sessions that assessed them, from the first PREFLIGHT to the
    /// last POSTFLIGHT; `None` without any.
    pub fn learned(&self) -> Result<(Option<f64>, Option<f64>)> {
        let mean = |name: &str| -> Result<Option<f64>> {
            let sums = self.select("SELECT n, total FROM sums WHERE name = ? AND n > 0", [name], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            })?;
            Ok(sums.first().map(|(n, total)| *total as f64 / 1e6 / *n as f64))
        };
        Ok((mean("know")?, mean("uncertainty")?))
    }

    /// IDs of all records of a namespace, and whether each is a handoff.
    pub fn namespace(&self, namespace: Namespace) -> Result<Vec<(Id, bool)>> {
        let sql = "SELECT record.id, record.kind = 'handoff' FROM note JOIN record ON record.note = note.n WHERE note.namespace = ?";
        self.select(sql, [namespace as i64], |row| Ok((schema::id_in(row, 0)?, row.get(1)?)))
    }
}
