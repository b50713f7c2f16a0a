//! The answer of `status`: where things stand, on one screen.

use serde_json::{Value, json};

use super::template::Templates;
use super::{Answer, words};
use crate::epistemics::confidence::overall;
use crate::epistemics::gathered::Gathered;
use crate::epistemics::report::duration;
use crate::error::Result;
use crate::model::goal::GoalStatus;
use crate::ops::session::seconds_between;
use crate::ops::show::short_commit;
use crate::ops::status::Outcome;

const BAR: usize = 20;

fn bar(value: f64) -> String {
    let full = (value * BAR as f64).round() as usize;
    "█".repeat(full.min(BAR)) + &"░".repeat(BAR - full.min(BAR))
}

fn session_json(gathered: &Gathered) -> Value {
    let last = gathered.last();
    let mut json = super::session::json_of(&gathered.session);
    json["phase"] = json!(last.map(|(_, a)| a.phase));
    json["round"] = json!(last.map(|(_, a)| a.round));
    json["vectors"] = json!(last.map(|(_, a)| &a.vectors));
    json["overall_confidence"] = json!(last.and_then(|(_, a)| overall(&a.vectors)));
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

fn session_view(gathered: &Gathered) -> Value {
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
        words::count(gathered.findings.len(), "finding"),
        words::count(gathered.unknowns.len(), "open unknown"),
        words::count(gathered.dead_ends.len(), "dead end"),
        words::count(gathered.decisions.len(), "decision"),
        words::count(gathered.mistakes.len(), "mistake"),
        words::count(gathered.in_force(), "handoff"),
    ];
    let goals: Vec<Value> = gathered
        .goals
        .iter()
        .map(|g| json!({"short": g.id.short(), "status": g.status.name(), "text": g.text, "progress": g.progress()}))
        .collect();
    let unknowns: Vec<Value> = gathered
        .unknowns
        .iter()
        .filter_map(|u| u.id.as_ref().map(|id| json!({"short": id.short(), "text": u.text})))
        .collect();
    json!({
        "short": gathered.session.id.short(),
        "ai": gathered.session.ai,
        "task": gathered.session.task,
        "duration": duration(seconds_between(&gathered.session.started_at, &gathered.last_at)),
        "phase": gathered.last().map_or_else(|| "none yet".to_owned(), |(_, a)| format!("{} {}", a.phase.name(), a.round)),
        "bars": bars,
        "counts": counts.join(", "),
        "goals": goals,
        "unknowns": unknowns,
    })
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
        "unflushed": outcome.unflushed,
    });
    let data = json!({
        "branch": outcome.branch,
        "commit": short_commit(outcome.commit.as_deref()),
        "worktree": outcome.worktree,
        "total_sessions": outcome.total_sessions,
        "handoffs": outcome.handoffs,
        "unflushed": outcome.unflushed,
        "sessions": outcome.sessions.iter().map(session_view).collect::<Vec<_>>(),
    });
    let text = terminal.render("status.txt", data)?.trim_end().to_owned() + "\n";
    let answer = Answer::new(json).text(text).warn(outcome.warnings.clone());
    Ok(if outcome.sessions.is_empty() {
        answer.hint("start a session: git empirica session start --task \"<what you are going to do>\"")
    } else {
        answer
    })
}
