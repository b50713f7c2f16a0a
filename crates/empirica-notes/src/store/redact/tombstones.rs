//! Tombstones: the redactions of a notes tree, in its file `epoch`. They decide the lines that count.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result, empirica};
use crate::format::{blocks, lines, redact};
use crate::git::notes::difference::Other;
use crate::git::objects::COMMITTERS;
use crate::git::{Oid, Repository, notes};
use crate::store::MARKDOWN_REF;

/// The size limit of the file, in bytes.
const MAX_FILE_BYTES: u64 = 2 << 20;

/// The size limit of the file after a merge: there is room for redactions of our own.
const MAX_MERGED_BYTES: usize = 1 << 20;

/// The name of the file at the root of a notes tree.
pub const NAME: &str = "epoch";

/// The redaction of one record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tombstone {
    /// The redacted records whose texts were removed from it; its own id if it is redacted itself.
    pub of: BTreeSet<String>,
    /// The SHA-256, hex, of the rewritten line of a record that only quoted others; several if clones rewrote it
    /// differently. Empty for a redacted record, of which only stubs count.
    pub lines: BTreeSet<String>,
}

impl Tombstone {
    /// A redacted record.
    pub fn gone(id: &str) -> Self {
        Tombstone { of: BTreeSet::from([id.to_owned()]), lines: BTreeSet::new() }
    }

    /// Whether a line with its id counts.
    fn permits(&self, line: &[u8]) -> bool {
        redact::is_stub(line) || (!self.lines.is_empty() && self.lines.contains(&redact::hash(line)))
    }

    /// The union: the one whose `of` contains the other's, or both if these are equal. If neither contains the other,
    /// the record is redacted.
    fn united(&self, other: &Self, id: &str) -> Self {
        if self.of == other.of {
            let lines = self.lines.union(&other.lines).cloned().collect();
            return Tombstone { of: self.of.clone(), lines };
        }
        if self.of.is_superset(&other.of) {
            return self.clone();
        }
        if other.of.is_superset(&self.of) {
            return other.clone();
        }
        let mut of: BTreeSet<String> = self.of.union(&other.of).cloned().collect();
        of.insert(id.to_owned());
        Tombstone { of, lines: BTreeSet::new() }
    }
}

/// The redactions of one ref.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tombstones {
    /// A lower bound of the number of redactions; 0 if there were none.
    pub number: u64,
    /// The redacted records, by id.
    pub redacted: BTreeMap<String, Tombstone>,
}

impl Tombstones {
    /// The redactions of a notes tree; none if its file is absent or missing. Fails above a size of 2 MiB.
    pub fn of_tree(repo: &Repository, tree: Oid) -> Result<Self> {
        let Some(file) = notes::root_file(repo, tree, NAME)? else { return Ok(Tombstones::default()) };
        if repo.object_size(file) > MAX_FILE_BYTES {
            return Err(too_many(format!("cannot read the redactions {file}: they have more than 2 MiB")));
        }
        Ok(repo.read_blob(file)?.map_or_else(Tombstones::default, |text| Self::parse(&text)))
    }

    /// The union with fetched redactions. Fails if it adds any and has more than 1 MiB.
    pub fn merged(&self, theirs: &Self) -> Result<Self> {
        let all = self.united(theirs);
        if self.lacks(&all) && all.text().len() > MAX_MERGED_BYTES {
            return Err(too_many("cannot merge the redactions: they have more than 1 MiB".to_owned()));
        }
        Ok(all)
    }

    /// The redactions of a notes commit; none for `None`.
    pub fn of(repo: &Repository, commit: Option<Oid>) -> Result<Self> {
        commit.map_or_else(|| Ok(Tombstones::default()), |commit| Self::of_tree(repo, repo.tree_of(commit)?))
    }

