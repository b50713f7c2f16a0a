//! The answers of commands that say one thing: journal, flush, setup.

use schemars::JsonSchema;
use serde::Serialize;

use crate::claim;
use crate::claim::undo;
use crate::history::record_line;
use crate::render::answer::Answer;
use crate::render::format;
use crate::setup::user;
use crate::sync::flush;
use empirica_notes::error::Command;
use empirica_notes::model::{Body, Id, SessionId};
use empirica_notes::store::Rescued;

/// The answer of a journal command.
pub fn logged(outcome: &claim::add::AddedClaim) -> Answer {
    Answer::new(outcome)
        .text(format!("{}\n", outcome.id.short()))
        .say(format!(
            "Logged {} {} in session {}.",
            outcome.kind.replace('_', " "),
            outcome.id.short(),
            outcome.session_id.short()
        ))
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

/// The answer of `undo`.
pub fn undone(outcome: &undo::UndoOutcome) -> Answer {
    let undo::UndoOutcome { session_id, record, goals, dropped, stored } = outcome;
    let (id, said) = (&record.head.id, record_line::said(record));
    let (kind, short) = (record.body.kind(), id.short());
    let what = match &record.body {
        Body::Assessment(made) => format!("{} {}", made.phase.name(), made.round),
        Body::Resolve(_) => "answer".to_owned(),
        _ => kind.replace('_', " "),
    };
    let also = match (&record.body, goals) {
        (Body::Resolve(resolve), _) => format!("Unknown {} is open again.", resolve.of.short()),
        (_, 1..) if kind == "assessment" => format!("So {} that it suggested.", format::count(*goals, "goal")),
        _ => String::new(),
    };
    Answer::new(UndoneView { id, kind, session_id, text: &said, dropped: *dropped })
        .text(format!("Took back {what} {short}: {said}\n{also}{}", if also.is_empty() { "" } else { "\n" }))
        .stored(stored)
}

/// How many pending records were written to the notes.
#[derive(Serialize, JsonSchema)]
pub struct FlushedView<'a> {
    /// How many records were written.
    flushed: usize,
    /// How many are still pending.
    waiting: usize,
    /// Whether pending records could not be written.
    degraded_mode: bool,
    /// With `--without-damaged`: the refs that were rewritten.
    #[serde(skip_serializing_if = "Option::is_none")]
    rescued: Option<&'a [Rescued]>,
    /// With `degraded_mode` true: the commands that mend that, or show more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<String>>")]
    recovery_commands: Option<&'a [Command]>,
}

/// The answer of `flush`.
pub fn flushed(outcome: &flush::FlushOutcome) -> Answer {
    let view = FlushedView {
        flushed: outcome.flushed,
        waiting: outcome.waiting,
        degraded_mode: outcome.degraded.is_some(),
        rescued: outcome.rescued.as_deref(),
        recovery_commands: outcome.degraded.as_ref().map(|error| error.commands()),
    };
    let mut text = String::new();
    if let Some(rescued) = view.rescued {
        rescued.iter().for_each(|rescued| text += &rescued_words(rescued));
        if rescued.is_empty() {
            text += "Nothing that the notes lead to is damaged.\n";
        }
    }
    text +=
        &format!("{} written to the notes, {} waiting.\n", format::count(outcome.flushed, "record"), outcome.waiting);
    let mut answer = Answer::new(view).text(text).warn(outcome.warnings.clone());
    if let Some(error) = &outcome.degraded {
        answer.warnings.push(format!("the notes could not be written: {}", error.in_one_line()).into());
        answer.advise(&[(error.suggestion_text(), error.commands().to_vec())]);
    }
    answer
}

fn rescued_words(rescued: &Rescued) -> String {
    let Rescued { name, from, notes, is_whole } = rescued;
    let what = match (is_whole, notes) {
        (true, _) => "every note is as it was; what came before it was damaged".to_owned(),
        (false, 0) => "from what is left of it: what was written last may be gone".to_owned(),
        (false, 1) => "1 note is an older version, or gone".to_owned(),
        (false, notes) => format!("{notes} notes are older versions, or gone"),
    };
    format!("{name} rewritten ({what}); it was {from}.\n")
}

/// The files that `setup` installed.
#[derive(Serialize, JsonSchema)]
pub struct SetUpView<'a> {
    /// The paths, absolute.
    files: &'a [String],
    /// Whether nothing was written.
    dry_run: bool,
    /// What is left to the user.
    hints: &'a [String],
}

/// The answer of `setup`.
pub fn set_up(outcome: &user::UserSetupOutcome) -> Answer {
    let files: Vec<String> = outcome.files.iter().map(|file| file.display().to_string()).collect();
    let text: String = files.iter().map(|file| format!("{file}\n")).collect();
    let word = if outcome.dry_run { "Would install" } else { "Installed" };
    let answer = Answer::new(SetUpView { files: &files, dry_run: outcome.dry_run, hints: &outcome.hints })
        .text(text)
        .say(format!("{word} {}.", format::count(files.len(), "file")));
    outcome.hints.iter().fold(answer, |answer, hint| answer.hint(hint.clone()))
}
