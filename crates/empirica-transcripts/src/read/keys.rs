//! The keys of a row, by which its agent and its folder are recognized.

use std::collections::HashMap;

use serde::de::MapAccess;
use serde_json::value::RawValue;

use crate::read::lenient::{ENTRIES, Lenient, Text, deserialize, is_read, skip_object, string};

/// The values of an object by key, at most 4,096; of repeated keys the last counts. Empty for other values.
#[derive(Debug, Default)]
pub struct Keys<'a>(HashMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Lenient<'de> for Keys<'a> {
    fn from_object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let mut out = HashMap::new();
        while out.len() < ENTRIES {
            let Some((key, value)) = object.next_entry::<Text, _>()? else { return Ok(Keys(out)) };
            out.insert(key.get().unwrap_or_default().to_owned(), value);
        }
        skip_object(object)?;
        Ok(Keys(out))
    }
}

deserialize!(Keys<'a>, 'de: 'a, 'a);

impl Keys<'_> {
    /// Calls `then` with the keys of a row, repaired if necessary; `None` if it is invalid JSON.
    pub fn with<T>(row: &[u8], mut then: impl FnMut(&Keys) -> T) -> Option<T> {
        let mut out = None;
        is_read(&String::from_utf8_lossy(row), |text| {
            out = serde_json::from_str(text).ok().map(|keys| then(&keys));
            out.is_some()
        });
        out
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(|raw| raw.get()).filter(|raw| *raw != "null")
    }

    /// The keys and values, as JSON.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, raw)| (key.as_str(), raw.get()))
    }

    /// Whether a key has a value other than null.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub fn is_true(&self, key: &str) -> bool {
        self.get(key) == Some("true")
    }

    pub fn has_object(&self, key: &str) -> bool {
        self.get(key).is_some_and(|raw| raw.starts_with('{'))
    }

    /// The text of a key, unless absent or blank.
    pub fn text(&self, key: &str) -> Option<String> {
        string(self.get(key)?).filter(|text| !text.trim().is_empty())
    }

    /// The keys of the value of a key; none if it is not an object.
    pub fn object(&self, key: &str) -> Keys<'_> {
        self.get(key).and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default()
    }
}
