//! How soon an agent should know of a record before it acts.

use empirica_notes::model::Body;

/// What failed.
pub const FAILED: u8 = 0;
/// What was decided, and what constrains.
pub const DECIDES: u8 = 1;
/// What only is known.
pub const OTHER: u8 = 4;

/// What failed, what was decided and constrains, mistakes, findings, then the rest.
pub fn urgency(body: &Body) -> u8 {
    let memory = if let Body::Finding(finding) = body { finding.memory.as_deref() } else { None };
    urgency_of(body.kind(), memory)
}

/// The same by the kind of the record, and of a finding by its mark.
pub fn urgency_of(kind: &str, memory: Option<&str>) -> u8 {
    match kind {
        "dead_end" => FAILED,
        "decision" => DECIDES,
        "finding" if memory == Some("constraint") => DECIDES,
        "mistake" => 2,
        "finding" => 3,
        _ => OTHER,
    }
}
