//! The facts of a project: findings, decisions, answers and dead ends, linked to the files they are about.

use std::collections::{BTreeMap, BTreeSet};

use crate::fold::journal::answers;
use crate::use_cases::session::project_overview::overview::importance;
use empirica_notes::model::{Body, Envelope, Id, Record, SessionId};

/// Weights beside the impact of findings.
const DECISION: f64 = 0.8;
const ANSWERED: f64 = 0.3;
const DEAD_END: f64 = 0.7;
/// Most files of a fact.
const FILES: usize = 3;
/// Most `led_from` links followed from a fact.
const STEPS: usize = 16;

empirica_notes::named_enum! {
    pub enum FactKind {
        Finding = "finding",
        Decision = "decision",
        Answered = "answered",
        DeadEnd = "dead end",
    }
}

/// A fact, and the files it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    pub envelope: Envelope,
    pub kind: FactKind,
    /// Finding, decision, question or approach.
    pub text: String,
    /// The answer, or the reason of a decision or a failure.
    pub more: Option<String>,
    /// At most 3.
    pub files: Vec<String>,
}

/// The `most` important facts of records (oldest first), newest first, and their total number. The importance of a
/// finding follows from its impact and the number of newer facts; other kinds have a fixed weight instead of an impact.
pub fn facts(records: &[&Record], most: usize) -> (Vec<Fact>, usize) {
    let answers = answers(records.iter().copied());
    let mut all: Vec<(f64, &Record, Fact)> = Vec::new();
    for record in records.iter().rev() {
        let answer = answers.get(&record.envelope.id);
        let (kind, weight, text, more) = match &record.body {
            Body::Finding(b) => (FactKind::Finding, b.impact, &b.text, None),
            Body::Unknown(b) if answer.is_some() => (FactKind::Answered, Some(ANSWERED), &b.text, answer),
            Body::Decision(b) => (FactKind::Decision, Some(DECISION), &b.text, Some(&b.why)),
            Body::DeadEnd(b) => (FactKind::DeadEnd, Some(DEAD_END), &b.approach, Some(&b.why)),
            _ => continue,
        };
        let (text, more) = (text.clone(), more.cloned());
        let fact = Fact { envelope: record.envelope.clone(), kind, text, more, files: Vec::new() };
        all.push((importance(weight, all.len()), record, fact));
    }
    let total = all.len();
    // stable: of equal importance, the newer fact comes first
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.truncate(most);
    all.sort_by(|a, b| b.2.envelope.id.cmp(&a.2.envelope.id));
    let links = FileLinks::new(records, all.iter().map(|(_, record, _)| *record));
    let linked = all.into_iter().map(|(_, record, fact)| Fact { files: links.files(record, &fact.text), ..fact });
    (linked.collect(), total)
}

/// Links between records, and the records that name files, of the sessions of the chosen facts.
struct FileLinks<'r> {
    by_id: BTreeMap<&'r Id, &'r Record>,
    /// Records by the record that led to them.
    led: BTreeMap<&'r Id, Vec<&'r Record>>,
    /// Records that name files, oldest first.
    by_session: BTreeMap<&'r SessionId, Vec<&'r Record>>,
}

