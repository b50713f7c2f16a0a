//! What is known, and of what: findings, decisions, answers and failures, linked to the files and commits they are about.

use std::collections::{BTreeMap, BTreeSet};

use crate::session::bootstrap::overview::importance;
use empirica_notes::model::{Body, Id, Record, SessionId};

/// How much a decision weighs beside findings, whose agents say it.
const DECIDED: f64 = 0.8;
/// How much an answered question weighs.
const ANSWERED: f64 = 0.3;
/// How much a failure weighs.
const FAILED: f64 = 0.7;
/// The most files of a statement.
const FILES: usize = 3;
/// How far it is followed what led to a statement.
const STEPS: usize = 16;

empirica_notes::words! {
    /// What a statement is.
    pub enum Kind {
        /// Something learned.
        Finding = "finding",
        /// Something decided.
        Decision = "decision",
        /// A question that was answered.
        Answered = "answered",
        /// An approach that failed.
        DeadEnd = "dead end",
    }
}

/// Something that is known, and what it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement<'r> {
    pub record: &'r Record,
    pub kind: Kind,
    /// What was learned, decided, asked or tried.
    pub text: &'r str,
    /// The answer of a question, why something was decided or failed.
    pub more: Option<&'r str>,
    /// The files it is about, at most 3.
    pub files: Vec<&'r str>,
}

/// Out of records, oldest first: the statements that matter most, newest first, `most` of them; and how many there are. A
/// finding matters by its impact and the fewer are newer, as everywhere; decisions, answers and failures count beside them.
pub fn statements<'r>(records: &[&'r Record], most: usize) -> (Vec<Statement<'r>>, usize) {
    let mut answers: BTreeMap<&Id, &str> = BTreeMap::new();
    for record in records {
        if let Body::Resolve(answer) = &record.body {
            answers.insert(&answer.of, &answer.text);
        }
    }
    let mut all: Vec<(f64, Statement<'r>)> = Vec::new();
    for record in records.iter().rev() {
        let answer = answers.get(&record.head.id).copied();
        let (kind, weight, text, more) = match &record.body {
            Body::Finding(b) => (Kind::Finding, b.impact, b.text.as_str(), None),
            // an open question is not known
            Body::Unknown(b) if answer.is_some() => (Kind::Answered, Some(ANSWERED), b.text.as_str(), answer),
            Body::Decision(b) => (Kind::Decision, Some(DECIDED), b.text.as_str(), Some(b.why.as_str())),
            Body::DeadEnd(b) => (Kind::DeadEnd, Some(FAILED), b.approach.as_str(), Some(b.why.as_str())),
            _ => continue,
        };
        let weight = importance(weight, all.len());
        all.push((weight, Statement { record, kind, text, more, files: Vec::new() }));
    }
    let total = all.len();
    // stable: of the same weight the newer one
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.truncate(most);
    let mut chosen: Vec<Statement<'r>> = all.into_iter().map(|(_, statement)| statement).collect();
    chosen.sort_by(|a, b| b.record.head.id.cmp(&a.record.head.id));
    let places = Places::new(records, &chosen);
    for statement in &mut chosen {
        statement.files = places.files(statement);
    }
    (chosen, total)
}

/// The files that records name, by record and by session.
struct Places<'r> {
    by_id: BTreeMap<&'r Id, &'r Record>,
    /// The records that say what led to them, by that.
    led: BTreeMap<&'r Id, Vec<&'r Record>>,
    /// What each session did to files, oldest first.
    done: BTreeMap<&'r SessionId, Vec<&'r Record>>,
}

impl<'r> Places<'r> {
    fn new(records: &[&'r Record], chosen: &[Statement<'r>]) -> Self {
        let wanted: BTreeSet<&SessionId> = chosen.iter().filter_map(|s| s.record.head.session.as_ref()).collect();
        let mut out = Places { by_id: BTreeMap::new(), led: BTreeMap::new(), done: BTreeMap::new() };
        for record in records {
            let Some(session) = record.head.session.as_ref().filter(|session| wanted.contains(session)) else {
                continue;
            };
            out.by_id.insert(&record.head.id, record);
            if let Some(from) = record.body.led_from() {
                out.led.entry(from).or_default().push(record);
            }
            if !named(record).is_empty() {
                out.done.entry(session).or_default().push(record);
            }
        }
        out
    }

    /// The files a statement is about: those that led to it or that it led to; else those of its session that it names.
    /// What was merely done before it says nothing.
    fn files(&self, statement: &Statement<'r>) -> Vec<&'r str> {
        let id = &statement.record.head.id;
        let mut linked: Vec<&str> = Vec::new();
        let mut at = Some(statement.record);
        for _ in 0..STEPS {
            at = at.and_then(|record| record.body.led_from()).and_then(|from| self.by_id.get(from)).copied();
            linked.extend(at.iter().flat_map(|record| named(record)).map(String::as_str));
        }
        linked.extend(self.led.get(id).into_iter().flatten().flat_map(|record| named(record)).map(String::as_str));
        if !linked.is_empty() {
            return first(linked.into_iter(), FILES);
        }
        let Some(done) = statement.record.head.session.as_ref().and_then(|session| self.done.get(session)) else {
            return Vec::new();
        };
        let all = || done.iter().flat_map(|record| named(record)).map(String::as_str);
        first(all().filter(|file| mentions(statement.text, file)), FILES)
    }
}

/// Whether a text names a file: by its path, or by a name that cannot well be another word.
fn mentions(text: &str, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    text.contains(file) || (name.len() > 3 && name.contains('.') && text.contains(name))
}

fn first<'t>(all: impl Iterator<Item = &'t str>, most: usize) -> Vec<&'t str> {
    let mut known = BTreeSet::new();
    all.filter(|file| !file.is_empty() && known.insert(*file)).take(most).collect()
}

