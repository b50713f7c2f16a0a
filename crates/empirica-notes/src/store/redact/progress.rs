//! The progress of a redaction, so that a later command can complete it after a kill or a locked ref.
//!
//! A file with the lines to forget. Its first line has the author and records of a redaction made in this clone, or is
//! empty for redactions of others. It exists only while something may still have these texts.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::fault;
use crate::format::lines;
use crate::format::redact::{Attribution, RedactedTexts};
use crate::model::Id;
use crate::store::files;
use crate::store::files::paths::Paths;

const FILE: &str = "forgetting";

/// A redaction made in this clone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Redacting {
    pub ids: BTreeSet<Id>,
    /// The attribution for stubs.
    #[serde(flatten)]
    pub by: Attribution,
}

/// The texts being forgotten.
#[derive(Debug, Default)]
pub(crate) struct Forgetting {
    /// The redaction made in this clone; `None` if only others redacted.
    pub redacting: Option<Redacting>,
    /// The redacted lines.
    pub lines: BTreeSet<Vec<u8>>,
}

impl Forgetting {
    /// Whether a redaction is incomplete.
    pub fn exists(paths: &Paths) -> bool {
        paths.file(FILE).exists()
    }

    /// The texts still to be forgotten; none if there is no readable file.
    pub fn load(paths: &Paths) -> Self {
        let bytes = std::fs::read(paths.file(FILE)).unwrap_or_default();
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        Forgetting {
            redacting: serde_json::from_slice(&bytes[..end]).ok(),
            lines: lines::split(&bytes[end..]).map(<[u8]>::to_vec).collect(),
        }
    }

    /// Persists the progress, before anything else is done; with `durable`, syncs it to disk.
    pub fn save(&self, paths: &Paths, durable: bool) -> Result<()> {
        let path = paths.file(FILE);
        let first = self.redacting.as_ref().map(serde_json::to_string).transpose();
        let mut text = first.map_err(|error| Error::storage("cannot record the redaction").caused_by(error))?;
        let text = text.get_or_insert_default();
        for line in &self.lines {
            text.push('\n');
            text.push_str(&String::from_utf8_lossy(line));
        }
        text.push('\n');
        let written = paths.replace(&path, text);
        let written = written.and_then(|()| if durable { files::sync(&path) } else { Ok(()) });
        written.map_err(|error| Error::storage("cannot start the redaction").on_path(&path, error))
    }

    /// Ends the redaction: nothing here has these texts any more. The caller holds the lock.
    pub fn remove(paths: &Paths) -> Result<()> {
        let path = paths.file(FILE);
        // nobody else writes it
        files::remove_unfinished(&path);
        let removed = fault::point("redaction: to be done with").and_then(|()| files::remove(&path));
        removed.map_err(|error| Error::storage("cannot remove the record of the redaction").on_path(&path, error))
    }

    /// The own texts of the lines.
    pub fn texts(&self) -> RedactedTexts {
        let mut texts = RedactedTexts::default();
        self.lines.iter().for_each(|line| texts.add(line));
        texts
    }
}
