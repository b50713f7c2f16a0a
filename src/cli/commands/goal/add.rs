//! `goal add`.

use crate::claim::goal::GoalRequest;
use crate::cli::commands::goal::change;
use crate::cli::commands::prelude::*;
use empirica_notes::model::goal::Priority;

/// Set a goal
#[derive(Debug, Args)]
pub struct Add {
    /// What is to be reached; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// How one knows that it is reached; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub criterion: Vec<String>,
    /// How urgent it is
    #[arg(long, value_name = "PRIORITY", default_value = "medium")]
    #[arg(value_parser = named([Priority::High, Priority::Medium, Priority::Low], Priority::name))]
    pub priority: Priority,
    #[command(flatten)]
    pub who: Speaker,
}

impl Add {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let mut input = context.input();
        let (text, criteria) = (input.words(self.text)?, input.each(self.criterion)?);
        change(context, self.who, GoalRequest::Add { text, criteria, priority: self.priority })
    }
}
