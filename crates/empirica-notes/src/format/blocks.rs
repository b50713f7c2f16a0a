//! The Markdown note as a union of blocks: one per session, and whatever people wrote beside them.
//!
//! A block begins with a heading `# … <short id> …` and ends with `-- empirica <id> r<renderer>`. From [`REVISIONS`] on the
//! heading of a session's block ends with `(…, <short id>[ <short id>…], session <short id>)`. Text outside blocks is kept in
//! passages, which a line `-- empirica: another note` keeps apart.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::model::Id;

/// What keeps two passages apart.
const SEPARATOR: &str = "-- empirica: another note";

/// The first number of blocks that stand for their session, to which the records they were rendered from are added; earlier
/// renderers wrote a block for each handoff and digest.
pub const REVISIONS: u32 = 100;

/// The last line of a block.
pub fn footer(id: &Id, renderer: u32) -> String {
    format!("-- empirica {id} r{renderer}")
}

fn read_footer(line: &str) -> Option<(Id, u32)> {
    let (id, renderer) = line.strip_prefix("-- empirica ")?.split_once(" r")?;
    Some((Id::parse(id)?, renderer.parse().ok()?))
}

fn opens(line: &str, id: &Id) -> bool {
    line.strip_prefix("# ")
        .is_some_and(|heading| heading.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == id.short()))
}

/// How the lines of a session's block begin.
const LABELS: [&str; 8] =
    ["  ", "- Next: ", "- Open: ", "- Decided: ", "- Avoid: ", "- Learned: ", "- Checked: ", "- All: "];

/// The short ids of the records that a heading of a session's block names, and of the session.
fn names(heading: &str) -> Option<(Vec<&str>, &str)> {
    let (rest, session) = heading.strip_prefix("# ")?.strip_suffix(')')?.rsplit_once(", session ")?;
    let is_short = |word: &str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let records = rest.rsplit([',', '(']).next().unwrap_or_default().split_whitespace();
    is_short(session).then(|| (records.filter(|word| is_short(word)).collect(), session))
}

/// What a block stands for: of two blocks for the same thing one is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Record(Id),
    Session(String),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Block {
    renderer: u32,
    id: Id,
    text: String,
}

impl Block {
    /// As [`names`], of its heading; `None` for a block of an earlier renderer.
    fn named(&self) -> Option<(Vec<&str>, &str)> {
        names(self.text.lines().next().filter(|_| self.renderer >= REVISIONS)?)
    }

    fn key(&self) -> Key {
        match self.named() {
            Some((_, session)) => Key::Session(session.to_owned()),
            None => Key::Record(self.id.clone()),
        }
    }
}

#[derive(Default)]
struct Parsed {
    blocks: BTreeMap<Key, Block>,
    passages: BTreeSet<String>,
}

impl Parsed {
    fn of(note: &[u8]) -> Self {
        let mut parsed = Parsed::default();
        parsed.read(&String::from_utf8_lossy(note));
        parsed
    }

    /// Replaces each passage by what `change` makes of it. Whether it changed any.
    fn change_passages(&mut self, change: &impl Fn(&str) -> Option<String>) -> bool {
        let changed: Vec<(String, String)> =
            self.passages.iter().filter_map(|passage| Some((passage.clone(), change(passage)?))).collect();
        for (old, new) in &changed {
            self.passages.remove(old);
            self.passages.insert(new.clone());
        }
        !changed.is_empty()
    }

    /// The higher renderer wins, then the newer record, then the greater bytes.
    fn add_block(&mut self, block: Block) {
        match self.blocks.entry(block.key()) {
            Entry::Vacant(entry) => drop(entry.insert(block)),
            Entry::Occupied(mut entry) if block > *entry.get() => drop(entry.insert(block)),
            Entry::Occupied(_) => {}
        }
    }

    /// The blocks in order of id.
    fn in_order(&self) -> Vec<&Block> {
        let mut blocks: Vec<&Block> = self.blocks.values().collect();
        blocks.sort_by(|a, b| a.id.cmp(&b.id));
        blocks
    }

    fn add_passages(&mut self, lines: &[&str]) {
        for passage in lines.split(|line| *line == SEPARATOR) {
            let text = passage.join("\n");
            let text = text.trim_matches('\n');
            if !text.trim().is_empty() {
                self.passages.insert(text.to_owned());
            }
        }
    }

