//! Streams history with the records of its commits.

mod batches;
pub mod reader;
pub mod view;

use crate::context::CommandContext;
use crate::history::log::batches::Maker;
pub use crate::history::log::batches::{Make, Sheet, Show};
use crate::history::log::reader::{CommitReader, RecordFilter};
use empirica_notes::error::Result;
use empirica_notes::git::history::{Selection, select};
use empirica_notes::git::remotes::is_partial;
use empirica_notes::store::Lookup;

#[derive(Debug, Clone, Default)]
pub struct LogRequest {
    pub wanted: RecordFilter,
    pub selection: Selection,
    /// Whether to abbreviate IDs.
    pub abbreviate: bool,
    /// Most annotated commits, or records.
    pub limit: Option<usize>,
}

/// Has `make` make each annotated commit into what is shown of it, and hands that to `show` in git's order, the first ones at
/// once. `make` depends on the commit alone: it runs in several threads.
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
