//! Any notes of the Python tool: the same records in any order, each payload kept, each record readable.

use crate::input::parts;
use serde_json::{Map, Value};

use empirica_notes::format::{export, record};
use git_empirica::use_cases::import::python::convert::draft::Original;
use git_empirica::use_cases::import::python::convert::{PREFIXES, convert};

/// Pairs of a name and a payload.
fn originals(data: &[u8]) -> Vec<Original> {
    let parts: Vec<&[u8]> = parts(data).take(16).collect();
    let pairs = parts.chunks_exact(2).enumerate().map(|(at, pair)| Original {
        name: format!("{}{}", PREFIXES[0], String::from_utf8_lossy(pair[0])),
        commit: format!("{at:040x}"),
        seconds: 1_700_000_000,
        content: pair[1].to_owned(),
    });
    pairs.collect()
}

pub fn fuzz(data: &[u8]) {
    let mut given = originals(data);
    let made = convert(&given);
    let lines = |made: &git_empirica::use_cases::import::python::convert::Converted| -> Vec<String> {
        let line = |line: &git_empirica::use_cases::import::python::convert::draft::ConvertedLine| {
            let mut keys: Map<String, Value> = record::body_to_map(&line.body);
            keys.insert("foreign".to_owned(), line.foreign.clone());
            record::encode_with(&line.envelope, line.body.kind(), keys)
        };
        made.lines.iter().map(line).collect()
    };
    let written = lines(&made);
    for (line, text) in made.lines.iter().zip(&written) {
        let read = record::decode(text.as_bytes()).unwrap_or_else(|| panic!("no record: {text}"));
        assert_eq!((&read.envelope, &read.body), (&line.envelope, &line.body));
        assert!(export::namespace_of(text.as_bytes()).is_some(), "it has a shelf: {text}");
    }
    let kept = made.lines.iter().filter(|line| line.foreign.get("original").is_some()).count();
    assert_eq!(kept, made.from.values().sum::<usize>(), "each payload is kept, once");
    given.reverse();
    let again = convert(&given);
    assert_eq!(written, lines(&again), "in any order");
    assert_eq!((made.refused, made.sessions), (again.refused, again.sessions));
}
