//! Secrets in what is stored already: what they are of, and all there are.

use std::collections::HashSet;

use serde_json::Value;

use super::{Lookup, MARKDOWN_REF, Replaced, Store, data_ref, our_refs, secrets, tracked};
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
    /// The ref that has it, and the object whose note it is, or the commit or tree; `None` for what waits in the log.
    pub place: Option<(String, Oid)>,
    /// What of the ref has it.
    pub part: Part,
}

/// What of a ref something is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A note as it is now.
    Note,
    /// An older version of a note.
    Earlier,
    /// Who made a commit of the notes, or its message.
    Message,
    /// The name of a file.
    Name,
    /// A file that is no note, at this path.
    File(String),
}

impl Leak {
    pub(super) fn new(id: Option<String>, field: Option<String>, rule: &'static str) -> Self {
        Leak { id, field, rule, place: None, part: Part::Note }
    }

    pub(super) fn at(self, name: &str, object: Oid, part: Part) -> Self {
        Leak { place: Some((name.to_owned(), object)), part, ..self }
    }

    /// What holds it, in words. What was found is not said.
    pub fn what(&self) -> String {
        let (name, object) =
            self.place.as_ref().map_or(("the log", String::new()), |(name, on)| (name.as_str(), on.to_string()));
        match (&self.part, &self.id) {
            (Part::Note, Some(id)) => format!("the record {id}"),
            (Part::Note, None) => format!("what is no record, in the note of {object} in {name},"),
            (Part::Earlier, _) => format!("an older version of the note of {object} in {name}"),
            (Part::Message, _) => format!("the commit {object} of {name}"),
            (Part::Name, _) => format!("the name of a file in {name}"),
            (Part::File(path), _) => format!("the file {path} in {name}"),
        }
    }

    /// The commands that show it and take it out.
    pub fn remedies(&self) -> Vec<String> {
        match (&self.part, &self.id) {
            (Part::Note, Some(id)) => vec![format!("git empirica show {id}"), format!("git empirica redact {id}")],
            _ => vec!["git empirica redact --secrets".to_owned()],
        }
    }
}

/// What is told of a scan: how many notes are done, of how many.
pub type Told<'t> = &'t mut dyn FnMut(usize, usize);

impl Store<'_> {
    /// Whether a line holds what would be replaced if it were stored anew; never, when `empirica.redact` is off.
    pub fn holds_secret(&self, line: &[u8]) -> bool {
        self.scan_secrets && !leaks(line).is_empty()
    }

    /// Whether a line says that its secrets were allowed: nobody asks for them again.
    pub fn says_allowed(&self, line: &[u8]) -> bool {
        allowed_id(line).is_some()
    }

    /// Whether secrets are looked for: `empirica.redact`.
    pub fn looks_for_secrets(&self) -> bool {
        self.scan_secrets
    }

    /// Every secret that is stored, whether the scan is on or off: in the notes, the logs, the Markdown, and the history of these that
    /// was sent nowhere. A record that stands in several places comes once, and the Markdown of one not again.
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
                            out.push(leak.at(&data_ref(shelf), on, Part::Note));
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
            out.extend(new.filter_map(leak_of_text).map(|leak| leak.at(MARKDOWN_REF, on, Part::Note)));
            step(told);
        }
        for (name, _) in our_refs() {
            let Some(tip) = self.repo.find_ref(&name)? else { continue };
            let sent = self.tracking().into_iter().find(|(known, _)| tracked(known).as_ref() == Some(&name));
            let found = self.secrets_beyond(&name, tip, sent.map(|(_, tip)| tip))?;
            out.extend(found.into_iter().filter(|leak| leak.part != Part::Note));
        }
        Ok(out)
    }
}

/// The secrets of a line; none in a record that says they were allowed.
pub(super) fn leaks(line: &[u8]) -> Vec<Leak> {
    let id = lines::id(line).map(str::to_owned);
    let leak = |field: Option<String>, rule| Leak::new(id.clone(), field, rule);
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

/// The first secret of a text.
pub(super) fn leak_of_text((id, text): &(Option<String>, String)) -> Option<Leak> {
    let rule = *secrets::redact_text(text)?.1.first()?;
    Some(Leak::new(id.clone(), None, rule))
}

fn is_allowed(record: &Value) -> bool {
    record.get(secrets::ALLOWED).and_then(Value::as_bool).unwrap_or(false)
}

/// The id of a record whose secrets were allowed.
pub(super) fn allowed_id(line: &[u8]) -> Option<String> {
    // most lines do not say the word, and need not be read for it
    let key = secrets::ALLOWED.as_bytes();
    let says = line.windows(key.len()).any(|word| word == key);
    let value: Value = says.then(|| serde_json::from_slice(line).ok()).flatten()?;
    is_allowed(&value).then(|| lines::id(line).map(str::to_owned)).flatten()
}
