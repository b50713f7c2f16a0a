//! The newest sessions that handed work over.

pub mod view;

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::context::claims::anchors::Anchors;
use crate::context::claims::signed::signers;
use crate::context::handoffs::{ListedHandoff, of_session};
use crate::context::records::gather_from;
use crate::context::{CommandContext, names};
use crate::fold::collected::CollectedTranscript;
use crate::fold::handoff_report::{GitWork, HandoffInput, report};
use crate::fold::session_records::SessionRecords;
use crate::use_cases::handoff::arrival;
use crate::use_cases::handoff::arrival::fold::{Arrival, remaining};
use crate::use_cases::meaning;
use crate::use_cases::session::unattended;
use empirica_notes::error::Result;
use empirica_notes::model::handoff::substance::Substance;
use empirica_notes::model::{Envelope, Handoff, Record, SessionId};

/// Most claims that are related to a handoff.
const RELATED: usize = 3;

#[derive(Debug, Clone)]
pub struct ResumedSession {
    pub session_id: SessionId,
    pub ai_id: String,
    /// The handoff's envelope; `None` if the session wrote none, and this is a summary made now.
    pub envelope: Option<Envelope>,
    /// The time of the handoff, or of the session's last record.
    pub timestamp: String,
    /// The handoff as it was written, else the summary.
    pub handoff: Handoff,
    /// Who vouches for the handoff by a signature that git accepts.
    pub signer: Option<String>,
    /// The state of the handoff since; of a summary only the claims whose code is not as it was, `None` without any.
    pub arrival: Option<Arrival>,
    /// Claims near in meaning to the handoff that it does not have, of other sessions, the nearest first; none without search by meaning.
    pub related: Vec<Record>,
    /// How many records were made after the handoff.
    pub since_handoff: usize,
    pub active: bool,
    /// The tokens of its collected transcripts; `None` if none of them counts any.
    pub transcript_tokens: Option<u64>,
}

impl ResumedSession {
    /// The handoff as it is stored; `None` for a summary.
    pub(crate) fn listed(&self) -> Option<ListedHandoff> {
        let envelope = self.envelope.clone()?;
        Some(ListedHandoff { envelope, handoff: self.handoff.clone() })
    }

    /// The handoff without the questions answered since.
    pub fn remaining(&self) -> Cow<'_, Handoff> {
        match &self.arrival {
            Some(arrival) => Cow::Owned(remaining(&self.handoff, arrival)),
            None => Cow::Borrowed(&self.handoff),
        }
    }
}

/// The sessions, newest first.
#[derive(Debug)]
pub struct ResumeOutcome {
    pub sessions: Vec<ResumedSession>,
    /// The newest later session that only assessed itself.
    pub assessed_since: Option<ResumedSession>,
    pub ai: Option<String>,
    pub warnings: Vec<String>,
}

