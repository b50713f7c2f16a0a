//! The gate of a session, from its records.

use crate::fold::assessment::drift::steps;
use crate::fold::assessment::gate::{self, Gate};
use empirica_notes::model::SessionId;
use empirica_notes::store::Scan;

/// The gate after the last of the session's assessments.
pub fn gate(scan: &Scan, session: &SessionId, window: usize) -> Gate {
    gate::gate(&steps(scan.records(), session), window)
}
