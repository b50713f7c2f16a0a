//! Completion of a command line: the values of each argument.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, complete};

use crate::render::safe;
use crate::text::shorten::short;
use crate::use_cases::handoff::note::BuiltIn;
use crate::use_cases::search::candidates::{self, CandidateKind};
use empirica_notes::env::Env;

/// The values of an argument.
enum Values {
    Kinds(&'static [CandidateKind]),
    /// `BASE..HEAD`.
    Range,
    Paths,
}

/// The values of an argument, by its command, its id, and the name of its value.
fn values(command: &str, argument: &Arg) -> Option<Values> {
    use CandidateKind::{Agents, Claims, Goals, Handoffs, Questions, Refs, Sessions};
    let name = argument.get_value_names().and_then(|names| names.first()).map(|name| name.as_str())?;
    let kinds: &'static [CandidateKind] = match (command, argument.get_id().as_str(), name) {
        (_, "ai" | "to", _) | ("instructions", _, "AGENT") => &[Agents],
        (_, "pr", _) | ("report", "range", _) => return Some(Values::Range),
        (_, "files" | "artifact" | "at" | "paths", _) | ("why", ..) => return Some(Values::Paths),
        ("resolve", "id", _) => &[Questions],
        ("replace" | "retract" | "confirm", "id", _) | (_, "led_from", _) => &[Claims],
        (_, _, "GOAL") | ("done" | "drop" | "sub", "id", _) => &[Goals],
        ("show", ..) | ("redact", "records", _) => &[Handoffs, Sessions, Claims],
        (_, _, "HANDOFF") => &[Handoffs],
        (_, "session", _) | (_, _, "ALIAS") => &[Sessions],
        ("diff", ..) | (_, _, "SESSION|HANDOFF") => &[Handoffs, Sessions],
        (_, _, "REVISION") | ("log", "selection", _) => &[Refs],
        _ => return None,
    };
    Some(Values::Kinds(kinds))
}

/// The candidates for a word of a command line that begins with the program, a line each: the value, a tab and its description.
pub fn lines(mut program: Command, env: &Env, words: Vec<OsString>, at: usize) -> String {
    program = with_values(program, env);
    let found = complete(&mut program, words, at, Some(&env.cwd)).unwrap_or_default();
    let found: Vec<(&str, &CompletionCandidate)> = found
        .iter()
        .filter(|candidate| !candidate.is_hide_set())
        .filter_map(|candidate| Some((candidate.get_value().to_str()?, candidate)))
        .filter(|(value, _)| !value.contains(char::is_control))
        .collect();
    // options are offered to who asks for them, or where nothing else fits
    let is_option = |value: &str| value.starts_with('-');
    let has_values = found.iter().any(|(value, _)| !is_option(value));
    let mut out = String::new();
    for (value, candidate) in found.into_iter().filter(|(value, _)| !has_values || !is_option(value)) {
        let about = candidate.get_help().map(|help| short(&safe::line(&help.to_string()), WORDS)).unwrap_or_default();
        out.push_str(&if about.is_empty() { format!("{value}\n") } else { format!("{value}\t{about}\n") });
    }
    out
}

/// Most characters about a candidate.
const WORDS: usize = 70;

fn with_values(command: Command, env: &Env) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_subcommands(|sub| with_values(sub, env));
    // revisions need no `--`, unlike in the definition for the parser
    let command = match name.as_str() {
        "log" => command.mut_arg("selection", |argument| argument.last(false).num_args(0..)),
        _ => command,
    };
    command.mut_args(|argument| match values(&name, &argument) {
        Some(Values::Kinds(kinds)) => argument.add(completer(env, kinds, "")),
        Some(Values::Range) => argument.add(completer(env, &[CandidateKind::Refs], "..")),
        Some(Values::Paths) => argument.add(ArgValueCompleter::new(PathCompleter::any())),
        None => argument,
    })
}

/// Completes the part behind the last `separator`; the whole word, if that is empty.
fn completer(env: &Env, kinds: &'static [CandidateKind], separator: &'static str) -> ArgValueCompleter {
    let env = env.clone();
    ArgValueCompleter::new(move |given: &OsStr| {
        let Some(given) = given.to_str() else { return Vec::new() };
        let from = if separator.is_empty() { 0 } else { given.rfind(separator).map_or(0, |at| at + separator.len()) };
        let (kept, prefix) = given.split_at(from);
        let found = candidates::of(&env, &BuiltIn, kinds, prefix).into_iter();
        let candidate = |one: candidates::Candidate| {
            let help = Some(one.about).filter(|about| !about.is_empty()).map(Into::into);
            CompletionCandidate::new(format!("{kept}{}", one.value)).help(help)
        };
        found.map(candidate).collect()
    })
}
