//! What is kept in mind: for the work at hand, and of the project for long (dual-agent handoff mechanisms, "Cross-Iteration
//! Memory").

use std::collections::BTreeSet;

use empirica_notes::model::journal::{Decision, Finding};
use empirica_notes::model::{Body, Record};

/// How many decisions working memory has.
pub const DECISIONS: usize = 5;
/// How many texts each of the others has, the newest.
pub const TEXTS: usize = 10;

/// Working and long-term memory. Texts are newest first, each once whatever its case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// What is worked on; `None` when no session that is at work says it.
    pub current_task: Option<String>,
    /// The last decisions, with their reasons.
    pub recent_decisions: Vec<String>,
    /// Patterns that the code follows.
    pub patterns: Vec<String>,
    /// What must not be done, and what limits the work.
    pub constraints: Vec<String>,
    /// What the work must satisfy.
    pub standards: Vec<String>,
    /// How the project is built.
    pub architecture: Vec<String>,
    /// Its languages, frameworks and tools.
    pub stack: Vec<String>,
    /// How the team likes things.
    pub preferences: Vec<String>,
    /// What worked well.
    pub strategies: Vec<String>,
    /// What causes trouble.
    pub troubles: Vec<String>,
}

impl Memory {
    /// Whether a finding is kept in mind, by its text.
    pub fn has(&self, text: &str) -> bool {
        let findings = [
            &self.patterns,
            &self.constraints,
            &self.standards,
            &self.architecture,
            &self.stack,
            &self.preferences,
            &self.strategies,
            &self.troubles,
        ];
        findings.into_iter().flatten().any(|known| known == text)
    }
}

/// What is kept in mind out of decisions and findings, in order of id.
pub fn memory<'a>(records: impl IntoIterator<Item = &'a Record>, current_task: Option<String>) -> Memory {
    let mut out = Memory { current_task, ..Memory::default() };
    let mut newest: Vec<&Record> = records.into_iter().collect();
    newest.reverse();
    let mut seen = BTreeSet::new();
    for record in newest {
        let (list, most, text) = match &record.body {
            Body::Decision(Decision { text, why, .. }) => {
                (&mut out.recent_decisions, DECISIONS, format!("{text} — {why}"))
            }
            Body::Finding(Finding { text, memory: Some(word), .. }) => {
                let list = match word.as_str() {
                    "pattern" => &mut out.patterns,
                    "constraint" => &mut out.constraints,
                    "standard" => &mut out.standards,
                    "architecture" => &mut out.architecture,
                    "stack" => &mut out.stack,
                    "preference" => &mut out.preferences,
                    "strategy" => &mut out.strategies,
                    "trouble" => &mut out.troubles,
                    _ => continue,
                };
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
    use empirica_notes::model::{Envelope, Id};

    fn record(ms: u64, body: Body) -> Record {
        let id = Id::at(ms);
        Record {
            head: Envelope { v: 1, id, session: None, ai: "ada".into(), at: "".into(), commit: None, tree: None },
            body,
        }
    }

    fn finding(ms: u64, word: Option<&str>, text: &str) -> Record {
        let memory = word.map(str::to_owned);
        record(ms, Body::Finding(Finding { text: text.into(), impact: None, memory, led_from: None }))
    }

    #[test]
    fn each_word_has_its_place_and_the_last_five_decisions_stay() {
        let words = empirica_notes::model::journal::MEMORY;
        let mut all: Vec<Record> = (1..).zip(words).map(|(ms, word)| finding(ms, Some(word), word)).collect();
        all.extend([
            finding(50, None, "plain"),
            finding(51, Some("pattern"), " PATTERN "),
            finding(52, Some("odd"), "odd"),
        ]);
        for n in 0..7 {
            let (text, why) = (format!("d{n}"), "w".to_owned());
            all.push(record(100 + n, Body::Decision(Decision { text, why, alternatives: Vec::new(), led_from: None })));
        }
        let memory = memory(&all, Some("t".into()));
        assert_eq!(memory.recent_decisions, ["d6 — w", "d5 — w", "d4 — w", "d3 — w", "d2 — w"]);
        let lists = [
            &memory.patterns,
            &memory.constraints,
            &memory.standards,
            &memory.architecture,
            &memory.stack,
            &memory.preferences,
            &memory.strategies,
            &memory.troubles,
        ];
        assert_eq!(lists.map(|list| list.len()), [1; 8]);
        assert_eq!((memory.patterns[0].as_str(), memory.troubles[0].as_str()), (" PATTERN ", "trouble"));
        assert_eq!(super::memory(&[], None), Memory::default());
    }
}
