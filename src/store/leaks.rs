//! Secrets in what is stored already: in lines that would leave, and in everything there is.

use std::collections::HashSet;

use serde_json::Value;

use super::{Line, Lookup, MARKDOWN_REF, Replaced, Store, data_ref, secrets};
use crate::error::Result;
use crate::git::{Oid, notes};
use crate::model::Shelf;
use crate::wire::{blocks, lines};

/// Where a secret would leave with what travels, or is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// The record's id; `None` for what is no record.
    pub id: Option<String>,
    /// The field of the record that holds it.
    pub field: Option<String>,
    /// The rule that saw it.
    pub rule: &'static str,
    /// The ref that has it, and the object whose note it is; `None` for what travels.
    pub place: Option<(String, Oid)>,
}

/// What is told of a scan: how many notes are done, of how many.
pub type Told<'t> = &'t mut dyn FnMut(usize, usize);

impl Store<'_> {
    /// The first of the lines that holds a secret; `None` when there is none, or `empirica.redact` is off.
    pub fn secret_in(&self, lines: &[Line]) -> Option<Leak> {
        if !self.scan_secrets {
            return None;
        }
        lines.iter().find_map(|line| leaks(&line.bytes).into_iter().next())
    }

    /// The first secret in texts of the Markdown: each of a block, with its id, or of a passage; `None` likewise. A block of a
    /// handoff whose secret was allowed says what that says.
    pub fn secret_in_markdown(&self, texts: &[(Option<String>, String)]) -> Result<Option<Leak>> {
        if !self.scan_secrets {
            return Ok(None);
        }
        let mut found = texts.iter().filter_map(leak_of_text).peekable();
        if found.peek().is_none() {
            return Ok(None);
        }
        let mut allowed = HashSet::new();
        self.export(&mut |out| {
            if let super::Out::Line(Shelf::Handoffs, _, line) = out {
                allowed.extend(allowed_id(line));
            }
            Ok(())
        })?;
        Ok(found.find(|leak| !leak.id.as_ref().is_some_and(|id| allowed.contains(id))))
    }

    /// Whether a line holds what would be replaced if it were stored anew; never, when `empirica.redact` is off.
    pub fn holds_secret(&self, line: &[u8]) -> bool {
        self.scan_secrets && !leaks(line).is_empty()
    }

    /// Whether secrets are looked for: `empirica.redact`.
    pub fn looks_for_secrets(&self) -> bool {
        self.scan_secrets
    }

    /// Every secret that is stored, whether the scan is on or off: in the notes, the logs and the Markdown. A record that
    /// stands in several places comes once, and the Markdown of one not again.
    pub fn stored_secrets(&self, told: Told<'_>) -> Result<Vec<Leak>> {
        let (mut out, mut allowed, mut seen) = (Vec::new(), HashSet::new(), HashSet::new());
        let mut shelves = Vec::new();
        for shelf in Shelf::ALL {
            let lookup = Lookup::open(self, shelf)?;
            let mut places: std::collections::BTreeSet<Oid> = lookup.waits_on().collect();
            places.extend(lookup.notes(self.repo)?.into_iter().map(|(on, _)| on));
            shelves.push((shelf, lookup, places));
        }
        let tip = self.repo.find_ref(MARKDOWN_REF)?;
        let markdown = match tip {
            Some(tip) => notes::entries(self.repo, self.repo.tree_of(tip)?)?.notes,
            None => Default::default(),
        };
        let total = shelves.iter().map(|(.., places)| places.len()).sum::<usize>() + markdown.len();
        let mut done = 0;
        let mut step = |told: &mut dyn FnMut(usize, usize)| {
            done += 1;
            told(done, total);
        };
        for (shelf, mut lookup, places) in shelves {
            for on in places {
                for line in lookup.lines(on)? {
                    allowed.extend(allowed_id(&line));
                    for leak in leaks(&line) {
                        if seen.insert((leak.id.clone(), leak.field.clone(), leak.rule)) || leak.id.is_none() {
                            out.push(Leak { place: Some((data_ref(shelf), on)), ..leak });
                        }
                    }
                }
                step(told);
            }
        }
        let known: HashSet<String> = out.iter().filter_map(|leak| leak.id.clone()).chain(allowed).collect();
        for (on, blob) in markdown {
            let note = self.repo.read_blob(blob)?.unwrap_or_default();
            let found = blocks::texts(&note);
            let new = found.iter().filter(|(id, _)| !id.as_ref().is_some_and(|id| known.contains(id)));
            out.extend(
                new.filter_map(leak_of_text).map(|leak| Leak { place: Some((MARKDOWN_REF.to_owned(), on)), ..leak }),
            );
            step(told);
        }
        Ok(out)
    }
}

/// The secrets of a line; none in a record that says they were allowed.
fn leaks(line: &[u8]) -> Vec<Leak> {
    let id = lines::id(line).map(str::to_owned);
    let leak = |field: Option<String>, rule| Leak { id: id.clone(), field, rule, place: None };
    match serde_json::from_slice::<Value>(line) {
        Ok(value) if id.is_some() && is_allowed(&value) => Vec::new(),
        Ok(mut value) if id.is_some() => {
            // what git signed is no text, and none of it could be replaced
            if let Some(fields) = value.as_object_mut().filter(|fields| fields.get("kind") == Some(&"signature".into()))
            {
                fields.remove("signed");
            }
            let found = secrets::redact_value(&mut value).into_iter();
            found.map(|Replaced { field, rule }| leak(Some(field), rule)).collect()
        }
        _ => {
            let found = secrets::redact_text(&String::from_utf8_lossy(line));
            found.map_or_else(Vec::new, |(_, rules)| rules).into_iter().map(|rule| leak(None, rule)).collect()
        }
    }
}

fn leak_of_text((id, text): &(Option<String>, String)) -> Option<Leak> {
    let rule = *secrets::redact_text(text)?.1.first()?;
    Some(Leak { id: id.clone(), field: None, rule, place: None })
}

fn is_allowed(record: &Value) -> bool {
    record.get(secrets::ALLOWED).and_then(Value::as_bool).unwrap_or(false)
}

/// The id of a record whose secrets were allowed.
fn allowed_id(line: &[u8]) -> Option<String> {
    // most lines do not say the word, and need not be read for it
    let key = secrets::ALLOWED.as_bytes();
    let says = line.windows(key.len()).any(|word| word == key);
    let value: Value = says.then(|| serde_json::from_slice(line).ok()).flatten()?;
    is_allowed(&value).then(|| lines::id(line).map(str::to_owned)).flatten()
}
