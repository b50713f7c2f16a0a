//! Flushing: writes pending records to the notes, in one commit per ref, by union and compare-and-swap.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::error::{Error, Result, empirica, io_cause, refuses_writes};
use crate::format::{blocks, lines};
use crate::git::notes::Unite;
use crate::git::objects::partial_clone;
use crate::git::refs::locks::add_stale_locks;
use crate::git::remotes::is_partial;
use crate::git::{NotesTree, Oid, RefUpdate, UpdateError};
use crate::model::Namespace;
use crate::store::log;
use crate::store::log::lock::pause;
use crate::store::log::written;
use crate::store::log::{LogUnavailable, PendingRecord};
use crate::store::redact::tombstones::{NoteFormat, Tombstones};
use crate::store::write::session_notes;
use crate::store::write::tips::Tips;
use crate::store::{MARKDOWN_REF, PREFIX, Writer, data_ref, files};

/// The outcome of a flush.
#[derive(Debug, Default)]
pub struct Flushed {
    /// The number of records flushed.
    pub records: usize,
    /// The error if nothing could be written; the records stay in the log.
    pub degraded: Option<Error>,
    /// The logs that could not be taken or read; their records stay pending.
    pub left: Vec<LogUnavailable>,
    /// Problems that lost nothing.
    pub warnings: Vec<String>,
}

/// New content by annotated object.
pub(crate) type Notes = BTreeMap<Oid, Vec<u8>>;

/// Content other than records, for the same flush.
#[derive(Debug, Default)]
pub(crate) struct ForeignContent {
    /// Foreign lines.
    pub lines: BTreeMap<Namespace, Notes>,
    /// Existing Markdown, which repairs torn notes.
    pub markdown: Notes,
}

impl ForeignContent {
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.markdown.is_empty()
    }
}

/// New content for the notes of one ref.
struct Change {
    name: String,
    /// The content to unite in.
    new: Notes,
    /// The union for this ref's notes.
    unite: Unite,
}

