//! The answers of `sync` and `flush`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::sync::exchange::{RemoteSync, Transfer};
use crate::use_cases::sync::flush::FlushOutcome;
use crate::use_cases::sync::run::SyncOutcome;
use empirica_notes::error::Command;
use empirica_notes::store::Rescued;

pub fn answer(outcome: &SyncOutcome) -> Answer {
    let text: String = outcome.remotes.iter().map(|synced| text(synced, outcome.dry_run)).collect();
    let mut answer = Answer::new(outcome).text(text).warn(outcome.warnings.clone());
    if outcome.dry_run {
        answer = answer.say("This is a dry run: only the tracking refs were fetched.");
    }
    answer
}

fn text(synced: &RemoteSync, dry_run: bool) -> String {
    let name = safe::line(&synced.remote);
    let changed = synced.refs.iter().any(|r| r.incoming + r.outgoing > 0);
    if !changed {
        return format!("{name}: nothing new.\n");
    }
    let (sent, received) = if dry_run { ("to be sent", "to be received") } else { ("sent", "received") };
    let count = |transfer: &Transfer| format::count(transfer.records, "record");
    let mut out = format!("{name}: {} {sent}, {} {received}.\n", count(&synced.outgoing), count(&synced.incoming));
    for (word, transfer) in [(sent, &synced.outgoing), (received, &synced.incoming)] {
        if transfer.records == 0 {
            continue;
        }
        let kinds: Vec<String> =
            transfer.kinds.iter().map(|(kind, n)| format!("{} {n}", safe::line(&kind.replace('_', " ")))).collect();
        out.push_str(&format!("  {word}: {}\n", kinds.join(", ")));
        for handoff in &transfer.handoffs {
            let short = &handoff.id[handoff.id.len().saturating_sub(8)..];
            out.push_str(&format!("    {short} {:<12} {}\n", safe::line(&handoff.ai), safe::line(&handoff.task)));
        }
    }
    for r in synced.refs.iter().filter(|r| dry_run && r.incoming + r.outgoing > 0) {
        out.push_str(&format!("  {}: {} out, {} in\n", r.name, r.outgoing, r.incoming));
    }
    out
}

/// The result of writing pending records to the notes.
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
    /// With `degraded_mode` true: the commands that fix it, or show more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<String>>")]
    recovery_commands: Option<&'a [Command]>,
}

pub fn flushed(outcome: &FlushOutcome) -> Answer {
    let view = FlushedView {
        flushed: outcome.flushed,
        waiting: outcome.waiting,
        degraded_mode: outcome.degraded.is_some(),
        rescued: outcome.rescued.as_deref(),
        recovery_commands: outcome.degraded.as_ref().map(|error| error.commands()),
    };
    let mut text = String::new();
    if let Some(rescued) = view.rescued {
        rescued.iter().for_each(|rescued| text += &rescued_text(rescued));
        if rescued.is_empty() {
            text += "No object of the notes is damaged.\n";
        }
    }
    text +=
        &format!("{} written to the notes, {} pending.\n", format::count(outcome.flushed, "record"), outcome.waiting);
    let mut answer = Answer::new(view).text(text).warn(outcome.warnings.clone());
    if let Some(error) = &outcome.degraded {
        answer.warnings.push(format!("cannot write the notes: {}", error.in_one_line()).into());
        answer.advise(&[(error.suggestion_text(), error.commands().to_vec())]);
    }
    answer
}

fn rescued_text(rescued: &Rescued) -> String {
    let Rescued { name, from, notes, is_whole } = rescued;
    let what = match (is_whole, notes) {
        (true, _) => "every note is unchanged; its history was damaged".to_owned(),
        (false, 0) => "from its intact objects: the last notes may be lost".to_owned(),
        (false, 1) => "1 note is an older version, or lost".to_owned(),
        (false, notes) => format!("{notes} notes are older versions, or lost"),
    };
    format!("{name} rewritten ({what}); it was {from}.\n")
}
