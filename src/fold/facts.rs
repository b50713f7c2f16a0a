//! Facts of a session for metrics: small, and derived from that session alone, so that they can be stored.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::fold::session_records::SessionRecords;
use empirica_notes::model::record::Retract;
use empirica_notes::model::{Accept, Envelope, Handoff, Id, SessionId, Verdict};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionFacts {
    pub session: SessionId,
    /// The agent that started it.
    pub ai: String,
    /// Its start in Unix milliseconds; the time of its first record if its start is not stored.
    pub began_ms: i64,
    /// Milliseconds from start to the first journal entry that was not suggested; `None` without an entry or stored
    /// start, or if their clocks disagree.
    pub to_first_entry_ms: Option<u64>,
    /// Its handoffs, oldest first.
    pub handoffs: Vec<HandoffFacts>,
    /// Its acknowledgements, oldest first.
    pub accepts: Vec<AcceptFacts>,
    /// Files it wrote or edited, and those in its handoffs. Empty for a session without acknowledgements.
    pub touched: BTreeSet<String>,
    /// Its unknowns and dead ends, oldest first within each kind.
    pub inquiries: Vec<Inquiry>,
    /// The claims that it retracted or replaced, oldest first.
    pub corrections: Vec<CorrectionFacts>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CorrectionFacts {
    /// Its time in Unix milliseconds.
    pub at_ms: i64,
    /// Milliseconds after the claim was logged; 0 if the clocks disagree.
    pub after_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HandoffFacts {
    pub id: Id,
    /// Its time in Unix milliseconds.
    pub at_ms: i64,
    /// Whether it is not superseded.
    pub in_force: bool,
    /// Its distinct artifacts.
    pub paths: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AcceptFacts {
    pub id: Id,
    /// Its time in Unix milliseconds.
    pub at_ms: i64,
    pub of: Id,
    /// The session of the handoff; `None` if unknown.
    pub from: Option<SessionId>,
    pub decision: Option<Verdict>,
    pub questions: u32,
    pub gaps: u32,
}

impl AcceptFacts {
    /// Whether it has neither questions nor missed entries.
    pub fn is_clear(&self) -> bool {
        self.questions + self.gaps == 0
    }
}

empirica_notes::named_enum! {
    #[derive(PartialOrd, Ord)]
    pub enum InquiryKind {
        /// A question.
    Unknown = "unknown",
        /// A failed approach.
        DeadEnd = "dead_end",
    }
}

/// An unknown, resolved or not, or a failed approach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inquiry {
    /// Its record, whose ID has its time.
    pub id: Id,
    pub kind: InquiryKind,
    /// The question or the approach.
    pub text: String,
}

pub fn facts(records: &SessionRecords, superseded: &BTreeSet<Id>) -> SessionFacts {
    let session = &records.session;
    let began_ms = at_ms(&session.started_at, &session.began);
    // if its start is stored, its worktree is known
    let first = records.first_entry_at.as_deref().filter(|_| session.worktree.is_some()).and_then(parsed_ms);
    let facts_of = |(envelope, handoff): &(Envelope, Handoff)| HandoffFacts {
        id: envelope.id.clone(),
        at_ms: at_ms(&envelope.at, &envelope.id),
        in_force: !superseded.contains(&envelope.id),
        paths: handoff.artifacts.iter().map(|path| plain(path)).collect(),
    };
    let handoffs: Vec<HandoffFacts> = records.handoffs.iter().map(facts_of).collect();
    let taken = |(envelope, accept): &(Envelope, Accept)| AcceptFacts {
        id: envelope.id.clone(),
        at_ms: at_ms(&envelope.at, &envelope.id),
        of: accept.of.clone(),
        from: accept.concerns.first().cloned(),
        decision: accept.decision,
        questions: accept.questions.len() as u32,
        gaps: accept.gaps.len() as u32,
    };
    let accepts: Vec<AcceptFacts> = records.accepts.iter().map(taken).collect();
    let mut touched = BTreeSet::new();
    if !accepts.is_empty() {
        touched.extend(records.touched_files.iter().map(|path| plain(path)));
        touched.extend(handoffs.iter().flat_map(|handoff| handoff.paths.iter().cloned()));
    }
    SessionFacts {
        session: session.id.clone(),
        ai: session.ai.clone(),
        began_ms,
        to_first_entry_ms: first.and_then(|first| u64::try_from(first - began_ms).ok()),
        handoffs,
        accepts,
        touched,
        inquiries: inquiries(records),
        corrections: records.corrections.iter().flat_map(corrections).collect(),
    }
}

fn corrections((envelope, retract): &(Envelope, Retract)) -> Vec<CorrectionFacts> {
    let ms = |id: &Id| i64::try_from(id.ms()).unwrap_or(i64::MAX);
    let at_ms = at_ms(&envelope.at, &envelope.id);
    let after = |of: &Id| u64::try_from(ms(&envelope.id) - ms(of)).unwrap_or_default();
    retract.of.iter().map(|of| CorrectionFacts { at_ms, after_ms: after(of) }).collect()
}

fn inquiries(records: &SessionRecords) -> Vec<Inquiry> {
    let inquiry = |id: &Id, kind, text: &String| Inquiry { id: id.clone(), kind, text: text.clone() };
    let open =
        records.unknowns.iter().filter_map(|item| Some(inquiry(item.id.as_ref()?, InquiryKind::Unknown, &item.text)));
    let answered =
        records.answered.iter().map(|answered| inquiry(&answered.id, InquiryKind::Unknown, &answered.question));
    let failed = records.dead_end_ids.iter().zip(&records.dead_ends);
    let failed = failed.map(|(id, dead_end)| inquiry(id, InquiryKind::DeadEnd, &dead_end.approach));
    let mut out: Vec<Inquiry> = open.chain(answered).chain(failed).collect();
    out.sort_by(|a, b| (a.kind, &a.id).cmp(&(b.kind, &b.id)));
    out
}

/// A path without `./`.
fn plain(path: &str) -> String {
    let mut rest = path.trim();
    while let Some(inner) = rest.strip_prefix("./") {
        rest = inner.trim_start_matches('/');
    }
    rest.to_owned()
}

fn parsed_ms(at: &str) -> Option<i64> {
    chrono::DateTime::parse_from_rfc3339(at).ok().map(|time| time.timestamp_millis())
}

/// The recorded time, otherwise that of the ID.
fn at_ms(at: &str, id: &Id) -> i64 {
    parsed_ms(at).unwrap_or_else(|| i64::try_from(id.ms()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::goal::{Goal, Priority};
    use empirica_notes::model::journal::{Activity, DeadEnd, Finding, Resolve, Unknown};
    use empirica_notes::model::record::VERSION;
    use empirica_notes::model::session::SessionStart;
    use empirica_notes::model::{Body, Record};

    const SESSION: &str = "11111111-2222-4333-8444-555555555555";

    fn record(second: u64, body: Body) -> Record {
        let envelope = Envelope {
            v: VERSION,
            id: Id::at(1_767_225_600_000 + second * 1000),
            session: SessionId::parse(SESSION),
            ai: "ada".into(),
            at: format!("2026-01-01T00:00:{second:02}.000Z"),
            commit: None,
            tree: None,
        };
        Record { envelope, body }
    }

    fn started() -> Record {
        let start = SessionStart {
            task: None,
            kind: None,
            external_id: None,
            worktree: "main".into(),
            place: "p".into(),
            from: None,
            from_handoff: None,
        };
        record(0, Body::SessionStart(start))
    }

    fn of(records: &[Record]) -> SessionFacts {
        let superseded = empirica_notes::model::handoff::superseded::superseded(records);
        let session = records[0].envelope.session.clone().expect("a session");
        facts(&SessionRecords::collect(records, &session).expect("its start"), &superseded)
    }

    fn finding(second: u64) -> Record {
        record(second, Body::Finding(Finding { text: "f".into(), impact: None, memory: None, ..Default::default() }))
    }

    fn proposed(second: u64) -> Record {
        let goal = Goal {
            text: "g".into(),
            criteria: Vec::new(),
            priority: Priority::Medium,
            rationale: None,
            vector: Some("know".into()),
        };
        record(second, Body::Goal(goal))
    }

    #[test]
    fn the_first_entry_is_the_first_that_was_not_suggested() {
        assert_eq!(of(&[started(), proposed(2), finding(7), finding(9)]).to_first_entry_ms, Some(7000));
        assert_eq!(of(&[started(), proposed(2)]).to_first_entry_ms, None);
        assert_eq!(of(&[started()]).to_first_entry_ms, None);
        assert_eq!(of(&[finding(7), finding(9)]).to_first_entry_ms, None, "its start is not stored here");
        let mut late = started();
        late.envelope.at = "2026-01-01T00:00:08.000Z".into();
        assert_eq!(of(&[late, finding(7)]).to_first_entry_ms, None, "clocks disagree");
    }

    #[test]
    fn answered_questions_count_as_inquiries() {
        let unknown = record(1, Body::Unknown(Unknown { text: "u?".into(), ..Default::default() }));
        let answer = Resolve { of: unknown.envelope.id.clone(), text: "so".into(), concerns: Vec::new() };
        let failed = DeadEnd { approach: "a".into(), why: "w".into(), ..Default::default() };
        let open = record(3, Body::Unknown(Unknown { text: "v?".into(), ..Default::default() }));
        let records = [started(), unknown, record(2, Body::Resolve(answer)), open, record(4, Body::DeadEnd(failed))];
        let found: Vec<(InquiryKind, String)> = of(&records).inquiries.into_iter().map(|i| (i.kind, i.text)).collect();
        let expected = [(InquiryKind::Unknown, "u?"), (InquiryKind::Unknown, "v?"), (InquiryKind::DeadEnd, "a")];
        assert_eq!(found, expected.map(|(kind, text)| (kind, text.to_owned())));
    }

    #[test]
    fn paths_are_those_of_handoffs_and_written_files() {
        let handoff = |second, artifacts: &[&str]| {
            let artifacts = artifacts.iter().map(|path| (*path).to_owned()).collect();
            let handoff = Handoff { kind: "epistemic".into(), artifacts, ..Default::default() };
            record(second, Body::Handoff(Box::new(handoff)))
        };
        let activity = |second, category: &str, file: &str| {
            let (category, files) = (category.to_owned(), vec![file.to_owned()]);
            record(
                second,
                Body::Activity(Activity { category, text: "t".into(), failed: false, files, ..Default::default() }),
            )
        };
        let mut records = vec![
            started(),
            activity(1, "edit", "./src/a.rs"),
            activity(2, "read", "src/read.rs"),
            handoff(3, &["b"]),
            handoff(4, &["b", "./c"]),
        ];
        let found = of(&records);
        let handoffs: Vec<(bool, usize)> = found.handoffs.iter().map(|h| (h.in_force, h.paths.len())).collect();
        assert_eq!(handoffs, [(false, 1), (true, 2)]);
        assert!(found.touched.is_empty(), "it took up nothing");
        let accept = Accept {
            decision: Some(Verdict::Refine),
            questions: vec!["q".into()],
            gaps: vec!["g".into(), "h".into()],
            ..Accept::new(Id::at(5))
        };
        records.push(record(5, Body::Accept(accept)));
        let found = of(&records);
        assert_eq!(found.touched.iter().collect::<Vec<_>>(), ["b", "c", "src/a.rs"]);
        assert_eq!((found.accepts[0].questions, found.accepts[0].gaps, found.accepts[0].is_clear()), (1, 2, false));
        assert_eq!(found.to_first_entry_ms, Some(1000));
        let kept = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<SessionFacts>(&kept).unwrap(), found);
    }
}