    /// Parses the file: a number, then a line per record: its id alone if it is redacted, else its id, the hash of its
    /// line (several joined by commas), and the records whose texts it lacks. Skips lines it cannot parse.
    pub fn parse(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let mut rows = text.lines();
        let number = rows.next().and_then(|line| line.trim().parse().ok()).unwrap_or(0);
        let id = |word: &str| crate::model::Id::parse(word).map(|id| id.as_str().to_owned());
        let row = |row: &str| {
            let mut words = row.split(' ');
            let own = id(words.next()?)?;
            let hashes = words.next().unwrap_or(GONE).split(',').filter(|hash| hash.len() == 64);
            let mut lines: BTreeSet<String> = hashes.map(str::to_owned).collect();
            let mut of: BTreeSet<String> = words.filter_map(id).collect();
            if lines.is_empty() || of.is_empty() {
                of.insert(own.clone());
            }
            if of.contains(&own) {
                lines.clear();
            }
            Some((own, Tombstone { of, lines }))
        };
        Tombstones { number, redacted: rows.filter_map(row).collect() }
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.number);
        for (id, redacted) in &self.redacted {
            let others: Vec<&str> = redacted.of.iter().map(String::as_str).filter(|of| of != id).collect();
            let hashes: Vec<&str> = redacted.lines.iter().map(String::as_str).collect();
            let hashes = match (hashes.is_empty(), others.is_empty()) {
                (false, _) => Some(hashes.join(",")),
                (true, false) => Some(GONE.to_owned()),
                (true, true) => None,
            };
            let words: Vec<&str> = [id.as_str()].into_iter().chain(hashes.as_deref()).chain(others).collect();
            text += &(words.join(" ") + "\n");
        }
        text
    }

    /// The entry of a notes tree with these redactions.
    pub(crate) fn entry(&self, repo: &Repository) -> Result<(Vec<u8>, Other)> {
        let text = self.text();
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(Error::refused("cannot write the redactions: they have more than 2 MiB")
                .suggest("See what was redacted, and by whom.")
                .command(empirica("doctor")));
        }
        Ok((NAME.as_bytes().to_vec(), Other::file(repo.write_blob(text.as_bytes())?)))
    }

    /// The union: the greater number, all records.
    pub fn united(&self, other: &Self) -> Self {
        let mut redacted = self.redacted.clone();
        for (id, theirs) in &other.redacted {
            let ours = redacted.get(id);
            redacted.insert(id.clone(), ours.map_or_else(|| theirs.clone(), |ours| ours.united(theirs, id)));
        }
        Tombstones { number: self.number.max(other.number), redacted }
    }

    /// Whether nothing was ever redacted.
    pub fn is_empty(&self) -> bool {
        *self == Tombstones::default()
    }

    /// Whether a line counts; foreign lines always do.
    pub fn permits(&self, line: &[u8]) -> bool {
        self.redacted.is_empty()
            || lines::id(line).and_then(|id| self.redacted.get(id)).is_none_or(|tombstone| tombstone.permits(line))
    }

    /// Whether an id, in full or in its short form, is that of a redacted or rewritten record.
    pub fn has_id(&self, id: &str) -> bool {
        let is_short_of = |full: &String| id.len() == 8 && full.ends_with(id);
        self.redacted.contains_key(id) || self.redacted.keys().any(is_short_of)
    }

    /// The redactions in `all` that this one lacks.
    pub fn missing(&self, all: &Self) -> Self {
        let unknown = all.redacted.iter().filter(|(id, redacted)| self.redacted.get(*id) != Some(*redacted));
        Tombstones { number: 0, redacted: unknown.map(|(id, redacted)| (id.clone(), redacted.clone())).collect() }
    }

    /// Whether it lacks a redaction in `all`.
    pub fn lacks(&self, all: &Self) -> bool {
        !self.missing(all).redacted.is_empty()
    }

    /// The redacted records, without those only rewritten.
    pub fn gone(&self) -> impl Iterator<Item = &str> {
        self.redacted.iter().filter(|(id, redacted)| redacted.of.contains(*id)).map(|(id, _)| id.as_str())
    }
}

fn too_many(message: String) -> Error {
    Error::storage(message)
        .suggest("See who committed them; the ref must be set back where it comes from.")
        .command(COMMITTERS)
}

/// The placeholder for the hash of a redacted record, if other ids follow.
const GONE: &str = "-";

/// The form of a ref's notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteFormat {
    /// Sets of lines: the data refs.
    Lines,
    /// Blocks: the Markdown ref.
    Blocks,
}

impl NoteFormat {
    /// The form of the notes of a local ref.
    pub fn of(name: &str) -> Self {
        if name == MARKDOWN_REF { NoteFormat::Blocks } else { NoteFormat::Lines }
    }

    /// The union of two versions of a note.
    pub fn unite(self) -> notes::Unite {
        match self {
            NoteFormat::Lines => lines::union,
            NoteFormat::Blocks => blocks::union,
        }
    }

