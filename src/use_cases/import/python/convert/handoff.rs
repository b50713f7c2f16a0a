//! Handoffs: payloads with short keys as reports. Each rewritten version is a report of its own.

use serde_json::Value;

use crate::fold::assessment::trajectory::{OVERALL, word};
use crate::use_cases::import::python::convert::artifacts::MISSING;
use crate::use_cases::import::python::convert::draft::{ParsedPayload, RecordDraft, RefPayloads};
use crate::use_cases::import::python::convert::read::{flag, rfc3339, text, texts};
use empirica_notes::model::handoff::{Calibration, Gap, Handoff, Item, ToolUse, Trajectory};
use empirica_notes::model::{Body, Vector};

/// A report per entry.
pub fn handoffs(notes: &RefPayloads<'_>) -> Vec<RecordDraft> {
    let each = notes.entries.iter().enumerate();
    each.map(|(at, entry)| notes.draft(at, entry.ms, "handoff", Body::Handoff(Box::new(report(entry))))).collect()
}

fn report(entry: &ParsedPayload<'_>) -> Handoff {
    let value = &entry.value;
    let seconds = value.get("dur").and_then(Value::as_f64).filter(|dur| (0.0..1e9).contains(dur)).unwrap_or(0.0) as u64;
    let items = |key| texts(value.get(key)).into_iter().map(|text| Item { id: None, text }).collect();
    let calibration = calibration(text(value, "cal").unwrap_or_default());
    let artifacts = texts(value.get("artifacts"));
    let tools = texts(value.get("tools")).into_iter().filter(|tool| tool != "N/A");
    Handoff {
        kind: "epistemic".to_owned(),
        task: text(value, "task").unwrap_or(MISSING).to_owned(),
        started_at: rfc3339(entry.ms.saturating_sub(seconds * 1000)),
        duration_seconds: seconds,
        session_status: if flag(value, "active") { "active" } else { "ended" }.to_owned(),
        trajectory: trajectory(value.get("deltas"), calibration),
        calibration_status: calibration,
        findings: items("findings"),
        unknowns: items("unknowns"),
        gaps_filled: gaps(value.get("gaps")),
        tools: tools.map(|tool| ToolUse { tool, count: 1 }).collect(),
        context: text(value, "next").unwrap_or_default().to_owned(),
        recommendations: texts(value.get("recommend")),
        named_artifacts: artifacts.clone(),
        artifacts,
        ..Default::default()
    }
}

/// Older versions give only the quality, not the direction of the error.
fn calibration(word: &str) -> Calibration {
    match word {
        "well_calibrated" | "good" => Calibration::WellCalibrated,
        "overconfident" => Calibration::Overconfident,
        "underconfident" => Calibration::Underconfident,
        _ => Calibration::NotAssessable,
    }
}

/// Deltas; the values before and after are unknown.
fn trajectory(deltas: Option<&Value>, calibration: Calibration) -> Vec<Trajectory> {
    let delta_of = |name: &str| deltas?.get(name)?.as_f64();
    let row = |name: &str, delta: f64, status: &str| Trajectory {
        vector: name.to_owned(),
        before: None,
        after: None,
        delta: Some(delta),
        status: status.to_owned(),
    };
    let vectors = Vector::ALL.into_iter().filter_map(|vector| {
        let delta = delta_of(vector.name()).filter(|delta| delta.abs() <= 1.0)?;
        Some(row(vector.name(), delta, word(vector, delta)))
    });
    let overall =
        delta_of(OVERALL).filter(|delta| delta.abs() <= 1.0).map(|delta| row(OVERALL, delta, calibration.name()));
    vectors.chain(overall).collect()
}

fn gaps(value: Option<&Value>) -> Vec<Gap> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    let of = |gap: &Value| {
        Some(Gap {
            gap: text(gap, "g")?.to_owned(),
            before: text(gap, "b").unwrap_or_default().to_owned(),
            after: text(gap, "a").unwrap_or_default().to_owned(),
            confidence_change: gap.get("c").and_then(Value::as_f64).filter(|change| change.abs() <= 1.0),
        })
    };
    list.filter_map(of).collect()
}
