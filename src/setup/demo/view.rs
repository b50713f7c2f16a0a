//! The answer of `demo`: each step with its command and what it printed.

use serde_json::{Value, json};

use crate::render::answer::Answer;
use crate::render::safe;
use crate::render::template::Templates;
use crate::setup::demo::DemoOutcome;
use empirica_notes::error::{Result, empirica};

/// Answers.
pub fn answer(outcome: &DemoOutcome, terminal: &mut Templates) -> Result<Answer> {
    let steps: Vec<Value> = outcome
        .steps
        .iter()
        .map(|step| {
            let lines: Vec<String> = safe::clean(step.output.trim_end()).split('\n').map(str::to_owned).collect();
            json!({"title": step.title, "command": step.command, "output": lines})
        })
        .collect();
    let closing = format!("That was the main job. In a repository of your own: {}", empirica("init"));
    let text = terminal.render("demo.txt", json!({"steps": steps, "closing": closing}))?;
    let rows: Vec<Value> = outcome
        .steps
        .iter()
        .map(|step| json!({"title": step.title, "command": step.command, "output": step.output}))
        .collect();
    Ok(Answer::new(json!({"steps": rows})).text(text.trim_end().to_owned() + "\n").paged())
}
