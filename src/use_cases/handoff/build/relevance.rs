//! Ranks records by relevance to a task: shared paths and words, age, success and failure.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::similarity::words;
use empirica_notes::model::handoff::Relevant;
use empirica_notes::model::{Body, Record};

/// Weight of a shared path; a word shared with a few records has about 1.
const PATH: f64 = 4.0;
/// Bonus of a new decision over an old one.
const RECENT: f64 = 0.5;
/// Half-life of that bonus, in days.
const HALF: f64 = 30.0;
/// Weight of successes and failures.
const PROVEN: f64 = 1.25;
/// Most shared paths and words listed.
const MAX_SHARED: usize = 5;

#[derive(Debug, Clone, Default)]
pub struct TaskProfile {
    words: BTreeSet<String>,
    paths: BTreeSet<String>,
}

impl TaskProfile {
    /// A task from its texts and paths. Paths in the texts count as paths.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>, paths: impl IntoIterator<Item = &'t str>) -> Self {
        let mut out = TaskProfile::default();
        for text in texts {
            out.words.extend(words(text));
            out.paths.extend(paths_in(text));
        }
        out.paths.extend(paths.into_iter().map(plain));
        out
    }

    /// Whether it has a word, or a prefix or extension of it by at most two letters: fee and fees.
    fn has(&self, word: &str) -> bool {
        let alike = |own: &String| {
            let (short, long) = if own.len() <= word.len() { (own.as_str(), word) } else { (word, own.as_str()) };
            short.len() >= 3 && long.len() - short.len() <= 2 && long.starts_with(short)
        };
        self.words.contains(word) || self.words.iter().any(alike)
    }

    /// Whether it has neither words nor paths.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.paths.is_empty()
    }
}

/// A path without `./` and a final slash.
fn plain(path: &str) -> String {
    path.trim_start_matches("./").trim_end_matches('/').to_owned()
}

/// The words of a text that look like paths: with a slash, or with a name and an ending of letters.
fn paths_in(text: &str) -> BTreeSet<String> {
    let edge = |c: char| !(c.is_alphanumeric() || "._/-".contains(c));
    let words =
        text.split(|c: char| c.is_whitespace() || "()[]{}<>\"'`,;".contains(c)).map(|word| word.trim_matches(edge));
    // drop line numbers and URLs
    let bare = words
        .filter(|word| !word.contains("//"))
        .map(|word| word.split(':').next().unwrap_or(word).trim_end_matches('.'));
    let is_path = |word: &&str| {
        let is_ending = |end: &str| {
            (1..=8).contains(&end.len())
                && end.starts_with(|c: char| c.is_ascii_alphabetic())
                && end.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        let has_letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count() > 1;
        let ending = word.rsplit_once('.').is_some_and(|(stem, end)| has_letters(stem) && is_ending(end));
        ending || (word.contains('/') && has_letters(word))
    };
    bare.filter(is_path).map(plain).collect()
}

/// A record with its relation to a task.
struct Candidate<'r> {
    record: &'r Record,
    text: &'r str,
    why: Option<&'r str>,
    sign: &'static str,
}

/// `None` for records without a claim.
fn candidate(record: &Record) -> Option<Candidate<'_>> {
    let claim = record.body.claim()?;
    let sign = match &record.body {
        Body::Finding(finding) => match finding.memory.as_deref() {
            Some("strategy" | "pattern") => "worked",
            Some("trouble") => "failed",
            _ => "known",
        },
        Body::Decision(_) => "decided",
        Body::DeadEnd(_) | Body::Mistake(_) => "failed",
        Body::Unknown(_) => "open",
        _ => "known",
    };
    Some(Candidate { record, text: claim.text, why: claim.more.first().copied(), sign })
}

/// The `most` most relevant records, those first; `now_ms` since 1970. A relevant record shares a path or word with the task; rare
/// words weigh more.
pub fn relevant<'r>(
    task: &TaskProfile,
    among: impl IntoIterator<Item = &'r Record>,
    now_ms: u64,
    most: usize,
) -> Vec<Relevant> {
    let profiled = |candidate: Candidate<'r>| {
        let text = format!("{}\n{}", candidate.text, candidate.why.unwrap_or_default());
        (candidate, words(&text), paths_in(&text))
    };
    let candidates: Vec<_> = among.into_iter().filter_map(candidate).map(profiled).collect();
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    for word in candidates.iter().flat_map(|(_, words, _)| words).filter(|word| task.has(word)) {
        *counts.entry(word).or_default() += 1.0;
    }
    let rarity = |word: &str| (1.0 + candidates.len() as f64 / counts.get(word).copied().unwrap_or(1.0)).ln();
    let mut scored: Vec<(f64, Relevant)> = Vec::new();
    for (candidate, words, paths) in &candidates {
        let shared_words: Vec<&String> = words.iter().filter(|word| task.has(word)).collect();
        let is_of_task = |path: &&String| task.paths.iter().any(|own| is_same(own, path));
        let shared_paths: Vec<&String> = paths.iter().filter(is_of_task).collect();
        if shared_words.is_empty() && shared_paths.is_empty() {
            continue;
        }
        // long texts share more words with anything
        let by_words = shared_words.iter().map(|word| rarity(word)).sum::<f64>() / (1.0 + words.len() as f64).ln();
        let score = (PATH * shared_paths.len().min(3) as f64 + by_words) * weight(candidate, now_ms);
        let shared = shared_paths.into_iter().chain(shared_words).take(MAX_SHARED).cloned().collect();
        let envelope = &candidate.record.envelope;
        let relevant = Relevant {
            id: envelope.id.clone(),
            kind: candidate.record.body.kind().to_owned(),
            ai: envelope.ai.clone(),
            text: candidate.text.to_owned(),
            why: candidate.why.map(str::to_owned),
            sign: candidate.sign.to_owned(),
            shared,
        };
        scored.push((score, relevant));
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| b.1.id.cmp(&a.1.id)));
    scored.into_iter().take(most).map(|(_, relevant)| relevant).collect()
}

