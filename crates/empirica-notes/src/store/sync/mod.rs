//! Our refs beside those of a remote: what each lacks, uniting them, and remembering what the remote has.

pub mod refused;

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};
use crate::format::{blocks, lines};
use crate::git::history::reach::is_ancestor;
use crate::git::notes::difference::{Other, differences};
use crate::git::refs::delete;
use crate::git::remotes::transfer::Update;
use crate::git::{Oid, RefUpdate, UpdateError, notes};
use crate::model::Namespace;
use crate::store::redact::tombstones::{Epoch, NAME};
use crate::store::write::merge::form_of;
use crate::store::{Form, PREFIX, Store, data_ref, log, our_refs, tracking_ref};

/// One of our refs beside the same ref of a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefComparison {
    /// Our ref.
    pub name: String,
    /// Our tip; `None` without one.
    pub ours: Option<Oid>,
    /// The remote's tip, as last seen; `None` without one.
    pub theirs: Option<Oid>,
    /// Whether both have the same tree.
    pub equal: bool,
}

/// A line that one side has and the other has not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// The record's id; `None` for a line that is no record.
    pub id: Option<String>,
    /// The line.
    pub bytes: Vec<u8>,
}

/// What would travel, or did, of one ref. A line on several commits comes once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransferLines {
    /// The lines; none for the Markdown ref.
    pub lines: Vec<Line>,
    /// How many notes differ.
    pub notes: usize,
}

