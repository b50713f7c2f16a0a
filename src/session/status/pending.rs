//! What is not where it shall be yet: records that wait in a log, and records that no remote has. Looked at, without network.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::sync::policy::{SyncPolicy, destinations};
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::format;
use empirica_notes::git::remotes::kept_under;
use empirica_notes::model::Namespace;
use empirica_notes::store::{PendingCounts, RefComparison, data_ref};

/// Records that wait for the notes.
#[derive(Debug, Default)]
pub struct PendingRecords {
    /// How many, where, since when.
    pub counted: PendingCounts,
    /// Why a flush would leave them there, as far as that can be known by looking; `None` when nothing is in its way.
    pub obstacle: Option<Error>,
}

impl PendingRecords {
    /// Looks into the logs, and for an obstacle when there is something in them.
    pub fn look(context: &CommandContext<'_>) -> Self {
        let counted = context.store.pending_counts();
        let obstacle = (counted.all() > 0).then(|| context.store.obstacle()).flatten();
        PendingRecords { counted, obstacle }
    }
}

/// Records that have not reached the remotes that they are set to go to, as far as the tracking refs tell. One that several
/// remotes lack counts once.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Unsynced {
    /// How many records some remote lacks, handoffs among them.
    pub records: usize,
    /// How many of them are handoffs.
    pub handoffs: usize,
    /// What each remote lacks.
    pub remotes: Vec<RemoteLacks>,
}

/// What a remote lacks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemoteLacks {
    /// Its name.
    pub remote: String,
    /// How many records, handoffs among them.
    pub records: usize,
    /// How many of them are handoffs.
    pub handoffs: usize,
}

/// What has not left yet; `None` when there is no remote, or nothing is set to leave. Of a remote that has notes of ours only
/// the notes that differ are read; where it has none, records are counted.
pub fn unsynced(context: &CommandContext<'_>) -> Result<Option<Unsynced>> {
    let leaves = SyncPolicy::configured(context.repo)?;
    let names = destinations(context.repo);
    if leaves == SyncPolicy::Nothing || names.is_empty() {
        return Ok(None);
    }
    let mut out = Unsynced::default();
    let (mut united, mut all) = (Lacking::default(), None);
    for name in names {
        let standings = context.store.compare_refs(&kept_under(context.repo, &name), None)?;
        if leaves == SyncPolicy::All && standings.iter().all(|standing| standing.theirs.is_none()) {
            let index = context.index()?;
            let counted = (index.count_all()?, index.count("handoff")?);
            out.remotes.push(RemoteLacks { remote: name, records: counted.0, handoffs: counted.1 });
            all = Some(counted);
            continue;
        }
        let mut lacks = Lacking::default();
        for standing in standings.iter().filter(|standing| leaves.allows(&standing.name)) {
            lacks.compare(context, standing)?;
        }
        let (records, handoffs) = (lacks.records.len(), lacks.handoffs.len());
        out.remotes.push(RemoteLacks { remote: name, records, handoffs });
        united.records.extend(lacks.records);
        united.handoffs.extend(lacks.handoffs);
    }
    (out.records, out.handoffs) = all.unwrap_or((united.records.len(), united.handoffs.len()));
    Ok(Some(out))
}

/// What one remote lacks: ids, so that what several lack counts once.
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

    fn compare(&mut self, context: &CommandContext<'_>, standing: &RefComparison) -> Result<()> {
        let Some(namespace) = Namespace::ALL.into_iter().find(|namespace| data_ref(*namespace) == standing.name) else {
            // the Markdown is made of the records
            return Ok(());
        };
        if standing.theirs.is_none() {
            for (id, is_handoff) in context.index()?.namespace(namespace)? {
                self.put(id.as_str(), is_handoff);
            }
            return Ok(());
        }
        if !context.store.is_whole(standing) {
            return Err(Error::storage(format!("not all notes of {} are here", standing.name))
                .reason("the notes were fetched without their content, as a partial clone does")
                .suggest("Fetch them whole.")
                .command(empirica("sync")));
        }
        let (_, outgoing) = context.store.lines_to_transfer(standing)?;
        for line in outgoing.lines {
            let is_handoff = format::record::decode(&line.bytes).is_some_and(|record| record.body.kind() == "handoff");
            line.id.iter().for_each(|id| self.put(id, is_handoff));
        }
        Ok(())
    }
}
