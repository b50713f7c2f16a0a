//! The commands that log one entry of the journal. A text can be `-` (standard input) or `@FILE`.

use clap::builder::PossibleValuesParser;

use crate::cli::commands::prelude::*;
use crate::use_cases::claim::scope::Scope;
use crate::use_cases::claim::{add, view};
use empirica_notes::model::Body;
use empirica_notes::model::journal::{self, MEMORY};
use empirica_transcripts::model::CATEGORIES;

/// Common arguments of entries.
#[derive(Debug, Args)]
pub struct EntryArguments {
    /// The record that it follows from
    #[arg(long, value_name = "ID")]
    pub led_from: Option<String>,
    #[command(flatten)]
    pub author: Author,
}

/// The code that a claim is about.
#[derive(Debug, Args)]
pub struct AtArguments {
    /// The code that it is about; can be given several times
    #[arg(long, value_name = "PATH[:LINE[-LINE]]")]
    pub at: Vec<String>,
}

/// When and where a claim holds.
#[derive(Debug, Args)]
pub struct ScopeArguments {
    #[command(flatten)]
    pub at: AtArguments,
    /// The date until which it holds, in any format of git; or changed, for its code
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
}

impl From<ScopeArguments> for Scope {
    fn from(given: ScopeArguments) -> Self {
        Scope { until: given.until, at: given.at.at }
    }
}

/// Common arguments of claims.
#[derive(Debug, Args)]
pub struct ClaimArguments {
    #[command(flatten)]
    pub scope: ScopeArguments,
    #[command(flatten)]
    pub entry: EntryArguments,
}

/// The names of the commands.
pub const NAMES: [&str; 9] =
    ["finding", "unknown", "resolve", "deadend", "mistake", "decision", "source", "evidence", "activity"];

/// One command per kind of entry.
#[derive(Debug, Subcommand)]
pub enum EntryCommand {
    /// Log something you learned
    Finding {
        /// The finding; - reads standard input, @FILE a file
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
        /// Its importance, from 0 to 1
        #[arg(long, value_name = "X", value_parser = unit)]
        impact: Option<f64>,
        /// Keep it in long-term memory, as this kind
        #[arg(long = "as", value_name = "KIND", value_parser = PossibleValuesParser::new(MEMORY))]
        memory: Option<String>,
        #[command(flatten)]
        claim: ClaimArguments,
    },
    /// Log an open question
    Unknown {
        /// The question; - reads standard input, @FILE a file
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
        /// The work must not be merged before it is answered
        #[arg(long)]
        blocking: bool,
        #[command(flatten)]
        claim: ClaimArguments,
    },
    /// Answer an open question, your own or another session's
    Resolve {
        /// The id of the question, or a unique part of it
        #[arg(value_name = "ID")]
        id: String,
        /// The answer; - reads standard input, @FILE a file
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
        /// Add an answer to a resolved question
        #[arg(long)]
        again: bool,
        #[command(flatten)]
        author: Author,
    },
    /// Log an approach that failed, and why
    Deadend {
        /// The approach; - reads standard input, @FILE a file
        #[arg(value_name = "APPROACH", required = true)]
        approach: Vec<String>,
        /// The reason for the failure
        #[arg(long, value_name = "TEXT", required = true)]
        why: String,
        #[command(flatten)]
        claim: ClaimArguments,
    },
    /// Log a mistake of yours, and how to prevent it
    Mistake {
        /// The mistake; - reads standard input, @FILE a file
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
        /// How to prevent it
        #[arg(long, value_name = "TEXT")]
        prevention: Option<String>,
        #[command(flatten)]
        claim: ClaimArguments,
    },
    /// Log a decision, its reason and the rejected alternatives
    Decision {
        /// The decision; - reads standard input, @FILE a file
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
        /// The reason
        #[arg(long, value_name = "TEXT", required = true)]
        why: String,
        /// A rejected alternative; can be given several times
        #[arg(long, value_name = "TEXT")]
        alternative: Vec<String>,
        #[command(flatten)]
        claim: ClaimArguments,
    },
    /// Log a document or page that you consulted
    Source {
        /// A path or a URL
        #[arg(value_name = "PATH|URL")]
        location: String,
        #[command(flatten)]
        claim: ClaimArguments,
    },
    /// Log a check that you ran, and its result
    ///
    /// Does not run the command. Only its last run counts in the handoff.
    Evidence {
        /// The command line
        #[arg(value_name = "CMD")]
        command: String,
        /// Its exit code; 0 means passed
        #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = exit_code)]
        exit: i32,
        /// A file that it covers; can be given several times
        #[arg(long = "file", value_name = "PATH")]
        files: Vec<String>,
        #[command(flatten)]
        entry: EntryArguments,
    },
    /// Log the use of a tool
    Activity {
        #[arg(value_name = "CATEGORY", help = format!("One of {}", CATEGORIES.join(", ")))]
        category: String,
        /// The action; - reads standard input, @FILE a file
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
        /// It failed
        #[arg(long)]
        failed: bool,
        /// A file it touched; can be given several times
        #[arg(long = "file", value_name = "PATH")]
        files: Vec<String>,
        #[command(flatten)]
        entry: EntryArguments,
    },
}

