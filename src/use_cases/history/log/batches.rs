//! Log pipeline: one thread reads commits, several render them, output keeps git's order.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::context::claims::anchors::Anchors;
use crate::render::format;
use crate::use_cases::history::log::reader::{AnnotatedCommit, CommitReader, NotedCommit, RecordFilter};
use empirica_notes::error::Result;
use empirica_notes::git::Oid;
use empirica_notes::git::history::commit::Listed;
use empirica_notes::git::objects::blobs::Objects;
use empirica_notes::model::{Id, Namespace};
use empirica_notes::store::resolve_note;

/// Up to this limit of commits, no helper threads are started.
const PAGE: usize = 50;
/// Number of commits shown singly before batches begin.
const ALONE: usize = 8;
/// Number of commits on which claims are compared with the code, by the thread that reads.
pub(crate) const MARKED: usize = 50;
/// Most commits in a batch; a batch never waits to fill up.
const BATCH: usize = 16;
const BATCH_WAIT: Duration = Duration::from_millis(5);
/// Most helper threads: one thread walks the history in any case.
const HELPERS: usize = 3;

/// Renders the output of a commit; it depends on the commit alone, and runs in several threads.
pub type Render<'m, T> = dyn Fn(&AnnotatedCommit) -> Result<T> + Sync + 'm;

/// Writes the output of a commit. `None` announces a possible delay.
pub type Show<'m, T> = dyn FnMut(Option<T>) -> Result<()> + 'm;

/// Output of a commit, and its count towards the limit; `None` if no record is selected.
type Rendered<T> = Result<Option<(T, usize)>>;

/// Renders selected records.
pub(crate) struct Renderer<'m, T> {
    pub filter: &'m RecordFilter,
    pub render: &'m Render<'m, T>,
}

impl<T> Clone for Renderer<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Renderer<'_, T> {}

impl<T> Renderer<'_, T> {
    /// Renders a commit, with at most `most` records if these are limited. With marks, the texts of claims get them.
    fn run(self, annotated: &mut AnnotatedCommit, most: usize, marks: Option<&mut Marks<'_>>) -> Rendered<T> {
        for namespace in annotated.namespaces() {
            namespace.retain(|record| self.filter.has(record));
        }
        if self.filter.counts_records && annotated.count() > most {
            annotated.newest(most);
        }
        if annotated.is_empty() {
            return Ok(None);
        }
        if let Some(marks) = marks {
            marks.mark(annotated)?;
        }
        let count = if self.filter.counts_records { annotated.count() } else { 1 };
        Ok(Some(((self.render)(annotated)?, count)))
    }

    /// As [`Self::run`]; `None` if only the store can resolve the notes of the commit.
    fn stored(
        self,
        commit: &mut NotedCommit,
        most: usize,
        read: &Read<'_>,
        buffer: &mut Vec<u8>,
        marks: Option<&mut Marks<'_>>,
    ) -> Option<Rendered<T>> {
        match commit {
            NotedCommit::Settled(annotated) => Some(self.run(annotated, most, marks)),
            NotedCommit::Stored(commit, notes) => match stored(commit, notes, read, buffer) {
                Ok(annotated) => annotated.map(|mut annotated| self.run(&mut annotated, most, marks)),
                Err(error) => Some(Err(error)),
            },
        }
    }
}

/// What marks the texts of claims.
pub(crate) struct Marks<'c> {
    pub anchors: Anchors<'c>,
    /// The records that were marked.
    pub seen: BTreeSet<Id>,
}

