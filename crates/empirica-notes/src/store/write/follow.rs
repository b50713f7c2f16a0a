//! Copies the notes of a commit to another one, with an attach record on both.
//!
//! Nothing is moved, so that merging stays a union. Lines are copied byte for byte.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::fault;
use crate::format::{blocks, lines, record};
use crate::git::{NotesTree, Oid, parse_oid};
use crate::model::record::Attach;
use crate::model::{Body, Id, Namespace, Record};
use crate::store::files::read_lines;
use crate::store::log::PendingRecord;
use crate::store::write::flush::{ForeignContent, Notes};
use crate::store::{Lookup, MARKDOWN_REF, WriteOutcome, Writer};

/// A copy of notes from one commit to another.
#[derive(Debug, Clone)]
pub struct Follow {
    /// The source; it need not exist.
    pub from: Oid,
    /// The target.
    pub to: Oid,
    /// Only these records; `None` for whole notes, including foreign lines and passages.
    pub only: Option<BTreeSet<Id>>,
}

impl Follow {
    /// Whether a line is copied: a selected record, one that qualifies one, or a retract.
    fn takes(&self, id: &str, record: Option<&Record>) -> bool {
        let Some(only) = &self.only else { return true };
        let mut targets =
            record.filter(|record| record.body.is_qualifier()).into_iter().flat_map(Record::referenced_ids);
        // a handoff may quote what a retract names
        let is_retract = record.is_some_and(|record| matches!(record.body, Body::Retract(_)));
        is_retract || Id::parse(id).is_some_and(|id| only.contains(&id)) || targets.any(|id| only.contains(id))
    }
}

/// The moves of whole notes, a line each.
fn lines_of(moves: &[Follow]) -> String {
    let whole = moves.iter().filter(|step| step.only.is_none());
    whole.map(|step| format!("{} {}\n", step.from, step.to)).collect()
}

