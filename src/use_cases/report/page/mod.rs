//! Composes the page: content security policy, lists, pictures, omissions.

pub mod chains;
pub mod entries;
pub mod graph;
pub mod reliability;
pub mod sessions;
pub mod svg;
pub mod timeline;
pub mod trajectory;

use minijinja::value::{Serde, Value as Rendered};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::render::{format, safe};
use crate::use_cases::report::attention::LISTED;
use crate::use_cases::report::gather::{FACTS, ReportOutcome, SESSIONS};
use crate::use_cases::report::page::entries::{Omitted, PageEntries, group};
use empirica_notes::error::{Command, Error, Result, empirica};

const TEMPLATE: &str = include_str!("../../../../templates/report.html");
const CSS: &str = include_str!("../../../../templates/report.css");
const JS: &str = include_str!("../../../../templates/report.js");

#[derive(Debug)]
pub struct Page {
    pub html: String,
    pub left_out: Vec<Omitted>,
}

/// Composes the page; equal outcomes give equal bytes.
pub fn page(outcome: &ReportOutcome) -> Result<Page> {
    let ai = outcome.ai.as_deref();
    let omitted = |what, count, noun: &str, command: Command| omitted(ai, what, count, noun, command);
    let (totals, attention) = (&outcome.totals, &outcome.attention);
    let timeline = timeline::timeline(&outcome.sessions, &outcome.handovers);
    let growth = trajectory::all(&outcome.sessions);
    let not_listed = totals.sessions - outcome.sessions.len();
    let not_drawn = timeline.as_ref().map_or(0, |timeline| timeline.left_out + not_listed);
    let not_in_growth = growth.as_ref().map_or(0, |(_, left_out)| *left_out);
    let search = |filter: &str| empirica("search").arg(filter).option("--limit", "1000");
    let sessions_omitted =
        omitted("sessions", totals.sessions.saturating_sub(SESSIONS), "older session", empirica("session list"));
    let timeline_omitted = omitted("timeline", not_drawn, "session", empirica("session list"));
    let growth_omitted = omitted("growth", not_in_growth, "session", empirica("calibration"));
    let unknowns = totals.unknowns_open.saturating_sub(LISTED);
    let unknowns_omitted = omitted("unknowns", unknowns, "older question", search("kind:unknown"));
    let unacknowledged = empirica("handoff list").flag("--unacknowledged");
    let handoffs_omitted = omitted("handoffs", attention.unclaimed_more, "older handoff", unacknowledged);
    let goals_omitted = omitted("goals", attention.goals_more, "older goal", empirica("goal list").flag("--open"));
    let lost_omitted = omitted("claims", attention.lost.more, "older claim", search("kind:finding,decision,deadend"));
    let facts = totals.facts.saturating_sub(FACTS);
    let facts_omitted = omitted("knowledge", facts, "less important fact", search("kind:finding,decision,deadend"));
    let tasks = outcome.tasks.len().saturating_sub(chains::TASKS);
    let tasks_omitted = omitted("tasks", tasks, "older task", empirica("task list"));
    let entries = PageEntries::new(outcome);
    let groups = [
        group("Open questions", entries.records(&attention.unknowns), &unknowns_omitted),
        group("Failed checks", entries.records(&attention.failed), &None),
        group("Handed over, taken up by nobody", entries.records(&attention.unclaimed), &handoffs_omitted),
        group("Checks older than the code", entries.stale(), &None),
        group("Claims about code that changed", entries.lost(), &lost_omitted),
        group("Claims that disagree", entries.disagreeing(), &None),
        group("Sessions not ended, silent for a week", entries.quiet(), &None),
        group("Goals not reached", entries.goals(), &goals_omitted),
    ];
    let sessions: Vec<Value> = outcome.sessions.iter().map(|story| sessions::session(story, &entries)).collect();
    let view = |omitted: &Option<Omitted>| omitted.as_ref().map(Omitted::view);
    let data = json!({
        "policy": policy(),
        "css": CSS,
        "js": JS,
        "project": safe::line(&outcome.project),
        "now": format::date(&outcome.now.to_rfc3339()),
        "selection": selection(outcome),
        "any": outcome.any,
        "has_sessions": totals.sessions > 0,
        "contents": contents(outcome),
        "groups": groups.into_iter().flatten().collect::<Vec<_>>(),
        "sessions": sessions,
        "known": entries.facts(),
        "graph": graph::graph(&outcome.facts, &outcome.subjects),
        "tasks": chains::chains(&outcome.tasks, outcome.now),
        "gone_tasks": view(&tasks_omitted),
        "timeline": timeline.map(|timeline| timeline.html),
        "growth": growth.map(|growth| growth.0),
        "brier": outcome.score.brier.map(|brier| format!("{brier:.2}")),
        "judged": format::count(outcome.score.judged, "session"),
        "reliability_sentences": reliability::sentences(&outcome.score),
        "bins": reliability::bins(&outcome.score),
        "plot": reliability::plot(&outcome.score),
        "biases": reliability::biases(&outcome.beliefs),
        "bias": reliability::bias_plot(&outcome.beliefs),
        "gone_sessions": view(&sessions_omitted),
        "gone_timeline": view(&timeline_omitted),
        "gone_growth": view(&growth_omitted),
        "gone_knowledge": view(&facts_omitted),
    });
    let all = [
        sessions_omitted,
        tasks_omitted,
        timeline_omitted,
        growth_omitted,
        handoffs_omitted,
        unknowns_omitted,
        goals_omitted,
        facts_omitted,
    ];
    Ok(Page { html: render(data)?, left_out: all.into_iter().flatten().collect() })
}

