//! The answer of `status`, on one screen.

use minijinja::{Value, context};
use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::assessment::confidence::overall;
use crate::fold::assessment::drift::Drift;
use crate::render::answer::Answer;
use crate::render::drift::drift_line;
use crate::render::format;
use crate::render::format::short_commit;
use crate::render::format::{duration, seconds_between};
use crate::render::template::Templates;
use crate::text::shorten::short;
use crate::use_cases::session::status::pending::{PendingRecords, RemoteLacks, Unsynced};
use crate::use_cases::session::status::{NextStep, StatusOutcome, WorkingState};
use crate::use_cases::session::view::SessionView;
use empirica_notes::error::{Command, Error, Result, empirica};
use empirica_notes::model::goal::{GoalState, GoalStatus};
use empirica_notes::model::{Phase, Vectors};
use empirica_notes::store::PendingCounts;

const BAR: usize = 20;

fn bar(value: f64) -> String {
    let full = (value * BAR as f64).round() as usize;
    "█".repeat(full.min(BAR)) + &"░".repeat(BAR - full.min(BAR))
}

/// The state of the clone, its active sessions and its records.
#[derive(Serialize, JsonSchema)]
pub struct StatusView<'a> {
    /// The branch; null when HEAD is detached.
    branch: Option<&'a str>,
    /// HEAD; null when it is unborn.
    commit: Option<&'a str>,
    /// `main`, or the name of the linked worktree.
    worktree: &'a str,
    /// The active sessions of this worktree, newest first.
    sessions: Vec<AtWorkView<'a>>,
    /// How many sessions are stored.
    total_sessions: usize,
    /// How many handoffs are in force.
    handoffs: usize,
    /// How many records wait in logs for the notes.
    unflushed: usize,
    /// The records that wait in logs.
    waiting: WaitingView<'a>,
    /// How many handoffs for the agent no session claimed.
    total_waiting: usize,
    /// The records that have not reached a remote they go to, as far as the tracking refs tell. Null without such a remote, and
    /// if they are not known.
    unsynced: Option<&'a Unsynced>,
    /// Whether `init` set this clone up.
    set_up: bool,
    /// The commands that make sense next, at most two.
    next_commands: &'a [NextStep],
}

/// An active session.
#[derive(Serialize, JsonSchema)]
struct AtWorkView<'a> {
    #[serde(flatten)]
    session: SessionView<'a>,
    /// Of the last assessment; null without one.
    phase: Option<Phase>,
    /// Of the last assessment.
    round: Option<u32>,
    /// Of the last assessment.
    vectors: Option<&'a Vectors>,
    /// Of the last assessment; null when it gave only uncertainty.
    overall_confidence: Option<f64>,
    /// How confidence moved over the last assessments.
    drift_analysis: &'a Drift,
    /// Whether the drift is not severe.
    safe_to_proceed: bool,
    /// How many findings it logged.
    findings: usize,
    /// How many questions are open.
    unknowns: usize,
    /// How many dead ends it logged.
    dead_ends: usize,
    /// How many decisions it logged.
    decisions: usize,
    /// How many mistakes it logged.
    mistakes: usize,
    /// How many of its goals are open.
    goals_open: usize,
    /// How many of its goals are done.
    goals_done: usize,
    /// How many of its handoffs are in force.
    handoffs: usize,
}

impl<'a> From<&'a WorkingState> for AtWorkView<'a> {
    fn from(WorkingState { records, gate }: &'a WorkingState) -> Self {
        let last = records.last().map(|(_, assessment)| assessment);
        let goals = |status| records.goals.iter().filter(|goal| goal.status == status).count();
        AtWorkView {
            session: SessionView::from(&records.session),
            phase: last.map(|last| last.phase),
            round: last.map(|last| last.round),
            vectors: last.map(|last| &last.vectors),
            overall_confidence: last.and_then(|last| overall(&last.vectors)),
            drift_analysis: &gate.drift,
            safe_to_proceed: gate.drift.is_safe(),
            findings: records.findings.len(),
            unknowns: records.unknowns.len(),
            dead_ends: records.dead_ends.len(),
            decisions: records.decisions.len(),
            mistakes: records.mistakes.len(),
            goals_open: goals(GoalStatus::Open),
            goals_done: goals(GoalStatus::Done),
            handoffs: records.in_force(),
        }
    }
}

/// The records that wait in logs for the notes.
#[derive(Serialize, JsonSchema)]
struct WaitingView<'a> {
    #[serde(flatten)]
    counted: &'a PendingCounts,
    /// Why a flush would leave them; null without an obstacle.
    reason: Option<String>,
    /// The command that writes them; null when none waits.
    #[schemars(with = "Option<String>")]
    command: Option<Command>,
    /// The commands that remove the obstacle.
    #[schemars(with = "Vec<String>")]
    recovery_commands: &'a [Command],
}

impl<'a> From<&'a StatusOutcome> for StatusView<'a> {
    fn from(outcome: &'a StatusOutcome) -> Self {
        StatusView {
            branch: outcome.branch.as_deref(),
            commit: outcome.commit.as_deref(),
            worktree: &outcome.worktree,
            sessions: outcome.sessions.iter().map(AtWorkView::from).collect(),
            total_sessions: outcome.total_sessions,
            handoffs: outcome.handoffs,
            unflushed: outcome.waiting.counted.total(),
            waiting: WaitingView::from(&outcome.waiting),
            total_waiting: outcome.inbox,
            unsynced: outcome.unsynced.as_ref(),
            set_up: outcome.is_set_up,
            next_commands: &outcome.next,
        }
    }
}

