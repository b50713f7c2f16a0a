//! Queries for handoffs.

use std::collections::BTreeSet;

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use crate::index::connection::Index;
use crate::index::{query, schema};
use empirica_notes::error::Result;
use empirica_notes::git::Oid;
use empirica_notes::model::{Id, Record, SessionId};
use empirica_notes::store::Placements;

/// Filter for handoffs; `None` or empty does not restrict.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HandoffQuery {
    pub ai: Option<String>,
    pub session: Option<SessionId>,
    /// Made at this time or later, in Unix seconds.
    pub since: Option<i64>,
    /// Made at this time or earlier, in Unix seconds.
    pub until: Option<i64>,
    pub task_id: Option<String>,
    pub kind: Option<String>,
    /// Whether only those that hand over work.
    pub works: bool,
    /// With this calibration status, as in JSON.
    pub calibration: Option<String>,
    /// With one of these paths, or a path below one.
    pub paths: Vec<String>,
}

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
            return Ok((self.handoff_rows(wanted, most)?, self.total(wanted)?));
        };
        let (mut found, mut total) = (Vec::new(), 0);
        for row in self.handoff_rows(wanted, usize::MAX)? {
            if fits(&row)? {
                total += 1;
                if found.len() < most {
                    found.push(row);
                }
            }
        }
        Ok((found, total))
    }

    /// The newest matching handoff in force.
    pub fn newest_handoff(&self, wanted: &HandoffQuery) -> Result<Option<HandoffRow>> {
        Ok(self.handoff_rows(wanted, 1)?.pop())
    }

    fn total(&self, wanted: &HandoffQuery) -> Result<usize> {
        // the tally has the count if only the agent restricts
        if *wanted == (HandoffQuery { ai: wanted.ai.clone(), ..HandoffQuery::default() }) {
            let tallied = "SELECT ifnull(sum(n), 0) FROM tally WHERE kind = 'handoff' AND superseded = 0";
            return match &wanted.ai {
                Some(ai) => self.number(&format!("{tallied} AND ai = ?"), [ai]),
                None => self.number(tallied, []),
            };
        }
        let (condition, values) = wanted.sql();
        self.number(&format!("SELECT count(*) FROM handoff_reports h WHERE {condition}"), params_from_iter(values))
    }

    /// The newest `most` matching handoffs in force, newest first.
    pub fn handoff_rows(&self, wanted: &HandoffQuery, most: usize) -> Result<Vec<HandoffRow>> {
        let (condition, values) = wanted.sql();
        self.ahead_last(0, most, |when, most, _| {
            let sql = format!(
                "SELECT h.r, h.id, h.task_summary FROM handoff_reports h WHERE {condition} AND h.id {when} \
                 ORDER BY h.id DESC LIMIT {most}"
            );
            self.select(&sql, params_from_iter(values.iter()), |row| {
                Ok(HandoffRow { r: row.get(0)?, id: schema::id_in(row, 1)?, task: row.get(2)? })
            })
        })
    }

    /// Tasks and their handoffs, superseded ones included: by task ID, oldest first within each; one task or all.
    pub fn of_tasks(&self, task: Option<&str>) -> Result<Vec<(String, Id)>> {
        let condition = if task.is_some() { "task_id = ?1" } else { "task_id IS NOT NULL AND ?1 IS NULL" };
        let sql = format!("SELECT task_id, id FROM handoff_reports WHERE {condition} ORDER BY task_id, id");
        self.select(&sql, [task], |row| Ok((row.get(0)?, schema::id_in(row, 1)?)))
    }

    /// The handoffs that wait for a receiver: in force, taken up by no session; oldest first.
    pub fn waiting_for(&self, receiver: &str) -> Result<Vec<Id>> {
        let sql = "SELECT id FROM handoff_reports WHERE waits_for = ? ORDER BY id";
        self.select(sql, [receiver], |row| schema::id_in(row, 0))
    }

    /// Whether a handoff is attached to one of these objects.
    pub fn is_attached_to(&self, row: &HandoffRow, any: impl Fn(Oid) -> bool) -> Result<bool> {
        Ok(self.checked(query::places(&self.opened.db, [row.r]))?.into_values().flatten().any(any))
    }

    /// Those of these handoffs that were superseded.
    pub fn superseded<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Result<BTreeSet<Id>> {
        let mut out = BTreeSet::new();
        for id in ids {
            if self.number("SELECT superseded FROM record WHERE id = ?", [schema::id(id)])? == 1 {
                out.insert(id.clone());
            }
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
    /// The condition on `handoff_reports h`, and its values. A time range uses the index in order of time.
    fn sql(&self) -> (String, Vec<Value>) {
        // one session or task has few: find them by it instead of scanning in order
        let has_few = self.session.is_some() || self.task_id.is_some();
        let mut all: Vec<&str> = vec![if has_few { "+h.superseded = 0" } else { "h.superseded = 0" }];
        let mut values: Vec<Value> = Vec::new();
        let mut and = |condition: &'static str, value: Option<Value>| {
            if let Some(value) = value {
                all.push(condition);
                values.push(value);
            }
        };
        and("h.ai_id = ?", self.ai.clone().map(Value::from));
        and("h.session_id = ?", self.session.as_ref().map(|id| schema::session(id).to_vec().into()));
        and("+h.timestamp >= ?", self.since.map(Value::from));
        and("+h.timestamp <= ?", self.until.map(Value::from));
        and("h.task_id = ?", self.task_id.clone().map(Value::from));
        and("h.type = ?", self.kind.clone().map(Value::from));
        and("h.calibration_status = ?", self.calibration.clone().map(Value::from));
        if self.works {
            all.push("h.works = 1");
        }
        // paths below a folder sort between `folder/` and `folder0`, as `0` follows `/`
        let one = "SELECT r FROM path WHERE path = ? UNION SELECT r FROM path WHERE path >= ? AND path < ?";
        let paths = format!("h.r IN ({})", vec![one; self.paths.len()].join(" UNION "));
        if !self.paths.is_empty() {
            all.push(&paths);
        }
        for path in &self.paths {
            values.extend([path.clone(), format!("{path}/"), format!("{path}0")].map(Value::from));
        }
        (all.join(" AND "), values)
    }
}
