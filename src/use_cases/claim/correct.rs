//! Corrections of claims, one's own or another's: retracted, replaced, confirmed.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::claims::{self, Standing};
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, names};
use crate::use_cases::claim::add::check;
use crate::use_cases::claim::scope::{Scope, renewed};
use empirica_notes::error::{Error, Result, blank, empirica};
use empirica_notes::git::Oid;
use empirica_notes::model::journal::anchor::Anchor;
use empirica_notes::model::journal::{DeadEnd, Decision};
use empirica_notes::model::record::{ClaimMut, Confirm, Retract};
use empirica_notes::model::{Body, Id, Namespace, Record, SessionId};
use empirica_notes::store::FlushTiming;

/// A claim that was corrected or confirmed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Correction {
    /// The record that was stored: of `replace` the new claim, else a `retract` or `confirm`.
    pub id: Id,
    /// Its kind.
    pub kind: &'static str,
    /// Its session.
    pub session_id: SessionId,
    /// The claim that it is about.
    pub of: Id,
    /// The agent of that claim.
    pub of_ai_id: String,
    #[serde(skip)]
    pub claim: Record,
    #[serde(skip)]
    pub stored: StoreReport,
}

/// What to do with a claim.
#[derive(Debug, Clone)]
pub enum Change {
    Retract {
        why: String,
    },
    Replace {
        text: String,
        /// Of a dead end or a decision its new reason, else why it is replaced.
        why: Option<String>,
        /// Until when it holds, without that as long as the old one if that is to come; and where, without that where the old one is
        /// by now.
        scope: Scope,
    },
    Confirm {
        /// Where it is, as in [`Scope::at`]; without any where it is by now.
        at: Vec<String>,
    },
}

impl Change {
    fn verb(&self) -> &'static str {
        match self {
            Change::Retract { .. } => "retract",
            Change::Replace { .. } => "replace",
            Change::Confirm { .. } => "confirm",
        }
    }
}

/// Changes a claim in force, by its ID or a unique part of it. Refuses one that was retracted or replaced.
pub fn run(context: &CommandContext<'_>, name: &str, change: Change) -> Result<Correction> {
    if let Change::Retract { why } | Change::Replace { why: Some(why), .. } = &change {
        context.text("reason", why)?;
    }
    // another process may correct it, too
    let _turn = context.store.read_decide_write_lock();
    let claim = in_force(context, name, &change)?;
    if let (Change::Replace { text, .. }, Body::Unknown(_)) = (&change, &claim.body) {
        refuse_answered(context, &claim.envelope.id, text)?;
    }
    let session = context.writing_in_turn()?;
    let writer = context.store.writer();
    let of = claim.envelope.id.clone();
    let retract = Retract { of: vec![of.clone()], ..Retract::default() };
    let mut places = context.index()?.notes_of(&of)?;
    let (successor, body) = match change {
        Change::Retract { why } => (None, Body::Retract(Retract { why: Some(why), ..retract })),
        Change::Confirm { at } => {
            let anchors = match at.is_empty() {
                true => still_there(context, &claim)?,
                false => anchored(context, &claim, at)?,
            };
            (None, Body::Confirm(Confirm { of: of.clone(), anchors }))
        }
        Change::Replace { text, why, scope } => {
            let mut body = claim.body.clone();
            let given: Vec<String> = why.iter().cloned().chain([text.clone()]).collect();
            if let Some(ClaimMut { text: own, until, anchors }) = body.claim_mut() {
                *own = text;
                *until = until.take().filter(|end| !claims::has_run_out(context, end, &[]));
                *anchors = if scope.at.is_empty() { renewed(context, &claim)? } else { Vec::new() };
            }
            let why = with_reason(&mut body, why);
            scope.apply_with(context, &mut body, &given)?;
            check(context, &mut body)?;
            let successor = writer.new_record(&session.id, &session.ai, body);
            let by = Some(successor.envelope.id.clone());
            (Some(successor), Body::Retract(Retract { by, why, ..retract }))
        }
    };
    let record = writer.new_record(&session.id, &session.ai, body);
    let made = successor.as_ref().unwrap_or(&record);
    let (id, kind) = (made.envelope.id.clone(), made.body.kind());
    if matches!(record.body, Body::Retract(_)) {
        places.extend(quoting(context, &BTreeSet::from([of.clone()]))?);
    }
    let mut stored = StoreReport { warnings: session.note.into_iter().collect(), ..StoreReport::default() };
    stored.add(&mut writer.append_in_notes(&record, &places, successor, FlushTiming::Later)?);
    let of_ai_id = claim.envelope.ai.clone();
    Ok(Correction { id, kind, session_id: session.id, of, of_ai_id, claim, stored })
}

