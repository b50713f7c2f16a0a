//! Computes the vectors of records that have none: in batches, each kept at once, so that it goes on where it was interrupted.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::context::CommandContext;
use crate::index::searchable;
use crate::use_cases::meaning::source::{failed, file, key, not_configured, provider, sendable, source};
use crate::use_cases::meaning::team;
use empirica_embed::error::EmbedError;
use empirica_embed::file::{Key, VectorFile};
use empirica_embed::{Provider, Source};
use empirica_notes::error::{Error, Result};
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
    /// Texts and vectors go to a Qdrant server.
    Team(&'b str, usize),
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
    let file = file(context, &source);
    let patience = if unasked { Duration::ZERO } else { context.store.patience() };
    let Some(_alone) = context.store.try_lock("embedding", patience) else {
        return Err(Error::refused(format!("{WHAT}: another process does")).suggest("Wait for it."));
    };
    let unwritable = |error: std::io::Error| failed(WHAT, &EmbedError::File(error));
    std::fs::create_dir_all(context.store.paths().vectors()).map_err(unwritable)?;
    if rebuild {
        file.clear().map_err(unwritable)?;
    }
    let stored = context.index()?.searchable_ids()?;
    let keys: HashSet<Key> = stored.iter().map(key).collect();
    let known = file.retain(&keys).map_err(unwritable)?;
    let missing: Vec<Id> = stored.into_iter().filter(|id| !known.contains(&key(id))).collect();
    if known.is_empty() && !unasked {
        begins(Beginning::Vectors(&source, missing.len()));
    }
    let mut embedded = 0;
    if !missing.is_empty() {
        let provider = provider(context, &source)?;
        for batch in missing.chunks(provider.batch()) {
            embedded += add(context, &provider, &file, batch)?;
            progress(embedded, missing.len());
        }
    }
    file.remove_others().map_err(unwritable)?;
    let (known, dimension) = file.keys().map_err(unwritable)?;
    let mut sent = None;
    if let Some(url) = team::url(context).filter(|url| !unasked || team::is_begun(context, url)) {
        if !team::is_begun(context, &url) {
            begins(Beginning::Team(&url, known.len()));
            team::begin(context, &url)?;
        }
        let anew = missing.iter().map(key).collect();
        sent = Some(team::send(context, &url, &source, &anew, rebuild, progress)?);
    }
    Ok(EmbedOutcome { source, embedded, total: known.len(), dimension, sent })
}

/// Adds the vectors of a batch; of records without text, zeros.
fn add(context: &CommandContext<'_>, provider: &Provider, file: &VectorFile, batch: &[Id]) -> Result<usize> {
    let scan = context.index()?.ids(batch)?;
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
    let length = vectors.first().map(Vec::len);
    let mut vectors = vectors.into_iter();
    let rows: Vec<(Key, Vec<f32>)> = texts
        .iter()
        .filter_map(|(key, text)| match text.trim().is_empty() {
            true => Some((*key, vec![0.0; length?])),
            false => Some((*key, vectors.next()?)),
        })
        .collect();
    file.append(&rows).map_err(|error| failed(WHAT, &error))?;
    Ok(rows.len())
}

/// The vectors of texts. A busy endpoint is asked again; one that refuses these texts, for a few at a time, and for their beginnings.
fn embed(provider: &Provider, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
    let mut tried = 1;
    loop {
        match provider.embed(texts, Instant::now() + BATCH_TIME) {
            Ok(vectors) => return Ok(vectors),
            Err(EmbedError::Busy(_, wait)) if tried < TRIES => {
                std::thread::sleep(wait.unwrap_or(PAUSE * tried).min(LONGEST_PAUSE));
                tried += 1;
            }
            Err(EmbedError::Refused(400 | 413 | 422 | 500, _)) if texts.len() > 1 => {
                let (first, rest) = texts.split_at(texts.len() / 2);
                return Ok([embed(provider, first)?, embed(provider, rest)?].concat());
            }
            Err(EmbedError::Refused(400 | 413 | 422 | 500, _)) if texts[0].len() > SHORT => {
                let half: String = texts[0].chars().take(texts[0].chars().count() / 2).collect();
                return embed(provider, &[&half]);
            }
            Err(error) => return Err(failed(WHAT, &error)),
        }
    }
}