impl<'a> From<&'a PendingRecords> for WaitingView<'a> {
    fn from(PendingRecords { counted, obstacle }: &'a PendingRecords) -> Self {
        WaitingView {
            counted,
            reason: obstacle.as_ref().map(Error::with_reason),
            command: (counted.total() > 0).then(|| empirica("flush")),
            recovery_commands: obstacle.as_ref().map_or(&[], |error| error.commands()),
        }
    }
}

/// The most goals, and the most unknowns, on the screen.
const NAMED: usize = 4;
/// The longest of their texts, in characters.
const NAMED_TEXT: usize = 160;

fn session_lines(WorkingState { records, gate }: &WorkingState) -> Value {
    let last = records.last().map(|(_, assessment)| assessment);
    let named = |name, value| context! { name, bar => bar(value), value };
    let mut bars: Vec<Value> =
        last.iter().flat_map(|last| last.vectors.iter()).map(|(vector, value)| named(vector.name(), value)).collect();
    bars.extend(last.and_then(|last| overall(&last.vectors)).map(|value| named("overall confidence", value)));
    let counts = [
        (records.findings.len(), "finding"),
        (records.unknowns.len(), "open unknown"),
        (records.dead_ends.len(), "dead end"),
        (records.decisions.len(), "decision"),
        (records.mistakes.len(), "mistake"),
        (records.in_force(), "handoff"),
    ];
    let counts = counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, noun)| format::count(n, noun));
    let counts: Vec<String> = counts.collect();
    let ended = records.goals.iter().filter(|goal| goal.status == GoalStatus::Done).count();
    let open: Vec<&GoalState> = records.goals.iter().filter(|goal| goal.status == GoalStatus::Open).collect();
    let goals: Vec<Value> = open
        .iter()
        .take(NAMED)
        .map(|g| context! { short => g.id.short(), status => g.status.name(), text => short(&g.text, NAMED_TEXT), progress => g.progress() })
        .collect();
    let newest = records.unknowns.iter().rev().take(NAMED);
    let unknowns: Vec<Value> = newest
        .filter_map(|u| Some(context! { short => u.id.as_ref()?.short(), text => short(&u.text, NAMED_TEXT) }))
        .collect();
    let mut more = Vec::new();
    for (left, noun) in [(open.len() - goals.len(), "open goal"), (records.unknowns.len() - unknowns.len(), "unknown")]
    {
        more.extend((left > 0).then(|| format::count(left, noun)));
    }
    more.extend((ended > 0).then(|| format!("{} done", format::count(ended, "goal"))));
    context! {
        short => records.session.id.short(),
        ai => &records.session.ai,
        task => records.session.task.as_ref().map(|task| short(task, NAMED_TEXT)),
        duration => duration(seconds_between(&records.session.started_at, &records.last_at)),
        phase => last.map(|last| format!("{} {}", last.phase.name(), last.round)),
        bars,
        drift => last.map(|_| drift_line(&gate.drift)),
        counts => if counts.is_empty() { "nothing logged yet".to_owned() } else { counts.join(", ") },
        more => more.join(", "),
        goals,
        unknowns,
    }
}

/// The pending records by log, their age, the obstacle, and the command that writes them; `None` without any.
fn waiting_text(waiting: &PendingRecords) -> Option<String> {
    let counted = &waiting.counted;
    let places = [
        (counted.log, "in the log"),
        (counted.user_state, "in the log of the user's state folder"),
        (counted.interrupted, "in logs that a flush took and did not write"),
    ];
    let places: Vec<String> =
        places.iter().filter(|(number, _)| *number > 0).map(|(number, place)| format!("{number} {place}")).collect();
    let since = counted.since.as_ref().map(|at| format!(", since {}", format::date(at))).unwrap_or_default();
    let why = waiting.obstacle.as_ref().map(|error| format!("; {}", error.with_reason())).unwrap_or_default();
    (!places.is_empty()).then(|| format!("{}{since}{why}; to write them: {}", places.join(", "), empirica("flush")))
}

/// The records that each remote lacks; `None` if none lacks any.
fn unsynced_text(unsynced: &Unsynced) -> Option<String> {
    let lacking = unsynced.remotes.iter().filter(|remote| remote.records > 0);
    let parts: Vec<String> = lacking
        .map(|RemoteLacks { remote, records, handoffs }| {
            let among = if *handoffs > 0 {
                format!(", {} among them,", format::count(*handoffs, "handoff"))
            } else {
                String::new()
            };
            format!("{}{among} not on {remote} yet", format::count(*records, "record"))
        })
        .collect();
    (!parts.is_empty()).then(|| format!("{}; to send them: {}", parts.join("; "), empirica("sync")))
}

pub fn answer(outcome: &StatusOutcome, terminal: &mut Templates) -> Result<Answer> {
    let data = context! {
        branch => outcome.branch.as_deref(),
        commit => short_commit(outcome.commit.as_deref()),
        worktree => &outcome.worktree,
        total_sessions => outcome.total_sessions,
        handoffs => outcome.handoffs,
        waiting => waiting_text(&outcome.waiting),
        unsynced => outcome.unsynced.as_ref().and_then(unsynced_text),
        sessions => outcome.sessions.iter().map(session_lines).collect::<Vec<_>>(),
        next => outcome.next.iter().map(|next| (next.command.to_string(), next.reason.clone())).collect::<Vec<_>>(),
    };
    let text = terminal.render("status.txt", data)?.trim_end().to_owned() + "\n";
    let mut answer = Answer::new(StatusView::from(outcome)).text(text).warn(outcome.warnings.clone());
    if let Some(obstacle) = &outcome.waiting.obstacle {
        answer = answer.hint(obstacle.suggestion_text());
        answer.hints.extend(obstacle.commands().iter().map(ToString::to_string));
    }
    Ok(answer)
}