/// The anchors of a claim as the code is now. Refuses a claim whose code is all gone.
fn still_there(context: &CommandContext<'_>, claim: &Record) -> Result<Vec<Anchor>> {
    let anchors = renewed(context, claim)?;
    if !anchors.is_empty() || !context.index()?.has_anchors(&claim.envelope.id)? {
        return Ok(anchors);
    }
    let (kind, short) = (claim.body.kind().replace('_', " "), claim.envelope.id.short());
    Err(Error::refused(format!("cannot confirm {kind} {short}: its code is gone"))
        .provided(short)
        .reason("from then on it would be compared with nothing")
        .suggest("Say where the code is now, or replace or retract it.")
        .command(empirica("confirm").arg(short).option("--at", blank("<path:line>")))
        .command(empirica("replace").arg(short).arg(blank("<what holds now>")))
        .command(empirica("retract").arg(short).option("--why", blank("<reason>"))))
}

/// The anchors of a claim at these places.
fn anchored(context: &CommandContext<'_>, claim: &Record, at: Vec<String>) -> Result<Vec<Anchor>> {
    let mut body = claim.body.clone();
    if let Some(claim) = body.claim_mut() {
        claim.anchors.clear();
    }
    Scope { at, until: None }.apply_with(context, &mut body, &[])?;
    Ok(body.anchors().to_vec())
}

/// Sets the reason of a claim that has one of its own; returns that of any other.
fn with_reason(body: &mut Body, why: Option<String>) -> Option<String> {
    match (body, why) {
        (Body::DeadEnd(DeadEnd { why: own, .. }) | Body::Decision(Decision { why: own, .. }), Some(why)) => {
            *own = why;
            None
        }
        (_, why) => why,
    }
}

/// The notes of handoffs and digests that quote one of these claims: of their sessions, or as relevant to another task.
pub(super) fn quoting(context: &CommandContext<'_>, claims: &BTreeSet<Id>) -> Result<BTreeSet<(Namespace, Oid)>> {
    let index = context.index()?;
    let mut out = BTreeSet::new();
    for record in index.quoting(claims)?.records() {
        out.extend(index.notes_of(&record.envelope.id)?);
    }
    Ok(out)
}

/// The claim in force of that name.
fn in_force(context: &CommandContext<'_>, name: &str, change: &Change) -> Result<Record> {
    let is_claim = |record: &Record| claims::is_claim(&record.body);
    context.record(name, "claim", &[Namespace::Journal], is_claim).or_else(|error| {
        let gone = names::retracted(context, name, error)?;
        Err(not_in_force(&gone, &claims::standing(context, &gone)?, name, change))
    })
}

/// Refuses to replace an answered question: the answer would be lost to it.
fn refuse_answered(context: &CommandContext<'_>, unknown: &Id, text: &str) -> Result<()> {
    if context.index()?.naming([unknown], &["resolve"])?.records().next().is_none() {
        return Ok(());
    }
    let short = unknown.short();
    Err(Error::refused(format!("cannot replace unknown {short}: it is answered"))
        .provided(text)
        .reason("the answer is to the question as it was asked")
        .suggest("Log the new question, or add another answer.")
        .command(empirica("unknown").arg(text))
        .command(empirica("resolve").arg(short).arg(blank("<answer>")).flag("--again")))
}

fn not_in_force(gone: &Record, standing: &Standing, name: &str, change: &Change) -> Error {
    let (kind, short) = (gone.body.kind().replace('_', " "), gone.envelope.id.short());
    let verb = change.verb();
    let error = Error::refused(format!("cannot {verb} {kind} {short}: it no longer holds")).provided(name);
    let error = error.reason(standing.why_gone());
    match standing.successors().last() {
        Some(newest) => error
            .suggest(format!("To {verb} its replacement, give that id."))
            .alternative(newest.as_str())
            .command(empirica("show").arg(newest.short())),
        None => error.suggest("If it is true after all, log it again.").command(empirica("show").arg(short)),
    }
}
