//! Committers of records, compared with the committer of the session's start.

use crate::context::CommandContext;
use empirica_notes::error::Result;
use empirica_notes::model::{Body, Envelope, Id, Namespace, Record, SessionId};
use empirica_notes::store::{LineOrigin, LineQuery, Scan};

/// Committers of a record and of its session's start, and the record's versions that do not count.
#[derive(Debug, Default)]
pub struct Committed {
    pub by: Option<LineOrigin>,
    pub start: Option<LineOrigin>,
    pub other_versions: Vec<Record>,
}

impl Committed {
    /// Whether both are known and differ.
    pub fn is_other(&self) -> bool {
        matches!((&self.by, &self.start), (Some(by), Some(start)) if by.is_other(start))
    }
}

/// Committers of a session's records.
#[derive(Debug, Default)]
pub struct Committers {
    /// Each with its number of records, in order of first record; unknown ones last.
    pub all: Vec<(Option<LineOrigin>, usize)>,
    /// Records not committed by the committer of the session's start.
    pub others: Vec<(Envelope, &'static str, LineOrigin)>,
}

pub fn committers_of(context: &CommandContext<'_>, id: &Id, session: Option<&SessionId>) -> Result<Committed> {
    let index = context.index()?;
    let mut scan = index.ids([id])?;
    let mut start = None;
    if let Some(session) = session {
        let of_session = index.session(session)?;
        start = of_session.records().find(|record| is_start(record, session)).map(|record| record.envelope.id.clone());
        scan.merge(of_session);
    }
    let lines: Vec<LineQuery> =
        [Some(id), start.as_ref()].into_iter().flatten().filter_map(|id| line(&scan, id)).collect();
    let mut origins = context.store.reader().origins(&lines)?;
    let start = start.and_then(|start| origins.get(&start).cloned());
    Ok(Committed { by: origins.remove(id), start, other_versions: index.other_versions(id)? })
}

/// Committers of a session's records.
pub fn of_session(context: &CommandContext<'_>, session: &SessionId) -> Result<Committers> {
    let scan = context.index()?.session(session)?;
    let own = |record: &&Record| {
        let follows = record.body.is_meta() || matches!(record.body, Body::Digest(_) | Body::Redacted(_));
        record.envelope.session.as_ref() == Some(session) && !follows
    };
    let own: Vec<&Record> = scan.records().filter(own).collect();
    let lines: Vec<LineQuery> = own.iter().filter_map(|record| line(&scan, &record.envelope.id)).collect();
    let origins = context.store.reader().origins(&lines)?;
    let start = own.iter().find(|record| is_start(record, session)).and_then(|record| origins.get(&record.envelope.id));
    let mut out = Committers::default();
    let mut unknown = 0;
    for record in &own {
        let Some(by) = origins.get(&record.envelope.id) else {
            unknown += 1;
            continue;
        };
        match out.all.iter_mut().find(|(origin, _)| origin.as_ref().is_some_and(|origin| !origin.is_other(by))) {
            Some((_, count)) => *count += 1,
            None => out.all.push((Some(by.clone()), 1)),
        }
        if start.is_some_and(|start| by.is_other(start)) {
            out.others.push((record.envelope.clone(), record.body.kind(), by.clone()));
        }
    }
    if unknown > 0 {
        out.all.push((None, unknown));
    }
    Ok(out)
}

fn is_start(record: &Record, session: &SessionId) -> bool {
    matches!(record.body, Body::SessionStart(_)) && record.envelope.session.as_ref() == Some(session)
}

fn line(scan: &Scan, id: &Id) -> Option<LineQuery> {
    let entry = scan.get(id)?;
    let namespace = entry.record.body.namespace().unwrap_or(Namespace::Journal);
    Some(LineQuery { id: id.clone(), namespace, line: scan.line(id)?.to_vec(), on: entry.on.clone() })
}
