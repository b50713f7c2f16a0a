//! Scrubbing: replaces secrets outside records, and cuts off unpublished history that has any.

use std::collections::BTreeMap;
use std::fs::remove_file;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::format::redact::is_stub;
use crate::format::{blocks, lines};
use crate::git::history::reach::is_ancestor;
use crate::git::notes::difference::Other;
use crate::git::{Oid, notes};
use crate::store::redact::forget::{MESSAGE, REFLOG};
use crate::store::redact::tombstones::{NAME, NoteFormat, Tombstones};
use crate::store::secrets::handoff_texts::HandoffTexts;
use crate::store::write::session_notes;
use crate::store::{LeakPart, MARKDOWN_REF, Redaction, own_refs, tracked};

/// The secrets replaced in a ref, or that would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ScrubbedRef")]
pub struct Scrubbed {
    /// The ref.
    #[serde(rename = "ref")]
    pub name: String,
    /// The number of notes and other files with replaced secrets.
    pub notes: usize,
    /// Whether history was cut off because an older version or a message has a secret.
    pub history: bool,
    /// Whether a remote is known to have some of them; the next sync restores these from there.
    pub published: bool,
}

impl Redaction<'_> {
    /// Replaces all secrets in foreign lines, in passages of Markdown, and in other files of the refs, and cuts off
    /// history with secrets that no remote is known to have. Leaves records alone, which are redacted by id. With
    /// `dry_run` changes nothing.
    pub fn scrub(&self, dry_run: bool, warnings: &mut Vec<String>) -> Result<Vec<Scrubbed>> {
        let _lock = self.store.locked()?;
        let mut tips = self.store.recovery().heal_locked(warnings)?;
        let mut out = Vec::new();
        let marker = self.store.paths.file("scrubbing");
        let was_interrupted = marker.exists();
        if !dry_run {
            // after a kill, references to the old tips remain to be removed
            self.store
                .paths
                .replace(&marker, "")
                .map_err(|error| Error::storage("cannot start scrubbing").on_path(&marker, error))?;
        }
        for name in own_refs() {
            let mut found = None;
            self.store.writer().move_refs(&[&name], &mut tips, REFLOG, |_, tip, _| {
                found = tip.map(|tip| self.scrubbed(&name, tip)).transpose()?.flatten();
                let Some((_, tree, parents)) = found.as_ref().filter(|_| !dry_run) else { return Ok(None) };
                self.store.repo.write_commit(*tree, parents.clone(), MESSAGE, &self.store.repo.identity()).map(Some)
            })?;
            out.extend(found.map(|(scrubbed, ..)| scrubbed));
        }
        if !dry_run {
            if !out.is_empty() || was_interrupted {
                session_notes::forget_all(&self.store.paths)?;
                tips.save(&self.store.paths);
                self.forget_traces(warnings);
            }
            remove_file(&marker).map_err(|error| Error::storage("cannot finish scrubbing").on_path(&marker, error))?;
        }
        Ok(out)
    }

    /// The outcome for a tip, with the tree and parents of the new commit; `None` if there is nothing to do.
    fn scrubbed(&self, name: &str, tip: Oid) -> Result<Option<(Scrubbed, Oid, Vec<Oid>)>> {
        let published =
            self.store.tracking().into_iter().filter(|(tracking, _)| tracked(tracking).as_deref() == Some(name));
        let published_tip = published.map(|(_, id)| id).find(|id| is_ancestor(self.store.repo, *id, tip));
        let (tree, notes) = self.clean_tree(name, tip)?;
        let history =
            self.store.secret_scan().all_in_push(name, tip, published_tip)?.iter().any(|leak| match &leak.part {
                LeakPart::Earlier | LeakPart::Message | LeakPart::Name => true,
                LeakPart::File(_) => notes == 0,
                LeakPart::Note => false,
            });
        let published = match published_tip.filter(|_| notes > 0) {
            Some(tip) => self.clean_tree(name, tip)?.1 > 0,
            None => false,
        };
        let scrubbed = Scrubbed { name: name.to_owned(), notes, history, published };
        Ok((notes > 0 || history).then(|| (scrubbed, tree, published_tip.into_iter().collect())))
    }

    /// The tree of a tip without secrets outside records, and the number of notes and files changed.
    fn clean_tree(&self, name: &str, tip: Oid) -> Result<(Oid, usize)> {
        let repo = self.store.repo;
        let tree = repo.tree_of(tip)?;
        let form = NoteFormat::of(name);
        let (mut edits, mut others, mut changed) = (BTreeMap::new(), Vec::new(), 0);
        let handoffs = HandoffTexts::new(self.store);
        for (on, blob) in notes::entries(repo, tree)?.notes {
            let note = self.store.read_note(blob)?;
            let clean = if name == MARKDOWN_REF { clean_blocks(&note, &handoffs)? } else { clean_lines(&note) };
            changed += usize::from(clean.is_some());
            let blob = clean.map(|note| repo.write_blob(&note)).transpose()?.unwrap_or(blob);
            edits.insert(on, Some(blob));
        }
        for (path, other) in notes::files(repo, tree)? {
            let text = repo.read_blob(other.id)?;
            let new = match path == NAME.as_bytes() {
                // drop everything but valid entries
                true => text.and_then(|text| clean(&text).map(|_| Tombstones::parse(&text).text().into_bytes())),
                false => text.and_then(|text| clean(&text)),
            };
            let clean_path = clean(&path);
            changed += usize::from(new.is_some() || clean_path.is_some());
            let other = new.map(|text| repo.write_blob(&text)).transpose()?.map_or(other, Other::file);
            let mut path = clean_path.unwrap_or(path);
            // two cleaned names can be equal
            while others.iter().any(|(other, _)| *other == path) {
                path.push(b'+');
            }
            others.push((path, other));
        }
        if changed == 0 {
            return Ok((tree, 0));
        }
        let tree = notes::rebuild_tree(repo, repo.empty_tree(), &edits, &others, form.unite(), false)?;
        Ok((tree, changed))
    }
}

