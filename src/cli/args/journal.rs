//! The journal: one command a kind of entry. A text can be `-` (standard input) or `@FILE`.

use clap::Args;

use super::{Form, Speaker, Who, unit};
use empirica_notes::model::journal::MEMORY;
use empirica_transcripts::model::CATEGORIES;

/// What every entry can say beside its text.
#[derive(Debug, Args)]
pub struct Entry {
    /// The record that led to it
    #[arg(long, value_name = "ID")]
    pub led_from: Option<String>,
    /// Who says it.
    #[command(flatten)]
    pub who: Speaker,
    /// The form of the answer.
    #[command(flatten)]
    pub form: Form,
}

/// Log something you learned
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Finding {
    /// What you learned; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// How much it matters, from 0 to 1
    #[arg(long, value_name = "X", value_parser = unit)]
    pub impact: Option<f64>,
    /// What it is for longer memory
    #[arg(long = "as", value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(MEMORY))]
    pub memory: Option<String>,
    #[command(flatten)]
    pub entry: Entry,
}

/// Log an open question
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Unknown {
    /// The question; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    #[command(flatten)]
    pub entry: Entry,
}

/// Answer an open question, your own or another session's
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Resolve {
    /// The id of the unknown, or a unique part of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// The answer; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// Add another answer to one that is resolved
    #[arg(long)]
    pub again: bool,
    #[command(flatten)]
    pub who: Speaker,
    #[command(flatten)]
    pub form: Form,
}

/// Take back the last thing this session logged
///
/// It is gone if it still waits in the log; else it stays in the notes, marked, and nothing but show shows it. The next undo
/// takes back the one before. A handoff is not undone: hand over again, and the new one takes its place. What must be gone
/// everywhere, redact removes.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Undo {
    #[command(flatten)]
    pub who: Who,
    #[command(flatten)]
    pub form: Form,
}

/// Log an approach that failed, and why
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct DeadEnd {
    /// What you tried; - reads standard input, @FILE a file
    #[arg(value_name = "APPROACH", required = true)]
    pub approach: Vec<String>,
    /// Why it failed
    #[arg(long, value_name = "TEXT", required = true)]
    pub why: String,
    #[command(flatten)]
    pub entry: Entry,
}

/// Log something you did wrong, and how to prevent it
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Mistake {
    /// What went wrong; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// How to prevent it
    #[arg(long, value_name = "TEXT")]
    pub prevention: Option<String>,
    #[command(flatten)]
    pub entry: Entry,
}

/// Log a decision, its reason and what you rejected
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Decision {
    /// What you decided; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// Why
    #[arg(long, value_name = "TEXT", required = true)]
    pub why: String,
    /// A rejected alternative; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub alternative: Vec<String>,
    #[command(flatten)]
    pub entry: Entry,
}

/// Log a document or page you consulted
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Source {
    /// A path or a URL
    #[arg(value_name = "PATH|URL")]
    pub location: String,
    #[command(flatten)]
    pub entry: Entry,
}

/// Log a check you ran, and how it ended
///
/// The command is not run again; only its last run counts in the handoff.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Evidence {
    /// The command line you ran
    #[arg(value_name = "CMD")]
    pub command: String,
    /// Its exit code; 0 passed
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub exit: i32,
    /// A file it vouches for; can be given several times
    #[arg(long, value_name = "PATH")]
    pub file: Vec<String>,
    #[command(flatten)]
    pub entry: Entry,
}

/// Log the use of a tool
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Activity {
    #[arg(value_name = "CATEGORY", help = category_help())]
    pub category: String,
    /// What you did; - reads standard input, @FILE a file
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// It failed
    #[arg(long)]
    pub failed: bool,
    /// A file it touched; can be given several times
    #[arg(long, value_name = "PATH")]
    pub file: Vec<String>,
    #[command(flatten)]
    pub entry: Entry,
}

fn category_help() -> String {
    format!("One of {}", CATEGORIES.join(", "))
}
