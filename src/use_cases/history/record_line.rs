//! The content of a record as one text.

use crate::fold::task::questions;
use crate::render::format::{count, vectors};
use crate::use_cases::handoff::receive::acceptance::accepted;
use empirica_notes::model::{Body, Digest, Record};

pub fn text(record: &Record) -> String {
    match &record.body {
        Body::SessionStart(b) => {
            format!("session started{}", b.task.as_ref().map(|t| format!(": {t}")).unwrap_or_default())
        }
        Body::SessionEnd(b) => {
            format!("session ended{}", b.reason.as_ref().map(|t| format!(": {t}")).unwrap_or_default())
        }
        Body::Resolve(b) => format!("{} → {}", b.of.short(), b.text),
        Body::Mistake(b) => match &b.prevention {
            Some(prevention) => format!("{} — prevention: {prevention}", b.text),
            None => b.text.clone(),
        },
        Body::Source(b) => b.location.clone(),
        Body::Evidence(b) => format!("{} (exit {})", b.command, b.exit),
        Body::Activity(b) => format!("{}: {}", b.category, b.text),
        Body::Transcript(b) => format!("{} {}: {}", b.agent, b.transcript, count(b.rows as usize, "row")),
        Body::Goal(b) => b.text.clone(),
        Body::Subtask(b) => format!("{}: {}", b.of.short(), b.text),
        Body::GoalDone(b) => with(b.of.short(), " done", &b.evidence),
        Body::GoalDrop(b) => with(b.of.short(), " dropped", &b.why),
        Body::GoalTake(b) => format!("{} from session {}", count(b.of.len(), "goal"), b.from.short()),
        Body::Assessment(b) => vectors(&b.vectors),
        Body::Checkpoint(b) => vectors(&b.vectors),
        Body::Handoff(b) => b.task.clone(),
        Body::Digest(b) => digest(b).join("\n"),
        Body::Accept(b) => with(b.of.short(), &accepted(b), &b.understanding),
        Body::Answer(b) => format!("{} → {}", questions::name(&b.of, b.question), b.text),
        Body::Attach(b) => format!("{} to {}", count(b.of.len(), "record"), b.to),
        Body::Supersede(b) => format!("{} by {}", b.of.short(), b.by.short()),
        Body::Retract(b) => {
            let names: Vec<&str> = b.of.iter().map(|id| id.short()).collect();
            let what = match &b.by {
                Some(by) => format!(" replaced by {}", by.short()),
                None => " retracted".to_owned(),
            };
            with(&names.join(", "), &what, &b.why)
        }
        Body::Confirm(b) => format!("{} confirmed", b.of.short()),
        Body::Signature(b) => format!("signature of handoff {}", b.of.short()),
        Body::Redacted(b) => {
            let by = b.redacted_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            with(&b.was.replace('_', " "), &format!(" redacted{by}"), &b.reason)
        }
        body => body.claim_text(),
    }
}

/// The entries of a digest, a text each.
pub fn digest(digest: &Digest) -> Vec<String> {
    let lists = crate::use_cases::handoff::note::lists::NoteLists::of(None, &[digest]);
    lists
        .all()
        .flat_map(|(label, list)| list.iter().map(move |text| format!("{}: {text}", label.to_lowercase())))
        .collect()
}

fn with(id: &str, what: &str, why: &Option<String>) -> String {
    format!("{id}{what}{}", why.as_ref().map(|why| format!(": {why}")).unwrap_or_default())
}