impl Marks<'_> {
    /// Puts behind the texts of claims where their code is not as it was, and with which others they disagree.
    fn mark(&mut self, annotated: &mut AnnotatedCommit) -> Result<()> {
        let mut ids = BTreeSet::new();
        for record in annotated.namespaces().into_iter().flatten() {
            self.seen.insert(record.envelope.id.clone());
            ids.insert(record.envelope.id.clone());
            ids.extend(record.body.quoted_claims());
        }
        let (places, rivals) = self.anchors.differing(&ids)?;
        if places.is_empty() && rivals.is_empty() {
            return Ok(());
        }
        let mark = |id: &Id, text: &mut String| {
            let (places, rivals) = (places.get(id), rivals.get(id));
            if places.is_some() || rivals.is_some() {
                let about = format::about(places.map_or(&[], Vec::as_slice), rivals.map_or(&[], Vec::as_slice));
                text.push_str(&format!(" ({about})"));
            }
        };
        annotated.namespaces().into_iter().flatten().for_each(|record| record.mark_claims(mark));
        Ok(())
    }
}

/// Reads a blob into a buffer; returns whether it succeeded.
type Read<'r> = dyn Fn(Oid, &mut Vec<u8>) -> bool + 'r;

/// Commits and their outputs. The allocating thread gets the commits back, as freeing memory of another thread is slow.
struct Work<T> {
    commits: Vec<NotedCommit>,
    /// `None` if only the store can resolve the commit.
    rendered: Vec<Option<Rendered<T>>>,
}

impl<T> Default for Work<T> {
    fn default() -> Self {
        Work { commits: Vec::new(), rendered: Vec::new() }
    }
}

impl<T> Work<T> {
    /// Renders the commits that do not need the repository.
    fn run(&mut self, read: &Read<'_>, buffer: &mut Vec<u8>, renderer: Renderer<'_, T>) {
        let render = |commit| renderer.stored(commit, usize::MAX, read, buffer, None);
        self.rendered.extend(self.commits.iter_mut().map(render));
    }
}

/// A commit with the records of its notes; `None` if only the store can resolve them.
fn stored(
    commit: &Listed,
    notes: &[(Namespace, Oid)],
    read: &Read<'_>,
    buffer: &mut Vec<u8>,
) -> Result<Option<AnnotatedCommit>> {
    let mut annotated = AnnotatedCommit::new(commit.read()?);
    for (namespace, blob) in notes {
        // the second attempt reports unreadable notes
        let records = if read(*blob, buffer) { resolve_note(commit.id, buffer) } else { None };
        let Some(records) = records else { return Ok(None) };
        *annotated.namespace(*namespace) = records;
    }
    Ok(Some(annotated))
}

enum Batch<T> {
    Done(Work<T>),
    Away(Receiver<Work<T>>),
    /// To be rendered by the thread that shows, from this time on at the latest: helpers are to have work first.
    Own(Vec<NotedCommit>, Instant),
}

type Job<T> = (Work<T>, Sender<Work<T>>);

/// Shows `most` annotated commits of a history: this thread reads, helpers render; this thread also renders when they
/// are busy.
pub(crate) fn show<T: Send>(
    reader: &mut CommitReader<'_>,
    most: usize,
    renderer: Renderer<'_, T>,
    marks: Option<&mut Marks<'_>>,
    show: &mut Show<'_, T>,
) -> Result<()> {
    let others = std::thread::available_parallelism().map_or(1, usize::from).saturating_sub(1).min(HELPERS);
    let helpers = if most > PAGE { others } else { 0 };
    let (give, take) = channel::<Job<T>>();
    let take = Mutex::new(take);
    let (objects, stop) = (Objects::of(reader.context.repo), AtomicBool::new(false));
    let lost = Mutex::new(Vec::new());
    let shown = std::thread::scope(|scope| {
        let help = || help(&take, &objects, &lost, &stop, renderer);
        let begin = || std::thread::Builder::new().spawn_scoped(scope, help);
        let helpers = (0..helpers).filter(|_| begin().is_ok()).count();
        // dropping this ends the helpers
        let mut pipeline = Pipeline {
            renderer,
            marks,
            show,
            shown: 0,
            left: most,
            give,
            take: &take,
            helpers,
            buffer: Vec::new(),
            under_way: VecDeque::new(),
            pending: 0,
        };
        let shown = pipeline.run(reader);
        stop.store(true, Ordering::Relaxed);
        shown
    });
    for blob in lost.into_inner().unwrap_or_else(PoisonError::into_inner) {
        // reports it as missing
        reader.context.repo.note(blob);
    }
    shown
}

