//! Queries for handoffs.

use std::collections::BTreeSet;

use rusqlite::ToSql;

use crate::index::connection::Index;
use crate::index::fault::IndexError;
use crate::index::{query, schema};
use empirica_notes::error::Result;
use empirica_notes::git::Oid;
use empirica_notes::model::{Id, Record, SessionId};
use empirica_notes::store::Placements;

/// Filter for handoffs; `None` or empty does not restrict.
#[derive(Debug, Clone, Default)]
pub struct HandoffQuery {
    /// By this agent.
    pub ai: Option<String>,
    /// Of this session.
    pub session: Option<SessionId>,
    /// Made at this time or later, in Unix seconds.
    pub since: Option<i64>,
    /// Made at this time or earlier, in Unix seconds.
    pub until: Option<i64>,
    /// Of this task.
    pub task_id: Option<String>,
    /// Of this type.
    pub kind: Option<String>,
    /// With this calibration status, as in JSON.
    pub calibration: Option<String>,
    /// That name one of these paths, or a path below one.
    pub paths: Vec<String>,
}

/// A handoff in the index.
#[derive(Debug, Clone)]
pub struct HandoffRow {
    pub(crate) r: i64,
    pub id: Id,
    pub task: String,
}

/// Whether to keep a handoff.
pub type Fits<'f> = &'f mut dyn FnMut(&HandoffRow) -> Result<bool>;

impl Index<'_> {
    /// The matching handoffs in force, newest first: at most `most`, and the total. Those for which `fits` is false
    /// do not count.
    pub fn handoffs(
        &self,
        wanted: &HandoffQuery,
        most: usize,
        fits: Option<Fits<'_>>,
    ) -> Result<(Vec<HandoffRow>, usize)> {
        let Some(fits) = fits else {
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let found = self.rows(wanted, Some(most), &mut |_| Ok(true))?;
            return Ok((found, self.fitting(wanted)?));
        };
        let (mut found, mut count) = (Vec::new(), 0);
        self.rows(wanted, None, &mut |row| {
            if fits(row)? {
                count += 1;
                if found.len() < most {
                    found.push(row.clone());
                }
            }
            Ok(false)
        })?;
        Ok((found, count))
    }

    fn first(&self, sql: &str, values: &[Box<dyn ToSql>]) -> Result<usize> {
        let values: Vec<&dyn ToSql> = values.iter().map(|value| &**value as &dyn ToSql).collect();
        Ok(self.fine(query::rows(&self.opened.db, sql, &values))?.first().map_or(0, |count| *count as usize))
    }

    fn fitting(&self, wanted: &HandoffQuery) -> Result<usize> {
        const TALLIED: &str = "SELECT ifnull(sum(n), 0) FROM tally WHERE kind = 'handoff' AND aside = 0";
        match &wanted.ai {
            Some(ai) if wanted.is_tallied() => self.first(&format!("{TALLIED} AND ai = ?"), &[Box::new(ai.clone())]),
            None if wanted.is_tallied() => self.first(TALLIED, &[]),
            _ => {
                let (rest, values) = wanted.sql();
                self.first(&format!("SELECT count(*) FROM handoff_reports h WHERE {rest}"), &values)
            }
        }
    }

    fn rows(&self, wanted: &HandoffQuery, most: Option<i64>, keep: Fits<'_>) -> Result<Vec<HandoffRow>> {
        let (rest, values) = wanted.sql();
        let values: Vec<&dyn ToSql> = values.iter().map(|value| &**value as &dyn ToSql).collect();
        let most = most.unwrap_or(-1);
        let sql = format!(
            "SELECT h.r, h.id, h.task_summary FROM handoff_reports h WHERE {rest} ORDER BY h.id DESC LIMIT {most}"
        );
        let mut read = || -> Result<Vec<HandoffRow>, IndexError> {
            let mut find = self.opened.db.prepare_cached(&sql)?;
            let mut rows = find.query(&*values)?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                let Some(id) = Id::parse(&schema::text(&row.get::<_, Vec<u8>>(1)?)) else { continue };
                let row = HandoffRow { r: row.get(0)?, id, task: row.get(2)? };
                if keep(&row)? {
                    out.push(row);
                }
            }
            Ok(out)
        };
        self.fine(read())
    }

    /// Tasks and their handoffs, superseded ones included: by task ID, oldest first within each; one task or all.
    pub fn of_tasks(&self, task: Option<&str>) -> Result<Vec<(String, Id)>> {
        let read = || -> Result<Vec<(String, Id)>, IndexError> {
            let all = "SELECT task_id, id FROM handoff_reports WHERE task_id IS NOT NULL AND (?1 IS NULL) ORDER BY task_id, id";
            let one = "SELECT task_id, id FROM handoff_reports WHERE task_id = ?1 ORDER BY id";
            let mut find = self.opened.db.prepare_cached(if task.is_some() { one } else { all })?;
            let found = find.query_map([task], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)))?;
            let found: Vec<(String, Vec<u8>)> = found.collect::<rusqlite::Result<_>>()?;
            Ok(found.into_iter().filter_map(|(task, id)| Some((task, Id::parse(&schema::text(&id))?))).collect())
        };
        self.fine(read())
    }

    /// Whether a handoff is attached to one of these objects.
    pub fn is_attached_to(&self, row: &HandoffRow, any: impl Fn(Oid) -> bool) -> Result<bool> {
        Ok(self.fine(query::places(&self.opened.db, row.r))?.into_iter().any(any))
    }

    /// Those of these handoffs that were superseded.
    pub fn superseded<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Result<BTreeSet<Id>> {
        let mut out = BTreeSet::new();
        for id in ids {
            let find = "SELECT r FROM record WHERE id = ? AND aside = 1";
            let found = self.fine(query::rows(&self.opened.db, find, &[&schema::id(id)]))?;
            out.extend(found.first().map(|_| id.clone()));
        }
        Ok(out)
    }

    /// The records of these IDs, each with the commit it is attached to, in the given order. Records not stored are
    /// omitted.
    pub fn placed(&self, ids: &[Id]) -> Result<Vec<Record>> {
        let mut scan = self.ids(ids)?;
        scan.merge(self.naming(ids, &["attach"])?);
        let placements = Placements::new(&scan);
        Ok(ids.iter().filter_map(|id| Some(placements.placed(self.store, scan.get(id)?))).collect())
    }
}

