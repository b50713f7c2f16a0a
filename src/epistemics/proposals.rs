//! The goals that a PREFLIGHT proposes: what to investigate, why, and what was tried before.

use std::collections::BTreeSet;

use super::confidence::round4;
use super::gate;
use super::matching::{best, words};
use super::short::short;
use crate::model::goal::{Goal, GoalState, Priority};
use crate::model::{Id, SessionId, Vector, Vectors};

/// Below this (less is better: above 1 − this) a vector asks for a goal (DESIGN §3).
const WEAK: f64 = 0.70;
/// Below this the goal's priority is medium.
const WEAKER: f64 = 0.60;
/// Below this it is high.
const WEAKEST: f64 = 0.50;
/// The most goals.
const MOST: usize = 5;
/// The most unknowns a description quotes.
const UNKNOWNS: usize = 3;
/// The most dead ends a rationale names.
const DEAD_ENDS: usize = 3;
/// The most earlier sessions a rationale names.
const SESSIONS: usize = 2;
/// How much is quoted of a text, in characters.
const QUOTED: usize = 160;

/// Something tried before, wherever it was.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Tried {
    pub id: Id,
    pub ai: String,
    pub approach: String,
    pub why: String,
}

/// A session of before.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Earlier {
    pub id: SessionId,
    pub ai: String,
    pub task: String,
}

/// What is at hand when goals are made.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AtHand {
    /// The task; `None` when none was said.
    pub task: Option<String>,
    /// The agent's reasoning.
    pub reasoning: Option<String>,
    /// The session's own open unknowns, oldest first.
    pub unknowns: Vec<String>,
    /// Other sessions' open unknowns.
    pub others_unknowns: Vec<String>,
    /// Every dead end that is known, oldest first.
    pub dead_ends: Vec<Tried>,
    /// Every other session with a task, oldest first.
    pub sessions: Vec<Earlier>,
}

/// One goal for each vector under 0.70 (uncertainty and density: above 0.30), weakest first, at most 5; those that
/// recommend to investigate are always among them. Empty when nothing recommends it (DESIGN §3).
pub fn goals(vectors: &Vectors, at_hand: &AtHand) -> Vec<(Vector, Goal)> {
    let triggers = gate::triggers(vectors);
    if triggers.is_empty() {
        return Vec::new();
    }
    let mut weak: Vec<(bool, f64, Vector, f64)> = vectors
        .iter()
        .map(|(vector, value)| (!triggers.contains(&vector), strength(vector, value), vector, value))
        .filter(|(other, strength, ..)| !other || *strength < WEAK)
        .collect();
    // what triggered has a place for certain
    weak.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    weak.truncate(MOST);
    weak.sort_by(|a, b| a.1.total_cmp(&b.1));
    let known = Known::of(at_hand);
    let make = |(at, (_, strength, vector, value)): (usize, (bool, f64, Vector, f64))| {
        let goal = Goal {
            text: description(vector, at_hand, &known.unknowns),
            criteria: vec![criterion(vector)],
            priority: priority(strength),
            rationale: Some(rationale(vector, value, &known, at == 0)),
            vector: Some(vector.name().to_owned()),
        };
        (vector, goal)
    };
    weak.into_iter().enumerate().map(make).collect()
}

/// Whether the value of a goal's vector has reached what the goal's criterion asks for. Not for goals that agents set.
pub fn reached(goal: &GoalState, vectors: &Vectors) -> Option<(Vector, f64)> {
    let vector: Vector = goal.vector.as_deref()?.parse().ok()?;
    let value = vectors.get(vector)?;
    (strength(vector, value) >= WEAK).then_some((vector, value))
}

/// A value as more is better, 4 decimals.
fn strength(vector: Vector, value: f64) -> f64 {
    round4(if vector.less_is_better() { 1.0 - value } else { value })
}

fn priority(strength: f64) -> Priority {
    match strength {
        s if s < WEAKEST => Priority::High,
        s if s < WEAKER => Priority::Medium,
        _ => Priority::Low,
    }
}

