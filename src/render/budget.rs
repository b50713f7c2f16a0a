//! Fits lists into a budget of tokens: keeps the most important entries and counts the rest.

use serde_json::{Value, json};

use crate::render::safe;
use crate::text::tokens;
use empirica_notes::error::Result;

/// Fewest tokens of an entry: dash, ID, a word.
pub(crate) const LEAST: usize = 4;

/// One entry of a list.
#[derive(Debug, Clone)]
pub struct BudgetEntry {
    /// Text, safe to show.
    pub text: String,
    /// JSON.
    pub json: Value,
    /// JSON with texts only, if the whole does not fit.
    pub(crate) brief: Option<Value>,
    /// Whether a rule added it rather than the agent.
    pub by_rule: bool,
    /// Whether it is dropped last.
    pub must: bool,
    /// Higher ranks are dropped first.
    pub(crate) rank: usize,
}

/// Entries of a kind.
#[derive(Debug, Clone)]
pub struct BudgetList {
    /// The key in JSON.
    pub key: &'static str,
    /// Title in text.
    pub title: &'static str,
    /// Entries, most important first.
    pub entries: Vec<BudgetEntry>,
    /// Number of dropped entries.
    pub omitted: usize,
}

/// Form whose tokens are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputForm {
    Text,
    Json,
}

pub(crate) fn entry(text: String, json: Value) -> BudgetEntry {
    BudgetEntry { text, json, brief: None, by_rule: false, must: false, rank: 0 }
}

pub(crate) fn plain(text: &str) -> BudgetEntry {
    entry(safe::item(text).into_owned(), json!(text))
}

pub(crate) fn must(mut entry: BudgetEntry) -> BudgetEntry {
    entry.must = true;
    entry
}

pub(crate) fn brief(mut entry: BudgetEntry, brief: Value) -> BudgetEntry {
    entry.brief = Some(brief);
    entry
}

pub(crate) fn list(key: &'static str, title: &'static str, entries: Vec<BudgetEntry>) -> BudgetList {
    BudgetList { key, title, entries, omitted: 0 }
}

/// How much to shorten; each step shortens more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Press {
    /// Nothing.
    Nothing,
    /// JSON entries to their texts.
    Brief,
    /// Also texts to this many tokens.
    Texts(usize),
    /// Also entries that must stay to the second number of tokens, except the first of each list.
    Musts(usize, usize),
}

/// Shortens entries. Returns whether anything changed.
pub fn press(lists: &mut [BudgetList], how: Press, form: OutputForm) -> bool {
    let mut less = false;
    let (longest, later) = match how {
        Press::Nothing => return false,
        Press::Brief => (usize::MAX, usize::MAX),
        Press::Texts(longest) => (longest, longest),
        Press::Musts(first, later) => (first, later),
    };
    for list in lists {
        for (at, entry) in list.entries.iter_mut().enumerate() {
            let most = if at == 0 { longest } else { later };
            if shorten(&mut entry.text, most) {
                entry.text = safe::mended(&entry.text);
                less |= form == OutputForm::Text;
            }
            if let Some(brief) = entry.brief.take() {
                less |= form == OutputForm::Json && brief != entry.json;
                entry.json = brief;
            }
            less |= shorten_in(&mut entry.json, most) && form == OutputForm::Json;
        }
    }
    less
}

fn shorten(text: &mut String, most: usize) -> bool {
    // a token has at least one byte
    if text.len() <= most {
        return false;
    }
    let (kept, cut) = tokens::truncate_to(text, most);
    if cut {
        *text = format!("{}…", kept.trim_end());
    }
    cut
}

/// Shortens each text of a document to `most` tokens. Returns whether anything changed.
pub fn shorten_in(json: &mut Value, most: usize) -> bool {
    match json {
        Value::String(text) => shorten(text, most),
        Value::Array(list) => list.iter_mut().fold(false, |less, value| shorten_in(value, most) | less),
        Value::Object(map) => map.values_mut().fold(false, |less, value| shorten_in(value, most) | less),
        _ => false,
    }
}

/// Sort key by importance: entries that must stay come first.
pub type Order = (bool, usize);

fn order(entry: &BudgetEntry) -> Order {
    (!entry.must, entry.rank)
}

/// Sort keys of all entries, most important first.
pub fn ordered(lists: &[BudgetList]) -> Vec<Order> {
    let mut out: Vec<Order> = lists.iter().flat_map(|list| &list.entries).map(order).collect();
    out.sort_unstable();
    out
}

/// Keeps the given entries and counts the others.
pub fn keep(lists: &mut [BudgetList], kept: &[Order]) {
    for list in lists {
        let before = list.entries.len();
        list.entries.retain(|entry| kept.binary_search(&order(entry)).is_ok());
        list.omitted += before - list.entries.len();
    }
}

/// Number of entries tried after the first that does not fit.
const AFTER: usize = 32;

/// The attempt that keeps the most important entries: the longest prefix that fits, at least `low`, then any of the
/// next ones that still fit.
pub fn most<T>(
    every: &[Order],
    mut low: usize,
    mut attempt: impl FnMut(&[Order]) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let mut best = attempt(&every[..low])?;
    let mut high = every.len();
    while best.is_some() && low < high {
        let middle = (low + high).div_ceil(2);
        match attempt(&every[..middle])? {
            Some(shown) => (best, low) = (Some(shown), middle),
            None => high = middle - 1,
        }
    }
    if best.is_some() {
        let mut kept = every[..low].to_vec();
        for more in every.iter().skip(low + 1).take(AFTER) {
            kept.push(*more);
            match attempt(&kept)? {
                Some(shown) => best = Some(shown),
                None => drop(kept.pop()),
            }
        }
    }
    Ok(best)
}
