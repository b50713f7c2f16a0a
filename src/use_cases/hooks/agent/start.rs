//! The start of a session: what its agent is told.

use crate::context::{CommandContext, handoffs};
use crate::fold::assessment::drift::WINDOW;
use crate::fold::assessment::gate::Gate;
use crate::fold::assessment::session_gate::gate;
use crate::index::HandoffQuery;
use crate::use_cases::handoff::arrival;
use crate::use_cases::hooks::agent::background::LARGE;
use crate::use_cases::hooks::agent::event::{HookEvent, StartSource};
use crate::use_cases::hooks::agent::event_session::{self, EventSession};
use crate::use_cases::hooks::agent::injection::{Injection, SessionBrief};
use crate::use_cases::hooks::agent::{compaction, new_clone};
use crate::use_cases::session::project_overview::Extent;
use crate::use_cases::session::{project_overview, unattended};
use empirica_notes::error::Result;
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
    let lacks_setup = new_clone::lacks_setup(context)?;
    if lacks_setup {
        new_clone::fetch_notes(context, &format!("agent {} {}", event.agent.name(), event.name))?;
    }
    unattended::catch_up(context, LARGE)?;
    let Some(EventSession { id, continues }) = event_session::find_or_start(context, event, true)? else {
        return Ok(None);
    };
    context.belongs_to_this_agent(&id);
    let budget = context.repo.config("empirica.startBudget").and_then(|text| text.parse().ok()).unwrap_or(START_BUDGET);
    if budget == 0 {
        return Ok(None);
    }
    let continues = continues || source == StartSource::Resume;
    let project = project_overview::run(context, Some(id.clone()), Extent::START)?;
    let listed = handoffs::newest(&context.index()?, &HandoffQuery::default())?;
    let arrivals = arrival::changes_since(context, &listed.iter().collect::<Vec<_>>())?.0;
    // the confidence that was lost before is told to whoever comes next
    let gate = match listed.as_ref().and_then(|listed| listed.envelope.session.as_ref()) {
        _ if continues => Some(last_gate(context, &id)?),
        Some(before) => Some(last_gate(context, before)?).filter(|gate| !gate.drift.is_safe()),
        None => None,
    };
    let handed = listed.into_iter().zip(arrivals).next();
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

/// The gate of a session; without an assessment, that of the one that it continues.
fn last_gate(context: &CommandContext<'_>, id: &SessionId) -> Result<Gate> {
    let own = gate(&context.session(id)?, id, WINDOW);
    let parent = context.index()?.session_row(id)?.and_then(|row| row.session.from);
    match parent.filter(|_| own.drift.analyzed == 0) {
        Some(parent) => Ok(gate(&context.session(&parent)?, &parent, WINDOW)),
        None => Ok(own),
    }
}
