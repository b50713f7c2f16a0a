//! Redaction: removes records from the notes and their history, and their texts from all records that quote them.
//!
//! Each ref becomes a commit without parents, whose tree lists the redacted records (its tombstones). When it is united
//! with a tip that lacks these, only the lines of that tip are used. References to old tips are removed afterwards.

pub mod forget;
pub mod progress;
pub mod scrub;
pub mod tombstones;

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::format::redact::{Attribution, RedactedTexts, is_stub};
use crate::format::{export, lines};
use crate::git::Oid;
use crate::git::notes::difference::differences;
use crate::model::{Id, Namespace};
use crate::store::redact::forget::{MESSAGE, REFLOG, Removal, RewrittenTree};
use crate::store::redact::progress::{Forgetting, Redacting};
use crate::store::write::session_notes;
use crate::store::write::tips::Tips;
use crate::store::{MARKDOWN_REF, Redaction, data_ref, log, own_refs};

/// The outcome of a redaction or its dry run.
#[derive(Debug, Default)]
pub struct RedactedRecords {
    /// The redacted records, with their kinds.
    pub gone: Vec<(Id, String)>,
    /// Those that were redacted already.
    pub already_redacted: Vec<Id>,
    /// The records that quoted them and were rewritten, with their kinds.
    pub rewritten: Vec<(Id, String)>,
    /// The records that still contain a distinctive word of them, with their kinds.
    pub look_at: Vec<(Id, String)>,
    /// The refs of another tool that the records were imported from, which still have them.
    pub foreign: BTreeSet<String>,
    /// The number of the epoch.
    pub epoch: u64,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// All lines of the data refs.
pub(crate) type Lines = BTreeSet<(Namespace, Vec<u8>)>;

impl Redaction<'_> {
    /// Redacts records: replaces them by stubs and rewrites records that quote them. With `dry_run` changes nothing.
    /// Flushes the logs first; if that fails, redacts nothing. Ignores ids that are not stored here; without others than
    /// those redacted before, leaves the refs as they are.
    pub fn redact(&self, ids: &BTreeSet<Id>, by: &Attribution, dry_run: bool) -> Result<RedactedRecords> {
        let mut out = RedactedRecords::default();
        let _lock = self.store.locked()?;
        let mut tips = self.store.recovery().heal_locked(&mut out.warnings)?;
        if !dry_run {
            out.warnings.extend(self.store.writer().write_all_logs(&mut tips)?);
        }
        let lines = self.all_lines(dry_run)?;
        let redacting = Redacting { ids: ids.clone(), by: by.clone() };
        let forgetting = Forgetting { redacting: Some(redacting), lines: self.lines_of(ids, &lines, &mut out) };
        let redacted = forgetting.texts();
        if dry_run {
            let mut texts = redacted.clone();
            lines.iter().for_each(|(_, line)| texts.drop_texts_owned_by(line));
            let quotes = lines.iter().filter(|(_, line)| texts.redact_line(line).is_some());
            out.rewritten = ids_and_kinds(quotes, |id| !ids.contains(id));
            find_remnants(ids, [&texts, &redacted], &lines, &mut out);
            return Ok(out);
        }
        let own = self.store.recovery().own_tombstones()?;
        let is_listed = |id: &Id| own.redacted.contains_key(id.as_str());
        if forgetting.lines.is_empty() && ids.iter().all(is_listed) && !Forgetting::exists(&self.store.paths) {
            // a further epoch would only make every clone and remote take the same state again
            out.epoch = own.number;
            tips.save(&self.store.paths);
            return Ok(out);
        }
        forgetting.save(&self.store.paths, self.store.repo.is_durable())?;
        self.forget(&forgetting)?;
        let mut removal = Removal::of(ids, by, own);
        removal.tombstones.number += 1;
        out.epoch = removal.tombstones.number;
        let rewritten = self.rewrite_refs(&removal, &mut tips)?;
        session_notes::forget_all(&self.store.paths)?;
        self.forget_traces(&mut out.warnings);
        tips.save(&self.store.paths);
        self.forget_tracking("")?;
        Forgetting::remove(&self.store.paths)?;
        let lines = self.all_lines(false)?;
        out.rewritten = ids_and_kinds(&lines, |id| rewritten.contains(id.as_str()));
        find_remnants(ids, [&self.store.forgotten.borrow(), &redacted], &lines, &mut out);
        let stubs = lines.iter().filter(|(_, line)| is_stub(line));
        for (id, _) in ids_and_kinds(stubs, |id| rewritten.contains(id.as_str())) {
            let id = id.short();
            out.warnings.push(format!("only a stub is left of {id}: without the text it is not a valid record"));
        }
        Ok(out)
    }

    /// Rewrites all refs in one transaction, without the texts to forget; returns the rewritten records.
    pub(crate) fn rewrite_refs(&self, removal: &Removal<'_>, tips: &mut Tips) -> Result<BTreeSet<String>> {
        let texts = &self.store.forgotten.borrow().clone();
        let names = own_refs();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut quoting = BTreeSet::new();
        // the Markdown follows the new handoffs in the same transaction
        let mut handoffs = None;
        self.store.writer().move_refs(&names, tips, REFLOG, |at, tip, _| {
            let rewritten = match tip {
                Some(tip) if names[at] == MARKDOWN_REF => self.rewritten_markdown(tip, handoffs, texts, removal)?,
                Some(tip) => self.rewrite(names[at], tip, texts, removal)?,
                None => None,
            };
            let new = match rewritten {
                Some(rewritten) => {
                    quoting.extend(rewritten.quoting);
                    // history that never had the text can stay
                    let parents = tip.into_iter().filter(|_| !rewritten.is_touched).collect();
                    Some(self.store.repo.write_commit(rewritten.tree, parents, MESSAGE, &self.store.repo.identity())?)
                }
                None => None,
            };
            if names[at] == data_ref(Namespace::Handoffs) {
                handoffs = new.or(tip);
            }
            Ok(new)
        })?;
        Ok(quoting)
    }

