//! Queries for sessions.

use rusqlite::types::ValueRef;
use rusqlite::{Params, Row, params};

use crate::fold::session_summary::SessionSummary;
use crate::index::connection::Index;
use crate::index::schema;
use empirica_notes::error::Result;
use empirica_notes::model::session::Session;
use empirica_notes::model::{Id, SessionId};

const COLUMNS: &str = "id, began, ai, started_at, ended_at, task, kind, external_id, head, worktree, place, newest, origin, origin_handoff";

/// A session, and the newest of its own records.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    pub session: Session,
    /// The newest record it made.
    pub newest: Id,
}

fn read(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let is_set = |column: usize| Ok::<bool, rusqlite::Error>(row.get_ref(column)? != ValueRef::Null);
    let session = Session {
        id: schema::session_in(row, 0)?,
        began: schema::id_in(row, 1)?,
        ai: row.get(2)?,
        started_at: row.get(3)?,
        ended_at: row.get(4)?,
        task: row.get(5)?,
        kind: row.get(6)?,
        external_id: row.get(7)?,
        commit: row.get(8)?,
        worktree: row.get(9)?,
        place: row.get(10)?,
        from: is_set(12)?.then(|| schema::session_in(row, 12)).transpose()?,
        from_handoff: is_set(13)?.then(|| schema::id_in(row, 13)).transpose()?,
    };
    Ok(SessionRow { session, newest: schema::id_in(row, 11)? })
}

/// Sorts sessions by start, and drops duplicates.
fn sort(sessions: &mut Vec<Session>) {
    sessions.sort_by(|a, b| (&a.started_at, &a.began, &a.id).cmp(&(&b.started_at, &b.began, &b.id)));
    sessions.dedup_by(|a, b| a.id == b.id);
}

impl Index<'_> {
    fn rows(&self, condition: &str, values: impl Params) -> Result<Vec<SessionRow>> {
        self.select(&format!("SELECT {COLUMNS} FROM session WHERE began IS NOT NULL AND {condition}"), values, read)
    }

    fn started(&self, condition: &str, values: impl Params) -> Result<Vec<Session>> {
        let mut found = self.rows(condition, values)?.into_iter().map(|row| row.session).collect();
        sort(&mut found);
        Ok(found)
    }

    /// All sessions, or those that have not ended, newest start last.
    pub fn sessions(&self, active_only: bool) -> Result<Vec<Session>> {
        self.started(if active_only { "ended_at IS NULL" } else { "1" }, [])
    }

    /// A session; `None` if it has no record of its own.
    pub fn session_row(&self, id: &SessionId) -> Result<Option<SessionRow>> {
        Ok(self.rows("id = ?", [schema::session(id)])?.pop())
    }

    /// Sessions that `name` can denote, and those that an error about it lists, newest start last: by ID, its
    /// beginning or the agent's own ID; the newest; and the newest of the agent in `latest:AI` or `latest:active:AI`.
    pub fn sessions_like(&self, name: &str) -> Result<Vec<Session>> {
        let mut found = self.started("external_id = ?", [name])?;
        let digits: String = name.to_ascii_lowercase().chars().filter(|c| *c != '-').collect();
        if digits.len() >= 4 && digits.len() <= 32 && digits.chars().all(|c| c.is_ascii_hexdigit()) {
            found.extend(self.started("id BETWEEN ? AND ?", schema::around(&digits))?);
        }
        const NEWEST: &str = "ORDER BY started_at DESC, began DESC LIMIT 3";
        found.extend(self.started(&format!("1 {NEWEST}"), [])?);
        found.extend(self.started(&format!("ended_at IS NULL {NEWEST}"), [])?);
        if let Some(ai) = name.strip_prefix("latest:").map(|rest| rest.strip_prefix("active:").unwrap_or(rest)) {
            found.extend(self.started(&format!("ai = ? {NEWEST}"), [ai])?);
            found.extend(self.started(&format!("ai = ? AND ended_at IS NULL {NEWEST}"), [ai])?);
        }
        sort(&mut found);
        Ok(found)
    }

    /// The active sessions that began in one of these places, oldest first.
    pub fn active_at(&self, places: &[String]) -> Result<Vec<Session>> {
        let started = places.iter().map(|place| self.started("ended_at IS NULL AND place = ?", [place]));
        let mut found = started.collect::<Result<Vec<_>>>()?.concat();
        found.sort_by(|a, b| a.began.cmp(&b.began));
        Ok(found)
    }

    /// The sessions with an agent's own id that began in one of these places and have ended, newest start first: at most `most` of
    /// each place.
    pub fn ended_at(&self, places: &[String], most: usize) -> Result<Vec<Session>> {
        let condition = format!(
            "ended_at IS NOT NULL AND external_id IS NOT NULL AND place = ? ORDER BY started_at DESC, began DESC LIMIT {most}"
        );
        let started = places.iter().map(|place| self.started(&condition, [place]));
        let mut found = started.collect::<Result<Vec<_>>>()?.concat();
        found.reverse();
        Ok(found)
    }

    /// Sessions of an agent or all, by their newest record, last one first, those ahead of the clock behind them: at most `most` after the first `skip`.
    pub fn last_heard(&self, ai: Option<&str>, skip: usize, most: usize) -> Result<Vec<SessionRow>> {
        let filter = if ai.is_some() { "ai = ?1" } else { "?1 IS NULL" };
        self.ahead_last(skip, most, |when, most, skip| {
            let condition = format!("{filter} AND newest {when} ORDER BY newest DESC LIMIT ?2 OFFSET ?3");
            self.rows(&condition, params![ai, most, skip as i64])
        })
    }

    /// Summaries of all sessions, or of those of an agent, oldest start first.
    pub fn summaries(&self, ai: Option<&str>) -> Result<Vec<(Session, SessionSummary)>> {
        let condition = if ai.is_some() { "ai = ?" } else { "?1 IS NULL" };
        let sql = format!(
            "SELECT {COLUMNS}, summary FROM session WHERE began IS NOT NULL AND summary IS NOT NULL AND {condition} \
             ORDER BY started_at, began, id"
        );
        self.select(&sql, [ai], |row| {
            let summary = serde_json::from_str(row.get_ref("summary")?.as_str()?);
            Ok((read(row)?.session, summary.map_err(|_| rusqlite::Error::InvalidQuery)?))
        })
    }
}
