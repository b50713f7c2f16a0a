//! `answer`.

use crate::cli::commands::prelude::*;
use crate::use_cases::handoff::receive::{answer, view};

/// Answer a question of a handoff's receiver
///
/// A newer answer replaces an older one. handoff --regenerate rewrites the handoff with the questions and answers.
#[derive(Debug, Args)]
pub struct AnswerTo {
    /// The question as in show and task show, such as 1f0a6b9c.1; the number can be omitted if only one is open
    #[arg(value_name = "QUESTION")]
    pub question: String,
    /// The answer; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT")]
    pub text: String,
    #[command(flatten)]
    pub author: Author,
}

impl AnswerTo {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let text = context.input().text(self.text)?;
        Ok(view::answered(&answer::run(&context.open(self.author)?, &self.question, &text)?))
    }
}
