//! The chain of a task, as `task show` and the page draw it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::task::chain::Link;
use crate::fold::task::claims::Claim;
use crate::render::format::duration;
use crate::render::{format, safe};
use empirica_notes::model::handoff::Route;
use empirica_notes::model::{Id, SessionId, Verdict};

/// A stage of a task: a handoff, who owns it, and how long that took.
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
    /// Who owns it; null while nobody claimed it.
    owner: Option<ClaimView<'a>>,
    /// Others that claimed it, without knowing of the owner; at most the first 100.
    rivals: Vec<ClaimView<'a>>,
    /// The last decision of its owner about it.
    verdict: Option<Verdict>,
    /// The handoff, or the acknowledgement that completed the task, that ended its work; null while it is at work.
    ended_by: Option<&'a Id>,
    /// From the handoff until it was claimed, else until now, in seconds.
    waited_seconds: u64,
    /// From then until its work ended, else until now, in seconds; null while nobody claimed it.
    worked_seconds: Option<u64>,
    /// Whether the task waits for it, or for its work.
    is_open: bool,
}

/// The most rivals of a link.
const RIVALS: usize = 100;

/// A claim.
#[derive(Serialize, JsonSchema)]
struct ClaimView<'a> {
    /// The agent.
    ai_id: &'a str,
    /// Its session.
    session_id: Option<&'a SessionId>,
    /// When.
    claimed_at: &'a str,
}

impl<'a> From<&Claim<'a>> for ClaimView<'a> {
    fn from(claim: &Claim<'a>) -> Self {
        let envelope = claim.envelope;
        ClaimView { ai_id: &envelope.ai, session_id: envelope.session.as_ref(), claimed_at: &envelope.at }
    }
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
            owner: link.owner.as_ref().map(ClaimView::from),
            rivals: link.rivals.iter().take(RIVALS).map(ClaimView::from).collect(),
            verdict: link.verdict,
            ended_by: link.ended.map(|step| &step.envelope.id),
            waited_seconds: link.waited,
            worked_seconds: link.worked,
            is_open: link.is_open,
        }
    }
}

/// The agents of a chain, with arrows: `lead → tester → validator`; a handoff by someone else than the last receiver begins a new path.
pub fn path(chain: &[Link<'_>]) -> String {
    let mut out = String::new();
    let mut last: Option<String> = None;
    for link in chain {
        let from = safe::words(&link.envelope.ai);
        if last.as_ref() != Some(&from) {
            let gap = if out.is_empty() { "" } else { "; " };
            out.push_str(&format!("{gap}{from}"));
        }
        let next = receiver(link);
        out.push_str(&format!(" → {next}"));
        last = Some(next);
    }
    out
}

/// Who has a handoff, else whom it is for.
pub fn receiver(link: &Link<'_>) -> String {
    match link.receiver() {
        Some(ai) => safe::words(ai),
        None if link.is_escalated || link.handoff.route.is_some() => "a person".to_owned(),
        None => "anyone".to_owned(),
    }
}

/// What became of a handoff, in words: how long it waited, and who worked how long.
pub fn times(link: &Link<'_>) -> String {
    let (waited, by) = (duration(link.waited), receiver(link));
    let verdict = link.verdict.map(|verdict| format!(", {by} decided {}", verdict.name())).unwrap_or_default();
    match link.worked.map(duration) {
        Some(worked) => {
            let works = if link.is_open { "has worked for" } else { "worked" };
            let before = link.taken_over_from.map(|claim| safe::words(&claim.envelope.ai));
            let before = before.map(|ai| format!(" (taken over from {ai})")).unwrap_or_default();
            let rivals = match link.rivals.len() {
                0 => String::new(),
                n => format!("; also claimed by {}", format::count(n, "session")),
            };
            format!("waited {waited}, {by} {works} {worked}{before}{verdict}{rivals}")
        }
        None if link.is_open => format!("has waited {waited}"),
        None if link.ended.is_some() => format!("{by} handed on after {waited}, without a claim"),
        None => format!("waited {waited}, never claimed"),
    }
}

/// A stage on a line.
pub fn line(number: usize, link: &Link<'_>) -> String {
    let route = link.handoff.route.as_ref();
    let rule = route.map(|route| format!(" (rule '{}')", safe::words(&route.rule))).unwrap_or_default();
    let decision = link.decision.map(|decision| format!(", {}", decision.name())).unwrap_or_default();
    let (from, at) = (safe::words(&link.envelope.ai), format::date(&link.envelope.at));
    format!("{number}. {at}  {from} → {}{rule}{decision}: {}", receiver(link), times(link))
}
