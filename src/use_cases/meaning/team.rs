//! A Qdrant collection with the vectors of all repositories of a team. The notes stay the record; the collection can be rebuilt.

use std::collections::HashSet;
use std::time::Instant;

use crate::context::CommandContext;
use crate::index::{Index, SearchQuery, searchable};
use crate::text::query::KINDS;
use crate::use_cases::meaning::source::{
    PATIENCE, TEXT, failed, file, key, not_configured, provider, sendable, source,
};
use empirica_embed::Source;
use empirica_embed::error::EmbedError;
use empirica_embed::file::Key;
use empirica_embed::qdrant::{BATCH, Point, Qdrant, filter};
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::remotes;
use empirica_notes::model::{Id, Record};
use empirica_notes::store::SyncPolicy;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const WRITING: &str = "cannot write to Qdrant";
const SEARCHING: &str = "cannot search in Qdrant";
/// The state of a record that is in force, and of one that is not.
const IN_FORCE: &str = "in_force";
const REPLACED: &str = "replaced";
/// The state of the point that replaces a redacted record, so that a clone without the redaction does not send it again.
const REDACTED: &str = "redacted";

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

fn server(context: &CommandContext<'_>, url: &str, what: &str, until: Instant) -> Result<Qdrant> {
    let key = context.env.get("EMPIRICA_QDRANT_KEY").map(str::to_owned);
    let key = key.or_else(|| remotes::credential(context.repo, url, until));
    Qdrant::new(url, key).map_err(|error| unusable(what, &error))
}

fn unusable(what: &str, error: &EmbedError) -> Error {
    let out = Error::refused(format!("{what}: {error}"));
    match error {
        EmbedError::Length(..) => out
            .reason("the collection has the vectors of another model")
            .suggest("Use the model of the team; or remove the collection empirica on the server, and send the records of each repository again.")
            .command(empirica("embed")),
        _ => out.suggest("Check empirica.qdrant.url, and whether the server runs.").command("git config empirica.qdrant.url"),
    }
}

/// The announced URL, and a mark of the records sent last.
fn told(context: &CommandContext<'_>) -> (String, String) {
    let text = std::fs::read_to_string(context.store.paths().qdrant()).unwrap_or_default();
    let (url, mark) = text.split_once('\n').unwrap_or((&text, ""));
    (url.to_owned(), mark.trim_end().to_owned())
}

fn tell(context: &CommandContext<'_>, url: &str, mark: &str) -> Result<()> {
    let paths = context.store.paths();
    let written = paths.replace(&paths.qdrant(), &format!("{url}\n{mark}\n"));
    written.map_err(|error| unusable(WRITING, &EmbedError::File(error)))
}

/// Whether `embed` announced this server.
pub fn is_announced(context: &CommandContext<'_>, url: &str) -> bool {
    told(context).0 == url
}

/// Remembers that this server was announced.
pub fn announce(context: &CommandContext<'_>, url: &str) -> Result<()> {
    tell(context, url, "")
}

/// Checks the URL without contacting the server.
pub fn check(url: &str) -> Result<()> {
    Qdrant::new(url, None).map(|_| ()).map_err(|error| unusable(WRITING, &error))
}

/// A text that changes with the records, the model and the repository's name.
fn mark(context: &CommandContext<'_>, index: &Index<'_>, source: &Source) -> Result<String> {
    Ok(format!("{} {} {}", source.name(), index.count_all()?, remotes::shared_name(context.repo)))
}

/// Whether records changed since the last transfer; false before the announcement, and with `empirica.sync` off.
pub fn is_due(context: &CommandContext<'_>, index: &Index<'_>, source: &Source) -> Result<bool> {
    let is_sent = SyncPolicy::configured(context.repo)? != SyncPolicy::Nothing;
    let is_sent = is_sent && url(context).is_some_and(|url| is_announced(context, &url));
    Ok(is_sent && told(context).1 != mark(context, index, source)?)
}

