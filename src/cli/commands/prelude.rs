//! Arguments and value parsers shared by commands, and their common imports.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
pub use clap::{Args, Subcommand};

pub use crate::cli::invocation::Invocation;
pub use crate::context::Selection;
pub use crate::render::answer::Answer;
use crate::use_cases::handoff::managed::HandoffType;
pub use empirica_notes::error::{Error, Result, empirica};

/// The agent and the session of a command.
#[derive(Debug, Clone, Args)]
pub struct Identity {
    /// The agent of the record [default: EMPIRICA_AI, else the session's agent, else empirica.ai, else
    /// the agent that runs the command, else user.name]
    #[arg(long, value_name = "ID", hide_short_help = true)]
    pub ai: Option<String>,
    /// The session: an id, 4 or more characters of one, latest, latest:active, latest:<ai>, latest:active:<ai>, or the
    /// agent's own session id [default: EMPIRICA_SESSION, else the active session of this worktree]
    #[arg(long, alias = "session-id", value_name = "ALIAS", hide_short_help = true)]
    pub session: Option<String>,
}

/// The agent and the session of a command that stores texts.
#[derive(Debug, Clone, Args)]
pub struct Author {
    #[command(flatten)]
    pub identity: Identity,
    /// Store a likely secret unchanged, and let it leave
    #[arg(long, hide_short_help = true)]
    pub allow_secret: bool,
}

/// Filters of a list of records.
#[derive(Debug, Clone, Args)]
pub struct Filter {
    /// Only those of this agent
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// Only those of this session
    #[arg(long, alias = "session-id", value_name = "ALIAS")]
    pub session: Option<String>,
}

impl From<Identity> for Selection {
    fn from(Identity { ai, session }: Identity) -> Self {
        Selection { ai, session, ..Default::default() }
    }
}

impl From<Author> for Selection {
    fn from(Author { identity, allow_secret }: Author) -> Self {
        Selection { allow_secret, ..identity.into() }
    }
}

impl From<Filter> for Selection {
    fn from(Filter { ai, session }: Filter) -> Self {
        Selection { ai, session, ..Default::default() }
    }
}

/// A number from 0 to 1.
pub fn unit(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err("it must be a number from 0 to 1".to_owned()),
    }
}

/// Parses words to values; `word|alias` is a word with an alias.
pub fn one_of<T: Clone + Send + Sync + 'static, const N: usize>(
    words: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let words = words.map(|(names, value)| {
        let mut names = names.split('|');
        (PossibleValue::new(names.next().unwrap_or_default()).aliases(names), value)
    });
    PossibleValuesParser::new(words.clone().map(|(word, _)| word)).try_map(move |text| {
        let found = words.iter().find(|(word, _)| word.matches(&text, true));
        found.map(|(_, value)| value.clone()).ok_or("it is none of the words")
    })
}

/// Parses values by name.
pub fn named<T: Copy + Send + Sync + 'static, const N: usize>(
    values: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    one_of(values.map(|value| (name(value), value)))
}

/// Parses the types of handoffs to their names in records.
pub fn handoff_types() -> impl TypedValueParser<Value = &'static str> {
    one_of(HandoffType::ALL.map(|kind| match kind {
        HandoffType::ErrorRecovery => ("error_recovery|error-recovery", kind.name()),
        _ => (kind.name(), kind.name()),
    }))
}