impl Writer<'_> {
    /// Writes all pending records of all worktrees. Never fails: records that cannot be written stay pending.
    pub fn flush(&self) -> Flushed {
        self.flush_with(ForeignContent::default())
    }

    /// As [`Self::flush`], with foreign content, which is not queued: if it cannot be written now, it is dropped.
    pub(crate) fn flush_with(&self, foreign: ForeignContent) -> Flushed {
        let mut flushed = Flushed::default();
        let write = |flushed: &mut Flushed| {
            let _lock = self.store.locked()?;
            self.store.recovery().restore_pruned(&mut flushed.warnings)?;
            let mut tips = self.store.recovery().heal_locked(&mut flushed.warnings)?;
            self.write_logs(foreign, &mut tips, flushed)
        };
        flushed.degraded = write(&mut flushed).err();
        flushed
    }

    /// Writes the records of all logs before a redaction; fails if a log cannot be taken or read. Returns warnings. The
    /// caller holds the lock.
    pub(crate) fn write_all_logs(&self, tips: &mut Tips) -> Result<Vec<String>> {
        let mut flushed = Flushed::default();
        self.write_logs(ForeignContent::default(), tips, &mut flushed)?;
        match flushed.left.into_iter().next() {
            Some(log) => Err(log.into_error()),
            None => Ok(flushed.warnings),
        }
    }

    fn write_logs(&self, foreign: ForeignContent, tips: &mut Tips, flushed: &mut Flushed) -> Result<()> {
        let (files, mut left) = log::take(&self.store.paths, self.store.lock_timeout);
        let (pending, taken) = log::read_taken(files, &mut left);
        flushed.left.extend(left);
        session_notes::add_pending(&self.store.paths, &pending)?;
        self.write_pending(&pending, foreign, tips, &mut flushed.warnings, &mut |_, _| {})?;
        tips.save(&self.store.paths);
        written::discard(&self.store.paths, &taken);
        self.store.paths.folders().iter().for_each(|folder| files::sweep(folder, files::is_temporary));
        flushed.records += pending.len();
        Ok(())
    }

    /// Writes records to their notes and renders their Markdown, in the order journal, checkpoints, handoffs, Markdown.
    /// `progress` gets the numbers of notes done and of all.
    pub(crate) fn write_pending(
        &self,
        pending: &[PendingRecord],
        mut foreign: ForeignContent,
        tips: &mut Tips,
        warnings: &mut Vec<String>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<()> {
        let pending = &self.store.redaction().without_redactions(pending)?;
        self.store.observe_ids(pending.iter().map(|record| record.line.as_slice()));
        let mut changes = Vec::new();
        for namespace in Namespace::ALL {
            let mut notes: BTreeMap<Oid, Vec<&[u8]>> = BTreeMap::new();
            for record in pending.iter().filter(|record| record.namespace == namespace) {
                notes.entry(record.on).or_default().push(&record.line);
            }
            let mut new: Notes = notes.into_iter().map(|(on, new)| (on, lines::canonical(new))).collect();
            for (on, lines) in foreign.lines.remove(&namespace).unwrap_or_default() {
                self.store.observe_ids(lines::split(&lines));
                let note = new.entry(on).or_default();
                *note = lines::union(note, &lines);
            }
            changes.push(Change { name: data_ref(namespace), new, unite: lines::union });
        }
        let unite = if foreign.markdown.is_empty() { blocks::union } else { blocks::mend };
        let mut markdown = foreign.markdown;
        let affected = self.affected_notes(pending);
        if !affected.is_empty() {
            let tip = self.store.repo.find_ref(MARKDOWN_REF)?.filter(|tip| self.store.recovery().is_readable(*tip));
            let mut tree = NotesTree::open(self.store.repo, tip, blocks::union)?;
            for (on, lines) in affected {
                let note = markdown.entry(on).or_default();
                let existing = blocks::union(note, &tree.get(on).ok().flatten().unwrap_or_default());
                match self.blocks(on, lines.iter().map(Vec::as_slice), &blocks::earlier(&existing)) {
                    Ok(new) => {
                        let all = std::iter::once(note.as_slice()).chain(new.iter().map(String::as_bytes));
                        *note = blocks::union_all(all);
                    }
                    Err(error) => {
                        warnings.push(format!("the handoff is stored, but cannot be rendered as Markdown: {error}"))
                    }
                }
            }
        }
        markdown.retain(|_, note| !note.is_empty());
        changes.push(Change { name: MARKDOWN_REF.to_owned(), new: markdown, unite });
        changes.retain(|change| !change.new.is_empty());
        let (mut done, total): (usize, usize) = (0, changes.iter().map(|change| change.new.len()).sum());
        self.unite_into(&changes, tips, &mut || {
            // retries do not count beyond the total
            done = total.min(done + 1);
            progress(done, total);
        })
    }

    /// Unites new content into the notes of each ref, in one commit per ref, retried while others move the refs.
    /// Content written by an interrupted attempt is found again: the union is the same. Calls `on_note` for each note.
    fn unite_into(&self, changes: &[Change], tips: &mut Tips, on_note: &mut dyn FnMut()) -> Result<()> {
        let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
        self.move_refs(&names, tips, "notes: Notes added by 'git empirica'", |at, tip, tips| {
            self.stage(&changes[at], tip, tips, on_note)
        })
    }

    /// Unites content of the saved tip that the ref lacks into the ref, and removes texts to forget.
    pub(crate) fn restore(&self, name: String, tips: &mut Tips) -> Result<()> {
        let unite = NoteFormat::of(&name).unite();
        self.unite_into(&[Change { name, new: Notes::new(), unite }], tips, &mut || {})
    }

    /// Sets each ref to the commit that `stage` returns for its index and tip, by compare-and-swap, retried while
    /// others move the refs; `None` leaves the ref unchanged. Saves the tips.
    pub(crate) fn move_refs(
        &self,
        names: &[&str],
        tips: &mut Tips,
        message: &str,
        mut stage: impl FnMut(usize, Option<Oid>, &Tips) -> Result<Option<Oid>>,
    ) -> Result<()> {
        let repo = self.store.repo;
        let mut deadline = None;
        let identity = repo.identity();
        for round in 0.. {
            let mut updates = Vec::new();
            for (at, name) in names.iter().map(|name| (*name).to_owned()).enumerate() {
                let tip = repo.find_ref(&name)?;
                let staged = stage(at, tip, tips);
                let lost = tip.filter(|tip| staged.is_err() && !self.store.recovery().is_readable(*tip));
                let staged = staged.map_err(|error| match lost {
                    Some(tip) => repo.unreadable_tip(&name, tip).caused_by(error),
                    None => error,
                })?;
                match (staged, tip) {
                    (Some(new), _) => updates.push(RefUpdate { name, new, expected: tip }),
                    (None, Some(tip)) => drop(tips.refs.insert(name, tip)),
                    (None, None) => drop(tips.refs.remove(&name)),
                }
            }
            tips.newest_ms = tips.newest_ms.max(self.store.newest_seen_ms.get());
            if updates.is_empty() {
                return Ok(());
            }
            // the deadline is for waiting on others, not for the work itself
            let patience =
                || Instant::now() + self.store.remaining_wait(self.store.lock_timeout.max(Duration::from_secs(1)));
            let deadline = *deadline.get_or_insert_with(patience);
            match repo.update_refs(&updates, message, &identity) {
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

    /// A commit on `tip` with the change united in; `None` if it is there already. Content of the saved tip that the
    /// ref lacks is united in, too, as the new tip would no longer record it. New lines with redacted ids do not count.
    fn stage(&self, change: &Change, tip: Option<Oid>, tips: &Tips, on_note: &mut dyn FnMut()) -> Result<Option<Oid>> {
        let form = NoteFormat::of(&change.name);
        let at = self.store.recovery().tip_with_saved_redactions(&change.name, tip, tips)?;
        let redactions = Tombstones::of(self.store.repo, at)?;
        let lost = self.store.recovery().lost(&change.name, at, change.unite, tips)?;
        let mut tree = NotesTree::open(self.store.repo, at, change.unite)?;
        let before = tree.tree();
        let saved = tips.refs.get(&change.name).copied().filter(|_| !lost.is_empty());
        let stale = Tombstones::of(self.store.repo, saved)?.missing(&redactions);
        let texts = self.store.forgotten.borrow();
        let without_texts = |content: Vec<u8>| texts.remove_from_note(form == NoteFormat::Lines, content);
        let lost = lost.into_iter().map(|(on, content)| (on, without_texts(form.without(content, &stale))));
        // blocks are rendered from lines that count
        let left_out = if form == NoteFormat::Lines { redactions } else { Tombstones::default() };
        let new = change.new.iter().map(|(on, content)| (*on, form.without(content.clone(), &left_out)));
        for (on, content) in new.chain(lost) {
            let old = match tree.get(on)? {
                Some(old) => old,
                None => self.fetched_note(&mut tree, on, change)?,
            };
            let united = (change.unite)(&old, &content);
            if united != old {
                tree.set(on, &united)?;
            }
            on_note();
        }
        let after = tree.write()?;
        if after == before {
            return Ok(at.filter(|at| Some(*at) != tip));
        }
        let parents = at.into_iter().collect();
        self.store
            .repo
            .write_commit(after, parents, "Notes added by 'git empirica'\n", &self.store.repo.identity())
            .map(Some)
    }

    /// The content of a note that was not read: empty if there is none. Missing blobs in a partial clone are fetched,
    /// with all others of the change; in a hurry it fails, and the records stay pending.
    fn fetched_note(&self, tree: &mut NotesTree<'_>, on: Oid, change: &Change) -> Result<Vec<u8>> {
        let repo = self.store.repo;
        let Some(blob) = tree.blob(on)? else { return Ok(Vec::new()) };
        if self.store.deadline.is_none() && is_partial(repo) {
            let mut missing = vec![blob];
            for on in change.new.keys() {
                missing.extend(tree.blob(*on)?.filter(|other| *other != blob && !repo.has_object(*other)));
            }
            partial_clone::fetch(repo, &missing)?;
        }
        self.store.read_note(blob)
    }

    pub(crate) fn not_updated(&self, updates: &[RefUpdate], error: UpdateError) -> Error {
        if matches!(error, UpdateError::TimedOut) {
            return Error::refused("cannot write the notes: timed out (empirica.syncTimeout)")
                .reason("git was terminated: a reference-transaction hook or the disk is slow")
                .suggest("Your records are safe here. Write and send them later.")
                .command(empirica("sync"));
        }
        let names: Vec<&str> = updates.iter().map(|update| update.name.as_str()).collect();
        let out = Error::storage(format!("cannot update {}", names.join(", ")));
        if let Some(cause) = io_cause(&error).filter(|cause| refuses_writes(cause)) {
            return out.about_path(&self.store.repo.common_dir().join("refs"), cause).caused_by(error);
        }
        let error = out.caused_by(error);
        let refused = |(name, tip): (&String, Option<Oid>)| self.store.repo.hook_refuses(name, tip?);
        let tips = updates.iter().map(|update| (&update.name, update.expected));
        let locks = self.store.repo.held_locks(&names, false);
        if !locks.is_empty() {
            return add_stale_locks(error, &locks);
        }
        match tips.into_iter().find_map(refused) {
            Some(_) => error
                .suggest("A reference-transaction hook refuses it; pending records are written once it allows that.")
                .command("git rev-parse --git-path hooks/reference-transaction"),
            None => {
                error.suggest("Check the refs and their permissions.").command(format!("git for-each-ref {PREFIX}"))
            }
        }
    }
}
