//! A Qdrant collection with the vectors of all repositories of a team. The notes stay the record; the collection can be rebuilt.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use crate::context::CommandContext;
use crate::index::{SearchQuery, searchable};
use crate::text::query::KINDS;
use crate::use_cases::meaning::source::{PATIENCE, failed, file, key, provider, sendable, source};
use empirica_embed::Source;
use empirica_embed::error::EmbedError;
use empirica_embed::file::Key;
use empirica_embed::qdrant::{BATCH, Point, Qdrant, filter};
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::remotes;
use empirica_notes::model::{Id, Record};
use serde_json::json;
use sha2::{Digest, Sha256};

const WRITING: &str = "cannot write to Qdrant";
const SEARCHING: &str = "cannot search in Qdrant";
/// The state of a record that is in force, and of one that is not.
const IN_FORCE: &str = "in_force";
const REPLACED: &str = "replaced";

/// A record of any repository, as the collection has it.
#[derive(Debug, Clone, PartialEq)]
pub struct TeamHit {
    pub repository: String,
    pub id: Id,
    pub kind: String,
    pub ai: String,
    pub timestamp: String,
    pub in_force: bool,
    pub text: String,
    /// The cosine.
    pub score: f64,
}

/// The configured server, `empirica.qdrant.url`; `None` without one.
pub fn url(context: &CommandContext<'_>) -> Option<String> {
    context.repo.config("empirica.qdrant.url").filter(|url| !url.trim().is_empty())
}

fn server(context: &CommandContext<'_>, url: &str, what: &str) -> Result<Qdrant> {
    let key = context.env.get("EMPIRICA_QDRANT_KEY").map(str::to_owned);
    Qdrant::new(url, key.or_else(|| remotes::credential(context.repo, url))).map_err(|error| unusable(what, &error))
}

fn unusable(what: &str, error: &EmbedError) -> Error {
    let out = Error::refused(format!("{what}: {error}"));
    match error {
        EmbedError::Length(..) => out
            .reason("the collection has the vectors of another model")
            .suggest(
                "Use the model of the team, or begin the collection anew; each repository then sends its own again.",
            )
            .command(empirica("embed").flag("--rebuild")),
        _ => out
            .suggest("Check empirica.qdrant.url, and whether the server runs.")
            .command("git config empirica.qdrant.url"),
    }
}

/// Whether the user was told that texts go to this server.
pub fn is_begun(context: &CommandContext<'_>, url: &str) -> bool {
    std::fs::read_to_string(context.store.paths().qdrant()).is_ok_and(|told| told == url)
}

/// Remembers that the user was told.
pub fn begin(context: &CommandContext<'_>, url: &str) -> Result<()> {
    std::fs::write(context.store.paths().qdrant(), url).map_err(|error| unusable(WRITING, &EmbedError::File(error)))
}