    /// The Markdown without these texts and with the blocks of the new handoffs; `None` if nothing changes.
    fn rewritten_markdown(
        &self,
        tip: Oid,
        handoffs: Option<Oid>,
        texts: &RedactedTexts,
        removal: &Removal<'_>,
    ) -> Result<Option<RewrittenTree>> {
        let repo = self.store.repo;
        let without_quotes = match self.rewrite(MARKDOWN_REF, tip, texts, &Removal::default())? {
            Some(new) => repo.write_commit(new.tree, Vec::new(), MESSAGE, &repo.identity())?,
            None => tip,
        };
        let updated = self.updated_markdown(without_quotes, handoffs, &removal.tombstones)?;
        let (before, tree) = (repo.tree_of(tip)?, repo.tree_of(updated)?);
        if tree == before {
            return Ok(None);
        }
        let is_touched = !differences(repo, before, tree)?.notes.is_empty();
        Ok(Some(RewrittenTree { tree, is_touched, quoting: BTreeSet::new() }))
    }

    /// Collects the lines of the records, and which were redacted before.
    fn lines_of(&self, ids: &BTreeSet<Id>, lines: &Lines, out: &mut RedactedRecords) -> BTreeSet<Vec<u8>> {
        let mut found = BTreeSet::new();
        let mut gone = BTreeMap::new();
        for (_, line) in lines {
            let Some(id) = lines::id(line).and_then(Id::parse).filter(|id| ids.contains(id)) else { continue };
            if is_stub(line) {
                out.already_redacted.push(id);
                continue;
            }
            found.insert(line.clone());
            gone.insert(id, export::kind_or_unknown(line));
            let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
            let name = value.as_ref().and_then(|value| value.get("foreign")?.get("ref")?.as_str());
            out.foreign.extend(name.map(str::to_owned));
        }
        out.gone = gone.into_iter().collect();
        out.already_redacted.dedup();
        found
    }

    /// Whether a redaction is incomplete.
    pub fn is_incomplete(&self) -> bool {
        Forgetting::exists(&self.store.paths)
    }

    /// Removes these texts from everything this process writes from now on. Texts of handoffs and other composed
    /// records that another record has as its own are excluded.
    pub(crate) fn forget(&self, forgetting: &Forgetting) -> Result<()> {
        let mut texts = forgetting.texts();
        if texts.has_composed() {
            self.all_lines(true)?.iter().for_each(|(_, line)| texts.drop_texts_owned_by(line));
        }
        self.store.forgotten.borrow_mut().extend(texts);
        Ok(())
    }

    /// Removes the texts of a redacted line from everything this process writes.
    pub fn forget_text(&self, line: &[u8]) {
        self.store.forgotten.borrow_mut().add(line);
    }

    /// All lines of the data refs; with `pending` also of the logs.
    fn all_lines(&self, pending: bool) -> Result<Lines> {
        let mut out = Lines::new();
        for namespace in Namespace::ALL {
            for (_, blob) in self.store.notes(self.store.repo.find_ref(&data_ref(namespace))?)? {
                let note = self.store.read_note(blob)?;
                out.extend(lines::split(&note).map(|line| (namespace, line.to_vec())));
            }
        }
        if pending {
            out.extend(log::read(&self.store.paths).into_iter().map(|pending| (pending.namespace, pending.line)));
        }
        Ok(out)
    }
}

/// Finds records that still contain a distinctive word of a redacted text, and those with an own text that a redacted
/// handoff had. `texts` are those searched for, `redacted` all those redacted.
fn find_remnants(ids: &BTreeSet<Id>, [texts, redacted]: [&RedactedTexts; 2], lines: &Lines, out: &mut RedactedRecords) {
    let words = redacted.distinctive_words();
    if words.is_empty() && !redacted.has_composed() {
        return;
    }
    let is_remnant = |(_, line): &&(Namespace, Vec<u8>)| {
        let line = texts.redact_line(line).map_or_else(|| line.clone(), |without| without.line);
        let text = String::from_utf8_lossy(&line);
        redacted.is_own_text_of(&line) || words.iter().any(|word| text.contains(word.as_str()))
    };
    out.look_at = ids_and_kinds(lines.iter().filter(is_remnant), |id| !ids.contains(id));
}

/// The selected records of these lines with their kinds, by id.
fn ids_and_kinds<'l>(
    lines: impl IntoIterator<Item = &'l (Namespace, Vec<u8>)>,
    is_selected: impl Fn(&Id) -> bool,
) -> Vec<(Id, String)> {
    let of_line =
        |(_, line): &(Namespace, Vec<u8>)| Some((Id::parse(lines::id(line)?)?, export::kind_or_unknown(line)));
    let mut records: Vec<_> = lines.into_iter().filter_map(of_line).filter(|(id, _)| is_selected(id)).collect();
    records.sort();
    records.dedup_by(|a, b| a.0 == b.0);
    records
}
