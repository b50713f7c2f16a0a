//! Markdown notes: one block per session, and text written by people.
//!
//! A block begins with a heading `# … <short id> …` and ends with `-- empirica <id> r<renderer>`. From [`REVISIONS`] on
//! the heading of a session's block ends with `(…, <short id>[ <short id>…], session <short id>)`. Text outside blocks
//! is split into passages by lines `-- empirica: another note`.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::model::Id;

/// The line between two passages.
const SEPARATOR: &str = "-- empirica: another note";

/// The first renderer with one block per session, which names the records it was rendered from; earlier ones wrote a
/// block per handoff and digest.
pub const REVISIONS: u32 = 100;

/// The last line of a block.
pub fn footer(id: &Id, renderer: u32) -> String {
    format!("-- empirica {id} r{renderer}")
}

fn read_footer(line: &str) -> Option<(Id, u32)> {
    let (id, renderer) = line.strip_prefix("-- empirica ")?.split_once(" r")?;
    Some((Id::parse(id)?, renderer.parse().ok()?))
}

/// The words of a heading that may be short ids; none of other lines.
fn words_of_heading(line: &str) -> impl Iterator<Item = &str> {
    let words = line.strip_prefix("# ").unwrap_or_default().split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| word.len() == 8)
}

/// Prefixes of the lines of a session's block.
const LABELS: [&str; 9] =
    ["  ", "- Next: ", "- Open: ", "- Decided: ", "- Avoid: ", "- Learned: ", "- Checked: ", "- Also: ", "- All: "];

/// The short ids of the records and of the session, from the heading of a session's block; `None` for other headings.
fn parse_heading(heading: &str) -> Option<(Vec<&str>, &str)> {
    let (rest, session) = heading.strip_prefix("# ")?.strip_suffix(')')?.rsplit_once(", session ")?;
    let is_short = |word: &str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let records = rest.rsplit([',', '(']).next().unwrap_or_default().split_whitespace();
    is_short(session).then(|| (records.filter(|word| is_short(word)).collect(), session))
}

/// The identity of a block; of two blocks with the same key one is kept.
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
    /// As [`names`]; `None` for blocks of earlier renderers.
    fn named(&self) -> Option<(Vec<&str>, &str)> {
        parse_heading(self.text.lines().next().filter(|_| self.renderer >= REVISIONS)?)
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

    /// Replaces each passage for which `change` returns a text. Returns whether it replaced any.
    fn change_passages(&mut self, change: &impl Fn(&str) -> Option<String>) -> bool {
        let changed: Vec<(String, String)> =
            self.passages.iter().filter_map(|passage| Some((passage.clone(), change(passage)?))).collect();
        for (old, new) in &changed {
            self.passages.remove(old);
            self.passages.insert(new.clone());
        }
        !changed.is_empty()
    }

    /// Keeps the block with the higher renderer, then the newer record, then the greater bytes.
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
        // the last heading with each word, since the last block
        let mut headings: HashMap<&str, usize> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            headings.extend(words_of_heading(line).map(|word| (word, at)));
            // no block spans a separator: two passages stay two
            if *line == SEPARATOR {
                headings.clear();
            }
            let Some((id, renderer)) = read_footer(line) else { continue };
            let Some(start) = headings.get(id.short()).copied() else { continue };
            self.add_passages(&lines[outside..start]);
            self.add_block(Block { renderer, id, text: lines[start..=at].join("\n") });
            outside = at + 1;
            headings.clear();
        }
        self.add_passages(&lines[outside..]);
    }

    fn write(&self) -> String {
        let is_continued = |passage: &str| {
            let longer = format!("{passage}\n\n");
            self.passages.range(longer.clone()..).next().is_some_and(|next| next.starts_with(&longer))
        };
        let blocks = self.in_order().into_iter().map(|block| block.text.as_str());
        let mut out = blocks.collect::<Vec<_>>().join("\n\n");
        // a passage that another one continues is redundant
        let passages: Vec<&str> = self.passages.iter().map(String::as_str).filter(|p| !is_continued(p)).collect();
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

/// The union of two Markdown notes. Of blocks with the same session (for earlier renderers, the same record) it keeps
/// the one with the higher renderer, then the newer, then the one with the greater bytes; it keeps all passages.
/// Commutative, associative, idempotent. Invalid UTF-8 is replaced.
pub fn union(a: &[u8], b: &[u8]) -> Vec<u8> {
    union_all([a, b])
}

/// As [`union`], of any number of notes.
pub fn union_all<'n>(notes: impl IntoIterator<Item = &'n [u8]>) -> Vec<u8> {
    let mut parsed = Parsed::default();
    notes.into_iter().for_each(|note| parsed.read(&String::from_utf8_lossy(note)));
    parsed.write().into_bytes()
}

