//! The answers of `sync` and `flush`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::sync::exchange::{RemoteSync, Transfer};
use crate::sync::flush::FlushOutcome;
use crate::sync::run::SyncOutcome;
use empirica_notes::error::Command;
use empirica_notes::store::Rescued;

/// The answer of `sync`.
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
    let count = |cargo: &Transfer| format::count(cargo.records, "record");
    let mut out = format!("{name}: {} {sent}, {} {received}.\n", count(&synced.outgoing), count(&synced.incoming));
    for (word, cargo) in [(sent, &synced.outgoing), (received, &synced.incoming)] {
        if cargo.records == 0 {
            continue;
        }
        let kinds: Vec<String> =
            cargo.kinds.iter().map(|(kind, n)| format!("{} {n}", safe::line(&kind.replace('_', " ")))).collect();
        out.push_str(&format!("  {word}: {}\n", kinds.join(", ")));
        for named in &cargo.handoffs {
            let short = &named.id[named.id.len().saturating_sub(8)..];
            out.push_str(&format!("    {short} {:<12} {}\n", safe::line(&named.ai), safe::line(&named.task)));
        }
    }
    for r in synced.refs.iter().filter(|r| dry_run && r.incoming + r.outgoing > 0) {
        out.push_str(&format!("  {}: {} out, {} in\n", r.name, r.outgoing, r.incoming));
    }
    out
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
