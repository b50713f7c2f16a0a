//! Queries for totals: counts of records, and their agents.

use rusqlite::params;

use crate::index::connection::Index;
use crate::index::fault::IndexError;
use crate::index::{query, schema};
use empirica_notes::error::Result;
use empirica_notes::model::{Id, Namespace, SessionId};

impl Index<'_> {
    fn number(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<usize> {
        let found = self.fine(query::rows(&self.opened.db, sql, values))?;
        Ok(found.first().map_or(0, |count| *count as usize))
    }

    /// How many records there are of a kind.
    pub fn count(&self, kind: &str) -> Result<usize> {
        self.number("SELECT ifnull(sum(n), 0) FROM tally WHERE kind = ?", &[&kind])
    }

    /// How many records there are.
    pub fn count_all(&self) -> Result<usize> {
        self.number("SELECT ifnull(sum(n), 0) FROM tally", &[])
    }

    /// How many handoffs are in force.
    pub fn count_handoffs(&self) -> Result<usize> {
        self.number("SELECT ifnull(sum(n), 0) FROM tally WHERE kind = 'handoff' AND aside = 0", &[])
    }

    /// How many unknowns nobody has answered, or goals are open.
    pub fn count_open(&self, kind: &str) -> Result<usize> {
        self.number("SELECT ifnull(sum(n), 0) FROM tally WHERE kind = ? AND closed = 0", &[&kind])
    }

    /// How many sessions there are.
    pub fn count_sessions(&self) -> Result<usize> {
        self.number("SELECT n FROM sums WHERE name = 'session'", &[])
    }

    /// The newest open ones of a kind that can be closed, unknown or goal: their ids, newest first.
    pub fn open(&self, kind: &str, most: usize) -> Result<Vec<Id>> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        // this condition lets the partial index of open records serve the query
        let sql = "SELECT id FROM record WHERE closed = 0 AND kind IN ('unknown', 'goal') AND kind = ? ORDER BY id DESC LIMIT ?";
        let read = || -> Result<Vec<Id>, IndexError> {
            let mut find = self.opened.db.prepare_cached(sql)?;
            let found: Vec<Vec<u8>> =
                find.query_map(params![kind, most], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            Ok(found.iter().filter_map(|id| Id::parse(&schema::text(id))).collect())
        };
        self.fine(read())
    }

    /// The agents that began sessions, in order of their names, each with its session that began last.
    pub fn agents(&self) -> Result<Vec<(String, SessionId)>> {
        // from name to name, whatever lies between
        let sql = "WITH RECURSIVE a(ai) AS (SELECT min(ai) FROM session UNION ALL \
                   SELECT (SELECT min(ai) FROM session WHERE ai > a.ai) FROM a WHERE a.ai IS NOT NULL) \
                   SELECT a.ai, (SELECT id FROM session WHERE ai = a.ai ORDER BY began DESC LIMIT 1) FROM a \
                   WHERE a.ai IS NOT NULL";
        let read = || -> Result<Vec<(String, SessionId)>, IndexError> {
            let mut find = self.opened.db.prepare_cached(sql)?;
            let found = find.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
            let found: Vec<(String, Vec<u8>)> = found.collect::<rusqlite::Result<_>>()?;
            let named = found.into_iter().filter_map(|(ai, id)| Some((ai, SessionId::parse(&schema::text(&id))?)));
            Ok(named.collect())
        };
        self.fine(read())
    }

    /// The mean change of know and of uncertainty over the sessions that give it, from the first PREFLIGHT to the last
    /// POSTFLIGHT; `None` without any.
    pub fn learned(&self) -> Result<(Option<f64>, Option<f64>)> {
        let read = |name: &str| -> Result<Option<f64>, IndexError> {
            let mut find = self.opened.db.prepare_cached("SELECT n, total FROM sums WHERE name = ?")?;
            let (n, total): (i64, i64) = find.query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok((n > 0).then(|| total as f64 / 1e6 / n as f64))
        };
        self.fine(read("know").and_then(|know| Ok((know, read("uncertainty")?))))
    }

    /// The ids of all records of a namespace, and whether each is a handoff.
    pub fn namespace(&self, namespace: Namespace) -> Result<Vec<(Id, bool)>> {
        let place = Namespace::ALL.iter().position(|known| *known == namespace).unwrap_or_default() as i64;
        let sql = "SELECT record.id, record.kind = 'handoff' FROM note JOIN record ON record.note = note.n WHERE note.shelf = ?";
        let read = || -> Result<Vec<(Id, bool)>, IndexError> {
            let mut find = self.opened.db.prepare_cached(sql)?;
            let found = find.query_map(params![place], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?)))?;
            let found: Vec<(Vec<u8>, bool)> = found.collect::<rusqlite::Result<_>>()?;
            Ok(found.into_iter().filter_map(|(id, handoff)| Some((Id::parse(&schema::text(&id))?, handoff))).collect())
        };
        self.fine(read())
    }
}
