//! Queries for sessions.

use rusqlite::{Row, ToSql};

use crate::fold::session_summary::SessionSummary;
use crate::index::connection::Index;
use crate::index::fault::IndexError;
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

fn read(row: &Row<'_>) -> rusqlite::Result<Option<SessionRow>> {
    let id = |at: usize| Ok::<String, rusqlite::Error>(schema::text(&row.get::<_, Vec<u8>>(at)?));
    let (Some(session), Some(began), Some(newest)) =
        (SessionId::parse(&id(0)?), Id::parse(&id(1)?), Id::parse(&id(11)?))
    else {
        return Ok(None);
    };
    let session = Session {
        id: session,
        began,
        ai: row.get(2)?,
        started_at: row.get(3)?,
        ended_at: row.get(4)?,
        task: row.get(5)?,
        kind: row.get(6)?,
        external_id: row.get(7)?,
        commit: row.get(8)?,
        worktree: row.get(9)?,
        place: row.get(10)?,
        from: row.get::<_, Option<Vec<u8>>>(12)?.and_then(|id| SessionId::parse(&schema::text(&id))),
        from_handoff: row.get::<_, Option<Vec<u8>>>(13)?.and_then(|id| Id::parse(&schema::text(&id))),
    };
    Ok(Some(SessionRow { session, newest }))
}

impl Index<'_> {
    fn sessions_where(&self, rest: &str, values: &[&dyn ToSql]) -> Result<Vec<SessionRow>> {
        let find = || -> Result<Vec<SessionRow>, IndexError> {
            let sql = format!("SELECT {COLUMNS} FROM session WHERE began IS NOT NULL AND {rest}");
            let mut find = self.opened.db.prepare_cached(&sql)?;
            let found = find.query_map(values, read)?.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(found.into_iter().flatten().collect())
        };
        self.fine(find())
    }

    fn started(&self, rest: &str, values: &[&dyn ToSql]) -> Result<Vec<Session>> {
        let mut found: Vec<Session> =
            self.sessions_where(rest, values)?.into_iter().map(|known| known.session).collect();
        found.sort_by(|a, b| (&a.started_at, &a.began, &a.id).cmp(&(&b.started_at, &b.began, &b.id)));
        found.dedup_by(|a, b| a.id == b.id);
        Ok(found)
    }

    /// All sessions, or those that have not ended, newest start last.
    pub fn sessions(&self, active_only: bool) -> Result<Vec<Session>> {
        self.started(if active_only { "ended_at IS NULL" } else { "1" }, &[])
    }

    /// One session; `None` when nothing of its own is stored.
    pub fn session_row(&self, id: &SessionId) -> Result<Option<SessionRow>> {
        Ok(self.sessions_where("id = ?", &[&schema::session(id)])?.pop())
    }

    /// The sessions that a name may stand for, and those that an error about it names, newest start last: of that id, its
    /// beginning or the agent's own id, the newest, and the newest of the agent behind the last colon, active ones as well.
    pub fn sessions_like(&self, given: &str) -> Result<Vec<Session>> {
        let mut found = self.started("external_id = ?", &[&given])?;
        let digits: String = given.to_ascii_lowercase().chars().filter(|c| *c != '-').collect();
        if digits.len() >= 4 && digits.len() <= 32 && digits.chars().all(|c| c.is_ascii_hexdigit()) {
            let (least, most) = schema::around(&digits);
            found.extend(self.started("id BETWEEN ? AND ?", &[&least, &most])?);
        }
        const NEWEST: &str = "ORDER BY started_at DESC, began DESC LIMIT 3";
        found.extend(self.started(&format!("1 {NEWEST}"), &[])?);
        found.extend(self.started(&format!("ended_at IS NULL {NEWEST}"), &[])?);
        if let Some(ai) = given.strip_prefix("latest:").map(|rest| rest.strip_prefix("active:").unwrap_or(rest)) {
            found.extend(self.started(&format!("ai = ? {NEWEST}"), &[&ai])?);
            found.extend(self.started(&format!("ai = ? AND ended_at IS NULL {NEWEST}"), &[&ai])?);
        }
        found.sort_by(|a, b| (&a.started_at, &a.began, &a.id).cmp(&(&b.started_at, &b.began, &b.id)));
        found.dedup_by(|a, b| a.id == b.id);
        Ok(found)
    }

    /// The active sessions that began in one of these places, oldest first.
    pub fn active_at(&self, places: &[String]) -> Result<Vec<Session>> {
        let started = places.iter().map(|place| self.started("ended_at IS NULL AND place = ?", &[place]));
        let mut found = started.collect::<Result<Vec<_>>>()?.concat();
        found.sort_by(|a, b| a.began.cmp(&b.began));
        Ok(found)
    }

    /// Sessions by their newest record, the last one first, those of an agent or all: `most` after the first `skip`.
    pub fn last_heard(&self, ai: Option<&str>, skip: usize, most: usize) -> Result<Vec<SessionRow>> {
        const REST: &str = "ORDER BY newest DESC LIMIT ? OFFSET ?";
        let (skip, most) = (skip as i64, most as i64);
        match ai {
            Some(ai) => self.sessions_where(&format!("ai = ? {REST}"), &[&ai, &most, &skip]),
            None => self.sessions_where(&format!("1 {REST}"), &[&most, &skip]),
        }
    }

    /// What is kept of all sessions, or of those of an agent, oldest start first.
    pub fn kept(&self, ai: Option<&str>) -> Result<Vec<(Session, SessionSummary)>> {
        let mut out = Vec::new();
        let read = |row: &Row<'_>| Ok((read(row)?, row.get::<_, Option<String>>("kept")?));
        let mut find = || -> Result<(), IndexError> {
            let condition = if ai.is_some() { "ai = ?" } else { "?1 IS NULL" };
            let order = "ORDER BY started_at, began, id";
            let sql = format!("SELECT {COLUMNS}, kept FROM session WHERE began IS NOT NULL AND {condition} {order}");
            let mut find = self.opened.db.prepare_cached(&sql)?;
            for found in find.query_map([&ai], read)? {
                let (known, kept) = found?;
                let kept = kept.and_then(|kept| serde_json::from_str::<SessionSummary>(&kept).ok());
                out.extend(known.map(|known| known.session).zip(kept));
            }
            Ok(())
        };
        self.fine(find())?;
        Ok(out)
    }
}
