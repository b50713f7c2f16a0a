//! History with records beside the commits, streamed.

use std::collections::BTreeSet;

use super::context::Context;
use crate::epistemics::journal::superseded;
use crate::error::Result;
use crate::git::history::{Commit, Selection, select};
use crate::model::{Body, Id, Record, Shelf};
use crate::store::{Homes, Lookup};

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

/// Hands each annotated commit to `show` as soon as it is found, in git's order; `show` returns whether to go on.
pub fn run(
    context: &Context<'_>,
    request: &Request,
    show: &mut dyn FnMut(Annotated) -> Result<bool>,
) -> Result<Vec<String>> {
    if context.store.head().commit.is_none() && request.selection.revisions.is_empty() && !request.selection.all {
        return Ok(context.store.settle());
    }
    // git looks for commits while we look at the notes
    let history = select(context.repo, &request.selection, request.abbreviate)?;
    let warnings = context.store.settle();
    let mut lookups = Vec::new();
    for shelf in &request.shelves {
        lookups.push((*shelf, Lookup::open(&context.store, *shelf)?));
    }
    let mut left = request.limit.unwrap_or(usize::MAX);
    for commit in history {
        if left == 0 {
            break;
        }
        let commit = commit?;
        let mut found = Annotated { commit, handoffs: Vec::new(), checkpoints: Vec::new(), journal: Vec::new() };
        for (shelf, lookup) in &mut lookups {
            let records = at_home(context, lookup, found.commit.id)?;
            match shelf {
                Shelf::Handoffs => found.handoffs = records,
                Shelf::Checkpoints => found.checkpoints = records,
                Shelf::Journal => found.journal = records,
            }
        }
        if found.handoffs.is_empty() && found.checkpoints.is_empty() && found.journal.is_empty() {
            continue;
        }
        left -= 1;
        if !show(found)? {
            break;
        }
    }
    Ok(warnings)
}

/// The records of a shelf that are at home on a commit and in force.
fn at_home(context: &Context<'_>, lookup: &mut Lookup<'_>, on: crate::git::Oid) -> Result<Vec<Record>> {
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
