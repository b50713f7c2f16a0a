//! History with records beside the commits, streamed.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use super::context::Context;
use crate::epistemics::journal::superseded;
use crate::error::Result;
use crate::git::Oid;
use crate::git::history::{Commit, Selection, select};
use crate::git::objects::Objects;
use crate::git::remotes::is_partial;
use crate::model::{Body, Id, Record, Shelf};
use crate::store::{Homes, Lookup, Note, standing_alone};

/// What to show.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct Request {
    /// Which records.
    pub shelves: Vec<Shelf>,
    pub selection: Selection,
    /// Whether abbreviated ids are wanted.
    pub abbreviate: bool,
    /// How many annotated commits at most.
    pub limit: Option<usize>,
}

/// A commit that has records, with those at home on it, oldest first.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Annotated {
    pub commit: Commit,
    pub handoffs: Vec<Record>,
    pub checkpoints: Vec<Record>,
    pub journal: Vec<Record>,
}

/// So many annotated commits are shown one by one before others help: who wants a page of them needs no help.
const ALONE: usize = 50;
/// So many commits go to a helper at once, but none waits for others longer than this.
const BATCH: usize = 64;
const PATIENCE: Duration = Duration::from_millis(5);
/// Who helps at most: the history is walked by one in any case.
const HELPERS: usize = 3;

/// Makes each annotated commit into what is shown of it, and hands that to `show` in git's order, the first ones at once; `None`
/// after several says that the next ones can be long in coming. `show` returns whether to go on. `make` depends on the commit
/// alone: it runs in several threads.
pub fn run<T: Send>(
    context: &Context<'_>,
    request: &Request,
    make: &(dyn Fn(&Annotated) -> Result<T> + Sync),
    show: &mut dyn FnMut(Option<T>) -> Result<bool>,
) -> Result<Vec<String>> {
    if context.store.head().commit.is_none() && request.selection.revisions.is_empty() && !request.selection.all {
        return Ok(context.store.settle());
    }
    // git looks for commits while we look at the notes
    let history = select(context.repo, &request.selection, request.abbreviate)?;
    let warnings = context.store.settle();
    if is_partial(context.repo) {
        // the index fetches the notes that a partial clone left out, all at once; without them there is less to show
        drop(context.store.index());
    }
    let mut lookups = Vec::new();
    for shelf in &request.shelves {
        lookups.push((*shelf, Lookup::open(&context.store, *shelf)?));
    }
    let mut reader = Reader { context, history, lookups };
    let read = |blob| context.repo.read_blob(blob).ok().flatten();
    let mut left = request.limit.unwrap_or(usize::MAX);
    let mut shown = 0;
    while left > 0 && shown < ALONE {
        let Some(found) = reader.next()? else { return Ok(warnings) };
        let Some(found) = found else { continue };
        let Some(made) = reader.finished(made(found, &read, make), make)? else { continue };
        (left, shown) = (left - 1, shown + 1);
        if !show(Some(made))? || !show(None)? {
            return Ok(warnings);
        }
    }
    if left > 0 {
        with_help(&mut reader, make, &mut |made| {
            left -= usize::from(made.is_some());
            Ok(show(made)? && left > 0)
        })?;
    }
    Ok(warnings)
}

/// A commit with its notes, as far as one must be read after the other.
enum Found {
    /// The blobs of the notes.
    Stored(Commit, Vec<(Shelf, Oid)>),
    /// Notes for which the store was needed.
    Settled(Annotated),
}

/// What a commit comes to.
enum Made<T> {
    Nothing,
    Shown(Result<T>),
    /// The store is needed after all.
    Again(Box<Commit>),
}

/// Everything that needs the repository, which one thread has.
struct Reader<'c> {
    context: &'c Context<'c>,
    history: Box<dyn Iterator<Item = Result<Commit>> + 'c>,
    lookups: Vec<(Shelf, Lookup<'c>)>,
}

impl Reader<'_> {
    /// The next commit, `Some(None)` when it has no notes; `None` at the end.
    fn next(&mut self) -> Result<Option<Option<Found>>> {
        let Some(commit) = self.history.next().transpose()? else { return Ok(None) };
        let mut notes = Vec::new();
        for (shelf, lookup) in &mut self.lookups {
            match lookup.note(commit.id)? {
                Note::None => {}
                Note::One(note) => notes.push((*shelf, note)),
                Note::Several => return Ok(Some(Some(Found::Settled(self.settled(commit)?)))),
            }
        }
        Ok(Some((!notes.is_empty()).then_some(Found::Stored(commit, notes))))
    }

    fn settled(&mut self, commit: Commit) -> Result<Annotated> {
        let mut found = empty(commit);
        for (shelf, lookup) in &mut self.lookups {
            let records = at_home(self.context, lookup, found.commit.id)?;
            *found.shelf(*shelf) = records;
        }
        Ok(found)
    }

    /// What is shown of a commit; `None` when that is nothing.
    fn finished<T>(&mut self, made: Made<T>, make: &dyn Fn(&Annotated) -> Result<T>) -> Result<Option<T>> {
        match made {
            Made::Nothing => Ok(None),
            Made::Shown(made) => made.map(Some),
            Made::Again(commit) => {
                let found = self.settled(*commit)?;
                if found.is_empty() { Ok(None) } else { make(&found).map(Some) }
            }
        }
    }
}

fn empty(commit: Commit) -> Annotated {
    Annotated { commit, handoffs: Vec::new(), checkpoints: Vec::new(), journal: Vec::new() }
}

impl Annotated {
    fn shelf(&mut self, shelf: Shelf) -> &mut Vec<Record> {
        match shelf {
            Shelf::Handoffs => &mut self.handoffs,
            Shelf::Checkpoints => &mut self.checkpoints,
            Shelf::Journal => &mut self.journal,
        }
    }

