//! Computes missing vectors in batches, each stored at once, so that an interrupted run resumes.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::context::CommandContext;
use crate::index::{Index, searchable};
use crate::use_cases::meaning::source::{
    LOCK, check, failed, file, is_announced, key, no_vectors, not_configured, provider, sendable, source,
};
use crate::use_cases::meaning::team;
use empirica_embed::error::EmbedError;
use empirica_embed::file::{Key, VectorFile};
use empirica_embed::{Provider, Source};
use empirica_notes::error::{Error, Result};
use empirica_notes::git::remotes;
use empirica_notes::model::Id;

const WHAT: &str = "cannot compute vectors";
/// How long an endpoint may take for a batch.
const BATCH_TIME: Duration = Duration::from_secs(60);
/// How often a batch is tried, with a growing pause, while the endpoint is busy.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The bytes of a text that every model accepts.
const SHORT: usize = 500;

/// Result of computing vectors.
#[derive(Debug)]
pub struct EmbedOutcome {
    pub source: Source,
    /// How many vectors were computed now, and how many there are.
    pub embedded: usize,
    pub total: usize,
    /// The length of the vectors; 0 without any.
    pub dimension: usize,
    /// How many points were sent to Qdrant; `None` without a server, and before the user was told of it.
    pub sent: Option<usize>,
}

/// A first transfer, announced before it happens.
#[derive(Debug)]
pub enum Announcement<'b> {
    /// Texts of so many records go to a model.
    Vectors(&'b Source, usize),
    /// Texts and vectors go to a Qdrant server, under this name of the repository.
    Team(&'b str, &'b str, usize),
}

/// A request to compute vectors.
#[derive(Debug, Clone, Copy, Default)]
pub struct EmbedRequest {
    /// Recompute all vectors.
    pub rebuild: bool,
    /// Run in the background: refuse a first transfer.
    pub unasked: bool,
}

