//! Log pipeline: one thread reads commits, several render them, output keeps git's order.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::history::log::reader::{AnnotatedCommit, CommitReader, NotedCommit, RecordFilter, empty};
use empirica_notes::error::{Error, Result};
use empirica_notes::git::Oid;
use empirica_notes::git::history::commit::Listed;
use empirica_notes::git::objects::blobs::Objects;
use empirica_notes::model::Namespace;
use empirica_notes::store::resolve_note;

/// Up to this limit of commits, no helper threads are started.
const PAGE: usize = 50;
/// Number of commits shown singly before batches begin.
const ALONE: usize = 8;
/// Most commits in a batch; a batch never waits to fill up.
const BATCH: usize = 16;
const PATIENCE: Duration = Duration::from_millis(5);
/// Bytes of text for which a batch keeps its buffer.
const ROOM: usize = 1 << 20;
/// Most helper threads: one thread walks the history in any case.
const HELPERS: usize = 3;

/// Output to which commits are appended.
pub trait Sheet: Default + Send {
    /// Its length.
    fn end(&self) -> usize;
    /// Empties it.
    fn clear(&mut self);
    /// Takes a range out of it.
    fn cut(&mut self, at: Range<usize>) -> Self;
}

impl Sheet for String {
    fn end(&self) -> usize {
        self.len()
    }

    fn clear(&mut self) {
        self.clear();
        // do not keep the buffer of one huge commit
        self.shrink_to(ROOM);
    }

    fn cut(&mut self, at: Range<usize>) -> Self {
        self[at].to_owned()
    }
}

impl<T: Send + Default> Sheet for Vec<T> {
    fn end(&self) -> usize {
        self.len()
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn cut(&mut self, at: Range<usize>) -> Self {
        self[at].iter_mut().map(std::mem::take).collect()
    }
}

/// Appends the output of a commit.
pub type Make<'m, S> = dyn Fn(&AnnotatedCommit, &mut S) -> Result<()> + Sync + 'm;

/// Writes the output of a commit, a range of a sheet. `None` announces a possible delay.
pub type Show<'m, S> = dyn FnMut(Option<(&mut S, Range<usize>)>) -> Result<()> + 'm;

/// Renders selected records.
pub(crate) struct Maker<'m, S> {
    pub wanted: &'m RecordFilter,
    pub make: &'m Make<'m, S>,
}

impl<S> Clone for Maker<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Maker<'_, S> {}

impl<S: Sheet> Maker<'_, S> {
    /// Renders a commit, with at most `most` records if these are limited.
    fn run(self, annotated: &mut AnnotatedCommit, most: usize, sheet: &mut S) -> Made {
        for namespace in annotated.namespaces() {
            namespace.retain(|record| self.wanted.has(record));
        }
        if self.wanted.counts_records && annotated.count() > most {
            annotated.newest(most);
        }
        if annotated.is_empty() {
            return Made::Nothing;
        }
        match (self.make)(annotated, sheet) {
            Ok(()) => Made::Shown(sheet.end(), if self.wanted.counts_records { annotated.count() } else { 1 }),
            Err(error) => Made::Failed(error),
        }
    }
}

/// Result for a commit.
enum Made {
    Nothing,
    /// End of its output in the sheet, which begins at the previous end, and its count towards the limit.
    Shown(usize, usize),
    Failed(Error),
    /// The store is needed.
    Again,
}

/// Reads a blob into a buffer; returns whether it succeeded.
type Read<'r> = dyn Fn(Oid, &mut Vec<u8>) -> bool + 'r;

/// Commits and their results. The allocating thread gets them back, as freeing memory of another thread is slow.
#[derive(Default)]
struct Work<S> {
    batch: Vec<NotedCommit>,
    made: Vec<Made>,
    sheet: S,
}

impl<S: Sheet> Work<S> {
    /// Renders those of the batch that do not need the repository. `note` is a buffer.
    fn run(&mut self, read: &Read<'_>, note: &mut Vec<u8>, maker: Maker<'_, S>) {
        for found in &mut self.batch {
            self.made.push(match found {
                NotedCommit::Settled(annotated) => maker.run(annotated, usize::MAX, &mut self.sheet),
                NotedCommit::Stored(commit, notes) => match stored(commit, notes, read, note) {
                    Ok(Some(mut annotated)) => maker.run(&mut annotated, usize::MAX, &mut self.sheet),
                    Ok(None) => Made::Again,
                    Err(error) => Made::Failed(error),
                },
            });
        }
    }
}

