//! Queries for the anchors of claims, which read no note.

use rusqlite::{Params, Row};
use serde_json::json;

use crate::fold::urgency::urgency_of;
use crate::index::connection::Index;
use crate::index::query::found::CLAIMS;
use crate::index::schema;
use empirica_notes::error::Result;
use empirica_notes::git::Oid;
use empirica_notes::model::journal::anchor::Anchor;
use empirica_notes::model::{Id, SessionId};

/// A place in the code that a claim is about.
#[derive(Debug, Clone)]
pub struct ClaimAnchor {
    /// The claim.
    pub claim: Id,
    /// How soon an agent should know of it.
    pub urgency: u8,
    /// The session of the claim.
    pub session: Option<SessionId>,
    /// The record that names the place: the claim, or a confirmation in force.
    pub by: Id,
    /// The object that this record is attached to.
    pub on: Option<Oid>,
    /// The place.
    pub anchor: Anchor,
}

impl ClaimAnchor {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let session = row.get_ref(3)?.as_blob_or_null()?.and_then(|id| SessionId::parse(&schema::text(id)));
        let blob = row.get_ref(9)?.as_blob_or_null()?.and_then(|blob| Oid::try_from(blob).ok());
        let lines: (Option<u32>, Option<u32>) = (row.get(7)?, row.get(8)?);
        Ok(ClaimAnchor {
            claim: schema::id_in(row, 0)?,
            urgency: urgency_of(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str_or_null()?),
            session,
            by: schema::id_in(row, 4)?,
            on: Oid::try_from(row.get_ref(5)?.as_blob()?).ok(),
            anchor: Anchor {
                path: row.get(6)?,
                lines: lines.0.zip(lines.1),
                blob: blob.map(|blob| blob.to_string()).unwrap_or_default(),
                hash: row.get(10)?,
            },
        })
    }
}

impl Index<'_> {
    /// The anchors of the claims whose rows a query selects as `r`, in the order of claims, of the records that name them, and as these list
    /// them.
    fn anchors(&self, claims: &str, values: impl Params) -> Result<Vec<ClaimAnchor>> {
        let sql = format!(
            "SELECT c.id, c.kind, m.word, s.id, o.id, t.target, a.path, a.first, a.last, a.blob, a.hash \
             FROM ({claims}) w CROSS JOIN record c ON c.r = w.r CROSS JOIN anchor a ON a.id = c.id CROSS JOIN record o ON o.r = a.r \
             CROSS JOIN note t ON t.n = o.note LEFT JOIN session s ON s.s = c.s LEFT JOIN memory m ON m.r = c.r \
             WHERE o.r = c.r OR o.kind = 'confirm' ORDER BY c.id, o.id, a.n"
        );
        self.select(&sql, values, ClaimAnchor::of)
    }

    /// The anchors of these claims.
    pub fn anchors_of<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Result<Vec<ClaimAnchor>> {
        let hex: Vec<String> = ids.into_iter().map(|id| id.as_str().replace('-', "")).collect();
        let rows = "SELECT DISTINCT o.r FROM json_each(?) j CROSS JOIN record o ON o.id = unhex(j.value)";
        self.anchors(rows, [json!(hex).to_string()])
    }

    /// All anchors of the claims in force that have one in one of these files: of at most so many claims, the most urgent, and the
    /// newest of these.
    pub fn anchors_in<'p>(&self, paths: impl IntoIterator<Item = &'p str>, most: usize) -> Result<Vec<ClaimAnchor>> {
        let paths: Vec<&str> = paths.into_iter().collect();
        // its limit keeps the order of the inner query, in which the outer one looks whether a claim is in force
        let within = format!(
            "SELECT o.r FROM (SELECT a.id, min(iif(a.urgency IS NULL, NULL, a.r)) AS r \
             FROM json_each(?) p CROSS JOIN anchor a ON a.path = p.value GROUP BY a.id ORDER BY a.id >= x'{}', min(a.urgency), a.id DESC LIMIT -1) a \
             CROSS JOIN record o ON o.r = coalesce(a.r, (SELECT r FROM record WHERE id = a.id)) WHERE o.kind IN {CLAIMS} LIMIT ?",
            self.store.horizon().digits()
        );
        self.anchors(&within, (json!(paths).to_string(), i64::try_from(most).unwrap_or(i64::MAX)))
    }

    /// The newest `most` claims in force that have anchors, newest first, those ahead of the clock last.
    pub fn newest_anchored(&self, most: usize) -> Result<Vec<Id>> {
        self.ahead_last(0, most, |when, most, _| {
            let newest = format!(
                "SELECT DISTINCT a.id FROM anchor a CROSS JOIN record o ON o.id = a.id WHERE o.kind IN {CLAIMS} AND a.id {when} \
                 ORDER BY a.id DESC LIMIT {most}"
            );
            self.select(&newest, [], |row| schema::id_in(row, 0))
        })
    }

    /// How many claims in force have anchors.
    pub fn count_anchored(&self) -> Result<usize> {
        let all = format!(
            "SELECT count(DISTINCT a.id) FROM anchor a CROSS JOIN record o ON o.id = a.id WHERE o.kind IN {CLAIMS}"
        );
        self.number(&all, [])
    }

    /// Whether a claim has anchors, of its own or by a confirmation.
    pub fn has_anchors(&self, id: &Id) -> Result<bool> {
        Ok(self.number("SELECT EXISTS (SELECT 1 FROM anchor WHERE id = ?)", [schema::id(id)])? > 0)
    }

    /// The files of all anchors.
    pub fn anchored_files(&self) -> Result<Vec<String>> {
        self.select("SELECT path FROM anchored", [], |row| row.get(0))
    }
}
