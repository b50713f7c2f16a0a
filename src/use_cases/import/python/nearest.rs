//! Substitutes for missing commits: the replacement, or the commit of HEAD's history at that time.

use std::collections::BTreeMap;

use crate::context::CommandContext;
use crate::use_cases::import::python::convert::draft::ConvertedLine;
use empirica_notes::error::Result;
use empirica_notes::git::notes::foreign;
use empirica_notes::git::rewrites::{CommitFate, LostCommit, find};
use empirica_notes::git::{Oid, parse_oid};

/// Candidates for missing commits.
pub struct Nearest {
    replaced: BTreeMap<Oid, Oid>,
    /// The time of the first record on each missing commit, in Unix milliseconds.
    first: BTreeMap<Oid, u64>,
    /// HEAD's history, by Unix time.
    history: Vec<(i64, Oid)>,
}

impl Nearest {
    pub fn new(
        context: &CommandContext<'_>,
        lines: &[ConvertedLine],
        missing: impl Iterator<Item = Oid>,
    ) -> Result<Self> {
        let history = foreign::dated_history(context.repo);
        let missing: BTreeMap<Oid, LostCommit> = missing.map(|id| (id, LostCommit::default())).collect();
        let mut replaced = BTreeMap::new();
        if !history.is_empty() {
            for (id, fate) in find(context.repo, &missing, None)?.fates {
                if let CommitFate::Replaced(_, to) = fate
                    && let [only] = to.as_slice()
                {
                    replaced.insert(id, *only);
                }
            }
        }
        let mut first: BTreeMap<Oid, u64> = BTreeMap::new();
        for line in lines {
            let on = line.envelope.commit.as_deref().and_then(parse_oid);
            if let Some(on) = on.filter(|on| missing.contains_key(on)) {
                let known = first.entry(on).or_insert(u64::MAX);
                *known = (*known).min(line.envelope.id.ms());
            }
        }
        Ok(Nearest { replaced, first, history })
    }

    /// The nearest commit; `None` while HEAD is unborn.
    pub fn to(&self, from: Oid) -> Option<Oid> {
        let oldest = self.history.first()?;
        if let Some(to) = self.replaced.get(&from) {
            return Some(*to);
        }
        let seconds = i64::try_from(self.first.get(&from)? / 1000).unwrap_or(i64::MAX);
        let before = self.history.iter().rev().find(|(time, _)| *time <= seconds);
        Some(before.unwrap_or(oldest).1)
    }
}
