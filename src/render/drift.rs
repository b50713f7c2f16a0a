//! Text of drift.

use crate::fold::assessment::drift::Drift;

/// Severity, kind and pattern of drift on one line.
pub fn drift_line(drift: &Drift) -> String {
    match (drift.analyzed, drift.detected) {
        (0 | 1, _) => "Drift: none yet; it needs two assessments".to_owned(),
        (_, false) => format!("Drift: none: {}", drift.pattern),
        (_, true) => {
            let kind = drift.kind.name().replace('_', " ");
            format!("Drift: {}, {kind}: {}", drift.severity.name(), drift.pattern)
        }
    }
}