/// How the points of a model are called.
fn model(source: &Source) -> String {
    match source {
        Source::Endpoint { model, .. } => model.clone(),
        Source::Model(folder) => folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

/// The id of the point of a record.
fn point_id(repository: &str, model: &str, id: &Id) -> String {
    let hash = Sha256::digest(format!("{repository}\0{model}\0{}", id.as_str()));
    let bytes: [u8; 16] = hash[..16].try_into().unwrap_or_default();
    uuid::Uuid::from_bytes(bytes).to_string()
}

/// Brings the points of this repository up to date: adds missing ones and those in `anew`, marks what is no longer in force, removes
/// what was redacted; with `rebuild` all of them anew. Returns how many points were sent.
pub fn send(
    context: &CommandContext<'_>,
    url: &str,
    source: &Source,
    anew: &HashSet<Key>,
    rebuild: bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<usize> {
    let wrong = |error: EmbedError| unusable(WRITING, &error);
    let server = server(context, url, WRITING)?;
    let (vectors, index) = (file(context, source), context.index()?);
    let (keys, length) = vectors.keys().map_err(|error| wrong(error.into()))?;
    if keys.is_empty() {
        return Ok(0);
    }
    let (repository, model) = (remotes::shared_name(context.repo), model(source));
    let own = filter([("repository", vec![repository.as_str()])]);
    match server.create(length) {
        Err(EmbedError::Length(..)) if rebuild => {
            server.remove().map_err(wrong)?;
            server.create(length).map_err(wrong)?;
        }
        made => made.map_err(wrong)?,
    }
    if rebuild {
        server.delete_all(&own).map_err(wrong)?;
    }
    let there = server.states(&own).map_err(wrong)?;
    let stored = index.searchable_ids()?;
    let names: HashMap<Key, String> = stored.iter().map(|id| (key(id), point_id(&repository, &model, id))).collect();
    let in_force = index.search(&SearchQuery { most: usize::MAX, ..SearchQuery::default() })?.hits;
    let in_force: HashSet<Key> = in_force.iter().map(|(id, _)| key(id)).collect();
    let missing: Vec<&Id> = stored
        .iter()
        .filter(|id| keys.contains(&key(id)) && (anew.contains(&key(id)) || !there.contains_key(&names[&key(id)])))
        .collect();
    let mut sent = 0;
    for (at, batch) in missing.chunks(BATCH).enumerate() {
        progress(at * BATCH, missing.len());
        let wanted: HashSet<Key> = batch.iter().map(|id| key(id)).collect();
        let mut vectors = vectors.vectors(&wanted).map_err(|error| wrong(error.into()))?;
        let scan = index.ids(batch.iter().copied())?;
        let points: Vec<Point> = batch
            .iter()
            .filter_map(|id| {
                let record = &scan.get(id)?.record;
                let own = key(&record.envelope.id);
                let state = if in_force.contains(&own) { IN_FORCE } else { REPLACED };
                let payload = payload(record, &repository, &model, state);
                Some(Point { id: names.get(&own)?.clone(), vector: vectors.remove(&own)?, payload })
            })
            .collect();
        if !points.is_empty() {
            server.put(&points).map_err(wrong)?;
            sent += points.len();
        }
    }
    // another clone may not know yet that it was replaced
    let is_replaced = |id: &&Id| {
        let state = there.get(&names[&key(id)]).map(String::as_str);
        state == Some(IN_FORCE) && !in_force.contains(&key(id)) && !anew.contains(&key(id))
    };
    let replaced: Vec<String> = stored.iter().filter(is_replaced).map(|id| names[&key(id)].clone()).collect();
    server.set_state(&replaced, REPLACED).map_err(wrong)?;
    let redacted = index.redacted()?.into_iter().map(|id| point_id(&repository, &model, &id));
    let gone: Vec<String> = redacted.filter(|id| there.contains_key(id)).collect();
    server.delete(&gone).map_err(wrong)?;
    Ok(sent)
}

fn payload(record: &Record, repository: &str, model: &str, state: &str) -> serde_json::Value {
    let text = searchable::searchable_text(&record.body).unwrap_or_default();
    json!({
        "repository": repository,
        "model": model,
        "agent": record.envelope.ai,
        "kind": record.body.kind(),
        "state": state,
        "id": record.envelope.id,
        "timestamp": record.envelope.at,
        "text": sendable(&text),
    })
}

/// The records of `repository`, or of all, that are nearest to the text of a query, the nearest first; of the kinds and agents of the
/// query, and in force unless it asks for all.
pub fn search(
    context: &CommandContext<'_>,
    text: &str,
    repository: Option<&str>,
    query: &SearchQuery,
) -> Result<Vec<TeamHit>> {
    let Some(url) = url(context) else {
        return Err(Error::refused("cannot search in other repositories: empirica.qdrant.url is not set")
            .reason("their records are in the Qdrant collection of a team")
            .suggest("Name the server, and send the records of this repository.")
            .command("git config empirica.qdrant.url http://localhost:6333")
            .command(empirica("embed")));
    };
    let source = source(context)?.ok_or_else(super::source::not_configured)?;
    let until = Instant::now() + PATIENCE;
    let vectors = provider(context, &source)?.embed(&[&sendable(text)], until);
    let vectors = vectors.map_err(|error| failed("cannot search by meaning", &error))?;
    let model = model(&source);
    let conditions = filter([
        ("model", vec![model.as_str()]),
        ("repository", repository.into_iter().collect()),
        ("kind", query.kinds.clone()),
        ("agent", query.ais.iter().map(String::as_str).collect()),
        ("state", if query.all { Vec::new() } else { vec![IN_FORCE] }),
    ]);
    let vector = vectors.first().map(Vec::as_slice).unwrap_or_default();
    if query.most == 0 {
        return Ok(Vec::new());
    }
    let found = server(context, &url, SEARCHING)?.nearest(vector, &conditions, query.most, Instant::now() + PATIENCE);
    let found = match found {
        Err(EmbedError::Refused(404, _)) => {
            return Err(Error::refused("cannot search in Qdrant: the collection is not there yet")
                .suggest("Send the records of this repository.")
                .command(empirica("embed")));
        }
        found => found.map_err(|error| unusable(SEARCHING, &error))?,
    };
    Ok(found.into_iter().filter_map(|(score, payload)| hit(score, &payload)).collect())
}

/// A point as a record; `None` for what is none.
fn hit(score: f64, payload: &serde_json::Value) -> Option<TeamHit> {
    let text = |key: &str| payload[key].as_str().map(str::to_owned);
    Some(TeamHit {
        repository: text("repository")?,
        id: Id::parse(&text("id")?)?,
        kind: text("kind").filter(|kind| KINDS.contains(&kind.as_str()))?,
        ai: text("agent")?,
        timestamp: text("timestamp")?,
        in_force: text("state").is_some_and(|state| state == IN_FORCE),
        text: text("text")?,
        score,
    })
}
