//! Replacing secrets is complete and exact: a second scan finds nothing, the rest is kept.

use empirica_secrets::{redact_text, redact_value};

/// Whether the pieces of `clean` between what was replaced stand in `text`, in their order.
fn is_kept(text: &str, clean: &str) -> bool {
    let mut rest = text;
    clean.split("[redacted:").enumerate().all(|(at, piece)| {
        let piece = if at == 0 { piece } else { piece.split_once(']').map_or("", |(_, piece)| piece) };
        rest.find(piece).map(|found| rest = &rest[found + piece.len()..]).is_some()
    })
}

pub fn fuzz(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // what we begin with has them in its secrets, so that nobody takes those for real ones
    let text = &text.replace('~', "");
    if let Some((clean, rules)) = redact_text(text) {
        assert!(!rules.is_empty());
        assert_eq!(redact_text(&clean), None, "once is enough: {clean:?}");
        assert!(text.contains("[redacted:") || is_kept(text, &clean), "{clean:?}");
    }
    if let Ok(mut value) = serde_json::from_str(text) {
        redact_value(&mut value);
        assert_eq!(redact_value(&mut value), [], "once is enough: {value}");
    }
}
