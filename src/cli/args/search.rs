//! `search` and `similar`.

use clap::{Args, ValueEnum};

use super::Form;

/// Search what was found, asked, tried, decided and handed over, the best matches first
///
/// Finds the records that have all the words, without regard to case and accents; when none has, those that have one of them
/// in any form. In quotes within the query, words are a phrase: search '"flaky login"'. tok* is the beginning of a word, -word
/// must not be there (after -- when it is the first). Fields: kind:deadend (or finding, unknown, decision, mistake, handoff),
/// ai:NAME, session:ALIAS; the same field twice means either. Fields alone list the newest records. Handoffs that a newer one
/// took the place of are not searched.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Search {
    /// Words, "phrases", beginnings*, -exclusions and fields
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,
    /// The words are a plan: what was tried and failed comes first
    #[arg(long)]
    pub plan: bool,
    /// Only this kind; can be given several times
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<KindWord>,
    /// Only what this agent said
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// At most so many; 0 lists none, and total_found still counts all
    #[arg(long, value_name = "N", default_value = "10")]
    pub limit: usize,
    #[command(flatten)]
    pub form: Form,
}

/// The kinds that are searched.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
pub enum KindWord {
    Finding,
    Unknown,
    #[value(alias = "dead_end", alias = "dead-end")]
    Deadend,
    Decision,
    Mistake,
    Handoff,
}

impl KindWord {
    /// The word of the `kind` key.
    pub fn key(self) -> &'static str {
        match self {
            KindWord::Finding => "finding",
            KindWord::Unknown => "unknown",
            KindWord::Deadend => "dead_end",
            KindWord::Decision => "decision",
            KindWord::Mistake => "mistake",
            KindWord::Handoff => "handoff",
        }
    }
}

/// List sessions that resemble a task, so that work is not done twice
///
/// Compares the task and the findings of a handoff or a session, or a text, with those of other sessions, by the words they
/// share. The most alike come first, with what came of them.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Similar {
    /// A handoff's id, a session (an id, latest, latest:<ai>, …), or a text; - is standard input, @FILE a file
    #[arg(value_name = "HANDOFF|SESSION|TEXT", required = true, num_args = 1..)]
    pub about: Vec<String>,
    /// At most so many; 0 lists none, and total_found still counts all
    #[arg(long, value_name = "N", default_value = "10")]
    pub limit: usize,
    #[command(flatten)]
    pub form: Form,
}
