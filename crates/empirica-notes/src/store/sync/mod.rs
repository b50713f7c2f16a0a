//! Compares the local refs with those of a remote, unites them, and records the remote's tips.

pub mod policy;
pub mod server_state;

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};
use crate::format::{blocks, lines};
use crate::git::history::reach::is_ancestor;
use crate::git::notes::difference::differences;
use crate::git::refs::delete;
use crate::git::remotes::transfer::Update;
use crate::git::{Oid, RefUpdate, UpdateError, notes};
use crate::store::redact::forget::MESSAGE;
use crate::store::redact::tombstones::Tombstones;
use crate::store::write::tips::Tips;
use crate::store::{NoteFormat, PREFIX, Remotes, log, namespace_of, own_refs, tracking_ref};

/// A local ref compared with the same ref of a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefComparison {
    /// The local ref.
    pub name: String,
    /// The local tip.
    pub ours: Option<Oid>,
    /// The remote's tip, as last seen.
    pub theirs: Option<Oid>,
    /// Whether both have the same tree.
    pub equal: bool,
}

/// A line that one side lacks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// The record's id; `None` for a foreign line.
    pub id: Option<String>,
    /// The line without its LF.
    pub bytes: Vec<u8>,
}

/// The difference to transfer for one ref. A line on several commits counts once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransferLines {
    /// The lines; empty for the Markdown ref.
    pub lines: Vec<Line>,
    /// The number of notes that differ.
    pub notes: usize,
}

