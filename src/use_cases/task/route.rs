//! Where the rules send a handoff, and why; and what is wrong with the rules.

use std::collections::BTreeSet;

use crate::context::tasks::routes;
use crate::context::tasks::routes::Choice;
use crate::context::{CommandContext, tasks};
use crate::fold::route::lint::lint;
use crate::fold::route::parse::Problem;
use crate::fold::route::{Checked, FILE, Rule};
use crate::use_cases::handoff::build::{HandoffParts, draft};
use crate::use_cases::handoff::managed::HandoffType;
use crate::use_cases::handoff::receive::accept::named;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::model::{Body, Envelope, Handoff, Id};
use empirica_transcripts::model::Agent;

/// A rule against a handoff.
#[derive(Debug)]
pub struct Explained {
    pub name: String,
    pub line: usize,
    pub to: String,
    pub conditions: Vec<Checked>,
}

impl Explained {
    pub fn matches(&self) -> bool {
        self.conditions.iter().all(|checked| checked.holds)
    }
}

/// Where a handoff goes by the rules.
#[derive(Debug)]
pub struct RouteOutcome {
    /// The handoff; `None` for the one the session would write now.
    pub of: Option<Id>,
    pub task_id: Option<String>,
    /// All rules, in their order.
    pub rules: Vec<Explained>,
    pub choice: Choice,
    /// The receiver that the sender named, which wins.
    pub named: Option<String>,
    pub warnings: Vec<String>,
}

fn types() -> [&'static str; 6] {
    HandoffType::ALL.map(HandoffType::name)
}

/// Error: the team wrote no rules.
fn no_rules() -> Error {
    Error::not_found(format!("cannot read {FILE}: the repository has no such file"))
        .suggest("Write rules, as in the example.")
        .command(empirica("help").arg("routes"))
}

/// Explains where a stored handoff goes by the present rules, or the one that the session would write now.
pub fn explain(context: &CommandContext<'_>, name: Option<&str>) -> Result<RouteOutcome> {
    let mut warnings = context.store.reconcile();
    let file = routes::read(context, &types())?.ok_or_else(no_rules)?;
    routes::usable(&file)?;
    let (envelope, handoff): (Option<Envelope>, Handoff) = match name {
        Some(name) => {
            let record = named(context, name)?;
            let Body::Handoff(handoff) = record.body else { return Err(Error::unstored()) };
            (Some(record.envelope), *handoff)
        }
        None => {
            let session = context.working()?;
            let drafted = draft(context, &session, Default::default(), &mut HandoffParts::default())?;
            warnings.extend(drafted.warnings);
            (None, drafted.handoff)
        }
    };
    let (ai, session) = match &envelope {
        Some(envelope) => (envelope.ai.clone(), envelope.session.clone()),
        None => context.working().map(|session| (session.ai, Some(session.id)))?,
    };
    let task = handoff.task_id.as_deref().map(|task| tasks::state(context, task)).transpose()?.flatten();
    let facts = routes::facts(&handoff, &ai, session.as_ref(), task.as_ref());
    let explained = |rule: &Rule| Explained {
        name: rule.name.clone(),
        line: rule.line,
        to: rule.to.text.clone(),
        conditions: rule.check(&facts),
    };
    Ok(RouteOutcome {
        of: envelope.map(|envelope| envelope.id),
        rules: file.rules.rules.iter().map(explained).collect(),
        choice: routes::choose(&file.rules, &handoff, &ai, session.as_ref(), task.as_ref()),
        named: handoff.to.filter(|_| handoff.route.is_none()),
        task_id: handoff.task_id,
        warnings,
    })
}

/// What is wrong with the rules.
#[derive(Debug)]
pub struct RouteCheck {
    pub rules: usize,
    pub problems: Vec<Problem>,
}

/// Checks the rules: their form, and if that is right, unknown agents, unreachable rules and endless circles.
pub fn check(context: &CommandContext<'_>) -> Result<RouteCheck> {
    let file = routes::read(context, &types())?.ok_or_else(no_rules)?;
    let mut problems = file.problems;
    if problems.is_empty() {
        let mut known: BTreeSet<String> = context.index()?.agents()?.into_iter().map(|(ai, _)| ai).collect();
        known.extend(Agent::ALL.map(|agent| agent.name().to_owned()));
        problems = lint(&file.rules, &known);
    }
    Ok(RouteCheck { rules: file.rules.rules.len(), problems })
}
