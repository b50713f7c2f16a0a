//! Secrets in stored data.

use std::collections::HashSet;

use serde_json::Value;

use crate::error::Result;
use crate::format::redact::is_stub;
use crate::format::{blocks, lines};
use crate::model::Namespace;
use crate::store::secrets::handoff_texts::HandoffTexts;
use crate::store::secrets::leak::{Leak, LeakPart, is_allowed};
use crate::store::{Lookup, MARKDOWN_REF, SecretScan, data_ref, own_refs, tracked};
use empirica_secrets::Replaced;

/// Receives the numbers of notes done and of all.
pub type ScanProgress<'t> = &'t mut dyn FnMut(usize, usize);

impl SecretScan<'_> {
    /// All stored secrets, regardless of `empirica.redact`: in notes, logs, Markdown and unpublished history. Each
    /// record counts once, also if it is in several places or in Markdown.
    pub fn stored(&self, progress: ScanProgress<'_>) -> Result<Vec<Leak>> {
        let repo = self.store.repo;
        let (mut out, mut seen) = (Vec::new(), HashSet::new());
        let mut namespaces = Vec::new();
        for namespace in Namespace::ALL {
            let lookup = Lookup::open(self.store, namespace)?;
            let places = lookup.objects()?;
            namespaces.push((namespace, lookup, places));
        }
        let markdown = self.store.notes(repo.find_ref(MARKDOWN_REF)?)?;
        let total = namespaces.iter().map(|(.., places)| places.len()).sum::<usize>() + markdown.len();
        let mut done = 0;
        let mut step = || {
            done += 1;
            progress(done, total);
        };
        for (namespace, mut lookup, places) in namespaces {
            for on in places {
                for line in lookup.lines(on)? {
                    for leak in leaks(&line) {
                        if seen.insert((leak.id.clone(), leak.field.clone(), leak.rule)) || leak.id.is_none() {
                            out.push(leak.at(&data_ref(namespace), on, LeakPart::Note));
                        }
                    }
                }
                step();
            }
        }
        let reported: HashSet<String> = out.iter().filter_map(|leak| leak.id.clone()).collect();
        let handoffs = HandoffTexts::new(self.store);
        for (on, blob) in markdown {
            let note = repo.read_blob(blob)?.unwrap_or_default();
            for (id, text) in blocks::texts(&note) {
                let found = match &id {
                    Some(id) => handoffs
                        .leaks(id, &text, "")?
                        .into_iter()
                        .find(|leak| leak.id.is_none() || !reported.contains(id)),
                    None => leak_of_text(&text),
                };
                out.extend(found.map(|leak| leak.at(MARKDOWN_REF, on, LeakPart::Note)));
            }
            step();
        }
        for name in own_refs() {
            let Some(tip) = repo.find_ref(&name)? else { continue };
            let published =
                self.store.tracking().into_iter().find(|(tracking, _)| tracked(tracking).as_ref() == Some(&name));
            let found = self.all_in_push(&name, tip, published.map(|(_, tip)| tip))?;
            out.extend(found.into_iter().filter(|leak| leak.part != LeakPart::Note));
        }
        Ok(out)
    }
}

/// The secrets of a line; none in records with allowed secrets. Stubs do not count as records.
pub(crate) fn leaks(line: &[u8]) -> Vec<Leak> {
    let id = lines::id(line).map(str::to_owned);
    let own = id.clone().filter(|_| !is_stub(line));
    let leak = |field: Option<String>, rule| Leak::new(own.clone(), field, rule);
    match serde_json::from_slice::<Value>(line) {
        Ok(value) if id.is_some() && is_allowed(&value) => Vec::new(),
        Ok(mut value) if id.is_some() => {
            let mut named = String::new();
            keys(&value, &mut named);
            let in_keys = empirica_secrets::redact_text(&named).map_or_else(Vec::new, |(_, rules)| rules);
            // a signature by git is not text and cannot be replaced
            if value.get("kind") == Some(&"signature".into())
                && let Some(Value::String(signed)) = value.get_mut("signed")
            {
                *signed = unsigned(signed);
            }
            let found = empirica_secrets::redact_value(&mut value).into_iter();
            let found = found.map(|Replaced { field, rule }| leak(Some(field), rule));
            found.chain(in_keys.into_iter().map(|rule| leak(Some("the name of a field".to_owned()), rule))).collect()
        }
        _ => {
            let found = empirica_secrets::redact_text(&String::from_utf8_lossy(line));
            found.map_or_else(Vec::new, |(_, rules)| rules).into_iter().map(|rule| leak(None, rule)).collect()
        }
    }
}

/// All keys of [`LONG_KEY`] bytes or more, a line each.
fn keys(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| keys(item, out)),
        Value::Object(fields) => fields.iter().for_each(|(key, item)| {
            if key.len() >= LONG_KEY {
                out.push_str(key);
                out.push('\n');
            }
            keys(item, out);
        }),
        _ => {}
    }
}

/// The length from which a key can be a secret, in bytes; longer than all keys of this program.
const LONG_KEY: usize = 16;

/// The commit without its signature.
fn unsigned(commit: &str) -> String {
    let mut is_signature = false;
    let kept = commit.lines().filter(|line| {
        is_signature = line.starts_with("gpgsig") || is_signature && line.starts_with(' ');
        !is_signature
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// The first secret of a text.
pub(crate) fn leak_of_text(text: &str) -> Option<Leak> {
    let rule = *empirica_secrets::redact_text(text)?.1.first()?;
    Some(Leak::new(None, None, rule))
}
