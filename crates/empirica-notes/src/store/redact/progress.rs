//! What is being forgotten, until that is done: whoever comes after a kill or a ref that was locked goes on with it.
//!
//! A file with the lines that are to be gone; its first line says who redacts which records, when it is a redaction of this
//! clone, and is empty when others redacted them. It is there only while something may still hold these texts.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::fault;
use crate::format::lines;
use crate::format::redact::{By, Texts};
use crate::model::Id;
use crate::store::Store;
use crate::store::files;

/// A redaction of this clone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Redacting {
    /// The records.
    pub ids: BTreeSet<Id>,
    /// Who, when and why.
    pub ai: String,
    pub at: String,
    pub reason: Option<String>,
}

impl Redacting {
    /// The same as it stands in a stub.
    pub fn by(&self) -> By {
        By { ai: self.ai.clone(), at: self.at.clone(), reason: self.reason.clone() }
    }
}

/// What is being forgotten.
#[derive(Debug, Default)]
pub(crate) struct Forgetting {
    /// By a redaction of this clone; `None` when only others redacted it.
    pub redacting: Option<Redacting>,
    /// The lines.
    pub lines: BTreeSet<Vec<u8>>,
}

impl Store<'_> {
    /// Whether something is still to be forgotten.
    pub fn is_forgetting(&self) -> bool {
        self.paths.forgetting().exists()
    }

    /// What is still to be forgotten; nothing when there is no file, or it cannot be read.
    pub(crate) fn forgetting(&self) -> Forgetting {
        let bytes = std::fs::read(self.paths.forgetting()).unwrap_or_default();
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        Forgetting {
            redacting: serde_json::from_slice(&bytes[..end]).ok(),
            lines: lines::split(&bytes[end..]).map(<[u8]>::to_vec).collect(),
        }
    }

    /// Writes it down. Nothing is begun when that cannot be done.
    pub(crate) fn remember_forgetting(&self, forgetting: &Forgetting) -> Result<()> {
        let path = self.paths.forgetting();
        let first = forgetting.redacting.as_ref().map(serde_json::to_string).transpose();
        let mut text = first.map_err(|error| Error::storage("a redaction cannot be written down").caused_by(error))?;
        let text = text.get_or_insert_default();
        for line in &forgetting.lines {
            text.push('\n');
            text.push_str(&String::from_utf8_lossy(line));
        }
        text.push('\n');
        let written = self.paths.replace(&path, text);
        let written = written.and_then(|()| if self.repo.is_durable() { files::sync(&path) } else { Ok(()) });
        written.map_err(|error| Error::storage("a redaction cannot be begun").on_path(&path, error))
    }

    /// From now on these texts are gone from whatever this process writes. What other records say themselves is not looked
    /// for where a handoff or its like is to be gone.
    pub(crate) fn forget(&self, forgetting: &Forgetting) -> Result<()> {
        let mut texts = Texts::default();
        forgetting.lines.iter().for_each(|line| texts.add(line));
        if texts.has_drawn() {
            self.all_lines(true)?.iter().for_each(|(_, line)| texts.leave_to(line));
        }
        self.forgotten.borrow_mut().extend(texts);
        Ok(())
    }

    /// It is done: nothing here holds these texts any more.
    pub(crate) fn forgot(&self) -> Result<()> {
        let path = self.paths.forgetting();
        // the lock is ours: nobody else is about to write it
        files::remove_unfinished(&path);
        match fault::point("redaction: to be done with").and_then(|()| std::fs::remove_file(&path)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::storage("what was redacted is still written down").on_path(&path, error))
            }
            _ => Ok(()),
        }
    }
}
