//! The transcripts that a collection of all has read, so that the next one reads only those that changed. Derived: without
//! the file they are read again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::context::CommandContext;
use empirica_notes::model::SessionId;
use empirica_transcripts::find::FoundTranscript;

/// The state of a transcript when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    bytes: u64,
    /// Milliseconds since 1970.
    modified: u64,
    /// The session that has it; `None` if nothing in it is worth a session.
    session: Option<SessionId>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SeenTranscripts {
    /// The earlier folders of the repository that the user named.
    pub earlier: Vec<PathBuf>,
    transcripts: BTreeMap<String, State>,
}

fn file(context: &CommandContext<'_>) -> PathBuf {
    context.store.paths().state().join("collected")
}

fn key(found: &FoundTranscript) -> String {
    let path = found.path.to_string_lossy();
    found.session.as_ref().map_or_else(|| path.clone().into_owned(), |session| format!("{path}#{session}"))
}

fn modified(found: &FoundTranscript) -> u64 {
    let since = found.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl SeenTranscripts {
    /// Those of earlier collections; none if the file is missing or damaged.
    pub fn load(context: &CommandContext<'_>) -> Self {
        let bytes = std::fs::read(file(context)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Stores them; if that fails, they are read again.
    pub fn save(&self, context: &CommandContext<'_>) {
        let text = serde_json::to_string(self).unwrap_or_default();
        let _ = context.store.paths().replace(&file(context), &text);
    }

    /// Whether a transcript is unchanged since it was read, and its session is stored.
    pub fn has(&self, context: &CommandContext<'_>, found: &FoundTranscript) -> bool {
        let Some(state) = self.transcripts.get(&key(found)) else { return false };
        let is_same = (state.bytes, state.modified) == (found.bytes, modified(found));
        let is_stored =
            |session| context.index().and_then(|index| index.session_row(session)).is_ok_and(|row| row.is_some());
        is_same && state.session.as_ref().is_none_or(is_stored)
    }

    pub fn add(&mut self, found: &FoundTranscript, session: Option<SessionId>) {
        let state = State { bytes: found.bytes, modified: modified(found), session };
        self.transcripts.insert(key(found), state);
    }

    /// Forgets all but these transcripts.
    pub fn keep(&mut self, found: &[FoundTranscript]) {
        let mut before = std::mem::take(&mut self.transcripts);
        self.transcripts = found.iter().filter_map(|found| before.remove_entry(&key(found))).collect();
    }
}