/// The files a record names.
fn named(record: &Record) -> &[String] {
    match &record.body {
        Body::Activity(b) => &b.files,
        Body::Evidence(b) => &b.files,
        Body::Handoff(b) => &b.artifacts,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::Envelope;
    use empirica_notes::model::journal::{Activity, DeadEnd, Decision, Finding, Resolve, Unknown};

    fn id(n: u32) -> Id {
        Id::parse(&format!("00000000-0000-7000-8000-0000{n:08x}")).unwrap()
    }

    fn record(n: u32, session: u32, body: Body) -> Record {
        let session = SessionId::parse(&format!("{session:08x}-0000-4000-8000-000000000000"));
        Record {
            head: Envelope { v: 1, id: id(n), session, ai: "a".into(), at: String::new(), commit: None, tree: None },
            body,
        }
    }

    fn finding(n: u32, text: &str, impact: Option<f64>, led_from: Option<u32>) -> Record {
        record(n, 1, Body::Finding(Finding { text: text.into(), impact, memory: None, led_from: led_from.map(id) }))
    }

    fn edit(n: u32, session: u32, files: &[&str], led_from: Option<u32>) -> Record {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        let (category, text, led_from) = ("edit".to_owned(), "e".to_owned(), led_from.map(id));
        record(n, session, Body::Activity(Activity { category, text, failed: false, files, led_from }))
    }

    fn told(records: &[Record], most: usize) -> Vec<(Kind, String, Vec<String>)> {
        let records: Vec<&Record> = records.iter().collect();
        let (told, _) = statements(&records, most);
        told.iter()
            .map(|s| (s.kind, s.text.to_owned(), s.files.iter().map(|file| (*file).to_owned()).collect()))
            .collect()
    }

    #[test]
    fn links_win_over_words_and_nearness_in_time_is_no_link() {
        let records = [
            edit(1, 1, &["src/a.rs"], None),
            edit(2, 1, &["src/b.rs", "src/c.rs", "src/d.rs"], None),
            finding(3, "near", None, None),
            finding(4, "it is a.rs that fails", None, None),
            finding(5, "led", None, Some(1)),
            finding(6, "leads", None, None),
            edit(7, 1, &["src/e.rs"], Some(6)),
            edit(8, 2, &["other.rs"], None),
        ];
        let files: Vec<(String, Vec<String>)> = told(&records, 9).into_iter().map(|t| (t.1, t.2)).collect();
        let expected: [(&str, &[&str]); 4] =
            [("leads", &["src/e.rs"]), ("led", &["src/a.rs"]), ("it is a.rs that fails", &["src/a.rs"]), ("near", &[])];
        let expected: Vec<(String, Vec<String>)> = expected
            .iter()
            .map(|(text, files)| ((*text).to_owned(), files.iter().map(|file| (*file).to_owned()).collect()))
            .collect();
        assert_eq!(files, expected);
    }

    #[test]
    fn what_matters_most_is_kept() {
        let unknown = |n, text: &str| record(n, 1, Body::Unknown(Unknown { text: text.into(), led_from: None }));
        let decision = |n, text: &str| {
            let (text, why) = (text.to_owned(), "w".to_owned());
            record(n, 1, Body::Decision(Decision { text, why, alternatives: Vec::new(), led_from: None }))
        };
        let records = [
            finding(1, "great", Some(1.0), None),
            unknown(2, "asked?"),
            decision(3, "so"),
            finding(4, "small", Some(0.1), None),
            record(5, 1, Body::DeadEnd(DeadEnd { approach: "tried".into(), why: "no".into(), led_from: None })),
            record(6, 2, Body::Resolve(Resolve { of: id(2), text: "so".into(), concerns: Vec::new() })),
            unknown(7, "nobody knows yet"),
        ];
        let all: Vec<(Kind, String)> = told(&records, 9).into_iter().map(|t| (t.0, t.1)).collect();
        let expected = [
            (Kind::DeadEnd, "tried"),
            (Kind::Finding, "small"),
            (Kind::Decision, "so"),
            (Kind::Answered, "asked?"),
            (Kind::Finding, "great"),
        ];
        assert_eq!(all, expected.map(|(kind, text)| (kind, text.to_owned())));
        let kept: Vec<String> = told(&records, 3).into_iter().map(|t| t.1).collect();
        assert_eq!(kept, ["tried", "so", "great"]);
        assert_eq!(statements(&records.iter().collect::<Vec<_>>(), 3).1, 5);
    }

    #[test]
    fn a_circle_ends() {
        let records = [finding(1, "a", None, Some(2)), finding(2, "b", None, Some(1))];
        assert_eq!(told(&records, 9).len(), 2);
        assert_eq!(told(&[], 9), []);
    }
}
