//! Metrics of handovers, computed from the records on request. Writes nothing.

pub mod duplicates;
pub mod fold;
pub mod stages;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};

use crate::context::handoffs::ListedHandoff;
use crate::context::records::gather_from;
use crate::context::{CommandContext, handoffs};
use crate::fold::facts::SessionFacts;
use crate::index::Index;
use crate::text::tokens;
use crate::use_cases::handoff::arrival;
use crate::use_cases::handoff::receive::accept;
use crate::use_cases::history::metrics::fold::{
    HandoffMetrics, Metrics, MetricsQuery, Period, Reception, metrics, reception,
};
use crate::use_cases::history::metrics::stages::{Stages, stages};
use crate::use_cases::search::filter::date;
use crate::use_cases::session::resume::{ResumedSession, resumed};
use crate::use_cases::task;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::history::dates::DayBoundary;
use empirica_notes::model::SessionId;

/// Most handoffs whose resume is measured: per agent, and in all.
const MEASURED: (usize, usize) = (3, 30);

#[derive(Debug, Clone)]
pub struct MetricsRequest {
    pub since: Option<String>,
    pub until: Option<String>,
    /// Length of periods.
    pub by: Period,
    pub limit: usize,
    /// Whether to count tokens instead of estimating them.
    pub exact: bool,
}

/// The metrics, and the text that `resume` would print for some handoffs.
#[derive(Debug)]
pub struct MetricsOutcome {
    pub query: MetricsQuery,
    pub limit: usize,
    /// Whether tokens are counted instead of estimated.
    pub exact: bool,
    pub metrics: Metrics,
    pub stages: Stages,
    /// The newest handoffs of each agent as resumed: at most 3 per agent and 30 in all, newest first.
    pub measured: Vec<(HandoffMetrics, ResumedSession)>,
    /// Whether any session is stored.
    pub any: bool,
    pub warnings: Vec<String>,
}

/// Computes metrics of all sessions, or those of `--ai`.
pub fn run(context: &CommandContext<'_>, request: &MetricsRequest) -> Result<MetricsOutcome> {
    can_count(request.exact)?;
    // a second ends before the next begins
    let edge = |name, text: &Option<String>, edge: DayBoundary, last_ms: i64| -> Result<Option<i64>> {
        let at = text.as_deref().map(|text| date(context, name, text, edge)).transpose()?;
        Ok(at.map(|seconds| seconds.saturating_mul(1000).saturating_add(last_ms)))
    };
    let query = MetricsQuery {
        ai: context.selection.ai.clone(),
        since_ms: edge("--since", &request.since, DayBoundary::Start, 0)?,
        until_ms: edge("--until", &request.until, DayBoundary::End, 999)?,
        by: request.by,
    };
    let index = context.index()?;
    let facts = facts(&index)?;
    let metrics = metrics(&facts, &query);
    let chosen = sample(&metrics.handed);
    let (resumed, warnings) = resume(context, &index, &chosen)?;
    let stages = stages(&task::list::all(context)?, &query, context.store.now());
    Ok(MetricsOutcome {
        stages,
        query,
        limit: request.limit,
        exact: request.exact,
        measured: chosen.into_iter().cloned().zip(resumed).collect(),
        any: !facts.is_empty(),
        metrics,
        warnings,
    })
}

#[derive(Debug)]
pub struct HandoffWorth {
    /// The handoff, with the commit it is attached to.
    pub listed: ListedHandoff,
    /// Its acknowledgements, oldest first.
    pub received: accept::ReceivedHandoff,
    pub reception: Reception,
    /// Its part in `resume`; `None` if the session has a newer handoff.
    pub resumed: Option<ResumedSession>,
    /// Whether tokens are counted instead of estimated.
    pub exact: bool,
    pub warnings: Vec<String>,
}

/// Measures the newest handoff of the current session; an error if it has none.
pub fn of_session(context: &CommandContext<'_>, exact: bool) -> Result<HandoffWorth> {
    let session = context.working()?.id;
    let newest = handoffs::of_session(context, &session)?.ok_or_else(|| {
        Error::not_found(format!("cannot measure session {}: it has no handoff yet", session.short()))
            .reason("only a handoff can be measured")
            .suggest("Hand over first.")
            .command(empirica("handoff").option("--session", session.short()))
    })?;
    one(context, newest.envelope.id.as_str(), exact)
}

pub fn one(context: &CommandContext<'_>, name: &str, exact: bool) -> Result<HandoffWorth> {
    can_count(exact)?;
    let id = accept::named(context, name)?.envelope.id;
    let index = context.index()?;
    let facts = facts(&index)?;
    let listed = handoffs::by_ids(&index, std::slice::from_ref(&id))?
        .pop()
        .ok_or_else(|| crate::context::names::no_record(name, "handoff", "it was removed while it was read"))?;
    let everything = MetricsQuery { ai: None, since_ms: None, until_ms: None, by: Period::Month };
    let handed = metrics(&facts, &everything).handed;
    // of several handoffs in force, resume shows the newest
    let newest = handed.iter().find(|handed| Some(&handed.session) == listed.envelope.session.as_ref());
    let chosen: Vec<&HandoffMetrics> = newest.filter(|newest| newest.id == id).into_iter().collect();
    let (mut resumed, warnings) = resume(context, &index, &chosen)?;
    Ok(HandoffWorth {
        received: accept::received_handoff(context, &id)?,
        reception: reception(&facts, &id),
        resumed: resumed.pop(),
        listed,
        exact,
        warnings,
    })
}

fn can_count(exact: bool) -> Result<()> {
    if exact && !tokens::CAN_COUNT {
        return Err(Error::refused("cannot count tokens exactly in this build")
            .reason("it was built without the feature exact-tokens, whose tables would make it 6 MB larger")
            .suggest("Leave --exact out for an estimate, or build the program with that feature, where its source is.")
            .command("cargo install --locked --path . --features exact-tokens"));
    }
    Ok(())
}

/// The newest handoffs of each agent, of distinct sessions, as shown by `resume`.
fn sample(handed: &[HandoffMetrics]) -> Vec<&HandoffMetrics> {
    let (mut sessions, mut agents): (BTreeSet<&SessionId>, BTreeMap<&str, usize>) = Default::default();
    let chosen = handed.iter().filter(|handed| {
        let is_shown = sessions.insert(&handed.session);
        let of_agent = agents.entry(&handed.ai).or_default();
        *of_agent += usize::from(is_shown);
        is_shown && *of_agent <= MEASURED.0
    });
    chosen.take(MEASURED.1).collect()
}

/// Facts of all sessions, fetched and pending records included.
fn facts(index: &Index<'_>) -> Result<Vec<SessionFacts>> {
    Ok(index.summaries(None)?.into_iter().map(|(_, summary)| summary.facts).collect())
}

/// These handoffs as resumed, in order, and warnings.
fn resume(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    chosen: &[&HandoffMetrics],
) -> Result<(Vec<ResumedSession>, Vec<String>)> {
    let listed = handoffs::by_ids(index, &chosen.iter().map(|handed| handed.id.clone()).collect::<Vec<_>>())?;
    let (arrivals, from_git) = arrival::changes_since(context, &listed.iter().collect::<Vec<_>>())?;
    let mut out = Vec::new();
    for (listed, arrival) in listed.iter().zip(arrivals) {
        if let Some(id) = &listed.envelope.session {
            let records = gather_from(&index.session(id)?, id)?;
            out.push(ResumedSession { arrival: Some(arrival), ..resumed(records, Some(listed), context) });
        }
    }
    Ok((out, index.double_warnings()?.into_iter().chain(from_git).collect()))
}