/// Renders the template, which escapes every text except generated markup.
fn render(data: Value) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    let broken = |error: minijinja::Error| {
        Error::refused("cannot render the page")
            .suggest("Internal error; please report it. The records are intact.")
            .command(empirica("status").flag("--all"))
            .caused_by(error)
    };
    environment.add_template("report.html", TEMPLATE).map_err(broken)?;
    let template = environment.get_template("report.html").map_err(broken)?;
    template.render(Rendered::from(Serde(data))).map_err(broken)
}

/// Content security policy: nothing is loaded, and only the page's own style and script apply.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(CSS)),
        base64(&Sha256::digest(JS))
    )
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= three.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

fn selection(outcome: &ReportOutcome) -> String {
    let request = &outcome.request;
    let parts = [("of", &outcome.ai), ("since", &request.since), ("until", &request.until), ("for", &request.range)];
    let parts = parts.iter().filter_map(|(word, value)| Some(format!("{word} {}", safe::line(value.as_deref()?))));
    parts.collect::<Vec<_>>().join(", ")
}

/// The totals in words, without zeros.
fn contents(outcome: &ReportOutcome) -> String {
    let totals = &outcome.totals;
    let counts = [
        (totals.sessions, "session"),
        (totals.agents, "agent"),
        (totals.handoffs, "handoff"),
        (totals.findings, "finding"),
        (totals.dead_ends, "dead end"),
        (totals.unknowns_resolved, "answered question"),
        (totals.goals_done, "reached goal"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, noun)| format::count(count, noun)).collect::<Vec<_>>().join(", ")
}

/// Omitted entries, with the command that shows them for the selected agent; `None` without any.
fn omitted(ai: Option<&str>, what: &'static str, count: usize, noun: &str, command: Command) -> Option<Omitted> {
    let command = ai.into_iter().fold(command, |command, ai| command.option("--ai", ai));
    let words = format::count(count, noun);
    (count > 0).then(|| Omitted { what, count, words, command: safe::line(&command.to_string()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_others_have_it() {
        let all = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(all, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn what_is_left_out_is_counted_in_words() {
        assert!(omitted(None, "sessions", 0, "older session", empirica("session list")).is_none());
        let one = omitted(Some("a b"), "sessions", 1, "older session", empirica("session list")).unwrap();
        assert_eq!(
            (one.words.as_str(), one.command.as_str()),
            ("1 older session", "git empirica session list --ai 'a b'")
        );
        assert_eq!(
            omitted(None, "knowledge", 7, "less important fact", empirica("x")).unwrap().words,
            "7 less important facts"
        );
    }
}
