//! Anchors: the places in the code that a claim is about, and whether they still have the same text.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use similar::algorithms::{Capture, Compact, Replace, myers};

use crate::model::hash::{PRIME, fnv};

/// How long two versions of a file are compared; what is not compared by then differs.
const COMPARING: Duration = Duration::from_millis(200);

/// Beyond this number of hashes (16 bytes each), those of other numbers of lines are not kept.
const KEPT: usize = 1 << 20;

/// A place in the code, with its text at the time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Anchor {
    /// The file, relative to the root of the work tree.
    pub path: String,
    /// The first and the last line, from 1; absent for the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// The blob id of the file, hex.
    pub blob: String,
    /// The [`hash`] of these lines, 16 hex digits; empty for a whole file that is not text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hash: String,
}

crate::named_enum! {
    /// The state of a place in the code since it was recorded.
    pub enum AnchorState {
        /// The same text is there.
        Holds = "holds",
        /// The same text is elsewhere in the file, or in the file it was renamed to.
        Moved = "moved",
        /// The text is no longer found.
        Changed = "changed",
        /// There is no such file.
        Gone = "gone",
        /// The earlier or the present content is not here, too large or unreadable.
        Unknown = "unknown",
    }
}

impl AnchorState {
    /// Whether the text is no longer there.
    pub fn is_lost(self) -> bool {
        matches!(self, AnchorState::Changed | AnchorState::Gone)
    }
}

/// The hashes of as many lines as a place has, at each line of a file: hash and first line, sorted.
type Windows = Vec<(u64, u32)>;

/// The lines of a file as they are compared: without white space at their ends.
#[derive(Debug, Default)]
pub struct TextLines {
    /// The hash of each line.
    lines: Vec<u64>,
    /// The hash of the lines before each, and of all.
    before: Vec<u64>,
    /// By number of lines; made when they are looked for, and kept as long as there is room.
    windows: RefCell<HashMap<usize, Rc<Windows>>>,
}

impl TextLines {
    /// The lines of a text; the end of the last one may be missing. `None` if it has a NUL byte, as git's binary files.
    pub fn of(text: &[u8]) -> Option<Self> {
        if text.contains(&0) {
            return None;
        }
        let lines: Vec<u64> = text.split_inclusive(|byte| *byte == b'\n').map(line).collect();
        let mut before = Vec::with_capacity(lines.len() + 1);
        before.push(0);
        let mut hash = 0;
        before.extend(lines.iter().map(|line| {
            hash = add(hash, *line);
            hash
        }));
        Some(TextLines { lines, before, windows: RefCell::default() })
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
    }

    /// The hash of these lines, or of all: `h = 0`, then for each line `h = h × 1099511628211 + FNV-1a(line)`, modulo 2^64,
    /// as 16 hex digits. `None` if they are not all there.
    pub fn hash(&self, lines: Option<(u32, u32)>) -> Option<String> {
        let (first, last) = lines.unwrap_or((1, self.count()));
        Some(format!("{:016x}", self.window(first.checked_sub(1)? as usize, last as usize)?))
    }

    /// The hash of the lines from `begin` to before `end`, counted from 0.
    fn window(&self, begin: usize, end: usize) -> Option<u64> {
        let size = u32::try_from(end.checked_sub(begin)?).ok()?;
        Some(self.before.get(end)?.wrapping_sub(self.before[begin].wrapping_mul(PRIME.wrapping_pow(size))))
    }

    /// Whether these lines have this hash.
    pub fn has(&self, lines: (u32, u32), hash: &str) -> bool {
        self.hash(Some(lines)).as_deref() == Some(hash)
    }

    /// The lines with this hash, as many as these: the nearest before or after, else `None`. Takes a pass over the file for each
    /// number of lines that is asked for.
    pub fn find(&self, (first, last): (u32, u32), hash: &str) -> Option<(u32, u32)> {
        let size = last.checked_sub(first)? as usize + 1;
        let wanted = u64::from_str_radix(hash, 16).ok()?;
        if first == 0 || size > self.lines.len() {
            return None;
        }
        let mut kept = self.windows.borrow_mut();
        if !kept.contains_key(&size) && kept.values().map(|windows| windows.len()).sum::<usize>() > KEPT {
            kept.clear();
        }
        let windows = Rc::clone(kept.entry(size).or_insert_with(|| {
            let all = (0..=self.lines.len() - size).filter_map(|at| Some((self.window(at, at + size)?, at as u32 + 1)));
            let mut windows: Windows = all.collect();
            windows.sort_unstable();
            Rc::new(windows)
        }));
        let same = &windows[windows.partition_point(|(hash, _)| *hash < wanted)..];
        let same = &same[..same.partition_point(|(hash, _)| *hash == wanted)];
        let after = same.partition_point(|(_, begin)| *begin < first);
        let near = [after.checked_sub(1).and_then(|at| same.get(at)), same.get(after)].into_iter().flatten();
        let (_, begin) = near.min_by_key(|(_, begin)| begin.abs_diff(first))?;
        Some((*begin, begin + (last - first)))
    }