/// What is known already and has to do with the task.
struct Known<'a> {
    unknowns: Vec<&'a str>,
    dead_ends: Vec<&'a Tried>,
    sessions: Vec<&'a Earlier>,
}

impl<'a> Known<'a> {
    fn of(at_hand: &'a AtHand) -> Self {
        let mut about: BTreeSet<String> = words(at_hand.task.as_deref().unwrap_or_default());
        about.extend(words(at_hand.reasoning.as_deref().unwrap_or_default()));
        at_hand.unknowns.iter().for_each(|unknown| about.extend(words(unknown)));
        // the newest of its own, then what others left open about it
        let own = at_hand.unknowns.iter().rev().map(String::as_str);
        let others = best(&about, &at_hand.others_unknowns, |text| (*text).clone(), UNKNOWNS);
        let mut unknowns: Vec<&str> = Vec::new();
        for unknown in own.chain(others.into_iter().map(String::as_str)) {
            if unknowns.len() < UNKNOWNS && !unknowns.contains(&unknown) {
                unknowns.push(unknown);
            }
        }
        Known {
            unknowns,
            dead_ends: best(&about, &at_hand.dead_ends, |tried| format!("{} {}", tried.approach, tried.why), DEAD_ENDS),
            sessions: best(&about, &at_hand.sessions, |earlier| earlier.task.clone(), SESSIONS),
        }
    }
}

/// What is to be reached: in the words of the task, with the questions that are open.
fn description(vector: Vector, at_hand: &AtHand, unknowns: &[&str]) -> String {
    let task =
        at_hand.task.as_deref().map_or_else(|| "the task".to_owned(), |task| format!("\"{}\"", short(task, QUOTED)));
    let quoted: Vec<String> = unknowns.iter().map(|unknown| short(unknown, QUOTED)).collect();
    let open = if quoted.is_empty() { String::new() } else { format!(": {}", quoted.join("; ")) };
    match vector {
        Vector::Engagement => format!("Say what {task} is for, and agree on what is wanted"),
        Vector::Know => format!("Investigate what {task} rests on{open}"),
        Vector::Do => format!("Try out the commands and tools that {task} needs"),
        Vector::Context => format!("Map what surrounds {task}: callers, configuration, conventions"),
        Vector::Clarity => format!("Write down the steps of {task}, and what done means"),
        Vector::Coherence => format!("Find out what contradicts itself about {task}{open}"),
        Vector::Signal => format!("Find first-hand evidence for {task}: code, tests, logs"),
        Vector::Density => format!("Divide {task} into parts that can be understood one at a time"),
        Vector::State => format!("Map the present state for {task}: what is there, what works, what fails"),
        Vector::Change => format!("Find out what changed lately around {task}"),
        Vector::Completion => format!("List what is left to do for {task}"),
        Vector::Impact => format!("Find out what {task} will affect"),
        Vector::Uncertainty => format!("Answer what is open about {task}{open}"),
    }
}

/// How one knows that it is reached.
fn criterion(vector: Vector) -> String {
    let name = vector.name();
    match vector.less_is_better() {
        true => format!("{name} is {:.2} or less when it is assessed again, and something was learned", 1.0 - WEAK),
        false => format!("{name} is {WEAK:.2} or more when it is assessed again, and something was learned"),
    }
}

/// Why it is a goal. The first one tells what was tried before, the others name it by its ids.
fn rationale(vector: Vector, value: f64, known: &Known<'_>, first: bool) -> String {
    let mut out = format!("{} score {value:.2} indicates {}", vector.name().to_uppercase(), lack(vector));
    for tried in &known.dead_ends {
        out.push_str(&match first {
            true => {
                let (approach, why) = (short(&tried.approach, QUOTED), short(&tried.why, QUOTED));
                format!("; dead end {} of {}: {approach} — {why}", tried.id.short(), tried.ai)
            }
            false => format!("; dead end {}", tried.id.short()),
        });
    }
    for earlier in &known.sessions {
        out.push_str(&match first {
            true => {
                let task = short(&earlier.task, QUOTED);
                format!("; earlier session {} of {}: {task}", earlier.id.short(), earlier.ai)
            }
            false => format!("; earlier session {}", earlier.id.short()),
        });
    }
    out
}