    /// The note without lines or blocks that `stale` redacts; unchanged byte for byte if all of it counts. All blocks
    /// of redacted records are dropped: new ones come with the newer side.
    pub fn without(self, note: Vec<u8>, stale: &Tombstones) -> Vec<u8> {
        if stale.redacted.is_empty() {
            return note;
        }
        match self {
            NoteFormat::Lines => {
                let kept: Vec<&[u8]> = lines::split(&note).filter(|line| stale.permits(line)).collect();
                if kept.len() == lines::split(&note).count() { note } else { lines::canonical(kept) }
            }
            NoteFormat::Blocks => blocks::without(&note, |id| stale.has_id(id)).unwrap_or(note),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(n: u8) -> String {
        format!("019ab000-0000-7000-8000-{n:012x}")
    }

    /// Redactions of few records, which are gone or are without some of few others.
    fn tombstones() -> impl Strategy<Value = Tombstones> {
        let entry = (0u8..4, prop::collection::btree_set(4u8..7, 0..3), 0u8..2);
        prop::collection::vec(entry, 0..5).prop_map(|entries| {
            let redacted = entries.into_iter().map(|(n, of, hash)| {
                let of: BTreeSet<String> = of.into_iter().map(id).collect();
                let gone = of.is_empty();
                let lines = BTreeSet::from([redact::hash(&[hash])]);
                (id(n), if gone { Tombstone::gone(&id(n)) } else { Tombstone { of, lines } })
            });
            Tombstones { number: 1, redacted: redacted.collect() }
        })
    }

    proptest! {
        #[test]
        fn the_union_redacts_whatever_a_side_redacts(a in tombstones(), b in tombstones(), c in tombstones()) {
            let ab = a.united(&b);
            prop_assert_eq!(&ab, &b.united(&a));
            prop_assert_eq!(&ab.united(&b), &ab);
            prop_assert_eq!(&ab.united(&a), &ab);
            for (side, all) in [(&a, &ab), (&b, &ab), (&ab, &ab.united(&c))] {
                for (id, redacted) in &side.redacted {
                    prop_assert!(all.redacted[id].of.is_superset(&redacted.of));
                }
            }
            // round trip
            prop_assert_eq!(&Tombstones::parse(ab.text().as_bytes()), &ab);
            prop_assert!(!ab.lacks(&ab));
            // any order converges
            let one = ab.united(&c);
            let other = a.united(&b.united(&c));
            prop_assert_eq!(one.united(&other), other.united(&one));
        }
    }

    #[test]
    fn if_sides_redact_different_texts_of_a_record_only_its_stub_counts() {
        let line = |text: &str| format!(r#"{{"v":1,"id":"{}","kind":"handoff","text":"{text}"}}"#, id(1)).into_bytes();
        let (first, second) = (line("without a"), line("without b"));
        let of = |n: u8, line: &[u8]| Tombstones {
            number: 1,
            redacted: BTreeMap::from([(
                id(1),
                Tombstone { of: BTreeSet::from([id(n)]), lines: BTreeSet::from([redact::hash(line)]) },
            )]),
        };
        let (a, b) = (of(2, &first), of(3, &second));
        assert!(a.permits(&first) && !a.permits(&second) && b.permits(&second));
        let both = a.united(&b);
        assert!(!both.permits(&first) && !both.permits(&second));
        let stub = redact::stub(&first, None).expect("a stub");
        assert!(both.permits(&stub) && a.permits(&stub));
        assert_eq!(both.gone().collect::<Vec<_>>(), [id(1)]);
        assert!(both.permits(b"a foreign line") && both.permits(line("x").to_ascii_uppercase().as_slice()));
    }

    #[test]
    fn unparsable_lines_are_skipped() {
        let text = format!("x\n{}\nnonsense\n{} short {}\n", id(1), id(2), id(3));
        let parsed = Tombstones::parse(text.as_bytes());
        assert_eq!(parsed.number, 0);
        assert_eq!(parsed.redacted.keys().cloned().collect::<Vec<_>>(), [id(1), id(2)]);
        assert_eq!(Tombstones::parse(b""), Tombstones::default());
        assert_eq!(Tombstones::parse(b"\xff\n"), Tombstones::default());
    }
}
