//! Chains of finding, question, answer and fix in a session, and the path of its investigation.

use std::collections::{BTreeMap, BTreeSet};

use crate::fold::journal::answers;
use empirica_notes::model::journal::{Activity, Evidence};
use empirica_notes::model::snapshot::Chain;
use empirica_notes::model::{Body, Id, Record};

/// Most places on a path.
const PLACES: usize = 6;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Finding,
    Unknown,
    Fix,
}

struct Link {
    id: Id,
    role: Role,
    text: String,
    from: Option<Id>,
}

/// The chains of a session's records, given oldest first. Links are explicit: `--led-from`, the answer to a question, a
/// record named by the evidence of a goal. A fix is a decision, a completed goal, or a written or edited file. An answer
/// counts as a finding if no finding refers to the question.
pub fn chains(records: &[&Record]) -> Vec<Chain> {
    let (links, children) = linked(records);
    let child = |of: &Id, role: Role| children.get(&(of.clone(), role)).map(|at| &links[*at]);
    let places: BTreeMap<&Id, usize> = links.iter().enumerate().map(|(at, link)| (&link.id, at)).collect();
    let by_id = |id: &Option<Id>| places.get(id.as_ref()?).map(|at| &links[*at]);
    let text = |link: &Link| link.text.clone();
    let answers = answers(records.iter().copied());
    let mut out = Vec::new();
    for link in &links {
        match link.role {
            Role::Unknown => {
                let answer = child(&link.id, Role::Finding);
                let fix = answer.and_then(|answer| child(&answer.id, Role::Fix)).or_else(|| child(&link.id, Role::Fix));
                let chain = Chain {
                    finding: by_id(&link.from).filter(|from| from.role == Role::Finding).map(text),
                    led_to_unknown: Some(text(link)),
                    led_to_finding: answer.map(text).or_else(|| answers.get(&link.id).cloned()),
                    led_to_fix: fix.map(text),
                };
                if chain.finding.is_some() || chain.led_to_finding.is_some() || chain.led_to_fix.is_some() {
                    out.push(chain);
                }
            }
            // a finding that neither raised nor answers a question
            Role::Finding if child(&link.id, Role::Unknown).is_none() => {
                let answers = by_id(&link.from).is_some_and(|from| from.role == Role::Unknown);
                if let Some(fix) = child(&link.id, Role::Fix).filter(|_| !answers) {
                    let (finding, led_to_fix) = (Some(text(link)), Some(text(fix)));
                    out.push(Chain { finding, led_to_fix, ..Chain::default() });
                }
            }
            Role::Finding | Role::Fix => {}
        }
    }
    out
}

/// Index of the first link of each role that follows from a record.
type Children = BTreeMap<(Id, Role), usize>;

fn linked(records: &[&Record]) -> (Vec<Link>, Children) {
    let mut links: Vec<Link> = Vec::new();
    let mut children = Children::new();
    let goals = goal_texts(records);
    for record in records {
        let (role, text, from) = match &record.body {
            Body::Finding(b) => (Role::Finding, b.text.clone(), b.led_from.clone()),
            Body::Unknown(b) => (Role::Unknown, b.text.clone(), b.led_from.clone()),
            Body::Decision(b) => (Role::Fix, b.text.clone(), b.led_from.clone()),
            Body::Activity(b) if matches!(b.category.as_str(), "write" | "edit") => {
                (Role::Fix, b.text.clone(), b.led_from.clone())
            }
            Body::GoalDone(b) => {
                let text = goals.get(&b.of).copied().unwrap_or_default().to_owned();
                (Role::Fix, text, named(b.evidence.as_deref().unwrap_or_default(), &links))
            }
            _ => continue,
        };
        if text.is_empty() {
            continue;
        }
        if let Some(from) = &from {
            children.entry((from.clone(), role)).or_insert(links.len());
        }
        links.push(Link { id: record.envelope.id.clone(), role, text, from });
    }
    (links, children)
}

/// The first record that a text names by its short or full ID.
fn named(text: &str, links: &[Link]) -> Option<Id> {
    let mut words = text.split(|c: char| !c.is_ascii_hexdigit() && c != '-').filter(|word| word.len() >= 8);
    words
        .find_map(|word| links.iter().find(|link| link.id.short() == word || link.id.as_str() == word))
        .map(|link| link.id.clone())
}

/// The texts of goals and subtasks, except suggested ones.
fn goal_texts<'r>(records: &[&'r Record]) -> BTreeMap<&'r Id, &'r str> {
    let texts = records.iter().filter_map(|record| match &record.body {
        Body::Goal(goal) if goal.vector.is_none() => Some((&record.envelope.id, goal.text.as_str())),
        Body::Subtask(step) => Some((&record.envelope.id, step.text.as_str())),
        _ => None,
    });
    texts.collect()
}

