//! Taking up a handoff: the receiver says what it understood, decided and misses.

use super::Stored;
use super::context::Context;
use super::handoff::of_session;
use crate::error::{Error, Result};
use crate::model::{Accept, Body, Head, Id, Record, SessionId, Shelf, Verdict};
use crate::store::When;

/// What the receiver says.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct Request {
    /// The handoff: its id, or a unique part of it.
    pub handoff: String,
    pub understanding: Option<String>,
    pub decision: Option<Verdict>,
    pub instructions: Option<String>,
    pub questions: Vec<String>,
    pub gaps: Vec<String>,
}

/// An acknowledgement that was stored.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Outcome {
    pub head: Head,
    pub accept: Accept,
    pub session_id: SessionId,
    pub stored: Stored,
}

/// Stores the acknowledgement at once, in the session the command works in. A handoff that a newer one took the place
/// of, or of that very session, can be acknowledged all the same; a warning says so.
pub fn run(context: &Context<'_>, request: Request) -> Result<Outcome> {
    for (name, text) in [("understanding", &request.understanding), ("instructions", &request.instructions)] {
        context.optional(name, text.as_deref())?;
    }
    for (name, list) in [("question", &request.questions), ("gap", &request.gaps)] {
        list.iter().try_for_each(|text| context.text(name, text).map(drop))?;
    }
    let who = context.working()?;
    let handoff = named(context, &request.handoff)?;
    let (id, owner) = (handoff.head.id, handoff.head.session);
    let mut warnings = Vec::new();
    if let Some(newer) = newer(context, &id, owner.as_ref())? {
        warnings.push(format!("the handoff {newer} took the place of {}", id.short()));
    }
    if owner.as_ref() == Some(&who.id) {
        warnings
            .push("the session accepts its own handoff; metrics count only what another session took up".to_owned());
    }
    let accept = Accept {
        of: id,
        concerns: owner.filter(|owner| *owner != who.id).into_iter().collect(),
        understanding: request.understanding,
        decision: request.decision,
        instructions: request.instructions,
        questions: request.questions,
        gaps: request.gaps,
    };
    let (records, mut stored) = context.store(&who, vec![Body::Accept(accept)], When::Now)?;
    stored.warnings.extend(warnings);
    match records.into_iter().next() {
        Some(Record { head, body: Body::Accept(accept) }) => Ok(Outcome { head, accept, session_id: who.id, stored }),
        _ => Err(Error::unstored()),
    }
}

/// The handoff of that name: its id, or a unique part of it.
pub fn named(context: &Context<'_>, given: &str) -> Result<Record> {
    context.record(given, "handoff", &[Shelf::Handoffs], |record| matches!(record.body, Body::Handoff(_)))
}

/// The short form of the handoff that took the place of one; `None` while that is in force.
pub fn newer(context: &Context<'_>, id: &Id, session: Option<&SessionId>) -> Result<Option<String>> {
    let is_aside = !context.store.index()?.aside([id])?.is_empty();
    let newest = match session {
        Some(session) if is_aside => of_session(context, session)?,
        _ => None,
    };
    Ok(newest.map(|listed| listed.head.id.short().to_owned()))
}

/// The acknowledgements of a handoff, oldest first.
pub fn of(context: &Context<'_>, handoff: &Id) -> Result<Vec<(Head, Accept)>> {
    let naming = context.store.index()?.naming([handoff], &["accept"])?;
    let accepts = naming.records().filter_map(|record| match &record.body {
        Body::Accept(accept) if accept.of == *handoff => Some((record.head.clone(), accept.clone())),
        _ => None,
    });
    Ok(accepts.collect())
}
