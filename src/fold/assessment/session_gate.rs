//! The gate of a session as it stands.

use crate::fold::assessment::drift::steps;
use crate::fold::assessment::gate;
use crate::fold::assessment::gate::Gate;
use empirica_notes::model::SessionId;
use empirica_notes::store::Scan;

/// The gate as it stands after the last of the session's assessments.
pub fn gate(scan: &Scan, session: &SessionId, window: usize) -> Gate {
    gate::gate(&steps(scan.records(), session), window)
}
