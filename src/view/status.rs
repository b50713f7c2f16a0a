//! The answer of `status`: where things stand, on one screen.

use serde_json::{Value, json};

use super::assess::{drift_json, drift_line};
use super::template::Templates;
use super::{Answer, words};
use crate::epistemics::confidence::overall;
use crate::epistemics::report::duration;
use crate::epistemics::short::short;
use crate::error::{Error, Result, empirica};
use crate::model::goal::{GoalState, GoalStatus};
use crate::ops::backlog::{Unsynced, Waiting};
use crate::ops::session::seconds_between;
use crate::ops::show::short_commit;
use crate::ops::status::{AtWork, Outcome};

const BAR: usize = 20;

fn bar(value: f64) -> String {
    let full = (value * BAR as f64).round() as usize;
    "█".repeat(full.min(BAR)) + &"░".repeat(BAR - full.min(BAR))
}

fn session_json(AtWork { gathered, gate }: &AtWork) -> Value {
    let last = gathered.last();
    let mut json = super::session::json_of(&gathered.session);
    json["phase"] = json!(last.map(|(_, a)| a.phase));
    json["round"] = json!(last.map(|(_, a)| a.round));
    json["vectors"] = json!(last.map(|(_, a)| &a.vectors));
    json["overall_confidence"] = json!(last.and_then(|(_, a)| overall(&a.vectors)));
    json["drift_analysis"] = drift_json(&gate.drift);
    json["safe_to_proceed"] = json!(gate.drift.is_safe());
    json["findings"] = json!(gathered.findings.len());
    json["unknowns"] = json!(gathered.unknowns.len());
    json["dead_ends"] = json!(gathered.dead_ends.len());
    json["decisions"] = json!(gathered.decisions.len());
    json["mistakes"] = json!(gathered.mistakes.len());
    json["goals_open"] = json!(gathered.goals.iter().filter(|g| g.status == GoalStatus::Open).count());
    json["goals_done"] = json!(gathered.goals.iter().filter(|g| g.status == GoalStatus::Done).count());
    json["handoffs"] = json!(gathered.in_force());
    json
}

/// How many goals and unknowns the screen names, each.
const NAMED: usize = 4;
/// How much of their texts, in characters.
const NAMED_TEXT: usize = 160;

fn session_view(AtWork { gathered, gate }: &AtWork) -> Value {
    let mut bars: Vec<Value> = Vec::new();
    if let Some((_, assessment)) = gathered.last() {
        for (vector, value) in assessment.vectors.iter() {
            bars.push(json!({"name": vector.name(), "bar": bar(value), "value": value}));
        }
        if let Some(value) = overall(&assessment.vectors) {
            bars.push(json!({"name": "overall confidence", "bar": bar(value), "value": value}));
        }
    }
    let counts = [
        (gathered.findings.len(), "finding"),
        (gathered.unknowns.len(), "open unknown"),
        (gathered.dead_ends.len(), "dead end"),
        (gathered.decisions.len(), "decision"),
        (gathered.mistakes.len(), "mistake"),
        (gathered.in_force(), "handoff"),
    ];
    let counts = counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, noun)| words::count(n, noun));
    let counts: Vec<String> = counts.collect();
    let is_open = |goal: &&GoalState| goal.status == GoalStatus::Open;
    let ended = gathered.goals.iter().filter(|goal| goal.status == GoalStatus::Done).count();
    let open: Vec<&GoalState> = gathered.goals.iter().filter(is_open).collect();
    let goals: Vec<Value> = open
        .iter()
        .take(NAMED)
        .map(|g| json!({"short": g.id.short(), "status": g.status.name(), "text": short(&g.text, NAMED_TEXT), "progress": g.progress()}))
        .collect();
    let unknowns: Vec<Value> = gathered
        .unknowns
        .iter()
        .rev()
        .take(NAMED)
        .filter_map(|u| u.id.as_ref().map(|id| json!({"short": id.short(), "text": short(&u.text, NAMED_TEXT)})))
        .collect();
    let mut more = Vec::new();
    for (left, noun) in [(open.len() - goals.len(), "open goal"), (gathered.unknowns.len() - unknowns.len(), "unknown")]
    {
        more.extend((left > 0).then(|| words::count(left, noun)));
    }
    more.extend((ended > 0).then(|| format!("{ended} done")));
    json!({
        "short": gathered.session.id.short(),
        "ai": gathered.session.ai,
        "task": gathered.session.task.as_ref().map(|task| short(task, NAMED_TEXT)),
        "duration": duration(seconds_between(&gathered.session.started_at, &gathered.last_at)),
        "phase": gathered.last().map(|(_, a)| format!("{} {}", a.phase.name(), a.round)),
        "bars": bars,
        "drift": gathered.last().map(|_| drift_line(&gate.drift)),
        "counts": if counts.is_empty() { "nothing logged yet".to_owned() } else { counts.join(", ") },
        "more": more.join(", "),
        "goals": goals,
        "unknowns": unknowns,
    })
}

