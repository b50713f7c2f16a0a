//! The answer of `demo`: each step with its command and output.

use minijinja::{Value, context};

use crate::render::answer::Answer;
use crate::render::safe;
use crate::render::template::Templates;
use crate::use_cases::setup::demo::DemoOutcome;
use empirica_notes::error::{Result, empirica};

pub fn answer(outcome: &DemoOutcome, terminal: &mut Templates) -> Result<Answer> {
    let steps: Vec<Value> = outcome
        .steps
        .iter()
        .map(|step| {
            let lines: Vec<String> = safe::clean(step.output.trim_end()).split('\n').map(str::to_owned).collect();
            context! { title => &step.title, command => &step.command, output => lines }
        })
        .collect();
    let closing = format!("That was the main workflow. In your own repository: {}", empirica("init"));
    let text = terminal.render("demo.txt", context! { steps, closing })?;
    Ok(Answer::new(outcome).text(text.trim_end().to_owned() + "\n").paged())
}