/// Processes jobs until either end hangs up.
fn help<T>(
    take: &Mutex<Receiver<Job<T>>>,
    objects: &Objects,
    lost: &Mutex<Vec<Oid>>,
    stop: &AtomicBool,
    renderer: Renderer<'_, T>,
) {
    let next = || take.lock().ok()?.recv().ok();
    let (blobs, mut buffer) = (objects.open(), Vec::new());
    let read = |blob, note: &mut Vec<u8>| {
        let is_present = blobs.as_ref().is_some_and(|blobs| blobs.read_into(blob, note));
        if !is_present {
            lost.lock().unwrap_or_else(PoisonError::into_inner).push(blob);
        }
        is_present
    };
    while let Some((mut work, reply)) = next().filter(|_| !stop.load(Ordering::Relaxed)) {
        work.run(&read, &mut buffer, renderer);
        // the receiver is gone if the log was aborted
        let _ = reply.send(work);
    }
}

/// Batches in progress, in order, and what has been shown.
struct Pipeline<'m, 'a, T> {
    renderer: Renderer<'m, T>,
    marks: Option<&'m mut Marks<'a>>,
    show: &'m mut Show<'m, T>,
    /// Number of commits shown.
    shown: usize,
    /// Number of commits or records that may follow.
    left: usize,
    give: Sender<Job<T>>,
    /// Jobs not yet started.
    take: &'m Mutex<Receiver<Job<T>>>,
    helpers: usize,
    /// For the text of a note.
    buffer: Vec<u8>,
    under_way: VecDeque<Batch<T>>,
    /// Number of commits read and not yet shown.
    pending: usize,
}

impl<T> Pipeline<'_, '_, T> {
    fn run(&mut self, reader: &mut CommitReader<'_>) -> Result<()> {
        let mut work: Work<T> = Work::default();
        let (mut begun, mut ended, mut failed) = (Instant::now(), false, Ok(()));
        while self.left > 0 && !(ended && self.pending == 0) {
            if !ended && self.pending < self.left {
                match reader.next() {
                    Ok(None) => ended = true,
                    // first show what was found before the error
                    Err(error) => (ended, failed) = (true, Err(error)),
                    Ok(Some(None)) => {}
                    Ok(Some(Some(found))) => {
                        if work.commits.is_empty() {
                            begun = Instant::now();
                        }
                        work.commits.push(found);
                        self.pending += 1;
                    }
                }
            }
            // these may be enough
            let is_all = ended || self.pending >= self.left;
            let alone = self.helpers == 0 || self.shown < ALONE;
            let is_full = alone || is_all || work.commits.len() >= BATCH || begun.elapsed() >= BATCH_WAIT;
            if is_full && !work.commits.is_empty() {
                let mut full = std::mem::take(&mut work);
                let before = self.shown + self.pending - full.commits.len();
                self.under_way.push_back(if alone {
                    Batch::Own(full.commits, Instant::now())
                } else if self.marks.is_some() && before < MARKED {
                    Batch::Own(full.commits, Instant::now() + BATCH_WAIT)
                } else if self.away() > 2 * self.helpers {
                    full.run(&|blob, note| reader.read_into(blob, note), &mut self.buffer, self.renderer);
                    Batch::Done(full)
                } else {
                    let (reply, answer) = channel();
                    // if a helper died, its end is closed, so no reply will come
                    let _ = self.give.send((full, reply));
                    Batch::Away(answer)
                });
            }
            // bounds the queue: no reading until the first batch is done
            let must_wait = is_all || self.under_way.len() > 4 * (self.helpers + 1);
            if must_wait {
                self.take_back(reader);
            }
            if !self.show_ready(reader, must_wait)? {
                return Ok(());
            }
        }
        failed
    }

