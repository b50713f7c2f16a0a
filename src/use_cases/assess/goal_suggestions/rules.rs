//! The goals that a PREFLIGHT suggests: their texts, priorities, criteria and rationales.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::fold::assessment::confidence::round4;
use crate::fold::assessment::gate;
use crate::text::imperative::begins_with_verb;
use crate::text::shorten::short;
use crate::text::similarity::{best, words};
use empirica_notes::model::goal::{Goal, GoalState, Priority};
use empirica_notes::model::{Id, SessionId, Vector, Vectors};

/// Below this (less is better: above 1 − this) a vector gets a goal.
const WEAK: f64 = 0.70;
/// Below this the goal's priority is medium.
const WEAKER: f64 = 0.60;
/// Below this it is high.
const WEAKEST: f64 = 0.50;
/// The vectors that recommend investigating, in the order their goals lead.
const LEADING: [Vector; 3] = [Vector::Know, Vector::Uncertainty, Vector::State];
/// Near zero before work by nature: they get no goal.
const SILENT: [Vector; 3] = [Vector::Completion, Vector::Change, Vector::Impact];
const MAX_SUGGESTIONS: usize = 5;
/// The most unknowns that a goal names or counts.
const UNKNOWNS: usize = 3;
/// The longest task or question that a goal names, in characters.
const NAMED: usize = 90;
/// The most dead ends a rationale names.
const DEAD_ENDS: usize = 3;
/// The most earlier sessions a rationale names.
const SESSIONS: usize = 2;
/// The longest quotation, in characters.
const QUOTED: usize = 160;

/// A dead end.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierAttempt {
    pub id: Id,
    pub ai: String,
    pub approach: String,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct EarlierSession {
    pub id: SessionId,
    pub ai: String,
    pub task: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SuggestionInput {
    pub task: Option<String>,
    pub reasoning: Option<String>,
    /// The session's own open unknowns, oldest first.
    pub unknowns: Vec<String>,
    /// Other sessions' open unknowns.
    pub others_unknowns: Vec<String>,
    /// Dead ends, oldest first.
    pub dead_ends: Vec<EarlierAttempt>,
    /// Other sessions with a task, oldest first.
    pub sessions: Vec<EarlierSession>,
}

/// One goal for each vector under 0.70 (uncertainty and density: above 0.30), at most 5: first know, uncertainty and state
/// where they recommend investigating, then the others, weakest first. Empty when nothing recommends it.
pub fn goals(vectors: &Vectors, input: &SuggestionInput) -> Vec<(Vector, Goal)> {
    let triggers = gate::triggers(vectors);
    if triggers.is_empty() {
        return Vec::new();
    }
    let lead = |vector: Vector| {
        let place = LEADING.iter().position(|leading| *leading == vector);
        place.filter(|_| triggers.contains(&vector)).unwrap_or(LEADING.len())
    };
    let mut weak: Vec<(usize, f64, Vector, f64)> = vectors
        .iter()
        .map(|(vector, value)| (lead(vector), strength(vector, value), vector, value))
        .filter(|(lead, strength, vector, _)| *lead < LEADING.len() || (*strength < WEAK && !SILENT.contains(vector)))
        .collect();
    weak.sort_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| if a.0 < LEADING.len() { Ordering::Equal } else { a.1.total_cmp(&b.1) })
    });
    weak.truncate(MAX_SUGGESTIONS);
    let related = RelatedWork::of(input);
    // one goal names the open questions
    let asks = if weak.iter().any(|weak| weak.2 == Vector::Uncertainty) { Vector::Uncertainty } else { Vector::Know };
    let make = |(at, (lead, strength, vector, value)): (usize, (usize, f64, Vector, f64))| {
        let goal = Goal {
            text: description(vector, input.task.as_deref(), if vector == asks { &related.unknowns } else { &[] }),
            criteria: vec![criterion(vector)],
            priority: priority(lead < LEADING.len(), strength),
            rationale: Some(rationale(vector, value, &related, at == 0)),
            vector: Some(vector.name().to_owned()),
        };
        (vector, goal)
    };
    weak.into_iter().enumerate().map(make).collect()
}

/// The vector of a goal, and its value if that meets the goal's criterion. Not for goals that agents set.
pub fn reached(goal: &GoalState, vectors: &Vectors) -> Option<(Vector, f64)> {
    let vector: Vector = goal.vector.as_deref()?.parse().ok()?;
    let value = vectors.get(vector)?;
    (strength(vector, value) >= WEAK).then_some((vector, value))
}

/// A value, inverted if less is better, 4 decimals.
fn strength(vector: Vector, value: f64) -> f64 {
    round4(if vector.less_is_better() { 1.0 - value } else { value })
}

/// High for vectors that recommend investigating (such as know 0.65); of the others by their strength.
fn priority(leads: bool, strength: f64) -> Priority {
    match strength {
        s if leads || s < WEAKEST => Priority::High,
        s if s < WEAKER => Priority::Medium,
        _ => Priority::Low,
    }
}

