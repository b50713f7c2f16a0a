//! Flushing: what waits in the logs goes to the notes, one commit per ref, by union and compare-and-swap.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::error::{Error, Result, empirica};
use crate::format::{blocks, lines};
use crate::git::notes::Unite;
use crate::git::objects::partial_clone;
use crate::git::refs::Identity;
use crate::git::refs::locks::left_behind;
use crate::git::remotes::is_partial;
use crate::git::{NotesTree, Oid, RefUpdate, UpdateError};
use crate::model::{Id, Namespace};
use crate::store::log;
use crate::store::log::lock::pause;
use crate::store::log::{LogUnavailable, PendingRecord};
use crate::store::redact::tombstones::{Epoch, Form};
use crate::store::write::merge::{absent, form_of};
use crate::store::write::tips::Tips;
use crate::store::write::touched;
use crate::store::{MARKDOWN_REF, PREFIX, Store, data_ref, files};

/// What a flush did.
#[derive(Debug, Default)]
pub struct Flushed {
    /// How many records left the log.
    pub records: usize,
    /// Why nothing could be written; the records stay in the log.
    pub degraded: Option<Error>,
    /// The logs that could not be taken or read; what is in them waits.
    pub left: Vec<LogUnavailable>,
    /// What else went wrong without losing anything.
    pub warnings: Vec<String>,
}

/// New content by annotated object.
pub(crate) type Notes = BTreeMap<Oid, Vec<u8>>;

/// What goes to the notes beside records, in the same flush.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// Foreign lines.
    pub lines: BTreeMap<Namespace, Notes>,
    /// Markdown that was there before, and mends what it meets.
    pub markdown: Notes,
}

impl Beside {
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.markdown.is_empty()
    }
}

/// New content for the notes of one ref.
pub(crate) struct Change {
    /// The ref.
    pub name: String,
    /// What is to be united in; nothing for no change.
    pub new: Notes,
    /// How the notes of this ref are united.
    pub unite: Unite,
}

