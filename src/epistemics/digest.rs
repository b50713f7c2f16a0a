//! A digest out of what a session said since it last reported.

use super::gathered::Gathered;
use crate::model::{Body, Digest, Id, Record, SessionId};

/// The digest of what `session` learned, decided and verified since its newest handoff or digest, out of records in
/// order of id; `None` when that is nothing.
pub fn digest(records: &[&Record], session: &SessionId) -> Option<Digest> {
    let own = |record: &&&Record| record.head.session.as_ref() == Some(session);
    let reported = records.iter().filter(own).filter_map(|record| match &record.body {
        Body::Handoff(_) => Some(&record.head.id),
        Body::Digest(digest) => Some(&digest.upto),
        _ => None,
    });
    let since: Option<&Id> = reported.max();
    let new = || records.iter().copied().filter(|record| since.is_none_or(|id| record.head.id > *id));
    let upto = new().filter(|record| own(&record)).map(|record| record.head.id.clone()).max()?;
    let said = Gathered::collect(new(), session)?;
    let task = Gathered::collect(records.iter().copied(), session)?.session.task;
    let Gathered { findings, decisions, evidence, .. } = said;
    let is_empty = findings.is_empty() && decisions.is_empty() && evidence.is_empty();
    (!is_empty).then(|| Digest { task: task.unwrap_or_default(), upto, findings, decisions, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Head;
    use crate::model::journal::{Finding, Unknown};

    fn session() -> SessionId {
        SessionId::parse("11111111-2222-4333-8444-555555555555").unwrap()
    }

    fn record(n: u64, body: Body) -> Record {
        let head = Head {
            v: 1,
            id: Id::parse(&format!("00000000-0000-7000-8000-0000{n:08x}")).unwrap(),
            session: Some(session()),
            ai: "a".into(),
            at: String::new(),
            commit: None,
            tree: None,
        };
        Record { head, body }
    }

    fn finding(n: u64, text: &str) -> Record {
        record(n, Body::Finding(Finding { text: text.into(), impact: None, memory: None, led_from: None }))
    }

    #[test]
    fn a_digest_goes_on_where_the_last_one_ended() {
        let one = finding(1, "one");
        let first = digest(&[&one], &session()).unwrap();
        assert_eq!((first.findings.len(), &first.upto), (1, &one.head.id));
        let told = record(2, Body::Digest(Box::new(first)));
        assert_eq!(digest(&[&one, &told], &session()), None);
        let late = finding(3, "late");
        let second = digest(&[&one, &told, &late], &session()).unwrap();
        assert_eq!(second.findings[0].text, "late");
        assert_eq!(second.findings.len(), 1);
    }

    #[test]
    fn what_tells_a_reviewer_nothing_makes_no_digest() {
        let unknown = record(1, Body::Unknown(Unknown { text: "why?".into(), led_from: None }));
        assert_eq!(digest(&[&unknown], &session()), None);
        assert_eq!(digest(&[], &session()), None);
    }
}