/// The name of a model in the points.
fn model(source: &Source) -> String {
    match source {
        Source::Endpoint { model, .. } => model.clone(),
        Source::Model(folder) => folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

/// Updates the points of this repository: deletes redacted records, adds missing and `recomputed` ones, marks superseded ones. Sends only
/// records that `empirica.sync` allows. Returns the number of points sent.
pub fn send(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    url: &str,
    source: &Source,
    recomputed: &HashSet<Key>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<usize> {
    let wrong = |error: EmbedError| unusable(WRITING, &error);
    let policy = SyncPolicy::configured(context.repo)?;
    if policy == SyncPolicy::Nothing {
        return Err(Error::refused(format!("{WRITING}: empirica.sync is off"))
            .reason("no record may leave this repository")
            .suggest("Unset one of the two.")
            .command("git config --unset empirica.qdrant.url"));
    }
    let server = server(context, url, WRITING, Instant::now() + PATIENCE)?;
    let redacted = index.redacted()?;
    for gone in redacted.chunks(BATCH) {
        let ids = gone.iter().map(Id::as_str).collect();
        match server.delete(&filter([("id", ids)])) {
            // without a collection or its index, there are no points
            Err(EmbedError::Refused(400, _)) | Ok(()) => {}
            Err(error) => return Err(wrong(error)),
        }
    }
    let mark = mark(context, index, source)?;
    let vectors = file(context, source);
    let (keys, length) = vectors.keys().map_err(|error| wrong(error.into()))?;
    if keys.is_empty() {
        tell(context, url, &mark)?;
        return Ok(0);
    }
    server.create(length).map_err(wrong)?;
    let repository = sendable(&remotes::shared_name(context.repo));
    let points = Points { repository: &repository, model: &model(source) };
    let there = server.states(&filter([("repository", vec![points.repository])])).map_err(wrong)?;
    let query = SearchQuery { most: usize::MAX, ..SearchQuery::default() };
    let in_force: HashSet<Key> = index.search(&query)?.hits.iter().map(|(id, _)| key(id)).collect();
    let stored = match policy {
        SyncPolicy::All => index.searchable_ids()?,
        _ => {
            index.search(&SearchQuery { kinds: vec!["handoff"], ..query })?.hits.into_iter().map(|(id, _)| id).collect()
        }
    };
    let state = |id: &Id| there.get(&points.id(id)).map(String::as_str);
    let is_missing = |id: &&Id| {
        keys.contains(&key(id)) && state(id).is_none_or(|state| recomputed.contains(&key(id)) && state != REDACTED)
    };
    let gone = redacted.iter().filter(|id| state(id) != Some(REDACTED));
    let gone: Vec<Point> = gone.map(|id| points.redacted(id, length)).collect();
    server.put(&gone).map_err(wrong)?;
    let missing: Vec<&Id> = stored.iter().filter(is_missing).collect();
    let mut sent = 0;
    for (at, batch) in missing.chunks(BATCH).enumerate() {
        progress(at * BATCH, missing.len());
        let wanted: HashSet<Key> = batch.iter().map(|id| key(id)).collect();
        let mut vectors = vectors.vectors(&wanted).map_err(|error| wrong(error.into()))?;
        let scan = index.ids(batch.iter().copied())?;
        let points: Vec<Point> = batch
            .iter()
            .filter_map(|id| {
                // another clone may have sent the replacement
                let is_in_force = in_force.contains(&key(id)) && state(id) != Some(REPLACED);
                let payload = points.payload(&scan.get(id)?.record, if is_in_force { IN_FORCE } else { REPLACED });
                Some(Point { id: points.id(id), vector: vectors.remove(&key(id))?, payload })
            })
            .collect();
        if !points.is_empty() {
            server.put(&points).map_err(wrong)?;
            sent += points.len();
        }
    }
    let is_replaced = |id: &&Id| state(id) == Some(IN_FORCE) && !in_force.contains(&key(id));
    let replaced: Vec<String> = stored.iter().filter(is_replaced).map(|id| points.id(id)).collect();
    server.set_state(&replaced, REPLACED).map_err(wrong)?;
    tell(context, url, &mark)?;
    Ok(sent)
}

/// The points of a repository by a model.
struct Points<'p> {
    repository: &'p str,
    model: &'p str,
}

impl Points<'_> {
    /// The id of the point of a record.
    fn id(&self, id: &Id) -> String {
        let hash = Sha256::digest(format!("{}\0{}\0{}", self.repository, self.model, id.as_str()));
        let bytes: [u8; 16] = hash[..16].try_into().unwrap_or_default();
        uuid::Uuid::from_bytes(bytes).to_string()
    }

    /// The point that replaces a redacted record: without text or ID, with a constant vector.
    fn redacted(&self, id: &Id, length: usize) -> Point {
        let mut vector = vec![0.0; length];
        vector.iter_mut().take(1).for_each(|number| *number = 1.0);
        let payload = json!({"repository": self.repository, "model": self.model, "state": REDACTED});
        Point { id: self.id(id), vector, payload }
    }

    fn payload(&self, record: &Record, state: &str) -> Value {
        json!({
            "repository": self.repository,
            "model": self.model,
            "agent": sendable(&record.envelope.ai),
            "kind": record.body.kind(),
            "state": state,
            "id": record.envelope.id,
            "timestamp": record.envelope.at,
            "text": sendable(&searchable::searchable_text(&record.body).unwrap_or_default()),
        })
    }
}

/// The records of `repository`, or of all repositories, nearest in meaning to a text, nearest first. Applies the kinds and agents of the
/// query, and `all`; refuses its other filters.
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
    let source = source(context)?.ok_or_else(not_configured)?;
    if text.is_empty() {
        return Err(Error::usage(format!("{SEARCHING}: the query has no whole word"))
            .reason("the collection is searched by meaning")
            .suggest("Say in a few words what you look for."));
    }
    if !is_announced(context, &url) || !super::source::is_announced(context, &source) {
        return Err(Error::refused(format!("{SEARCHING}: nothing was sent there yet"))
            .suggest("Send the records of this repository; the command first tells which texts go where.")
            .command(empirica("embed")));
    }
    if !query.without.is_empty() || !query.sessions.is_empty() || !query.words.required.is_empty() {
        return Err(Error::usage(format!("{SEARCHING}: the query has a phrase, an exclusion or a session"))
            .reason("the collection is searched by meaning, and filtered by kind and agent")
            .suggest("Leave them out."));
    }
    let until = Instant::now() + PATIENCE;
    let vectors = provider(context, &source, until)?.embed(&[&sendable(text)], until);
    let vectors = vectors.map_err(|error| failed("cannot search by meaning", &error))?;
    let model = model(&source);
    let conditions = filter([
        ("model", vec![model.as_str()]),
        ("repository", repository.into_iter().collect()),
        ("kind", query.kinds.clone()),
        ("agent", query.ais.iter().map(String::as_str).collect()),
        ("state", if query.all { vec![IN_FORCE, REPLACED] } else { vec![IN_FORCE] }),
    ]);
    let vector = vectors.first().map(Vec::as_slice).unwrap_or_default();
    if query.most == 0 {
        return Ok(Vec::new());
    }
    let found = server(context, &url, SEARCHING, until)?.nearest(vector, &conditions, query.most, until);
    let found = match found {
        Err(EmbedError::Refused(404, _)) => {
            return Err(Error::refused("cannot search in Qdrant: the collection is not there yet")
                .suggest("Send the records of this repository.")
                .command(empirica("embed")));
        }
        found => found.map_err(|error| unusable(SEARCHING, &error))?,
    };
    let hits = found.into_iter().filter_map(|(score, payload)| hit(score, &payload));
    Ok(hits.take(query.most).collect())
}

/// A point as a record; `None` if a field is missing or invalid.
fn hit(score: f64, payload: &Value) -> Option<TeamHit> {
    let text = |key: &str| payload[key].as_str().map(str::to_owned);
    Some(TeamHit {
        repository: text("repository")?,
        id: Id::parse(&text("id")?)?,
        kind: text("kind").filter(|kind| KINDS.contains(&kind.as_str()))?,
        ai: text("agent")?,
        timestamp: text("timestamp")?,
        in_force: text("state").is_some_and(|state| state == IN_FORCE),
        text: text("text")?.chars().take(TEXT).collect(),
        score,
    })
}
