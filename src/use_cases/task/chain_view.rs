//! The chain of a task, as `task show` and the page draw it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::task::chain::Link;
use crate::render::format::duration;
use crate::render::{format, safe};
use empirica_notes::model::handoff::Route;
use empirica_notes::model::{Id, SessionId, Verdict};

/// A stage of a task: a handoff, who took it up, and how long that took.
#[derive(Serialize, JsonSchema)]
pub struct LinkView<'a> {
    /// The handoff.
    handoff_id: &'a Id,
    /// The agent that handed over.
    from: &'a str,
    /// The receiver; null for any.
    to: Option<&'a str>,
    /// The rule that names it; null if the sender did, or nobody.
    route: Option<&'a Route>,
    /// The decision of the handoff.
    decision: Option<Verdict>,
    /// When it was handed over.
    handed_at: &'a str,
    /// The agent that took it up; null while nobody did.
    taken_by: Option<&'a str>,
    /// Its session.
    session_id: Option<&'a SessionId>,
    /// When.
    taken_at: Option<&'a str>,
    /// The sessions that took it up later, without knowing of the first.
    also_taken_by: Vec<&'a SessionId>,
    /// The handoff, or the acknowledgement that completed the task, that ended its work; null while it is at work.
    ended_by: Option<&'a Id>,
    /// From the handoff until it was taken up, else until now, in seconds.
    waited_seconds: u64,
    /// From then until its work ended, else until now, in seconds; null while nobody took it up.
    worked_seconds: Option<u64>,
    /// Whether the task waits for it, or for its work.
    is_open: bool,
}

impl<'a> From<&Link<'a>> for LinkView<'a> {
    fn from(link: &Link<'a>) -> Self {
        LinkView {
            handoff_id: &link.envelope.id,
            from: &link.envelope.ai,
            to: link.handoff.to.as_deref(),
            route: link.handoff.route.as_ref(),
            decision: link.decision,
            handed_at: &link.envelope.at,
            taken_by: link.claim.map(|claim| claim.envelope.ai.as_str()),
            session_id: link.claim.and_then(|claim| claim.session()),
            taken_at: link.claim.map(|claim| claim.envelope.at.as_str()),
            also_taken_by: link.beaten.iter().filter_map(|claim| claim.session()).collect(),
            ended_by: link.ended.map(|step| &step.envelope.id),
            waited_seconds: link.waited,
            worked_seconds: link.worked,
            is_open: link.is_open,
        }
    }
}

/// The agents of a chain, with arrows: `lead → tester → validator`.
pub fn way(chain: &[Link<'_>]) -> String {
    let mut out = String::new();
    let mut last: Option<&str> = None;
    for link in chain {
        if last != Some(link.envelope.ai.as_str()) {
            let gap = if out.is_empty() { "" } else { ", " };
            out.push_str(&format!("{gap}{}", safe::words(&link.envelope.ai)));
        }
        let next = receiver(link);
        out.push_str(&format!(" → {}", next.map_or_else(|| "?".to_owned(), safe::words)));
        last = next;
    }
    out
}

/// Who has a handoff, else its receiver.
pub fn receiver<'a>(link: &Link<'a>) -> Option<&'a str> {
    link.claim.map(|claim| claim.envelope.ai.as_str()).or(link.handoff.to.as_deref())
}

/// What became of a handoff, in words: how long it waited, and who worked how long.
pub fn times(link: &Link<'_>) -> String {
    let waited = duration(link.waited);
    match (&link.claim, link.worked) {
        (Some(claim), Some(worked)) => {
            let (by, worked) = (safe::words(&claim.envelope.ai), duration(worked));
            let works =
                if link.is_open { format!("{by} has worked for {worked}") } else { format!("{by} worked {worked}") };
            let lost = match link.beaten.len() {
                0 => String::new(),
                n => format!("; {} took it up, too", format::count(n, "session")),
            };
            format!("waited {waited}, {works}{lost}")
        }
        _ if link.is_open => format!("has waited {waited}"),
        _ if link.ended.is_some() => format!("handed on after {waited}"),
        _ => format!("waited {waited}, taken up by nobody"),
    }
}

/// A stage on a line.
pub fn line(number: usize, link: &Link<'_>) -> String {
    let route = link.handoff.route.as_ref();
    let rule = route.map(|route| format!(" (rule {})", safe::words(&route.rule))).unwrap_or_default();
    let to = match (receiver(link), route) {
        (Some(to), _) => safe::words(to),
        (None, Some(_)) => "a person".to_owned(),
        (None, None) => "anyone".to_owned(),
    };
    let decision = link.decision.map(|decision| format!(", {}", decision.name())).unwrap_or_default();
    let (from, at) = (safe::words(&link.envelope.ai), format::date(&link.envelope.at));
    format!("{number}. {at}  {from} → {to}{rule}{decision}: {}", times(link))
}
