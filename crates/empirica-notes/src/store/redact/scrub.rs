//! Scrubbing: secrets in what is no record are replaced, and history of the notes that held any and was sent nowhere is cut off.

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
use crate::store::redact::tombstones;
use crate::store::secrets::own_texts::HandoffTexts;
use crate::store::write::merge::{absent, form_of};
use crate::store::write::touched;
use crate::store::{Epoch, MARKDOWN_REF, Part, Store, our_refs, tracked};

/// What was taken out of a ref, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ScrubbedRef")]
pub struct Scrubbed {
    /// The ref.
    #[serde(rename = "ref")]
    pub name: String,
    /// In how many notes and other files a secret was replaced.
    pub notes: usize,
    /// Whether older versions, or messages, that held one were cut off.
    pub history: bool,
    /// Whether a remote is known to have some of it: the next sync brings it back from there.
    pub published: bool,
}

impl Store<'_> {
    /// Replaces every secret in lines that are no records, in Markdown that people wrote, and in other files of our refs; of history that no
    /// remote is known to have nothing is left where it held one. Records are left as they are: they are redacted by their
    /// ids. With `dry_run` it is only told.
    pub fn scrub(&self, dry_run: bool, warnings: &mut Vec<String>) -> Result<Vec<Scrubbed>> {
        let _lock = self.locked()?;
        let mut tips = self.heal_locked(warnings)?;
        let mut out = Vec::new();
        let begun = self.paths.scrubbing();
        let was_begun = begun.exists();
        if !dry_run {
            // whoever is killed over it left what leads to the old tips
            self.paths
                .replace(&begun, "")
                .map_err(|error| Error::storage("it cannot be begun").on_path(&begun, error))?;
        }
        for (name, _) in our_refs() {
            let mut found = None;
            if dry_run {
                let tip = self.repo.find_ref(&name)?;
                found = tip.map(|tip| self.without_secrets_in(&name, tip)).transpose()?.flatten();
            } else {
                self.move_refs(&[&name], &mut tips, "notes: Notes redacted by 'git empirica'", |_, tip, _| {
                    found = tip.map(|tip| self.without_secrets_in(&name, tip)).transpose()?.flatten();
                    let Some((_, tree, parents)) = &found else { return Ok(None) };
                    let message = "Notes redacted by 'git empirica'\n";
                    self.repo.write_commit(*tree, parents.clone(), message, &self.repo.identity()).map(Some)
                })?;
            }
            out.extend(found.map(|(scrubbed, ..)| scrubbed));
        }
        if !dry_run {
            if !out.is_empty() || was_begun {
                touched::forget_all(&self.paths).map_err(|error| touched::unusable(&self.paths, error))?;
                tips.save(&self.paths);
                self.forget_traces(warnings);
            }
            remove_file(&begun).map_err(|error| Error::storage("it cannot be done with").on_path(&begun, error))?;
        }
        Ok(out)
    }

    /// What is to be taken out of a tip, with the tree and the parents of the commit without it; `None` when there is nothing.
    fn without_secrets_in(&self, name: &str, tip: Oid) -> Result<Option<(Scrubbed, Oid, Vec<Oid>)>> {
        let sent = self.tracking().into_iter().filter(|(known, _)| tracked(known).as_deref() == Some(name));
        let sent = sent.map(|(_, id)| id).find(|id| is_ancestor(self.repo, *id, &tip.to_string()));
        let (tree, notes) = self.clean_tree(name, tip)?;
        let history = self.secrets_beyond(name, tip, sent)?.iter().any(|leak| match &leak.part {
            Part::Earlier | Part::Message | Part::Name => true,
            Part::File(_) => notes == 0,
            Part::Note => false,
        });
        let published = match sent.filter(|_| notes > 0) {
            Some(sent) => self.clean_tree(name, sent)?.1 > 0,
            None => false,
        };
        let scrubbed = Scrubbed { name: name.to_owned(), notes, history, published };
        Ok((notes > 0 || history).then(|| (scrubbed, tree, sent.into_iter().collect())))
    }

    /// The tree of a tip without secrets in what is no record, and how many notes and files changed.
    fn clean_tree(&self, name: &str, tip: Oid) -> Result<(Oid, usize)> {
        let tree = self.repo.tree_of(tip)?;
        let form = form_of(name);
        let (mut anew, mut others, mut changed) = (BTreeMap::new(), Vec::new(), 0);
        let said = HandoffTexts::new(self);
        for (on, blob) in notes::entries(self.repo, tree)?.notes {
            let note = self.repo.read_blob(blob)?.ok_or_else(|| absent(blob))?;
            let clean = if name == MARKDOWN_REF { clean_blocks(&note, &said)? } else { clean_lines(&note) };
            changed += usize::from(clean.is_some());
            let blob = clean.map(|note| self.repo.write_blob(&note)).transpose()?.unwrap_or(blob);
            anew.insert(on, Some(blob));
        }
        for (path, other) in notes::files(self.repo, tree)? {
            let text = self.repo.read_blob(other.id)?;
            let new = match path == tombstones::NAME.as_bytes() {
                // what is no entry of it goes
                true => text.and_then(|text| clean(&text).map(|_| Epoch::parse(&text).text().into_bytes())),
                false => text.and_then(|text| clean(&text)),
            };
            let named = clean(&path);
            changed += usize::from(new.is_some() || named.is_some());
            let other = new.map(|text| self.repo.write_blob(&text)).transpose()?.map_or(other, Other::file);
            let mut path = named.unwrap_or(path);
            // two names can come to the same
            while others.iter().any(|(known, _)| *known == path) {
                path.push(b'+');
            }
            others.push((path, other));
        }
        if changed == 0 {
            return Ok((tree, 0));
        }
        let tree = notes::rebuilt(self.repo, self.repo.empty_tree(), &anew, &others, form.unite(), false)?;
        Ok((tree, changed))
    }
}

