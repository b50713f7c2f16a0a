//! The error type: a message, its reason, remedies and an exit code.

mod path;
mod remedy;

use std::error::Error as StdError;
use std::fmt;

use empirica_transcripts::model::Agent;

pub use crate::error::path::{io_cause, lock_error, move_aside, quote, refuses_writes};
pub use crate::text;

pub use crate::error::remedy::{Argument, Command, Shell, Terms, Text, TextPart, Value, blank, empirica, option};

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The class of an error; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The requested object does not exist.
    NotFound,
    /// The request is valid but not carried out: an invalid state, an ambiguous name.
    Refused,
    /// Invalid arguments, or values out of range.
    Usage,
    /// No repository was found, or it must not be opened.
    NoRepository,
    /// Neither the notes nor any log can be written, or a store cannot be read.
    Storage,
}

impl Kind {
    /// 1 not found or refused, 2 usage, 128 no repository or storage failure.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::NotFound | Kind::Refused => 1,
            Kind::Usage => 2,
            Kind::NoRepository | Kind::Storage => 128,
        }
    }
}

/// An error with its cause and its remedies.
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
    /// A new error of `kind`; the message is one line, without a final stop.
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

    /// A [`Kind::NotFound`] error.
    pub fn not_found(message: impl Into<Text>) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// A [`Kind::Refused`] error.
    pub fn refused(message: impl Into<Text>) -> Self {
        Self::new(Kind::Refused, message)
    }

    /// A [`Kind::Usage`] error.
    pub fn usage(message: impl Into<Text>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// A [`Kind::Storage`] error.
    pub fn storage(message: impl Into<Text>) -> Self {
        Self::new(Kind::Storage, message)
    }

    /// An internal error: a record just written is missing from the records read back.
    pub fn unstored() -> Self {
        Self::storage("cannot find the stored record")
            .reason("internal error; please report it")
            .suggest("Check what is stored, and log the record again if it is missing.")
            .command(empirica("status"))
    }

    /// Adds the cause, in a sentence.
    pub fn reason(mut self, reason: impl Into<Text>) -> Self {
        self.0.reason = Some(reason.into());
        self
    }

    /// Adds a remedy, in a sentence.
    pub fn suggest(mut self, suggestion: impl Into<Text>) -> Self {
        self.0.suggestion = Some(suggestion.into());
        self
    }

    /// Adds a value that would be accepted.
    pub fn alternative(mut self, value: impl Into<String>) -> Self {
        self.0.alternatives.push(value.into());
        self
    }

    /// Adds a command that fixes the problem or shows more.
    pub fn command(mut self, command: impl Into<Command>) -> Self {
        self.0.commands.push(command.into());
        self
    }

    /// Adds commands, as [`Self::command`] does.
    pub fn commands_of(self, commands: impl IntoIterator<Item = impl Into<Command>>) -> Self {
        commands.into_iter().fold(self, Error::command)
    }

    /// Adds the alias or name that the user gave.
    pub fn provided(mut self, value: impl Into<String>) -> Self {
        self.0.provided = Some(value.into());
        self
    }

    /// Sets the source.
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The class.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The `reason` key: the given reason, else the chain of sources; empty without either.
    pub fn reason_text(&self) -> Text {
        self.0.reason.clone().unwrap_or_else(|| self.causes().join(": ").into())
    }

    /// The given suggestion, else a general one for the class.
    pub fn suggestion_text(&self) -> Text {
        let of_class = || match self.0.kind {
            Kind::NotFound => "Use a name as shown by the list commands.",
            Kind::Refused => "Fix what the reason names, then run the command again.",
            Kind::Usage => "See the command's help.",
            Kind::NoRepository => "Change into a repository, or create one.",
            Kind::Storage => "Check the repository with git, going by the reason; the stored records are unchanged.",
        };
        self.0.suggestion.clone().unwrap_or_else(|| of_class().into())
    }

    /// The message, without reason or sources.
    pub fn message(&self) -> &Text {
        &self.0.message
    }

    /// Whether a suggestion was given, beyond that of the class.
    pub fn has_suggestion(&self) -> bool {
        self.0.suggestion.is_some()
    }

    /// The message and those of its sources, joined by `: `.
    pub fn in_one_line(&self) -> String {
        self.causes().iter().fold(self.to_string(), |text, cause| format!("{text}: {cause}"))
    }

    /// The message and its reason, joined by `: `.
    pub fn with_reason(&self) -> String {
        let reason = self.reason_text().to_string();
        if reason.is_empty() { self.to_string() } else { format!("{self}: {reason}") }
    }

    /// Values that would be accepted.
    pub fn alternatives(&self) -> &[String] {
        &self.0.alternatives
    }

    /// Commands that fix the problem or show more.
    pub fn commands(&self) -> &[Command] {
        &self.0.commands
    }

    /// The alias or name the user gave; `None` unless that caused the error.
    pub fn provided_text(&self) -> Option<&str> {
        self.0.provided.as_deref()
    }

    /// Whether a reason was given, beyond the chain of sources.
    pub fn has_reason(&self) -> bool {
        self.0.reason.is_some()
    }

    /// The messages of the sources, outermost first, without adjacent duplicates.
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
        let with_agents = |error: Error| {
            let names: Vec<&str> = Agent::ALL.into_iter().map(Agent::name).collect();
            let error = error.suggest(format!("Give a transcript of one of these agents: {}.", names.join(", ")));
            names.into_iter().fold(error, Error::alternative)
        };
        match error {
            Cause::Missing { path, source } => Error::not_found(message).on_path(&path, source),
            Cause::Unreadable { path, source } => Error::refused(message).on_path(&path, source),
            Cause::UnknownAgent { reason, .. } => with_agents(Error::refused(message)).reason(reason),
            Cause::EmptyFolder { .. } => with_agents(Error::not_found(message))
                .reason("none of the files directly in it was written by a supported agent"),
            Cause::NoSession { root, .. } => Error::not_found(message)
                .reason(match root {
                    Some(root) => format!("it has no session from {}", root.display()),
                    None => "it has no session".to_owned(),
                })
                .suggest("Name the transcript, or run the command where the agent worked."),
            Cause::Database { source, .. } => Error::refused(message)
                .reason(source.to_string())
                .suggest("If OpenCode is writing in it, run the command again; else give another transcript.")
                .caused_by(source),
            other => Error::refused(message).caused_by(other),
        }
    }
}
