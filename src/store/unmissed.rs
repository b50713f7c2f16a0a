//! Whether anybody reported a gap: remembered for a tip of the handoffs, so that a handoff need not look through what all
//! receivers said. Derived state: without it, everything is looked at once.

use super::files::replace;
use super::{Shelf, Store, data_ref};
use crate::git::{Oid, parse_oid};
use crate::store::log::Waiting;

/// What a line has that may report a gap.
const REPORT: &[u8] = b"\"gaps\":";

fn may_report(line: &[u8]) -> bool {
    line.windows(REPORT.len()).any(|part| part == REPORT)
}

impl Store<'_> {
    /// Whether it is known that no acknowledgement reports a gap, in the notes as they are and in what waits.
    pub fn nobody_missed(&self) -> bool {
        let tip = self.handoffs_tip();
        let is_known = tip.is_some() && self.unmissed() == tip;
        is_known && self.reading().is_ok_and(|reading| reading.waiting.iter().all(|waiting| !may_report(&waiting.line)))
    }

    /// The tip of the handoffs; `None` without one.
    pub fn handoffs_tip(&self) -> Option<Oid> {
        self.repo.find_ref(&data_ref(Shelf::Handoffs)).ok().flatten()
    }

    /// Remembers that none does in the notes of a tip, which was asked for before they were read.
    pub fn remember_unmissed(&self, tip: Option<Oid>) {
        if let Some(tip) = tip {
            // without it the next handoff looks again
            let _ = replace(&self.paths.unmissed(), &format!("{tip}\n"));
        }
    }

    fn unmissed(&self) -> Option<Oid> {
        parse_oid(std::fs::read_to_string(self.paths.unmissed()).ok()?.trim())
    }

    /// Carries it over to the tip that was made of the one it is known for by these records alone.
    pub(super) fn carry_unmissed(&self, from: Option<Oid>, to: Oid, added: &[Waiting]) {
        let reports = added.iter().any(|waiting| waiting.shelf == Shelf::Handoffs && may_report(&waiting.line));
        if !reports && from.is_some() && self.unmissed() == from {
            let _ = replace(&self.paths.unmissed(), &format!("{to}\n"));
        }
    }
}