/// Computes the missing vectors, or all with `rebuild` and if their length changed; removes vectors of deleted records and of other
/// models; then updates the Qdrant server of the team, if configured. Calls `announce` before a first transfer.
pub fn run(
    context: &CommandContext<'_>,
    EmbedRequest { rebuild, unasked }: EmbedRequest,
    announce: &mut dyn FnMut(Announcement<'_>),
    progress: &mut dyn FnMut(usize, usize),
) -> Result<EmbedOutcome> {
    let source = source(context)?.ok_or_else(not_configured)?;
    if unasked && !is_announced(context, &source) {
        return Err(no_vectors(context, &source));
    }
    let patience = if unasked { Duration::ZERO } else { context.store.patience() };
    let Some(_alone) = context.store.try_lock(LOCK, patience) else {
        return Err(Error::refused(format!("{WHAT}: another process is computing them")).suggest("Wait for it."));
    };
    let unwritable = |error: std::io::Error| failed(WHAT, &EmbedError::File(error));
    let paths = context.store.paths();
    paths.sharing().make_folder(&paths.vectors()).map_err(unwritable)?;
    let file = file(context, &source);
    let index = context.index()?;
    let stored = index.searchable_ids()?;
    let keys: HashSet<Key> = stored.iter().map(key).collect();
    let known = file.retain(&keys).map_err(unwritable)?;
    if known.is_empty() && !unasked {
        check(&source)?;
        announce(Announcement::Vectors(&source, stored.len()));
    }
    file.begin().map_err(unwritable)?;
    let mut missing: Vec<Id> = stored.iter().filter(|id| !known.contains(&key(id))).cloned().collect();
    let mut added = None;
    if !rebuild {
        added = fill(context, &index, &source, &file, &missing, progress)?;
    }
    let embedded = match added {
        Some(added) => added,
        // the old vectors serve until all new ones are there
        None => {
            missing = stored;
            let new = file.successor().map_err(unwritable)?;
            let added = fill(context, &index, &source, &new, &missing, progress)?;
            let added = added.ok_or_else(|| failed(WHAT, &EmbedError::Answer("their length changes".to_owned())))?;
            file.replace_by(&new).map_err(unwritable)?;
            added
        }
    };
    file.remove_others().map_err(unwritable)?;
    let (known, dimension) = file.keys().map_err(unwritable)?;
    let mut sent = None;
    if let Some(url) = team::url(context).filter(|url| !unasked || team::is_announced(context, url)) {
        if !team::is_announced(context, &url) {
            team::check(&url)?;
            announce(Announcement::Team(&url, &remotes::shared_name(context.repo), known.len()));
            team::announce(context, &url)?;
        }
        let recomputed = missing.iter().map(key).collect();
        sent = Some(team::send(context, &index, &url, &source, &recomputed, progress)?);
    }
    Ok(EmbedOutcome { source, embedded, total: known.len(), dimension, sent })
}

/// Adds the vectors of records batch by batch; returns their number, or `None` if the file has vectors of another length.
fn fill(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    source: &Source,
    file: &VectorFile,
    records: &[Id],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Option<usize>> {
    if records.is_empty() {
        return Ok(Some(0));
    }
    let provider = provider(context, source, Instant::now() + BATCH_TIME)?;
    let mut added = 0;
    for batch in records.chunks(provider.batch()) {
        let Some(more) = add(index, &provider, file, batch)? else { return Ok(None) };
        context.store.paths().sharing().apply(file.path()).map_err(|error| failed(WHAT, &error.into()))?;
        added += more;
        progress(added, records.len());
    }
    Ok(Some(added))
}

/// Adds the vectors of a batch, zeros for records without text; `None` if the file has vectors of another length.
fn add(index: &Index<'_>, provider: &Provider, file: &VectorFile, batch: &[Id]) -> Result<Option<usize>> {
    let scan = index.ids(batch)?;
    // including records that are not in force
    let records = batch.iter().filter_map(|id| Some(&scan.get(id)?.record));
    let texts: Vec<(Key, String)> = records
        .map(|record| {
            let text = searchable::searchable_text(&record.body).unwrap_or_default();
            (key(&record.envelope.id), sendable(&text))
        })
        .collect();
    let inputs: Vec<&str> = texts.iter().map(|(_, text)| text.trim()).filter(|text| !text.is_empty()).collect();
    let vectors = embed(provider, &inputs)?;
    // a text that the model refuses gets zeros; a model that refuses every text is misconfigured
    let length = vectors.iter().find_map(|vector| vector.as_ref().ok().map(Vec::len));
    let length = match (length, vectors.iter().find_map(|vector| vector.as_ref().err())) {
        (None, Some(refused)) if file.count() == 0 => return Err(failed(WHAT, refused)),
        (None, _) => file.length().unwrap_or(0),
        (Some(length), _) => length,
    };
    let mut vectors = vectors.into_iter().map(|vector| vector.unwrap_or_else(|_| vec![0.0; length]));
    let rows: Vec<(Key, Vec<f32>)> = texts
        .iter()
        .filter_map(|(key, text)| match text.trim().is_empty() {
            true => Some((*key, vec![0.0; length])),
            false => Some((*key, vectors.next()?)),
        })
        .filter(|(_, vector)| !vector.is_empty())
        .collect();
    match file.append(&rows) {
        Ok(()) => Ok(Some(rows.len())),
        Err(EmbedError::Length(..)) => Ok(None),
        Err(error) => Err(failed(WHAT, &error)),
    }
}

/// The vectors of texts, or the error of each. Retries a busy endpoint; splits a refused batch, and shortens a refused text.
fn embed(provider: &Provider, texts: &[&str]) -> Result<Vec<std::result::Result<Vec<f32>, EmbedError>>> {
    let mut tried = 1;
    loop {
        match provider.embed(texts, Instant::now() + BATCH_TIME) {
            Ok(vectors) => return Ok(vectors.into_iter().map(Ok).collect()),
            Err(EmbedError::Busy(_, wait)) if tried < TRIES => {
                std::thread::sleep(wait.unwrap_or(PAUSE * tried).min(LONGEST_PAUSE));
                tried += 1;
            }
            Err(EmbedError::Refused(400 | 413 | 422 | 500, _)) if texts.len() > 1 => {
                let (first, rest) = texts.split_at(texts.len() / 2);
                let mut out = embed(provider, first)?;
                out.extend(embed(provider, rest)?);
                return Ok(out);
            }
            Err(EmbedError::Refused(400 | 413 | 422 | 500, _)) if texts[0].len() > SHORT => {
                let half: String = texts[0].chars().take(texts[0].chars().count() / 2).collect();
                return embed(provider, &[&half]);
            }
            Err(error @ EmbedError::Refused(400 | 413 | 422, _)) => return Ok(vec![Err(error)]),
            Err(error) => return Err(failed(WHAT, &error)),
        }
    }
}
