//! Notes that follow a commit: their lines are copied to another one, with an attachment on both sides.
//!
//! Nothing moves, so that merging stays a union. Lines are passed on as the bytes they are.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::fault;
use crate::format::{blocks, lines, record};
use crate::git::{NotesTree, Oid, parse_oid};
use crate::model::record::Attach;
use crate::model::{Body, Id, Namespace, Record};
use crate::store::files::read_lines;
use crate::store::log;
use crate::store::log::PendingRecord;
use crate::store::write::flush::{Beside, Notes};
use crate::store::{Lookup, MARKDOWN_REF, Store, WriteOutcome};

/// What shall follow from one commit to another.
#[derive(Debug, Clone)]
pub struct Follow {
    /// The object whose notes are copied; it need not exist.
    pub from: Oid,
    /// The commit that gets them.
    pub to: Oid,
    /// Only these records; `None`: the whole notes, with foreign lines and what people wrote.
    pub only: Option<BTreeSet<Id>>,
}

impl Follow {
    /// Whether a line follows: a record that is wanted, or one that puts a wanted one aside, takes
    /// it back or signs it.
    fn takes(&self, id: &str, known: Option<&Record>) -> bool {
        let Some(only) = &self.only else { return true };
        let aside = |record: &Record| matches!(record.body, Body::Supersede(_) | Body::Retract(_) | Body::Signature(_));
        let mut beside = known.filter(|record| aside(record)).into_iter().flat_map(Record::names);
        Id::parse(id).is_some_and(|id| only.contains(&id)) || beside.any(|id| only.contains(id))
    }
}

/// The moves that concern whole notes, a line each.
fn lines_of(moves: &[Follow]) -> String {
    let whole = moves.iter().filter(|step| step.only.is_none());
    whole.map(|step| format!("{} {}\n", step.from, step.to)).collect()
}

