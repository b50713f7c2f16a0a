//! Rules that name the receiver of a handoff, and why each matches or not.

pub mod lint;
pub mod parse;

use regex::Regex;

use crate::fold::assessment::confidence;
use crate::fold::assessment::trajectory::OVERALL;
use crate::fold::task::handoffs;
use empirica_notes::git::objects::pattern::PathPattern;
use empirica_notes::model::Handoff;

/// The file of the rules, relative to the root of the work tree.
pub const FILE: &str = ".empirica/routes.toml";

/// A text of the file, and its line, from 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Spanned {
    pub text: String,
    pub line: usize,
}

/// The rules of a file, in its order; the first that matches counts.
#[derive(Debug, Clone, Default)]
pub struct RouteRules {
    /// The agents of the team; empty if the file lists none.
    pub agents: Vec<Spanned>,
    pub rules: Vec<Rule>,
}

/// A rule: whose handoffs it is for, on what, and where they go.
#[derive(Debug, Clone)]
pub struct Rule {
    pub name: String,
    /// The line of its heading.
    pub line: usize,
    /// Empty for all agents but the receiver.
    pub from: Vec<Spanned>,
    pub to: Spanned,
    pub when: Vec<Condition>,
    /// How much the receiver gets: `summary`, `detailed` or `full`.
    pub detail: Option<String>,
    /// Of that at most so many tokens.
    pub budget: Option<u32>,
    /// How often it may hand on one task before it escalates it.
    pub rounds: Option<u32>,
    /// Who then decides; `None` for a person.
    pub escalate: Option<Spanned>,
}

/// What must hold for a rule to match.
#[derive(Debug, Clone)]
pub enum Condition {
    /// One of these words: of the type, the decision or the calibration.
    Word(WordKey, Vec<String>),
    /// A number compared: the confidence, or the count of open questions.
    Number(NumberKey, Comparison),
    /// Whether a check's last run failed.
    FailedEvidence(bool),
    /// A file of the handoff matches one of these.
    Paths(Vec<(String, PathPattern)>),
    /// The task matches, without regard to case.
    Task(Regex),
}

empirica_notes::named_enum! {
    /// Keys whose values are words.
    #[derive(PartialOrd, Ord)]
    pub enum WordKey {
        Type = "type",
        Decision = "decision",
        Calibration = "calibration",
    }
}

empirica_notes::named_enum! {
    /// Keys whose values are comparisons.
    #[derive(PartialOrd, Ord)]
    pub enum NumberKey {
        /// The overall confidence, 0 to 1.
        Confidence = "confidence",
        /// The number of open questions.
        Unknowns = "unknowns",
    }
}

/// A comparison with a number, as in `>= 0.7`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    pub operator: Operator,
    pub number: f64,
}

empirica_notes::named_enum! {
    pub enum Operator {
        Less = "<",
        AtMost = "<=",
        Equal = "=",
        AtLeast = ">=",
        Greater = ">",
    }
}

impl Comparison {
    fn holds(self, value: f64) -> bool {
        match self.operator {
            Operator::Less => value < self.number,
            Operator::AtMost => value <= self.number,
            Operator::Equal => value == self.number,
            Operator::AtLeast => value >= self.number,
            Operator::Greater => value > self.number,
        }
    }

    pub fn text(self) -> String {
        format!("{} {}", self.operator.name(), self.number)
    }
}

/// What rules see of a handoff.
#[derive(Debug, Clone, Default)]
pub struct RouteFacts {
    pub from: String,
    pub kind: String,
    pub decision: Option<&'static str>,
    pub calibration: &'static str,
    /// Overall, after the work, else at the last assessment; `None` without one.
    pub confidence: Option<f64>,
    pub unknowns: usize,
    /// The checks whose last run failed.
    pub failed: Vec<String>,
    pub files: Vec<String>,
    /// Its title, and its id if it has one.
    pub task: Vec<String>,
}

