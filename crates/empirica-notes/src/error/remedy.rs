//! Remedies as data: commands, and texts that name commands and options. Each interface renders them in its own terms.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::error::quote;

/// How an interface names commands and options.
pub trait Terms {
    /// The equivalent of `command`; `None` if the interface has none.
    fn call(&self, command: &Command) -> Option<String>;
    /// The equivalent of a command-line option.
    fn option(&self, name: &str) -> String;
}

/// The terms of the command line.
pub struct Shell;

impl Terms for Shell {
    fn call(&self, command: &Command) -> Option<String> {
        Some(command.to_string())
    }

    fn option(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// A command of this program, or a shell line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The command and subcommand; the whole line unless [`Self::is_own`].
    pub name: String,
    /// Arguments, in order.
    pub arguments: Vec<Argument>,
    /// Whether it is a command of this program.
    pub is_own: bool,
}

/// An argument of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// An option without a value.
    Flag(&'static str),
    /// An option and its value.
    Option(&'static str, Value),
    /// A positional value.
    Positional(Value),
}

/// The value of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The value or placeholder, unquoted.
    pub text: String,
    /// Whether it is a placeholder to replace, such as `<ai>`.
    pub is_placeholder: bool,
}

impl<T: Into<String>> From<T> for Value {
    fn from(value: T) -> Self {
        Value { text: value.into(), is_placeholder: false }
    }
}

/// A placeholder.
pub fn blank(shown: &str) -> Value {
    Value { text: shown.to_owned(), is_placeholder: true }
}

/// A command of this program, without arguments.
pub fn empirica(name: impl Into<String>) -> Command {
    Command { name: name.into(), arguments: Vec::new(), is_own: true }
}

impl<T: Into<String>> From<T> for Command {
    fn from(line: T) -> Self {
        Command { name: line.into(), arguments: Vec::new(), is_own: false }
    }
}

impl Command {
    /// Adds a positional value.
    pub fn arg(mut self, value: impl Into<Value>) -> Self {
        self.arguments.push(Argument::Positional(value.into()));
        self
    }

    /// Adds an option with its value.
    pub fn option(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.arguments.push(Argument::Option(name, value.into()));
        self
    }

    /// Adds an option without a value.
    pub fn flag(mut self, name: &'static str) -> Self {
        self.arguments.push(Argument::Flag(name));
        self
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            text if !self.is_placeholder => f.write_str(&quote(text)),
            text if text.contains(' ') => write!(f, "\"{text}\""),
            text => f.write_str(text),
        }
    }
}

/// The shell line, with values quoted.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = if self.is_own { "git empirica " } else { "" };
        f.write_str(format!("{program}{}", self.name).trim_end())?;
        let mut only_positionals = false;
        for argument in &self.arguments {
            // a value that looks like an option is joined to its option by `=`, or follows `--`
            let is_dashed = |value: &Value| value.text.starts_with('-');
            match argument {
                Argument::Flag(name) => write!(f, " {name}")?,
                Argument::Option(name, value) => {
                    write!(f, " {name}{}{value}", if is_dashed(value) { '=' } else { ' ' })?
                }
                Argument::Positional(value) => {
                    if is_dashed(value) && !std::mem::replace(&mut only_positionals, true) {
                        f.write_str(" --")?;
                    }
                    write!(f, " {value}")?;
                }
            }
        }
        Ok(())
    }
}

/// A text with references to commands and options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(pub Vec<TextPart>);

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextPart {
    /// Literal text.
    Words(String),
    /// A reference to a command.
    Command(Command),
    /// A reference to an option.
    Option(&'static str),
}

/// Builds a [`Text`](crate::error::Text) from words, commands and options.
#[macro_export]
macro_rules! text {
    ($($part:expr),+ $(,)?) => { $crate::error::Text(vec![$($crate::error::TextPart::from($part)),+]) };
}

/// A reference to an option.
pub fn option(name: &'static str) -> TextPart {
    TextPart::Option(name)
}

impl Text {
    /// Renders the text in the terms of an interface; a command without an equivalent there stays a shell line.
    pub fn render(&self, terms: &dyn Terms) -> String {
        let part = |part: &TextPart| match part {
            TextPart::Words(words) => words.clone(),
            TextPart::Command(command) => terms.call(command).unwrap_or_else(|| command.to_string()),
            TextPart::Option(name) => terms.option(name),
        };
        self.0.iter().map(part).collect()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&Shell))
    }
}

impl<T: Into<TextPart>> From<T> for Text {
    fn from(part: T) -> Self {
        Text(vec![part.into()])
    }
}

impl<T: Into<String>> From<T> for TextPart {
    fn from(words: T) -> Self {
        TextPart::Words(words.into())
    }
}

impl From<Command> for TextPart {
    fn from(command: Command) -> Self {
        TextPart::Command(command)
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