/// A commit with the records of its notes; `None` if only the store can resolve them.
fn stored(
    commit: &Listed,
    notes: &[(Namespace, Oid)],
    read: &Read<'_>,
    note: &mut Vec<u8>,
) -> Result<Option<AnnotatedCommit>> {
    let mut annotated = empty(commit.read()?);
    for (namespace, blob) in notes {
        // the second attempt reports what is unreadable
        let records = if read(*blob, note) { resolve_note(commit.id, note) } else { None };
        let Some(records) = records else { return Ok(None) };
        *annotated.namespace(*namespace) = records;
    }
    Ok(Some(annotated))
}

/// How results are written, how many were, and how many may follow.
struct Showing<'m, S> {
    maker: Maker<'m, S>,
    show: &'m mut Show<'m, S>,
    shown: usize,
    left: usize,
}

impl<S: Sheet> Showing<'_, S> {
    /// Writes the results of a batch in order, and empties it.
    fn finish(&mut self, reader: &mut CommitReader<'_>, work: &mut Work<S>) -> Result<()> {
        let mut begin = 0;
        for (found, of) in work.batch.iter_mut().zip(work.made.drain(..)) {
            let end = match of {
                Made::Shown(end, _) => end,
                _ => begin,
            };
            let count = match of {
                _ if self.left == 0 => break,
                Made::Nothing => continue,
                Made::Failed(error) => return Err(error),
                Made::Shown(_, count) if count <= self.left => {
                    (self.show)(Some((&mut work.sheet, begin..end)))?;
                    count
                }
                // not rendered, or more records than the remaining limit
                Made::Shown(..) | Made::Again => {
                    let mut annotated = match found {
                        NotedCommit::Stored(commit, _) => reader.settled(commit)?,
                        NotedCommit::Settled(annotated) => {
                            std::mem::replace(annotated, empty(annotated.commit.clone()))
                        }
                    };
                    let mut own = S::default();
                    match self.maker.run(&mut annotated, self.left, &mut own) {
                        Made::Shown(end, count) => (self.show)(Some((&mut own, 0..end))).map(|()| count)?,
                        Made::Failed(error) => return Err(error),
                        Made::Nothing | Made::Again => continue,
                    }
                }
            };
            begin = end;
            (self.left, self.shown) = (self.left - count, self.shown + 1);
        }
        work.batch.clear();
        work.sheet.clear();
        (self.show)(None)
    }
}

/// A batch in progress.
enum Batch<S> {
    Done(Work<S>),
    /// With its number of commits.
    Away(Receiver<Work<S>>, usize),
}

type Job<S> = (Work<S>, Sender<Work<S>>);

