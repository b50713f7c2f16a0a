//! Computes the vectors of records that have none: in batches, each kept at once, so that it goes on where it was interrupted.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::context::CommandContext;
use crate::index::{Index, searchable};
use crate::use_cases::meaning::source::{
    LOCK, check, failed, file, is_begun, key, no_vectors, not_configured, provider, sendable, source,
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
/// The bytes of a text that any model can read.
const SHORT: usize = 500;

/// What was computed.
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

/// What is going to happen for the first time.
#[derive(Debug)]
pub enum Beginning<'b> {
    /// Records are read by a model, or go to an endpoint.
    Vectors(&'b Source, usize),
    /// Texts and vectors go to a Qdrant server, under this name of the repository.
    Team(&'b str, &'b str, usize),
}

/// What to compute.
#[derive(Debug, Clone, Copy, Default)]
pub struct EmbedRequest {
    /// All vectors anew.
    pub rebuild: bool,
    /// Nobody asked: nothing is sent anywhere for the first time.
    pub unasked: bool,
}

/// Computes the missing vectors, with `rebuild` all of them anew, and removes those of records and models that are gone; then sends to
/// the Qdrant server of the team, if there is one, what it lacks. `begins` is told before anything is sent for the first time.
pub fn run(
    context: &CommandContext<'_>,
    EmbedRequest { rebuild, unasked }: EmbedRequest,
    begins: &mut dyn FnMut(Beginning<'_>),
    progress: &mut dyn FnMut(usize, usize),
) -> Result<EmbedOutcome> {
    let source = source(context)?.ok_or_else(not_configured)?;
    if unasked && !is_begun(context, &source) {
        return Err(no_vectors(context, &source));
    }
    let patience = if unasked { Duration::ZERO } else { context.store.patience() };
    let Some(_alone) = context.store.try_lock(LOCK, patience) else {
        return Err(Error::refused(format!("{WHAT}: another process is computing them")).suggest("Wait for it."));
    };
    let unwritable = |error: std::io::Error| failed(WHAT, &EmbedError::File(error));
    let sharing = context.store.paths().sharing();
    sharing.make_folder(&context.store.paths().vectors()).map_err(unwritable)?;
    let file = file(context, &source);
    let index = context.index()?;
    let stored = index.searchable_ids()?;
    let keys: HashSet<Key> = stored.iter().map(key).collect();
    let known = file.retain(&keys).map_err(unwritable)?;
    if known.is_empty() && !unasked {
        check(&source)?;
        begins(Beginning::Vectors(&source, stored.len()));
    }
    file.begin().map_err(unwritable)?;
    // the old ones serve until all are there
    let target = if rebuild { file.successor().map_err(unwritable)? } else { file.clone() };
    let missing: Vec<Id> = stored.into_iter().filter(|id| rebuild || !known.contains(&key(id))).collect();
    let mut embedded = 0;
    if !missing.is_empty() {
        let provider = provider(context, &source, Instant::now() + BATCH_TIME)?;
        for batch in missing.chunks(provider.batch()) {
            embedded += add(&index, &provider, &target, batch)?;
            sharing.apply(target.path()).map_err(unwritable)?;
            progress(embedded, missing.len());
        }
    }
    if rebuild {
        file.replace_by(&target).map_err(unwritable)?;
    }
    file.remove_others().map_err(unwritable)?;
    let (known, dimension) = file.keys().map_err(unwritable)?;
    let mut sent = None;
    if let Some(url) = team::url(context).filter(|url| !unasked || team::is_begun(context, url)) {
        if !team::is_begun(context, &url) {
            team::check(&url)?;
            begins(Beginning::Team(&url, &remotes::shared_name(context.repo), known.len()));
            team::begin(context, &url)?;
        }
        let anew = missing.iter().map(key).collect();
        sent = Some(team::send(context, &index, &url, &source, &anew, progress)?);
    }
    Ok(EmbedOutcome { source, embedded, total: known.len(), dimension, sent })
}

/// Adds the vectors of a batch; of records without text, zeros.
fn add(index: &Index<'_>, provider: &Provider, file: &VectorFile, batch: &[Id]) -> Result<usize> {
    let scan = index.ids(batch)?;
    // also those that are not in force
    let records = batch.iter().filter_map(|id| Some(&scan.get(id)?.record));
    let texts: Vec<(Key, String)> = records
        .map(|record| {
            let text = searchable::searchable_text(&record.body).unwrap_or_default();
            (key(&record.envelope.id), sendable(&text))
        })
        .collect();
    let inputs: Vec<&str> = texts.iter().map(|(_, text)| text.trim()).filter(|text| !text.is_empty()).collect();
    let vectors = embed(provider, &inputs)?;
    // what a model refuses alone is near to nothing; a model that refuses all is wrong
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
    file.append(&rows).map_err(|error| failed(WHAT, &error))?;
    Ok(rows.len())
}

/// The vectors of texts, each or why it has none. A busy endpoint is asked again; one that refuses these texts, for a few at a time, and
/// for their beginnings.
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