impl RouteFacts {
    /// The facts of a handoff by this agent, with the decision that it, or else its session, made about the task.
    pub fn of(handoff: &Handoff, from: &str, decision: Option<&'static str>) -> Self {
        let overall = handoff.trajectory.iter().find(|row| row.vector == OVERALL).and_then(|row| row.after);
        let last = handoff.assessments.last();
        let last = last.and_then(|last| last.confidence.or_else(|| confidence::overall(&last.vectors)));
        RouteFacts {
            from: from.to_owned(),
            kind: handoff.kind.clone(),
            decision,
            calibration: handoff.calibration_status.name(),
            confidence: overall.or(last),
            unknowns: handoff.unknowns.len(),
            failed: handoff.evidence.iter().filter(|run| run.exit != 0).map(|run| run.command.clone()).collect(),
            files: handoffs::files(&[handoff]),
            task: std::iter::once(&handoff.task).chain(&handoff.task_id).cloned().collect(),
        }
    }
}

/// One condition of a rule, against a handoff.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub holds: bool,
    /// What was compared: `confidence is 0.81 (wanted < 0.7)`.
    pub text: String,
}

impl Rule {
    /// Its conditions against a handoff, its senders first. It matches if all hold.
    pub fn check(&self, facts: &RouteFacts) -> Vec<Checked> {
        let from: Vec<&str> = self.from.iter().map(|from| from.text.as_str()).collect();
        let sender = match from.is_empty() {
            // to oneself only if the rule says so
            true => Checked { holds: facts.from != self.to.text, text: format!("from is {}", facts.from) },
            false => is_one_of("from", Some(&facts.from), &from),
        };
        std::iter::once(sender).chain(self.when.iter().map(|condition| condition.check(facts))).collect()
    }

    pub fn matches(&self, facts: &RouteFacts) -> bool {
        self.check(facts).iter().all(|checked| checked.holds)
    }
}

impl Condition {
    fn check(&self, facts: &RouteFacts) -> Checked {
        match self {
            Condition::Word(key, words) => {
                let value = match key {
                    WordKey::Type => Some(facts.kind.as_str()),
                    WordKey::Decision => facts.decision,
                    WordKey::Calibration => Some(facts.calibration),
                };
                is_one_of(key.name(), value, &words.iter().map(String::as_str).collect::<Vec<_>>())
            }
            Condition::Number(key, comparison) => {
                let value = match key {
                    NumberKey::Confidence => facts.confidence,
                    NumberKey::Unknowns => Some(facts.unknowns as f64),
                };
                let (key, wanted) = (key.name(), comparison.text());
                match value {
                    None => Checked { holds: false, text: format!("{key} is not given") },
                    Some(value) => {
                        Checked { holds: comparison.holds(value), text: format!("{key} is {value} (wanted {wanted})") }
                    }
                }
            }
            Condition::FailedEvidence(wanted) => {
                let text = match &facts.failed[..] {
                    [] => "no check failed".to_owned(),
                    failed => format!("failed: {}", failed.join(", ")),
                };
                Checked { holds: facts.failed.is_empty() != *wanted, text }
            }
            Condition::Paths(patterns) => {
                let found = facts
                    .files
                    .iter()
                    .find_map(|file| Some((file, patterns.iter().find(|(_, pattern)| pattern.matches(file))?)));
                match found {
                    Some((file, (pattern, _))) => Checked { holds: true, text: format!("{file} matches {pattern}") },
                    None => {
                        let all: Vec<&str> = patterns.iter().map(|(text, _)| text.as_str()).collect();
                        Checked { holds: false, text: format!("no file matches {}", all.join(" or ")) }
                    }
                }
            }
            Condition::Task(pattern) => match facts.task.iter().any(|task| pattern.is_match(task)) {
                true => Checked { holds: true, text: format!("the task matches {pattern}") },
                false => Checked { holds: false, text: format!("the task does not match {pattern}") },
            },
        }
    }
}

fn is_one_of(key: &str, value: Option<&str>, wanted: &[&str]) -> Checked {
    match value {
        None => Checked { holds: false, text: format!("{key} is not given") },
        Some(value) if wanted.contains(&value) => Checked { holds: true, text: format!("{key} is {value}") },
        Some(value) => Checked { holds: false, text: format!("{key} is {value}, not {}", wanted.join(" or ")) },
    }
}

impl RouteRules {
    /// The first rule that matches.
    pub fn first(&self, facts: &RouteFacts) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.matches(facts))
    }
}