fn lack(vector: Vector) -> &'static str {
    match vector {
        Vector::Engagement => "that the task is not yet agreed on",
        Vector::Know => "knowledge gaps",
        Vector::Do => "that it is not clear how to act",
        Vector::Context => "missing context",
        Vector::Clarity => "an unclear picture of the work",
        Vector::Coherence => "contradictions",
        Vector::Signal => "weak evidence",
        Vector::Density => "more than can be taken in at once",
        Vector::State => "incomplete environment mapping",
        Vector::Change => "that recent changes are not understood",
        Vector::Completion => "work that is not laid out yet",
        Vector::Impact => "effects that are not understood",
        Vector::Uncertainty => "open questions",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str, at_hand: &AtHand) -> Vec<(Vector, Goal)> {
        let mut v = Vectors::default();
        v.add_pairs(text).unwrap();
        goals(&v, at_hand)
    }

    fn of(text: &str) -> Vec<(&'static str, &'static str)> {
        made(text, &AtHand::default()).iter().map(|(v, g)| (v.name(), g.priority.name())).collect()
    }

    #[test]
    fn a_goal_for_each_weak_vector_weakest_first() {
        assert_eq!(of("know=0.9,uncertainty=0.6,do=0.1"), [], "nothing recommends to investigate");
        assert_eq!(of("know=0.6999"), [("know", "low")]);
        assert_eq!(of("know=0.60"), [("know", "low")]);
        assert_eq!(of("know=0.5999"), [("know", "medium")]);
        assert_eq!(of("know=0.50"), [("know", "medium")]);
        assert_eq!(of("know=0.4999"), [("know", "high")]);
        assert_eq!(of("uncertainty=0.61,know=0.7"), [("uncertainty", "high")]);
        assert_eq!(
            of("know=0.65,state=0.45,density=0.35,uncertainty=0.3"),
            [("state", "high"), ("know", "low"), ("density", "low")]
        );
    }

    #[test]
    fn at_most_five_and_what_triggered_among_them() {
        let of = of("know=0.69,do=0.1,context=0.2,clarity=0.3,coherence=0.15,signal=0.25");
        assert_eq!(
            of.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["do", "coherence", "context", "signal", "know"]
        );
    }

    #[test]
    fn goals_name_the_task_the_unknowns_and_what_was_tried() {
        let session = SessionId::parse("11111111-2222-4333-8444-555555555555").unwrap();
        let tried = |n: u8, approach: &str| Tried {
            id: Id::parse(&format!("00000000-0000-7000-8000-0000000000{n:02x}")).unwrap(),
            ai: "codex".into(),
            approach: approach.into(),
            why: "too slow".into(),
        };
        let at_hand = AtHand {
            task: Some("fix the flaky login test".into()),
            reasoning: None,
            unknowns: vec!["Which clock does it read?".into()],
            others_unknowns: vec!["Is the login test flaky on CI only?".into(), "Who pays?".into()],
            dead_ends: vec![tried(1, "paint it green"), tried(2, "sleeping in the login test")],
            sessions: vec![Earlier { id: session, ai: "ada".into(), task: "login tests".into() }],
        };
        let goals = made("know=0.65,uncertainty=0.8", &at_hand);
        let texts: Vec<&str> = goals.iter().map(|(_, g)| g.text.as_str()).collect();
        let open = "Which clock does it read?; Is the login test flaky on CI only?";
        assert_eq!(
            texts,
            [
                format!("Answer what is open about \"fix the flaky login test\": {open}"),
                format!("Investigate what \"fix the flaky login test\" rests on: {open}"),
            ]
        );
        let why: Vec<&str> = goals.iter().map(|(_, g)| g.rationale.as_deref().unwrap()).collect();
        assert_eq!(
            why,
            [
                "UNCERTAINTY score 0.80 indicates open questions; dead end 00000002 of codex: sleeping in the login test \
                 — too slow; earlier session 11111111 of ada: login tests",
                "KNOW score 0.65 indicates knowledge gaps; dead end 00000002; earlier session 11111111",
            ]
        );
    }
}
