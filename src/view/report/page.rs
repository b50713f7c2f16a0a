//! The page put together: its policy, its pictures, its lists, and what it leaves out.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::value::{Serde, Value as Rendered};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{graph, reliability, sessions, timeline, trajectory};
use crate::epistemics::knowledge::Kind;
use crate::epistemics::short::short;
use crate::error::{Error, Result, quote};
use crate::model::{Head, SessionId};
use crate::ops::report::{LISTED, Outcome, SESSIONS, STATEMENTS};
use crate::view::{safe, search, words};

const TEMPLATE: &str = include_str!("../../../templates/report.html");
const CSS: &str = include_str!("../../../templates/report.css");
const JS: &str = include_str!("../../../templates/report.js");
/// The most characters of a text.
const TEXT: usize = 1200;

/// The page, and what it does not show.
#[derive(Debug)]
pub struct Page {
    /// The whole file.
    pub html: String,
    /// What is left out.
    pub left_out: Vec<LeftOut>,
}

/// Something there is too much of.
#[derive(Debug, Clone, Serialize)]
pub struct LeftOut {
    /// Its word in JSON.
    pub kind: &'static str,
    /// How many.
    pub count: usize,
    /// How many of what, in words.
    pub what: String,
    /// The command that shows it.
    pub command: String,
}

/// Makes the page. The same outcome gives the same bytes.
pub fn page(outcome: &Outcome) -> Result<Page> {
    let gone = Gone { ai: outcome.ai.as_deref() };
    let totals = &outcome.totals;
    let timeline = timeline::timeline(&outcome.sessions, &outcome.passings);
    let growth = trajectory::all(&outcome.sessions);
    let gone_sessions = gone.of("sessions", totals.sessions.saturating_sub(SESSIONS), "older session", "session list");
    let unshown = totals.sessions - outcome.sessions.len();
    let undrawn = timeline.as_ref().map_or(0, |timeline| timeline.left_out + unshown);
    let gone_timeline = gone.of("timeline", undrawn, "session in the timeline", "session list");
    let gone_growth =
        gone.of("growth", growth.as_ref().map_or(0, |growth| growth.1), "session in this picture", "calibration");
    let gone_handoffs = gone.of("handoffs", totals.handoffs.saturating_sub(LISTED), "older handoff", "handoff list");
    let unknowns = totals.unknowns_open.saturating_sub(LISTED);
    let gone_unknowns = gone.of("unknowns", unknowns, "older question", "search kind:unknown --limit 1000");
    let gone_goals = gone.of("goals", totals.goals_open.saturating_sub(LISTED), "older goal", "goal list --open");
    let statements = totals.statements.saturating_sub(STATEMENTS);
    let search = "search kind:finding,unknown,deadend --limit 1000";
    let gone_knowledge = gone.of("knowledge", statements, "statement of less weight", search);
    let here: BTreeSet<&SessionId> = outcome.sessions.iter().map(|told| &told.gathered.session.id).collect();
    let entries = Entries { outcome, here: &here };
    let data = json!({
        "policy": policy(),
        "css": CSS,
        "js": JS,
        "project": safe::line(&outcome.project),
        "now": outcome.now.format("%Y-%m-%d %H:%M UTC").to_string(),
        "asked": asked(outcome),
        "any": outcome.any,
        "has_sessions": totals.sessions > 0,
        "numbers": numbers(outcome),
        "timeline": timeline.map(|timeline| timeline.html),
        "growth": growth.map(|growth| growth.0),
        "brier": outcome.score.brier.map(|brier| format!("{brier:.2}")),
        "judged": words::count(outcome.score.judged, "session"),
        "told": reliability::told(&outcome.score),
        "plot": reliability::plot(&outcome.score),
        "bins": reliability::bins(&outcome.score),
        "bias": reliability::bias_plot(&outcome.beliefs),
        "biases": reliability::biases(&outcome.beliefs),
        "unknowns_open": totals.unknowns_open,
        "goals_open": totals.goals_open,
        "handoffs": entries.handoffs(),
        "unknowns": entries.unknowns(),
        "goals": entries.goals(),
        "known": entries.known(),
        "graph": graph::graph(&outcome.known, &outcome.subjects),
        "sessions": outcome.sessions.iter().map(|told| sessions::session(told, &here)).collect::<Vec<_>>(),
        "gone_sessions": gone_sessions,
        "gone_timeline": gone_timeline,
        "gone_growth": gone_growth,
        "gone_handoffs": gone_handoffs,
        "gone_unknowns": gone_unknowns,
        "gone_goals": gone_goals,
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
            .command("git empirica status --all")
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

/// A text as it is shown: what is invisible or moves other text can be seen, and its lines stay.
pub fn said(text: &str) -> String {
    let clean = safe::clean(text.trim());
    match clean.char_indices().nth(TEXT) {
        Some((at, _)) => format!("{}…", clean[..at].trim_end()),
        None => clean,
    }
}

/// Which sessions are asked for, in words.
fn asked(outcome: &Outcome) -> String {
    let parts = [("of", &outcome.ai), ("since", &outcome.asked.since), ("until", &outcome.asked.until)];
    let parts = parts.iter().filter_map(|(word, given)| Some(format!("{word} {}", safe::line(given.as_deref()?))));
    parts.collect::<Vec<_>>().join(", ")
}

fn numbers(outcome: &Outcome) -> Vec<Value> {
    let totals = &outcome.totals;
    let number = |name: &str, value: usize, more: Option<String>| json!({"name": name, "value": value, "more": more});
    let some = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    vec![
        number("sessions", totals.sessions, some(totals.active, "still active")),
        number("agents", totals.agents, None),
        number("handoffs", totals.handoffs, some(totals.passed_on, "taken up")),
        number("findings", totals.findings, None),
        number("dead ends", totals.dead_ends, None),
        number("open questions", totals.unknowns_open, some(totals.unknowns_resolved, "answered")),
        number("open goals", totals.goals_open, some(totals.goals_done, "reached")),
    ]
}

/// Says what is left out; with the agent that was asked for.
struct Gone<'o> {
    ai: Option<&'o str>,
}

impl Gone<'_> {
    fn of(&self, kind: &'static str, count: usize, noun: &str, command: &str) -> Option<LeftOut> {
        let ai = self.ai.map(|ai| format!(" --ai {}", quote(ai))).unwrap_or_default();
        let (what, many) = match noun.split_once(' ') {
            // the noun is the second word
            Some(("older", rest)) => (format!("{count} older "), rest),
            _ => (format!("{count} "), noun),
        };
        let (noun, rest) = many.split_once(' ').unwrap_or((many, ""));
        let plural = if count == 1 { "" } else { "s" };
        let what = format!("{what}{noun}{plural} {rest}").trim_end().to_owned();
        (count > 0).then(|| LeftOut { kind, count, what, command: safe::line(&format!("git empirica {command}{ai}")) })
    }
}

/// The lists, as the template has them.
struct Entries<'o> {
    outcome: &'o Outcome,
    here: &'o BTreeSet<&'o SessionId>,
}

