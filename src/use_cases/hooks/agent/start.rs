//! The start of a session: what its agent is told.

use crate::context::handoffs::ListedHandoff;
use crate::context::{CommandContext, handoffs};
use crate::fold::assessment::drift::WINDOW;
use crate::fold::assessment::gate::Gate;
use crate::fold::assessment::session_gate::gate;
use crate::index::HandoffQuery;
use crate::use_cases::handoff::arrival;
use crate::use_cases::handoff::arrival::fold::Arrival;
use crate::use_cases::hooks::agent::background::LARGE;
use crate::use_cases::hooks::agent::event::{HookEvent, StartSource};
use crate::use_cases::hooks::agent::event_session::{self, EventSession};
use crate::use_cases::hooks::agent::injection::{Injection, SessionBrief};
use crate::use_cases::hooks::agent::{compaction, new_clone};
use crate::use_cases::hooks::errors::in_one_line;
use crate::use_cases::session::project_overview::{Extent, ProjectOverviewOutcome};
use crate::use_cases::session::{project_overview, unattended};
use empirica_notes::error::Result;
use empirica_notes::git::repository::status;
use empirica_notes::model::SessionId;

/// Default of `empirica.startBudget`, in tokens.
const START_BUDGET: usize = 500;

pub fn on_session_start(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    source: StartSource,
) -> Result<Option<Injection>> {
    if source == StartSource::Compact {
        return compaction::after(context, event, true);
    }
    let hook = format!("agent {} {}", event.agent.name(), event.name);
    let lacks_setup = new_clone::lacks_setup(context)?;
    if lacks_setup {
        new_clone::fetch_notes(context, &hook)?;
    }
    match unattended::catch_up(context, LARGE) {
        // the background begins the session
        Err(error) if context.index_cache.is_late() => return Err(error),
        // start the session anyway
        Err(error) => context.store.hook_errors().add(&hook, &in_one_line(&error)),
        Ok(()) => {}
    }
    let budget = context.repo.config("empirica.startBudget").and_then(|text| text.parse().ok()).unwrap_or(START_BUDGET);
    // read before a new session is stored, as the index is made current for the next reader
    let told = (budget > 0).then(|| read(context, event));
    let Some(EventSession { id, continues }) = event_session::find_or_start(context, event, true)? else {
        return Ok(None);
    };
    context.belongs_to_this_agent(&id);
    let Some((project, handed)) = told.transpose()? else { return Ok(None) };
    let continues = continues || source == StartSource::Resume;
    // the confidence that was lost before is told to whoever comes next
    let gate = match handed.as_ref().and_then(|(listed, _)| listed.envelope.session.as_ref()) {
        _ if continues => Some(last_gate(context, &id)?),
        Some(before) => Some(last_gate(context, before)?).filter(|gate| !gate.drift.is_safe()),
        None => None,
    };
    Ok(Some(Injection::Session(Box::new(SessionBrief {
        session: id,
        continues,
        project,
        handed,
        gate,
        lacks_setup,
        budget,
    }))))
}

/// The project, and the newest handoff with what changed since.
fn read(
    context: &CommandContext<'_>,
    event: &HookEvent,
) -> Result<(ProjectOverviewOutcome, Option<(ListedHandoff, Arrival)>)> {
    let own = event_session::active_session(context, event)?;
    let handoff = handoffs::newest(&context.index()?, &HandoffQuery::default())?;
    // it takes as long as the rest
    let status = handoff.as_ref().map(|_| status::start(context.repo));
    let project = project_overview::read(context, own, Extent::START)?;
    let Some((handoff, status)) = handoff.zip(status) else { return Ok((project, None)) };
    let arrival = arrival::changes_with(context, &[&handoff], status)?.0.pop();
    Ok((project, arrival.map(|arrival| (handoff, arrival))))
}

/// The gate of a session; without an assessment, that of the one that it continues.
fn last_gate(context: &CommandContext<'_>, id: &SessionId) -> Result<Gate> {
    let own = gate(&context.session(id)?, id, WINDOW);
    let parent = context.index()?.session_row(id)?.and_then(|row| row.session.from);
    match parent.filter(|_| own.drift.analyzed == 0) {
        Some(parent) => Ok(gate(&context.session(&parent)?, &parent, WINDOW)),
        None => Ok(own),
    }
}
