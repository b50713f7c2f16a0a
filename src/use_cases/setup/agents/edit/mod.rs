//! Our entries in configuration files of others: added and removed without changing another byte.

pub mod json;
pub mod spot;
#[cfg(test)]
mod tests;
pub mod toml;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::use_cases::setup::agents::edit::spot::{EditError, EntryPath};

/// Part of every command line the program enters as a hook.
pub const MARK: &str = "git-empirica hook agent ";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedEntry {
    #[serde(flatten)]
    pub spot: EntryPath,
    /// Number of objects and lists created around it, innermost first.
    #[serde(default)]
    pub made: usize,
    /// Text it replaced; empty if none.
    pub was: String,
    /// Text added, with surrounding white space and commas.
    pub now: String,
    /// Whether only the command line of an existing entry was updated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reworded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// JSON, with comments and trailing commas.
    Json,
    Toml,
}

impl FileFormat {
    /// The format of a file, by extension.
    pub fn of(name: &str) -> Self {
        if name.ends_with(".toml") { FileFormat::Toml } else { FileFormat::Json }
    }

    /// Parses a text; an empty one is an empty object.
    pub fn read(self, text: &str) -> Result<Value, EditError> {
        match self {
            FileFormat::Json => json::read(text),
            FileFormat::Toml => toml::read(text),
        }
    }

    /// Adds a value; an error if its place is taken. Returns the text and the entry.
    pub fn put(self, text: &str, spot: &EntryPath, value: &Value) -> Result<(String, AddedEntry), EditError> {
        let (out, made) = match self {
            FileFormat::Json => {
                // what cannot be read could not be removed again
                json::read(text)?;
                json::put(text, spot, value)?
            }
            FileFormat::Toml => toml::put(text, spot, value)?,
        };
        let (was, now) = difference(text, &out);
        let (was, now) = (was.to_owned(), now.to_owned());
        Ok((out, AddedEntry { spot: spot.clone(), made, was, now, reworded: false }))
    }

    /// Removes an entry; `None` if nothing of it is left. Restores the bytes where possible, and never changes other
    /// values. An error if the entry was edited so that neither works.
    pub fn take(self, text: &str, entry: &AddedEntry) -> Result<Option<String>, EditError> {
        let now = self.read(text)?;
        if entry.reworded {
            return Ok(text.contains(&entry.now).then(|| text.replace(&entry.now, &entry.was)));
        }
        let expected = without(&now, entry);
        let edited =
            || EditError::Syntax { line: 0, what: format!("{} was edited by hand", entry.spot.path.join(".")) };
        if expected == now {
            return if is_edited(&now, entry) { Err(edited()) } else { Ok(None) };
        }
        let fits = |text: &String| self.read(text).is_ok_and(|found| found == expected);
        if let Some(text) = undone(text, entry, true).filter(fits) {
            return Ok(Some(text));
        }
        let taken = match self {
            FileFormat::Json => json::take(text, &now, &expected)?,
            FileFormat::Toml => undone(text, entry, false),
        };
        taken.filter(fits).map(Some).ok_or_else(edited)
    }
}

