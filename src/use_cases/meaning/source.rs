//! Where vectors come from and where they are kept.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::context::CommandContext;
use empirica_embed::error::EmbedError;
use empirica_embed::file::{Key, VectorFile};
use empirica_embed::{Provider, Source};
use empirica_notes::error::{Error, Result, empirica, text};
use empirica_notes::git::remotes;
use empirica_notes::model::Id;

/// The lock of the process that computes vectors.
pub const LOCK: &str = "embedding";
/// How long a search waits for a server.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// The most characters of a text that are embedded: models read a few hundred words.
pub const TEXT: usize = 4000;

/// Where vectors come from, as configured: `empirica.embed.url` with the name of a model in `empirica.embed.model`, or the folder of
/// a static model in that alone; `None` without either.
pub fn source(context: &CommandContext<'_>) -> Result<Option<Source>> {
    let model = context.repo.config("empirica.embed.model").filter(|model| !model.trim().is_empty());
    match (context.repo.config("empirica.embed.url").filter(|url| !url.trim().is_empty()), model) {
        (Some(url), Some(model)) => Ok(Some(Source::Endpoint { url, model })),
        (Some(_), None) => Err(Error::refused("cannot search by meaning: empirica.embed.model is not set")
            .reason("an endpoint has several models")
            .suggest("Name the model of the endpoint.")
            .command("git config empirica.embed.model <name>")),
        (None, Some(model)) => {
            let folder = context.repo.config_path("empirica.embed.model").unwrap_or_else(|| PathBuf::from(model));
            let root = context.repo.work_tree().unwrap_or_else(|| context.repo.git_dir());
            Ok(Some(Source::Model(root.join(folder))))
        }
        (None, None) => Ok(None),
    }
}

/// The file of the vectors of a source.
pub fn file(context: &CommandContext<'_>, source: &Source) -> VectorFile {
    VectorFile::at(&context.store.paths().vectors().join(source.name()))
}

/// Whether vectors may be computed in the background: texts stay on this machine, or `embed` announced this endpoint before, with any
/// model.
pub fn is_announced(context: &CommandContext<'_>, source: &Source) -> bool {
    let place = source.place();
    let is_there = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(&place))
    };
    let entries = std::fs::read_dir(context.store.paths().vectors());
    matches!(source, Source::Model(_)) || entries.is_ok_and(|mut entries| entries.any(is_there))
}

/// The provider of a source; the key of an endpoint is that of the environment, else of git's credential helpers, if these are in time.
pub fn provider(context: &CommandContext<'_>, source: &Source, until: Instant) -> Result<Provider> {
    let key = |url: &str| {
        let named = context.env.get("EMPIRICA_EMBED_KEY").map(str::to_owned);
        named.or_else(|| remotes::credential(context.repo, url, until))
    };
    Provider::open(source, key).map_err(|error| failed("cannot search by meaning", &error))
}

/// Checks a source without contacting an endpoint.
pub fn check(source: &Source) -> Result<()> {
    Provider::open(source, |_| None).map(|_| ()).map_err(|error| failed("cannot search by meaning", &error))
}

/// Error of a source.
pub fn failed(what: &str, error: &EmbedError) -> Error {
    let out = Error::refused(format!("{what}: {error}"));
    match error {
        EmbedError::Length(..) => {
            out.suggest("Compute the vectors again.").command(empirica("embed").flag("--rebuild"))
        }
        EmbedError::Refused(401 | 403, _) => {
            out.suggest("Give the key in EMPIRICA_EMBED_KEY, or keep it in git's credential helper.")
        }
        EmbedError::NoCurl => out.suggest("Install curl, 7.54 or newer: it sends the requests."),
        EmbedError::Unreachable(_) | EmbedError::Busy(..) => out.suggest("Check whether the endpoint runs."),
        _ => {
            out.suggest("Check empirica.embed.url and empirica.embed.model.").command("git config empirica.embed.model")
        }
    }
}

/// The bytes of an ID; zeros if it is not a UUID.
pub fn key(id: &Id) -> Key {
    uuid::Uuid::try_parse(id.as_str()).map(uuid::Uuid::into_bytes).unwrap_or_default()
}

/// The ID of these bytes; `None` if they are not one.
pub fn id(key: Key) -> Option<Id> {
    Id::parse(&uuid::Uuid::from_bytes(key).to_string())
}

/// Error without a model.
pub fn not_configured() -> Error {
    Error::refused("cannot search by meaning: no model is configured")
        .reason("it needs an endpoint with an embedding model, or the folder of a static model")
        .suggest("Name one, and compute the vectors.")
        .command("git config empirica.embed.url http://localhost:11434/v1")
        .command("git config empirica.embed.model <name or folder>")
        .command(empirica("embed"))
}

/// Error if there are no vectors, with the cause.
pub fn no_vectors(context: &CommandContext<'_>, source: &Source) -> Error {
    let what = "cannot search by meaning: there are no vectors yet; ";
    match check(source) {
        Err(error) => error,
        Ok(()) if is_announced(context, source) => Error::refused(text![what, "they are being computed"]),
        Ok(()) => Error::refused(text![what, empirica("embed"), " tells which texts go where, and computes them"]),
    }
    .command(empirica("embed"))
}

/// The first characters of a text with its secrets replaced, including those stored with `--allow-secret`.
pub fn sendable(text: &str) -> String {
    let clean = empirica_secrets::redact_text(text).map_or(Cow::Borrowed(text), |(clean, _)| Cow::Owned(clean));
    clean.chars().take(TEXT).collect()
}
