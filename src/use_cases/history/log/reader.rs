//! Commits with their records, read in git's order.

use std::collections::{BTreeSet, HashSet};

use crate::context::{CommandContext, records};
use empirica_notes::error::Result;
use empirica_notes::git::Oid;
use empirica_notes::git::history::commit::{Commit, Listed};
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::{Body, Id, Namespace, Record, SessionId};
use empirica_notes::store::{Lookup, Note, Placements};

#[derive(Debug, Clone, Default)]
pub struct RecordFilter {
    /// With their acknowledgements.
    pub handoffs: bool,
    pub digests: bool,
    pub checkpoints: bool,
    pub journal: bool,
    /// Only records of this agent.
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
        is_kind && self.ai.as_ref().is_none_or(|ai| record.envelope.ai == *ai)
    }
}

/// A commit with the records attached to it, oldest first.
#[derive(Debug)]
pub struct AnnotatedCommit {
    pub commit: Commit,
    pub handoffs: Vec<Record>,
    pub checkpoints: Vec<Record>,
    pub journal: Vec<Record>,
}

pub(crate) enum NotedCommit {
    /// With the blobs of its notes, to be read by any thread.
    Stored(Listed, Vec<(Namespace, Oid)>),
    /// Resolved by the store.
    Settled(AnnotatedCommit),
}

/// Reads commits and notes from the repository, in one thread.
pub(crate) struct CommitReader<'c> {
    pub(crate) context: &'c CommandContext<'c>,
    pub(crate) history: Box<dyn Iterator<Item = Result<Listed>> + 'c>,
    pub(crate) lookups: Vec<(Namespace, Lookup<'c>)>,
    /// The sessions that messages named so far.
    pub(crate) named: HashSet<SessionId>,
}

impl CommitReader<'_> {
    /// The next commit; `Some(None)` if it has no notes, `None` at the end.
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
        if notes.is_empty() {
            return Ok(Some(self.named(&commit)?.map(NotedCommit::Settled)));
        }
        Ok(Some(Some(NotedCommit::Stored(commit, notes))))
    }

    /// A commit without notes, with the records of the sessions that its message names, each at the first such commit; `None` without
    /// any.
    fn named(&mut self, commit: &Listed) -> Result<Option<AnnotatedCommit>> {
        let mut sessions = commit.sessions();
        sessions.retain(|id| self.named.insert(id.clone()));
        if sessions.is_empty() {
            return Ok(None);
        }
        let mut found = AnnotatedCommit::new(commit.read()?);
        for record in records::of_sessions_named(self.context, &sessions)? {
            let namespace =
                record.body.namespace().filter(|of| self.lookups.iter().any(|(namespace, _)| namespace == of));
            if let Some(namespace) = namespace {
                found.namespace(namespace).push(record);
            }
        }
        Ok((!found.is_empty()).then_some(found))
    }

    fn settled(&mut self, commit: &Listed) -> Result<AnnotatedCommit> {
        let mut found = AnnotatedCommit::new(commit.read()?);
        for (namespace, lookup) in &mut self.lookups {
            *found.namespace(*namespace) = attached(self.context, lookup, commit.id)?;
        }
        Ok(found)
    }

    /// The commit with its records, resolved by the store.
    pub(crate) fn annotated(&mut self, commit: NotedCommit) -> Result<AnnotatedCommit> {
        match commit {
            NotedCommit::Stored(commit, _) => self.settled(&commit),
            NotedCommit::Settled(annotated) => Ok(annotated),
        }
    }

    pub(crate) fn read_into(&self, blob: Oid, note: &mut Vec<u8>) -> bool {
        let is_present = self.context.repo.read_blob_into(blob, note).unwrap_or_default();
        if !is_present {
            // reports it as missing
            self.context.repo.note(blob);
        }
        is_present
    }
}

impl AnnotatedCommit {
    /// Without records.
    pub(crate) fn new(commit: Commit) -> Self {
        AnnotatedCommit { commit, handoffs: Vec::new(), checkpoints: Vec::new(), journal: Vec::new() }
    }

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

    /// Number of records towards a limit.
    pub(crate) fn count(&self) -> usize {
        self.handoffs.iter().filter(|record| counts(record)).count() + self.checkpoints.len() + self.journal.len()
    }

    /// Keeps the newest of the records that count towards a limit.
    pub(crate) fn newest(&mut self, most: usize) {
        let mut ids: Vec<Id> = Vec::new();
        for namespace in self.namespaces() {
            ids.extend(namespace.iter().filter(|record| counts(record)).map(|record| record.envelope.id.clone()));
        }
        ids.sort_unstable();
        let kept = ids.split_off(ids.len().saturating_sub(most));
        for namespace in self.namespaces() {
            namespace.retain(|record| !counts(record) || kept.binary_search(&record.envelope.id).is_ok());
        }
    }
}

/// Whether a record counts towards a limit: acknowledgements accompany the handoffs.
fn counts(record: &Record) -> bool {
    !matches!(record.body, Body::Accept(_))
}

/// The records of a namespace that are attached to a commit and in force.
fn attached(context: &CommandContext<'_>, lookup: &mut Lookup<'_>, on: Oid) -> Result<Vec<Record>> {
    let scan = lookup.scan(on)?;
    let placements = Placements::new(&scan);
    let superseded: BTreeSet<Id> = superseded(scan.records());
    Ok(scan
        .entries()
        .filter(|entry| !entry.record.body.is_meta())
        .filter(|entry| !superseded.contains(&entry.record.envelope.id) && placements.of(&context.store, entry) == on)
        .map(|entry| placements.placed(&context.store, entry))
        .collect())
}