/// Earlier work similar to the task.
struct RelatedWork<'a> {
    unknowns: Vec<&'a str>,
    dead_ends: Vec<&'a EarlierAttempt>,
    sessions: Vec<&'a EarlierSession>,
}

impl<'a> RelatedWork<'a> {
    fn of(input: &'a SuggestionInput) -> Self {
        let mut about: BTreeSet<String> = words(input.task.as_deref().unwrap_or_default());
        about.extend(words(input.reasoning.as_deref().unwrap_or_default()));
        input.unknowns.iter().for_each(|unknown| about.extend(words(unknown)));
        // the newest of its own, then what others left open about it
        let own = input.unknowns.iter().rev().map(String::as_str);
        let others = best(&about, &input.others_unknowns, |text| (*text).clone(), UNKNOWNS);
        let mut unknowns: Vec<&str> = Vec::new();
        for unknown in own.chain(others.into_iter().map(String::as_str)) {
            if unknowns.len() < UNKNOWNS && !unknowns.contains(&unknown) {
                unknowns.push(unknown);
            }
        }
        RelatedWork {
            unknowns,
            dead_ends: best(&about, &input.dead_ends, |tried| format!("{} {}", tried.approach, tried.why), DEAD_ENDS),
            sessions: best(&about, &input.sessions, |earlier| earlier.task.clone(), SESSIONS),
        }
    }
}

/// The text of a goal, an imperative that names the task or its first open question.
fn description(vector: Vector, task: Option<&str>, unknowns: &[&str]) -> String {
    let task = task.map(|task| short(task.lines().next().unwrap_or_default().trim(), NAMED));
    let (to, before) = match task.filter(|task| !task.is_empty()) {
        None => (" to do the task".to_owned(), " before you begin".to_owned()),
        Some(task) if begins_with_verb(&task) => {
            let mut letters = task.chars();
            let task: String = letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect();
            (format!(" to {task}"), format!(" before you {task}"))
        }
        Some(task) => (format!(": {task}"), format!(" first: {task}")),
    };
    match (vector, unknowns) {
        (_, [question]) => format!("Answer \"{}\"{before}", short(question, NAMED)),
        (_, [question, more @ ..]) => {
            format!("Answer \"{}\" and {} more{before}", short(question, NAMED), more.len())
        }
        (Vector::Uncertainty, []) => format!("List what is unclear{before}"),
        (Vector::Engagement, _) => format!("Agree on the aim{before}"),
        (Vector::Know, _) => format!("Find out what it takes{to}"),
        (Vector::Do, _) => format!("Try the tools you need{to}"),
        (Vector::Context, _) => format!("Map the code around it{before}"),
        (Vector::Clarity, _) => format!("Write down the steps{to}"),
        (Vector::Coherence, _) => format!("Resolve the contradictions{before}"),
        (Vector::Signal, _) => format!("Collect evidence from code, tests and logs{before}"),
        (Vector::Density, _) => format!("Divide the work{before}"),
        (Vector::State | Vector::Change | Vector::Completion | Vector::Impact, _) => {
            format!("Map the present state{before}")
        }
    }
}

/// The criterion by which a goal is reached.
fn criterion(vector: Vector) -> String {
    let name = vector.name();
    match vector.less_is_better() {
        true => format!("{name} is {:.2} or less when it is assessed again, and something was learned", 1.0 - WEAK),
        false => format!("{name} is {WEAK:.2} or more when it is assessed again, and something was learned"),
    }
}

