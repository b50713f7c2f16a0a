//! Finds secrets in texts and JSON, and replaces them by `[redacted:<rule>]`: [`redact_text`], [`redact_value`],
//! [`find_secrets`].
//!
//! The rules are those of the `nosecrets-rules` crate, and more: whole private keys, the token formats of a hundred
//! issuers, any `password = …`. A scan of the bytes selects the rules that can match; only those are compiled.
//!
//! ```
//! let text = format!("key = {}{}", "sk-ant-", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4");
//! let (clean, rules) = empirica_secrets::redact_text(&text).expect("a secret");
//! assert_eq!(clean, "key = [redacted:anthropic-api-key]");
//! assert_eq!(rules, ["anthropic-api-key"]);
//! assert!(empirica_secrets::redact_text("a text without secrets").is_none());
//! ```
#![forbid(unsafe_code)]

mod formats;
mod glued;
mod rules;
#[cfg(test)]
mod tests;
mod text;

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use nosecrets_rules::Rule;
use regex::bytes::Regex;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::rules::{EXTRA, Extra, FORMATS, compile};
use crate::text::{
    Starts, assigned, holds_key, is_in_arn, is_object_id, is_placeholder, is_random, is_uuid, is_word, may_start,
    starts, starts_with, words,
};

/// The key that marks a record whose author allowed its secrets.
pub const ALLOWED: &str = "secret_allowed";

/// A replaced secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Replaced {
    /// The dotted path of its string, such as `findings.2.text`; empty for a bare string.
    pub field: String,
    /// The rule that matched, as in `[redacted:<rule>]`.
    pub rule: &'static str,
}

/// The range of a secret, the rank of its rule (of several rules the lowest rank gives the name), and the rule.
type Span = (Range<usize>, usize, &'static str);

/// Keywords of rules of `nosecrets-rules`: of those that need a nearby random value, and of those that do not.
#[rustfmt::skip]
const WORDS: [&str; 19] = [
    "secret", "key", "aws", "account", "storage", "cloudflare", "cf_api", "cf-api", "cfapi", "netlify", "vercel",
    "railway", "render", "supabase", "paypal", "twilio", "discord", "passw", "authorization",
];
const BARE_WORDS: [&str; 2] = ["heroku", "jdbc:"];

/// A rule of `nosecrets-rules`, with its pattern and exceptions, compiled on first use.
struct Loaded(Rule, OnceLock<Option<Regex>>, OnceLock<Vec<Regex>>);

/// The rules of `nosecrets-rules`, except `private-key`, which matches only the first line; that of [`EXTRA`] matches
/// all lines.
static LIBRARY: LazyLock<Vec<Loaded>> = LazyLock::new(|| {
    let rules = nosecrets_rules::load_builtin_rules().unwrap_or_default().into_iter();
    rules.filter(|rule| rule.id != "private-key").map(|rule| Loaded(rule, OnceLock::new(), OnceLock::new())).collect()
});

/// Replaces every secret in `text` by `[redacted:<rule>]`, and returns the rules.
///
/// `None` if it has no secrets, as for an empty text, or if all of it is a UUID or an object id. The rest of the text
/// is kept byte for byte, and a second call changes nothing.
pub fn redact_text(text: &str) -> Option<(String, Vec<&'static str>)> {
    if is_uuid(text.as_bytes()) || is_object_id(text.as_bytes()) {
        return None;
    }
    let (mut text, mut rules) = redact_once(text)?;
    // A replacement may expose a secret attached to it. Replacements are never replaced, so this ends.
    for _ in 0..ROUNDS {
        let Some((next, more)) = redact_once(&text) else { return Some((text, rules)) };
        text = next;
        rules.extend(more);
    }
    // a long chain of attached secrets: replace the words that still have any as a whole
    let words = text.split_inclusive(char::is_whitespace).map(|word| match redact_once(word) {
        None => word.to_owned(),
        Some((_, found)) => {
            let rule = found.first().copied().unwrap_or("secret");
            rules.push(rule);
            let end = word.len() - word.trim_end().len();
            format!("[redacted:{rule}]{}", &word[word.len() - end..])
        }
    });
    let text = words.collect();
    Some((text, rules))
}

/// The limit of scans for secrets exposed by replacements.
const ROUNDS: usize = 6;

/// Replaces every secret in the strings of a JSON value, as [`redact_text`] does. Keys are kept, except the user's own
/// under `meta` or `metadata`.
///
/// Returns the replaced secrets; empty if there are none.
pub fn redact_value(value: &mut Value) -> Vec<Replaced> {
    let mut replaced = Vec::new();
    walk(value, &mut String::new(), &mut replaced);
    replaced
}

fn walk(value: &mut Value, path: &mut String, replaced: &mut Vec<Replaced>) {
    if let ("meta" | "metadata", Value::Object(fields)) = (path.as_str(), &mut *value) {
        return walk_meta(fields, replaced);
    }
    let mut step = |key: &str, inner: &mut Value| {
        let length = path.len();
        path.extend([if length > 0 { "." } else { "" }, key]);
        walk(inner, path, replaced);
        path.truncate(length);
    };
    match value {
        Value::Array(items) => items.iter_mut().enumerate().for_each(|(at, item)| step(&at.to_string(), item)),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, item)| step(key, item)),
        Value::String(text) => {
            let Some((clean, rules)) = redact_text(text) else { return };
            *text = clean;
            replaced.extend(rules.into_iter().map(|rule| Replaced { field: path.clone(), rule }));
        }
        _ => {}
    }
}

