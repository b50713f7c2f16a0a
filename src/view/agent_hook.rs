//! What a hook of an agent puts before its model.

use super::assess::drift_line;
use super::fit::Form;
use super::template::Templates;
use super::{bootstrap, compaction, safe};
use crate::epistemics::gate::Gate;
use crate::error::Result;
use crate::ops::hook::agent::Inject;

/// What a session that begins is told of the project, in tokens; one that goes on, or lost its context, is told more.
const BRIEF: usize = 500;
const WHOLE: usize = 1_000;

/// The text; empty when there is nothing to say.
pub fn text(inject: &Inject, templates: &mut Templates) -> Result<String> {
    Ok(match inject {
        // there is nobody's work but this one's, and that has just begun
        Inject::Project(id, project, None) if project.overview.sessions <= 1 => {
            format!("git empirica: session {id} has begun.\n")
        }
        Inject::Project(id, project, gate) => {
            let room = if gate.is_some() { WHOLE } else { BRIEF };
            let project = bootstrap::fitted(project, room, Form::Text, templates)?.text;
            let word = if gate.is_some() { "goes on" } else { "has begun" };
            format!("git empirica: session {id} {word}.\n{}\n{project}", gate.as_ref().map(drift).unwrap_or_default())
        }
        Inject::Compacted(taken, outcome, gate) => {
            let block = compaction::answer(taken, outcome, compaction::BUDGET, Form::Text, templates)?.text;
            format!("git empirica: session {} goes on.\n{}\n{block}", taken.session_id, drift(gate))
        }
        Inject::Unsafe(id, gate) => format!(
            "git empirica: the last CHECK of session {id} was not safe to act on. {}\nBefore acting: what really changed is logged as \
             findings or evidence, and another CHECK is made.\n",
            drift(gate).trim_end()
        ),
    })
}

/// How confidence moved, in a line; empty when there is nothing to compare.
fn drift(gate: &Gate) -> String {
    if gate.drift.analyzed < 2 {
        return String::new();
    }
    let advice = gate.recommendation.map(|word| format!(" Recommendation: {}.", word.replace('_', " ")));
    format!("{}.{}\n", safe::line(&drift_line(&gate.drift)), advice.unwrap_or_default())
}
