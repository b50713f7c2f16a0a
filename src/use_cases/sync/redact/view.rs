//! The answer of `redact`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::sync::redact::{RedactOutcome, RemoteRedaction, RemoteState, ScrubOutcome};
use empirica_notes::error::quote;
use empirica_notes::error::{Error, empirica, text};
use empirica_notes::model::Id;
use empirica_notes::store::Scrubbed;

/// The redacted records; in a dry run, those to redact.
#[derive(Serialize, JsonSchema)]
pub struct RedactView<'a> {
    /// Whether nothing was changed.
    dry_run: bool,
    /// The removed records.
    redacted: Vec<RecordKindView<'a>>,
    /// Those that were redacted before.
    redacted_before: &'a [Id],
    /// The records that quoted them and were rewritten without their texts.
    rewritten: Vec<RecordKindView<'a>>,
    /// Other records with a word of theirs of 8 or more characters with letters and digits, or with the source of a handoff among
    /// them.
    look_at: Vec<RecordKindView<'a>>,
    /// The refs of another tool that they were imported from, and that still hold them.
    foreign_refs: &'a BTreeSet<String>,
    /// The number of the epoch now; null in a dry run.
    epoch: Option<u64>,
    /// All remotes of the repository, each of several URLs to push to; empty in a dry run.
    remotes: &'a [RemoteRedaction],
    /// Whether no remote is known that still has it; false in a dry run. The command fails while one has it.
    complete: bool,
}

/// A record and its kind.
#[derive(Serialize, JsonSchema)]
struct RecordKindView<'a> {
    /// The record.
    id: &'a Id,
    /// Its kind.
    kind: &'a str,
}

const PRUNE: &str = "the old objects stay in this clone until git removes unreachable ones: git gc --prune=now";

/// The answer of `redact`. It fails when a remote still has what was redacted here.
pub fn answer(outcome: &RedactOutcome) -> Answer {
    let redaction = &outcome.redaction;
    let complete = outcome.remotes.iter().all(|remote| remote.state != RemoteState::NotRedacted);
    let view = RedactView {
        dry_run: outcome.dry_run,
        redacted: listed(&redaction.gone),
        redacted_before: &redaction.already_redacted,
        rewritten: listed(&redaction.rewritten),
        look_at: listed(&redaction.look_at),
        foreign_refs: &redaction.foreign,
        epoch: (!outcome.dry_run).then_some(redaction.epoch),
        remotes: &outcome.remotes,
        complete: complete && !outcome.dry_run,
    };
    let (gone, rewritten) = match outcome.dry_run {
        true => ("would be redacted", "would be rewritten without its text"),
        false => ("redacted", "rewritten without its text"),
    };
    let line = |(id, kind): &(Id, String), what: &str| {
        format!("{} {}: {what}\n", safe::line(&kind.replace('_', " ")), id.short())
    };
    let mut text: String = redaction.gone.iter().map(|record| line(record, gone)).collect();
    text.extend(redaction.already_redacted.iter().map(|id| format!("{}: redacted before\n", id.short())));
    text.extend(redaction.rewritten.iter().map(|record| line(record, rewritten)));
    for remote in &outcome.remotes {
        let state = match remote.state {
            RemoteState::Redacted => "redacted there, too",
            RemoteState::NoNotes => "has no notes",
            RemoteState::NotRedacted => "NOT redacted there",
            RemoteState::Unreachable => "could not be contacted",
        };
        let reason = remote.reason.as_ref().map(|reason| format!(": {}", safe::line(reason))).unwrap_or_default();
        text.push_str(&format!("{}: {state}{reason}\n", safe::line(&remote.name)));
    }
    let mut answer = Answer::new(view).text(text).warn(outcome.warnings.clone());
    if outcome.dry_run {
        return with_remains(answer.say("This is a dry run: nothing was changed."), outcome);
    }
    answer = answer.say("If it was a secret, change it: clones have it until their next sync, servers until they collect garbage, and pages, exports and backups for good.");
    answer = with_remains(answer, outcome).hint(PRUNE);
    if complete {
        return answer;
    }
    let names: Vec<String> =
        outcome.remotes.iter().filter(|r| r.state == RemoteState::NotRedacted).map(|r| r.name.clone()).collect();
    let ids = redaction.gone.iter().map(|(id, _)| id).chain(&redaction.already_redacted);
    let retry = ids.fold(empirica("redact"), |command, id| command.arg(id.as_str()));
    answer.failed = Some(
        Error::refused(format!("cannot redact the text on {}", names.join(", ")))
            .reason("it is redacted here; there the notes are unchanged, and every fetch gets the text")
            .suggest("Find out why the remote rejects it (a forced push of refs/notes/empirica/*), then run it again.")
            .command(retry),
    );
    answer
}

pub fn scrubbed(outcome: &ScrubOutcome) -> Answer {
    let line = |scrubbed: &Scrubbed| {
        let history = if scrubbed.history { ", and its history with secrets cut off" } else { "" };
        format!("{}: secrets replaced in {}{history}\n", scrubbed.name, format::count(scrubbed.notes, "note"))
    };
    let text: String = outcome.refs.iter().map(line).collect();
    let answer = Answer::new(outcome);
    if outcome.refs.is_empty() {
        let text = "No secret is stored outside records.\n";
        return answer.text(text).warn(outcome.warnings.clone());
    }
    let published = outcome.refs.iter().filter(|scrubbed| scrubbed.published);
    let published = published.map(|scrubbed| {
        format!("a remote already has a secret of {}: the next sync fetches it again; change the secret", scrubbed.name)
    });
    let answer = answer.text(text).warn(published).warn(outcome.warnings.clone());
    if outcome.dry_run {
        return answer.say("This is a dry run: nothing was changed.");
    }
    answer.say("If it was a secret, change it.").hint(PRUNE)
}

/// Warns of records and refs that may still hold the text.
fn with_remains(mut answer: Answer, outcome: &RedactOutcome) -> Answer {
    let redaction = &outcome.redaction;
    if !redaction.look_at.is_empty() {
        let few: Vec<&str> = redaction.look_at.iter().take(5).map(|(id, _)| id.short()).collect();
        answer = answer
            .warn([format!(
                "{} still {} an unusual word of it: {}{}",
                format::count(redaction.look_at.len(), "record"),
                if redaction.look_at.len() == 1 { "holds" } else { "hold" },
                few.join(", "),
                if redaction.look_at.len() > few.len() { ", …" } else { "" }
            )])
            .hint(text!["see whether it is the secret: ", empirica("show").arg(few[0])]);
    }
    for name in &redaction.foreign {
        answer = answer
            .warn([format!("{} still holds it: it was imported from there", safe::line(name))])
            .hint(format!("remove that ref, here and on the remotes that have it: git update-ref -d {}", quote(name)));
    }
    answer
}

fn listed(records: &[(Id, String)]) -> Vec<RecordKindView<'_>> {
    records.iter().map(|(id, kind)| RecordKindView { id, kind }).collect()
}
