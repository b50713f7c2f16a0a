//! Redaction: removes records from the notes and their history, and their texts from whatever quotes them.
//!
//! Each ref becomes a commit without parents, whose tree lists the redacted records (its epoch). When it is united with
//! a tip that lacks that epoch, only the lines of that tip are used. References to old tips are removed afterwards.

pub mod forget;
pub mod progress;
pub mod scrub;
pub mod tombstones;

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::format::redact::{By, Texts, is_stub};
use crate::format::{lines, portable};
use crate::git::notes::difference::differences;
use crate::git::{Oid, notes};
use crate::model::{Id, Namespace};
use crate::store::redact::forget::{Removal, RewrittenTree};
use crate::store::redact::progress::{Forgetting, Redacting};
use crate::store::write::flush::{Beside, Flushed};
use crate::store::write::touched;
use crate::store::{MARKDOWN_REF, Store, data_ref};

/// The outcome of a redaction or its dry run.
#[derive(Debug, Default)]
pub struct Redaction {
    /// The redacted records, with their kinds.
    pub gone: Vec<(Id, String)>,
    /// Those that were redacted before.
    pub before: Vec<Id>,
    /// The records that quoted them and were rewritten, with their kinds.
    pub rewritten: Vec<(Id, String)>,
    /// The records that still contain a distinctive word of them, with their kinds.
    pub look_at: Vec<(Id, String)>,
    /// The refs of another tool that the records were imported from, which still have them.
    pub foreign: BTreeSet<String>,
    /// The epoch's number.
    pub epoch: u64,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// All lines of the data refs.
pub(crate) type Lines = BTreeSet<(Namespace, Vec<u8>)>;

impl Store<'_> {
    /// Redacts records: replaces them by stubs and rewrites what quotes them. With `dry_run` changes nothing. Flushes
    /// the logs first; if that fails, redacts nothing. Ignores ids that are not stored here.
    pub fn redact(&self, ids: &BTreeSet<Id>, by: &By, dry_run: bool) -> Result<Redaction> {
        let mut out = Redaction::default();
        let _lock = self.locked()?;
        let mut tips = self.heal_locked(&mut out.warnings)?;
        if dry_run {
            let lines = self.all_lines(true)?;
            let forgetting = self.lines_of(ids, &lines, &mut out);
            let mut texts = Texts::default();
            forgetting.iter().for_each(|line| texts.add(line));
            let redacted = texts.clone();
            lines.iter().for_each(|(_, line)| texts.leave_to(line));
            for (_, line) in &lines {
                let id = lines::id(line).and_then(Id::parse);
                let without = texts.without(line).and(id).filter(|id| !ids.contains(id));
                out.rewritten.extend(without.map(|id| (id, kind(line))));
            }
            sort_by_id(&mut out.rewritten);
            find_remnants(ids, [&texts, &redacted], lines.iter().map(|(_, line)| line), &mut out);
            return Ok(out);
        }
        let mut flushed = Flushed::default();
        self.write_logs(Beside::default(), &mut tips, &mut flushed)?;
        out.warnings.append(&mut flushed.warnings);
        if let Some(left) = flushed.left.into_iter().next() {
            return Err(left.untaken());
        }
        let forgetting = self.lines_of(ids, &self.all_lines(false)?, &mut out);
        let redacting = Redacting { ids: ids.clone(), ai: by.ai.clone(), at: by.at.clone(), reason: by.reason.clone() };
        let forgetting = Forgetting { redacting: Some(redacting), lines: forgetting };
        self.remember_forgetting(&forgetting)?;
        self.forget(&forgetting)?;
        let texts = self.forgotten.borrow().clone();
        let mut gone = Removal::of(ids, by, self.own_epochs()?);
        gone.epoch.number += 1;
        out.epoch = gone.epoch.number;
        let rewritten = self.move_all(&gone, &mut tips)?;
        touched::forget_all(&self.paths).map_err(|error| touched::unusable(&self.paths, error))?;
        self.forget_traces(&mut out.warnings);
        tips.save(&self.paths);
        self.forget_tracking("")?;
        self.forgot()?;
        let lines = self.all_lines(false)?;
        let rewritten = lines.iter().filter(|(_, line)| lines::id(line).is_some_and(|id| rewritten.contains(id)));
        out.rewritten = rewritten.filter_map(|(_, line)| Some((Id::parse(lines::id(line)?)?, kind(line)))).collect();
        sort_by_id(&mut out.rewritten);
        let mut redacted = Texts::default();
        forgetting.lines.iter().for_each(|line| redacted.add(line));
        find_remnants(ids, [&texts, &redacted], lines.iter().map(|(_, line)| line), &mut out);
        for (_, line) in lines.iter().filter(|(_, line)| is_stub(line)) {
            let id =
                lines::id(line).and_then(Id::parse).filter(|id| out.rewritten.iter().any(|(known, _)| known == id));
            let lost = id
                .map(|id| format!("only a stub is left of {}: without the text it is not a valid record", id.short()));
            out.warnings.extend(lost.filter(|lost| !out.warnings.contains(lost)));
        }
        Ok(out)
    }

