//! An acknowledgement on one line.

use crate::render::format::count;
use empirica_notes::model::Accept;

/// The suffix to the ID of the handoff: " accepted, COMPLETE, 1 question".
pub fn accepted(accept: &Accept) -> String {
    let word = match (&accept.yields_to, &accept.takes_over) {
        _ if accept.released => " given up",
        (Some(_), _) => " left to another session",
        (None, Some(_)) => " taken over",
        (None, None) => " accepted",
    };
    let mut out = word.to_owned();
    out.extend(accept.decision.map(|decision| format!(", {}", decision.name())));
    for (list, noun) in [(&accept.questions, "question"), (&accept.gaps, "gap")] {
        if !list.is_empty() {
            out.push_str(&format!(", {}", count(list.len(), noun)));
        }
    }
    out.push_str(if accept.resolution.is_some() { ", resolved" } else { "" });
    out
}
