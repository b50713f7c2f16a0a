//! Streams history with the records of its commits.

mod batches;
pub mod view;

use std::collections::BTreeSet;

use crate::context::CommandContext;
use crate::history::log::batches::Maker;
pub use crate::history::log::batches::{Make, Sheet, Show};
use empirica_notes::error::Result;
use empirica_notes::git::Oid;
use empirica_notes::git::history::{Commit, Listed, Selection, select};
use empirica_notes::git::remotes::is_partial;
use empirica_notes::model::superseded::superseded;
use empirica_notes::model::{Body, Id, Namespace, Record};
use empirica_notes::store::{Lookup, Note, Placements};

#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct LogRequest {
    pub wanted: RecordFilter,
    pub selection: Selection,
    /// Whether to abbreviate IDs.
    pub abbreviate: bool,
    /// Most annotated commits, or records.
    pub limit: Option<usize>,
}

/// Selects records.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct RecordFilter {
    /// Includes their acknowledgements.
    pub handoffs: bool,
    pub digests: bool,
    pub checkpoints: bool,
    pub journal: bool,
    /// By this agent; any if `None`.
    pub ai: Option<String>,
    /// Whether the limit counts records instead of commits.
    pub counts_records: bool,
}

impl RecordFilter {
    fn namespaces(&self) -> impl Iterator<Item = Namespace> {
        let namespaces = [
            (self.handoffs || self.digests, Namespace::Handoffs),
            (self.checkpoints, Namespace::Checkpoints),
            (self.journal, Namespace::Journal),
        ];
        namespaces.into_iter().filter(|(wanted, _)| *wanted).map(|(_, namespace)| namespace)
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

/// An annotated commit with the records attached to it, oldest first.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct AnnotatedCommit {
    pub commit: Commit,
    pub handoffs: Vec<Record>,
    pub checkpoints: Vec<Record>,
    pub journal: Vec<Record>,
}

/// Renders annotated commits with `make` and passes the results to `show` in git's order, the first ones immediately.
/// `make` runs in several threads and must depend on the commit only.
pub fn run<S: Sheet>(
    context: &CommandContext<'_>,
    request: &LogRequest,
    make: &Make<'_, S>,
    show: &mut Show<'_, S>,
) -> Result<Vec<String>> {
    if context.store.head().commit.is_none() && request.selection.is_empty() {
        return Ok(context.store.reconcile());
    }
    let mut selection = request.selection.clone();
    // git would reverse the whole history before limiting it
    let is_reversed = request.limit.is_some() && take_reverse(&mut selection);
    // git walks the history while we read the notes
    let history = select(context.repo, &selection, request.abbreviate)?;
    let warnings = context.store.reconcile();
    if is_partial(context.repo) {
        // the index fetches all notes missing in a partial clone at once; without them, less is shown
        drop(context.index());
    }
    let mut lookups = Vec::new();
    for namespace in request.wanted.namespaces() {
        lookups.push((namespace, Lookup::open(&context.store, namespace)?));
    }
    let mut reader = CommitReader { context, history, lookups };
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

/// A commit with its notes, as far as they must be read in sequence.
enum NotedCommit {
    /// Blobs of its notes.
    Stored(Listed, Vec<(Namespace, Oid)>),
    /// Records for which the store was needed.
    Settled(AnnotatedCommit),
}

/// Reads from the repository, in one thread.
struct CommitReader<'c> {
    context: &'c CommandContext<'c>,
    history: Box<dyn Iterator<Item = Result<Listed>> + 'c>,
    lookups: Vec<(Namespace, Lookup<'c>)>,
}

impl CommitReader<'_> {
    /// The next commit, `Some(None)` if it has no notes; `None` at the end.
    fn next(&mut self) -> Result<Option<Option<NotedCommit>>> {
        let Some(commit) = self.history.next().transpose()? else { return Ok(None) };
        let mut notes = Vec::new();
        for (namespace, lookup) in &mut self.lookups {
            match lookup.note(commit.id)? {
                Note::None => {}
                Note::One(note) => notes.push((*namespace, note)),
                Note::Several => return Ok(Some(Some(NotedCommit::Settled(self.settled(&commit)?)))),
            }
        }
        Ok(Some((!notes.is_empty()).then_some(NotedCommit::Stored(commit, notes))))
    }

    fn settled(&mut self, commit: &Listed) -> Result<AnnotatedCommit> {
        let mut found = empty(commit.read()?);
        for (namespace, lookup) in &mut self.lookups {
            let records = at_home(self.context, lookup, found.commit.id)?;
            *found.namespace(*namespace) = records;
        }
        Ok(found)
    }

    fn read_into(&self, blob: Oid, note: &mut Vec<u8>) -> bool {
        let is_here = self.context.repo.read_blob_into(blob, note).unwrap_or_default();
        if !is_here {
            // reports it as missing
            self.context.repo.note(blob);
        }
        is_here
    }
}

fn empty(commit: Commit) -> AnnotatedCommit {
    AnnotatedCommit { commit, handoffs: Vec::new(), checkpoints: Vec::new(), journal: Vec::new() }
}

impl AnnotatedCommit {
    fn namespace(&mut self, namespace: Namespace) -> &mut Vec<Record> {
        match namespace {
            Namespace::Handoffs => &mut self.handoffs,
            Namespace::Checkpoints => &mut self.checkpoints,
            Namespace::Journal => &mut self.journal,
        }
    }

    fn namespaces(&mut self) -> [&mut Vec<Record>; 3] {
        [&mut self.handoffs, &mut self.checkpoints, &mut self.journal]
    }

    fn is_empty(&self) -> bool {
        self.handoffs.is_empty() && self.checkpoints.is_empty() && self.journal.is_empty()
    }

    /// Number of records a limit counts: acknowledgements go with the handoffs.
    fn count(&self) -> usize {
        let handoffs = self.handoffs.iter().filter(|record| !matches!(record.body, Body::Accept(_))).count();
        handoffs + self.checkpoints.len() + self.journal.len()
    }

    /// Keeps the newest of the records a limit counts.
    fn newest(&mut self, most: usize) {
        let counted = |record: &Record| !matches!(record.body, Body::Accept(_));
        let mut ids: Vec<Id> = Vec::new();
        for namespace in self.namespaces() {
            ids.extend(namespace.iter().filter(|record| counted(record)).map(|record| record.head.id.clone()));
        }
        ids.sort_unstable();
        let kept = ids.split_off(ids.len().saturating_sub(most));
        for namespace in self.namespaces() {
            namespace.retain(|record| !counted(record) || kept.binary_search(&record.head.id).is_ok());
        }
    }
}

/// The records of a namespace that are attached to a commit and in force.
fn at_home(context: &CommandContext<'_>, lookup: &mut Lookup<'_>, on: Oid) -> Result<Vec<Record>> {
    let scan = lookup.scan(on)?;
    let placements = Placements::new(&scan);
    let aside: BTreeSet<Id> = superseded(scan.records());
    Ok(scan
        .entries()
        .filter(|entry| !entry.record.body.is_meta())
        .filter(|entry| !aside.contains(&entry.record.head.id) && placements.of(&context.store, entry) == on)
        .map(|entry| placements.placed(&context.store, entry))
        .collect())
}