    /// Moves all refs in one transaction, without what is to be forgotten; returns the rewritten records.
    pub(crate) fn move_all(
        &self,
        gone: &Removal<'_>,
        tips: &mut crate::store::write::tips::Tips,
    ) -> Result<BTreeSet<String>> {
        let texts = &self.forgotten.borrow().clone();
        let names: Vec<String> =
            Namespace::ALL.iter().map(|namespace| data_ref(*namespace)).chain([MARKDOWN_REF.to_owned()]).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut rewritten = BTreeSet::new();
        let who = self.repo.identity();
        let message = "Notes redacted by 'git empirica'\n";
        // the Markdown follows the new handoffs in the same transaction
        let mut handoffs = None;
        self.move_refs(&names, tips, "notes: Notes redacted by 'git empirica'", |at, tip, _| {
            let Some(tip) = tip else {
                handoffs = if names[at] == data_ref(Namespace::Handoffs) { None } else { handoffs };
                return Ok(None);
            };
            if names[at] == MARKDOWN_REF {
                let epoch = Removal { records: BTreeMap::new(), epoch: gone.epoch.clone() };
                let before = self.repo.tree_of(tip)?;
                let with_passages = match self.rewritten(MARKDOWN_REF, tip, texts, &Removal::default())? {
                    Some(RewrittenTree { tree, .. }) => self.repo.write_commit(tree, Vec::new(), message, &who)?,
                    None => tip,
                };
                let blocks = self.updated_markdown(handoffs, Some(with_passages))?.unwrap_or(with_passages);
                // without handoffs there is nothing to follow
                let updated = self.rewritten(MARKDOWN_REF, blocks, &Texts::default(), &epoch)?;
                let tree = updated.map_or_else(|| self.repo.tree_of(blocks), |updated| Ok(updated.tree))?;
                if tree == before {
                    return Ok(None);
                }
                let is_touched = !differences(self.repo, before, tree)?.notes.is_empty();
                let parents = if is_touched { Vec::new() } else { vec![tip] };
                return self.repo.write_commit(tree, parents, message, &who).map(Some);
            }
            let updated = self.rewritten(names[at], tip, texts, gone)?;
            let new = match updated {
                Some(updated) => {
                    rewritten.extend(updated.rewritten);
                    // history that never had the text can stay
                    let parents = if updated.is_touched { Vec::new() } else { vec![tip] };
                    Some(self.repo.write_commit(updated.tree, parents, message, &who)?)
                }
                None => None,
            };
            if names[at] == data_ref(Namespace::Handoffs) {
                handoffs = new.or(Some(tip));
            }
            Ok(new)
        })?;
        Ok(rewritten)
    }

    /// Collects the lines of the records, and which were redacted before.
    fn lines_of(&self, ids: &BTreeSet<Id>, lines: &Lines, out: &mut Redaction) -> BTreeSet<Vec<u8>> {
        let mut found = BTreeSet::new();
        let mut gone = BTreeMap::new();
        for (_, line) in lines {
            let Some(id) = lines::id(line).and_then(Id::parse).filter(|id| ids.contains(id)) else { continue };
            if is_stub(line) {
                out.before.push(id);
                continue;
            }
            found.insert(line.clone());
            gone.insert(id, kind(line));
            let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
            let name = value.as_ref().and_then(|value| value.get("foreign")?.get("ref")?.as_str());
            out.foreign.extend(name.map(str::to_owned));
        }
        out.gone = gone.into_iter().collect();
        out.before.dedup();
        found
    }

    /// All lines of the data refs; with `pending` also of the logs.
    pub(crate) fn all_lines(&self, pending: bool) -> Result<Lines> {
        let mut out = Lines::new();
        for namespace in Namespace::ALL {
            let tip: Option<Oid> = self.repo.find_ref(&data_ref(namespace))?;
            let Some(tip) = tip else { continue };
            for (_, blob) in notes::entries(self.repo, self.repo.tree_of(tip)?)?.notes {
                let note = self.repo.read_blob(blob)?.ok_or_else(|| crate::store::write::merge::absent(blob))?;
                out.extend(lines::split(&note).map(|line| (namespace, line.to_vec())));
            }
        }
        if pending {
            out.extend(
                crate::store::log::read(&self.paths).into_iter().map(|pending| (pending.namespace, pending.line)),
            );
        }
        Ok(out)
    }
}

/// Finds records that still contain a distinctive word of a redacted text, and those with an own text that a redacted
/// handoff had. `texts` are those searched for, `redacted` all those redacted.
fn find_remnants<'l>(
    ids: &BTreeSet<Id>,
    [texts, redacted]: [&Texts; 2],
    lines: impl Iterator<Item = &'l Vec<u8>>,
    out: &mut Redaction,
) {
    let words = redacted.telling();
    if words.is_empty() && !redacted.has_composed() {
        return;
    }
    for line in lines {
        let line = texts.without(line).map_or_else(|| line.clone(), |without| without.line);
        let text = String::from_utf8_lossy(&line);
        let Some(id) = lines::id(&line).and_then(Id::parse).filter(|id| !ids.contains(id)) else { continue };
        if redacted.is_repeated_by(&line) || words.iter().any(|word| text.contains(word.as_str())) {
            out.look_at.push((id, kind(&line)));
        }
    }
    sort_by_id(&mut out.look_at);
}

fn sort_by_id(records: &mut Vec<(Id, String)>) {
    records.sort();
    records.dedup_by(|a, b| a.0 == b.0);
}

/// The kind of a line.
fn kind(line: &[u8]) -> String {
    portable::kind(line).unwrap_or_else(|| "unknown kind".to_owned())
}