    /// Number of batches that helpers have.
    fn away(&self) -> usize {
        self.under_way.iter().filter(|batch| matches!(batch, Batch::Away(_))).count()
    }

    /// Processes a job that no helper has started, unless the first batch is for this thread.
    fn take_back(&mut self, reader: &CommitReader<'_>) {
        if matches!(self.under_way.front(), Some(Batch::Own(..))) {
            return;
        }
        // an idle helper holds the lock while it waits, and then there are no jobs
        let waiting = || self.take.try_lock().ok()?.try_recv().ok();
        if let Some((mut work, reply)) = waiting() {
            work.run(&|blob, note| reader.read_into(blob, note), &mut self.buffer, self.renderer);
            // received below
            let _ = reply.send(work);
        }
    }

    /// Shows finished batches in order; waits for the first if required. Returns whether to continue.
    fn show_ready(&mut self, reader: &mut CommitReader<'_>, mut must_wait: bool) -> Result<bool> {
        while let Some(first) = self.under_way.pop_front() {
            let received = match first {
                Batch::Own(commits, at_latest) => {
                    if !must_wait && self.away() <= self.helpers && Instant::now() < at_latest {
                        self.under_way.push_front(Batch::Own(commits, at_latest));
                        return Ok(true);
                    }
                    must_wait = false;
                    self.show_own(reader, commits)?;
                    continue;
                }
                Batch::Done(done) => Ok(done),
                Batch::Away(answer) if must_wait => answer.recv().map_err(|_| TryRecvError::Disconnected),
                Batch::Away(answer) => match answer.try_recv() {
                    Err(TryRecvError::Empty) => {
                        self.under_way.push_front(Batch::Away(answer));
                        return Ok(true);
                    }
                    received => received,
                },
            };
            // a helper panicked; joining the threads propagates it
            let Ok(done) = received else { return Ok(false) };
            must_wait = false;
            self.pending -= done.commits.len();
            self.show_batch(reader, done)?;
        }
        Ok(true)
    }

    /// Renders and shows commits, as each is rendered.
    fn show_own(&mut self, reader: &mut CommitReader<'_>, commits: Vec<NotedCommit>) -> Result<()> {
        self.pending -= commits.len();
        for mut commit in commits {
            if self.left == 0 {
                break;
            }
            let read = |blob, note: &mut Vec<u8>| reader.read_into(blob, note);
            let marks = self.marks.as_deref_mut().filter(|_| self.shown < MARKED);
            let rendered = self.renderer.stored(&mut commit, self.left, &read, &mut self.buffer, marks);
            self.show_commit(reader, commit, rendered)?;
            (self.show)(None)?;
        }
        Ok(())
    }

    fn show_batch(&mut self, reader: &mut CommitReader<'_>, work: Work<T>) -> Result<()> {
        for (commit, rendered) in work.commits.into_iter().zip(work.rendered) {
            if self.left == 0 {
                break;
            }
            // rendered without marks
            let rendered = rendered.filter(|_| self.marks.is_none() || self.shown >= MARKED);
            self.show_commit(reader, commit, rendered)?;
        }
        (self.show)(None)
    }

    /// Shows a commit; renders it if that was not done, or has more records than the remaining limit.
    fn show_commit(
        &mut self,
        reader: &mut CommitReader<'_>,
        commit: NotedCommit,
        rendered: Option<Rendered<T>>,
    ) -> Result<()> {
        let rendered = match rendered {
            Some(Ok(Some((_, count)))) if count > self.left => None,
            rendered => rendered,
        };
        let marks = self.marks.as_deref_mut().filter(|_| self.shown < MARKED);
        let again = || self.renderer.run(&mut reader.annotated(commit)?, self.left, marks);
        let rendered = rendered.unwrap_or_else(again)?;
        if let Some((output, count)) = rendered {
            (self.show)(Some(output))?;
            (self.left, self.shown) = (self.left - count, self.shown + 1);
        }
        Ok(())
    }
}
