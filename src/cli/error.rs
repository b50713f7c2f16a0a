//! The parser's own errors, as errors like all others.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::commands::Cli;
use empirica_notes::error::{Command, Error, empirica, quote};

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

/// A parser's error in git's words: what is wrong with which argument, and one command that fits.
pub fn of_parser(error: &clap::Error, arguments: &[OsString]) -> Error {
    let (name, command) = meant(arguments);
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    let first = |kind| context(kind).into_iter().next().unwrap_or_default();
    let help = name.clone().flag("-h");
    let about = |named: &str| {
        let argument = command.get_arguments().find(|argument| argument.to_string() == named)?;
        Some(format!("{named}: {}", argument.get_help()?))
    };
    // the parser puts the nearest one last
    let suggested = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let near: Vec<String> = suggested.into_iter().flat_map(|kind| context(kind).into_iter().rev()).collect();
    let mut out = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            let names: Vec<&str> = command.get_subcommands().map(|sub| sub.get_name()).collect();
            Error::usage(format!("{name}: no subcommand given"))
                .reason(format!("it has {}", names.join(", ")))
                .command(help)
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = first(ContextKind::InvalidArg);
            let error = Error::usage(format!("{name}: {missing} is missing")).command(help);
            about(&missing).into_iter().fold(error, Error::reason)
        }
        ErrorKind::InvalidSubcommand => {
            let given = first(ContextKind::InvalidSubcommand);
            let error = Error::usage(format!("'{given}' is not a command of {name}")).provided(given.as_str());
            match near.first() {
                Some(near) => {
                    let rest = arguments.iter().skip_while(|word| word.to_str() != Some(&given)).skip(1);
                    let rest = rest.filter(|word| *word != "--json");
                    let rest: String = rest.map(|word| format!(" {}", quote(&word.to_string_lossy()))).collect();
                    error.command(format!("{name} {near}{rest}"))
                }
                None => error.suggest("See which commands there are.").command(help),
            }
        }
        ErrorKind::UnknownArgument => unknown(&first(ContextKind::InvalidArg), &name, &command, near.is_empty()),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let (given, argument) = (first(ContextKind::InvalidValue), first(ContextKind::InvalidArg));
            let values = context(ContextKind::ValidValue);
            let cause = std::error::Error::source(error).map(ToString::to_string);
            let takes = || (!values.is_empty()).then(|| format!("it takes {}", values.join(", ")));
            let what = match given.as_str() {
                "" => format!("'{argument}' has no value"),
                given => format!("invalid value '{given}' for '{argument}'"),
            };
            let error = Error::usage(what).provided(given).command(help);
            cause.or_else(takes).or_else(|| about(&argument)).into_iter().fold(error, Error::reason)
        }
        ErrorKind::InvalidUtf8 => Error::usage("an argument is not valid UTF-8").command(help),
        _ => {
            let rendered = error.render().to_string();
            let lines = rendered.split("\n\n").next().unwrap_or_default().lines().map(str::trim);
            let message = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
            Error::usage(message.trim_start_matches("error: ")).command(help)
        }
    };
    if let Some(near) = near.first() {
        out = out.suggest(format!("Did you mean '{near}'?"));
    }
    near.into_iter().fold(out, |out, near| out.alternative(near))
}

/// The error of an argument that a command does not take.
fn unknown(given: &str, name: &Command, command: &clap::Command, is_alone: bool) -> Error {
    let is_option = given.starts_with('-');
    let error = Error::usage(match is_option {
        true => format!("{name} has no option '{given}'"),
        false => format!("{name}: '{given}' is one argument too many"),
    });
    match is_option && is_alone {
        // what shapes a diff, git log shows with the notes beside
        true if command.get_name() == "log" => error
            .reason("it does not select commits, or git log does not know it either")
            .suggest("git log shows it, with the notes beside the commits.")
            .command(format!("git log --notes=empirica/handoffs {}", quote(given))),
        true if command.get_positionals().next().is_some() => {
            error.suggest("A text that begins with '-' goes behind '--'.").command(name.clone().flag("-h"))
        }
        _ => error.command(name.clone().flag("-h")),
    }
}

/// The command that shows the help of what was meant.
pub fn help_command(arguments: &[OsString]) -> Command {
    meant(arguments).0.flag("-h")
}

/// The command that the arguments name, as it is called and as it is defined.
fn meant(arguments: &[OsString]) -> (Command, clap::Command) {
    let mut command = Cli::command();
    command.build();
    let mut names = Vec::new();
    for word in arguments.iter().skip(1).filter_map(|argument| argument.to_str()) {
        let Some(sub) = command.find_subcommand(word) else { break };
        names.push(sub.get_name().to_owned());
        command = sub.clone();
    }
    (empirica(names.join(" ")), command)
}