    /// Whether lines of this number were looked for before.
    pub fn was_searched(&self, (first, last): (u32, u32)) -> bool {
        let size = (last as usize + 1).checked_sub(first as usize);
        size.is_none_or(|size| self.windows.borrow().contains_key(&size))
    }

    /// Where lines of this text are in a newer one, as far as that is found in a fifth of a second, by the lines that both have: from behind the last common line before them to
    /// the first common one after them; `None` if nothing is left between.
    pub fn follow(&self, (first, last): (u32, u32), newer: &TextLines) -> Option<(u32, u32)> {
        let (old, new) = (&self.lines[..], &newer.lines[..]);
        let mut same = Compact::new(Replace::new(Capture::new()), old, new);
        let until = Some(Instant::now() + COMPARING);
        let Ok(()) = myers::diff_deadline(&mut same, old, 0..old.len(), new, 0..new.len(), until);
        let same = same.into_inner().into_inner().into_ops();
        let (mut begin, mut end) = (0, newer.lines.len());
        for (old, new) in
            same.iter().filter(|op| op.tag() == similar::DiffTag::Equal).map(|op| (op.old_range(), op.new_range()))
        {
            let (first, last) = (first.saturating_sub(1) as usize, last as usize);
            // lines of the place that are still there count, too
            if old.start < first {
                begin = new.start + (first - old.start).min(old.len());
            }
            if old.end > last && end == newer.lines.len() {
                end = new.start + last.saturating_sub(old.start);
            }
        }
        let end = end.min(newer.lines.len());
        (begin < end).then(|| (begin as u32 + 1, end as u32))
    }
}

fn line(text: &[u8]) -> u64 {
    fnv(text.trim_ascii())
}

fn add(hash: u64, line: u64) -> u64 {
    hash.wrapping_mul(PRIME).wrapping_add(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(text: &str) -> TextLines {
        TextLines::of(text.as_bytes()).expect("text")
    }

    #[test]
    fn white_space_at_the_ends_of_lines_does_not_count() {
        let text = lines("fn a() {\n    b();\n}\n");
        assert_eq!(text.count(), 3);
        for same in ["fn a() {\r\n\tb();  \r\n}", "  fn a() {\n b();\n }\n"] {
            assert_eq!(lines(same).hash(None), text.hash(None), "{same:?}");
        }
        assert_ne!(lines("fn a() {\nb ();\n}").hash(None), text.hash(None));
        assert_eq!((lines("").count(), lines("\n").count(), lines("\n\na").count()), (0, 1, 3));
        assert!(TextLines::of(b"a\0b").is_none());
        assert_eq!(text.hash(Some((2, 4))), None);
        assert_eq!(text.hash(Some((0, 1))), None);
    }

    #[test]
    fn the_hash_is_as_documented() {
        let expected = fnv(b"b").wrapping_mul(1_099_511_628_211).wrapping_add(fnv(b"c"));
        assert_eq!(lines("a\nb\nc\n").hash(Some((2, 3))), Some(format!("{expected:016x}")));
    }

    #[test]
    fn the_nearest_of_several_places_is_found() {
        let text = lines("x\na\nb\nx\nx\na\nb\n");
        let hash = text.hash(Some((2, 3))).expect("a hash");
        assert_eq!(text.find((2, 3), &hash), Some((2, 3)));
        assert_eq!(text.find((5, 6), &hash), Some((6, 7)));
        assert_eq!(text.find((90, 91), &hash), Some((6, 7)));
        assert_eq!(text.find((1, 1), &hash), None);
        assert_eq!(text.find((0, 1), &hash), None);
        assert_eq!(text.find((3, 2), &hash), None);
        assert_eq!(lines("").find((1, 1), &hash), None);
    }

    #[test]
    fn changed_lines_are_followed() {
        let old = lines("a\nb\nc\nd\ne\n");
        let follow = |newer: &str, place| old.follow(place, &lines(newer));
        assert_eq!(follow("a\nb\nC\nd\ne\n", (3, 3)), Some((3, 3)));
        assert_eq!(follow("n\nn\na\nb\nC1\nC2\nd\ne\n", (3, 3)), Some((5, 6)));
        assert_eq!(follow("a\nb\nc\nd2\ne\n", (2, 4)), Some((2, 4)));
        assert_eq!(follow("a\nb\nd\ne\n", (3, 3)), None);
        assert_eq!(follow("A\nb\n", (1, 1)), Some((1, 1)));
        assert_eq!(follow("a\nb\nc\nd\nE\n", (5, 5)), Some((5, 5)));
        assert_eq!(follow("", (1, 5)), None);
    }

    proptest! {
        #[test]
        fn what_is_found_has_the_text(text in "[ab\n]{0,60}", first in 1u32..20, size in 0u32..6) {
            let text = lines(&text);
            let place = (first, first + size);
            if let Some(hash) = text.hash(Some(place)) {
                prop_assert_eq!(text.find(place, &hash), Some(place));
                let found = text.find((1, 1 + size), &hash).expect("it is there");
                prop_assert_eq!(text.hash(Some(found)), Some(hash));
            }
        }
    }
}
