//! `answer`.

use crate::cli::commands::prelude::*;
use crate::handoff::receive::{answer, view};

/// Answer a question that the receiver of a handoff asked
///
/// A newer answer replaces an older one. handoff --regenerate rewrites the handoff with what was asked and
/// answered.
#[derive(Debug, Args)]
pub struct AnswerTo {
    /// The question as show and task show name it, such as 1f0a6b9c.1; without the number where only one is open
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
