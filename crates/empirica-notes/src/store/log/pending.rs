//! The pending records of all worktrees, as callers see them.

use std::collections::BTreeSet;

use crate::model::Id;
use crate::store::log::PendingCounts;
use crate::store::{Log, log};

impl Log<'_> {
    /// The numbers of pending records, by log.
    pub fn counts(&self) -> PendingCounts {
        log::count(&self.store.paths)
    }

    /// Removes records from the logs; `false` unless all are still pending there and were removed.
    pub fn withdraw(&self, ids: &BTreeSet<Id>) -> bool {
        log::withdraw(&self.store.paths, ids, self.store.lock_timeout).unwrap_or(false)
    }
}
