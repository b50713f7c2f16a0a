//! Rescue: rewrites refs with damaged or missing objects from what is readable: older versions of the notes in their
//! history and reflog, and unreachable trees.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::format::{blocks, lines, record};
use crate::git::notes::difference::Other;
use crate::git::objects::integrity::{Integrity, dangling};
use crate::git::refs::delete;
use crate::git::remotes::is_partial;
use crate::git::{Oid, RefUpdate, UpdateError, notes, parse_oid};
use crate::model::Namespace;
use crate::store::redact::tombstones::{Epoch, Form, NAME};
use crate::store::write::tips::Tips;
use crate::store::write::touched;
use crate::store::{PREFIX, Store, data_ref, our_refs};

/// A ref that led to damaged or missing objects and was rewritten without them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rescued {
    /// The ref.
    #[serde(rename = "ref")]
    pub name: String,
    /// The tip it had.
    pub from: String,
    /// How many notes are an older version now, or gone, as far as is known; notes of a tree that cannot be read do not count.
    #[serde(rename = "damaged")]
    pub notes: usize,
    /// Whether only its history is damaged: every note is as it was.
    #[serde(rename = "whole")]
    pub is_whole: bool,
}

/// The readable part of a ref's history.
#[derive(Default)]
struct ReadablePast {
    /// The newest commits that are intact with all their history.
    bases: Vec<Oid>,
    /// Versions of notes by annotated object: that of the tip if readable, else all older ones.
    notes: BTreeMap<Oid, BTreeSet<Oid>>,
    /// The unreadable notes of the tip.
    damaged: BTreeSet<Oid>,
    /// Whether all trees of the tip are readable, so that the notes are complete.
    is_listed: bool,
    /// The redactions.
    epoch: Epoch,
    /// The entries that are not notes.
    others: BTreeMap<Vec<u8>, Other>,
}