/// Scans user-defined keys together with their values, as a key may indicate that the value is a secret.
fn walk_meta(fields: &mut serde_json::Map<String, Value>, replaced: &mut Vec<Replaced>) {
    for (key, value) in std::mem::take(fields) {
        let pair = format!("{key}={}", value.as_str().unwrap_or_default());
        let (key, value) = match redact_text(&pair) {
            None => (key, value),
            Some((clean, rules)) => {
                replaced.extend(rules.into_iter().map(|rule| Replaced { field: "meta".to_owned(), rule }));
                let (key, value) = clean.split_once('=').unwrap_or((&clean, ""));
                (key.to_owned(), Value::from(value))
            }
        };
        fields.insert(key, value);
    }
}

/// The secrets in a text, each with its rule; a secret that several rules match comes several times.
pub fn find_secrets(text: &str) -> Vec<(&'static str, String)> {
    let marks = marks(text);
    let is_new = |(span, ..): &Span| marks.iter().all(|mark| span.end <= mark.start || mark.end <= span.start);
    find(text).into_iter().filter(is_new).map(|(span, _, rule)| (rule, text[span].to_owned())).collect()
}

/// One round of [`redact_text`].
fn redact_once(text: &str) -> Option<(String, Vec<&'static str>)> {
    let (mut spans, marks) = (find(text), marks(text));
    // Keep earlier replacements, unless they are in a private key.
    let mark_at = |at| marks.get(marks.partition_point(|mark: &Range<usize>| mark.end <= at));
    spans.retain(|(span, rank, _)| *rank == 0 || mark_at(span.start).is_none_or(|mark| mark.start >= span.end));
    spans.sort_by_key(|(span, rank, _)| (span.start, *rank));
    let mut merged: Vec<Span> = Vec::new();
    for (span, rank, rule) in spans {
        match merged.last_mut().filter(|last| span.start < last.0.end) {
            Some(last) => {
                last.0.end = last.0.end.max(span.end);
                (last.1, last.2) = (last.1, last.2).min((rank, rule));
            }
            None => merged.push((span, rank, rule)),
        }
    }
    let (mut out, mut done) = (String::new(), 0);
    for (span, _, rule) in &merged {
        out.extend([&text[done..span.start], "[redacted:", rule, "]"]);
        done = span.end;
    }
    out.push_str(&text[done..]);
    (done > 0).then(|| (out, merged.into_iter().map(|(_, _, rule)| rule).collect()))
}

/// The ranges of earlier replacements, in order.
fn marks(text: &str) -> Vec<Range<usize>> {
    let is_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let end = |at: usize| at + text.as_bytes()[at..].iter().take_while(|byte| is_name(byte)).count();
    let marks = text.match_indices("[redacted:").map(|(at, mark)| at..end(at + mark.len()) + 1);
    marks.filter(|mark| text.as_bytes().get(mark.end - 1) == Some(&b']')).collect()
}

/// All matches of all rules.
fn find(text: &str) -> Vec<Span> {
    let mut spans = find_in(text);
    spans.extend(glued::separated(text).iter().flat_map(|text| find_in(text)));
    let is_named = |rule| ["assigned-secret", "generic-secret"].contains(&rule);
    spans.retain(|(span, _, rule)| !is_named(rule) || !is_in_arn(text, span.start));
    spans
}