impl<'r> FileLinks<'r> {
    fn new(records: &[&'r Record], chosen: impl Iterator<Item = &'r Record>) -> Self {
        let sessions: BTreeSet<&SessionId> = chosen.filter_map(|record| record.envelope.session.as_ref()).collect();
        let mut out = FileLinks { by_id: BTreeMap::new(), led: BTreeMap::new(), by_session: BTreeMap::new() };
        for record in records {
            let Some(session) = record.envelope.session.as_ref().filter(|session| sessions.contains(session)) else {
                continue;
            };
            out.by_id.insert(&record.envelope.id, record);
            if let Some(from) = record.body.led_from() {
                out.led.entry(from).or_default().push(record);
            }
            if !files_of(record).is_empty() {
                out.by_session.entry(session).or_default().push(record);
            }
        }
        out
    }

    /// The files of records that led to this one or that it led to; without any, the files of its session that `text`
    /// names. Proximity in time is not a link.
    fn files(&self, record: &'r Record, text: &str) -> Vec<String> {
        let mut linked: Vec<&String> = Vec::new();
        let mut at = Some(record);
        for _ in 0..STEPS {
            at = at.and_then(|record| record.body.led_from()).and_then(|from| self.by_id.get(from)).copied();
            linked.extend(at.iter().flat_map(|record| files_of(record)));
        }
        linked.extend(self.led.get(&record.envelope.id).into_iter().flatten().flat_map(|record| files_of(record)));
        if linked.is_empty() {
            let of_session = record.envelope.session.as_ref().and_then(|session| self.by_session.get(session));
            let all = of_session.into_iter().flatten().flat_map(|record| files_of(record));
            linked = all.filter(|file| mentions(text, file)).collect();
        }
        let mut seen = BTreeSet::new();
        linked.into_iter().filter(|file| !file.is_empty() && seen.insert(*file)).take(FILES).cloned().collect()
    }
}

/// Whether a text names a file: by its path, or by a name that is hardly another word.
fn mentions(text: &str, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    text.contains(file) || (name.len() > 3 && name.contains('.') && text.contains(name))
}

fn files_of(record: &Record) -> &[String] {
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
    use empirica_notes::model::journal::{Activity, DeadEnd, Decision, Finding, Resolve, Unknown};

    fn id(n: u32) -> Id {
        Id::parse(&format!("00000000-0000-7000-8000-0000{n:08x}")).unwrap()
    }

    fn record(n: u32, session: u32, body: Body) -> Record {
        let session = SessionId::parse(&format!("{session:08x}-0000-4000-8000-000000000000"));
        Record {
            envelope: Envelope {
                v: 1,
                id: id(n),
                session,
                ai: "a".into(),
                at: String::new(),
                commit: None,
                tree: None,
            },
            body,
        }
    }

    fn finding(n: u32, text: &str, impact: Option<f64>, led_from: Option<u32>) -> Record {
        record(
            n,
            1,
            Body::Finding(Finding {
                text: text.into(),
                impact,
                memory: None,
                led_from: led_from.map(id),
                ..Default::default()
            }),
        )
    }

    fn edit(n: u32, session: u32, files: &[&str], led_from: Option<u32>) -> Record {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        let (category, text, led_from) = ("edit".to_owned(), "e".to_owned(), led_from.map(id));
        record(n, session, Body::Activity(Activity { category, text, failed: false, files, led_from }))
    }

    fn found(records: &[Record], most: usize) -> Vec<Fact> {
        facts(&records.iter().collect::<Vec<_>>(), most).0
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
        let files: Vec<(String, Vec<String>)> =
            found(&records, 9).into_iter().map(|fact| (fact.text, fact.files)).collect();
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
        let unknown = |n, text: &str| record(n, 1, Body::Unknown(Unknown { text: text.into(), ..Default::default() }));
        let decision = |n, text: &str| {
            let (text, why) = (text.to_owned(), "w".to_owned());
            record(n, 1, Body::Decision(Decision { text, why, alternatives: Vec::new(), ..Default::default() }))
        };
        let records = [
            finding(1, "great", Some(1.0), None),
            unknown(2, "which?"),
            decision(3, "so"),
            finding(4, "small", Some(0.1), None),
            record(5, 1, Body::DeadEnd(DeadEnd { approach: "tried".into(), why: "no".into(), ..Default::default() })),
            record(6, 2, Body::Resolve(Resolve { of: id(2), text: "so".into(), concerns: Vec::new() })),
            unknown(7, "nobody knows yet"),
        ];
        let all: Vec<(FactKind, String)> = found(&records, 9).into_iter().map(|fact| (fact.kind, fact.text)).collect();
        let expected = [
            (FactKind::DeadEnd, "tried"),
            (FactKind::Finding, "small"),
            (FactKind::Decision, "so"),
            (FactKind::Answered, "which?"),
            (FactKind::Finding, "great"),
        ];
        assert_eq!(all, expected.map(|(kind, text)| (kind, text.to_owned())));
        let kept: Vec<String> = found(&records, 3).into_iter().map(|fact| fact.text).collect();
        assert_eq!(kept, ["tried", "so", "great"]);
        assert_eq!(facts(&records.iter().collect::<Vec<_>>(), 3).1, 5);
    }

    #[test]
    fn a_circle_ends() {
        let records = [finding(1, "a", None, Some(2)), finding(2, "b", None, Some(1))];
        assert_eq!(found(&records, 9).len(), 2);
        assert_eq!(found(&[], 9), []);
    }
}