/// Shows `most` annotated commits of a history: this thread reads, helpers render; this thread also renders when they
/// are busy.
pub(crate) fn show<S: Sheet>(
    reader: &mut CommitReader<'_>,
    most: usize,
    maker: Maker<'_, S>,
    show: &mut Show<'_, S>,
) -> Result<()> {
    let others = std::thread::available_parallelism().map_or(1, usize::from).saturating_sub(1).min(HELPERS);
    let helpers = if most > PAGE { others } else { 0 };
    let (give, take) = channel::<Job<S>>();
    let take = Mutex::new(take);
    let (objects, stop) = (Objects::of(reader.context.repo), AtomicBool::new(false));
    let lost = Mutex::new(Vec::new());
    let shown = std::thread::scope(|scope| {
        let begin = || std::thread::Builder::new().spawn_scoped(scope, || help(&take, &objects, &lost, &stop, maker));
        let helpers = (0..helpers).filter(|_| begin().is_ok()).count();
        let showing = Showing { maker, show, left: most, shown: 0 };
        // dropping this ends the helpers
        let mut line = Line {
            showing,
            give,
            take: &take,
            helpers,
            room: Vec::new(),
            under_way: VecDeque::new(),
            pending: 0,
            idle: Vec::new(),
        };
        let shown = line.run(reader);
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
fn help<S: Sheet>(
    take: &Mutex<Receiver<Job<S>>>,
    objects: &Objects,
    lost: &Mutex<Vec<Oid>>,
    stop: &AtomicBool,
    maker: Maker<'_, S>,
) {
    let next = || take.lock().ok()?.recv().ok();
    let (blobs, mut room) = (objects.open(), Vec::new());
    let read = |blob, note: &mut Vec<u8>| {
        let is_here = blobs.as_ref().is_some_and(|blobs| blobs.read_into(blob, note));
        if !is_here {
            lost.lock().unwrap_or_else(PoisonError::into_inner).push(blob);
        }
        is_here
    };
    while let Some((mut work, reply)) = next().filter(|_| !stop.load(Ordering::Relaxed)) {
        work.run(&read, &mut room, maker);
        // the receiver is gone if the log was aborted
        let _ = reply.send(work);
    }
}

/// Batches in progress, in order.
struct Line<'m, S> {
    showing: Showing<'m, S>,
    give: Sender<Job<S>>,
    /// Jobs not yet started.
    take: &'m Mutex<Receiver<Job<S>>>,
    helpers: usize,
    /// Buffer for a note.
    room: Vec<u8>,
    under_way: VecDeque<Batch<S>>,
    /// Number of commits read and not yet shown.
    pending: usize,
    /// Batches for reuse.
    idle: Vec<Work<S>>,
}

impl<S: Sheet> Line<'_, S> {
    fn run(&mut self, reader: &mut CommitReader<'_>) -> Result<()> {
        let mut work: Work<S> = Work::default();
        let (mut begun, mut ended, mut failed) = (Instant::now(), false, Ok(()));
        while self.showing.left > 0 && !(ended && self.pending == 0) {
            if !ended && self.pending < self.showing.left {
                match reader.next() {
                    Ok(None) => ended = true,
                    // first show what was found before the error
                    Err(error) => (ended, failed) = (true, Err(error)),
                    Ok(Some(None)) => {}
                    Ok(Some(Some(found))) => {
                        if work.batch.is_empty() {
                            begun = Instant::now();
                        }
                        work.batch.push(found);
                        self.pending += 1;
                    }
                }
            }
            // these may be enough
            let is_all = ended || self.pending >= self.showing.left;
            let alone = self.helpers == 0 || self.showing.shown < ALONE;
            let is_full = alone || is_all || work.batch.len() >= BATCH || begun.elapsed() >= PATIENCE;
            if is_full && !work.batch.is_empty() {
                let mut full = std::mem::replace(&mut work, self.idle.pop().unwrap_or_default());
                let away = self.under_way.iter().filter(|batch| matches!(batch, Batch::Away(..))).count();
                self.under_way.push_back(if alone || away > 2 * self.helpers {
                    full.run(&|blob, note| reader.read_into(blob, note), &mut self.room, self.showing.maker);
                    Batch::Done(full)
                } else {
                    let ((reply, answer), commits) = (channel(), full.batch.len());
                    // if a helper died, its end is closed, so no reply will come
                    let _ = self.give.send((full, reply));
                    Batch::Away(answer, commits)
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

    /// Processes jobs that no helper has started.
    fn take_back(&mut self, reader: &CommitReader<'_>) {
        // an idle helper holds the lock while it waits, and then there are no jobs
        let given = || self.take.try_lock().ok()?.try_recv().ok();
        if let Some((mut work, reply)) = given() {
            work.run(&|blob, note| reader.read_into(blob, note), &mut self.room, self.showing.maker);
            // received below
            let _ = reply.send(work);
        }
    }

    /// Shows finished batches in order; waits for the first if required. Returns whether to continue.
    fn show_ready(&mut self, reader: &mut CommitReader<'_>, mut must_wait: bool) -> Result<bool> {
        while let Some(first) = self.under_way.pop_front() {
            let (mut done, commits) = match first {
                Batch::Done(done) => {
                    let commits = done.batch.len();
                    (done, commits)
                }
                Batch::Away(answer, commits) => match answer.try_recv() {
                    Ok(done) => (done, commits),
                    Err(TryRecvError::Empty) if !must_wait => {
                        self.under_way.push_front(Batch::Away(answer, commits));
                        return Ok(true);
                    }
                    // a helper panicked; joining the threads propagates it
                    Err(TryRecvError::Disconnected) => return Ok(false),
                    Err(TryRecvError::Empty) => match answer.recv() {
                        Ok(done) => (done, commits),
                        Err(_) => return Ok(false),
                    },
                },
            };
            must_wait = false;
            self.showing.finish(reader, &mut done)?;
            self.pending -= commits;
            self.idle.push(done);
        }
        Ok(true)
    }
}
