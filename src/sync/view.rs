//! The answer of `sync`.

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::sync::exchange::{RemoteSync, Transfer};
use crate::sync::run::SyncOutcome;

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
