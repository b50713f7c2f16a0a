//! `-h`, `help`, its topics, and the pages of commands.

pub mod complete;
pub mod manual;

use std::ffi::OsString;

use clap::{Command, CommandFactory};
use serde_json::json;

use crate::cli::aliases;
use crate::cli::commands::{Cli, GROUPS};
use crate::cli::error::CLOSE;
use crate::render::answer::Answer;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::model::Vector;

/// The commands of `-h` by heading, at most 24; `help -a` lists the others.
const EVERYDAY: &[(&str, &[&str])] = &[
    ("begin, share, repair", &["init", "session", "sync", "doctor"]),
    (
        "log as you go",
        &["finding", "unknown", "resolve", "deadend", "decision", "evidence", "replace", "retract", "undo"],
    ),
    ("hand over, take up", &["handoff", "resume", "log", "show"]),
    ("ask", &["status", "search", "why"]),
    ("say how sure you are", &["preflight", "check", "postflight", "goal"]),
];

/// The topics besides commands, with a summary.
const TOPICS: &[(&str, &str)] = &[
    ("vectors", "The 13 vectors, and the rules that use them"),
    ("tasks", "Managed handoffs: types, fields, the receiver's side"),
    ("routes", "Rules that name the receiver of a handoff, and the chain that follows"),
    ("config", "Configuration, environment, files, exit status"),
];

/// Longest summary of a command; a longer one is cut at its colon or semicolon.
const LINE: usize = 78;

/// The topic words of a call for help: the words after `help`, or none for `-h`. `None` for other calls.
pub fn requested(arguments: &[OsString]) -> Option<Vec<String>> {
    let mut words = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    match words.find(|word| word != "--no-pager")?.as_str() {
        "-h" => Some(Vec::new()),
        "--help" => Some(vec!["--help".to_owned()]),
        "help" => Some(words.filter(|word| !matches!(word.as_str(), "--json" | "-q" | "--quiet")).collect()),
        _ => None,
    }
}

pub fn answer(words: &[String]) -> Result<Answer> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = match words.as_slice() {
        [] | ["-h"] => screen(),
        ["-a" | "--all"] => all(),
        ["--help"] => format!("{}\n{}", screen(), manual::sections()),
        ["vectors"] => vectors(),
        ["tasks" | "handoffs"] => include_str!("tasks.txt").to_owned(),
        ["routes"] => include_str!("routes.txt").to_owned(),
        ["config"] => manual::sections(),
        names => page(names)?,
    };
    Ok(Answer::new(json!({"help": text})).text(text).paged())
}

fn group(command: &Command, heading: &str, names: &[String]) -> String {
    let mut out = if names.is_empty() { String::new() } else { format!("\n{heading}\n") };
    for sub in names.iter().filter_map(|name| command.find_subcommand(name)) {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        let line = if about.len() > LINE { about.split([':', ';']).next().unwrap_or_default() } else { &about };
        out.push_str(&format!("  {:<13} {line}\n", sub.get_name()));
    }
    out
}

/// The text of `-h`: one screen.
pub fn screen() -> String {
    let command = Cli::command();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let groups: String = EVERYDAY.iter().map(|(heading, list)| group(&command, heading, &names(list))).collect();
    format!(
        "usage: git empirica [--no-pager] <command> [--json] [-q] [<args>]\n{groups}\n\
         'git empirica help -a' lists the rest and the topics, 'git empirica help <name>' shows one.\n"
    )
}

fn all() -> String {
    let command = Cli::command();
    let is_rest = |name: &String| !EVERYDAY.iter().any(|(_, names)| names.contains(&name.as_str()));
    let mut out = String::from("The commands that 'git empirica -h' does not list:\n");
    for (heading, names) in GROUPS {
        let names: Vec<String> = names.concat().iter().map(|name| name.to_lowercase()).filter(is_rest).collect();
        out.push_str(&group(&command, heading, &names));
    }
    out.push_str("\ntopics\n");
    for (name, about) in TOPICS {
        out.push_str(&format!("  {name:<13} {about}\n"));
    }
    out
}

fn vectors() -> String {
    let mut out = String::from("Each vector is a number from 0 to 1. Give those that you can tell; 1 means:\n\n");
    for vector in Vector::ALL {
        out.push_str(&format!("  {:<12} {}\n", vector.name(), vector.meaning()));
    }
    out.push_str(include_str!("vectors.txt"));
    out
}

/// The page of a command, as in the manual.
fn page(names: &[&str]) -> Result<String> {
    let mut program = Cli::command();
    program.build();
    let target = aliases::target(names[0]);
    let words = target.unwrap_or(&names[..1]).iter().chain(&names[1..]);
    let words: Vec<&str> = words.copied().filter(|name| !name.starts_with('-')).collect();
    let mut command = &program;
    for name in &words {
        command = command.find_subcommand(name).ok_or_else(|| unknown(command, name))?;
    }
    let arguments = ["git-empirica"].into_iter().chain(words).chain(["--help"]);
    let page = Cli::command().try_get_matches_from(arguments).err().map(|page| page.to_string()).unwrap_or_default();
    Ok(match target {
        Some(target) => {
            format!("'git empirica {}' is an alias of 'git empirica {}'.\n\n{page}", names[0], target.join(" "))
        }
        None => page,
    })
}

fn unknown(command: &Command, name: &str) -> Error {
    let is_top = command.get_name() == "git-empirica";
    let mut names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    if is_top {
        names.extend(TOPICS.iter().map(|(topic, _)| *topic).filter(|topic| *topic != name));
        names.extend(aliases::names());
    }
    let above = if is_top { "git empirica" } else { command.get_bin_name().unwrap_or("git empirica") };
    let out =
        Error::usage(format!("cannot show the help of '{name}': not a command of '{above}' or a topic")).provided(name);
    let near = similar::get_close_matches(name, &names, 1, CLOSE);
    match near.first() {
        Some(near) => out.suggest(format!("Did you mean '{near}'?")).alternative(*near),
        None => out.suggest("List the commands and topics."),
    }
    .command(empirica("help").flag("-a"))
}