/// The rationale of a goal. The first goal quotes earlier work, the others name its ids.
fn rationale(vector: Vector, value: f64, related: &RelatedWork<'_>, first: bool) -> String {
    let mut out = format!("{} score {value:.2} indicates {}", vector.name().to_uppercase(), lack(vector));
    for tried in &related.dead_ends {
        out.push_str(&match first {
            true => {
                let (approach, why) = (short(&tried.approach, QUOTED), short(&tried.why, QUOTED));
                format!("; dead end {} of {}: {approach} — {why}", tried.id.short(), tried.ai)
            }
            false => format!("; dead end {}", tried.id.short()),
        });
    }
    for earlier in &related.sessions {
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
        Vector::State | Vector::Change | Vector::Completion | Vector::Impact => "incomplete environment mapping",
        Vector::Uncertainty => "open questions",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(text: &str, input: &SuggestionInput) -> Vec<(Vector, Goal)> {
        let mut v = Vectors::default();
        v.add_pairs(text).unwrap();
        goals(&v, input)
    }

    fn of(text: &str) -> Vec<(&'static str, &'static str)> {
        suggested(text, &SuggestionInput::default()).iter().map(|(v, g)| (v.name(), g.priority.name())).collect()
    }

    #[test]
    fn triggers_lead_and_are_high() {
        assert_eq!(of("know=0.9,uncertainty=0.6,do=0.1"), [], "nothing recommends investigating");
        assert_eq!(of("know=0.6999"), [("know", "high")]);
        assert_eq!(of("know=0.7,uncertainty=0.6001"), [("uncertainty", "high")]);
        assert_eq!(
            of("know=0.65,state=0.45,density=0.35,uncertainty=0.3"),
            [("know", "high"), ("state", "high"), ("density", "low")]
        );
        assert_eq!(
            of("state=0.1,uncertainty=0.95,know=0.6,do=0"),
            [("know", "high"), ("uncertainty", "high"), ("state", "high"), ("do", "high")]
        );
        // state and uncertainty that do not trigger are weak as others are
        assert_eq!(
            of("know=0.5,state=0.6,uncertainty=0.5,do=0.5"),
            [("know", "high"), ("do", "medium"), ("uncertainty", "medium"), ("state", "low")]
        );
    }

    #[test]
    fn the_others_follow_weakest_first_by_their_size() {
        let of = |text: &str| of(&format!("know=0.6,{text}"))[1..].to_vec();
        assert_eq!(of("do=0.7"), []);
        assert_eq!(of("do=0.6999"), [("do", "low")]);
        assert_eq!(of("do=0.60"), [("do", "low")]);
        assert_eq!(of("do=0.5999"), [("do", "medium")]);
        assert_eq!(of("do=0.50"), [("do", "medium")]);
        assert_eq!(of("do=0.4999"), [("do", "high")]);
        assert_eq!(of("density=0.3"), []);
        assert_eq!(of("completion=0,change=0,impact=0"), [], "near zero before work by nature");
        let five = of("do=0.1,context=0.2,clarity=0.3,coherence=0.15,signal=0.25");
        assert_eq!(five.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["do", "coherence", "context", "signal"]);
    }

    #[test]
    fn they_read_as_people_write_them() {
        let texts = |task: Option<&str>, unknowns: &[&str]| -> Vec<String> {
            let unknowns = unknowns.iter().map(|text| (*text).to_owned()).collect();
            let input = SuggestionInput { task: task.map(str::to_owned), unknowns, ..SuggestionInput::default() };
            suggested("know=0.4,uncertainty=0.8,state=0.4", &input).into_iter().map(|(_, goal)| goal.text).collect()
        };
        assert_eq!(
            texts(Some("Fix the flaky login test"), &[]),
            [
                "Find out what it takes to fix the flaky login test",
                "List what is unclear before you fix the flaky login test",
                "Map the present state before you fix the flaky login test",
            ]
        );
        assert_eq!(
            texts(Some("Login"), &["Which clock?"]),
            [
                "Find out what it takes: Login",
                "Answer \"Which clock?\" first: Login",
                "Map the present state first: Login"
            ]
        );
        let sure = SuggestionInput { unknowns: vec!["Why?".into()], ..SuggestionInput::default() };
        assert_eq!(suggested("know=0.4", &sure)[0].1.text, "Answer \"Why?\" before you begin");
        assert_eq!(texts(None, &[])[1], "List what is unclear before you begin");
        assert_eq!(texts(Some("fix it"), &["a?", "b?", "c?"])[1], "Answer \"c?\" and 2 more before you fix it");
    }

    #[test]
    fn goals_name_the_task_the_unknowns_and_what_was_tried() {
        let session = SessionId::parse("11111111-2222-4333-8444-555555555555").unwrap();
        let tried = |n: u8, approach: &str| EarlierAttempt {
            id: Id::parse(&format!("00000000-0000-7000-8000-0000000000{n:02x}")).unwrap(),
            ai: "codex".into(),
            approach: approach.into(),
            why: "too slow".into(),
        };
        let input = SuggestionInput {
            task: Some("fix the flaky login test".into()),
            reasoning: None,
            unknowns: vec!["Which clock does it read?".into()],
            others_unknowns: vec!["Is the login test flaky on CI only?".into(), "Who pays?".into()],
            dead_ends: vec![tried(1, "paint it green"), tried(2, "sleeping in the login test")],
            sessions: vec![EarlierSession { id: session, ai: "ada".into(), task: "login tests".into() }],
        };
        let goals = suggested("know=0.65,uncertainty=0.8", &input);
        let texts: Vec<&str> = goals.iter().map(|(_, g)| g.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "Find out what it takes to fix the flaky login test",
                "Answer \"Which clock does it read?\" and 1 more before you fix the flaky login test",
            ]
        );
        let why: Vec<&str> = goals.iter().map(|(_, g)| g.rationale.as_deref().unwrap()).collect();
        assert_eq!(
            why,
            [
                "KNOW score 0.65 indicates knowledge gaps; dead end 00000002 of codex: sleeping in the login test — too \
                 slow; earlier session 11111111 of ada: login tests",
                "UNCERTAINTY score 0.80 indicates open questions; dead end 00000002; earlier session 11111111",
            ]
        );
    }
}
