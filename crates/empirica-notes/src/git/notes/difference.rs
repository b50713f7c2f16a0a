//! The differences of two notes trees with any fan-out, by walking both in parallel; equal subtrees are not opened.

use std::collections::BTreeMap;

use gix::objs::FindExt;
use gix::objs::tree::EntryKind;

use crate::error::Result;
use crate::git::Oid;
use crate::git::notes::repeats::Repeats;
use crate::git::objects::unreadable;
use crate::git::repository::Repository;

/// An entry of a notes tree other than a note. Ordered, so that of two at one path the greater can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub struct Other {
    pub id: Oid,
    pub(crate) kind: EntryKind,
}

impl Other {
    /// A plain file.
    pub fn file(id: Oid) -> Self {
        Other { id, kind: EntryKind::Blob }
    }
}

/// A value for the first and the second tree.
pub type Sides<T> = [T; 2];

/// The differences of two notes trees.
#[derive(Debug, Default)]
pub struct Differences {
    /// The blobs of each differing note in each tree, by annotated object: none, one, or several if an ill-formed tree
    /// lists the object twice.
    pub notes: BTreeMap<Oid, Sides<Vec<Oid>>>,
    /// The differing entries other than notes, by path; without [those in the place of notes](is_in_place).
    pub others: BTreeMap<Vec<u8>, Sides<Option<Other>>>,
    /// Whether differing notes are both flat and fanned out, which git cannot merge, or an entry is in the place of notes, or has a
    /// name that cannot be written.
    pub mixed: Sides<bool>,
}

/// Compares the trees of two notes commits. Fails if a tree is missing or too often in one of them; does not read
/// blobs.
pub fn differences(repo: &Repository, first: Oid, second: Oid) -> Result<Differences> {
    let mut walk = Walk { repo, out: Differences::default(), listed: [0; 2], repeats: Default::default() };
    if first != second {
        walk.notes([Some(first), Some(second)], "", b"")?;
    }
    let mut out = walk.out;
    for sides in out.notes.values_mut() {
        sides.iter_mut().for_each(|blobs| blobs.sort_unstable());
    }
    out.notes.retain(|_, [first, second]| first != second || first.len() > 1);
    out.others.retain(|_, [first, second]| first != second);
    Ok(out)
}

/// Where the paths of other entries are longer, in bytes, the trees there are compared as a whole.
const LONGEST_PATH: usize = 4096;

struct Walk<'r> {
    repo: &'r Repository,
    out: Differences,
    /// The number of notes found.
    listed: Sides<usize>,
    /// The trees that were read.
    repeats: Sides<Repeats>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    name: Vec<u8>,
    kind: EntryKind,
    id: Oid,
}

/// Entries of both sides by name, or by its first two digits.
type Grouped = BTreeMap<Vec<u8>, Sides<Vec<Entry>>>;

