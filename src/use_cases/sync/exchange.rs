//! The result of an exchange with a remote.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::counts;
use crate::render::counts::KindCount;
use empirica_notes::format::{export, record};
use empirica_notes::model::Body;
use empirica_notes::store::TransferLines;

/// The exchange with one remote.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct RemoteSync {
    /// Its name or URL.
    pub remote: String,
    /// Whether it had no notes of this program before.
    pub first: bool,
    /// How often it was fetched from; 1 unless others pushed meanwhile.
    pub rounds: u32,
    /// The four refs.
    pub refs: Vec<RefSync>,
    /// The received records.
    pub incoming: Transfer,
    /// The sent records.
    pub outgoing: Transfer,
    /// Our refs that still hold there records redacted here.
    #[serde(skip)]
    pub unredacted: Vec<String>,
}

/// The exchange of a ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefSync {
    /// Its full name.
    #[serde(rename = "ref")]
    pub name: String,
    /// The result.
    pub status: RefStatus,
    /// How many records were received; of `refs/notes/empirica/handoffs`, which has the Markdown, how many notes.
    pub incoming: usize,
    /// How many were sent.
    pub outgoing: usize,
}

/// The result of an exchange of a ref; in a dry run, the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum RefStatus {
    /// Both had the same.
    Unchanged,
    /// Records were received.
    Received,
    /// Records were sent.
    Sent,
    /// Records were received and sent.
    Exchanged,
    /// Records were held back: by `empirica.sync`, or because of a secret.
    #[serde(rename = "kept")]
    HeldBack,
}

/// Transferred records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "TransferredRecords")]
pub struct Transfer {
    /// How many different ones.
    pub records: usize,
    /// How many of each kind.
    #[serde(serialize_with = "counts::listed")]
    #[schemars(with = "Vec<KindCount>")]
    pub kinds: BTreeMap<String, usize>,
    /// The handoffs among them, oldest first.
    pub handoffs: Vec<TransferredHandoff>,
}

/// A transferred handoff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TransferredHandoff {
    /// The handoff.
    #[serde(rename = "handoff_id")]
    pub id: String,
    /// Its agent.
    #[serde(rename = "ai_id")]
    pub ai: String,
    /// Its task.
    pub task: String,
}

impl Transfer {
    pub(crate) fn new<'t>(all: impl Iterator<Item = &'t TransferLines>) -> Self {
        let mut lines: Vec<_> =
            all.flat_map(|transferred| &transferred.lines).filter(|line| line.id.is_some()).collect();
        lines.sort();
        lines.dedup_by(|a, b| a.id == b.id);
        let mut transfer = Transfer { records: lines.len(), ..Default::default() };
        for line in lines {
            let record = record::decode(&line.bytes);
            *transfer.kinds.entry(export::kind_or_unknown(&line.bytes)).or_default() += 1;
            if let Some(record) = record
                && let Body::Handoff(handoff) = &record.body
            {
                let id = record.envelope.id.as_str().to_owned();
                let (ai, task) = (record.envelope.ai.clone(), handoff.task.clone());
                transfer.handoffs.push(TransferredHandoff { id, ai, task });
            }
        }
        transfer
    }
}