/// As [`union`], but `new` is intact and `old` may have had its lines sorted. Blocks of `new` replace those of `old`,
/// except by higher renderers; passages of `old` without lines of their own are dropped.
pub fn mend(old: &[u8], new: &[u8]) -> Vec<u8> {
    let (torn, mut whole) = (Parsed::of(old), Parsed::of(new));
    let text = String::from_utf8_lossy(new);
    let new_lines: BTreeSet<&str> = text.lines().collect();
    for (key, block) in torn.blocks {
        if whole.blocks.get(&key).is_none_or(|kept| block.renderer > kept.renderer) {
            whole.blocks.insert(key, block);
        }
    }
    // a heading or footer in a passage is left from a torn block; the lines beside it are part of that block
    let torn_up = |line: &str| read_footer(line).is_some() || parse_heading(line).is_some();
    let has_own_lines = |passage: &String| {
        let is_torn = passage.lines().any(torn_up);
        let is_rendered = |line: &str| is_torn && (torn_up(line) || LABELS.iter().any(|label| line.starts_with(label)));
        passage.lines().any(|line| !line.is_empty() && !new_lines.contains(line) && !is_rendered(line))
    };
    whole.passages.extend(torn.passages.into_iter().filter(has_own_lines));
    whole.write().into_bytes()
}

/// The blocks of a note, each with its id, then the passages.
pub fn texts(note: &[u8]) -> Vec<(Option<String>, String)> {
    let parsed = Parsed::of(note);
    let blocks = parsed.in_order().into_iter().map(|block| (Some(block.id.as_str().to_owned()), block.text.clone()));
    blocks.chain(parsed.passages.iter().map(|passage| (None, passage.clone()))).collect()
}

/// The ids of the blocks of earlier renderers.
pub fn earlier(note: &[u8]) -> BTreeSet<Id> {
    let blocks = Parsed::of(note).blocks.into_values();
    blocks.filter(|block| block.renderer < REVISIONS).map(|block| block.id).collect()
}

/// The note without session blocks, which can be rendered from records.
pub fn without_sessions(note: &[u8]) -> Vec<u8> {
    let mut parsed = Parsed::of(note);
    parsed.blocks.retain(|key, _| matches!(key, Key::Record(_)));
    parsed.write().into_bytes()
}

/// The note without blocks of records for which `is_out` returns true, given an id or its short form; `None` if there
/// are none.
pub fn without(note: &[u8], is_out: impl Fn(&str) -> bool) -> Option<Vec<u8>> {
    let mut parsed = Parsed::of(note);
    let before = parsed.blocks.len();
    parsed.blocks.retain(|_, block| {
        let records = block.named().map(|(ids, _)| ids).unwrap_or_default();
        !is_out(block.id.as_str()) && !records.into_iter().any(&is_out)
    });
    (parsed.blocks.len() < before).then(|| parsed.write().into_bytes())
}

/// The note with each passage, and the text of each block between heading and footer, replaced by the result of
/// `change`; `None` if nothing changes.
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

/// As [`with_texts`], for passages only.
pub fn with_passages(note: &[u8], change: impl Fn(&str) -> Option<String>) -> Option<Vec<u8>> {
    let mut parsed = Parsed::of(note);
    parsed.change_passages(&change).then(|| parsed.write().into_bytes())
}

/// Whether a text is exactly one block.
fn is_block(text: &str) -> bool {
    let parsed = Parsed::of(text.as_bytes());
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
    fn text_between_blocks_is_kept_once() {
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
    fn blocks_torn_by_sorting_lines_are_restored() {
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