impl Store<'_> {
    /// All of our refs beside those of the remote whose tracking refs these are. `present` are those that the remote has,
    /// if that is known.
    pub fn standing(&self, tracking: &str, present: Option<&BTreeSet<String>>) -> Result<Vec<RefComparison>> {
        let stand = |(name, _): (String, Form)| {
            let tracked = tracking_ref(tracking, &name);
            let there = present.is_none_or(|present| present.contains(&tracked));
            let ours = self.repo.find_ref(&name)?;
            let theirs = if there { self.repo.find_ref(&tracked)? } else { None };
            let tree = |tip: Option<Oid>| tip.map(|tip| self.repo.tree_of(tip)).transpose();
            let equal = ours == theirs || (theirs.is_some() && tree(ours)? == tree(theirs)?);
            Ok(RefComparison { name, ours, theirs, equal })
        };
        our_refs().into_iter().map(stand).collect()
    }

    /// The same with the remote's notes as redactions of ours make them for our tip: nothing that was never sent is in it. Equal
    /// when the remote knows of all redactions. To be called when its notes are united with ours.
    pub fn redaction_alone(&self, standing: RefComparison) -> Result<RefComparison> {
        let nothing = |standing| Ok(RefComparison { equal: true, ..standing });
        let (Some(ours), Some(theirs)) = (standing.ours, standing.theirs) else { return nothing(standing) };
        let epoch = Epoch::of(self.repo, Some(ours))?;
        if Epoch::of(self.repo, Some(theirs))?.unaware_of(&epoch).redacted.is_empty() {
            return nothing(standing);
        }
        let form = form_of(&standing.name);
        let (first, second) = (self.repo.tree_of(ours)?, self.repo.tree_of(theirs)?);
        let mut edits = BTreeMap::new();
        for (on, [ours, theirs]) in differences(self.repo, first, second)?.notes {
            if theirs.is_empty() {
                continue;
            }
            let note = self.redacted(form, &self.note(&theirs)?, &self.note(&ours)?, &epoch);
            edits.insert(on, if note.is_empty() { None } else { Some(self.repo.write_blob(&note)?) });
        }
        let others = [(NAME.as_bytes().to_vec(), Other::file(self.repo.write_blob(epoch.text().as_bytes())?))];
        let tree = notes::rebuilt(self.repo, second, &edits, &others, form.unite(), false)?;
        let seconds = self.repo.commit_seconds(ours)?;
        // neither history: theirs has the text, ours what was never sent
        let tip = self.repo.write_merge(tree, Vec::new(), "Notes redacted by 'git empirica'\n", seconds)?;
        Ok(RefComparison { ours: Some(tip), ..standing })
    }

    /// A note of theirs with what ours has of the records that were redacted, and else without the texts that are gone.
    fn redacted(&self, form: Form, theirs: &[u8], ours: &[u8], epoch: &Epoch) -> Vec<u8> {
        let texts = self.forgotten.borrow();
        let is_redacted = |id: &str| epoch.redacted.contains_key(id);
        match form {
            Form::Lines => {
                let (known, rest): (Vec<&[u8]>, Vec<&[u8]>) =
                    lines::split(theirs).partition(|line| lines::id(line).is_some_and(is_redacted));
                let known: BTreeSet<&str> = known.into_iter().filter_map(lines::id).collect();
                let is_known =
                    |line: &&[u8]| lines::id(line).is_some_and(|id| known.contains(id)) && epoch.counts(line);
                let rest =
                    rest.into_iter().map(|line| texts.without(line).map_or(line.to_vec(), |without| without.line));
                let rest: Vec<Vec<u8>> = rest.collect();
                lines::canonical(lines::split(ours).filter(is_known).chain(rest.iter().map(Vec::as_slice)))
            }
            Form::Blocks => {
                let rest = blocks::with_texts(theirs, |text| texts.passage(text)).unwrap_or_else(|| theirs.to_vec());
                let rest = blocks::without(&rest, |id| epoch.names(id)).unwrap_or(rest);
                let ids = |note: &[u8]| -> BTreeSet<String> {
                    blocks::texts(note).into_iter().filter_map(|(id, _)| id).collect()
                };
                let gone: BTreeSet<String> = ids(theirs).difference(&ids(&rest)).cloned().collect();
                let own =
                    blocks::texts(ours).into_iter().filter(|(id, _)| id.as_ref().is_some_and(|id| gone.contains(id)));
                let own = own.map(|(_, text)| text);
                let own: Vec<String> = own.collect();
                blocks::union_all(own.iter().map(String::as_bytes).chain([rest.as_slice()]))
            }
        }
    }

    /// A note that a tree may list twice.
    fn note(&self, blobs: &[Oid]) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        for blob in blobs {
            text.extend(self.repo.read_blob(*blob)?.unwrap_or_default());
            text.push(b'\n');
        }
        Ok(text)
    }

    /// What the remote has and we have not, and what we have (the log included) and the remote has not.
    pub fn travelling(&self, standing: &RefComparison) -> Result<(TransferLines, TransferLines)> {
        let tree = |tip: Option<Oid>| tip.map_or_else(|| Ok(self.repo.empty_tree()), |tip| self.repo.tree_of(tip));
        let found = differences(self.repo, tree(standing.ours)?, tree(standing.theirs)?)?;
        let is_lines = form_of(&standing.name) == Form::Lines;
        let mut lines: [BTreeMap<Vec<u8>, Line>; 2] = Default::default();
        let mut notes = [0usize; 2];
        for blobs in found.notes.values() {
            let texts = [self.note(&blobs[0])?, self.note(&blobs[1])?];
            if !is_lines {
                let unite = Form::Blocks.unite();
                let both = unite(&texts[0], &texts[1]);
                // what the union has over a side, the other side brings
                (0..2).for_each(|side| notes[side] += usize::from(both != unite(&texts[1 - side], b"")));
                continue;
            }
            let sets = [0, 1].map(|side| lines::split(&texts[side]).collect::<BTreeSet<&[u8]>>());
            for side in 0..2 {
                let mut only = sets[side].difference(&sets[1 - side]).peekable();
                notes[side] += usize::from(only.peek().is_some());
                lines[side].extend(only.map(|line| (line.to_vec(), to_line(line))));
            }
        }
        // what was redacted does not travel, whoever still has it
        let all = Epoch::of(self.repo, standing.ours)?.united(&Epoch::of(self.repo, standing.theirs)?);
        lines.iter_mut().for_each(|lines| lines.retain(|line, _| all.counts(line)));
        let namespace = Namespace::ALL.into_iter().find(|namespace| data_ref(*namespace) == standing.name);
        let waiting = log::read(&self.paths).into_iter().filter(|waiting| Some(waiting.namespace) == namespace);
        lines[0].extend(waiting.map(|waiting| (waiting.line.clone(), to_line(&waiting.line))));
        let [ours, theirs] = lines.map(|lines| lines.into_values().collect());
        Ok((TransferLines { lines: theirs, notes: notes[1] }, TransferLines { lines: ours, notes: notes[0] }))
    }

    /// Whether all that uniting needs of the remote's notes is here; in a partial clone it may not be.
    pub fn is_whole(&self, standing: &RefComparison) -> bool {
        let tree = |tip: Option<Oid>| tip.map_or_else(|| Ok(self.repo.empty_tree()), |tip| self.repo.tree_of(tip));
        let found = || differences(self.repo, tree(standing.ours)?, tree(standing.theirs)?);
        found().is_ok_and(|found| {
            let epoch = found.others.values().flatten().flatten().map(|other| other.id);
            let notes = found.notes.into_values().flatten().flatten();
            notes.chain(epoch).all(|blob| self.repo.has_object(blob))
        })
    }

    /// Unites the remote's tips with ours. Ours then follow theirs, where `publish` says that they are to be pushed. The lock
    /// is held meanwhile. Returns what the user should know.
    pub fn unite_with(&self, standings: &[RefComparison], publish: impl Fn(&str) -> bool) -> Result<Vec<String>> {
        let mut warnings = Vec::new();
        let _lock = self.locked()?;
        let mut tips = self.heal_locked(&mut warnings)?;
        let mut outcome = Ok(());
        for standing in standings {
            let Some(theirs) = standing.theirs.filter(|_| publish(&standing.name)) else { continue };
            outcome = outcome.and(self.unite_tip(&standing.name, theirs, true, &mut tips));
        }
        tips.save(&self.paths);
        outcome.map(|()| warnings)
    }

    /// How our ref is to be pushed. It is forced only where our tip forgets a history that a redaction cut off.
    pub fn update_for(&self, standing: &RefComparison) -> Result<Option<Update>> {
        let Some(new) = standing.ours else { return Ok(None) };
        let forced = |theirs: Oid| -> Result<bool> {
            let (ours, known) = (Epoch::of(self.repo, Some(new))?, Epoch::of(self.repo, Some(theirs))?);
            Ok(!known.unaware_of(&ours).redacted.is_empty() && !is_ancestor(self.repo, theirs, &new.to_string()))
        };
        let lease = standing.theirs.map(|theirs| Ok::<_, Error>(forced(theirs)?.then_some(theirs))).transpose()?;
        Ok(Some(Update { name: standing.name.clone(), new, lease: lease.flatten() }))
    }

    /// Remembers what the remote has after a push: in its tracking refs, and as seen.
    pub fn published(&self, tracking: &str, updates: &[(String, Oid)]) -> Result<()> {
        let _lock = self.locked()?;
        let mut tips = crate::store::write::tips::Tips::load(&self.paths);
        let mut moved = Vec::new();
        for (name, new) in updates {
            let name = tracking_ref(tracking, name);
            let expected = self.repo.find_ref(&name)?;
            tips.refs.insert(name.clone(), *new);
            if expected != Some(*new) {
                moved.push(RefUpdate { name, new: *new, expected });
            }
        }
        let unaware = |update: &&RefUpdate| {
            let of = |tip| Epoch::of(self.repo, tip).unwrap_or_default();
            !of(update.expected).unaware_of(&of(Some(update.new))).redacted.is_empty()
        };
        let cut_off: Vec<String> = moved.iter().filter(unaware).map(|update| update.name.clone()).collect();
        match self.repo.update_refs(&moved, "notes: pushed by 'git empirica'", &self.repo.identity()) {
            // somebody fetched meanwhile: as good
            Ok(()) | Err(UpdateError::Contended(_)) => delete::expire_reflogs(self.repo, &cut_off)?,
            Err(error) => {
                return Err(Error::storage("the tracking refs cannot be updated")
                    .suggest("The remote has the records; see which refs are there, and who may write them.")
                    .command(format!("git for-each-ref {PREFIX}"))
                    .caused_by(error));
            }
        }
        tips.save(&self.paths);
        Ok(())
    }
}

fn to_line(bytes: &[u8]) -> Line {
    Line { id: lines::id(bytes).map(str::to_owned), bytes: bytes.to_vec() }
}
