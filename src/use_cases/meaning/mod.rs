//! Search by meaning: vectors of records, kept beside the index, compared with that of a query.

pub mod fuse;
pub mod source;
pub mod team;
pub mod update;
pub mod view;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::context::CommandContext;
use crate::context::claims::inject;
use crate::index::{Index, SearchQuery};
use crate::use_cases::meaning::source::{
    LOCK, PATIENCE, failed, file, id, is_announced, key, no_vectors, provider, sendable, source,
};
use empirica_embed::file::{Key, Neighbors, VectorFile};
use empirica_notes::error::Result;
use empirica_notes::git::process::in_background;
use empirica_notes::model::{Id, Record};

const WHAT: &str = "cannot search by meaning";
/// The neighbors of a query: the nearest ones, up to a number, and all whose cosine exceeds the mean by a number of standard deviations.
/// Claims told unasked must stand out more.
const NEAR: (usize, f32) = (3, 1.5);
const RELATED: (usize, f32) = (0, 3.0);
/// All, in order.
const ALL: (usize, f32) = (usize::MAX, 0.0);
/// Factor by which more neighbors are read than wanted, as some are not in force.
const SPARE: usize = 4;

/// The records nearest to a text in meaning, nearest first, that match the filter of `query`, at most `query.most`: those that stand out,
/// or `all`. `None` if no model is configured. Waits at most 2 seconds for an endpoint. Computes missing vectors in the background.
pub fn near_text(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    text: &str,
    query: &SearchQuery,
    all: bool,
) -> Result<Option<Vec<Id>>> {
    let Some(source) = source(context)? else { return Ok(None) };
    update_in_background(context);
    let file = file(context, &source);
    if file.count() == 0 {
        return if index.searchable()? == 0 { Ok(None) } else { Err(no_vectors(context, &source)) };
    }
    let until = Instant::now() + PATIENCE;
    let vectors = provider(context, &source, until)?.embed(&[&sendable(text)], until);
    let vectors = vectors.map_err(|error| failed(WHAT, &error))?;
    let vector = vectors.first().map(Vec::as_slice).unwrap_or_default();
    near(index, &file, vector, query, &[], if all { ALL } else { NEAR }).map(Some)
}

/// The claims nearest in meaning to these records, nearest first, at most `most`, except these and those that `skips`. Compares stored
/// vectors only, so nothing leaves the machine; empty without vectors. `unasked` limits them to records that `empirica.inject` admits.
pub fn related(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    to: &[Id],
    most: usize,
    unasked: bool,
    skips: impl Fn(&Record) -> bool,
) -> Result<Vec<Record>> {
    let Some(source) = source(context).ok().flatten().filter(|_| !to.is_empty()) else { return Ok(Vec::new()) };
    let file = file(context, &source);
    let keys: HashSet<Key> = to.iter().map(key).collect();
    // vectors are derived: an unreadable file counts as absent
    let Some(vector) = file.mean(&keys).ok().flatten() else { return Ok(Vec::new()) };
    let query = SearchQuery { most: most * SPARE, ..SearchQuery::default() };
    let near = near(index, &file, &vector, &query, to, RELATED)?;
    let mut found = index.ids(&near)?;
    if unasked {
        inject::admit(context, &mut found)?;
    }
    let records = near.iter().filter_map(|id| Some(&found.get(id)?.record));
    let claims = records.filter(|record| record.body.claim().is_some() && !skips(record));
    Ok(claims.take(most).cloned().collect())
}

fn near(
    index: &Index<'_>,
    file: &VectorFile,
    vector: &[f32],
    query: &SearchQuery,
    without: &[Id],
    which: (usize, f32),
) -> Result<Vec<Id>> {
    let filter = SearchQuery { words: Default::default(), most: usize::MAX, ..query.clone() };
    let without: HashSet<Key> = without.iter().map(key).collect();
    let keys = |filter: &SearchQuery| -> Result<HashSet<Key>> {
        Ok(index.search(filter)?.hits.iter().map(|(id, _)| key(id)).collect())
    };
    let admitted = if filter.is_filtered() { Some(keys(&filter)?) } else { None };
    let counts = |key: &Key| !without.contains(key) && admitted.as_ref().is_none_or(|keys| keys.contains(key));
    let found = file.nearest(vector, query.most.saturating_mul(SPARE), counts).map_err(|error| failed(WHAT, &error))?;
    let mut ids: Vec<Id> = standing_out(found, which).into_iter().filter_map(id).collect();
    if admitted.is_none() {
        // drop records that are not in force or no longer stored
        let held = keys(&SearchQuery { ids: ids.clone(), ..filter })?;
        ids.retain(|id| held.contains(&key(id)));
    }
    ids.truncate(query.most);
    Ok(ids)
}

/// The nearest `always` ones if nearer than the mean, and those that stand out.
fn standing_out(found: Neighbors, (always, deviations): (usize, f32)) -> Vec<Key> {
    let least = found.mean + deviations * found.deviation;
    let nearest = found.nearest.into_iter().enumerate();
    let counts =
        |at: usize, cosine: f32| cosine >= least || (at < always && cosine >= found.mean) || always == usize::MAX;
    nearest.filter(|(at, (cosine, _))| counts(*at, *cosine)).map(|(_, (_, key))| key).collect()
}

/// Starts `embed` in the background if vectors are missing or the team's server is behind, and the user was told where texts go. Errors
/// are dropped: the next command tries again.
pub fn update_in_background(context: &CommandContext<'_>) {
    let is_due = || -> Result<bool> {
        let Some(source) = source(context)?.filter(|source| is_announced(context, source)) else { return Ok(false) };
        let index = context.index()?;
        Ok(file(context, &source).count() != index.searchable()? || team::is_due(context, &index, &source)?)
    };
    let is_free = || context.store.try_lock(LOCK, Duration::ZERO).is_some();
    if is_due().unwrap_or(false) && is_free() {
        let mut command = std::process::Command::new(&context.env.program);
        let _ = in_background(command.args(["embed", "-q", "--unasked"]).current_dir(&context.env.cwd), b"");
    }
}
