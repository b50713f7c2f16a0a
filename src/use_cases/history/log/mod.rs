//! Streams history with the records of its commits.

mod batches;
pub mod decoration;
pub mod reader;
pub mod view;

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use crate::context::CommandContext;
use crate::context::claims::anchors::Anchors;
use crate::use_cases::history::log::batches::{Marks, Render, Renderer, Show};
use crate::use_cases::history::log::reader::{CommitReader, RecordFilter};
use empirica_notes::error::Result;
use empirica_notes::git::history::{Selection, select};
use empirica_notes::git::remotes::is_partial;
use empirica_notes::store::Lookup;

#[derive(Debug, Clone, Default)]
pub struct LogRequest {
    pub wanted: RecordFilter,
    pub selection: Selection,
    pub abbreviate: bool,
    /// Whether texts of claims say where their code is not as it was, and with which others they disagree; those on the first
    /// [`MARKED`](batches::MARKED) commits.
    pub marks: bool,
    /// Most annotated commits, or records.
    pub limit: Option<usize>,
}

/// Renders each annotated commit, and shows it in git's order as soon as possible. Returns warnings.
pub fn run<T: Send>(
    context: &CommandContext<'_>,
    request: &LogRequest,
    render: &Render<'_, T>,
    show: &mut Show<'_, T>,
) -> Result<Vec<String>> {
    if context.store.head().commit.is_none() && request.selection.is_empty() {
        return Ok(context.store.reconcile());
    }
    let mut selection = request.selection.clone();
    // git would reverse the whole history before limiting it
    let is_reversed = request.limit.is_some() && take_reverse(&mut selection);
    // git walks the history while we read the notes
    let history = select(context.repo, &selection, request.abbreviate)?;
    let mut warnings = context.store.reconcile();
    if is_partial(context.repo) {
        // the index fetches all notes missing in a partial clone at once; without them, less is shown
        drop(context.index());
    }
    let has_claims = request.wanted.handoffs || request.wanted.digests || request.wanted.journal;
    let marking = if has_claims { marking(context) } else { None };
    let is_indexed = marking.is_some();
    let mut marks = marking.filter(|_| request.marks);
    let mut lookups = Vec::new();
    for namespace in request.wanted.namespaces() {
        lookups.push((namespace, Lookup::open(&context.store, namespace)?));
    }
    let mut reader = CommitReader { context, history, lookups, named: HashSet::new() };
    let most = request.limit.unwrap_or(usize::MAX);
    let renderer = Renderer { filter: &request.wanted, render };
    if is_reversed {
        let mut outputs = Vec::new();
        batches::show(&mut reader, most, renderer, marks.as_mut(), &mut |output| {
            outputs.extend(output);
            Ok(())
        })?;
        outputs.into_iter().rev().try_for_each(|output| show(Some(output)))?;
        show(None)?;
    } else {
        batches::show(&mut reader, most, renderer, marks.as_mut(), show)?;
    }
    if is_indexed {
        let seen = marks.map(|marks| marks.seen).unwrap_or_default();
        warnings.extend(context.index()?.doubts(&seen)?);
    }
    Ok(warnings)
}

/// How long a log waits for the index of notes that are new here; without it, claims have no marks.
const INDEX_WAIT: Duration = Duration::from_millis(100);

/// What compares claims with the code; `None` without an index.
fn marking<'c>(context: &'c CommandContext<'_>) -> Option<Marks<'c>> {
    if context.repo.config_bool("empirica.index") == Some(false) {
        return None;
    }
    context.index_cache.limit(INDEX_WAIT);
    context.index().ok()?;
    // a log adds no records: each commit would look for new ones
    context.index_cache.keep();
    Some(Marks { anchors: Anchors::brief(context), seen: BTreeSet::new() })
}

/// Removes `--reverse` from the options; whether it applied.
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