/// The weight of a record by kind and age.
fn weight(candidate: &Candidate<'_>, now_ms: u64) -> f64 {
    let days = now_ms.saturating_sub(candidate.record.envelope.id.ms()) as f64 / 86_400_000.0;
    match candidate.sign {
        "decided" => 1.0 + RECENT * (-days / HALF).exp2(),
        "worked" | "failed" => PROVEN,
        _ => 1.0,
    }
}

/// Whether two paths are equal, or one is a parent or a suffix of the other.
fn is_same(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let below = long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below || long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::journal::{DeadEnd, Decision, Finding};
    use empirica_notes::model::{Envelope, Id};

    const DAY: u64 = 86_400_000;

    fn record(ms: u64, body: Body) -> Record {
        let id = Id::at(ms);
        Record {
            envelope: Envelope { v: 1, id, session: None, ai: "ada".into(), at: "".into(), commit: None, tree: None },
            body,
        }
    }

    fn finding(ms: u64, text: &str, memory: Option<&str>) -> Record {
        let memory = memory.map(str::to_owned);
        record(ms, Body::Finding(Finding { text: text.into(), impact: None, memory, ..Default::default() }))
    }

    fn decision(ms: u64, text: &str) -> Record {
        let (text, why) = (text.to_owned(), "so".to_owned());
        record(ms, Body::Decision(Decision { text, why, alternatives: Vec::new(), ..Default::default() }))
    }

    fn order(task: &TaskProfile, all: &[Record]) -> Vec<String> {
        relevant(task, all, 100 * DAY, 10).into_iter().map(|found| found.text).collect()
    }

    #[test]
    fn paths_are_recognized_in_text() {
        let found = |text: &str| paths_in(text).into_iter().collect::<Vec<_>>();
        assert_eq!(found("see src/auth.js:12, `lib/x` and README.md."), ["README.md", "lib/x", "src/auth.js"]);
        assert_eq!(found("version 1.2 at https://x.org/y, e. g. 3.5s, done. 1/2"), Vec::<String>::new());
        let same = [("src/auth.js", "src/auth.js"), ("src", "src/auth.js"), ("auth.js", "src/auth.js")];
        assert!(same.iter().all(|(a, b)| is_same(a, b) && is_same(b, a)));
        assert!(!is_same("src/a", "src/auth.js") && !is_same("th.js", "src/auth.js"));
    }

    #[test]
    fn records_without_shared_words_are_irrelevant_and_paths_weigh_more_than_words() {
        let task = TaskProfile::new(["Make the login stable"], ["src/auth.js"]);
        let all = [
            finding(1, "The payment is slow", None),
            finding(2, "The login page is blue", None),
            finding(3, "src/auth.js has a race", None),
        ];
        assert_eq!(order(&task, &all), ["src/auth.js has a race", "The login page is blue"]);
        let task = TaskProfile::new(["late fees of overdue invoices"], []);
        let forms = [
            finding(1, "The invoice renderer", None),
            finding(2, "Fee calculation", None),
            finding(3, "An invite", None),
        ];
        assert_eq!(order(&task, &forms).len(), 2);
        assert!(order(&TaskProfile::new([""], []), &all).is_empty() && TaskProfile::new(["the"], []).is_empty());
    }

    #[test]
    fn recent_decisions_successes_and_failures_come_first() {
        let task = TaskProfile::new(["login"], []);
        let dead_end = DeadEnd { approach: "login twice".into(), why: "no".into(), ..Default::default() };
        let all = [
            decision(1, "login by cookie"),
            decision(99 * DAY, "login by token"),
            finding(50 * DAY, "login is old", None),
            finding(50 * DAY + 1, "login first", Some("strategy")),
            record(50 * DAY + 2, Body::DeadEnd(dead_end)),
        ];
        let found = relevant(&task, &all, 100 * DAY, 10);
        let place = |text: &str| found.iter().position(|one| one.text == text).unwrap();
        assert_eq!(place("login by token"), 0);
        assert!(place("login first") < place("login is old") && place("login twice") < place("login is old"));
        assert!(place("login by token") < place("login by cookie"));
        let sign = |text: &str| found[place(text)].sign.as_str();
        assert_eq!((sign("login first"), sign("login twice"), sign("login by token")), ("worked", "failed", "decided"));
        assert_eq!(relevant(&task, &all, 100 * DAY, 2).len(), 2);
    }
}
