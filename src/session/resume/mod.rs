//! Resuming: what the sessions before this one hand over.

pub mod view;

use std::borrow::Cow;

use crate::context::handoffs::{ListedHandoff, of_session};
use crate::context::records::gather_from;
use crate::context::{CommandContext, names};
use crate::fold::collected::CollectedTranscript;
use crate::fold::handoff_report::{GitWork, HandoffInput, report};
use crate::fold::session_state::SessionRecords;
use crate::handoff::arrival;
use crate::handoff::arrival::fold::{Arrival, remaining};
use empirica_notes::error::Result;
use empirica_notes::model::handoff::substance::Substance;
use empirica_notes::model::{Envelope, Handoff, SessionId};

/// Which sessions.
#[derive(Debug, Clone)]
pub struct ResumeRequest {
    /// How many of the newest, 1 to 5.
    pub last: usize,
}

/// One session to resume from.
#[derive(Debug, Clone)]
pub struct ResumedSession {
    pub session_id: SessionId,
    pub ai_id: String,
    /// The handoff's envelope; `None` when the session wrote none and this is a summary made now.
    pub head: Option<Envelope>,
    /// The time of the handoff, or of the session's last record.
    pub timestamp: String,
    /// What it hands over, as it was written.
    pub handoff: Handoff,
    /// What became of the handoff since; `None` for a summary.
    pub arrival: Option<Arrival>,
    /// How many records were made after the handoff.
    pub since_handoff: usize,
    pub active: bool,
    /// What its transcripts held, in tokens, as far as they were collected; `None` when none was, or none tells.
    pub transcript_tokens: Option<u64>,
}

impl ResumedSession {
    /// The handoff as it is stored; `None` for a summary.
    fn listed(&self) -> Option<ListedHandoff> {
        let head = self.head.clone()?;
        Some(ListedHandoff { head, handoff: self.handoff.clone() })
    }

    /// What is still to be taken up of the handoff: without what others have answered since.
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
    /// The newest session after them that only assessed itself.
    pub assessed_since: Option<ResumedSession>,
    /// The agent whose sessions alone were asked for.
    pub ai: Option<String>,
    pub warnings: Vec<String>,
}

/// The session named by `--session`, or the newest ones, those of `--ai` only when it is given. A session that has said
/// nothing yet is passed over, unless it is named; one that only assessed itself, unless no other says more.
pub fn run(context: &CommandContext<'_>, request: &ResumeRequest) -> Result<ResumeOutcome> {
    let mut warnings = context.store.reconcile();
    let index = context.index()?;
    let (mut out, mut less): (Vec<ResumedSession>, Vec<(ResumedSession, bool)>) = (Vec::new(), Vec::new());
    let mut take = |id: &SessionId, named: bool| -> Result<bool> {
        let gathered = gather_from(&index.session(id)?, id)?;
        let silent = gathered.entries == 0 && (gathered.session.is_active() || gathered.assessments.is_empty());
        let session = resumed(gathered, of_session(context, id)?.as_ref(), context);
        if named || Substance::of(&session.handoff) == Substance::Work {
            out.push(session);
        } else if out.is_empty() {
            let silent = silent && session.head.is_none();
            less.push((session, silent));
        }
        Ok(out.len() < request.last)
    };
    if let Some(given) = &context.selection.session {
        take(&names::session(context, given)?.id, true)?;
    } else {
        let ai = context.selection.ai.as_deref();
        let mut seen = 0;
        'all: loop {
            let next = index.last_heard(ai, seen, request.last)?;
            for known in &next {
                if !take(&known.session.id, false)? {
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
        out.extend(less.into_iter().filter(|(_, silent)| !silent).map(|(session, _)| session).take(request.last));
    } else {
        let with_vectors = |session: &ResumedSession| !session.handoff.assessments.is_empty();
        assessed_since = less.into_iter().map(|(session, _)| session).find(with_vectors);
    }
    let handed_over: Vec<ListedHandoff> = out.iter().filter_map(ResumedSession::listed).collect();
    let (arrivals, troubles) = arrival::of(context, &handed_over.iter().collect::<Vec<_>>())?;
    warnings.extend(troubles);
    let with_handoff = out.iter_mut().filter(|resumed: &&mut ResumedSession| resumed.head.is_some());
    with_handoff.zip(arrivals).for_each(|(resumed, arrival)| resumed.arrival = Some(arrival));
    Ok(ResumeOutcome { sessions: out, assessed_since, ai: context.selection.ai.clone(), warnings })
}

/// A session as it is resumed from, before anything is known of what became of its handoff.
pub(crate) fn resumed(
    gathered: SessionRecords,
    handoff: Option<&ListedHandoff>,
    context: &CommandContext<'_>,
) -> ResumedSession {
    let active = gathered.session.is_active();
    let transcripts = gathered.transcripts.iter().filter_map(CollectedTranscript::stands_for);
    let transcript_tokens = transcripts.reduce(u64::saturating_add);
    match handoff {
        Some(listed) => ResumedSession {
            session_id: gathered.session.id.clone(),
            ai_id: listed.head.ai.clone(),
            timestamp: listed.head.at.clone(),
            since_handoff: gathered.entries_after(&listed.head.id),
            head: Some(listed.head.clone()),
            handoff: listed.handoff.clone(),
            arrival: None,
            active,
            transcript_tokens,
        },
        None => {
            let at = chrono::DateTime::parse_from_rfc3339(&gathered.last_at).map(|t| t.with_timezone(&chrono::Utc));
            let until = at.unwrap_or_else(|_| context.store.now());
            ResumedSession {
                session_id: gathered.session.id.clone(),
                ai_id: gathered.session.ai.clone(),
                head: None,
                timestamp: gathered.last_at.clone(),
                since_handoff: 0,
                // its task was not handed over
                handoff: Handoff {
                    automatic: true,
                    ..report(&gathered, GitWork::default(), HandoffInput::default(), until)
                },
                arrival: None,
                active,
                transcript_tokens,
            }
        }
    }
}