/// The bytes without secrets; `None` if there are none. Invalid UTF-8 is kept byte for byte.
fn clean(text: &[u8]) -> Option<Vec<u8>> {
    through_text(text, |text| empirica_secrets::redact_text(text).map(|(clean, _)| clean))
}

/// Changes bytes as text; if they are not UTF-8, each byte is one character, and is restored afterwards.
fn through_text(bytes: &[u8], change: impl FnOnce(&str) -> Option<String>) -> Option<Vec<u8>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => change(text).map(String::into_bytes),
        Err(_) => {
            let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
            // all characters are below 256, including replacements
            change(&text).map(|text| text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect())
        }
    }
}

/// The note without secrets in foreign lines and stubs; `None` if there are none.
fn clean_lines(note: &[u8]) -> Option<Vec<u8>> {
    let (mut kept, mut texts, mut is_changed) = (Vec::new(), Vec::new(), false);
    for line in lines::split(note) {
        if lines::id(line).is_none() && std::str::from_utf8(line).is_ok() {
            texts.push(line);
            continue;
        }
        let clean = match (lines::id(line), is_stub(line)) {
            (None, _) => clean(line),
            (Some(_), true) => clean_stub(line),
            (Some(_), false) => None,
        };
        is_changed |= clean.is_some();
        kept.push(clean.unwrap_or_else(|| line.to_vec()));
    }
    // a key can span many lines
    let texts = texts.join(&b'\n');
    let clean = clean(&texts);
    is_changed |= clean.is_some();
    let texts = clean.unwrap_or(texts);
    is_changed.then(|| lines::canonical(kept.iter().map(Vec::as_slice).chain(lines::split(&texts))))
}

/// The stub without secrets in its reason.
fn clean_stub(line: &[u8]) -> Option<Vec<u8>> {
    let mut value: serde_json::Value = serde_json::from_slice(line).ok()?;
    (!empirica_secrets::redact_value(&mut value).is_empty()).then(|| value.to_string().into_bytes())
}

/// The Markdown note without secrets written by people, in passages or blocks; `None` if there are none.
fn clean_blocks(note: &[u8], handoffs: &HandoffTexts<'_>) -> Result<Option<Vec<u8>>> {
    let mut forged = Vec::new();
    for (id, text) in blocks::texts(note) {
        if let Some(id) = id
            && handoffs.leaks(&id, &text, "")?.iter().any(|leak| leak.id.is_none())
        {
            forged.push(text);
        }
    }
    let redacted = |text: &str| empirica_secrets::redact_text(text).map(|(clean, _)| clean);
    Ok(through_text(note, |note| {
        let note = note.as_bytes();
        let passages = blocks::with_passages(note, redacted);
        let is_forged = |text: &str| forged.iter().any(|block| block.starts_with(text));
        let all =
            blocks::with_texts(passages.as_deref().unwrap_or(note), |text| redacted(text).filter(|_| is_forged(text)));
        all.or(passages).and_then(|note| String::from_utf8(note).ok())
    }))
}
