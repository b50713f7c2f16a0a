//! Rescue: rewrites refs with damaged or missing objects from the readable rest: older versions of the notes in their
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
use crate::git::{Oid, RefUpdate, notes, parse_oid};
use crate::model::Namespace;
use crate::store::log::written;
use crate::store::redact::tombstones::{NAME, NoteFormat, Tombstones};
use crate::store::write::session_notes;
use crate::store::write::tips::Tips;
use crate::store::{MARKDOWN_REF, Recovery, TRACKING, data_ref, own_refs};

/// The message of the new commits.
const MESSAGE: &str = "Notes rewritten by 'git empirica' without damaged objects";

/// A ref that led to damaged or missing objects and was rewritten without them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rescued {
    /// The ref.
    #[serde(rename = "ref")]
    pub name: String,
    /// Its tip before.
    pub from: String,
    /// The number of notes that are an older version now, or gone. Notes of an unreadable tree do not count.
    #[serde(rename = "damaged")]
    pub notes: usize,
    /// Whether only its history is damaged, and every note unchanged.
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
    redactions: Tombstones,
    /// The entries that are not notes.
    others: BTreeMap<Vec<u8>, Other>,
}

impl Recovery<'_> {
    /// The newest readable value of a ref before its unreadable `tip`; `None` without one.
    pub(crate) fn before_damage(&self, name: &str, tip: Oid) -> Option<Oid> {
        self.store.repo.reflog_values(name).into_iter().find(|id| *id != tip && self.is_readable(*id))
    }

    /// Whether a notes commit and its tree are readable.
    pub fn is_readable(&self, tip: Oid) -> bool {
        let repo = self.store.repo;
        let is_here = |tree| tree == repo.empty_tree() || repo.has_object(tree) || is_partial(repo);
        repo.tree_of(tip).is_ok_and(is_here)
    }

    /// The local refs with unreadable tips.
    pub(crate) fn unreadable_tips(&self) -> Vec<(String, Oid)> {
        let tips = own_refs().into_iter().filter_map(|name| Some((self.store.repo.find_ref(&name).ok()??, name)));
        tips.filter(|(tip, _)| !self.is_readable(*tip)).map(|(tip, name)| (name, tip)).collect()
    }

    /// Rewrites the local refs with damaged or missing objects without these, and removes such tracking refs. The next
    /// sync restores the notes that remotes have, the next flush the records that were written lately.
    pub fn rescue(&self, warnings: &mut Vec<String>) -> Result<Vec<Rescued>> {
        let _lock = self.store.locked()?;
        written::take_again(&written::all(&self.store.paths));
        self.rescue_locked(warnings)
    }

    /// As [`Self::rescue`]; the caller holds the lock.
    pub(crate) fn rescue_locked(&self, warnings: &mut Vec<String>) -> Result<Vec<Rescued>> {
        let repo = self.store.repo;
        let mut tips = Tips::load(&self.store.paths);
        let mut integrity = Integrity::new(repo);
        let mut out = Vec::new();
        for name in own_refs() {
            let Some(tip) = repo.find_ref(&name)?.filter(|tip| !integrity.has_whole_history(*tip)) else {
                continue;
            };
            let saved = tips.refs.get(&name).copied();
            let past = self.readable_past(&name, tip, saved, &mut integrity)?;
            let is_whole = past.damaged.is_empty() && past.is_listed;
            let notes = past.damaged.len();
            match self.write_rescued(&name, past)? {
                Some(new) => {
                    let updates = [RefUpdate { name: name.clone(), new, expected: Some(tip) }];
                    let moved = repo.update_refs(&updates, &format!("notes: {MESSAGE}"), &repo.identity());
                    moved.map_err(|error| self.store.writer().not_updated(&updates, error))?;
                    tips.refs.insert(name.clone(), new);
                }
                None => {
                    delete::delete(repo, &[(name.clone(), tip)])?;
                    tips.refs.remove(&name);
                }
            }
            out.push(Rescued { name, from: tip.to_string(), notes, is_whole });
        }
        let broken: Vec<(String, Oid)> =
            self.store.tracking().into_iter().filter(|(_, tip)| !integrity.has_whole_history(*tip)).collect();
        delete::delete(repo, &broken)?;
        if out.is_empty() {
            return Ok(out);
        }
        let names: Vec<String> = out.iter().map(|rescued| rescued.name.clone()).collect();
        if let Err(error) = delete::expire_damaged(repo, &names) {
            warnings.push(format!("cannot expire reflog entries with damaged objects: {error}"));
        }
        session_notes::forget_all(&self.store.paths)?;
        if let Err(error) = self.store.paths.remove_index() {
            warnings.push(format!("cannot remove the index: {error}"));
        }
        // tracking refs are united again
        tips.refs.retain(|name, _| !name.starts_with(TRACKING));
        tips.save(&self.store.paths);
        self.heal_locked(warnings)?.save(&self.store.paths);
        Ok(out)
    }

    /// Walks the history from the tip, then from older values of the ref, until a commit is intact.
    fn readable_past(
        &self,
        name: &str,
        tip: Oid,
        saved: Option<Oid>,
        integrity: &mut Integrity<'_>,
    ) -> Result<ReadablePast> {
        // if one ref's redactions are damaged, the others have them
        let mut past = ReadablePast { redactions: self.own_tombstones()?, ..ReadablePast::default() };
        let mut seen = HashSet::new();
        let dated = |id: Oid| (self.store.repo.commit_seconds(id).unwrap_or_default(), id);
        for start in [tip].into_iter().chain(saved).chain(self.store.repo.reflog_values(name)) {
            let mut pending = BinaryHeap::from([dated(start)]);
            while let Some((_, commit)) = pending.pop() {
                let Some(parents) = integrity.parents(commit).filter(|_| seen.insert(commit)) else { continue };
                self.collect(commit, commit == tip, integrity, &mut past)?;
                if integrity.has_whole_history(commit) {
                    past.bases.push(commit);
                    continue;
                }
                pending.extend(parents.into_iter().map(dated));
            }
            if !past.bases.is_empty() {
                break;
            }
        }
        if !past.is_listed {
            if name == MARKDOWN_REF {
                self.collect_rendered(&mut past)?;
            } else {
                self.collect_dangling(name, &mut past)?;
            }
        }
        Ok(past)
    }

    /// Collects readable notes of a commit in place of unreadable ones of the tip.
    fn collect(&self, commit: Oid, is_tip: bool, integrity: &mut Integrity<'_>, past: &mut ReadablePast) -> Result<()> {
        let repo = self.store.repo;
        let Ok(tree) = repo.tree_of(commit) else { return Ok(()) };
        let mut is_listed = true;
        let found = notes::entries_skipping_unreadable(repo, tree, &mut |_, _| {
            is_listed = false;
            Ok(())
        })?;
        past.redactions = past.redactions.united(&Tombstones::of_tree(repo, tree).unwrap_or_default());
        for (path, other) in found.others().filter(|(path, _)| *path != NAME.as_bytes()) {
            if !past.others.contains_key(path) && integrity.has_whole(other) {
                past.others.insert(path.to_vec(), other);
            }
        }
        if is_tip {
            past.is_listed = is_listed;
        }
        let settled: BTreeSet<Oid> = match is_tip {
            true => BTreeSet::new(),
            false => past.notes.keys().filter(|on| !past.damaged.contains(*on)).copied().collect(),
        };
        for (on, blob) in found.notes {
            let is_here = repo.read_blob(blob).is_ok_and(|note| note.is_some());
            let is_wanted = is_tip || !past.is_listed || past.damaged.contains(&on);
            if is_tip && !is_here {
                past.damaged.insert(on);
            } else if is_here && is_wanted && !settled.contains(&on) {
                past.notes.entry(on).or_default().insert(blob);
            }
        }
        Ok(())
    }

    /// If the tip or its trees are unreadable, the rest may exist as dangling objects: collects their records that are
    /// found nowhere else.
    fn collect_dangling(&self, name: &str, past: &mut ReadablePast) -> Result<()> {
        let repo = self.store.repo;
        let mut found_ids = BTreeSet::new();
        for blob in past.notes.values().flatten() {
            let note = repo.read_blob(*blob)?.unwrap_or_default();
            found_ids.extend(lines::split(&note).filter_map(lines::id).map(str::to_owned));
        }
        let mut notes = Vec::new();
        let dangling = dangling(repo)?;
        for tree in dangling.trees {
            past.redactions = past.redactions.united(&Tombstones::of_tree(repo, tree).unwrap_or_default());
            let listed = notes::entries_skipping_unreadable(repo, tree, &mut |_, _| Ok(()))?.notes;
            notes.extend(listed.into_iter().map(|(on, blob)| (Some(on), blob)));
        }
        // if a note's tree is gone, its records name the commits they were made on
        notes.extend(dangling.blobs.into_iter().map(|blob| (None, blob)));
        let is_new = |line: &&[u8]| {
            let namespace = record::decode(line).and_then(|record| record.body.namespace());
            namespace.is_some_and(|namespace| data_ref(namespace) == name)
                && lines::id(line).is_some_and(|id| !found_ids.contains(id))
                && past.redactions.permits(line)
        };
        let mut taken: BTreeMap<Oid, Vec<Vec<u8>>> = BTreeMap::new();
        for (on, blob) in notes {
            let Ok(Some(note)) = repo.read_blob(blob) else { continue };
            for line in lines::split(&note).filter(is_new) {
                let made_on = || record::decode(line)?.envelope.commit.as_deref().and_then(parse_oid);
                let on = on.or_else(made_on).unwrap_or_else(|| repo.empty_tree());
                taken.entry(on).or_default().push(line.to_vec());
            }
        }
        for (on, new) in taken {
            let new = repo.write_blob(&lines::canonical(new.iter().map(Vec::as_slice)))?;
            past.notes.entry(on).or_default().insert(new);
        }
        Ok(())
    }

    /// Collects the Markdown of handoffs that the Markdown ref lacks.
    fn collect_rendered(&self, past: &mut ReadablePast) -> Result<()> {
        let repo = self.store.repo;
        for (on, blob) in self.store.notes(repo.find_ref(&data_ref(Namespace::Handoffs))?)? {
            let note = repo.read_blob(blob)?.unwrap_or_default();
            let mut existing = Vec::new();
            for blob in past.notes.get(&on).into_iter().flatten() {
                existing = blocks::union(&existing, &repo.read_blob(*blob)?.unwrap_or_default());
            }
            let new =
                self.store.writer().blocks(on, lines::split(&note), &blocks::earlier(&existing)).unwrap_or_default();
            if !new.is_empty() {
                let new = repo.write_blob(&blocks::union_all(new.iter().map(String::as_bytes)))?;
                past.notes.entry(on).or_default().insert(new);
            }
        }
        Ok(())
    }

    /// Writes a commit of the readable notes, on top of the intact history; returns the intact commit itself if that is
    /// all. `None` if nothing is left.
    fn write_rescued(&self, name: &str, past: ReadablePast) -> Result<Option<Oid>> {
        let form = NoteFormat::of(name);
        let mut edits: BTreeMap<Oid, Option<Oid>> = BTreeMap::new();
        for (on, blobs) in past.notes {
            let mut united: Option<Vec<u8>> = None;
            for blob in blobs {
                let note = form.without(self.store.repo.read_blob(blob)?.unwrap_or_default(), &past.redactions);
                united = Some(united.map_or_else(|| note.clone(), |united| form.unite()(&united, &note)));
            }
            edits.insert(on, united.map(|note| self.store.repo.write_blob(&note)).transpose()?);
        }
        let base = self.store.tree(past.bases.first().copied())?;
        for (on, _) in notes::entries(self.store.repo, base)?.notes {
            // it was removed since
            edits.entry(on).or_insert(None);
        }
        let mut others: Vec<(Vec<u8>, Other)> = past.others.into_iter().collect();
        if !past.redactions.is_empty() {
            others.push(past.redactions.entry(self.store.repo)?);
        }
        let tree = notes::rebuild_tree(self.store.repo, base, &edits, &others, form.unite(), false)?;
        match past.bases.as_slice() {
            [] if tree == self.store.repo.empty_tree() => Ok(None),
            [only] if tree == base => Ok(Some(*only)),
            _ => self
                .store
                .repo
                .write_commit(tree, past.bases, &format!("{MESSAGE}\n"), &self.store.repo.identity())
                .map(Some),
        }
    }
}
