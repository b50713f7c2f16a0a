//! Pending records in the logs, and records that remotes lack by their tracking refs; without network.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::use_cases::sync::policy::destinations;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::format;
use empirica_notes::git::remotes::tracking_name;
use empirica_notes::model::Namespace;
use empirica_notes::store::SyncPolicy;
use empirica_notes::store::{PendingCounts, RefComparison, data_ref};

#[derive(Debug, Default)]
pub struct PendingRecords {
    pub counted: PendingCounts,
    /// Why a flush would leave them, as far as reading shows.
    pub obstacle: Option<Error>,
}

impl PendingRecords {
    /// Counts the logs, and looks for an obstacle if they have records.
    pub fn new(context: &CommandContext<'_>) -> Self {
        let counted = context.store.log().counts();
        let obstacle = (counted.total() > 0).then(|| context.store.health().obstacle()).flatten();
        PendingRecords { counted, obstacle }
    }
}

/// Records that remotes lack by their tracking refs, of those that are synced. One that several remotes lack counts once.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Unsynced {
    /// How many records some remote lacks, handoffs among them.
    pub records: usize,
    /// How many of them are handoffs.
    pub handoffs: usize,
    /// The records that each remote lacks.
    pub remotes: Vec<RemoteLacks>,
}

/// The records that a remote lacks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemoteLacks {
    /// Its name.
    pub remote: String,
    /// How many records, handoffs among them.
    pub records: usize,
    /// How many of them are handoffs.
    pub handoffs: usize,
}

/// The records that remotes lack; `None` without a remote, or if nothing is synced. Of a remote with notes only those that
/// differ are read; for one without any, the index counts.
pub fn unsynced(context: &CommandContext<'_>) -> Result<Option<Unsynced>> {
    let policy = SyncPolicy::configured(context.repo)?;
    let names = destinations(context.repo);
    if policy == SyncPolicy::Nothing || names.is_empty() {
        return Ok(None);
    }
    let mut out = Unsynced::default();
    let (mut united, mut all) = (Lacking::default(), None);
    for name in names {
        let refs = context.store.remotes().compare_refs(&tracking_name(context.repo, &name), None)?;
        if policy == SyncPolicy::All && refs.iter().all(|compared| compared.theirs.is_none()) {
            let index = context.index()?;
            let counted = (index.count_all()?, index.count("handoff")?);
            out.remotes.push(RemoteLacks { remote: name, records: counted.0, handoffs: counted.1 });
            all = Some(counted);
            continue;
        }
        let mut lacks = Lacking::default();
        for compared in refs.iter().filter(|compared| policy.allows(&compared.name)) {
            lacks.add(context, compared)?;
        }
        let (records, handoffs) = (lacks.records.len(), lacks.handoffs.len());
        out.remotes.push(RemoteLacks { remote: name, records, handoffs });
        united.records.extend(lacks.records);
        united.handoffs.extend(lacks.handoffs);
    }
    (out.records, out.handoffs) = all.unwrap_or((united.records.len(), united.handoffs.len()));
    Ok(Some(out))
}

/// The ids that a remote lacks.
#[derive(Default)]
struct Lacking {
    records: BTreeSet<String>,
    handoffs: BTreeSet<String>,
}

impl Lacking {
    fn put(&mut self, id: &str, is_handoff: bool) {
        self.records.insert(id.to_owned());
        if is_handoff {
            self.handoffs.insert(id.to_owned());
        }
    }

    fn add(&mut self, context: &CommandContext<'_>, compared: &RefComparison) -> Result<()> {
        let Some(namespace) = Namespace::ALL.into_iter().find(|namespace| data_ref(*namespace) == compared.name) else {
            // the Markdown is derived
            return Ok(());
        };
        if compared.theirs.is_none() {
            for (id, is_handoff) in context.index()?.namespace(namespace)? {
                self.put(id.as_str(), is_handoff);
            }
            return Ok(());
        }
        if !context.store.remotes().is_whole(compared) {
            return Err(Error::storage(format!("cannot compare {}: notes are missing in this clone", compared.name))
                .reason("the notes were fetched without their content, as a partial clone does")
                .suggest("Fetch them whole.")
                .command(empirica("sync")));
        }
        let (_, outgoing) = context.store.remotes().lines_to_transfer(compared)?;
        for line in outgoing.lines {
            let is_handoff = format::record::decode(&line.bytes).is_some_and(|record| record.body.kind() == "handoff");
            line.id.iter().for_each(|id| self.put(id, is_handoff));
        }
        Ok(())
    }
}
