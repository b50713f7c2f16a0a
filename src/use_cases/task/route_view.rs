//! The answers of `route` and `route check`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::tasks::routes::Choice;
use crate::fold::route::parse::Problem;
use crate::fold::route::{Checked, FILE};
use crate::render::answer::Answer;
use crate::render::format::count;
use crate::render::safe;
use crate::use_cases::task::route::{Explained, RouteCheck, RouteOutcome};
use empirica_notes::error::Error;
use empirica_notes::model::Id;
use empirica_notes::model::handoff::Route;

/// Where a handoff goes by the rules.
#[derive(Serialize, JsonSchema)]
pub struct RouteView<'a> {
    /// The handoff; null for the one the session would write now.
    handoff_id: Option<&'a Id>,
    /// Its task.
    task_id: Option<&'a str>,
    /// The receiver; null if no rule matches, or a person must decide.
    to: Option<&'a str>,
    /// The rule that names it; null if the sender did, or none matches.
    route: Option<&'a Route>,
    /// How often that rule handed on the task before; null if it has no limit.
    rounds: Option<usize>,
    /// Whether the task is escalated, by the rule or by another handoff, and waits for a person.
    escalated: bool,
    /// All rules, in their order; the first that matches counts.
    rules: Vec<RuleView<'a>>,
}

/// A rule against a handoff.
#[derive(Serialize, JsonSchema)]
struct RuleView<'a> {
    /// Its name.
    rule: &'a str,
    /// Its line.
    line: usize,
    /// Its receiver.
    to: &'a str,
    /// Whether all of its conditions hold.
    matches: bool,
    /// Its conditions.
    conditions: Vec<ConditionView<'a>>,
}

/// A condition.
#[derive(Serialize, JsonSchema)]
struct ConditionView<'a> {
    /// Whether it holds.
    holds: bool,
    /// What was compared.
    text: &'a str,
}

impl<'a> From<&'a Checked> for ConditionView<'a> {
    fn from(Checked { holds, text }: &'a Checked) -> Self {
        ConditionView { holds: *holds, text }
    }
}

fn rule_view(rule: &Explained) -> RuleView<'_> {
    RuleView {
        rule: &rule.name,
        line: rule.line,
        to: &rule.to,
        matches: rule.matches(),
        conditions: rule.conditions.iter().map(ConditionView::from).collect(),
    }
}

/// The answer of `route`; the text of one that `explains` has each rule.
pub fn answer(outcome: &RouteOutcome, explains: bool) -> Answer {
    let RouteOutcome { of, task_id, rules, choice, named, .. } = outcome;
    let by_rule = match choice {
        Choice::Rule { to, route, rounds } if named.is_none() => Some((to, route, rounds)),
        _ => None,
    };
    let is_blocked = named.is_none() && matches!(choice, Choice::Escalated);
    let view = RouteView {
        handoff_id: of.as_ref(),
        task_id: task_id.as_deref(),
        to: named.as_deref().or(by_rule.and_then(|(to, ..)| to.as_deref())),
        route: by_rule.map(|(_, route, _)| route),
        rounds: by_rule.and_then(|(.., rounds)| rounds.map(|(handed_on, _)| handed_on)),
        escalated: is_blocked || by_rule.is_some_and(|(_, route, _)| route.escalated),
        rules: rules.iter().map(rule_view).collect(),
    };
    let mut text = match (named, by_rule) {
        (Some(named), _) => format!("to {}: the sender named it\n", safe::words(named)),
        (None, Some((to, route, rounds))) => {
            let rule = safe::words(&route.rule);
            let to = to.as_deref().map_or_else(|| "a person".to_owned(), safe::words);
            match rounds.filter(|_| route.escalated) {
                Some((_, most)) => {
                    format!("escalated to {to}: rule '{rule}' reached its {}\n", count(most as usize, "round"))
                }
                None => format!("to {to} by rule '{rule}'\n"),
            }
        }
        (None, None) if is_blocked => "no receiver: the task is escalated and waits for a person\n".to_owned(),
        (None, None) => "no receiver: no rule matches\n".to_owned(),
    };
    if explains {
        let mut is_first = true;
        for rule in rules {
            let word = match rule.matches() {
                true if is_first => "matches",
                true => "matches, but a rule before it matched first",
                false => "does not match",
            };
            is_first &= !rule.matches();
            let (name, to) = (safe::words(&rule.name), safe::words(&rule.to));
            text.push_str(&format!("\n{FILE}:{}: {name}, to {to}: {word}\n", rule.line));
            for checked in &rule.conditions {
                text.push_str(&format!(
                    "  {} {}\n",
                    if checked.holds { "yes" } else { "no " },
                    safe::words(&checked.text)
                ));
            }
        }
    }
    Answer::new(view).text(text).warn(outcome.warnings.clone())
}

/// What is wrong with the rules.
#[derive(Serialize, JsonSchema)]
pub struct RouteCheckView<'a> {
    /// How many rules can be read.
    rules: usize,
    /// The problems, in order of lines.
    problems: Vec<ProblemView<'a>>,
}

/// A problem.
#[derive(Serialize, JsonSchema)]
struct ProblemView<'a> {
    /// Its line.
    line: usize,
    /// What is wrong.
    text: &'a str,
}

/// The answer of `route check`; fails with problems.
pub fn checked(outcome: &RouteCheck) -> Answer {
    let RouteCheck { rules, problems } = outcome;
    let views = problems.iter().map(|Problem { line, text }| ProblemView { line: *line, text }).collect();
    let lines = problems.iter().map(|Problem { line, text }| format!("{FILE}:{line}: {}\n", safe::words(text)));
    let mut answer = Answer::new(RouteCheckView { rules: *rules, problems: views }).text(lines.collect::<String>());
    match problems.len() {
        0 => answer.text(format!("{}, no problems.\n", count(*rules, "rule"))),
        wrong => {
            let title = format!("cannot rely on {FILE}: {}", count(wrong, "problem"));
            answer.failed = Some(Error::refused(title).suggest("Correct the file and check it again."));
            answer
        }
    }
}
