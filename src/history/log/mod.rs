//! History with records beside the commits, streamed.

mod batches;
pub mod view;

use std::collections::BTreeSet;

use crate::context::Context;
use crate::history::log::batches::Maker;
pub use crate::history::log::batches::{Make, Sheet, Show};
use empirica_notes::error::Result;
use empirica_notes::git::Oid;
use empirica_notes::git::history::{Commit, Listed, Selection, select};
use empirica_notes::git::remotes::is_partial;
use empirica_notes::model::superseded::superseded;
use empirica_notes::model::{Body, Id, Record, Shelf};
use empirica_notes::store::{Homes, Lookup, Note};

/// What to show.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct Request {
    pub wanted: Wanted,
    pub selection: Selection,
    /// Whether abbreviated ids are wanted.
    pub abbreviate: bool,
    /// How many annotated commits at most, or records.
    pub limit: Option<usize>,
}

/// Which records.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct Wanted {
    /// With their acknowledgements.
    pub handoffs: bool,
    pub digests: bool,
    pub checkpoints: bool,
    pub journal: bool,
    /// Of whom; of all without.
    pub ai: Option<String>,
    /// Whether the limit is one of records, not of commits.
    pub counts_records: bool,
}

impl Wanted {
    fn shelves(&self) -> impl Iterator<Item = Shelf> {
        let shelves = [
            (self.handoffs || self.digests, Shelf::Handoffs),
            (self.checkpoints, Shelf::Checkpoints),
            (self.journal, Shelf::Journal),
        ];
        shelves.into_iter().filter(|(wanted, _)| *wanted).map(|(_, shelf)| shelf)
    }

    fn has(&self, record: &Record) -> bool {
        let is_kind = match record.body {
            Body::Handoff(_) | Body::Accept(_) => self.handoffs,
            Body::Digest(_) => self.digests,
            _ => true,
        };
        is_kind && self.ai.as_ref().is_none_or(|ai| record.head.ai == *ai)
    }
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

/// Has `make` make each annotated commit into what is shown of it, and hands that to `show` in git's order, the first ones at
/// once. `make` depends on the commit alone: it runs in several threads.
pub fn run<S: Sheet>(
    context: &Context<'_>,
    request: &Request,
    make: &Make<'_, S>,
    show: &mut Show<'_, S>,
) -> Result<Vec<String>> {
    if context.store.head().commit.is_none() && request.selection.is_empty() {
        return Ok(context.store.settle());
    }
    let mut selection = request.selection.clone();
    // git would reverse the whole history before the newest are taken of it
    let is_reversed = request.limit.is_some() && take_reverse(&mut selection);
    // git looks for commits while we look at the notes
    let history = select(context.repo, &selection, request.abbreviate)?;
    let warnings = context.store.settle();
    if is_partial(context.repo) {
        // the index fetches the notes that a partial clone left out, all at once; without them there is less to show
        drop(context.index());
    }
    let mut lookups = Vec::new();
    for shelf in request.wanted.shelves() {
        lookups.push((shelf, Lookup::open(&context.store, shelf)?));
    }
    let mut reader = Reader { context, history, lookups };
    let most = request.limit.unwrap_or(usize::MAX);
    let maker = Maker { wanted: &request.wanted, make };
    if !is_reversed {
        batches::show(&mut reader, most, maker, show)?;
        return Ok(warnings);
    }
    let mut sheets = Vec::new();
    batches::show(&mut reader, most, maker, &mut |made| {
        sheets.extend(made.map(|(sheet, at)| sheet.cut(at)));
        Ok(())
    })?;
    for sheet in sheets.iter_mut().rev() {
        let end = sheet.end();
        show(Some((sheet, 0..end)))?;
    }
    show(None).map(|()| warnings)
}

fn take_reverse(selection: &mut Selection) -> bool {
    let options = selection.iter().take_while(|word| *word != "--");
    let found = options.filter(|word| *word == "--reverse").count() % 2 == 1;
    let mut is_path = false;
    selection.retain(|word| {
        is_path |= word == "--";
        is_path || word != "--reverse"
    });
    found
}

/// A commit with its notes, as far as one must be read after the other.
enum Found {
    /// The blobs of the notes.
    Stored(Listed, Vec<(Shelf, Oid)>),
    /// Notes for which the store was needed.
    Settled(Annotated),
}

/// Everything that needs the repository, which one thread has.
struct Reader<'c> {
    context: &'c Context<'c>,
    history: Box<dyn Iterator<Item = Result<Listed>> + 'c>,
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
                Note::Several => return Ok(Some(Some(Found::Settled(self.settled(&commit)?)))),
            }
        }
        Ok(Some((!notes.is_empty()).then_some(Found::Stored(commit, notes))))
    }

    fn settled(&mut self, commit: &Listed) -> Result<Annotated> {
        let mut found = empty(commit.read()?);
        for (shelf, lookup) in &mut self.lookups {
            let records = at_home(self.context, lookup, found.commit.id)?;
            *found.shelf(*shelf) = records;
        }
        Ok(found)
    }

    fn read_into(&self, blob: Oid, note: &mut Vec<u8>) -> bool {
        let is_here = self.context.repo.read_blob_into(blob, note).unwrap_or_default();
        if !is_here {
            // it is spoken of
            self.context.repo.note(blob);
        }
        is_here
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

    fn shelves(&mut self) -> [&mut Vec<Record>; 3] {
        [&mut self.handoffs, &mut self.checkpoints, &mut self.journal]
    }

    fn is_empty(&self) -> bool {
        self.handoffs.is_empty() && self.checkpoints.is_empty() && self.journal.is_empty()
    }

    /// How many records a limit counts: what a receiver said goes along with the handoffs.
    fn count(&self) -> usize {
        let said = self.handoffs.iter().filter(|record| !matches!(record.body, Body::Accept(_))).count();
        said + self.checkpoints.len() + self.journal.len()
    }

    /// Keeps the newest of the records that a limit counts.
    fn newest(&mut self, most: usize) {
        let counted = |record: &Record| !matches!(record.body, Body::Accept(_));
        let mut ids: Vec<Id> = Vec::new();
        for shelf in self.shelves() {
            ids.extend(shelf.iter().filter(|record| counted(record)).map(|record| record.head.id.clone()));
        }
        ids.sort_unstable();
        let kept = ids.split_off(ids.len().saturating_sub(most));
        for shelf in self.shelves() {
            shelf.retain(|record| !counted(record) || kept.binary_search(&record.head.id).is_ok());
        }
    }
}

/// The records of a shelf that are at home on a commit and in force.
fn at_home(context: &Context<'_>, lookup: &mut Lookup<'_>, on: Oid) -> Result<Vec<Record>> {
    let scan = lookup.scan(on)?;
    let homes = Homes::new(&scan);
    let aside: BTreeSet<Id> = superseded(scan.records());
    Ok(scan
        .entries()
        .filter(|entry| !entry.record.body.is_aside())
        .filter(|entry| !aside.contains(&entry.record.head.id) && homes.of(&context.store, entry) == on)
        .map(|entry| homes.placed(&context.store, entry))
        .collect())
}