impl Store<'_> {
    /// The newest readable value of a ref before its unreadable `tip`; `None` without one.
    pub(crate) fn before_damage(&self, name: &str, tip: Oid) -> Option<Oid> {
        self.repo.values_of(name).into_iter().find(|id| *id != tip && self.is_readable(*id))
    }

    /// Whether a notes commit and its tree are readable.
    pub fn is_readable(&self, tip: Oid) -> bool {
        let is_here = |tree| tree == self.repo.empty_tree() || self.repo.has_object(tree) || is_partial(self.repo);
        self.repo.tree_of(tip).is_ok_and(is_here)
    }

    /// The local refs with unreadable tips.
    pub fn unreadable_tips(&self) -> Vec<(String, Oid)> {
        let tips = our_refs().into_iter().filter_map(|(name, _)| Some((self.repo.find_ref(&name).ok()??, name)));
        tips.filter(|(tip, _)| !self.is_readable(*tip)).map(|(tip, name)| (name, tip)).collect()
    }

    /// Rewrites the local refs with damaged or missing objects without these, and removes such tracking refs. The next
    /// sync brings back what remotes have.
    pub fn rescue(&self, warnings: &mut Vec<String>) -> Result<Vec<Rescued>> {
        let _lock = self.locked()?;
        let mut tips = Tips::load(&self.paths);
        let mut integrity = Integrity::new(self.repo);
        let mut out = Vec::new();
        for (name, form) in our_refs() {
            let Some(tip) = self.repo.find_ref(&name)?.filter(|tip| !integrity.has_whole_history(*tip)) else {
                continue;
            };
            let remembered = tips.refs.get(&name).copied();
            let left = self.left(&name, form, tip, remembered, &mut integrity)?;
            let is_whole = left.damaged.is_empty() && left.is_listed;
            let notes = left.damaged.len();
            match self.write_rescued(form, left)? {
                Some(new) => {
                    self.set(&name, tip, new)?;
                    tips.refs.insert(name.clone(), new);
                }
                None => {
                    delete::delete(self.repo, &[(name.clone(), tip)])?;
                    tips.refs.remove(&name);
                }
            }
            out.push(Rescued { name, from: tip.to_string(), notes, is_whole });
        }
        let broken: Vec<(String, Oid)> =
            self.tracking().into_iter().filter(|(_, tip)| !integrity.has_whole_history(*tip)).collect();
        delete::delete(self.repo, &broken)?;
        if out.is_empty() {
            return Ok(out);
        }
        let names: Vec<String> = out.iter().map(|rescued| rescued.name.clone()).collect();
        if let Err(error) = delete::expire_damaged(self.repo, &names) {
            warnings.push(format!("cannot expire reflog entries with damaged objects: {error}"));
        }
        touched::forget_all(&self.paths).map_err(|error| touched::unusable(&self.paths, error))?;
        if let Err(error) = self.paths.remove_index() {
            warnings.push(format!("cannot remove the index: {error}"));
        }
        // tracking refs are united again
        tips.refs.retain(|name, _| !name.starts_with(&format!("{PREFIX}remotes/")));
        tips.save(&self.paths);
        self.heal_locked(warnings)?.save(&self.paths);
        Ok(out)
    }

    fn set(&self, name: &str, from: Oid, new: Oid) -> Result<()> {
        let update = RefUpdate { name: name.to_owned(), new, expected: Some(from) };
        let who = self.repo.identity();
        let moved = self.repo.update_refs(
            std::slice::from_ref(&update),
            "notes: Notes written anew by 'git empirica' without what is damaged",
            &who,
        );
        moved.map_err(|error: UpdateError| self.not_updated(&[update], error))
    }

    /// Walks the history from the tip, then from older values of the ref, until a commit is intact.
    fn left(
        &self,
        name: &str,
        form: Form,
        tip: Oid,
        remembered: Option<Oid>,
        integrity: &mut Integrity<'_>,
    ) -> Result<ReadablePast> {
        // if one ref's epoch is damaged, the others have it
        let mut left = ReadablePast { epoch: self.own_epochs()?, ..ReadablePast::default() };
        let mut seen = HashSet::new();
        let starts = [tip].into_iter().chain(remembered).chain(self.repo.values_of(name));
        for start in starts {
            let mut pending = BinaryHeap::from([(self.repo.commit_seconds(start).unwrap_or_default(), start)]);
            while let Some((_, commit)) = pending.pop() {
                let Some(parents) = integrity.parents(commit).filter(|_| seen.insert(commit)) else { continue };
                self.take(commit, commit == tip, integrity, &mut left)?;
                if integrity.has_whole_history(commit) {
                    left.bases.push(commit);
                    continue;
                }
                let seconds = |id: Oid| self.repo.commit_seconds(id).unwrap_or_default();
                pending.extend(parents.into_iter().map(|parent| (seconds(parent), parent)));
            }
            if !left.bases.is_empty() {
                break;
            }
        }
        if !left.is_listed {
            self.take_dangling(name, form, &mut left)?;
        }
        Ok(left)
    }

    /// Collects readable notes of a commit in place of unreadable ones of the tip.
    fn take(&self, commit: Oid, is_tip: bool, integrity: &mut Integrity<'_>, left: &mut ReadablePast) -> Result<()> {
        let Ok(tree) = self.repo.tree_of(commit) else { return Ok(()) };
        let mut is_listed = true;
        let found = notes::entries_past(self.repo, tree, &mut |_| {
            is_listed = false;
            Ok(())
        })?;
        left.epoch = left.epoch.united(&Epoch::of_tree(self.repo, tree).unwrap_or_default());
        for (path, other) in found.others().filter(|(path, _)| *path != NAME.as_bytes()) {
            if !left.others.contains_key(path) && integrity.has_whole(other) {
                left.others.insert(path.to_vec(), other);
            }
        }
        if is_tip {
            left.is_listed = is_listed;
        }
        let settled: BTreeSet<Oid> = match is_tip {
            true => BTreeSet::new(),
            false => left.notes.keys().filter(|on| !left.damaged.contains(*on)).copied().collect(),
        };
        for (on, blob) in found.notes {
            let is_here = self.repo.read_blob(blob).is_ok_and(|note| note.is_some());
            let is_wanted = is_tip || !left.is_listed || left.damaged.contains(&on);
            if is_tip && !is_here {
                left.damaged.insert(on);
            } else if is_here && is_wanted && !settled.contains(&on) {
                left.notes.entry(on).or_default().insert(blob);
            }
        }
        Ok(())
    }

    /// If the tip or its trees are unreadable, the rest may exist as dangling objects: collects their records that are
    /// found nowhere else, or for the Markdown ref, renders it.
    fn take_dangling(&self, name: &str, form: Form, left: &mut ReadablePast) -> Result<()> {
        if form == Form::Blocks {
            return self.take_rendered(left);
        }
        let mut known = BTreeSet::new();
        for blob in left.notes.values().flatten() {
            let note = self.repo.read_blob(*blob)?.unwrap_or_default();
            known.extend(lines::split(&note).filter_map(lines::id).map(str::to_owned));
        }
        let mut notes = Vec::new();
        let found = dangling(self.repo)?;
        for tree in found.trees {
            left.epoch = left.epoch.united(&Epoch::of_tree(self.repo, tree).unwrap_or_default());
            let listed = notes::entries_past(self.repo, tree, &mut |_| Ok(()))?.notes;
            notes.extend(listed.into_iter().map(|(on, blob)| (Some(on), blob)));
        }
        // if a note's tree is gone, its records name the commits they were made on
        notes.extend(found.blobs.into_iter().map(|blob| (None, blob)));
        let is_new = |line: &&[u8]| {
            let namespace = record::decode(line).and_then(|record| record.body.namespace());
            namespace.is_some_and(|namespace| data_ref(namespace) == name)
                && lines::id(line).is_some_and(|id| !known.contains(id))
                && left.epoch.counts(line)
        };
        let mut taken: BTreeMap<Oid, Vec<Vec<u8>>> = BTreeMap::new();
        for (on, blob) in notes {
            let Ok(Some(note)) = self.repo.read_blob(blob) else { continue };
            for line in lines::split(&note).filter(is_new) {
                let made_on = || record::decode(line)?.head.commit.as_deref().and_then(parse_oid);
                let on = on.or_else(made_on).unwrap_or_else(|| self.repo.empty_tree());
                taken.entry(on).or_default().push(line.to_vec());
            }
        }
        for (on, new) in taken {
            let new = self.repo.write_blob(&lines::canonical(new.iter().map(Vec::as_slice)))?;
            left.notes.entry(on).or_default().insert(new);
        }
        Ok(())
    }

    /// Collects the Markdown of handoffs that the Markdown ref lacks.
    fn take_rendered(&self, left: &mut ReadablePast) -> Result<()> {
        let Some(handoffs) = self.repo.find_ref(&data_ref(Namespace::Handoffs))? else { return Ok(()) };
        for (on, blob) in notes::entries(self.repo, self.repo.tree_of(handoffs)?)?.notes {
            let note = self.repo.read_blob(blob)?.unwrap_or_default();
            let lines: Vec<Vec<u8>> = lines::split(&note).map(<[u8]>::to_vec).collect();
            let rendered = self.blocks(on, &lines, &BTreeSet::new()).unwrap_or_default();
            let mut known = BTreeSet::new();
            for blob in left.notes.get(&on).into_iter().flatten() {
                let note = self.repo.read_blob(*blob)?.unwrap_or_default();
                known.extend(blocks::texts(&note).into_iter().filter_map(|(id, _)| id));
            }
            let is_known = |block: &&String| {
                blocks::texts(block.as_bytes()).into_iter().any(|(id, _)| id.is_some_and(|id| known.contains(&id)))
            };
            let new = rendered.iter().filter(|block| !is_known(block));
            let new = blocks::union_all(new.map(String::as_bytes));
            if !new.is_empty() {
                let blob = self.repo.write_blob(&new)?;
                left.notes.entry(on).or_default().insert(blob);
            }
        }
        Ok(())
    }

    /// Writes a commit of what is left, on top of the intact history; returns the intact commit itself if that is all.
    /// `None` if nothing is left.
    fn write_rescued(&self, form: Form, left: ReadablePast) -> Result<Option<Oid>> {
        let mut edits: BTreeMap<Oid, Option<Oid>> = BTreeMap::new();
        for (on, blobs) in left.notes {
            let mut united: Option<Vec<u8>> = None;
            for blob in &blobs {
                let note = form.without(self.repo.read_blob(*blob)?.unwrap_or_default(), &left.epoch);
                united = Some(united.map_or_else(|| note.clone(), |known| form.unite()(&known, &note)));
            }
            let blob = match blobs.first().filter(|_| blobs.len() == 1 && left.epoch.redacted.is_empty()) {
                Some(only) => *only,
                None => self.repo.write_blob(&united.unwrap_or_default())?,
            };
            edits.insert(on, Some(blob));
        }
        let base = left.bases.first().map(|base| self.repo.tree_of(*base)).transpose()?;
        let base = base.unwrap_or_else(|| self.repo.empty_tree());
        for (on, _) in notes::entries(self.repo, base)?.notes {
            // it was removed since
            edits.entry(on).or_insert(None);
        }
        let mut others: Vec<(Vec<u8>, Other)> = left.others.into_iter().collect();
        if !left.epoch.is_empty() {
            others.push((NAME.into(), Other::file(self.repo.write_blob(left.epoch.text().as_bytes())?)));
        }
        let tree = notes::rebuilt(self.repo, base, &edits, &others, form.unite(), false)?;
        match left.bases.as_slice() {
            [] if tree == self.repo.empty_tree() => Ok(None),
            [only] if tree == base => Ok(Some(*only)),
            _ => {
                let message = "Notes written anew by 'git empirica' without what is damaged\n";
                self.repo.write_commit(tree, left.bases, message, &self.repo.identity()).map(Some)
            }
        }
    }
}
