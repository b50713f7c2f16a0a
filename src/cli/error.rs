//! Errors of the argument parser as errors of the program.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::commands::Cli;
use empirica_notes::error::{Command, Error, empirica, quote};

/// Whether arguments, even unparsable ones, ask for JSON: with `--json`, or `--format json` of `search`.
pub fn wants_json(arguments: &[OsString]) -> bool {
    let words: Vec<&OsString> = arguments.iter().skip(1).take_while(|argument| *argument != "--").collect();
    let has = |argument: &str| words.iter().any(|word| *word == argument);
    let has_format = || has("--format=json") || words.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json");
    has("--json") || (words.first().is_some_and(|word| *word == "search") && has_format())
}

/// Whether arguments, even unparsable ones, have `-q` or `--quiet`.
pub fn wants_quiet(arguments: &[OsString]) -> bool {
    arguments.iter().skip(1).take_while(|argument| *argument != "--").any(|word| word == "-q" || word == "--quiet")
}

/// Converts an error of the parser: names the wrong argument, and a command that helps.
pub fn from_parser(error: &clap::Error, arguments: &[OsString]) -> Error {
    let (name, command) = command_of(arguments);
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    let first = |kind| context(kind).into_iter().next().unwrap_or_default();
    let help = name.clone().flag("-h");
    let about = |name: &str| {
        let argument = command.get_arguments().find(|argument| argument.to_string() == name)?;
        Some(format!("{name}: {}", argument.get_help()?))
    };
    // the parser puts the nearest one last
    let suggested = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let mut near: Vec<String> = suggested.into_iter().flat_map(|kind| context(kind).into_iter().rev()).collect();
    if error.kind() == ErrorKind::UnknownArgument {
        let given = first(ContextKind::InvalidArg);
        // the parser takes options for near that nobody would confuse
        near.retain(|near| !similar::get_close_matches(given.as_str(), &[near.as_str()], 1, CLOSE).is_empty());
    }
    let mut out = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            let names: Vec<&str> = command.get_subcommands().map(|sub| sub.get_name()).collect();
            Error::usage(format!("cannot run {name}: no subcommand given"))
                .reason(format!("it has {}", names.join(", ")))
                .command(help)
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = first(ContextKind::InvalidArg);
            let error = Error::usage(format!("cannot run {name}: {missing} is missing")).command(help);
            about(&missing).into_iter().fold(error, Error::reason)
        }
        ErrorKind::InvalidSubcommand => {
            let word = first(ContextKind::InvalidSubcommand);
            let error =
                Error::usage(format!("cannot run '{word}': it is not a command of {name}")).provided(word.as_str());
            match near.first() {
                Some(near) => {
                    let rest = arguments.iter().skip_while(|arg| arg.to_str() != Some(&word)).skip(1);
                    let rest = rest.filter(|word| *word != "--json");
                    let rest: String = rest.map(|word| format!(" {}", quote(&word.to_string_lossy()))).collect();
                    error.command(format!("{name} {near}{rest}"))
                }
                None => error.suggest("See which commands there are.").command(help),
            }
        }
        ErrorKind::UnknownArgument => unknown(&first(ContextKind::InvalidArg), &name, &command, near.is_empty()),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let (value, argument) = (first(ContextKind::InvalidValue), first(ContextKind::InvalidArg));
            let values = context(ContextKind::ValidValue);
            let cause = std::error::Error::source(error).map(ToString::to_string);
            let takes = || (!values.is_empty()).then(|| format!("it takes {}", values.join(", ")));
            let message = match value.as_str() {
                "" => format!("cannot parse '{argument}': it has no value"),
                value => format!("cannot parse '{argument}': invalid value '{value}'"),
            };
            let error = Error::usage(message).provided(value).command(help);
            cause.or_else(takes).or_else(|| about(&argument)).into_iter().fold(error, Error::reason)
        }
        ErrorKind::InvalidUtf8 => Error::usage("cannot parse the arguments: one is not valid UTF-8").command(help),
        _ => {
            let rendered = error.render().to_string();
            let lines = rendered.split("\n\n").next().unwrap_or_default().lines().map(str::trim);
            let message = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
            Error::usage(format!("cannot parse the arguments: {}", message.trim_start_matches("error: "))).command(help)
        }
    };
    if let Some(near) = near.first() {
        out = out.suggest(format!("Did you mean '{near}'?"));
    }
    near.into_iter().fold(out, |out, near| out.alternative(near))
}

/// How similar the names of options are, from 0 to 1, to suggest one for the other.
pub(crate) const CLOSE: f32 = 0.7;

fn unknown(argument: &str, name: &Command, command: &clap::Command, has_no_near: bool) -> Error {
    let is_option = argument.starts_with('-');
    let error = Error::usage(match is_option {
        true => format!("cannot run {name}: it has no option '{argument}'"),
        false => format!("cannot run {name}: '{argument}' is one argument too many"),
    });
    match is_option && has_no_near {
        // options for diffs are git log's
        true if command.get_name() == "log" => error
            .reason("it does not select commits, or git log does not know it either")
            .suggest("git log shows it, with the notes beside the commits.")
            .command(format!("git log --notes=empirica/handoffs {}", quote(argument))),
        true if command.get_positionals().next().is_some() => {
            error.suggest("A text that begins with '-' goes behind '--'.").command(name.clone().flag("-h"))
        }
        _ => error.command(name.clone().flag("-h")),
    }
}

/// The command that shows the help of the called command.
pub fn help_command(arguments: &[OsString]) -> Command {
    command_of(arguments).0.flag("-h")
}

/// The command of the arguments: its call, and its definition.
fn command_of(arguments: &[OsString]) -> (Command, clap::Command) {
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
