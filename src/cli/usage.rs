//! The parser's own errors, as errors like all others.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::args::Cli;
use crate::error::Error;
use crate::error::quote;

/// Whether the arguments ask for JSON, also when they cannot be parsed: `--json`, and for `search` its `--format json`.
pub fn wants_json(arguments: &[OsString]) -> bool {
    let given: Vec<&OsString> = arguments.iter().skip(1).take_while(|argument| *argument != "--").collect();
    let formatted = || {
        let apart = given.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json");
        apart || given.iter().any(|argument| *argument == "--format=json")
    };
    given.iter().any(|argument| *argument == "--json") || (given.first().is_some_and(|c| *c == "search") && formatted())
}

/// Whether the arguments ask for the answer and warnings only.
pub fn wants_quiet(arguments: &[OsString]) -> bool {
    arguments.iter().skip(1).take_while(|argument| *argument != "--").any(|word| word == "-q" || word == "--quiet")
}

/// A parser's error with its own words, its tips and the command that shows the help.
pub fn error(error: &clap::Error, arguments: &[OsString]) -> Error {
    let rendered = error.render().to_string();
    let paragraph = rendered.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let message = words.join(" ");
    let message = message.trim_start_matches("error: ").to_owned();
    let message = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a subcommand is missing".to_owned(),
        // only the form of the answer was given
        ErrorKind::UnknownArgument if arguments.iter().skip(1).all(|argument| argument == "--json") => {
            "a subcommand is missing".to_owned()
        }
        ErrorKind::InvalidUtf8 => "an argument is not valid UTF-8".to_owned(),
        _ => message,
    };
    let mut out = Error::usage(message);
    let mut suggestion = None;
    for (kind, value) in error.context() {
        match (kind, value) {
            (ContextKind::SuggestedArg | ContextKind::SuggestedSubcommand | ContextKind::SuggestedValue, value) => {
                let names: Vec<&String> = match value {
                    ContextValue::String(name) => vec![name],
                    ContextValue::Strings(names) => names.iter().collect(),
                    _ => Vec::new(),
                };
                // the parser puts the nearest one last
                for name in names.into_iter().rev() {
                    suggestion.get_or_insert(format!("Did you mean '{name}'?"));
                    out = out.alternative(name.clone());
                }
            }
            (ContextKind::InvalidValue | ContextKind::InvalidSubcommand, ContextValue::String(given)) => {
                out = out.provided(given.clone());
            }
            _ => {}
        }
    }
    let tip = rendered.lines().find_map(|line| line.trim().strip_prefix("tip: ")).map(|tip| {
        let mut letters = tip.chars();
        letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
    });
    let dash = (error.kind() == ErrorKind::UnknownArgument && arguments.len() > 2)
        .then(|| "Look at the help; a text that begins with '-' goes behind '--'.".to_owned());
    let meant = suggestion.clone();
    let suggestion = suggestion.or(tip).or(dash).unwrap_or_else(|| "Look at the help of the command.".to_owned());
    match error.get(ContextKind::InvalidArg) {
        // what shapes a diff, git log shows with the notes beside
        Some(ContextValue::String(option))
            if error.kind() == ErrorKind::UnknownArgument && help_command(arguments) == "git empirica log -h" =>
        {
            out.reason("it does not select commits, or git log does not know it either")
                .suggest(meant.unwrap_or_else(|| "git log shows it, with the notes beside the commits.".to_owned()))
                .command(format!("git log --notes=empirica/handoffs {}", quote(option)))
        }
        _ => out.suggest(suggestion).command(help_command(arguments)),
    }
}

/// The command that shows the help of what was meant.
pub fn help_command(arguments: &[OsString]) -> String {
    let mut command = Cli::command();
    let mut out = String::from("git empirica");
    for word in arguments.iter().skip(1).filter_map(|argument| argument.to_str()) {
        let Some(sub) = command.find_subcommand(word) else { break };
        out.push_str(&format!(" {}", sub.get_name()));
        command = sub.clone();
    }
    out + " -h"
}
