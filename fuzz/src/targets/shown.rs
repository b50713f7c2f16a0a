//! Texts of records, as they are shown: no control character, hidden character, line or tag of theirs is left.

use std::str::from_utf8;

use git_empirica::render::safe;
use git_empirica::text::query;
use serde_json::Value;

fn is_safe(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{e0000}'..='\u{e0fff}')
}

pub fn fuzz(data: &[u8]) {
    let Ok(text) = from_utf8(data) else { return };
    for line in [safe::line(text), safe::cell(text), safe::code(text), safe::words(text)] {
        assert!(line.chars().all(is_safe), "{line:?}");
    }
    for several in [safe::clean(text), safe::lines(text), safe::paragraph(text), safe::quoted(text)] {
        assert!(several.chars().all(|c| is_safe(c) || c == '\n'), "{several:?}");
    }
    assert_eq!(safe::clean(&safe::clean(text)), safe::clean(text), "clean text is clean");
    assert!(safe::indented(text, 4).lines().skip(1).all(|line| line.starts_with("    ")), "{text:?}");
    assert!(safe::item(text).split('\n').skip(1).all(|line| line.starts_with("  ")), "{text:?}");
    assert!(safe::quoted(text).lines().all(|line| line.starts_with('>')), "{text:?}");
    let bars = safe::cell(text);
    let is_escaped = |at: usize| (at - bars[..at].trim_end_matches('\\').len()) % 2 == 1;
    assert!(bars.match_indices('|').all(|(at, _)| is_escaped(at)), "{bars:?}");
    let inert = safe::inert(text);
    assert!(!["</", "<!", "<|"].iter().any(|tag| inert.contains(tag)), "{inert:?}");
    let value = Value::from(text);
    let json = safe::json(&value);
    assert!(json.is_ascii() || json.chars().all(is_safe), "{json:?}");
    assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON"), value);
    // what is asked of the index is words, whatever was written
    let _ = query::parse(text);
    let _ = safe::mended(&safe::paragraph(text));
}
