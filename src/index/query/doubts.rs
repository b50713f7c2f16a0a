//! Records that may not be what they seem: stored in two versions, or by somebody else under a session of this clone.

use std::collections::BTreeSet;

use serde_json::json;

use crate::index::connection::Index;
use crate::index::query::versions::versions;
use crate::index::schema;
use crate::index::texts::Texts;
use empirica_notes::error::{Result, empirica};
use empirica_notes::format;
use empirica_notes::model::{Id, Record};

/// Most warnings of a kind.
const WARNINGS: usize = 5;

impl Index<'_> {
    /// A record's other versions, which do not count; none of a record that is stored in one.
    pub fn other_versions(&self, id: &Id) -> Result<Vec<Record>> {
        if self.select("SELECT 1 FROM record WHERE id = ? AND doubled = 1", [schema::id(id)], |_| Ok(()))?.is_empty() {
            return Ok(Vec::new());
        }
        let texts = Texts::sharing(self.store.repo(), &self.opened.texts);
        let all = self.checked(versions(&self.opened.db, &texts, std::slice::from_ref(id)))?;
        let decoded = all.iter().flatten().filter_map(|(line, _)| format::record::decode(line));
        Ok(decoded.rev().skip(1).collect())
    }

    /// A warning for each record stored in two different versions, oldest first; for many, of their number.
    pub fn double_warnings(&self) -> Result<Vec<String>> {
        self.double_warnings_if(|_| true)
    }

    fn double_warnings_if(&self, warns: impl Fn(&Id) -> bool) -> Result<Vec<String>> {
        let find = "SELECT id FROM record WHERE doubled = 1 ORDER BY id";
        let mut all = self.select(find, [], |row| schema::id_in(row, 0))?;
        all.retain(warns);
        Ok(named(&all, double_warning, |more| format!("two versions of {more} more records are stored")))
    }

    /// Warnings of these records: of those stored in two versions, and of those [unproven](Self::unproven). And of any second version of
    /// a record that this clone made, as the record may not be found.
    pub fn doubts(&self, shown: &BTreeSet<Id>) -> Result<Vec<String>> {
        let mut out = self.double_warnings_if(|id| shown.contains(id) || self.store.made(id))?;
        out.extend(self.unproven_warnings(shown)?);
        Ok(out)
    }

    /// A warning for each [unproven](Self::unproven) one of these records; for many, of their number.
    pub fn unproven_warnings<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Result<Vec<String>> {
        let found: Vec<Id> = self.unproven(ids)?.into_iter().collect();
        let more = |more| format!("cannot tell who stored {more} more records under sessions of this clone");
        Ok(named(&found, unproven_warning, more))
    }

    /// Those of these records that are under a session that this clone began, but were not made by it, as far as their ids tell.
    pub fn unproven<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Result<BTreeSet<Id>> {
        let others = ids.into_iter().filter(|id| !self.store.made(id));
        let hex: Vec<String> = others.map(|id| id.as_str().replace('-', "")).collect();
        if hex.is_empty() {
            return Ok(BTreeSet::new());
        }
        let find = "SELECT o.id, t.began FROM json_each(?) j CROSS JOIN record o ON o.id = unhex(j.value) \
                    CROSS JOIN session t ON t.s = o.s WHERE t.began IS NOT NULL";
        let found =
            self.select(find, [json!(hex).to_string()], |row| Ok((schema::id_in(row, 0)?, schema::id_in(row, 1)?)))?;
        Ok(found.into_iter().filter(|(_, began)| self.store.made(began)).map(|(id, _)| id).collect())
    }
}

/// A warning for each of the first of these, and one of the number of all others.
fn named(ids: &[Id], warning: impl Fn(&Id) -> String, more: impl Fn(usize) -> String) -> Vec<String> {
    let (first, others) = ids.split_at(ids.len().min(WARNINGS));
    first.iter().map(warning).chain((!others.is_empty()).then(|| more(others.len()))).collect()
}

fn double_warning(id: &Id) -> String {
    let show = empirica("show").arg(id.short());
    format!("two versions of the record {id} are stored; the one with the greater bytes counts: {show}")
}

fn unproven_warning(id: &Id) -> String {
    let show = empirica("show").arg(id.short());
    format!("cannot tell who stored the record {id} under a session of this clone: {show}")
}
