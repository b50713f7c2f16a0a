//! `accept`, `answer` and `task`: the receiver's side of a handoff.

use clap::{Args, Subcommand, ValueEnum};

use super::{Form, Speaker};

/// Take up a handoff: what you understood, decide and have to ask
///
/// The acknowledgement is stored beside the handoffs, on HEAD, and show lists it with the handoff. What the handoff
/// should have said and did not is a gap: metrics count handoffs that were accepted without question or gap, and the next
/// handoff of that type is checked for it. A resolution lets an escalated task go on, and is kept as a decision and a
/// pattern. A text can be `-` (standard input) or `@FILE`.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Accept {
    /// The handoff's id, or a unique part of it
    #[arg(value_name = "HANDOFF")]
    pub handoff: String,
    /// The task in your own words
    #[arg(long, value_name = "TEXT")]
    pub understanding: Option<String>,
    /// What you decide: it is done, it goes on, somebody else must decide, or the handoff must be made better
    #[arg(long, value_name = "DECISION", ignore_case = true)]
    pub decision: Option<VerdictWord>,
    /// What is to be done next
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// A question; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub question: Vec<String>,
    /// Something the handoff should have said; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub gap: Vec<String>,
    /// How what was escalated is resolved; for a handoff of an escalated task
    #[arg(long, value_name = "TEXT")]
    pub resolution: Option<String>,
    #[command(flatten)]
    pub who: Speaker,
    #[command(flatten)]
    pub form: Form,
}

/// What a receiver decides.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
#[value(rename_all = "UPPERCASE")]
pub enum VerdictWord {
    Complete,
    Continue,
    Escalate,
    Refine,
}

/// Answer a question that the receiver of a handoff asked
///
/// A newer answer takes the place of an older one. handoff --regenerate writes the handoff anew with what was asked and
/// answered.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct AnswerTo {
    /// The question as show and task show name it, such as 1f0a6b9c.1; without the number where only one is open
    #[arg(value_name = "QUESTION")]
    pub question: String,
    /// The answer; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT")]
    pub text: String,
    #[command(flatten)]
    pub who: Speaker,
    #[command(flatten)]
    pub form: Form,
}

/// Show a task: its handoffs, who acted, decisions and questions
#[derive(Debug, Subcommand)]
#[allow(missing_docs)]
pub enum TaskCommand {
    /// Show the whole history of a task, oldest first, and where it stands
    ///
    /// A task is open, escalated (it waits for a person) or complete. A handoff that a newer one took the place of stays in
    /// the history.
    Show {
        /// The task, as handoffs name it with --task-id
        #[arg(value_name = "ID")]
        task: String,
        #[command(flatten)]
        form: Form,
    },
    /// List tasks, what happened last first
    List {
        /// Only those that are not complete
        #[arg(long)]
        open: bool,
        #[command(flatten)]
        form: Form,
    },
}
