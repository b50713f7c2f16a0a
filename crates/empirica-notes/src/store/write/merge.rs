//! Merging: unites fetched tips with local ones. Contents are compared, never ancestry.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::format::{lines, redact};
use crate::git::history::reach::is_ancestor;
use crate::git::notes::difference::differences;
use crate::git::{Oid, notes};
use crate::store::Writer;
use crate::store::redact::tombstones::{NAME, NoteFormat, Tombstones};

/// The union of two notes trees.
struct Union {
    tree: Oid,
    /// Whether it equals the first, and the second.
    equals: [bool; 2],
    tombstones: [Tombstones; 2],
}

impl Writer<'_> {
    /// The union of `ours` and `theirs`: one of the two if it contains the other, else a merge commit that depends on
    /// the two alone, so that all clones produce the same. With `publish` it descends from `theirs`, so that it can be
    /// pushed as a fast-forward.
    #[doc(hidden)]
    pub fn merge(&self, name: &str, ours: Option<Oid>, theirs: Oid, publish: bool) -> Result<Oid> {
        let repo = self.store.repo;
        if ours == Some(theirs) {
            return Ok(theirs);
        }
        let second = repo.tree_of(theirs)?;
        let first = self.store.tree(ours)?;
        let union = self.unite(NoteFormat::of(name), first, second)?;
        if union.equals[1] && (first != second || ours.is_none()) {
            return Ok(theirs);
        }
        let all = union.tombstones[0].united(&union.tombstones[1]);
        // the history of a side that lacks a redaction would make the text reachable again
        let has_all = |side: &(Oid, &Tombstones)| !side.1.lacks(&all);
        let sides = ours.into_iter().zip([&union.tombstones[0]]).chain([(theirs, &union.tombstones[1])]);
        let parents: Vec<Oid> = sides.filter(has_all).map(|(tip, _)| tip).collect();
        if let Some(ours) = ours.filter(|_| union.equals[0])
            && (first == second || !publish || parents == [ours] || is_ancestor(repo, theirs, ours))
        {
            return Ok(ours);
        }
        let dates = ours.into_iter().chain([theirs]).map(|tip| repo.commit_seconds(tip));
        let seconds = dates.collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or(0);
        repo.write_merge(union.tree, parents, "Notes merged by 'git empirica'\n", seconds)
    }

    fn unite(&self, form: NoteFormat, first: Oid, second: Oid) -> Result<Union> {
        let repo = self.store.repo;
        let found = differences(repo, first, second)?;
        let tombstones = [Tombstones::of_tree(repo, first)?, Tombstones::of_tree(repo, second)?];
        let all = tombstones[0].merged(&tombstones[1])?;
        let missing = [tombstones[0].missing(&all), tombstones[1].missing(&all)];
        let mut equals = [!found.mixed[0], !found.mixed[1]];
        let mut united: BTreeMap<Oid, Option<Oid>> = BTreeMap::new();
        let mut changes = [0usize; 2];
        for (on, blobs) in &found.notes {
            let note = self.unite_note(form, blobs, &missing, &all)?;
            for side in 0..2 {
                let is_same = note.as_slice() == blobs[side].as_slice();
                equals[side] &= is_same;
                changes[side] += usize::from(!is_same);
            }
            united.insert(*on, note);
        }
        let mut others = Vec::new();
        for (path, sides) in &found.others {
            let best =
                if path == NAME.as_bytes() { Some(all.entry(repo)?.1) } else { sides.iter().flatten().max().copied() };
            (0..2).for_each(|side| equals[side] &= best == sides[side]);
            others.extend(best.map(|best| (path.clone(), best)));
        }
        let tree = match equals {
            // the same notes in two layouts: all clones choose the same
            [true, true] => {
                equals = [first <= second, second <= first];
                first.min(second)
            }
            [true, false] => first,
            [false, true] => second,
            [false, false] => {
                // on the side with a consistent layout and fewer changes; the same in all clones
                let trees = [first, second];
                let rank = |side: usize| (found.mixed[side], changes[side], trees[side]);
                let base = usize::from(rank(1) < rank(0));
                united.retain(|on, blob| blob.as_slice() != found.notes[on][base].as_slice());
                others.retain(|(path, other)| found.others[path][base] != Some(*other));
                notes::rebuild_tree(repo, trees[base], &united, &others, form.unite(), found.mixed[base])?
            }
        };
        // the result can still equal one of them
        let equals = [equals[0] || tree == first, equals[1] || tree == second];
        Ok(Union { tree, equals, tombstones })
    }

    /// The union of a note that differs between the sides; `None` if no line counts.
    fn unite_note(
        &self,
        form: NoteFormat,
        blobs: &[Vec<Oid>; 2],
        missing: &[Tombstones; 2],
        all: &Tombstones,
    ) -> Result<Option<Oid>> {
        // a note that only ours has stays unread
        if let ([only], []) = (blobs[0].as_slice(), blobs[1].as_slice())
            && missing[0].redacted.is_empty()
        {
            return Ok(Some(*only));
        }
        let mut read: Vec<(Oid, Vec<u8>)> = Vec::new();
        let mut united: Option<Vec<u8>> = None;
        for (side, blob) in blobs.iter().enumerate().flat_map(|(side, blobs)| blobs.iter().map(move |b| (side, *b))) {
            let text = self.store.read_note(blob)?;
            if side == 1 && form == NoteFormat::Lines {
                self.store.observe_ids(lines::split(&text));
            }
            let counts = form.without(text.clone(), &missing[side]);
            if side == 0 && form == NoteFormat::Lines && counts != text {
                let left: BTreeSet<&[u8]> = lines::split(&counts).collect();
                let dropped = lines::split(&text).filter(|line| !left.contains(line) && !redact::is_stub(line));
                self.store.redacted_by_others.borrow_mut().extend(dropped.filter_map(lines::id).map(str::to_owned));
            }
            // a note without counting lines is dropped
            if counts == text || !counts.is_empty() {
                united = Some(united.map_or_else(|| counts.clone(), |united| form.unite()(&united, &counts)));
            }
            read.push((blob, text));
        }
        if form == NoteFormat::Lines && missing.iter().any(|missing| !missing.redacted.is_empty()) {
            united = with_stubs(united, read.iter().map(|(_, text)| text.as_slice()), all);
        }
        let Some(united) = united else { return Ok(None) };
        match read.into_iter().find(|(_, text)| *text == united) {
            Some((blob, _)) => Ok(Some(blob)),
            None => self.store.repo.write_blob(&united).map(Some),
        }
    }
}

/// Adds a stub for each redacted record that has no line left in the note.
fn with_stubs<'n>(note: Option<Vec<u8>>, read: impl Iterator<Item = &'n [u8]>, all: &Tombstones) -> Option<Vec<u8>> {
    let gone: BTreeSet<&str> = all.gone().collect();
    let kept_ids: BTreeSet<&str> = note.iter().flat_map(|note| lines::split(note)).filter_map(lines::id).collect();
    let is_lost = |line: &&[u8]| lines::id(line).is_some_and(|id| gone.contains(id) && !kept_ids.contains(id));
    let stubs: Vec<Vec<u8>> =
        read.flat_map(lines::split).filter(is_lost).filter_map(|line| redact::stub(line, None)).collect();
    if stubs.is_empty() {
        return note;
    }
    let kept = note.iter().flat_map(|note| lines::split(note));
    Some(lines::canonical(kept.chain(stubs.iter().map(Vec::as_slice))))
}