impl Writer<'_> {
    /// Copies notes to other commits in one batch. Idempotent; writes nothing if there is nothing to copy. The records
    /// returned are the attach records.
    ///
    /// Fails only if no log can be written. If the notes cannot be written, the records stay pending; other content is
    /// retried by [`Store::reconcile`](crate::store::Store::reconcile).
    pub fn follow(&self, moves: &[Follow]) -> Result<WriteOutcome> {
        let mut written = WriteOutcome::default();
        let mut pending: Vec<PendingRecord> = Vec::new();
        let mut foreign = ForeignContent::default();
        for namespace in Namespace::ALL {
            let mut lookup = Lookup::open(self.store, namespace)?;
            for step in moves.iter().filter(|step| step.from != step.to) {
                self.copy(namespace, step, &mut lookup, &mut pending, &mut foreign, &mut written)?;
            }
        }
        self.copy_markdown(moves, &pending, &mut foreign)?;
        if pending.is_empty() && foreign.is_empty() {
            return Ok(written);
        }
        let appended = (!pending.is_empty()).then(|| self.append_to_log(&pending)).transpose()?;
        let has_foreign = !foreign.is_empty();
        let flushed = self.flush_with(foreign);
        if has_foreign && flushed.degraded.is_some() {
            self.remember_moves(moves);
        }
        match appended {
            Some(appended) => self.set_storage(&mut written, appended, Some(flushed)),
            None => {
                written.degraded = flushed.degraded;
                written.warnings.extend(flushed.warnings);
            }
        }
        Ok(written)
    }

    /// As [`Self::follow`], completed by the next reconciling command after a kill.
    pub fn follow_durably(&self, moves: &[Follow]) -> Result<WriteOutcome> {
        self.remember_moves(moves);
        let written = self.follow(moves)?;
        let (path, taken) = (self.store.paths.file("moves"), self.store.paths.file("following"));
        let only_these = |path: &std::path::Path| read_lines(path).join("\n") == lines_of(moves).trim_end();
        // moves that others added meanwhile stay: copying twice changes nothing
        if only_these(&path) && !taken.exists() && std::fs::rename(&path, &taken).is_ok() && only_these(&taken) {
            let _ = std::fs::remove_file(&taken);
        }
        Ok(written)
    }

    /// Records moves that could not be completed: the next reconciling command retries.
    fn remember_moves(&self, moves: &[Follow]) {
        // on failure the notes stay where they are
        let _ = self.store.paths.append(&self.store.paths.file("moves"), &lines_of(moves));
    }

    /// Retries the recorded moves.
    pub(crate) fn follow_remembered(&self) -> Result<()> {
        let (path, taken) = (self.store.paths.file("moves"), self.store.paths.file("following"));
        // a taken file is kept until done: after a kill the next command continues with it
        let take =
            || path.exists() && fault::point("moves: to be taken").is_ok() && std::fs::rename(&path, &taken).is_ok();
        if !taken.exists() && !take() {
            return Ok(());
        }
        let pair = |line: &String| {
            let (from, to) = line.split_once(' ')?;
            Some(Follow { from: parse_oid(from)?, to: parse_oid(to)?, only: None })
        };
        let moves: Vec<Follow> = read_lines(&taken).iter().filter_map(pair).collect();
        // a move that fails again is recorded again
        self.follow(&moves)?;
        let _ = fault::point("moves: to be done with").and_then(|()| std::fs::remove_file(&taken));
        Ok(())
    }

    fn copy(
        &self,
        namespace: Namespace,
        step: &Follow,
        lookup: &mut Lookup<'_>,
        pending: &mut Vec<PendingRecord>,
        foreign: &mut ForeignContent,
        written: &mut WriteOutcome,
    ) -> Result<()> {
        let source = lookup.lines(step.from)?;
        if source.is_empty() {
            return Ok(());
        }
        let target: BTreeSet<Vec<u8>> = lookup.lines(step.to)?.into_iter().collect();
        let pair = (step.from.to_string(), step.to.to_string());
        let attached: BTreeSet<Id> = target
            .iter()
            .filter_map(|line| match record::decode(line)?.body {
                Body::Attach(attach) if (&attach.from, &attach.to) == (&pair.0, &pair.1) => Some(attach.of),
                _ => None,
            })
            .flatten()
            .collect();
        let mut of: Vec<Id> = Vec::new();
        let mut last: Option<Record> = None;
        for line in source {
            let Some(id) = lines::id(&line) else {
                if step.only.is_none() && !target.contains(&line) {
                    let note = foreign.lines.entry(namespace).or_default().entry(step.to).or_default();
                    *note = lines::union(note, &line);
                }
                continue;
            };
            let decoded = record::decode(&line);
            // earlier attach records stay on the notes they came from
            if !step.takes(id, decoded.as_ref()) || matches!(decoded.as_ref().map(|r| &r.body), Some(Body::Attach(_))) {
                continue;
            }
            if let Some(id) = Id::parse(id).filter(|id| !attached.contains(id)) {
                of.push(id);
            }
            last = decoded.or(last);
            if !target.contains(&line) {
                pending.push(PendingRecord { namespace, on: step.to, line });
            }
        }
        of.dedup();
        if of.is_empty() {
            return Ok(());
        }
        let (session, ai) = last.map_or((None, "git-empirica".to_owned()), |r| (r.envelope.session, r.envelope.ai));
        let mut envelope = self.new_envelope(session.as_ref(), &ai);
        envelope.commit = Some(pair.1.clone());
        envelope.tree = self.store.repo.tree_of(step.to).ok().map(|id| id.to_string());
        let attach = Record { envelope, body: Body::Attach(Attach { of, from: pair.0, to: pair.1 }) };
        let line = record::encode(&attach).into_bytes();
        pending.push(PendingRecord { namespace, on: step.from, line: line.clone() });
        pending.push(PendingRecord { namespace, on: step.to, line });
        written.records.push(attach);
        Ok(())
    }

    /// Copies Markdown that is not rendered from records. Blocks of records already on the target come with it: git's
    /// own copy of notes may have torn them.
    fn copy_markdown(&self, moves: &[Follow], pending: &[PendingRecord], foreign: &mut ForeignContent) -> Result<()> {
        let whole: Vec<&Follow> = moves.iter().filter(|step| step.only.is_none() && step.from != step.to).collect();
        if whole.is_empty() {
            return Ok(());
        }
        let tip = self.store.repo.find_ref(MARKDOWN_REF)?;
        let mut tree = NotesTree::open(self.store.repo, tip, blocks::union)?;
        let mut lookup = Lookup::open(self.store, Namespace::Handoffs)?;
        let mut found: BTreeMap<Oid, Vec<u8>> = Notes::new();
        for step in whole {
            if let Some(note) = tree.get(step.from)? {
                let united = found.entry(step.to).or_default();
                *united = blocks::union(united, &blocks::without_sessions(&note));
            }
        }
        for (to, note) in &mut found {
            let copied =
                pending.iter().filter(|w| w.namespace == Namespace::Handoffs && w.on == *to).map(|w| w.line.clone());
            let lines: Vec<Vec<u8>> = lookup.lines(*to)?.into_iter().chain(copied).collect();
            let new = self.blocks(*to, lines.iter().map(Vec::as_slice), &blocks::earlier(note))?;
            *note = blocks::union_all(std::iter::once(note.as_slice()).chain(new.iter().map(String::as_bytes)));
            let existing = tree.get(*to)?.unwrap_or_default();
            if blocks::mend(&existing, note) != existing {
                foreign.markdown.insert(*to, note.clone());
            }
        }
        Ok(())
    }
}
