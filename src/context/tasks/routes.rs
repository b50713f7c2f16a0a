//! The rules that name receivers, as the repository has them.

use std::collections::BTreeSet;

use crate::context::CommandContext;
use crate::fold::route::parse::{Problem, parse};
use crate::fold::route::{FILE, RouteFacts, RouteRules, Rule};
use crate::fold::task::handoffs;
use crate::fold::task::state::{TaskAction, TaskEvent, TaskState};
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::objects::content::{LARGEST, PathContent, Tree, WorkTree};
use empirica_notes::model::handoff::Route;
use empirica_notes::model::{Accept, Handoff, Id, SessionId, Verdict};

/// The file of the rules.
#[derive(Debug, Default)]
pub struct RouteFile {
    pub rules: RouteRules,
    pub problems: Vec<Problem>,
}

/// Reads the rules of the work tree, else of HEAD; `None` without the file.
pub fn read(context: &CommandContext<'_>, types: &[&str]) -> Result<Option<RouteFile>> {
    if context.repo.work_tree().is_some_and(|root| root.join(FILE).is_symlink()) {
        return Err(
            Error::refused(format!("cannot read {FILE}: it is a symbolic link")).suggest("Make it a regular file.")
        );
    }
    let in_tree = WorkTree::of(context.repo).map(|tree| tree.read(FILE));
    let bytes = match in_tree {
        Some((PathContent::File(_), Some(bytes))) => Some(bytes),
        Some((PathContent::Unknown | PathContent::Folder(_), _)) => {
            let most = LARGEST >> 20;
            return Err(Error::refused(format!(
                "cannot read {FILE}: it is not a regular file, or larger than {most} MiB"
            ))
            .suggest("Make it a regular file."));
        }
        // a bare repository, or a sparse work tree
        _ => match Tree::new(context.repo, context.store.head().tree).find(FILE) {
            PathContent::File(blob) => context.repo.read_blob(blob)?,
            _ => None,
        },
    };
    let Some(bytes) = bytes else { return Ok(None) };
    let (rules, problems) = match String::from_utf8(bytes) {
        Ok(text) => parse(&text, types),
        Err(_) => (RouteRules::default(), vec![Problem { line: 1, text: "the file is not UTF-8".to_owned() }]),
    };
    Ok(Some(RouteFile { rules, problems }))
}

/// Refuses rules with problems; names the first.
pub fn usable(file: &RouteFile) -> Result<()> {
    match file.problems.first() {
        None => Ok(()),
        Some(first) => Err(Error::refused(format!("cannot use {FILE}: line {}: {}", first.line, first.text))
            .suggest("Correct it; the check lists all that is wrong.")
            .command(empirica("route check"))),
    }
}

/// What a handoff by this agent and session is to rules.
pub fn facts(handoff: &Handoff, ai: &str, session: Option<&SessionId>, task: Option<&TaskState>) -> RouteFacts {
    RouteFacts::of(handoff, ai, decision(handoff, session, task).map(Verdict::name))
}

/// The decision of a handoff, else the last that its session made about what it continues.
fn decision(handoff: &Handoff, session: Option<&SessionId>, task: Option<&TaskState>) -> Option<Verdict> {
    let own = handoffs::text(handoff, "/manager_decision").and_then(Verdict::parse);
    let escalates = (handoff.kind == "escalation").then_some(Verdict::Escalate);
    let of = handoff.continues.as_ref();
    let steps = task.map_or(&[][..], |task| &task.steps[..]);
    let said = steps.iter().rev().find_map(|step| match &step.action {
        TaskAction::Accept(Accept { of: named, decision: Some(decision), .. })
            if Some(named) == of && step.envelope.session.as_ref() == session =>
        {
            Some(*decision)
        }
        _ => None,
    });
    own.or(escalates).or(said)
}

/// Where a handoff goes by the rules.
#[derive(Debug)]
pub enum Choice {
    /// By this rule.
    Rule {
        /// The receiver; `None` for a person.
        to: Option<String>,
        route: Route,
        /// How often the rule has handed on the task before, and how often it may.
        rounds: Option<(usize, u32)>,
    },
    /// No rule matches.
    NoRule,
    /// The task is escalated by another handoff, and waits for a person.
    Escalated,
}

/// Chooses the receiver of a handoff by this agent and session: that of the first rule that matches, unless the task is escalated.
pub fn choose(
    rules: &RouteRules,
    handoff: &Handoff,
    ai: &str,
    session: Option<&SessionId>,
    task: Option<&TaskState>,
) -> Choice {
    let versions = versions(handoff, session, task);
    let is_own = |step: &TaskEvent| versions.contains(&step.envelope.id);
    if task.and_then(TaskState::escalation).is_some_and(|step| !is_own(step)) {
        return Choice::Escalated;
    }
    let Some(rule) = rules.first(&facts(handoff, ai, session, task)) else { return Choice::NoRule };
    let handed_on = rounds(rule, task, &versions);
    let escalated = rule.rounds.is_some_and(|most| handed_on >= most as usize);
    let to = match escalated {
        true => rule.escalate.as_ref().map(|to| to.text.clone()),
        false => Some(rule.to.text.clone()),
    };
    let route = Route {
        rule: rule.name.clone(),
        escalated,
        then: escalated.then(|| rule.to.text.clone()),
        detail: rule.detail.clone(),
        budget: rule.budget,
    };
    Choice::Rule { to, route, rounds: rule.rounds.map(|most| (handed_on, most)) }
}

/// The handoffs of a task that this one is a version of: those of its stage.
fn versions(handoff: &Handoff, session: Option<&SessionId>, task: Option<&TaskState>) -> BTreeSet<Id> {
    let (Some(session), Some(task)) = (session, task) else { return BTreeSet::new() };
    let same = task.steps.iter().filter(|step| match &step.action {
        TaskAction::Handoff(other, _) => {
            step.envelope.session.as_ref() == Some(session)
                && other.kind == handoff.kind
                && other.kind == "epistemic"
                && other.stage(session) == handoff.stage(session)
        }
        _ => false,
    });
    same.map(|step| step.envelope.id.clone()).collect()
}

/// How often a rule has handed on a task since its last resolution; without the handoffs `but`.
fn rounds(rule: &Rule, task: Option<&TaskState>, but: &BTreeSet<Id>) -> usize {
    let mut count = 0;
    for step in task.into_iter().flat_map(TaskState::in_order) {
        match &step.action {
            TaskAction::Accept(Accept { resolution: Some(_), .. }) => count = 0,
            TaskAction::Handoff(handoff, false) if !but.contains(&step.envelope.id) => {
                count += usize::from(handoff.route.as_ref().is_some_and(|route| route.rule == rule.name));
            }
            _ => {}
        }
    }
    count
}