impl Remotes<'_> {
    /// Compares all local refs with the tracking refs of a remote. `present` lists the refs that the remote has, if
    /// known.
    pub fn compare_refs(&self, tracking: &str, present: Option<&BTreeSet<String>>) -> Result<Vec<RefComparison>> {
        let compare = |name: String| {
            let tracked = tracking_ref(tracking, &name);
            let is_present = present.is_none_or(|present| present.contains(&tracked));
            let ours = self.store.repo.find_ref(&name)?;
            let theirs = if is_present { self.store.repo.find_ref(&tracked)? } else { None };
            // what cannot be read differs
            let same_tree = || matches!((self.store.tree(ours), self.store.tree(theirs)), (Ok(a), Ok(b)) if a == b);
            let equal = ours == theirs || (ours.is_some() && theirs.is_some() && same_tree());
            Ok(RefComparison { name, ours, theirs, equal })
        };
        own_refs().into_iter().map(compare).collect()
    }

    /// The records that the tracking refs of a remote got since they were last united, as by a dry run or `git fetch`, and our refs
    /// lack, by ref.
    pub fn not_united(&self, tracking: &str) -> Result<BTreeMap<String, TransferLines>> {
        let tips = Tips::load(&self.store.paths);
        let mut refs = self.compare_refs(tracking, None)?;
        refs.retain(|compared| {
            let known = tips.refs.get(&tracking_ref(tracking, &compared.name));
            !compared.equal && compared.theirs.is_some_and(|theirs| known != Some(&theirs))
        });
        refs.into_iter().map(|compared| Ok((compared.name.clone(), self.lines_to_transfer(&compared)?.0))).collect()
    }

    /// As compared, but the local tip is replaced by the remote's notes after local redactions, without unpublished
    /// lines. Equal if the remote has all redactions. Call it after its notes were united.
    pub fn with_redactions_only(&self, comparison: RefComparison) -> Result<RefComparison> {
        let repo = self.store.repo;
        let unchanged = |comparison| Ok(RefComparison { equal: true, ..comparison });
        let (Some(ours), Some(theirs)) = (comparison.ours, comparison.theirs) else { return unchanged(comparison) };
        let redactions = Tombstones::of(repo, Some(ours))?;
        if !Tombstones::of(repo, Some(theirs))?.lacks(&redactions) {
            return unchanged(comparison);
        }
        let form = NoteFormat::of(&comparison.name);
        let (first, second) = (repo.tree_of(ours)?, repo.tree_of(theirs)?);
        let mut edits = BTreeMap::new();
        for (on, [ours, theirs]) in differences(repo, first, second)?.notes {
            if theirs.is_empty() {
                continue;
            }
            let note = self.redacted(form, &self.joined(&theirs)?, &self.joined(&ours)?, &redactions);
            edits.insert(on, if note.is_empty() { None } else { Some(repo.write_blob(&note)?) });
        }
        let others = [redactions.entry(repo)?];
        let tree = notes::rebuild_tree(repo, second, &edits, &others, form.unite(), false)?;
        let seconds = repo.commit_seconds(ours)?;
        // no parents: theirs have the text, ours have unpublished lines
        let tip = repo.write_merge(tree, Vec::new(), MESSAGE, seconds)?;
        Ok(RefComparison { ours: Some(tip), ..comparison })
    }

    /// The remote note with local versions of redacted records, and without redacted texts.
    fn redacted(&self, form: NoteFormat, theirs: &[u8], ours: &[u8], redactions: &Tombstones) -> Vec<u8> {
        let texts = self.store.forgotten.borrow();
        match form {
            NoteFormat::Lines => {
                let is_redacted = |line: &&[u8]| lines::id(line).is_some_and(|id| redactions.redacted.contains_key(id));
                let (redacted, rest): (Vec<&[u8]>, Vec<&[u8]>) = lines::split(theirs).partition(is_redacted);
                let ids: BTreeSet<&str> = redacted.into_iter().filter_map(lines::id).collect();
                let is_own =
                    |line: &&[u8]| lines::id(line).is_some_and(|id| ids.contains(id)) && redactions.permits(line);
                let rest = texts.remove_from_note(true, lines::canonical(rest));
                lines::canonical(lines::split(ours).filter(is_own).chain(lines::split(&rest)))
            }
            NoteFormat::Blocks => {
                let rest = texts.remove_from_note(false, theirs.to_vec());
                let rest = blocks::without(&rest, |id| redactions.has_id(id)).unwrap_or(rest);
                let ids = |note: &[u8]| -> BTreeSet<String> {
                    blocks::texts(note).into_iter().filter_map(|(id, _)| id).collect()
                };
                let gone: BTreeSet<String> = ids(theirs).difference(&ids(&rest)).cloned().collect();
                let mut own = blocks::texts(ours);
                own.retain(|(id, _)| id.as_ref().is_some_and(|id| gone.contains(id)));
                blocks::union_all(own.iter().map(|(_, text)| text.as_bytes()).chain([rest.as_slice()]))
            }
        }
    }

    /// The content of a note, which a tree may list twice.
    fn joined(&self, blobs: &[Oid]) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        for blob in blobs {
            let note = self.store.repo.read_blob(*blob)?.unwrap_or_default();
            if text.is_empty() {
                // mostly the only one, and perhaps large
                text = note;
            } else {
                text.push(b'\n');
                text.extend(note);
            }
        }
        Ok(text)
    }

    /// The lines that are missing here, then those missing in the remote, including pending ones.
    pub fn lines_to_transfer(&self, comparison: &RefComparison) -> Result<(TransferLines, TransferLines)> {
        let repo = self.store.repo;
        let found = differences(repo, self.store.tree(comparison.ours)?, self.store.tree(comparison.theirs)?)?;
        let is_lines = NoteFormat::of(&comparison.name) == NoteFormat::Lines;
        let mut lines: [BTreeSet<Vec<u8>>; 2] = Default::default();
        let mut notes = [0usize; 2];
        for blobs in found.notes.values() {
            let texts = [self.joined(&blobs[0])?, self.joined(&blobs[1])?];
            if !is_lines {
                let unite = NoteFormat::Blocks.unite();
                let both = unite(&texts[0], &texts[1]);
                // blocks that the union adds to a side come from the other side
                (0..2).for_each(|side| notes[side] += usize::from(both != unite(&texts[1 - side], b"")));
                continue;
            }
            let sets = [0, 1].map(|side| lines::split(&texts[side]).collect::<BTreeSet<&[u8]>>());
            for side in 0..2 {
                let mut only = sets[side].difference(&sets[1 - side]).peekable();
                notes[side] += usize::from(only.peek().is_some());
                lines[side].extend(only.map(|line| line.to_vec()));
            }
        }
        // redacted lines are not transferred
        let all = Tombstones::of(repo, comparison.ours)?.united(&Tombstones::of(repo, comparison.theirs)?);
        lines.iter_mut().for_each(|lines| lines.retain(|line| all.permits(line)));
        let namespace = namespace_of(&comparison.name);
        let pending = log::read(&self.store.paths).into_iter().filter(|pending| Some(pending.namespace) == namespace);
        lines[0].extend(pending.map(|pending| pending.line));
        let [ours, theirs] = lines.map(|lines| lines.into_iter().map(to_line).collect());
        Ok((TransferLines { lines: theirs, notes: notes[1] }, TransferLines { lines: ours, notes: notes[0] }))
    }

    /// Whether all remote objects needed for the union exist here; a partial clone may lack some.
    pub fn is_whole(&self, comparison: &RefComparison) -> bool {
        self.store
            .recovery()
            .missing_between(comparison.ours, comparison.theirs)
            .is_ok_and(|missing| missing.is_empty())
    }

    /// Unites the remote's tips into the local refs for which `publish` returns true, so that they can be pushed as
    /// fast-forwards. Returns warnings for the user.
    pub fn unite(
        &self,
        comparisons: &[RefComparison],
        publish: impl Fn(&str) -> bool,
    ) -> Result<(Vec<String>, BTreeMap<String, Error>)> {
        let mut warnings = Vec::new();
        let _lock = self.store.locked()?;
        let mut tips = self.store.recovery().heal_locked(&mut warnings)?;
        let mut failed = BTreeMap::new();
        for comparison in comparisons {
            let Some(theirs) = comparison.theirs.filter(|_| publish(&comparison.name)) else { continue };
            if let Err(error) = self.store.recovery().unite_tip(&comparison.name, theirs, true, &mut tips) {
                failed.insert(comparison.name.clone(), error);
            }
        }
        tips.save(&self.store.paths);
        self.store.recovery().tell_redactions(&mut warnings);
        Ok((warnings, failed))
    }

    /// The update that pushes a local ref; `None` without a local tip. It is forced only if a redaction cut off the
    /// remote's history.
    pub fn push_update(&self, comparison: &RefComparison) -> Result<Option<Update>> {
        let repo = self.store.repo;
        let Some(new) = comparison.ours else { return Ok(None) };
        let mut lease = None;
        if let Some(theirs) = comparison.theirs {
            let (ours, remote) = (Tombstones::of(repo, Some(new))?, Tombstones::of(repo, Some(theirs))?);
            let is_cut_off = remote.lacks(&ours) && !is_ancestor(repo, theirs, new);
            lease = is_cut_off.then_some(theirs);
        }
        Ok(Some(Update { name: comparison.name.clone(), new, lease }))
    }

    /// Records the result of a push in the tracking refs and the saved tips.
    pub fn record_push(&self, tracking: &str, updates: &[(String, Oid)]) -> Result<()> {
        let repo = self.store.repo;
        let _lock = self.store.locked()?;
        let mut tips = Tips::load(&self.store.paths);
        let mut moved = Vec::new();
        for (name, new) in updates {
            let name = tracking_ref(tracking, name);
            let expected = repo.find_ref(&name)?;
            tips.refs.insert(name.clone(), *new);
            if expected != Some(*new) {
                moved.push(RefUpdate { name, new: *new, expected });
            }
        }
        let lacks_redactions = |update: &&RefUpdate| {
            let of = |tip| Tombstones::of(repo, tip).unwrap_or_default();
            of(update.expected).lacks(&of(Some(update.new)))
        };
        let cut_off: Vec<String> = moved.iter().filter(lacks_redactions).map(|update| update.name.clone()).collect();
        match repo.update_refs(&moved, "notes: pushed by 'git empirica'", &repo.identity()) {
            // another process fetched meanwhile, which has the same effect
            Ok(()) | Err(UpdateError::Contended(_)) => delete::expire_reflogs(repo, &cut_off)?,
            Err(error) => {
                return Err(Error::storage("cannot update the tracking refs")
                    .suggest("The remote has the records; check the refs and their permissions.")
                    .command(format!("git for-each-ref {PREFIX}"))
                    .caused_by(error));
            }
        }
        tips.save(&self.store.paths);
        Ok(())
    }
}

fn to_line(bytes: Vec<u8>) -> Line {
    Line { id: lines::id(&bytes).map(str::to_owned), bytes }
}
