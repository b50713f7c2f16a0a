//! The answers of commands that say one thing: journal, query, flush, setup.

use serde_json::{Value, json};

use super::handoff::growth;
use super::{Answer, safe, words};
use crate::ops::handoff::Listed;
use crate::ops::{flush, journal, query, setup};

/// The answer of a journal command.
pub fn logged(outcome: &journal::Logged) -> Answer {
    let json = json!({"id": outcome.id, "kind": outcome.kind, "session_id": outcome.session_id});
    Answer::new(json)
        .text(format!("{}\n", outcome.id.short()))
        .say(format!(
            "Logged {} {} in session {}.",
            outcome.kind.replace('_', " "),
            outcome.id.short(),
            outcome.session_id.short()
        ))
        .stored(&outcome.stored)
}

/// How many findings of each handoff `query` shows.
const SHOWN: usize = 5;

/// The answer of `query`.
pub fn queried(outcome: &query::Outcome) -> Answer {
    let row = |listed: &Listed| {
        json!({
            "handoff_id": listed.head.id,
            "session_id": listed.head.session,
            "ai_id": listed.head.ai,
            "timestamp": listed.head.at,
            "commit": listed.head.commit,
            "task": listed.handoff.task,
            "key_findings": listed.handoff.findings.iter().map(|f| &f.text).collect::<Vec<_>>(),
            "remaining_unknowns": listed.handoff.unknowns.iter().map(|u| &u.text).collect::<Vec<_>>(),
            "calibration_status": listed.handoff.calibration_status,
            "epistemic_growth": growth(&listed.handoff),
        })
    };
    let block = |listed: &Listed| {
        let mut text = format!(
            "{} {} {}  growth {}  {}\n  {}\n",
            listed.head.id.short(),
            words::date(&listed.head.at),
            safe::line(&listed.head.ai),
            words::signed(growth(&listed.handoff)),
            listed.handoff.calibration_status.name().replace('_', " "),
            safe::line(&listed.handoff.task)
        );
        for finding in listed.handoff.findings.iter().take(SHOWN) {
            text.push_str(&format!("  - {}\n", safe::indented(&finding.text, 4)));
        }
        if let more @ 1.. = listed.handoff.findings.len().saturating_sub(SHOWN) {
            text.push_str(&format!("  {more} more: git empirica show {}\n", listed.head.id.short()));
        }
        text
    };
    let rows: Vec<Value> = outcome.reports.iter().map(row).collect();
    let text = outcome.reports.iter().map(block).collect::<Vec<_>>().join("\n");
    let answer = Answer::new(json!({"reports": rows, "total_found": outcome.total_found}))
        .text(text)
        .warn(outcome.warnings.clone())
        .paged();
    match outcome.total_found - outcome.reports.len() {
        0 if outcome.reports.is_empty() => answer.say("No handoff fits."),
        0 => answer,
        more => answer.hint(format!("{more} more fit: git empirica query --limit {}", outcome.total_found)),
    }
}

/// The answer of `flush`.
pub fn flushed(outcome: &flush::Outcome) -> Answer {
    let json = json!({
        "flushed": outcome.flushed,
        "waiting": outcome.waiting,
        "degraded_mode": outcome.degraded.is_some(),
    });
    let mut answer = Answer::new(json)
        .text(format!(
            "{} written to the notes, {} waiting.\n",
            words::count(outcome.flushed, "record"),
            outcome.waiting
        ))
        .warn(outcome.warnings.clone());
    if let Some(error) = &outcome.degraded {
        answer.warnings.push(format!("the notes could not be written: {}", error.in_one_line()));
        answer.advise(&[(error.suggestion_text().to_owned(), error.commands().to_vec())]);
    }
    answer
}

/// The answer of `setup`.
pub fn set_up(outcome: &setup::Outcome) -> Answer {
    let files: Vec<String> = outcome.files.iter().map(|file| file.display().to_string()).collect();
    let text: String = files.iter().map(|file| format!("{file}\n")).collect();
    let word = if outcome.dry_run { "Would install" } else { "Installed" };
    let answer = Answer::new(json!({"files": files, "dry_run": outcome.dry_run, "hints": outcome.hints}))
        .text(text)
        .say(format!("{word} {}.", words::count(files.len(), "file")));
    outcome.hints.iter().fold(answer, |answer, hint| answer.hint(hint.clone()))
}
