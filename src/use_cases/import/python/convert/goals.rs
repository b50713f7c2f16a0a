//! Goals, their steps, and their states.

use serde_json::Value;

use crate::use_cases::import::python::convert::artifacts::main_text;
use crate::use_cases::import::python::convert::draft::{KnownGoals, RecordDraft, RefPayloads};
use crate::use_cases::import::python::convert::other;
use crate::use_cases::import::python::convert::read::{flag, moment, text, texts, words};
use empirica_notes::model::Body;
use empirica_notes::model::goal::{Goal, GoalDone, GoalDrop, Priority, Subtask};

/// A goal, from the oldest entry; the newest tells whether it is done or dropped.
pub fn goal(notes: &RefPayloads<'_>, goals: &mut KnownGoals) -> Vec<RecordDraft> {
    let first = &notes.entries[0];
    let data = first.value.get("goal_data").unwrap_or(&first.value);
    let criteria = data.get("success_criteria");
    let body = Body::Goal(Goal {
        text: main_text("goals", &first.value).unwrap_or_default().to_owned(),
        criteria: match criteria {
            Some(Value::Array(list)) => list.iter().filter_map(criterion).collect(),
            other => texts(other),
        },
        priority: Priority::default(),
        rationale: None,
        vector: None,
    });
    let made = notes.draft(0, first.ms, "goal", body);
    let session = text(&first.value, "session_id").map(str::to_owned);
    goals.insert(notes.family.id.to_owned(), (made.id.clone(), made.ms, session));
    let (of, ms) = (made.id.clone(), made.ms);
    let mut out = vec![made];
    let (at, newest) = notes.newest();
    let data = newest.value.get("goal_data").unwrap_or(&newest.value);
    let when = |key| data.get(key).and_then(moment).map_or(newest.newest, |moment| moment.ms).max(ms + 1);
    let status = text(data, "status").unwrap_or_default();
    let why = text(data, "completion_reason").map(str::to_owned);
    if flag(data, "is_completed") || ["completed", "complete", "done"].contains(&status) {
        let body = Body::GoalDone(GoalDone { of, evidence: why, concerns: Vec::new() });
        out.push(notes.draft(at, when("completed_timestamp"), "goal_done", body));
    } else if flag(data, "archived") || ["archived", "abandoned", "dropped", "cancelled"].contains(&status) {
        let word = if status.is_empty() { "archived" } else { status };
        let body = Body::GoalDrop(GoalDrop { of, why: why.or(Some(word.to_owned())), concerns: Vec::new() });
        out.push(notes.draft(at, when("archived_at"), "goal_drop", body));
    }
    out
}

fn criterion(value: &Value) -> Option<String> {
    text(value, "description").map(str::to_owned).or_else(|| words(value))
}

/// The steps of a goal, one per entry. If the goal is missing, they are logged as actions.
pub fn tasks(notes: &RefPayloads<'_>, goals: &KnownGoals) -> Vec<RecordDraft> {
    let goal = goals.get(notes.family.id);
    let mut out: Vec<RecordDraft> = Vec::new();
    for (at, entry) in notes.entries.iter().enumerate() {
        let value = &entry.value;
        let description = main_text("tasks", value).unwrap_or_default().to_owned();
        let begun = out.len();
        match goal {
            Some((of, ms, _)) => {
                // the entry has the time the step was done, not when it was set
                let ms = ms + 1;
                let own = value.get("subtask_id").and_then(words).unwrap_or_else(|| description.clone());
                let body = Body::Subtask(Subtask { of: of.clone(), text: description, concerns: Vec::new() });
                let step = notes.draft(at, ms, &format!("subtask {own}"), body);
                let of = step.id.clone();
                out.push(step);
                if let Some(done) = value.get("completed_timestamp").and_then(moment) {
                    let evidence = text(value, "completion_evidence").map(str::to_owned);
                    let body = Body::GoalDone(GoalDone { of, evidence, concerns: Vec::new() });
                    out.push(notes.draft(at, done.ms.max(ms + 1), &format!("subtask_done {own}"), body));
                }
            }
            None => {
                let text = format!("Step of the goal {}, which is not here: {}", notes.family.id, other::gist(value));
                let role = format!("step {}", entry.original.commit);
                out.push(notes.draft(at, entry.ms, &role, other::done("task", text)));
            }
        }
        let session = goal.and_then(|goal| goal.2.clone());
        out[begun..].iter_mut().for_each(|draft| draft.session = session.clone());
    }
    out
}