impl Store<'_> {
    /// Copies notes to other commits, all in one batch. Twice is the same as once; nothing to copy writes nothing. The
    /// records returned are the attachments.
    ///
    /// Fails only when no log can be written. When the notes cannot be written the records wait in the log; what is no
    /// record then stays where it is.
    pub fn follow(&self, moves: &[Follow]) -> Result<WriteOutcome> {
        let mut written = WriteOutcome::default();
        let mut waiting: Vec<PendingRecord> = Vec::new();
        let mut beside = Beside::default();
        for namespace in Namespace::ALL {
            let mut lookup = Lookup::open(self, namespace)?;
            for step in moves.iter().filter(|step| step.from != step.to) {
                self.copy(namespace, step, &mut lookup, &mut waiting, &mut beside, &mut written)?;
            }
        }
        self.copy_markdown(moves, &waiting, &mut beside)?;
        if waiting.is_empty() && beside.is_empty() {
            return Ok(written);
        }
        let append = || {
            let appended = log::append(&self.paths, &waiting, self.lock_timeout, self.repo.is_durable());
            appended.map_err(|failed| self.nowhere(failed))
        };
        let appended = (!waiting.is_empty()).then(append).transpose()?;
        let more = !beside.is_empty();
        let flushed = self.flush_with(beside);
        if more && flushed.degraded.is_some() {
            self.remember_moves(moves);
        }
        match appended {
            Some(appended) => self.settle_on(&mut written, appended, Some(flushed)),
            None => {
                written.degraded = flushed.degraded;
                written.warnings.extend(flushed.warnings);
            }
        }
        Ok(written)
    }

    /// The same, and when we are killed meanwhile the next command that settles does it.
    pub fn follow_surely(&self, moves: &[Follow]) -> Result<WriteOutcome> {
        self.remember_moves(moves);
        let written = self.follow(moves)?;
        let (path, taken) = (self.paths.moves(), self.paths.following());
        let only_these = |path: &std::path::Path| read_lines(path).join("\n") == lines_of(moves).trim_end();
        // what others remembered meanwhile stays with ours: copied twice is the same as once
        if only_these(&path) && !taken.exists() && std::fs::rename(&path, &taken).is_ok() && only_these(&taken) {
            let _ = std::fs::remove_file(&taken);
        }
        Ok(written)
    }

    /// Remembers notes that could not follow whole: the next command that settles tries again.
    fn remember_moves(&self, moves: &[Follow]) {
        // without it they stay where they were
        let _ = self.paths.append(&self.paths.moves(), &lines_of(moves));
    }

    /// Lets notes follow that could not do so when they should have.
    pub(crate) fn follow_remembered(&self) -> Result<()> {
        let (path, taken) = (self.paths.moves(), self.paths.following());
        // of what is taken nothing is lost when we are killed: the next one goes on with it
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
        // what fails once more is remembered once more
        self.follow(&moves)?;
        let _ = fault::point("moves: to be done with").and_then(|()| std::fs::remove_file(&taken));
        Ok(())
    }

    fn copy(
        &self,
        namespace: Namespace,
        step: &Follow,
        lookup: &mut Lookup<'_>,
        waiting: &mut Vec<PendingRecord>,
        beside: &mut Beside,
        written: &mut WriteOutcome,
    ) -> Result<()> {
        let here = lookup.lines(step.from)?;
        if here.is_empty() {
            return Ok(());
        }
        let there: BTreeSet<Vec<u8>> = lookup.lines(step.to)?.into_iter().collect();
        let pair = (step.from.to_string(), step.to.to_string());
        let attached: BTreeSet<Id> = there
            .iter()
            .filter_map(|line| match record::decode(line)?.body {
                Body::Attach(attach) if (&attach.from, &attach.to) == (&pair.0, &pair.1) => Some(attach.of),
                _ => None,
            })
            .flatten()
            .collect();
        let mut of: Vec<Id> = Vec::new();
        let mut last: Option<Record> = None;
        for line in here {
            let Some(id) = lines::id(&line) else {
                if step.only.is_none() && !there.contains(&line) {
                    let note = beside.lines.entry(namespace).or_default().entry(step.to).or_default();
                    *note = lines::union(note, &line);
                }
                continue;
            };
            let known = record::decode(&line);
            // where a line came from earlier is said on the notes it came from
            if !step.takes(id, known.as_ref()) || matches!(known.as_ref().map(|r| &r.body), Some(Body::Attach(_))) {
                continue;
            }
            if let Some(id) = Id::parse(id).filter(|id| !attached.contains(id)) {
                of.push(id);
            }
            last = known.or(last);
            if !there.contains(&line) {
                waiting.push(PendingRecord { namespace, on: step.to, line });
            }
        }
        of.dedup();
        if of.is_empty() {
            return Ok(());
        }
        let (session, ai) = last.map_or((None, "git-empirica".to_owned()), |r| (r.head.session, r.head.ai));
        let mut head = self.new_head(session.as_ref(), &ai);
        head.commit = Some(pair.1.clone());
        head.tree = self.repo.tree_of(step.to).ok().map(|id| id.to_string());
        let attach = Record { head, body: Body::Attach(Attach { of, from: pair.0, to: pair.1 }) };
        let line = record::encode(&attach).into_bytes();
        waiting.push(PendingRecord { namespace, on: step.from, line: line.clone() });
        waiting.push(PendingRecord { namespace, on: step.to, line });
        written.records.push(attach);
        Ok(())
    }

    /// What the Markdown notes hold beside what is rendered anew from the records. The blocks of records that stand on
    /// the target already come with it: git's own copy of notes may have torn them up before.
    fn copy_markdown(&self, moves: &[Follow], waiting: &[PendingRecord], beside: &mut Beside) -> Result<()> {
        let whole: Vec<&Follow> = moves.iter().filter(|step| step.only.is_none() && step.from != step.to).collect();
        if whole.is_empty() {
            return Ok(());
        }
        let tip = self.repo.find_ref(MARKDOWN_REF)?;
        let mut tree = NotesTree::open(self.repo, tip, blocks::union)?;
        let mut lookup = Lookup::open(self, Namespace::Handoffs)?;
        let mut found: BTreeMap<Oid, Vec<u8>> = Notes::new();
        for step in whole {
            if let Some(note) = tree.get(step.from)? {
                let united = found.entry(step.to).or_default();
                *united = blocks::union(united, &blocks::without_sessions(&note));
            }
        }
        for (to, note) in &mut found {
            let copied =
                waiting.iter().filter(|w| w.namespace == Namespace::Handoffs && w.on == *to).map(|w| w.line.clone());
            let lines: Vec<Vec<u8>> = lookup.lines(*to)?.into_iter().chain(copied).collect();
            let new = self.blocks(*to, &lines, &blocks::earlier(note))?;
            *note = blocks::union_all(std::iter::once(note.as_slice()).chain(new.iter().map(String::as_bytes)));
            let there = tree.get(*to)?.unwrap_or_default();
            if blocks::mend(&there, note) != there {
                beside.markdown.insert(*to, note.clone());
            }
        }
        Ok(())
    }
}