fn waiting_json(waiting: &Waiting) -> Value {
    let counted = &waiting.counted;
    let obstacle = waiting.obstacle.as_ref();
    json!({
        "log": counted.log,
        "user_state": counted.user_state,
        "interrupted": counted.interrupted,
        "since": counted.since,
        "reason": obstacle.map(Error::with_reason),
        "command": (counted.all() > 0).then(|| empirica("flush")),
        "recovery_commands": obstacle.map_or(&[][..], |error| error.commands()),
    })
}

/// Where records wait, since when, why, and what writes them; `None` when none does.
fn waiting_text(waiting: &Waiting) -> Option<String> {
    let counted = &waiting.counted;
    let places = [
        (counted.log, "in the log"),
        (counted.user_state, "in the log of the user's state folder"),
        (counted.interrupted, "in logs that a flush took and did not write"),
    ];
    let places: Vec<String> =
        places.iter().filter(|(number, _)| *number > 0).map(|(number, place)| format!("{number} {place}")).collect();
    let since = counted.since.as_ref().map(|at| format!(", since {}", words::date(at))).unwrap_or_default();
    let why = waiting.obstacle.as_ref().map(|error| format!("; {}", error.with_reason())).unwrap_or_default();
    (!places.is_empty()).then(|| format!("{}{since}{why}; to write them: {}", places.join(", "), empirica("flush")))
}

fn unsynced_json(unsynced: &Unsynced) -> Value {
    let remote = |(name, records, handoffs): &(String, usize, usize)| json!({"remote": name, "records": records, "handoffs": handoffs});
    json!({
        "records": unsynced.records,
        "handoffs": unsynced.handoffs,
        "remotes": unsynced.remotes.iter().map(remote).collect::<Vec<_>>(),
    })
}

/// What each remote lacks, as far as is known here; `None` when none lacks anything.
fn unsynced_text(unsynced: &Unsynced) -> Option<String> {
    let lacking = unsynced.remotes.iter().filter(|(_, records, _)| *records > 0);
    let said: Vec<String> = lacking
        .map(|(name, records, handoffs)| {
            let among = if *handoffs > 0 {
                format!(", {} among them,", words::count(*handoffs, "handoff"))
            } else {
                String::new()
            };
            format!("{}{among} not on {name} yet", words::count(*records, "record"))
        })
        .collect();
    (!said.is_empty()).then(|| format!("{}; to send them: {}", said.join("; "), empirica("sync")))
}

/// Answers.
pub fn answer(outcome: &Outcome, terminal: &mut Templates) -> Result<Answer> {
    let json = json!({
        "branch": outcome.branch,
        "commit": outcome.commit,
        "worktree": outcome.worktree,
        "sessions": outcome.sessions.iter().map(session_json).collect::<Vec<_>>(),
        "total_sessions": outcome.total_sessions,
        "handoffs": outcome.handoffs,
        "unflushed": outcome.waiting.counted.all(),
        "waiting": waiting_json(&outcome.waiting),
        "unsynced": outcome.unsynced.as_ref().map(unsynced_json),
        "set_up": outcome.is_set_up,
        "next_commands": outcome.next.iter().map(|(command, why)| json!({"command": command, "reason": why})).collect::<Vec<_>>(),
    });
    let data = json!({
        "branch": outcome.branch,
        "commit": short_commit(outcome.commit.as_deref()),
        "worktree": outcome.worktree,
        "total_sessions": outcome.total_sessions,
        "handoffs": outcome.handoffs,
        "unflushed": outcome.waiting.counted.all(),
        "waiting": waiting_text(&outcome.waiting),
        "unsynced": outcome.unsynced.as_ref().and_then(unsynced_text),
        "sessions": outcome.sessions.iter().map(session_view).collect::<Vec<_>>(),
        "next": outcome.next,
    });
    let text = terminal.render("status.txt", data)?.trim_end().to_owned() + "\n";
    let mut answer = Answer::new(json).text(text).warn(outcome.warnings.clone());
    if let Some(obstacle) = &outcome.waiting.obstacle {
        answer = answer.hint(obstacle.suggestion_text());
        answer.hints.extend(obstacle.commands().iter().map(ToString::to_string));
    }
    Ok(answer)
}
