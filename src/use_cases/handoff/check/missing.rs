//! The parts that a handoff lacks.

use empirica_notes::error::{Command, blank, empirica};
use empirica_notes::model::Handoff;

/// The missing parts of a good handoff, with the commands that add them. A managed one is complete if valid.
pub fn missing_parts(handoff: &Handoff) -> Vec<(&'static str, Command)> {
    if handoff.payload.is_some() {
        return Vec::new();
    }
    let checks = [
        (handoff.task.is_empty(), "task", "-m", "<what was to be done>"),
        (handoff.findings.is_empty(), "findings", "--finding", "<what you learned>"),
        (handoff.unknowns.is_empty(), "unknowns", "--unknown", "<what is still open>"),
        (handoff.context.is_empty(), "context", "--context", "<what the next session must know>"),
        (handoff.artifacts.is_empty(), "artifacts", "--artifact", "<path>"),
    ];
    let incomplete = checks.into_iter().filter(|(lacks, ..)| *lacks);
    incomplete.map(|(_, what, option, shown)| (what, empirica("handoff").option(option, blank(shown)))).collect()
}
