//! Separates tokens from text attached before them: an escape (`\n`, `%20`, `\u003d`, `&quot;`), an underscore or a
//! letter; and unescapes slashes of JSON.

use std::sync::LazyLock;

use crate::formats::prefixes;
use crate::text::{Starts, is_word, may_start, starts};

/// Prefixes that are distinctive in any position.
const MARKS: [&str; 14] = [
    "AKIA",
    "ASIA",
    "ABIA",
    "ACCA",
    "AIza",
    "xoxa-",
    "xoxb-",
    "xoxe-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "eyJhbGciOi",
    "glpat-",
    "ya29.",
];

/// The length of an AWS key id, in bytes.
const AWS: usize = 20;

/// All prefixes that are distinctive in any position, or end in a separator.
static PREFIXES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let ended = |prefix: &&str| prefix.len() >= 3 && prefix.ends_with(['_', '-']) && *prefix != "key-";
    MARKS.into_iter().chain(prefixes().filter(ended)).collect()
});

/// The text with each such token separated, with all bytes at the same offsets; `None` if there are none.
pub(crate) fn separated(text: &str) -> Option<String> {
    static STARTS: LazyLock<Starts> = LazyLock::new(|| starts(PREFIXES.iter().copied()));
    let bytes = text.as_bytes();
    let mut out: Option<Vec<u8>> = None;
    let mut put = |at: usize, replacement: &[u8]| {
        let out = out.get_or_insert_with(|| bytes.to_vec());
        out[at..at + replacement.len()].copy_from_slice(replacement);
    };
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(b":\\/\\/") {
            put(at, b"  ://");
            at += 5;
            continue;
        }
        if let Some((length, byte)) = escape(&bytes[at..]) {
            let mut replacement = vec![b' '; length];
            // a closing quote directly follows the quoted text
            let closes = byte == b'"' && at > 0 && is_word(bytes[at - 1]);
            replacement[if closes { 0 } else { length - 1 }] = byte;
            put(at, &replacement);
            at += length;
            continue;
        }
        if at > 0 && is_word(bytes[at - 1]) && may_start(&STARTS, &bytes[at..]) {
            let least = if bytes[at - 1] == b'_' { 3 } else { 4 };
            let begins = |prefix: &&&str| prefix.len() >= least && bytes[at..].starts_with(prefix.as_bytes());
            if PREFIXES.iter().any(|prefix| begins(&prefix)) {
                put(at - 1, b" ");
            }
        }
        let is_aws = || ["AKIA", "ASIA", "ABIA", "ACCA"].iter().any(|mark| bytes[at..].starts_with(mark.as_bytes()));
        if bytes[at] == b'A' && matches!(bytes.get(at + AWS), Some(b'_' | b'a'..=b'z')) && is_aws() {
            put(at + AWS, b" ");
        }
        at += 1;
    }
    // only ASCII was replaced by ASCII
    out.and_then(|bytes| String::from_utf8(bytes).ok())
}

/// The length of the escape at the start of a text and the character it encodes, if that separates words.
fn escape(text: &[u8]) -> Option<(usize, u8)> {
    let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let (length, byte) = match text {
        [b'\\', b'n', ..] => (2, b'\n'),
        [b'\\', b'r' | b't', ..] => (2, b' '),
        [b'&', b'q', b'u', b'o', b't', b';', ..] => (6, b'"'),
        [b'\\', b'x', a, b, ..] => (4, hex(&[*a, *b])?),
        [b'\\', b'u', b'0', b'0', a, b, ..] => (6, hex(&[*a, *b])?),
        [b'%', a, b, ..] => (3, hex(&[*a, *b])?),
        _ => return None,
    };
    (byte.is_ascii() && !is_word(byte) && (byte >= b' ' || byte == b'\n')).then_some((length, byte))
}