impl Entries<'_> {
    /// What every entry says: who said it, when, at which commit.
    fn entry(&self, head: &Head, text: &str) -> serde_json::Map<String, Value> {
        let at = chrono::DateTime::parse_from_rfc3339(&head.at).ok();
        let age = at.map(|at| search::ago((self.outcome.now - at.to_utc()).num_seconds().max(0).unsigned_abs()));
        let entry = json!({
            "full": head.id,
            "id": head.id.short(),
            "text": said(text),
            "ai": safe::line(&head.ai),
            "age": age,
            "commit": head.commit.as_deref().map(|commit| short(&safe::line(commit), 8).replace('…', "")),
            "session": head.session,
            "is_here": head.session.as_ref().is_some_and(|session| self.here.contains(session)),
        });
        match entry {
            Value::Object(entry) => entry,
            _ => serde_json::Map::new(),
        }
    }

    fn unknowns(&self) -> Vec<Value> {
        self.outcome.unknowns.iter().map(|open| Value::Object(self.entry(&open.head, &open.what))).collect()
    }

    fn goals(&self) -> Vec<Value> {
        let goal = |open: &crate::ops::report::Open<crate::model::goal::GoalState>| {
            let mut entry = self.entry(&open.head, &open.what.text);
            let priority = open.what.priority.name();
            entry.insert("kind".to_owned(), json!(priority));
            entry.insert("class".to_owned(), json!(priority));
            entry.insert("steps".to_owned(), json!(open.what.progress()));
            Value::Object(entry)
        };
        self.outcome.goals.iter().map(goal).collect()
    }

    fn known(&self) -> Vec<Value> {
        let known = |known: &crate::ops::report::Known| {
            let mut entry = self.entry(&known.head, &known.text);
            let class = match known.kind {
                Kind::Finding => "finding",
                Kind::Unknown => "unknown",
                Kind::Answered => "answered",
                Kind::DeadEnd => "deadend",
            };
            entry.insert("kind".to_owned(), json!(known.kind.name()));
            entry.insert("class".to_owned(), json!(class));
            entry.insert("more".to_owned(), json!(known.more.as_deref().map(said)));
            let files: Vec<String> = known.files.iter().map(|file| safe::line(file)).collect();
            entry.insert("files".to_owned(), json!(files));
            Value::Object(entry)
        };
        self.outcome.known.iter().map(known).collect()
    }

    fn handoffs(&self) -> Vec<Value> {
        let agents: BTreeMap<&SessionId, &str> =
            self.outcome.sessions.iter().map(|t| (&t.gathered.session.id, t.gathered.session.ai.as_str())).collect();
        let handed = |handed: &crate::ops::report::Handed| {
            let mut entry = self.entry(&handed.head, &handed.task);
            let taken = self.outcome.passings.iter().filter(|p| p.handoff.as_ref() == Some(&handed.head.id)).map(|p| {
                let how = if p.accepted { "acknowledged by" } else { "continued by" };
                json!({"how": how, "session": p.to, "ai": agents.get(&p.to).map(|ai| safe::line(ai))})
            });
            entry.insert("taken".to_owned(), taken.collect());
            entry.insert("to".to_owned(), json!(handed.to.as_deref().map(safe::line)));
            if handed.kind != "epistemic" {
                entry.insert("kind".to_owned(), json!(safe::line(&handed.kind)));
                entry.insert("class".to_owned(), json!("medium"));
            }
            Value::Object(entry)
        };
        self.outcome.handoffs.iter().map(handed).collect()
    }
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
        let gone = Gone { ai: Some("a b") };
        assert!(gone.of("sessions", 0, "older session", "session list").is_none());
        let one = gone.of("sessions", 1, "older session", "session list").unwrap();
        assert_eq!(
            (one.what.as_str(), one.command.as_str()),
            ("1 older session", "git empirica session list --ai 'a b'")
        );
        let many = gone.of("timeline", 7, "session in the timeline", "session list").unwrap();
        assert_eq!(many.what, "7 sessions in the timeline");
        let others = gone.of("knowledge", 2, "statement of less weight", "x").unwrap();
        assert_eq!(others.what, "2 statements of less weight");
    }

    #[test]
    fn a_text_keeps_its_lines_and_ends() {
        assert_eq!(said(" a\n\u{202e}b "), "a\n<U+202E>b");
        assert_eq!(said(&"x".repeat(TEXT + 1)).chars().count(), TEXT + 1);
    }
}