impl Walk<'_> {
    fn load(&mut self, side: usize, tree: Option<Oid>) -> Result<Vec<Entry>> {
        let Some(id) = tree.filter(|id| *id != self.repo.empty_tree()) else { return Ok(Vec::new()) };
        let mut buffer = Vec::new();
        let tree = self.repo.find_tree(&id, &mut buffer).map_err(|error| unreadable(id, error))?;
        self.repeats[side].count(id, tree.entries.len())?;
        let entry = |entry: &gix::objs::tree::EntryRef<'_>| Entry {
            name: entry.filename.to_vec(),
            kind: entry.mode.kind(),
            id: entry.oid.to_owned(),
        };
        Ok(tree.entries.iter().map(entry).collect())
    }

    /// The annotated object of an entry below the fan-out `hex`; `None` if it is not a note.
    fn target(&self, entry: &Entry, hex: &str) -> Option<Oid> {
        let is_blob = matches!(entry.kind, EntryKind::Blob | EntryKind::BlobExecutable);
        if !is_blob || hex.len() + entry.name.len() != self.repo.hex_len() || !is_hex(&entry.name) {
            return None;
        }
        crate::git::parse_oid(&format!("{hex}{}", std::str::from_utf8(&entry.name).ok()?))
    }

    fn is_fan(&self, entry: &Entry, hex: &str) -> bool {
        let short = entry.name.len() == 2 && hex.len() + 2 < self.repo.hex_len();
        entry.kind == EntryKind::Tree && short && is_hex(&entry.name)
    }

    fn push(&mut self, side: usize, target: Oid, note: Oid) {
        self.out.notes.entry(target).or_default()[side].push(note);
        self.listed[side] += 1;
    }

    fn notes(&mut self, trees: Sides<Option<Oid>>, hex: &str, path: &[u8]) -> Result<()> {
        let mut groups: Grouped = BTreeMap::new();
        let mut others: Grouped = BTreeMap::new();
        let mut in_place: Sides<Vec<Entry>> = Default::default();
        for (side, tree) in trees.into_iter().enumerate() {
            for entry in self.load(side, tree)? {
                // notes of the same objects begin with the same two digits, flat or fanned out
                if self.is_fan(&entry, hex) || self.target(&entry, hex).is_some() {
                    groups.entry(entry.name[..2].to_vec()).or_default()[side].push(entry);
                } else if is_in_place(&entry.name, hex.len(), self.repo.hex_len()) || is_no_name(&entry.name) {
                    in_place[side].push(entry);
                } else {
                    others.entry(entry.name.clone()).or_default()[side].push(entry);
                }
            }
        }
        if in_place[0] != in_place[1] {
            (0..2).for_each(|side| self.out.mixed[side] |= !in_place[side].is_empty());
        }
        for (key, sides) in groups.into_iter().filter(|(_, [first, second])| first != second) {
            let inner = format!("{hex}{}", String::from_utf8_lossy(&key));
            let path = join(path, &key);
            let fan = |entries: &[Entry]| match entries {
                [only] if self.is_fan(only, hex) => Some(only.id),
                _ => None,
            };
            let fans = [fan(&sides[0]), fan(&sides[1])];
            if sides.iter().zip(fans).all(|(entries, fan)| entries.is_empty() || fan.is_some()) {
                self.notes(fans, &inner, &path)?;
                continue;
            }
            for (side, entries) in sides.into_iter().enumerate() {
                let is_flat = entries.iter().any(|entry| entry.kind != EntryKind::Tree);
                for entry in entries {
                    if let Some(target) = self.target(&entry, hex) {
                        self.push(side, target, entry.id);
                    } else {
                        let mut trees = [None, None];
                        trees[side] = Some(entry.id);
                        let before = self.listed[side];
                        self.notes(trees, &inner, &path)?;
                        // a tree of that name without notes is not part of the fan-out
                        self.out.mixed[side] |= is_flat && self.listed[side] > before;
                    }
                }
            }
        }
        self.others(others, path)
    }

    /// Compares entries other than notes, by name; descends into trees that both sides have.
    fn others(&mut self, entries: Grouped, path: &[u8]) -> Result<()> {
        for (name, sides) in entries.into_iter().filter(|(_, [first, second])| first != second) {
            let path = join(path, &name);
            let [first, second] = sides.map(|mut entries| entries.pop());
            let folder = |entry: &Option<Entry>| entry.as_ref().filter(|e| e.kind == EntryKind::Tree).map(|e| e.id);
            if let (Some(first), Some(second)) = (folder(&first), folder(&second))
                && path.len() <= LONGEST_PATH
            {
                let mut inner: Grouped = BTreeMap::new();
                for (side, tree) in [first, second].into_iter().enumerate() {
                    for entry in self.load(side, Some(tree))? {
                        if is_no_name(&entry.name) {
                            self.out.mixed[side] = true;
                        } else {
                            inner.entry(entry.name.clone()).or_default()[side].push(entry);
                        }
                    }
                }
                self.others(inner, &path)?;
                continue;
            }
            for (side, entry) in [first, second].into_iter().enumerate() {
                if let Some(Entry { kind, id, .. }) = entry {
                    self.out.others.entry(path.clone()).or_default()[side] = Some(Other { id, kind });
                }
            }
        }
        Ok(())
    }
}

/// Whether an entry can have no such name, so that no tree with it can be written.
pub(crate) fn is_no_name(name: &[u8]) -> bool {
    name.is_empty() || name.contains(&b'/')
}

/// Whether a name below `above` digits of fan-out is that of a note or of a folder of notes. Where an entry with such a name is neither,
/// the notes of the other side may have to be: as in git, notes come before other entries.
pub(crate) fn is_in_place(name: &[u8], above: usize, hex_len: usize) -> bool {
    is_hex(name) && (above + name.len() == hex_len || (name.len() == 2 && above + 2 < hex_len))
}

/// The same of an entry other than a note, by its path.
pub(crate) fn is_path_in_place(path: &[u8], hex_len: usize) -> bool {
    let mut above = 0;
    let mut parts = path.split(|byte| *byte == b'/').peekable();
    while let Some(part) = parts.next() {
        if !is_in_place(part, above, hex_len) || (parts.peek().is_some() && part.len() != 2) {
            return false;
        }
        above += part.len();
    }
    true
}

pub(crate) fn is_hex(name: &[u8]) -> bool {
    name.iter().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
}

pub(crate) fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    match path {
        [] => name.to_vec(),
        path => [path, b"/", name].concat(),
    }
}
