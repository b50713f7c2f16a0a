//! The answers of the commands that log a claim or take it back.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::format;
use crate::use_cases::claim;
use crate::use_cases::claim::{correct, undo};
use crate::use_cases::history::record_line;
use empirica_notes::error::text;
use empirica_notes::model::record::Retract;
use empirica_notes::model::{Body, Id, SessionId};

/// The answer of a journal command.
pub fn logged(outcome: &claim::add::AddedClaim) -> Answer {
    let answer = Answer::new(outcome);
    let answer = match &outcome.next_step {
        Some(command) => answer
            .remedy("/next_step", command.clone())
            .hint(text!["if it is about the file that you touched last: ", command.clone()]),
        None => answer,
    };
    answer
        .text(format!("{}\n", outcome.id.short()))
        .say(format!(
            "Logged {} {} in session {}.",
            outcome.kind.replace('_', " "),
            outcome.id.short(),
            outcome.session_id.short()
        ))
        .stored(&outcome.stored)
}

/// The answer of a command that corrects or confirms a claim.
pub fn corrected(outcome: &correct::Correction) -> Answer {
    let (kind, of) = (outcome.claim.body.kind().replace('_', " "), outcome.of.short());
    let whose = format!("{kind} {of} of {}", outcome.of_ai_id);
    let done = match outcome.kind {
        "retract" => format!("Retracted {whose}."),
        "confirm" => format!("Confirmed {whose}."),
        _ => format!("Replaced {whose} with {}.", outcome.id.short()),
    };
    let text = record_line::text(&outcome.claim);
    Answer::new(outcome)
        .text(format!("{}\n", outcome.id.short()))
        .say(format!("{done}\n{text}"))
        .stored(&outcome.stored)
}

/// The record that was taken back.
#[derive(Serialize, JsonSchema)]
pub struct UndoneView<'a> {
    /// The record. With an assessment go the goals that a rule suggested or closed after it.
    id: &'a Id,
    /// Its kind.
    kind: &'a str,
    /// The session that had logged it.
    session_id: &'a SessionId,
    /// Its text.
    text: &'a str,
    /// Whether it was pending and is deleted; else a `retract` record says that it does not count.
    dropped: bool,
}

pub fn undone(outcome: &undo::UndoOutcome) -> Answer {
    let undo::UndoOutcome { session_id, record, goals, dropped, stored } = outcome;
    let (id, text) = (&record.envelope.id, record_line::text(record));
    let (kind, short) = (record.body.kind(), id.short());
    let object = match &record.body {
        Body::Assessment(made) => format!("{} {}", made.phase.name(), made.round),
        Body::Resolve(_) => "answer".to_owned(),
        Body::Retract(Retract { by: Some(_), .. }) => "replacement".to_owned(),
        Body::Retract(_) => "retraction".to_owned(),
        Body::Confirm(_) => "confirmation".to_owned(),
        _ => kind.replace('_', " "),
    };
    let also = match (&record.body, goals) {
        (Body::Resolve(resolve), _) => format!("Unknown {} is open again.", resolve.of.short()),
        (_, 1..) if kind == "assessment" => format!("So {} that it suggested.", format::count(*goals, "goal")),
        _ => String::new(),
    };
    Answer::new(UndoneView { id, kind, session_id, text: &text, dropped: *dropped })
        .text(format!("Took back {object} {short}: {text}\n{also}{}", if also.is_empty() { "" } else { "\n" }))
        .stored(stored)
}
