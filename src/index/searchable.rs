//! Searchable texts of records.

use crate::text::words;
use empirica_notes::model::Body;

/// Searchable text of a record, a line per part; `None` for other kinds.
pub fn searchable_text(body: &Body) -> Option<String> {
    Some(parts(body)?.join("\n"))
}

/// Normalized words of that text, each followed by a space.
pub fn compared(body: &Body) -> Option<String> {
    let mut out = String::new();
    for part in parts(body)? {
        words::each(part, |word, _, _| {
            out.push_str(word);
            out.push(' ');
        });
    }
    Some(out)
}

/// Parts of a record's text, most significant first, none empty; `None` for kinds not searched. Journal entries
/// quoted in a handoff are part of its text.
pub fn parts(body: &Body) -> Option<Vec<&str>> {
    let mut out: Vec<&str> = Vec::new();
    match body {
        Body::Handoff(h) => {
            out.extend([h.task.as_str(), &h.context]);
            out.extend(h.findings.iter().chain(&h.unknowns).map(|item| item.text.as_str()));
            out.extend(h.dead_ends.iter().flat_map(|dead_end| [dead_end.approach.as_str(), &dead_end.why]));
            for decision in &h.decisions {
                out.extend([decision.text.as_str(), &decision.why]);
            }
            out.extend(h.mistakes.iter().map(|mistake| mistake.text.as_str()));
            out.extend(h.accomplished.iter().chain(&h.next_steps).map(String::as_str));
        }
        _ => {
            let claim = body.claim()?;
            out.push(claim.text);
            out.extend(claim.more);
        }
    }
    out.retain(|part| !part.trim().is_empty());
    Some(out)
}