impl HandoffQuery {
    fn has_time(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Whether the tally has the count: if only the agent restricts.
    fn is_tallied(&self) -> bool {
        let HandoffQuery { ai: _, session, since: _, until: _, task_id, kind, calibration, paths } = self;
        session.is_none()
            && !self.has_time()
            && task_id.is_none()
            && kind.is_none()
            && calibration.is_none()
            && paths.is_empty()
    }

    /// The condition on `handoff_reports h`, and its values. A time range uses the index in order of time.
    fn sql(&self) -> (String, Vec<Box<dyn ToSql>>) {
        fn value<T: ToSql + 'static>(value: T) -> Vec<Box<dyn ToSql>> {
            vec![Box::new(value)]
        }
        // one session or task has few: find them by it instead of scanning in order
        let mut all: Vec<&str> =
            vec![if self.session.is_some() || self.task_id.is_some() { "+h.aside = 0" } else { "h.aside = 0" }];
        let mut values: Vec<Box<dyn ToSql>> = Vec::new();
        let mut and = |condition: &'static str, given: Option<Vec<Box<dyn ToSql>>>| {
            if let Some(given) = given {
                all.push(condition);
                values.extend(given);
            }
        };
        and("h.ai_id = ?", self.ai.clone().map(value));
        and("h.session_id = ?", self.session.as_ref().map(|id| value(schema::session(id))));
        and("+h.timestamp >= ?", self.since.map(value));
        and("+h.timestamp <= ?", self.until.map(value));
        and("h.task_id = ?", self.task_id.clone().map(value));
        and("h.type = ?", self.kind.clone().map(value));
        and("h.calibration_status = ?", self.calibration.clone().map(value));
        // paths below a folder sort between `folder/` and `folder0`, as `0` follows `/`
        let around = |path: &String| [path.clone(), format!("{path}/"), format!("{path}0")].map(value);
        let one = "SELECT r FROM path WHERE path = ? UNION SELECT r FROM path WHERE path >= ? AND path < ?";
        let paths = format!("h.r IN ({})", vec![one; self.paths.len()].join(" UNION "));
        if !self.paths.is_empty() {
            all.push(&paths);
            values.extend(self.paths.iter().flat_map(around).flatten());
        }
        (all.join(" AND "), values)
    }
}