impl Store<'_> {
    /// Writes everything that waits in any worktree's log. Never fails: what cannot be written keeps waiting.
    pub fn flush(&self) -> Flushed {
        self.flush_with(Beside::default())
    }

    /// The same, with what goes to the notes beside records. That does not wait: it is written now or not at all.
    pub(crate) fn flush_with(&self, beside: Beside) -> Flushed {
        let mut flushed = Flushed::default();
        if let Err(error) = self.try_flush(beside, &mut flushed) {
            flushed.degraded = Some(error);
        }
        flushed
    }

    fn try_flush(&self, beside: Beside, flushed: &mut Flushed) -> Result<()> {
        let _lock = self.locked()?;
        let mut tips = self.heal_locked(&mut flushed.warnings)?;
        self.write_logs(beside, &mut tips, flushed)
    }

    /// Writes what waits in all logs. The lock is held by the caller.
    pub(crate) fn write_logs(&self, beside: Beside, tips: &mut Tips, flushed: &mut Flushed) -> Result<()> {
        let (files, mut left) = log::take(&self.paths, self.lock_timeout);
        let (waiting, taken) = log::read_taken(files, &mut left);
        flushed.left.extend(left);
        touched::add_waiting(&self.paths, &waiting).map_err(|error| touched::unusable(&self.paths, error))?;
        self.write_waiting(&waiting, beside, tips, &mut flushed.warnings, &mut |_, _| {})?;
        tips.save(&self.paths);
        log::discard(&self.paths, &taken);
        self.paths.folders().iter().for_each(|folder| files::sweep(folder));
        flushed.records += waiting.len();
        Ok(())
    }

    /// Writes records to their notes and renders their Markdown, in the order journal, checkpoints, handoffs, Markdown.
    /// `told` hears how many notes are done, of how many.
    pub(crate) fn write_waiting(
        &self,
        waiting: &[PendingRecord],
        mut beside: Beside,
        tips: &mut Tips,
        warnings: &mut Vec<String>,
        told: &mut dyn FnMut(usize, usize),
    ) -> Result<()> {
        let waiting = &self.counting(waiting)?;
        let mut changes = Vec::new();
        for namespace in Namespace::ALL {
            let mut notes: BTreeMap<Oid, Vec<&[u8]>> = BTreeMap::new();
            for record in waiting.iter().filter(|record| record.namespace == namespace) {
                notes.entry(record.on).or_default().push(&record.line);
            }
            let mut new: Notes = notes.into_iter().map(|(on, new)| (on, lines::canonical(new))).collect();
            for (on, foreign) in beside.lines.remove(&namespace).unwrap_or_default() {
                let note = new.entry(on).or_default();
                *note = lines::union(note, &foreign);
            }
            changes.push(Change { name: data_ref(namespace), new, unite: lines::union });
        }
        let unite = if beside.markdown.is_empty() { blocks::union } else { blocks::mend };
        let mut markdown = beside.markdown;
        let standing = self.standing_with(waiting);
        if !standing.is_empty() {
            let tip = self.repo.find_ref(MARKDOWN_REF)?.filter(|tip| self.is_readable(*tip));
            let mut tree = NotesTree::open(self.repo, tip, blocks::union)?;
            for (on, lines) in standing {
                let note = markdown.entry(on).or_default();
                let there = blocks::union(note, &tree.get(on).ok().flatten().unwrap_or_default());
                match self.blocks(on, &lines, &blocks::earlier(&there)) {
                    Ok(new) => {
                        let all = std::iter::once(note.as_slice()).chain(new.iter().map(String::as_bytes));
                        *note = blocks::union_all(all);
                    }
                    Err(error) => warnings.push(format!("the handoff is stored, but not as Markdown: {error}")),
                }
            }
        }
        markdown.retain(|_, note| !note.is_empty());
        changes.push(Change { name: MARKDOWN_REF.to_owned(), new: markdown, unite });
        changes.retain(|change| !change.new.is_empty());
        let (mut done, total): (usize, usize) = (0, changes.iter().map(|change| change.new.len()).sum());
        self.unite_told(&changes, tips, &mut || {
            // what others made us do again is not more than all of it
            done = total.min(done + 1);
            told(done, total);
        })?;
        let ms = waiting.iter().filter_map(|w| Id::parse(lines::id(&w.line)?)).map(|id| id.ms());
        let newest = ms.filter(|ms| *ms <= self.latest_ms()).max();
        tips.newest_ms = tips.newest_ms.max(newest.unwrap_or(0));
        Ok(())
    }

    /// Unites new content into the notes of each ref, one commit a ref, retried while others move the refs. What a try
    /// that failed half-way has written is found there by the next one: the union is the same.
    pub(crate) fn unite_into(&self, changes: &[Change], tips: &mut Tips) -> Result<()> {
        self.unite_told(changes, tips, &mut || {})
    }

    /// The same; `told` hears of each note.
    fn unite_told(&self, changes: &[Change], tips: &mut Tips, told: &mut dyn FnMut()) -> Result<()> {
        let who = self.repo.identity();
        let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
        self.move_refs(&names, tips, "notes: Notes added by 'git empirica'", |at, tip, tips| {
            self.staged(&changes[at], tip, &who, tips, told)
        })
    }

    /// Sets each ref to what `stage` makes of its tip (given the place of its name in the list), by compare-and-swap, retried
    /// while others move the refs; remembers the tips. `None` leaves a ref as it is.
    pub(crate) fn move_refs(
        &self,
        names: &[&str],
        tips: &mut Tips,
        message: &str,
        mut stage: impl FnMut(usize, Option<Oid>, &Tips) -> Result<Option<Oid>>,
    ) -> Result<()> {
        let mut deadline = None;
        let who = self.repo.identity();
        for round in 0.. {
            let mut updates = Vec::new();
            for (at, name) in names.iter().map(|name| (*name).to_owned()).enumerate() {
                let tip = self.repo.find_ref(&name)?;
                let staged = stage(at, tip, tips);
                let lost = tip.filter(|tip| staged.is_err() && !self.is_readable(*tip));
                let staged = staged.map_err(|error| match lost {
                    Some(tip) => self.repo.lost_tip(&name, tip).caused_by(error),
                    None => error,
                })?;
                match (staged, tip) {
                    (Some(new), _) => updates.push(RefUpdate { name, new, expected: tip }),
                    (None, Some(tip)) => drop(tips.refs.insert(name, tip)),
                    (None, None) => drop(tips.refs.remove(&name)),
                }
            }
            if updates.is_empty() {
                return Ok(());
            }
            // what is waited for is others, not what there was to write
            let patience = || Instant::now() + self.patience(self.lock_timeout.max(Duration::from_secs(1)));
            let deadline = *deadline.get_or_insert_with(patience);
            #[cfg(feature = "fault-injection")]
            crate::fault::half_way("refs: one moved, the others locked", || self.move_one(&updates, message, &who));
            match self.repo.update_refs(&updates, message, &who) {
                Ok(()) => {
                    tips.refs.extend(updates.into_iter().map(|update| (update.name, update.new)));
                    return Ok(());
                }
                Err(UpdateError::Contended(_)) if Instant::now() < deadline => std::thread::sleep(pause(round)),
                Err(error) => return Err(self.not_updated(&updates, error)),
            }
        }
        Ok(())
    }

    /// A commit on top of `tip` with the change united in; `None` when all of it is there. What is remembered and not in
    /// the ref any more is united in with it, or the next tip would no longer remember it. What is new under an id that
    /// was redacted does not count.
    fn staged(
        &self,
        change: &Change,
        tip: Option<Oid>,
        who: &Identity,
        tips: &Tips,
        told: &mut dyn FnMut(),
    ) -> Result<Option<Oid>> {
        let form = form_of(&change.name);
        let at = self.past_redactions(&change.name, tip, tips)?;
        let here = Epoch::of(self.repo, at)?;
        let lost = self.lost(&change.name, at, change.unite, tips)?;
        let mut tree = NotesTree::open(self.repo, at, change.unite)?;
        let before = tree.tree();
        let known = tips.refs.get(&change.name).copied().filter(|_| !lost.is_empty());
        let stale = Epoch::of(self.repo, known)?.unaware_of(&here);
        let texts = self.forgotten.borrow();
        let quoted = |content: Vec<u8>| texts.note(form == Form::Lines, content);
        let lost = lost.into_iter().map(|(on, content)| (on, quoted(form.without(content, &stale))));
        // blocks are rendered from what counts
        let left_out = if form == Form::Lines { here.clone() } else { Epoch::default() };
        let new = change.new.iter().map(|(on, content)| (*on, form.without(content.clone(), &left_out)));
        for (on, content) in new.chain(lost) {
            let old = match tree.get(on)? {
                Some(old) => old,
                None => self.left_out(&mut tree, on, change)?,
            };
            let united = (change.unite)(&old, &content);
            if united != old {
                tree.set(on, &united)?;
            }
            told();
        }
        let after = tree.write()?;
        if after == before {
            return Ok(at.filter(|at| Some(*at) != tip));
        }
        let parents = at.into_iter().collect();
        self.repo.write_commit(after, parents, "Notes added by 'git empirica'\n", who).map(Some)
    }

    /// A note that was not read: nothing when there is none, but what a partial clone left out must not be taken for nothing.
    /// It is fetched, with all others that the change is about; in a hurry the records wait instead.
    fn left_out(&self, tree: &mut NotesTree<'_>, on: Oid, change: &Change) -> Result<Vec<u8>> {
        let Some(blob) = tree.blob(on)? else { return Ok(Vec::new()) };
        if self.until.is_none() && is_partial(self.repo) {
            let mut lacking = vec![blob];
            for on in change.new.keys() {
                lacking.extend(tree.blob(*on)?.filter(|other| *other != blob && !self.repo.has_object(*other)));
            }
            partial_clone::fetch(self.repo, &lacking)?;
        }
        self.repo.read_blob(blob)?.ok_or_else(|| absent(blob))
    }

    pub(crate) fn not_updated(&self, updates: &[RefUpdate], error: UpdateError) -> Error {
        if matches!(error, UpdateError::TimedOut) {
            return Error::refused(
                "the time for syncing was over (empirica.syncTimeout) while the notes were written here",
            )
            .reason("git was ended: a reference-transaction hook or the disk is slow")
            .suggest("Your records are safe here. They are written, and sent, when you have the time.")
            .command(empirica("sync"));
        }
        let names: Vec<&str> = updates.iter().map(|update| update.name.as_str()).collect();
        let error = Error::storage(format!("{} cannot be updated", names.join(", "))).caused_by(error);
        let refused = |(name, tip): (&String, Option<Oid>)| self.repo.hook_refuses(name, tip?);
        let tips = updates.iter().map(|update| (&update.name, update.expected));
        match self.repo.ref_lock(&names) {
            None if tips.into_iter().find_map(refused).is_some() => error
                .suggest(
                    "A reference-transaction hook of the repository refuses it; what waits is written when it lets us.",
                )
                .command("git rev-parse --git-path hooks/reference-transaction"),
            None => error
                .suggest("See which refs are there, and who may write them.")
                .command(format!("git for-each-ref {PREFIX}")),
            Some(lock) => left_behind(error, &lock),
        }
    }
}
