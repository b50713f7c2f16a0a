//! Digests of a session since its last report.

use crate::fold::session_records::SessionRecords;
use crate::use_cases::handoff::build::next_steps::unfinished;
use empirica_notes::model::handoff::Assessed;
use empirica_notes::model::handoff::digest::Reply;
use empirica_notes::model::{Body, Digest, Id, Record, SessionId};

/// The digest of `session` since its last digest or a handoff for which `is_reported` is true; `None` if it would be
/// empty. Only what this clone made (`is_made`) tells until when. Records are in order of ID; the oldest may be missing.
pub fn digest(
    records: &[&Record],
    session: &SessionId,
    is_made: impl Fn(&Id) -> bool,
    is_reported: impl Fn(&Id) -> bool,
) -> Option<Digest> {
    let own = |record: &&&Record| record.envelope.session.as_ref() == Some(session) && is_made(&record.envelope.id);
    let reported = records.iter().filter(own).filter_map(|record| match &record.body {
        Body::Handoff(_) if is_reported(&record.envelope.id) => Some(&record.envelope.id),
        Body::Digest(digest) => Some(&digest.upto),
        _ => None,
    });
    let since: Option<&Id> = reported.max();
    let new = || records.iter().copied().filter(|record| since.is_none_or(|id| record.envelope.id > *id));
    let upto = new().filter(|record| own(&record)).map(|record| record.envelope.id.clone()).max()?;
    let all = SessionRecords::collect(records.iter().copied(), session)?;
    let session_records = SessionRecords::collect(new(), session)?.with_ends();
    let last_task = records.iter().rev().filter(own).find_map(|record| match &record.body {
        Body::Digest(digest) => Some(digest.task.clone()),
        _ => None,
    });
    let question = |of: &Id| {
        records.iter().find_map(|record| match &record.body {
            Body::Unknown(unknown) if record.envelope.id == *of => Some(unknown.text.clone()),
            _ => None,
        })
    };
    let of_session = |record: &&Record| record.envelope.session.as_ref() == Some(session);
    let answers = new().filter(of_session).filter_map(|record| match &record.body {
        Body::Resolve(resolve) => {
            let id = Some(resolve.of.clone());
            Some(Reply { id, question: question(&resolve.of).unwrap_or_default(), answer: resolve.text.clone() })
        }
        _ => None,
    });
    // the reasoning stays in the assessment
    let assessments = session_records.assessed().into_iter().map(|assessed| Assessed { reasoning: None, ..assessed });
    let digest = Digest {
        task: all.session.task.or(last_task).unwrap_or_default(),
        upto,
        answers: answers.collect(),
        assessments: assessments.collect(),
        next_steps: unfinished(&all.goals).collect(),
        findings: session_records.findings,
        decisions: session_records.decisions,
        evidence: session_records.evidence,
        unknowns: session_records.unknowns,
        dead_ends: session_records.dead_ends,
        mistakes: session_records.mistakes,
    };
    let Digest { findings, decisions, evidence, unknowns, answers, dead_ends, mistakes, assessments, .. } = &digest;
    let claims = findings.len() + decisions.len() + evidence.len() + unknowns.len() + dead_ends.len() + mistakes.len();
    (claims + answers.len() + assessments.len() > 0).then_some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::Envelope;
    use empirica_notes::model::journal::{Finding, Resolve, Source, Unknown};

    fn session() -> SessionId {
        SessionId::parse("11111111-2222-4333-8444-555555555555").unwrap()
    }

    fn record(n: u64, body: Body) -> Record {
        let envelope = Envelope {
            v: 1,
            id: Id::parse(&format!("00000000-0000-7000-8000-0000{n:08x}")).unwrap(),
            session: Some(session()),
            ai: "a".into(),
            at: String::new(),
            commit: None,
            tree: None,
        };
        Record { envelope, body }
    }

    fn finding(n: u64, text: &str) -> Record {
        record(n, Body::Finding(Finding { text: text.into(), impact: None, memory: None, ..Default::default() }))
    }

    #[test]
    fn a_digest_continues_where_the_last_one_ended() {
        let one = finding(1, "one");
        let first = digest(&[&one], &session(), |_| true, |_| true).unwrap();
        assert_eq!((first.findings.len(), &first.upto), (1, &one.envelope.id));
        let reported = record(2, Body::Digest(Box::new(first)));
        assert_eq!(digest(&[&one, &reported], &session(), |_| true, |_| true), None);
        let late = finding(3, "late");
        let second = digest(&[&one, &reported, &late], &session(), |_| true, |_| true).unwrap();
        assert_eq!(second.findings[0].text, "late");
        assert_eq!(second.findings.len(), 1);
    }

    #[test]
    fn a_handoff_of_another_commit_reports_nothing() {
        let one = finding(1, "one");
        let handoff = record(2, Body::Handoff(Box::default()));
        let theirs = finding(9, "theirs, from the future");
        let forged = record(3, Body::Digest(Box::new(digest(&[&theirs], &session(), |_| true, |_| true).unwrap())));
        assert_eq!(digest(&[&one, &handoff], &session(), |_| true, |_| true), None);
        let is_made = |id: &Id| *id == one.envelope.id || *id == handoff.envelope.id;
        let digest = digest(&[&one, &handoff, &forged, &theirs], &session(), is_made, |_| false).unwrap();
        assert_eq!((digest.findings[0].text.as_str(), &digest.upto), ("one", &handoff.envelope.id));
    }

    #[test]
    fn an_answer_comes_with_the_question_of_an_earlier_digest() {
        let unknown = record(1, Body::Unknown(Unknown { text: "why?".into(), ..Default::default() }));
        let first = digest(&[&unknown], &session(), |_| true, |_| true).unwrap();
        assert_eq!(first.unknowns[0].text, "why?");
        let reported = record(2, Body::Digest(Box::new(first)));
        let answer = record(
            3,
            Body::Resolve(Resolve { of: unknown.envelope.id.clone(), text: "so".into(), concerns: Vec::new() }),
        );
        let second = digest(&[&unknown, &reported, &answer], &session(), |_| true, |_| true).unwrap();
        assert_eq!(
            second.answers,
            [Reply { id: Some(unknown.envelope.id.clone()), question: "why?".into(), answer: "so".into() }]
        );
        assert!(second.unknowns.is_empty());
    }

    #[test]
    fn records_without_interest_for_a_reviewer_make_no_digest() {
        let source = record(1, Body::Source(Source { location: "docs".into(), ..Default::default() }));
        assert_eq!(digest(&[&source], &session(), |_| true, |_| true), None);
        assert_eq!(digest(&[], &session(), |_| true, |_| true), None);
    }
}