    fn is_empty(&self) -> bool {
        self.handoffs.is_empty() && self.checkpoints.is_empty() && self.journal.is_empty()
    }
}

/// What can be done without the repository.
fn made<T>(found: Found, read: &dyn Fn(Oid) -> Option<Vec<u8>>, make: &dyn Fn(&Annotated) -> Result<T>) -> Made<T> {
    let annotated = match found {
        Found::Settled(annotated) => annotated,
        Found::Stored(commit, notes) => {
            let mut annotated = empty(commit);
            for (shelf, note) in notes {
                // what cannot be read says so when it is read once more
                match read(note).and_then(|note| standing_alone(annotated.commit.id, &note)) {
                    Some(records) => *annotated.shelf(shelf) = records,
                    None => return Made::Again(Box::new(annotated.commit)),
                }
            }
            annotated
        }
    };
    if annotated.is_empty() { Made::Nothing } else { Made::Shown(make(&annotated)) }
}

/// Commits on their way, in their order.
enum Batch<T> {
    Done(Vec<Made<T>>),
    Away(Receiver<Vec<Made<T>>>),
}

type Job<T> = (Vec<Found>, Sender<Vec<Made<T>>>);

/// The rest of the log: this thread reads, others make what is shown; when they have enough to do, this one does, too.
fn with_help<T: Send>(
    reader: &mut Reader<'_>,
    make: &(dyn Fn(&Annotated) -> Result<T> + Sync),
    show: &mut dyn FnMut(Option<T>) -> Result<bool>,
) -> Result<()> {
    let helpers = std::thread::available_parallelism().map_or(1, usize::from).saturating_sub(1).min(HELPERS);
    let (give, take) = channel::<Job<T>>();
    let take = Mutex::new(take);
    let repo = reader.context.repo;
    let (objects, read) = (Objects::of(repo), |blob| repo.read_blob(blob).ok().flatten());
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|| {
                let next = || take.lock().ok()?.recv().ok();
                let blobs = objects.open();
                let read = |blob| blobs.as_ref()?.read(blob);
                while let Some((batch, reply)) = next() {
                    // nobody waits any more when the log was left
                    let _ = reply.send(batch.into_iter().map(|found| made(found, &read, make)).collect());
                }
            });
        }
        // the helpers end when this goes
        let give = give;
        let mut under_way: VecDeque<Batch<T>> = VecDeque::new();
        let (mut batch, mut begun, mut ended) = (Vec::new(), Instant::now(), false);
        while !ended || !under_way.is_empty() {
            if !ended {
                match reader.next()? {
                    None => ended = true,
                    Some(None) => {}
                    Some(Some(found)) => {
                        if batch.is_empty() {
                            begun = Instant::now();
                        }
                        batch.push(found);
                    }
                }
                let full = batch.len() >= BATCH || begun.elapsed() >= PATIENCE || ended;
                if full && !batch.is_empty() {
                    let batch = std::mem::take(&mut batch);
                    let away = under_way.iter().filter(|batch| matches!(batch, Batch::Away(_))).count();
                    under_way.push_back(if away > 2 * helpers || helpers == 0 {
                        Batch::Done(batch.into_iter().map(|found| made(found, &read, make)).collect())
                    } else {
                        let (reply, answer) = channel();
                        // a helper that is gone has dropped the other end: then there is no answer either
                        let _ = give.send((batch, reply));
                        Batch::Away(answer)
                    });
                }
            }
            // what waits is bounded: no more is read while the first one is not done
            let must_wait = ended || under_way.len() > 4 * (helpers + 1);
            if !show_ready(reader, make, show, &mut under_way, must_wait)? {
                return Ok(());
            }
        }
        Ok(())
    })
}

/// Shows what is done of the batches, in their order; waits for the first one if it must. Returns whether to go on.
fn show_ready<T>(
    reader: &mut Reader<'_>,
    make: &dyn Fn(&Annotated) -> Result<T>,
    show: &mut dyn FnMut(Option<T>) -> Result<bool>,
    under_way: &mut VecDeque<Batch<T>>,
    mut must_wait: bool,
) -> Result<bool> {
    while let Some(first) = under_way.pop_front() {
        let done = match first {
            Batch::Done(done) => done,
            Batch::Away(answer) => match answer.try_recv() {
                Ok(done) => done,
                Err(TryRecvError::Empty) if !must_wait => {
                    under_way.push_front(Batch::Away(answer));
                    return Ok(true);
                }
                // a helper that panicked: its panic goes on where the threads are joined
                Err(TryRecvError::Disconnected) => return Ok(false),
                Err(TryRecvError::Empty) => match answer.recv() {
                    Ok(done) => done,
                    Err(_) => return Ok(false),
                },
            },
        };
        must_wait = false;
        for made in done {
            if let Some(made) = reader.finished(made, make)?
                && !show(Some(made))?
            {
                return Ok(false);
            }
        }
        if !show(None)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The records of a shelf that are at home on a commit and in force.
fn at_home(context: &Context<'_>, lookup: &mut Lookup<'_>, on: Oid) -> Result<Vec<Record>> {
    let scan = lookup.scan(on)?;
    let homes = Homes::new(&scan);
    let aside: BTreeSet<Id> = superseded(scan.records());
    Ok(scan
        .entries()
        .filter(|entry| !matches!(entry.record.body, Body::Attach(_) | Body::Supersede(_)))
        .filter(|entry| !aside.contains(&entry.record.head.id) && homes.of(&context.store, entry) == on)
        .map(|entry| homes.placed(&context.store, entry))
        .collect())
}
