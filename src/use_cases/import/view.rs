//! The answers of `import` and `export --markdown`, and the content of exported files.

use serde_json::json;

use crate::context::handoffs::ListedHandoff;
use crate::render::answer::Answer;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::use_cases::handoff::view::{compact, markdown};
use crate::use_cases::import::lines::ImportOutcome;
use crate::use_cases::import::markdown::{MarkdownFile, MarkdownOutcome};
use empirica_notes::error::Result;
use empirica_notes::model::{Body, Record};

/// The number of new lines above which the answer suggests packing.
const MANY: usize = 10_000;

pub fn imported(outcome: &ImportOutcome) -> Answer {
    let word = |kind: &Option<String>| match kind {
        Some(kind) => safe::line(&kind.replace('_', " ")),
        None => "no record".to_owned(),
    };
    let mut text =
        format!("{} read: {} new, {} known.\n", format::count(outcome.read, "line"), outcome.new, outcome.known);
    if !outcome.kinds.is_empty() {
        let kinds: Vec<String> = outcome.kinds.iter().map(|(kind, count)| format!("{} {count}", word(kind))).collect();
        text.push_str(&format!("  new: {}\n", kinds.join(", ")));
    }
    let mut answer = Answer::new(outcome).text(text).stored(&outcome.stored);
    if outcome.left_out > 0 {
        let lines = format::count(outcome.left_out, "line");
        answer.warnings.push(format!("{lines} left out: their records were redacted here").into());
    }
    if outcome.missing_commits > 0 {
        let commits = format::count(outcome.missing_commits, "commit");
        answer.warnings.push(
            format!("missing here: {commits} with records; the records are stored, and shown once these are fetched")
                .into(),
        );
    }
    if let Some(secrets @ 1..) = outcome.secrets {
        let lines = format::count(secrets, "line");
        answer.warnings.push(format!("imported a probable secret in {lines} unchanged").into());
    }
    if outcome.new >= MANY {
        answer = answer.hint("git gc packs the many new objects.");
    }
    answer
}

/// The two files of a session: its handoffs in the built-in template, and in their compact form.
pub fn page(handoffs: &[ListedHandoff]) -> Result<MarkdownFile> {
    let mut templates = Templates::built_in();
    let mut texts = Vec::new();
    for listed in handoffs {
        let record =
            Record { envelope: listed.envelope.clone(), body: Body::Handoff(Box::new(listed.handoff.clone())) };
        texts.push(markdown(&mut templates, &record)?.trim_end().to_owned());
    }
    let newest = handoffs.last().map(|listed| &listed.envelope);
    let json = json!({
        "session_id": newest.and_then(|envelope| envelope.session.as_ref()),
        "ai_id": newest.map(|envelope| &envelope.ai),
        "handoffs": handoffs.iter().map(|listed| compact(&listed.envelope, &listed.handoff)).collect::<Vec<_>>(),
    });
    Ok(MarkdownFile { markdown: texts.join("\n\n") + "\n", json: safe::json(&json) + "\n" })
}

pub fn exported(outcome: &MarkdownOutcome) -> Answer {
    let mut text = format!(
        "{}, {} in {}: {} written\n",
        format::count(outcome.sessions, "session"),
        format::count(outcome.handoffs, "handoff"),
        safe::line(&outcome.folder),
        format::count(outcome.written, "file"),
    );
    for renamed in &outcome.renamed {
        text.push_str(&format!("  {}: {}\n", safe::line(&renamed.ai), renamed.folder));
    }
    let mut answer = Answer::new(outcome).text(text).warn(outcome.warnings.clone());
    if outcome.without_handoff > 0 {
        let sessions = format::count(outcome.without_handoff, "session");
        answer = answer.say(format!("{sessions} without a handoff have no file."));
    }
    answer
}