    fn read(&mut self, note: &str) {
        let lines: Vec<&str> = note.split('\n').collect();
        let mut outside = 0;
        for (at, line) in lines.iter().enumerate() {
            let Some((id, renderer)) = read_footer(line) else { continue };
            // no block reaches over a separator: what was two passages stays two
            let mut above = (outside..at).rev().take_while(|&line| lines[line] != SEPARATOR);
            let Some(start) = above.find(|&line| opens(lines[line], &id)) else { continue };
            self.add_passages(&lines[outside..start]);
            self.add_block(Block { renderer, id, text: lines[start..=at].join("\n") });
            outside = at + 1;
        }
        self.add_passages(&lines[outside..]);
    }

    fn write(&self) -> String {
        let continued = |passage: &str| {
            let longer = format!("{passage}\n\n");
            self.passages.iter().any(|other| other.starts_with(&longer))
        };
        let blocks = self.in_order().into_iter().map(|block| block.text.as_str());
        let mut out = blocks.collect::<Vec<_>>().join("\n\n");
        // a passage that somebody continued is there already
        let passages: Vec<&str> = self.passages.iter().map(String::as_str).filter(|p| !continued(p)).collect();
        let passages = passages.join(&format!("\n\n{SEPARATOR}\n\n"));
        if !out.is_empty() && !passages.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(&passages);
        if !out.is_empty() {
            out.push('\n');
        }
        out
    }
}

/// The union of two Markdown notes: of the blocks of one session, or of one record of an earlier renderer, the one with the
/// higher renderer is kept, then the newer, then the one of greater bytes; passages outside blocks are all kept. Commutative, associative, idempotent. Bytes that are no UTF-8 are replaced.
pub fn union(a: &[u8], b: &[u8]) -> Vec<u8> {
    union_all([a, b])
}

/// The union of any number of notes, each read once.
pub fn union_all<'n>(notes: impl IntoIterator<Item = &'n [u8]>) -> Vec<u8> {
    let mut parsed = Parsed::default();
    notes.into_iter().for_each(|note| parsed.read(&String::from_utf8_lossy(note)));
    parsed.write().into_bytes()
}

/// As [`union`], where `new` is known to be whole and `old` may have been torn up by a copy that sorts lines: a block of
/// `new` takes the place of an old one unless a higher renderer made that, and a passage of `old` that has no line of
/// its own is left out.
pub fn mend(old: &[u8], new: &[u8]) -> Vec<u8> {
    let (mut torn, mut whole) = (Parsed::default(), Parsed::default());
    torn.read(&String::from_utf8_lossy(old));
    let text = String::from_utf8_lossy(new);
    whole.read(&text);
    let known: BTreeSet<&str> = text.lines().collect();
    for (key, block) in torn.blocks {
        if whole.blocks.get(&key).is_none_or(|made| block.renderer > made.renderer) {
            whole.blocks.insert(key, block);
        }
    }
    // the heading or footer of a session's block that was torn up tells that the lines beside it are its own
    let torn_up = |line: &str| read_footer(line).is_some() || names(line).is_some();
    let own = |passage: &String| {
        let is_torn = passage.lines().any(torn_up);
        let is_ours = |line: &str| is_torn && (torn_up(line) || LABELS.iter().any(|label| line.starts_with(label)));
        passage.lines().any(|line| !line.is_empty() && !known.contains(line) && !is_ours(line))
    };
    whole.passages.extend(torn.passages.into_iter().filter(own));
    whole.write().into_bytes()
}

/// What a note says: each block with its id, each passage without one.
pub fn texts(note: &[u8]) -> Vec<(Option<String>, String)> {
    let parsed = Parsed::of(note);
    let blocks = parsed.in_order().into_iter().map(|block| (Some(block.id.as_str().to_owned()), block.text.clone()));
    let blocks: Vec<_> = blocks.collect();
    blocks.into_iter().chain(parsed.passages.into_iter().map(|passage| (None, passage))).collect()
}

/// The records that have a block of an earlier renderer in a note.
pub fn earlier(note: &[u8]) -> BTreeSet<Id> {
    let blocks = Parsed::of(note).blocks.into_values();
    blocks.filter(|block| block.renderer < REVISIONS).map(|block| block.id).collect()
}

/// A note without the blocks of sessions, which are rendered from the records.
pub fn without_sessions(note: &[u8]) -> Vec<u8> {
    let mut parsed = Parsed::of(note);
    parsed.blocks.retain(|key, _| matches!(key, Key::Record(_)));
    parsed.write().into_bytes()
}

