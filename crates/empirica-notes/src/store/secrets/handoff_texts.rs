//! The texts of handoffs, to distinguish their own secrets in Markdown from those added by people.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::Value;

use crate::error::Result;
use crate::format::lines;
use crate::model::Namespace;
use crate::store::secrets::leak::allowed_id;
use crate::store::{ExportItem, Leak, Store};

/// The texts of all handoffs, loaded on first use.
pub(crate) struct HandoffTexts<'s> {
    store: &'s Store<'s>,
    loaded: OnceCell<HashMap<String, HandoffText>>,
}

/// The texts of one handoff.
#[derive(Default)]
struct HandoffText {
    /// All its strings, without backslashes, which differ in Markdown.
    texts: String,
    /// Whether its secrets were allowed.
    is_allowed: bool,
}

impl<'s> HandoffTexts<'s> {
    pub fn new(store: &'s Store<'s>) -> Self {
        HandoffTexts { store, loaded: OnceCell::new() }
    }

    /// The secrets in a block, except allowed ones of its handoff and those in `published`. Secrets of the handoff
    /// itself have its id; those written into the block have none.
    pub fn leaks(&self, id: &str, block: &str, published: &str) -> Result<Vec<Leak>> {
        let mut found = empirica_secrets::find_secrets(block);
        found.retain(|(_, secret)| !published.contains(secret.as_str()));
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let empty = HandoffText::default();
        let handoff = self.all()?.get(id).unwrap_or(&empty);
        let leak = |(rule, secret): (&'static str, String)| match handoff.texts.contains(&plain(&secret)) {
            true if handoff.is_allowed => None,
            true => Some(Leak::new(Some(id.to_owned()), None, rule)),
            false => Some(Leak::new(None, None, rule)),
        };
        Ok(found.into_iter().filter_map(leak).collect())
    }

    fn all(&self) -> Result<&HashMap<String, HandoffText>> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let mut all: HashMap<String, HandoffText> = HashMap::new();
        self.store.archive().export(&mut |out| {
            if let ExportItem::Line(Namespace::Handoffs, _, line) = out
                && let Some(id) = lines::id(line)
                && let Ok(value) = serde_json::from_slice::<Value>(line)
            {
                let one = all.entry(id.to_owned()).or_default();
                add(&value, &mut one.texts);
                one.is_allowed |= allowed_id(line).is_some();
            }
            Ok(())
        })?;
        Ok(self.loaded.get_or_init(|| all))
    }
}

fn plain(text: &str) -> String {
    text.replace('\\', "")
}

/// Adds all strings of a value, including keys.
fn add(value: &Value, texts: &mut String) {
    match value {
        Value::String(text) => {
            texts.push_str(&plain(text));
            texts.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| add(item, texts)),
        Value::Object(fields) => fields.iter().for_each(|(key, item)| {
            add(&Value::from(key.as_str()), texts);
            add(item, texts);
        }),
        _ => {}
    }
}
