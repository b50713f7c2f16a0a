//! The one error type: what happened, why, what to do, and the exit code that follows.

mod path;
mod remedy;

use std::error::Error as StdError;
use std::fmt;

use empirica_transcripts::model::Agent;

pub use crate::error::path::{io_cause, move_aside, quote};
pub use crate::text;

pub use crate::error::remedy::{Argument, Command, Part, Shell, Terms, Text, Value, blank, empirica, option};

/// The result of everything that can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The remedy class of an error; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The thing asked for does not exist.
    NotFound,
    /// The request is understood and not done: an invalid state, an ambiguous name.
    Refused,
    /// Wrong arguments or values out of range.
    Usage,
    /// There is no repository here, or one that must not be opened.
    NoRepository,
    /// Neither the notes nor any log could be written, or a store cannot be read.
    Storage,
}

impl Kind {
    /// The process exit code: 1 not found or refused, 2 usage, 128 no repository or storage beyond help.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::NotFound | Kind::Refused => 1,
            Kind::Usage => 2,
            Kind::NoRepository | Kind::Storage => 128,
        }
    }
}

/// An error with its cause and everything a reader needs to act on it.
#[derive(Debug)]
pub struct Error(Box<Parts>);

#[derive(Debug)]
struct Parts {
    kind: Kind,
    message: Text,
    reason: Option<Text>,
    suggestion: Option<Text>,
    alternatives: Vec<String>,
    commands: Vec<Command>,
    provided: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// A new error of `kind` that says what happened in one line, without a final stop.
    pub fn new(kind: Kind, message: impl Into<Text>) -> Self {
        Error(Box::new(Parts {
            kind,
            message: message.into(),
            reason: None,
            suggestion: None,
            alternatives: Vec::new(),
            commands: Vec::new(),
            provided: None,
            source: None,
        }))
    }

    /// Something that was asked for does not exist.
    pub fn not_found(message: impl Into<Text>) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// The request is understood but not done.
    pub fn refused(message: impl Into<Text>) -> Self {
        Self::new(Kind::Refused, message)
    }

    /// An argument is wrong.
    pub fn usage(message: impl Into<Text>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// The store cannot be read or written.
    pub fn storage(message: impl Into<Text>) -> Self {
        Self::new(Kind::Storage, message)
    }

    /// What was to be stored is not among what was stored. A fault of the program.
    pub fn unstored() -> Self {
        Self::storage("the record is not among what was stored")
            .reason("internal error; please report it")
            .suggest("See what is stored, then say it again if it is not there.")
            .command(empirica("status"))
    }

    /// Why it happened, in a sentence.
    pub fn reason(mut self, reason: impl Into<Text>) -> Self {
        self.0.reason = Some(reason.into());
        self
    }

    /// What the user can do about it, in a sentence.
    pub fn suggest(mut self, suggestion: impl Into<Text>) -> Self {
        self.0.suggestion = Some(suggestion.into());
        self
    }

    /// Another value that would have worked.
    pub fn alternative(mut self, value: impl Into<String>) -> Self {
        self.0.alternatives.push(value.into());
        self
    }

    /// A command, ready to run, that mends it or shows more.
    pub fn command(mut self, command: impl Into<Command>) -> Self {
        self.0.commands.push(command.into());
        self
    }

    /// Commands, as [`Self::command`].
    pub fn commands_of(self, commands: impl IntoIterator<Item = impl Into<Command>>) -> Self {
        commands.into_iter().fold(self, Error::command)
    }

    /// The text the user gave for an alias or name.
    pub fn provided(mut self, value: impl Into<String>) -> Self {
        self.0.provided = Some(value.into());
        self
    }

    /// The error beneath this one.
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The remedy class.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The sentence for the `reason` key: the stated reason, else the chain of causes; empty where the message says it all.
    pub fn reason_text(&self) -> Text {
        self.0.reason.clone().unwrap_or_else(|| self.causes().join(": ").into())
    }

    /// What to do: as given, else what helps with errors of the class.
    pub fn suggestion_text(&self) -> Text {
        let of_class = || match self.0.kind {
            Kind::NotFound => "Use a name as the lists show it.",
            Kind::Refused => "Put right what the reason names, then run the command again.",
            Kind::Usage => "Look at the help of the command.",
            Kind::NoRepository => "Change into a repository, or make one.",
            Kind::Storage => {
                "See what git and the reason say about the repository; your records are kept where they are."
            }
        };
        self.0.suggestion.clone().unwrap_or_else(|| of_class().into())
    }

    /// What happened.
    pub fn message(&self) -> &Text {
        &self.0.message
    }

    /// Whether a suggestion was stated.
    pub fn has_suggestion(&self) -> bool {
        self.0.suggestion.is_some()
    }

    /// The message with those of the errors beneath it, in one line.
    pub fn in_one_line(&self) -> String {
        self.causes().iter().fold(self.to_string(), |text, cause| format!("{text}: {cause}"))
    }

    /// The message with its reason, in one line.
    pub fn with_reason(&self) -> String {
        let reason = self.reason_text().to_string();
        if reason.is_empty() { self.to_string() } else { format!("{self}: {reason}") }
    }

    /// Values that would have worked.
    pub fn alternatives(&self) -> &[String] {
        &self.0.alternatives
    }

    /// Commands that mend it or show more.
    pub fn commands(&self) -> &[Command] {
        &self.0.commands
    }

    /// The alias or name the user gave, when that was the trouble.
    pub fn provided_text(&self) -> Option<&str> {
        self.0.provided.as_deref()
    }

    /// Whether a reason was stated, beyond the chain of causes.
    pub fn has_reason(&self) -> bool {
        self.0.reason.is_some()
    }

    /// The messages of the errors beneath this one, outermost first.
    pub fn causes(&self) -> Vec<String> {
        let mut out = Vec::new();
        let mut next = self.source();
        while let Some(error) = next {
            let text = error.to_string();
            if out.last() != Some(&text) {
                out.push(text);
            }
            next = error.source();
        }
        out
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.message.fmt(f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}

impl From<empirica_transcripts::Error> for Error {
    fn from(error: empirica_transcripts::Error) -> Self {
        use empirica_transcripts::Error as Cause;
        let message = error.to_string();
        let known = |error: Error| {
            let names: Vec<&str> = Agent::ALL.into_iter().map(Agent::name).collect();
            let error = error.suggest(format!("Give a transcript of one of these agents: {}.", names.join(", ")));
            names.into_iter().fold(error, Error::alternative)
        };
        match error {
            Cause::Missing { path, source } => Error::not_found(message).on_path(&path, source),
            Cause::Unreadable { path, source } => Error::refused(message).on_path(&path, source),
            Cause::UnknownAgent { reason, .. } => known(Error::refused(message)).reason(reason),
            Cause::EmptyFolder { .. } => {
                known(Error::not_found(message)).reason("none of the files right below it was written by a known agent")
            }
            Cause::NoSession { root, .. } => Error::not_found(message)
                .reason(match root {
                    Some(root) => format!("no session in it was made in {}", root.display()),
                    None => "there is no session in it".to_owned(),
                })
                .suggest("Give the transcript that is meant, or run the command where the agent worked."),
            Cause::Database { source, .. } => Error::refused(message)
                .reason(source.to_string())
                .suggest("If OpenCode is writing in it, run the command again; else give another transcript.")
                .caused_by(source),
            other => Error::refused(message).caused_by(other),
        }
    }
}
