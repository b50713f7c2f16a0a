//! Whether objects that a partial clone left out may be asked for.

use std::cell::{Cell, OnceCell};

/// Whether what is not here may be asked for.
#[derive(Debug, Default)]
pub(crate) struct PartialClone {
    /// Whether there is anybody to ask, once it was wanted to know: trees are read all the time.
    pub(crate) is_partial: OnceCell<bool>,
    /// A hook waits for nobody.
    pub(crate) is_offline: Cell<bool>,
    /// Trees were asked for already, all that were known to be missing.
    pub(crate) asked_for_trees: Cell<bool>,
}

impl PartialClone {
    /// From now on nothing is asked for.
    pub(crate) fn stop(&self) {
        self.is_offline.set(true);
    }
}