fn find_in(text: &str) -> Vec<Span> {
    let (extras, library) = candidates(text);
    let mut spans: Vec<Span> = assigned(text).into_iter().map(|span| (span, usize::MAX, "assigned-secret")).collect();
    spans.extend(formats::find(text, 300));
    if extras == 0 && !library {
        return spans;
    }
    // Many rules of `nosecrets-rules` need a character after the secret: add a line feed.
    let line = [text, "\n"].concat();
    let is_masked = |secret: &str| ["xxxxxxxx", "XXXXXXXX", "********"].iter().any(|part| secret.contains(part));
    let mut search = |regex: &OnceLock<_>, pattern: &str, rank, rule, accept: &dyn Fn(&str) -> bool| {
        let Some(regex) = regex.get_or_init(|| compile(pattern)) else { return };
        for found in regex.captures_iter(line.as_bytes()) {
            let Some(secret) = found.get(1).or(found.get(0)) else { continue };
            let span = secret.start()..secret.end().min(text.len());
            let secret = text.get(span.clone()).unwrap_or_default();
            if !secret.is_empty() && !is_masked(secret) && accept(secret) {
                spans.push((span, rank, rule));
            }
        }
    };
    for (at, Extra(name, _, pattern, regex)) in EXTRA.iter().enumerate().filter(|(at, _)| extras >> at & 1 == 1) {
        match *name {
            "private-key" => search(regex, pattern, 0, name, &holds_key),
            "url-password" => search(regex, pattern, 200, name, &|secret| !is_placeholder(secret)),
            _ => search(regex, pattern, 100 + at, name, &|_| true),
        }
    }
    if !library {
        return spans;
    }
    let lower = text.to_ascii_lowercase();
    for (at, loaded) in LIBRARY.iter().enumerate() {
        let Loaded(rule, regex, _) = loaded;
        let prefixes = rule.validate.as_ref().map_or(&[][..], |validate| &validate.prefix);
        let word = |word: &String| lower.contains(&word.to_ascii_lowercase());
        let prefixed = prefixes.iter().any(|prefix| text.contains(prefix));
        if prefixed || prefixes.is_empty() && rule.keywords.iter().any(word) {
            search(regex, &rule.pattern, 1 + at, &rule.id, &|secret| loaded.accepts(secret));
        }
    }
    spans
}

impl Loaded {
    /// Whether it is not an exception of the rule and, if only a nearby keyword identifies it, looks random.
    fn accepts(&self, secret: &str) -> bool {
        let Loaded(rule, _, exceptions) = self;
        let exceptions = exceptions.get_or_init(|| {
            rule.allow.iter().flat_map(|allow| &allow.patterns).filter_map(|pattern| compile(pattern)).collect()
        });
        let needs_keyword = rule.pattern.starts_with("(?i)") && rule.id != "heroku-api-key";
        let likely = match rule.pattern.contains(r":\/\/") {
            true => !is_placeholder(secret),
            false => !needs_keyword || words(secret.as_bytes()).any(|word| is_random(word, 12) && !is_object_id(word)),
        };
        likely && !exceptions.iter().any(|exception| exception.is_match(secret.as_bytes()))
    }
}

/// The rules of [`EXTRA`] that can match in a text, as bits, and whether any of `nosecrets-rules` can.
fn candidates(text: &str) -> (u32, bool) {
    static STARTS: LazyLock<[Starts; 2]> = LazyLock::new(|| {
        let prefixes = EXTRA.iter().flat_map(|extra| extra.1).chain(FORMATS);
        [starts(prefixes.map(|(literal, _)| *literal)), starts(WORDS.into_iter().chain(BARE_WORDS))]
    });
    let [prefix_starts, word_starts] = &*STARTS;
    let (mut extras, mut library) = (u32::from(text.contains("-----BEGIN ")), false);
    let has_user = |(_, rest): (&str, &str)| rest.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    if text.contains("://") && text.split_ascii_whitespace().any(|url| url.split_once("://").is_some_and(has_user)) {
        (extras, library) = (extras | 2, true);
    }
    let (mut long, mut random) = (false, false);
    let runs = text.as_bytes().split(|byte| !is_word(*byte) && !matches!(byte, b'-'..=b'/' | b'+' | b'=' | b':'));
    for run in runs.filter(|run| run.len() >= 12) {
        for at in (0..run.len()).filter(|at| *at == 0 || !is_word(run[at - 1]) || !is_word(run[*at])) {
            let rest = &run[at..];
            if !may_start(prefix_starts, rest) {
                continue;
            }
            let begins = |(literal, tail): &(&str, usize)| {
                rest.starts_with(literal.as_bytes()) && rest.len() >= literal.len() + tail
            };
            library = library || FORMATS.iter().any(begins);
            for (bit, Extra(_, prefixes, ..)) in EXTRA.iter().enumerate() {
                extras |= u32::from(prefixes.iter().any(begins)) << bit;
            }
        }
        random = random || words(run).any(|word| is_random(word, 12) && !is_object_id(word));
        long = true;
    }
    let has_keyword = |at: usize| {
        let holds = |word: &&str| starts_with(&text.as_bytes()[at..], word);
        may_start(word_starts, &text.as_bytes()[at..])
            && (BARE_WORDS.iter().any(holds) || random && WORDS.iter().any(holds))
    };
    library = library || long && (0..text.len()).any(has_keyword);
    (extras, library)
}