/// The last distinct places of a session's records (oldest first): sources, and files of activities and evidence, on one
/// line. `None` without any.
pub fn path(records: &[&Record]) -> Option<String> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let of = |record: &&'_ Record| match &record.body {
        Body::Source(b) => vec![b.location.clone()],
        Body::Activity(Activity { files, .. }) | Body::Evidence(Evidence { files, .. }) => files.clone(),
        _ => Vec::new(),
    };
    let all: Vec<String> = records.iter().flat_map(of).collect();
    let places: Vec<&str> = all.iter().map(String::as_str).filter(|place| seen.insert(place)).collect();
    let from = places.len().saturating_sub(PLACES);
    let cut = (from > 0).then_some("…");
    let shown: Vec<&str> = cut.into_iter().chain(places[from..].iter().copied()).collect();
    (!shown.is_empty()).then(|| shown.join(" → "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::Envelope;
    use empirica_notes::model::goal::{Goal, GoalDone};
    use empirica_notes::model::journal::*;

    fn id(n: u32) -> Id {
        Id::parse(&format!("00000000-0000-7000-8000-0000{n:08x}")).unwrap()
    }

    fn record(n: u32, body: Body) -> Record {
        let envelope =
            Envelope { v: 1, id: id(n), session: None, ai: "a".into(), at: String::new(), commit: None, tree: None };
        Record { envelope, body }
    }

    fn finding(n: u32, text: &str, led_from: Option<u32>) -> Record {
        record(
            n,
            Body::Finding(Finding {
                text: text.into(),
                impact: None,
                memory: None,
                led_from: led_from.map(id),
                ..Default::default()
            }),
        )
    }

    fn unknown(n: u32, text: &str, led_from: Option<u32>) -> Record {
        record(n, Body::Unknown(Unknown { text: text.into(), led_from: led_from.map(id), ..Default::default() }))
    }

    fn edit(n: u32, text: &str, files: &[&str], led_from: Option<u32>) -> Record {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        let body =
            Activity { category: "edit".into(), text: text.into(), failed: false, files, led_from: led_from.map(id) };
        record(n, Body::Activity(body))
    }

    fn texts(records: &[Record]) -> Vec<[Option<String>; 4]> {
        let chains = chains(&records.iter().collect::<Vec<_>>());
        chains.into_iter().map(|c| [c.finding, c.led_to_unknown, c.led_to_finding, c.led_to_fix]).collect()
    }

    fn some(texts: [&str; 4]) -> [Option<String>; 4] {
        texts.map(|text| Some(text.to_owned()).filter(|text| !text.is_empty()))
    }

    #[test]
    fn what_only_came_after_something_did_not_come_of_it() {
        let records = [
            finding(1, "mismatch", None),
            unknown(2, "why does list work?", None),
            finding(3, "another logger", None),
            edit(4, "changed line 409", &[], None),
        ];
        assert_eq!(texts(&records), Vec::<[Option<String>; 4]>::new());
        let linked = [
            finding(1, "mismatch", None),
            unknown(2, "why does list work?", Some(1)),
            finding(3, "another logger", Some(2)),
            edit(4, "changed line 409", &[], Some(3)),
        ];
        assert_eq!(texts(&linked), [some(["mismatch", "why does list work?", "another logger", "changed line 409"])]);
    }

    #[test]
    fn a_goal_links_to_the_record_that_its_evidence_names() {
        let goal = Goal {
            text: "green".into(),
            criteria: Vec::new(),
            priority: Default::default(),
            rationale: None,
            vector: None,
        };
        let done = |evidence: &str| {
            let done = GoalDone { of: id(1), evidence: Some(evidence.into()), concerns: Vec::new() };
            texts(&[record(1, Body::Goal(goal.clone())), finding(2, "UTC", None), record(3, Body::GoalDone(done))])
        };
        assert_eq!(done("as 00000002 says"), [some(["UTC", "", "", "green"])]);
        assert!(done("all tests pass").is_empty());
    }

    #[test]
    fn links_are_stated_and_answers_stand_in_for_findings() {
        let answer = Resolve { of: id(3), text: "in UTC".into(), concerns: Vec::new() };
        let records = [
            finding(1, "a", None),
            finding(2, "b", None),
            unknown(3, "of a?", Some(1)),
            record(4, Body::Resolve(answer)),
            edit(5, "fixed b", &[], Some(2)),
        ];
        assert_eq!(texts(&records), [some(["b", "", "", "fixed b"]), some(["a", "of a?", "in UTC", ""])]);
        assert_eq!(texts(&[unknown(1, "alone?", None)]), Vec::<[Option<String>; 4]>::new());
    }

    #[test]
    fn a_path_names_the_last_places_once() {
        let source = |n: u32| record(n, Body::Source(Source { location: "docs/a.md".into(), ..Default::default() }));
        let of = |records: &[Record]| path(&records.iter().collect::<Vec<_>>());
        let few = [source(1), edit(2, "e", &["src/a.rs", "docs/a.md"], None)];
        assert_eq!(of(&few).as_deref(), Some("docs/a.md → src/a.rs"));
        let many = [source(1), edit(2, "e", &["1", "2", "3", "4", "5", "6"], None)];
        assert_eq!(of(&many).as_deref(), Some("… → 1 → 2 → 3 → 4 → 5 → 6"));
        assert_eq!(of(&[finding(1, "f", None)]), None);
    }
}
