//! Working and long-term memory, of the work at hand and of the project

use std::collections::BTreeSet;

use empirica_notes::model::journal::{Decision, Finding, MEMORY};
use empirica_notes::model::{Body, Horizon, Record};

/// The most decisions.
pub const DECISIONS: usize = 5;
/// The most texts of each kind of memory.
pub const TEXTS: usize = 10;

/// Working and long-term memory. Texts are newest first, each once whatever its case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// The task of the work at hand.
    pub current_task: Option<String>,
    /// The last decisions, with their reasons.
    pub recent_decisions: Vec<String>,
    /// Findings by their kind of memory, in the order of [`MEMORY`].
    findings: [Vec<String>; MEMORY.len()],
}

impl Memory {
    pub fn of(&self, kind: &str) -> &[String] {
        let place = MEMORY.iter().position(|other| *other == kind);
        place.and_then(|place| self.findings.get(place)).map_or(&[], Vec::as_slice)
    }

    /// Whether a finding with this text is in memory.
    pub fn has(&self, text: &str) -> bool {
        self.findings.iter().flatten().any(|other| other == text)
    }
}

/// The memory of decisions and findings, in any order.
pub fn memory<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    current_task: Option<String>,
    horizon: Horizon,
) -> Memory {
    let mut out = Memory { current_task, ..Memory::default() };
    let mut newest: Vec<&Record> = records.into_iter().collect();
    newest.sort_by_cached_key(|record| horizon.newest_first(&record.envelope.id));
    let mut seen = BTreeSet::new();
    for record in newest {
        let (list, most, text) = match &record.body {
            Body::Decision(Decision { text, why, .. }) => {
                (&mut out.recent_decisions, DECISIONS, format!("{text} — {why}"))
            }
            Body::Finding(Finding { text, memory: Some(kind), .. }) => {
                let place = MEMORY.iter().position(|other| other == kind);
                let Some(list) = place.and_then(|place| out.findings.get_mut(place)) else { continue };
                (list, TEXTS, text.clone())
            }
            _ => continue,
        };
        let same = (record.body.kind(), text.trim().to_lowercase());
        if list.len() < most && seen.insert(same) {
            list.push(text);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use empirica_notes::model::{Envelope, Id};

    fn record(ms: u64, body: Body) -> Record {
        let id = Id::at(ms);
        Record {
            envelope: Envelope { v: 1, id, session: None, ai: "ada".into(), at: "".into(), commit: None, tree: None },
            body,
        }
    }

    fn finding(ms: u64, word: Option<&str>, text: &str) -> Record {
        let memory = word.map(str::to_owned);
        record(ms, Body::Finding(Finding { text: text.into(), impact: None, memory, ..Default::default() }))
    }

    #[test]
    fn each_word_has_its_place_and_the_last_five_decisions_stay() {
        let mut all: Vec<Record> = (1..).zip(MEMORY).map(|(ms, word)| finding(ms, Some(word), word)).collect();
        all.extend([
            finding(50, None, "plain"),
            finding(51, Some("pattern"), " PATTERN "),
            finding(52, Some("odd"), "odd"),
        ]);
        for n in 0..7 {
            let (text, why) = (format!("d{n}"), "w".to_owned());
            all.push(record(
                100 + n,
                Body::Decision(Decision { text, why, alternatives: Vec::new(), ..Default::default() }),
            ));
        }
        let memory = memory(&all, Some("t".into()), Horizon::after(DateTime::UNIX_EPOCH));
        assert_eq!(memory.recent_decisions, ["d6 — w", "d5 — w", "d4 — w", "d3 — w", "d2 — w"]);
        assert!(MEMORY.iter().all(|word| memory.of(word).len() == 1));
        assert_eq!((memory.of("pattern")[0].as_str(), memory.of("trouble")[0].as_str()), (" PATTERN ", "trouble"));
        assert!(memory.of("odd").is_empty() && !memory.has("odd"));
        assert_eq!(super::memory(&[], None, Horizon::after(DateTime::UNIX_EPOCH)), Memory::default());
    }
}
