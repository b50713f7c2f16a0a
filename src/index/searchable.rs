//! Searchable texts of records.

use std::collections::BTreeSet;

use crate::text::words;
use empirica_notes::git::objects::content::inside;
use empirica_notes::model::Body;
use empirica_notes::model::record::Claim;

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

/// Most paths read of a claim.
const PATHS: usize = 16;

/// The words in the texts of a claim that look like paths of files, without what follows a colon.
pub fn paths(claim: &Claim<'_>) -> BTreeSet<String> {
    let texts = claim.more.iter().chain([&claim.text]);
    let words = texts.flat_map(|text| text.split(|c: char| c.is_whitespace() || "`\"'()[]{}<>,;|".contains(c)));
    let path = |word: &str| {
        let word = word.split(':').next()?.trim_end_matches(['.', '!', '?']);
        let looks_like_one = word.len() > 2 && word.trim_start_matches("./").contains(['/', '.']);
        looks_like_one.then(|| inside(None, word.trim_end_matches('/'))).flatten()
    };
    words.filter_map(path).take(PATHS).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_texts() {
        let claim = Claim {
            text: "See `src/a.rs:10`, (./lib/b.c) and Makefile.",
            more: vec!["e.g. ../x http://y/z docs/ 1.5 a"],
        };
        let found: Vec<String> = paths(&claim).into_iter().collect();
        assert_eq!(found, ["1.5", "docs", "e.g", "lib/b.c", "src/a.rs"].map(str::to_owned));
        assert!(paths(&Claim { text: "", more: Vec::new() }).is_empty());
    }
}
