//! The page put together: its policy, its lists, its pictures, and what it leaves out.

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
use crate::report::attention::LISTED;
use crate::report::gather::{ReportOutcome, SESSIONS, STATEMENTS};
use crate::report::page::entries::{Omitted, PageEntries, group};
use empirica_notes::error::{Command, Error, Result, empirica};

const TEMPLATE: &str = include_str!("../../../templates/report.html");
const CSS: &str = include_str!("../../../templates/report.css");
const JS: &str = include_str!("../../../templates/report.js");

/// The page, and what it does not show.
#[derive(Debug)]
pub struct Page {
    /// The whole file.
    pub html: String,
    /// What is left out.
    pub left_out: Vec<Omitted>,
}

/// Makes the page. The same outcome gives the same bytes.
pub fn page(outcome: &ReportOutcome) -> Result<Page> {
    let ai = outcome.ai.as_deref();
    let left = |kind, count, noun: &str, command: Command| left_out(ai, kind, count, noun, command);
    let (totals, attention) = (&outcome.totals, &outcome.attention);
    let timeline = timeline::timeline(&outcome.sessions, &outcome.passings);
    let growth = trajectory::all(&outcome.sessions);
    let unshown = totals.sessions - outcome.sessions.len();
    let undrawn = timeline.as_ref().map_or(0, |timeline| timeline.left_out + unshown);
    let ungrown = growth.as_ref().map_or(0, |growth| growth.1);
    let gone_sessions =
        left("sessions", totals.sessions.saturating_sub(SESSIONS), "older session", empirica("session list"));
    let gone_timeline = left("timeline", undrawn, "session", empirica("session list"));
    let gone_growth = left("growth", ungrown, "session", empirica("calibration"));
    let unknowns = totals.unknowns_open.saturating_sub(LISTED);
    let gone_unknowns =
        left("unknowns", unknowns, "older question", empirica("search").arg("kind:unknown").option("--limit", "1000"));
    let gone_handoffs =
        left("handoffs", attention.unclaimed_more, "older handoff", empirica("handoff list").flag("--unacknowledged"));
    let gone_goals = left("goals", attention.goals_more, "older goal", empirica("goal list").flag("--open"));
    let gone_knowledge = left(
        "knowledge",
        totals.statements.saturating_sub(STATEMENTS),
        "less important entry",
        empirica("search").arg("kind:finding,decision,deadend").option("--limit", "1000"),
    );
    let entries = PageEntries::new(outcome);
    let groups = [
        group("Open questions", entries.unknowns(), &gone_unknowns),
        group("Failed checks", entries.failed(), &None),
        group("Handed over, taken up by nobody", entries.unclaimed(), &gone_handoffs),
        group("Checks older than the code", entries.stale(), &None),
        group("Sessions not ended, silent for a week", entries.quiet(), &None),
        group("Goals not reached", entries.goals(), &gone_goals),
    ];
    let sessions: Vec<Value> = outcome.sessions.iter().map(|told| sessions::session(told, &entries)).collect();
    let (plot, bias) = (reliability::plot(&outcome.score), reliability::bias_plot(&outcome.beliefs));
    let data = json!({
        "policy": policy(),
        "css": CSS,
        "js": JS,
        "project": safe::line(&outcome.project),
        "now": format::date(&outcome.now.to_rfc3339()),
        "asked": asked(outcome),
        "any": outcome.any,
        "has_sessions": totals.sessions > 0,
        "contents": contents(outcome),
        "groups": groups.into_iter().flatten().collect::<Vec<_>>(),
        "sessions": sessions,
        "known": entries.known(),
        "graph": graph::graph(&outcome.known, &outcome.subjects),
        "timeline": timeline.map(|timeline| timeline.html),
        "growth": growth.map(|growth| growth.0),
        "brier": outcome.score.brier.map(|brier| format!("{brier:.2}")),
        "judged": format::count(outcome.score.judged, "session"),
        "told": reliability::told(&outcome.score),
        "bins": reliability::bins(&outcome.score),
        "plot": plot,
        "biases": reliability::biases(&outcome.beliefs),
        "bias": bias,
        "gone_sessions": gone_sessions,
        "gone_timeline": gone_timeline,
        "gone_growth": gone_growth,
        "gone_knowledge": gone_knowledge,
    });
    let all = [gone_sessions, gone_timeline, gone_growth, gone_handoffs, gone_unknowns, gone_goals, gone_knowledge];
    Ok(Page { html: rendered(data)?, left_out: all.into_iter().flatten().collect() })
}

/// Every text is escaped, but what this program made itself.
fn rendered(data: Value) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    let broken = |error: minijinja::Error| {
        Error::refused("the page cannot be made")
            .suggest("Internal error; please report it. The records are whole.")
            .command(empirica("status").flag("--all"))
            .caused_by(error)
    };
    environment.add_template("report.html", TEMPLATE).map_err(broken)?;
    let template = environment.get_template("report.html").map_err(broken)?;
    template.render(Rendered::from(Serde(data))).map_err(broken)
}

/// Nothing is loaded, and nothing runs but our own script.
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

/// Which sessions are asked for, in words.
fn asked(outcome: &ReportOutcome) -> String {
    let parts = [("of", &outcome.ai), ("since", &outcome.asked.since), ("until", &outcome.asked.until)];
    let parts = parts.iter().filter_map(|(word, given)| Some(format!("{word} {}", safe::line(given.as_deref()?))));
    parts.collect::<Vec<_>>().join(", ")
}

/// How much there is of what, without what there is none of.
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

/// Says what is left out, with the command that shows it to whom asked for this agent; nothing when nothing is.
fn left_out(ai: Option<&str>, kind: &'static str, count: usize, noun: &str, command: Command) -> Option<Omitted> {
    let command = ai.into_iter().fold(command, |command, ai| command.option("--ai", ai));
    let noun = if count > 1 && noun.ends_with('y') { noun.replace("entry", "entries") } else { noun.to_owned() };
    let plural = if count > 1 && !noun.ends_with('s') { "s" } else { "" };
    let what = format!("{count} {noun}{plural}");
    (count > 0).then(|| Omitted { kind, count, what, command: safe::line(&command.to_string()) })
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
        assert!(left_out(None, "sessions", 0, "older session", empirica("session list")).is_none());
        let one = left_out(Some("a b"), "sessions", 1, "older session", empirica("session list")).unwrap();
        assert_eq!(
            (one.what.as_str(), one.command.as_str()),
            ("1 older session", "git empirica session list --ai 'a b'")
        );
        assert_eq!(
            left_out(None, "knowledge", 7, "less important entry", empirica("x")).unwrap().what,
            "7 less important entries"
        );
    }
}