/// Two texts without their common prefix and suffix.
fn difference<'t>(was: &'t str, now: &'t str) -> (&'t str, &'t str) {
    let same = |(was, now): &(char, char)| was == now;
    let start = was.chars().zip(now.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (was, now) = (&was[start..], &now[start..]);
    let end = was.chars().rev().zip(now.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum::<usize>();
    (&was[..was.len() - end], &now[..now.len() - end])
}

/// Replaces every occurrence of one of our command lines. `None` if it does not occur.
pub fn reword(text: &str, spot: &EntryPath, was: &str, now: &str) -> Option<(String, AddedEntry)> {
    let quoted = |text: &str| Value::from(text).to_string();
    replaced(text, spot, quoted(was), quoted(now))
}

/// Makes our server list all tools instead of the core ones. `None` if the entry is not in our own format.
pub fn list_all_tools(text: &str, spot: &EntryPath) -> Option<(String, AddedEntry)> {
    const OPTION: &str = "\"--tools\",";
    let at = text.find(OPTION)?;
    let rest = &text[at + OPTION.len()..];
    let blank = rest.len() - rest.trim_start().len();
    rest.trim_start().strip_prefix("\"core\"")?;
    let between = [OPTION, &rest[..blank]].concat();
    replaced(text, spot, format!("{between}\"core\""), format!("{between}\"all\""))
}

fn replaced(text: &str, spot: &EntryPath, was: String, now: String) -> Option<(String, AddedEntry)> {
    let entry = AddedEntry { spot: spot.clone(), made: 0, was: was.clone(), now: now.clone(), reworded: true };
    text.contains(&was).then(|| (text.replace(&was, &now), entry))
}

/// Reverts an entry that is as it was added: of several places the last, unless it must occur `once`.
fn undone(text: &str, entry: &AddedEntry, once: bool) -> Option<String> {
    let lf = |text: &str| text.replace("\r\n", "\n");
    let crlf = |text: &str| lf(text).replace('\n', "\r\n");
    let pairs = [
        (entry.now.clone(), entry.was.clone()),
        (lf(&entry.now), lf(&entry.was)),
        (crlf(&entry.now), crlf(&entry.was)),
    ];
    let is_there = |now: &str| !now.is_empty() && (!once || text.matches(now).count() == 1);
    let (now, was) = pairs.into_iter().find(|(now, _)| is_there(now) && text.contains(now))?;
    let at = text.rfind(&now)?;
    Some([&text[..at], &was, &text[at + now.len()..]].concat())
}

/// Whether a text is exactly one of our command lines.
pub fn is_our_line(text: &str) -> bool {
    let bare = [" || true", " || exit 0"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
    let bare = bare.strip_suffix(" 2>/dev/null").unwrap_or(bare);
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ' ');
    bare == "git-empirica" || bare.strip_prefix(MARK).is_some_and(|rest| rest.chars().all(is_word))
}

/// Whether a hook is the program's, or a group contains one that is.
fn is_ours(value: &Value) -> bool {
    match value {
        Value::String(text) => is_our_line(text),
        Value::Array(list) => list.iter().any(is_ours),
        Value::Object(map) => map.values().any(is_ours),
        _ => false,
    }
}

/// Whether a server is ours, without additions by others.
fn is_our_server(value: &Value) -> bool {
    let Value::Object(map) = value else { return false };
    // the command with its arguments in one list, or separate
    let lists = [map.get("command"), map.get("args")].into_iter().flatten();
    let words: Vec<_> = lists.flat_map(|value| value.as_array().cloned().unwrap_or(vec![value.clone()])).collect();
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    let is_ours = matches!(
        words[..],
        ["git-empirica"] | ["git-empirica", "mcp"] | ["git-empirica", "mcp", "--tools", "core" | "all"]
    );
    let keys = ["command", "args", "type", "enabled"];
    is_ours && map.keys().all(|key| keys.contains(&key.as_str()))
}

/// Whether the entry's place holds something else or an edited version of it.
fn is_edited(document: &Value, entry: &AddedEntry) -> bool {
    let mut document = document.clone();
    let path: Vec<&str> = entry.spot.path.iter().map(String::as_str).collect();
    match at(&mut document, &path) {
        Some(list) if entry.spot.list => list.to_string().contains(MARK.trim_end()),
        Some(_) => path.last() != Some(&"version"),
        None => false,
    }
}

/// A document without an entry, and without parents created for it that are now empty.
fn without(document: &Value, entry: &AddedEntry) -> Value {
    let mut out = document.clone();
    let path: Vec<&str> = entry.spot.path.iter().map(String::as_str).collect();
    if entry.spot.list {
        let Some(Value::Array(list)) = at(&mut out, &path) else { return out };
        let Some(place) = list.iter().rposition(is_ours) else { return out };
        // the user's own hook may be in the same group
        let inner = list[place].get_mut("hooks").and_then(Value::as_array_mut).filter(|inner| inner.len() > 1);
        match inner {
            Some(inner) => {
                if let Some(place) = inner.iter().rposition(is_ours) {
                    inner.remove(place);
                }
            }
            None => drop(list.remove(place)),
        }
    } else {
        let Some((key, above)) = path.split_last() else { return out };
        let Some(Value::Object(map)) = at(&mut out, above) else { return out };
        // hooks require a version
        let hooks = map.get("hooks").is_some_and(|hooks| hooks.as_object().is_none_or(|hooks| !hooks.is_empty()));
        let goes = map.get(*key).is_some_and(|value| match *key {
            "version" => !hooks,
            _ => is_our_server(value),
        });
        if goes {
            map.shift_remove(*key);
        }
    }
    let depth = if entry.spot.list { path.len() } else { path.len().saturating_sub(1) };
    for depth in (0..=depth).rev().take(entry.made) {
        let empty = at(&mut out, &path[..depth]).is_some_and(|value| match value {
            Value::Object(map) => map.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => false,
        });
        let (true, Some((key, above))) = (empty, path[..depth].split_last()) else { break };
        if let Some(Value::Object(map)) = at(&mut out, above) {
            map.shift_remove(*key);
        }
    }
    out
}

fn at<'v>(value: &'v mut Value, path: &[&str]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, key| value.get_mut(*key))
}