/// Bytes without secrets; `None` when there are none. What is no UTF-8 stays, byte for byte.
fn clean(text: &[u8]) -> Option<Vec<u8>> {
    through_text(text, |text| empirica_secrets::redact_text(text).map(|(clean, _)| clean))
}

/// Changes bytes as text; what is no UTF-8 is taken byte for byte as a character, and is the same afterwards.
fn through_text(bytes: &[u8], change: impl FnOnce(&str) -> Option<String>) -> Option<Vec<u8>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => change(text).map(String::into_bytes),
        Err(_) => {
            let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
            // all of it is below 256, as what takes the place of something
            change(&text).map(|text| text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect())
        }
    }
}

/// A note of lines without secrets in those that are no records, and in stubs; `None` when there are none.
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
    // a key can have many lines
    let texts = texts.join(&b'\n');
    let clean = clean(&texts);
    is_changed |= clean.is_some();
    let texts = clean.unwrap_or(texts);
    is_changed.then(|| lines::canonical(kept.iter().map(Vec::as_slice).chain(lines::split(&texts))))
}

/// A stub without secrets in why it is one.
fn clean_stub(line: &[u8]) -> Option<Vec<u8>> {
    let mut value: serde_json::Value = serde_json::from_slice(line).ok()?;
    (!empirica_secrets::redact_value(&mut value).is_empty()).then(|| value.to_string().into_bytes())
}

/// A note of Markdown without secrets in what people wrote, also into a block; `None` when there are none.
fn clean_blocks(note: &[u8], said: &HandoffTexts<'_>) -> Result<Option<Vec<u8>>> {
    let mut forged = Vec::new();
    for (id, text) in blocks::texts(note) {
        if let Some(id) = id
            && said.leaks(&id, &text, "")?.iter().any(|leak| leak.id.is_none())
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
