//! Commits with their records, read in git's order.

use std::collections::BTreeSet;

use crate::context::CommandContext;
use empirica_notes::error::Result;
use empirica_notes::git::Oid;
use empirica_notes::git::history::commit::{Commit, Listed};
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::{Body, Id, Namespace, Record};
use empirica_notes::store::{Lookup, Note, Placements};

/// Which records.
#[derive(Debug, Clone, Default)]
pub struct RecordFilter {
    /// With their acknowledgements.
    pub handoffs: bool,
    pub digests: bool,
    pub checkpoints: bool,
    pub journal: bool,
    /// Of whom; of all without.
    pub ai: Option<String>,
    /// Whether the limit is one of records, not of commits.
    pub counts_records: bool,
}

impl RecordFilter {
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = Namespace> {
        let namespaces = [
            (self.handoffs || self.digests, Namespace::Handoffs),
            (self.checkpoints, Namespace::Checkpoints),
            (self.journal, Namespace::Journal),
        ];
        namespaces.into_iter().filter(|(wanted, _)| *wanted).map(|(_, namespace)| namespace)
    }

    pub(crate) fn has(&self, record: &Record) -> bool {
        let is_kind = match record.body {
            Body::Handoff(_) | Body::Accept(_) => self.handoffs,
            Body::Digest(_) => self.digests,
            _ => true,
        };
        is_kind && self.ai.as_ref().is_none_or(|ai| record.head.ai == *ai)
    }
}

/// A commit that has records, with those at home on it, oldest first.
#[derive(Debug)]
pub struct AnnotatedCommit {
    pub commit: Commit,
    pub handoffs: Vec<Record>,
    pub checkpoints: Vec<Record>,
    pub journal: Vec<Record>,
}

/// A commit with its notes, as far as one must be read after the other.
pub(crate) enum NotedCommit {
    /// The blobs of the notes.
    Stored(Listed, Vec<(Namespace, Oid)>),
    /// Notes for which the store was needed.
    Settled(AnnotatedCommit),
}

/// Everything that needs the repository, which one thread has.
pub(crate) struct CommitReader<'c> {
    pub(crate) context: &'c CommandContext<'c>,
    pub(crate) history: Box<dyn Iterator<Item = Result<Listed>> + 'c>,
    pub(crate) lookups: Vec<(Namespace, Lookup<'c>)>,
}

impl CommitReader<'_> {
    /// The next commit, `Some(None)` when it has no notes; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Option<NotedCommit>>> {
        let Some(commit) = self.history.next().transpose()? else { return Ok(None) };
        let mut notes = Vec::new();
        for (namespace, lookup) in &mut self.lookups {
            match lookup.note(commit.id)? {
                Note::None => {}
                Note::One(note) => notes.push((*namespace, note)),
                Note::Several => return Ok(Some(Some(NotedCommit::Settled(self.settled(&commit)?)))),
            }
        }
        Ok(Some((!notes.is_empty()).then_some(NotedCommit::Stored(commit, notes))))
    }

    pub(crate) fn settled(&mut self, commit: &Listed) -> Result<AnnotatedCommit> {
        let mut found = empty(commit.read()?);
        for (namespace, lookup) in &mut self.lookups {
            let records = at_home(self.context, lookup, found.commit.id)?;
            *found.namespace(*namespace) = records;
        }
        Ok(found)
    }

    pub(crate) fn read_into(&self, blob: Oid, note: &mut Vec<u8>) -> bool {
        let is_here = self.context.repo.read_blob_into(blob, note).unwrap_or_default();
        if !is_here {
            // it is spoken of
            self.context.repo.note(blob);
        }
        is_here
    }
}

pub(crate) fn empty(commit: Commit) -> AnnotatedCommit {
    AnnotatedCommit { commit, handoffs: Vec::new(), checkpoints: Vec::new(), journal: Vec::new() }
}

impl AnnotatedCommit {
    pub(crate) fn namespace(&mut self, namespace: Namespace) -> &mut Vec<Record> {
        match namespace {
            Namespace::Handoffs => &mut self.handoffs,
            Namespace::Checkpoints => &mut self.checkpoints,
            Namespace::Journal => &mut self.journal,
        }
    }

    pub(crate) fn namespaces(&mut self) -> [&mut Vec<Record>; 3] {
        [&mut self.handoffs, &mut self.checkpoints, &mut self.journal]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.handoffs.is_empty() && self.checkpoints.is_empty() && self.journal.is_empty()
    }

    /// How many records a limit counts: what a receiver said goes along with the handoffs.
    pub(crate) fn count(&self) -> usize {
        let said = self.handoffs.iter().filter(|record| !matches!(record.body, Body::Accept(_))).count();
        said + self.checkpoints.len() + self.journal.len()
    }

    /// Keeps the newest of the records that a limit counts.
    pub(crate) fn newest(&mut self, most: usize) {
        let counted = |record: &Record| !matches!(record.body, Body::Accept(_));
        let mut ids: Vec<Id> = Vec::new();
        for namespace in self.namespaces() {
            ids.extend(namespace.iter().filter(|record| counted(record)).map(|record| record.head.id.clone()));
        }
        ids.sort_unstable();
        let kept = ids.split_off(ids.len().saturating_sub(most));
        for namespace in self.namespaces() {
            namespace.retain(|record| !counted(record) || kept.binary_search(&record.head.id).is_ok());
        }
    }
}

/// The records of a namespace that are at home on a commit and in force.
fn at_home(context: &CommandContext<'_>, lookup: &mut Lookup<'_>, on: Oid) -> Result<Vec<Record>> {
    let scan = lookup.scan(on)?;
    let placements = Placements::new(&scan);
    let aside: BTreeSet<Id> = superseded(scan.records());
    Ok(scan
        .entries()
        .filter(|entry| !entry.record.body.is_meta())
        .filter(|entry| !aside.contains(&entry.record.head.id) && placements.of(&context.store, entry) == on)
        .map(|entry| placements.placed(&context.store, entry))
        .collect())
}