/// A Markdown note without the blocks that show one of the records that `is_out` names, given the id or the short form of it;
/// `None` when it has none of them.
pub fn without(note: &[u8], is_out: impl Fn(&str) -> bool) -> Option<Vec<u8>> {
    let mut parsed = Parsed::of(note);
    let before = parsed.blocks.len();
    parsed.blocks.retain(|_, block| {
        let others = block.named().map(|(records, _)| records).unwrap_or_default();
        !is_out(block.id.as_str()) && !others.into_iter().any(&is_out)
    });
    (parsed.blocks.len() < before).then(|| parsed.write().into_bytes())
}

/// A Markdown note with each passage that people wrote, and what stands in each block between heading and footer, replaced by
/// what `change` makes of it; `None` when it changes none.
pub fn with_texts(note: &[u8], change: impl Fn(&str) -> Option<String>) -> Option<Vec<u8>> {
    let mut parsed = Parsed::of(note);
    let mut is_changed = parsed.change_passages(&change);
    for text in parsed.blocks.values_mut().map(|block| &mut block.text) {
        let Some(end) = text.rfind('\n') else { continue };
        let new = change(&text[..end]).map(|new| new + &text[end..]);
        if let Some(new) = new.filter(|new| is_block(new)) {
            *text = new;
            is_changed = true;
        }
    }
    is_changed.then(|| parsed.write().into_bytes())
}

/// The same, of the passages alone.
pub fn with_passages(note: &[u8], change: impl Fn(&str) -> Option<String>) -> Option<Vec<u8>> {
    let mut parsed = Parsed::of(note);
    parsed.change_passages(&change).then(|| parsed.write().into_bytes())
}

/// Whether a text is one block and nothing else.
fn is_block(text: &str) -> bool {
    let mut parsed = Parsed::default();
    parsed.read(text);
    parsed.blocks.len() == 1 && parsed.passages.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u64) -> Id {
        Id::parse(&format!("00000000-0000-7000-8000-0000{n:08x}")).unwrap()
    }

    fn block(n: u64, renderer: u32, text: &str) -> String {
        format!("# Handoff {}: it\n\n{text}\n\n{}", id(n).short(), footer(&id(n), renderer))
    }

    fn unite(a: &str, b: &str) -> String {
        String::from_utf8(union(a.as_bytes(), b.as_bytes())).unwrap()
    }

    #[test]
    fn blocks_are_united_by_id_and_the_higher_renderer_wins() {
        let (one, two) = (block(1, 2, "one"), block(2, 2, "two"));
        let both = unite(&two, &one);
        assert_eq!(both, format!("{one}\n\n{two}\n"));
        assert_eq!(unite(&both, &both), both);
        let newer = block(1, 3, "a");
        assert_eq!(unite(&both, &newer), format!("{newer}\n\n{two}\n"));
        assert_eq!(unite(&newer, &both), format!("{newer}\n\n{two}\n"));
    }

    #[test]
    fn what_people_write_beside_them_is_kept_whole_and_once() {
        let one = block(1, 2, "one");
        let reviewed = format!("{one}\n\nLooks good.\n\nBut see the port.\n");
        let other = format!("{one}\n\nSecond reviewer.\n");
        let both = unite(&reviewed, &other);
        assert_eq!(
            both,
            format!("{one}\n\nLooks good.\n\nBut see the port.\n\n-- empirica: another note\n\nSecond reviewer.\n")
        );
        assert_eq!(unite(&both, &reviewed), both);
        let continued = format!("{one}\n\nLooks good.\n\nBut see the port.\n\nDone.\n");
        assert!(!unite(&reviewed, &continued).contains("another note"));
    }

    #[test]
    fn what_a_copy_that_sorts_lines_tore_up_is_mended() {
        let (one, two) = (block(1, 2, "one\nabove"), block(2, 2, "two\nbelow"));
        let whole = unite(&format!("{one}\n\nLooks good.\n"), &two);
        let mut sorted: Vec<&str> = whole.lines().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let torn = format!("{}\nAnd mine.\n", sorted.join("\n"));
        let mended = String::from_utf8(mend(torn.as_bytes(), whole.as_bytes())).unwrap();
        assert!(mended.starts_with(&format!("{one}\n\n{two}\n\n")), "{mended}");
        assert!(mended.contains("Looks good.") && mended.contains("And mine."), "{mended}");
        assert_eq!(mended, String::from_utf8(mend(mended.as_bytes(), whole.as_bytes())).unwrap());
        let newer = block(1, 4, "newer");
        assert!(String::from_utf8(mend(newer.as_bytes(), one.as_bytes())).unwrap().starts_with(&newer));
    }

    #[test]
    fn a_footer_without_its_heading_is_text() {
        let text = format!("# Handoff 99999999: other\nbody\n{}\n", footer(&id(7), 9));
        assert_eq!(unite(&text, ""), text);
    }
}
