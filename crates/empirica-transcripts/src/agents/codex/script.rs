//! Scripts of code mode: JavaScript whose calls of tools are in items of their own, except for plans.

use std::sync::LazyLock;

use regex::Regex;

use crate::read::call::{Call, Entry, Todos};

/// A script without a result.
#[derive(Debug)]
pub struct Script {
    /// The hash of its id.
    pub id: u64,
    pub call: Call,
    /// Whether its only calls of tools are patches.
    pub is_patch: bool,
    /// Whether an item tells what it did, and whether one failed.
    pub has_items: bool,
    pub has_failed: bool,
}

/// A key of an entry of a plan with its text.
static FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r#"(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`([^`]*)`)"#;
    Regex::new(&format!(r#"(?s)["']?\b(step|status)["']?\s*:\s*{text}"#)).ok()
});

/// The plan that a script sets last, if its entries are literals.
pub fn plan(script: &str) -> Option<Todos> {
    let (_, plan) = script.rsplit_once("update_plan(")?;
    let mut entries: Vec<[Option<String>; 2]> = vec![[None, None]];
    for found in FIELD.as_ref()?.captures_iter(plan) {
        let text = [2, 3, 4].into_iter().find_map(|group| found.get(group))?.as_str();
        let text = text.replace("\\n", "\n").replace('\\', "");
        let place = usize::from(found.get(1)?.as_str() == "status");
        match entries.last_mut() {
            Some(entry) if entry[place].is_none() => entry[place] = Some(text),
            _ => {
                let mut entry = [None, None];
                entry[place] = Some(text);
                entries.push(entry);
            }
        }
    }
    let entry =
        |[text, status]: [Option<String>; 2]| Some(Entry { id: None, text: text?, status: status.unwrap_or_default() });
    let entries: Vec<Entry> = entries.into_iter().filter_map(entry).collect();
    (!entries.is_empty()).then_some(Todos { entries, merge: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_from_literals_of_any_quotes_and_order() {
        let script = r#"await tools.update_plan({plan:[{step:'Don\'t stop',status:"completed"},{"status":"pending","step":`b`},{step:"c"}]});"#;
        let found: Vec<(String, String)> =
            plan(script).unwrap().entries.into_iter().map(|entry| (entry.text, entry.status)).collect();
        let wanted = [("Don't stop", "completed"), ("b", "pending"), ("c", "")];
        assert_eq!(found, wanted.map(|(text, status)| (text.to_owned(), status.to_owned())));
        assert_eq!(plan("tools.update_plan({plan})"), None);
        assert_eq!(plan("text('step: x')"), None);
    }
}
