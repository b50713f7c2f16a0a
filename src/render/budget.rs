//! Fits lists into a budget of tokens: keeps the most important entries and counts the rest.

use std::marker::PhantomData;

use minijinja::context;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::render::safe;
use crate::text::tokens;
use empirica_notes::error::Result;

/// Fewest tokens of an entry: dash, ID, a word.
pub(crate) const LEAST: usize = 4;

#[derive(Debug, Clone)]
pub struct BudgetEntry {
    /// Text, safe to show.
    pub text: String,
    pub json: Value,
    /// JSON with texts only, if the whole does not fit.
    pub(crate) brief: Option<Value>,
    /// Whether a rule added it rather than the agent.
    pub by_rule: bool,
    /// Whether it is dropped last.
    pub must: bool,
    /// Higher ranks are dropped first.
    pub(crate) rank: usize,
    pub(crate) is_shortened: bool,
}

/// Entries of a kind.
#[derive(Debug, Clone)]
pub struct BudgetList {
    pub key: &'static str,
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
    BudgetEntry { text, json, brief: None, by_rule: false, must: false, rank: 0, is_shortened: false }
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
pub enum Shortening {
    Nothing,
    /// JSON entries to their texts.
    Brief,
    /// Also texts to this many tokens.
    Texts(usize),
    /// Also entries that must stay to the second number of tokens, except the first of each list.
    Musts(usize, usize),
}

/// Shortens entries in the measured form.
fn shorten_entries(lists: &mut [BudgetList], how: Shortening, form: OutputForm) {
    let (longest, later) = match how {
        Shortening::Nothing => return,
        Shortening::Brief => (usize::MAX, usize::MAX),
        Shortening::Texts(longest) => (longest, longest),
        Shortening::Musts(first, later) => (first, later),
    };
    for list in lists {
        for (at, entry) in list.entries.iter_mut().enumerate() {
            let most = if at == 0 { longest } else { later };
            entry.is_shortened |= match form {
                OutputForm::Text => shorten_text(entry, most),
                OutputForm::Json => shorten_json(entry, most),
            };
        }
    }
}

fn shorten_text(entry: &mut BudgetEntry, most: usize) -> bool {
    let is_shortened = shorten(&mut entry.text, most);
    if is_shortened {
        entry.text = safe::mended(&entry.text);
    }
    is_shortened
}

fn shorten_json(entry: &mut BudgetEntry, most: usize) -> bool {
    let is_brief = entry.brief.take().is_some_and(|brief| std::mem::replace(&mut entry.json, brief) != entry.json);
    shorten_in(&mut entry.json, most) | is_brief
}

/// Shortens a text to `most` tokens. Returns whether it was longer.
pub(crate) fn shorten(text: &mut String, most: usize) -> bool {
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
fn shorten_in(json: &mut Value, most: usize) -> bool {
    match json {
        Value::String(text) => shorten(text, most),
        Value::Array(list) => list.iter_mut().fold(false, |less, value| shorten_in(value, most) | less),
        Value::Object(map) => map.values_mut().fold(false, |less, value| shorten_in(value, most) | less),
        _ => false,
    }
}

/// Sort key by importance: entries that must stay come first.
type Order = (bool, usize);

fn order(entry: &BudgetEntry) -> Order {
    (!entry.must, entry.rank)
}

/// Sort keys of all entries, most important first.
fn ordered(lists: &[BudgetList]) -> Vec<Order> {
    let mut out: Vec<Order> = lists.iter().flat_map(|list| &list.entries).map(order).collect();
    out.sort_unstable();
    out
}

/// The lists with the given entries; the others are counted.
fn with_entries(lists: &[BudgetList], kept: &[Order]) -> Vec<BudgetList> {
    let reduced = |list: &BudgetList| {
        let is_kept = |entry: &&BudgetEntry| kept.binary_search(&order(entry)).is_ok();
        let entries: Vec<BudgetEntry> = list.entries.iter().filter(is_kept).cloned().collect();
        BudgetList { omitted: list.omitted + list.entries.len() - entries.len(), entries, ..*list }
    };
    lists.iter().map(reduced).collect()
}

/// The lists with their `most` most important entries: more need not be tried.
pub fn truncated(lists: &[BudgetList], most: usize) -> Vec<BudgetList> {
    let every = ordered(lists);
    with_entries(lists, &every[..every.len().min(most)])
}

/// The entries that a step of fitting keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    All,
    /// Those that must stay, and as many of the others as fit.
    Musts,
    /// As many of those that must stay as fit, at least this many.
    OnlyMusts(usize),
}

/// The result of the first step that fits; `None` if none does. `attempt` gets reduced lists, how they were shortened and
/// whether that changed anything, and answers `None` if they exceed its budget.
pub fn fit<T>(
    lists: &[BudgetList],
    form: OutputForm,
    steps: &[(Shortening, Keep)],
    mut attempt: impl FnMut(Vec<BudgetList>, Shortening, bool) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let every = ordered(lists);
    let musts = every.partition_point(|(may_go, _)| !may_go);
    let is_truncated = lists.iter().any(|list| list.omitted > 0);
    for (how, keep) in steps.iter().copied() {
        let (low, high) = match keep {
            Keep::All if is_truncated => continue,
            Keep::All => (every.len(), every.len()),
            Keep::Musts => (musts, every.len()),
            Keep::OnlyMusts(least) => (musts.min(least), musts),
        };
        // how short an entry gets may depend on those kept before it
        let is_by_place = matches!(how, Shortening::Musts(..));
        let mut all = lists.to_vec();
        if !is_by_place {
            shorten_entries(&mut all, how, form);
        }
        let attempt = |kept: &[Order]| {
            let mut lists = with_entries(&all, kept);
            if is_by_place {
                shorten_entries(&mut lists, how, form);
            }
            let less = lists.iter().flat_map(|list| &list.entries).any(|entry| entry.is_shortened);
            attempt(lists, how, less)
        };
        let length = |wanted: Order| {
            let entry = all.iter().flat_map(|list| &list.entries).find(|entry| order(entry) == wanted);
            entry.map_or(0, |entry| match form {
                OutputForm::Text => entry.text.len(),
                OutputForm::Json => entry.json.to_string().len(),
            })
        };
        let fitted = most(&every[..high], low, length, attempt)?;
        if fitted.is_some() {
            return Ok(fitted);
        }
    }
    Ok(None)
}

/// Number of entries tried after the first that does not fit.
const AFTER: usize = 32;

/// The attempt that keeps the most important entries: the longest prefix that fits, at least `low`, then any of the
/// next ones that still fit; one as long as one that did not is not tried.
fn most<T>(
    every: &[Order],
    mut low: usize,
    length: impl Fn(Order) -> usize,
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
        let mut too_long = every.get(low).map_or(0, |first| length(*first));
        for more in every.iter().skip(low + 1).take(AFTER) {
            if length(*more) >= too_long {
                continue;
            }
            kept.push(*more);
            match attempt(&kept)? {
                Some(shown) => best = Some(shown),
                None => {
                    kept.pop();
                    too_long = length(*more);
                }
            }
        }
    }
    Ok(best)
}

/// The JSON of a list's entries, each a `T`, possibly shortened.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(transparent, bound = "")]
pub struct Entries<T> {
    #[schemars(with = "Vec<T>")]
    entries: Vec<Value>,
    #[serde(skip)]
    of: PhantomData<T>,
}

impl<T> From<&BudgetList> for Entries<T> {
    fn from(list: &BudgetList) -> Self {
        Entries { entries: list.entries.iter().map(|entry| entry.json.clone()).collect(), of: PhantomData }
    }
}

/// The lists that have entries, for a template.
pub fn texts(lists: &[BudgetList]) -> Vec<minijinja::Value> {
    let shown = lists.iter().filter(|list| !list.entries.is_empty());
    let texts = |list: &BudgetList| list.entries.iter().map(|entry| entry.text.clone()).collect::<Vec<_>>();
    shown.map(|list| context! { title => list.title, entries => texts(list) }).collect()
}

/// How many entries each list dropped, in words.
pub fn omitted_texts(lists: &[BudgetList]) -> Vec<String> {
    let reduced = lists.iter().filter(|list| list.omitted > 0);
    reduced.map(|list| format!("{} ({})", list.title.to_lowercase(), list.omitted)).collect()
}
