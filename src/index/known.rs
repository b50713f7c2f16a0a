//! What was found while records that quote others were corrected; valid while the database does not change. Thousands of handoffs may
//! quote one claim.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use empirica_notes::model::{Id, Record, SessionId};

/// Most bytes of texts that are kept.
const KEPT: usize = 4 << 20;

#[derive(Debug, Default)]
pub struct KnownCorrections {
    /// In bytes.
    size: usize,
    /// By claim that is not in force, those that replace it.
    pub newer: HashMap<Id, Rc<[Record]>>,
    /// By session, the sources that it logged and no longer has.
    pub sources: HashMap<SessionId, Rc<BTreeSet<String>>>,
}

impl KnownCorrections {
    /// Forgets all if there is no room for this many bytes more.
    pub fn make_room(&mut self, size: usize) {
        if self.size + size > KEPT {
            *self = KnownCorrections::default();
        }
        self.size += size;
    }
}
