//! Replacement of secrets in new texts.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::store::SecretFilter;
use crate::store::secrets::stored_scan::leaks;

impl SecretFilter<'_> {
    /// Whether `empirica.redact` is on.
    pub fn is_enabled(&self) -> bool {
        self.store.scan_secrets
    }

    /// Whether storing a line would replace a secret; `false` if `empirica.redact` is off.
    pub fn has_secret(&self, line: &[u8]) -> bool {
        self.store.scan_secrets && !leaks(line).is_empty()
    }

    /// A text as it would be stored. For callers that quote a part of one: half a secret may not be recognized.
    pub fn clean(&self, text: &str) -> String {
        let replaced = self.replaces().then(|| empirica_secrets::redact_text(text)).flatten();
        replaced.map_or_else(|| text.to_owned(), |(text, _)| text)
    }

    /// As [`Self::clean`], for all strings of a value.
    pub fn clean_all<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        let Ok(mut json) = serde_json::to_value(&value) else { return value };
        if !self.replaces() || empirica_secrets::redact_value(&mut json).is_empty() {
            return value;
        }
        // as text, which records are read from already: reading them from values would be as much code again
        serde_json::from_str(&json.to_string()).unwrap_or(value)
    }

    fn replaces(&self) -> bool {
        self.store.scan_secrets && !self.store.allow_secrets
    }
}
