//! Texts of payloads.

use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A text that is not blank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = r"\S"))]
pub struct Text(String);

impl TryFrom<String> for Text {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.trim().is_empty() { Err("expected a text that is not blank") } else { Ok(Text(text)) }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// The text; `None` if it is blank.
pub fn text(text: impl Into<String>) -> Option<Text> {
    Text::try_from(text.into()).ok()
}

/// The texts that are not blank.
pub fn texts(texts: impl IntoIterator<Item = impl Into<String>>) -> Vec<Text> {
    texts.into_iter().filter_map(text).collect()
}

/// A time in the form of RFC 3339, kept as given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("format" = "date-time"))]
pub struct Time(String);

impl TryFrom<String> for Time {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match chrono::DateTime::parse_from_rfc3339(&text) {
            Ok(_) => Ok(Time(text)),
            Err(_) => Err("expected a time such as 2024-01-01T12:00:00Z"),
        }
    }
}