/// The session of `--session`, or the `last` newest ones (1 to 5), of `--ai` if given. Skips sessions without entries, and those that only
/// assessed themselves unless there is no other.
pub fn run(context: &CommandContext<'_>, last: usize) -> Result<ResumeOutcome> {
    let late = unattended::catch_up(context, None).err();
    let mut warnings = context.store.reconcile();
    warnings.extend(late.map(|error| error.in_one_line()));
    let index = context.index()?;
    let (mut out, mut without_work): (Vec<ResumedSession>, Vec<(ResumedSession, bool)>) = (Vec::new(), Vec::new());
    let mut take = |id: &SessionId, named: bool| -> Result<bool> {
        let records = gather_from(&index.session(id)?, id)?;
        let silent = records.entries == 0 && (records.session.is_active() || records.assessments.is_empty());
        let session = resumed(records, of_session(context, id)?.as_ref(), context);
        if named || Substance::of(&session.handoff) == Substance::Work {
            out.push(session);
        } else if out.is_empty() {
            let silent = silent && session.envelope.is_none();
            without_work.push((session, silent));
        }
        Ok(out.len() < last)
    };
    if let Some(name) = &context.selection.session {
        take(&names::session(context, name)?.id, true)?;
    } else {
        let ai = context.selection.ai.as_deref();
        let mut seen = 0;
        'all: loop {
            // more each time, as there may be any number of sessions without entries
            let next = index.last_heard(ai, seen, last.max(seen))?;
            for row in &next {
                if !take(&row.session.id, false)? {
                    break 'all;
                }
            }
            seen += next.len();
            if next.is_empty() {
                break;
            }
        }
    }
    let mut assessed_since = None;
    if out.is_empty() {
        out.extend(without_work.into_iter().filter(|(_, silent)| !silent).map(|(session, _)| session).take(last));
    } else {
        let with_vectors = |session: &ResumedSession| !session.handoff.assessments.is_empty();
        assessed_since = without_work.into_iter().map(|(session, _)| session).find(with_vectors);
    }
    let handed_over: Vec<ListedHandoff> = out.iter().filter_map(ResumedSession::listed).collect();
    let (arrivals, arrival_warnings) = arrival::changes_since(context, &handed_over.iter().collect::<Vec<_>>())?;
    warnings.extend(arrival_warnings);
    let with_handoff = out.iter_mut().filter(|resumed: &&mut ResumedSession| resumed.envelope.is_some());
    with_handoff.zip(arrivals).for_each(|(resumed, arrival)| resumed.arrival = Some(arrival));
    let signed: Vec<Record> = out.iter().filter_map(ResumedSession::listed).map(|listed| listed.record()).collect();
    let mut shown: BTreeSet<_> = signed.iter().flat_map(|record| record.body.quoted_claims()).collect();
    shown.extend(signed.iter().map(|record| record.envelope.id.clone()));
    warnings.extend(index.doubts(&shown)?);
    let mut signers = signers(context, &signed)?;
    for resumed in &mut out {
        resumed.signer = resumed.envelope.as_ref().and_then(|envelope| signers.remove(&envelope.id));
    }
    for resumed in &mut out {
        resumed.related = related(context, resumed)?;
    }
    let mut anchors = Anchors::new(context);
    for summary in out.iter_mut().filter(|resumed| resumed.envelope.is_none()) {
        let claims = arrival::changed_claims(&mut anchors, &summary.handoff)?;
        summary.arrival = (!claims.is_empty()).then(|| Arrival { claims, ..Arrival::default() });
    }
    Ok(ResumeOutcome { sessions: out, assessed_since, ai: context.selection.ai.clone(), warnings })
}

fn related(context: &CommandContext<'_>, resumed: &ResumedSession) -> Result<Vec<Record>> {
    let Some(listed) = resumed.listed() else { return Ok(Vec::new()) };
    let record = listed.record();
    let quoted = record.body.quoted_claims();
    meaning::related(context, &context.index()?, std::slice::from_ref(&record.envelope.id), RELATED, false, |claim| {
        quoted.contains(&claim.envelope.id) || claim.envelope.session.as_ref() == Some(&resumed.session_id)
    })
}

/// A session to resume from, without the arrival of its handoff.
pub(crate) fn resumed(
    records: SessionRecords,
    handoff: Option<&ListedHandoff>,
    context: &CommandContext<'_>,
) -> ResumedSession {
    let active = records.session.is_active();
    let transcripts = records.transcripts.iter().filter_map(CollectedTranscript::stands_for);
    let transcript_tokens = transcripts.reduce(u64::saturating_add);
    let (ai_id, timestamp, handed_over) = match handoff {
        Some(listed) => (listed.envelope.ai.clone(), listed.envelope.at.clone(), listed.handoff.clone()),
        None => {
            let at = chrono::DateTime::parse_from_rfc3339(&records.last_at).map(|t| t.with_timezone(&chrono::Utc));
            let until = at.unwrap_or_else(|_| context.store.now());
            let summary = report(&records, GitWork::default(), HandoffInput::default(), until);
            // its task was not handed over
            (records.session.ai.clone(), records.last_at.clone(), Handoff { automatic: true, ..summary })
        }
    };
    ResumedSession {
        since_handoff: handoff.map_or(0, |listed| records.entries_after(&listed.envelope.id)),
        session_id: records.session.id,
        ai_id,
        envelope: handoff.map(|listed| listed.envelope.clone()),
        timestamp,
        handoff: handed_over,
        signer: None,
        arrival: None,
        related: Vec::new(),
        active,
        transcript_tokens,
    }
}
