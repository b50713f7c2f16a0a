//! Fills lists of texts into few lines: never splits words, IDs and paths, and counts omissions.

use crate::render::safe;
use crate::text::width::measure;

/// Replaces the rest of a text.
const CUT: &str = " …";

/// Parts between which a line may break: after white space, and next to a wide character.
fn parts(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut begin = 0;
    let mut before: Option<char> = None;
    let is_wide = |c: char| measure(c.encode_utf8(&mut [0; 4])) == 2;
    for (at, c) in text.char_indices() {
        // a combining mark stays with its character
        let is_mark = measure(c.encode_utf8(&mut [0; 4])) == 0;
        let ends =
            before.is_some_and(|before| c != ' ' && (before == ' ' || is_wide(before)) || is_wide(c) && before != ' ');
        if ends && !is_mark {
            out.push(&text[begin..at]);
            begin = at;
        }
        before = if is_mark { before } else { Some(c) };
    }
    out.push(&text[begin..]);
    out
}

/// A text in at most `most` lines: the first follows `label`, the others are indented. The last usable line leaves
/// room for `end`. Returns whether the text is complete.
fn laid(text: &str, label: &str, most: usize, columns: usize, end: usize) -> (Vec<String>, bool) {
    let room = |line: usize| {
        // an escaped line needs more room
        let taken = if line == 0 { measure(label) } else { 3 };
        columns.saturating_sub(taken + if line + 1 == most { end } else { 0 })
    };
    let mut text = text.to_owned();
    let mut is_whole = true;
    loop {
        let mut lines: Vec<Vec<&str>> = vec![Vec::new()];
        let mut rest = false;
        for part in parts(&text) {
            let at = lines.len() - 1;
            let fits = |line: &[&str], at: usize| measure(&line.concat()) + measure(part.trim_end()) <= room(at);
            if fits(&lines[at], at) {
                lines[at].push(part);
            } else if lines.len() < most && !lines[at].is_empty() && fits(&[], at + 1) {
                lines.push(vec![part]);
            } else {
                rest = true;
                break;
            }
        }
        let at = lines.len() - 1;
        if !rest {
            let end_of = |(at, line): (usize, &Vec<&str>)| match at {
                0 => format!("{label}{}", line.concat().trim_end()),
                _ => format!("  {}", safe::begun(line.concat().trim_end().to_owned())),
            };
            return (lines.iter().enumerate().map(end_of).collect(), is_whole);
        }
        is_whole = false;
        while measure(lines[at].concat().trim_end()) + measure(CUT) > room(at) && !lines[at].is_empty() {
            lines[at].pop();
        }
        let kept = lines.concat().concat();
        // drop a code span that lost its end
        let mended = safe::mended(kept.trim_end().trim_end_matches('…').trim_end());
        text = match mended.is_empty() {
            true => return (vec![format!("{label}…")], false),
            false => format!("{mended}{CUT}"),
        };
    }
}

/// A safe text on one line, cut to a number of columns.
pub fn one_line(text: &str, columns: usize) -> String {
    laid(text, "", 1, columns, 0).0.concat()
}

/// A list in at most `most` lines, and whether it is complete.
fn list(label: &str, texts: &[String], most: usize, columns: usize) -> (Vec<String>, bool) {
    let label = format!("- {label}: ");
    let (mut out, mut is_all) = (Vec::new(), true);
    for (at, text) in texts.iter().enumerate() {
        let left = most - out.len();
        let text = safe::words(text);
        let more = texts.len() - at - 1;
        let (mut lines, mut is_whole) = laid(&text, &label, left, columns, 0);
        if lines.len() == left && more > 0 {
            let count = format!(" (+{more} more)");
            (lines, is_whole) = laid(&text, &label, left, columns, measure(&count));
            lines.last_mut().into_iter().for_each(|line| line.push_str(&count));
            is_all = false;
        }
        is_all &= is_whole;
        let is_full = lines.len() == left;
        out.extend(lines);
        if is_full {
            break;
        }
    }
    (out, is_all)
}

/// Lists in at most `most` lines, at least one each; spare lines go to incomplete lists, first ones first.
pub fn lists(lists: &[(&str, &[String])], most: usize, columns: usize) -> Vec<String> {
    if most == usize::MAX {
        return lists.iter().flat_map(|(label, texts)| list(label, texts, most, columns).0).collect();
    }
    let mut granted = vec![1; lists.len()];
    let filled = |at: usize, lines: usize| list(lists[at].0, lists[at].1, lines, columns);
    let mut left = most.saturating_sub(lists.len());
    let mut any = true;
    while left > 0 && any {
        any = false;
        for (at, lines) in granted.iter_mut().enumerate() {
            if left > 0 && !filled(at, *lines).1 {
                (*lines, left, any) = (*lines + 1, left - 1, true);
            }
        }
    }
    granted.iter().enumerate().flat_map(|(at, lines)| filled(at, *lines).0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(texts: &[&str], most: usize, columns: usize) -> Vec<String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        lists(&[("Open", &texts)], most, columns)
    }

    #[test]
    fn omitted_entries_are_counted() {
        assert_eq!(filled(&["one", "two", "three"], 2, 30), ["- Open: one", "- Open: two (+1 more)"]);
        assert_eq!(filled(&["one", "two"], 2, 30), ["- Open: one", "- Open: two"]);
        assert_eq!(filled(&["one two three four", "five"], 1, 30), ["- Open: one two … (+1 more)"]);
    }

    #[test]
    fn a_text_continues_below_without_splitting_words() {
        let text = "see src/a/very/long/path.rs first";
        assert_eq!(filled(&[text], 2, 30), ["- Open: see", "  src/a/very/long/path.rs …"]);
        assert_eq!(filled(&[text], 3, 30), ["- Open: see", "  src/a/very/long/path.rs", "  first"]);
        assert_eq!(filled(&[text], 1, 30), ["- Open: see …"]);
        assert_eq!(filled(&[&"x".repeat(99)], 3, 30), ["- Open: …"]);
    }

    #[test]
    fn wide_characters_count_twice_and_may_end_a_line() {
        let lines = filled(&["缓存的键是用户而不是令牌"], 2, 20);
        assert_eq!(lines, ["- Open: 缓存的键是用", "  户而不是令牌"]);
        assert!(filled(&["缓存的键是用户而不是令牌"], 1, 20).iter().all(|line| measure(line) <= 20));
    }

    #[test]
    fn a_cut_leaves_no_structure() {
        assert_eq!(filled(&["the `long code span` ends"], 1, 22), ["- Open: the \\`long …"]);
        assert_eq!(filled(&["one two three # four"], 3, 21), ["- Open: one two three", "  \\# four"]);
    }
}
