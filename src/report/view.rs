//! The page about the project: one file that needs nothing else, and the answer that says what is in it.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
pub use crate::report::page::entries::Omitted;
pub use crate::report::page::{Page, page};

use crate::report::gather::ReportOutcome;
use empirica_notes::error::{empirica, text};

/// The page that was written. The numbers are of the sessions that were asked for, shown or not.
#[derive(Serialize, JsonSchema)]
pub struct ReportView<'a> {
    /// The file, absolute; a link is as it was named.
    file: &'a str,
    /// Its size.
    bytes: usize,
    /// The agent that was asked for.
    ai_id: Option<&'a str>,
    /// The begin that was asked for.
    since: Option<&'a str>,
    /// The end that was asked for.
    until: Option<&'a str>,
    /// The sessions that fit.
    sessions: usize,
    /// Those of them that have not ended.
    sessions_active: usize,
    /// The agents that began them.
    agents: usize,
    /// Their handoffs in force.
    handoffs: usize,
    /// Their findings.
    findings: usize,
    /// Their dead ends.
    dead_ends: usize,
    /// Their questions that nobody answered.
    unknowns_open: usize,
    /// The goals they have now that are open.
    goals_open: usize,
    /// What the page does not show.
    left_out: Vec<LeftOutView<'a>>,
}

/// What the page does not show.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LeftOutOfPageView")]
struct LeftOutView<'a> {
    /// `sessions` beyond the newest 500; `timeline`: sessions that are not drawn there (the newest 40 of 12 agents are); `growth`: the same
    /// of the picture of all trajectories (the newest 80 that were assessed); `handoffs` that nobody took up, `unknowns` and `goals` beyond
    /// the newest 200; `knowledge` beyond 100 entries.
    what: &'a str,
    /// How many.
    count: usize,
    /// The command that shows them.
    command: &'a str,
}

impl<'a> From<&'a Omitted> for LeftOutView<'a> {
    fn from(Omitted { kind, count, command, .. }: &'a Omitted) -> Self {
        LeftOutView { what: kind, count: *count, command }
    }
}

/// The answer of `report`: where the page was written and what it shows; the page itself when there is no file.
pub fn answer(outcome: &ReportOutcome, page: Page, file: Option<&Path>) -> Answer {
    let Some(file) = file else {
        return Answer::default().text(page.html).warn(outcome.warnings.clone()).data();
    };
    let totals = &outcome.totals;
    let view = ReportView {
        file: &file.to_string_lossy(),
        bytes: page.html.len(),
        ai_id: outcome.ai.as_deref(),
        since: outcome.asked.since.as_deref(),
        until: outcome.asked.until.as_deref(),
        sessions: totals.sessions,
        sessions_active: totals.active,
        agents: totals.agents,
        handoffs: totals.handoffs,
        findings: totals.findings,
        dead_ends: totals.dead_ends,
        unknowns_open: totals.unknowns_open,
        goals_open: totals.goals_open,
        left_out: page.left_out.iter().map(LeftOutView::from).collect(),
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
    for gone in &page.left_out {
        answer = answer.say(format!("Not shown: {}; see them: {}", gone.what, gone.command));
    }
    match totals.sessions {
        0 if outcome.any => answer.hint(text!["no session fits; see which there are: ", empirica("session list")]),
        0 => answer.hint(text!["start a session: ", crate::context::names::start_command(None)]),
        _ => answer,
    }
}
