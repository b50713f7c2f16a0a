//! What was exchanged with a remote.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::counts;
use crate::render::counts::KindCount;

use crate::sync::policy::SyncPolicy;
use empirica_notes::format;
use empirica_notes::model::Body;
use empirica_notes::store::{RefComparison, TransferLines};

/// What was exchanged with one remote.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct RemoteSync {
    /// Its name or URL.
    pub remote: String,
    /// Whether it had no notes of this program before.
    pub first: bool,
    /// How often it was fetched from; 1 unless somebody else pushed meanwhile.
    pub rounds: u32,
    /// The four refs.
    pub refs: Vec<RefSync>,
    /// The records that came in.
    pub incoming: Transfer,
    /// The records that went out.
    pub outgoing: Transfer,
    /// Our refs that hold there what was redacted here.
    #[serde(skip)]
    pub unredacted: Vec<String>,
}

/// What became of a ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefSync {
    /// Its full name.
    #[serde(rename = "ref")]
    pub name: String,
    /// What was done.
    pub status: RefStatus,
    /// How many records came in; of `refs/notes/empirica/handoffs`, which has the Markdown, how many notes.
    pub incoming: usize,
    /// How many went out.
    pub outgoing: usize,
}

/// What became of a ref, or would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum RefStatus {
    /// Nothing: both had the same.
    Unchanged,
    /// Something came in.
    Received,
    /// Something went out.
    Sent,
    /// Something came in, and something went out.
    Exchanged,
    /// Nothing went out, although something is here: `empirica.sync` keeps it, or it holds a secret.
    Kept,
}

/// Records that travel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "TravellingRecords")]
pub struct Transfer {
    /// How many, each counted once.
    pub records: usize,
    /// How many of each kind.
    #[serde(serialize_with = "counts::listed")]
    #[schemars(with = "Vec<KindCount>")]
    pub kinds: BTreeMap<String, usize>,
    /// The handoffs among them, oldest first.
    pub handoffs: Vec<TransferredHandoff>,
}

/// A handoff that travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "TravellingHandoff")]
pub struct TransferredHandoff {
    /// The handoff.
    #[serde(rename = "handoff_id")]
    pub id: String,
    /// Its agent.
    #[serde(rename = "ai_id")]
    pub ai: String,
    /// What it is about.
    pub task: String,
}

impl Transfer {
    pub(crate) fn new<'t>(all: impl Iterator<Item = &'t TransferLines>) -> Self {
        let mut lines: Vec<_> = all.flat_map(|travelling| &travelling.lines).filter(|line| line.id.is_some()).collect();
        lines.sort();
        lines.dedup_by(|a, b| a.id == b.id);
        let mut cargo = Transfer { records: lines.len(), ..Default::default() };
        for line in lines {
            let record = format::record::decode(&line.bytes);
            let kind = record.as_ref().map_or_else(|| kind_of(&line.bytes), |record| record.body.kind().to_owned());
            *cargo.kinds.entry(kind).or_default() += 1;
            if let Some(record) = record
                && let Body::Handoff(handoff) = &record.body
            {
                let id = record.head.id.as_str().to_owned();
                cargo.handoffs.push(TransferredHandoff { id, ai: record.head.ai.clone(), task: handoff.task.clone() });
            }
        }
        cargo
    }
}

/// The kind of a record that is not understood.
pub(crate) fn kind_of(line: &[u8]) -> String {
    let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
    value.and_then(|value| value.get("kind")?.as_str().map(str::to_owned)).unwrap_or_else(|| "unknown kind".to_owned())
}

/// The status that follows from what travelled.
pub(crate) fn status(standing: &RefComparison, incoming: bool, outgoing: bool, leaves: SyncPolicy) -> RefStatus {
    match (incoming, outgoing && leaves.may(&standing.name)) {
        (true, true) => RefStatus::Exchanged,
        (true, false) => RefStatus::Received,
        (false, true) => RefStatus::Sent,
        (false, false) if outgoing => RefStatus::Kept,
        (false, false) => RefStatus::Unchanged,
    }
}
