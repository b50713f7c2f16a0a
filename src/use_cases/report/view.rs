//! The answer of `report`.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::report::gather::{ReportOutcome, ReportTotals};
pub use crate::use_cases::report::page::entries::Omitted;
pub use crate::use_cases::report::page::{Page, page};
use empirica_notes::error::{empirica, text};

/// The page that was written. The numbers are of the selected sessions, shown or not.
#[derive(Serialize, JsonSchema)]
pub struct ReportView<'a> {
    /// The file, absolute, with symbolic links unresolved.
    file: &'a str,
    /// Its size.
    bytes: usize,
    /// `--ai`.
    ai_id: Option<&'a str>,
    /// `--since`.
    since: Option<&'a str>,
    /// `--until`.
    until: Option<&'a str>,
    /// The range of commits.
    range: Option<&'a str>,
    #[serde(flatten)]
    totals: &'a ReportTotals,
    /// What the page does not show.
    left_out: &'a [Omitted],
}

/// The answer of `report`: the path and content of the written page; without a file, the page itself.
pub fn answer(outcome: &ReportOutcome, page: Page, file: Option<&Path>) -> Answer {
    let Some(file) = file else {
        return Answer::default().text(page.html).warn(outcome.warnings.clone()).data();
    };
    let totals = &outcome.totals;
    let view = ReportView {
        file: &file.to_string_lossy(),
        bytes: page.html.len(),
        ai_id: outcome.ai.as_deref(),
        since: outcome.request.since.as_deref(),
        until: outcome.request.until.as_deref(),
        range: outcome.request.range.as_deref(),
        totals,
        left_out: &page.left_out,
    };
    let shown = safe::line(&file.to_string_lossy());
    let answer = Answer::new(view).text(format!("{shown}\n")).warn(outcome.warnings.clone());
    let mut answer = answer.say(format!(
        "Wrote a page about {} of {}, {}, {}.",
        format::count(totals.sessions, "session"),
        format::count(totals.agents, "agent"),
        format::count(totals.handoffs, "handoff"),
        format::count(totals.findings, "finding"),
    ));
    for omitted in &page.left_out {
        answer = answer.say(format!("Not shown: {}; see them: {}", omitted.words, omitted.command));
    }
    match totals.sessions {
        0 if outcome.any => answer.hint(text!["no session matches; list all: ", empirica("session list")]),
        0 => answer.hint(text!["start a session: ", crate::context::names::start_command(None)]),
        _ => answer,
    }
}