impl EntryCommand {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let mut input = context.input();
        let (body, scope, entry) = match self {
            EntryCommand::Finding { text, impact, memory, claim } => {
                let text = input.words(text)?;
                claimed(Body::Finding(journal::Finding { text, impact, memory, ..Default::default() }), claim)
            }
            EntryCommand::Unknown { text, blocking, claim } => {
                let text = input.words(text)?;
                claimed(Body::Unknown(journal::Unknown { text, blocking, ..Default::default() }), claim)
            }
            EntryCommand::Resolve { id, text, again, author } => {
                let text = input.words(text)?;
                return Ok(view::logged(&add::resolve(&context.open(author)?, &id, text, again)?));
            }
            EntryCommand::Deadend { approach, why, claim } => {
                let (approach, why) = (input.words(approach)?, input.text(why)?);
                claimed(Body::DeadEnd(journal::DeadEnd { approach, why, ..Default::default() }), claim)
            }
            EntryCommand::Mistake { text, prevention, claim } => {
                let (text, prevention) = (input.words(text)?, input.optional(prevention)?);
                claimed(Body::Mistake(journal::Mistake { text, prevention, ..Default::default() }), claim)
            }
            EntryCommand::Decision { text, why, alternative, claim } => {
                let (text, why, alternatives) = (input.words(text)?, input.text(why)?, input.each(alternative)?);
                claimed(Body::Decision(journal::Decision { text, why, alternatives, ..Default::default() }), claim)
            }
            EntryCommand::Source { location, claim } => {
                claimed(Body::Source(journal::Source { location, ..Default::default() }), claim)
            }
            EntryCommand::Evidence { command, exit, files, entry } => {
                let command = input.text(command)?;
                (Body::Evidence(journal::Evidence { command, exit, files, led_from: None }), Scope::default(), entry)
            }
            EntryCommand::Activity { category, text, failed, files, entry } => {
                let text = input.words(text)?;
                (
                    Body::Activity(journal::Activity { category, text, failed, files, led_from: None }),
                    Scope::default(),
                    entry,
                )
            }
        };
        let context = context.open(entry.author)?;
        Ok(view::logged(&add::log(&context, body, entry.led_from.as_deref(), &scope)?))
    }
}

fn claimed(body: Body, claim: ClaimArguments) -> (Body, Scope, EntryArguments) {
    (body, claim.scope.into(), claim.entry)
}

fn exit_code(text: &str) -> Result<i32, String> {
    text.parse().map_err(|_| "it must be a whole number".to_owned())
}
