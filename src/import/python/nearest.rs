//! Substitutes for missing commits: the replacement, or a commit of the same session, or HEAD's history at that time.

use std::collections::{BTreeMap, HashMap};

use crate::context::CommandContext;
use crate::import::python::convert::draft::ConvertedLine;
use empirica_notes::error::Result;
use empirica_notes::git::notes::foreign;
use empirica_notes::git::rewrites::{CommitFate, LostCommit, find};
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::SessionId;

/// Candidates for missing commits.
pub struct Nearest<'l> {
    replaced: BTreeMap<Oid, Oid>,
    /// Present commits of each session, by time.
    of_session: HashMap<&'l SessionId, Vec<(u64, Oid)>>,
    /// First record on each missing commit.
    first: BTreeMap<Oid, (u64, Option<&'l SessionId>)>,
    /// HEAD's history, by Unix time.
    history: Vec<(i64, Oid)>,
}

impl<'l> Nearest<'l> {
    pub fn new(
        context: &CommandContext<'_>,
        lines: &'l [ConvertedLine],
        missing: impl Iterator<Item = Oid>,
    ) -> Result<Self> {
        let history = foreign::dated_history(context.repo);
        let missing: BTreeMap<Oid, LostCommit> = missing.map(|id| (id, LostCommit::default())).collect();
        let mut replaced = BTreeMap::new();
        if !history.is_empty() {
            for (id, fate) in find(context.repo, &missing)?.fates {
                if let CommitFate::Replaced(_, to) = fate
                    && let [only] = to.as_slice()
                {
                    replaced.insert(id, *only);
                }
            }
        }
        let mut out = Nearest { replaced, of_session: HashMap::new(), first: BTreeMap::new(), history };
        let mut is_commit: HashMap<Oid, bool> = HashMap::new();
        for line in lines {
            let Some(on) = line.head.commit.as_deref().and_then(parse_oid) else { continue };
            let origin = (line.head.id.ms(), line.head.session.as_ref());
            if missing.contains_key(&on) {
                let first = out.first.entry(on).or_insert(origin);
                *first = (*first).min(origin);
            } else if let Some(session) = origin.1
                && *is_commit.entry(on).or_insert_with(|| context.repo.is_commit(on))
            {
                out.of_session.entry(session).or_default().push((origin.0, on));
            }
        }
        Ok(out)
    }

    /// The nearest commit; `None` while HEAD is unborn.
    pub fn to(&self, from: Oid) -> Option<Oid> {
        let oldest = self.history.first()?;
        if let Some(to) = self.replaced.get(&from) {
            return Some(*to);
        }
        let (ms, session) = *self.first.get(&from)?;
        let others = session.and_then(|session| self.of_session.get(session));
        if let Some((_, to)) = others.into_iter().flatten().min_by_key(|(other, to)| (other.abs_diff(ms), *to)) {
            return Some(*to);
        }
        let seconds = i64::try_from(ms / 1000).unwrap_or(i64::MAX);
        let before = self.history.iter().rev().find(|(time, _)| *time <= seconds);
        Some(before.unwrap_or(oldest).1)
    }
}
