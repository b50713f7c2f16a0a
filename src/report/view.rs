//! The page about the project: one file that needs nothing else, and the answer that says what is in it.

use std::path::Path;

use serde_json::{Value, json};

use crate::render::answer::Answer;
use crate::render::{format, safe};
pub use crate::report::page::entries::Omitted;
pub use crate::report::page::{Page, page};

use crate::report::gather::ReportOutcome;
use empirica_notes::error::{empirica, text};

/// The answer of `report`: where the page was written and what it shows; the page itself when there is no file.
pub fn answer(outcome: &ReportOutcome, page: Page, file: Option<&Path>) -> Answer {
    let Some(file) = file else {
        return Answer::default().text(page.html).warn(outcome.warnings.clone()).data();
    };
    let totals = &outcome.totals;
    let left_out = |gone: &Omitted| json!({"what": gone.kind, "count": gone.count, "command": gone.command});
    let json = json!({
        "file": file,
        "bytes": page.html.len(),
        "ai_id": outcome.ai,
        "since": outcome.asked.since,
        "until": outcome.asked.until,
        "sessions": totals.sessions,
        "sessions_active": totals.active,
        "agents": totals.agents,
        "handoffs": totals.handoffs,
        "findings": totals.findings,
        "dead_ends": totals.dead_ends,
        "unknowns_open": totals.unknowns_open,
        "goals_open": totals.goals_open,
        "left_out": page.left_out.iter().map(left_out).collect::<Vec<Value>>(),
    });
    let shown = safe::line(&file.to_string_lossy());
    let answer = Answer::new(json).text(format!("{shown}\n")).warn(outcome.warnings.clone());
    let mut answer = answer.say(format!(
        "Wrote a page about {} of {}, {}, {}.",
        format::count(totals.sessions, "session"),
        format::count(totals.agents, "agent"),
        format::count(totals.handoffs, "handoff"),
        format::count(totals.findings, "finding"),
    ));
    for gone in &page.left_out {
        answer = answer.say(format!("Not shown: {}; see them: {}", gone.what, gone.command));
    }
    match totals.sessions {
        0 if outcome.any => answer.hint(text!["no session fits; see which there are: ", empirica("session list")]),
        0 => answer.hint(text!["start a session: ", crate::context::names::start_command(None)]),
        _ => answer,
    }
}
