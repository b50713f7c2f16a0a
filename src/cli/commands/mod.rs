//! The commands: a file for each, with its arguments and its call. Their doc comments are the help, the manual pages and the completions.
// doc comments are the help, which names placeholders as <ai>
#![allow(rustdoc::invalid_html_tags)]

mod assess {
    pub mod assessment;
    pub mod check;
    pub mod postflight;
    pub mod preflight;
}
mod checkpoint;
mod exchange {
    pub mod export;
    pub mod flush;
    pub mod import;
    pub mod redact;
    pub mod sync;
}
mod goal;
mod handoff;
mod install {
    pub mod deinit;
    pub mod demo;
    pub mod doctor;
    pub mod hook;
    pub mod init;
    pub mod instructions;
    pub mod mcp;
    pub mod setup;
}
mod journal {
    pub mod collect;
    pub mod entry;
    pub mod undo;
}
mod query {
    pub mod calibration;
    pub mod diff;
    pub mod log;
    pub mod metrics;
    pub mod report;
    pub mod resume;
    pub mod search;
    pub mod show;
    pub mod status;
}
mod receive {
    pub mod accept;
    pub mod answer;
    pub mod task;
}
mod prelude;
mod session;

use std::ffi::OsString;

use clap::{FromArgMatches, Parser};

use journal::entry::EntryCommand;
use prelude::*;

/// Keep what AI agents learned, doubted, tried and decided inside the repository, as git notes
///
/// An agent says how sure it is before, during and after its work, logs what it finds, and hands over. The next agent
/// resumes in seconds, a reviewer reads it in git log, and it travels with push and fetch. Everything of record is
/// under refs/notes/empirica/; nothing is written to the work tree, but what instructions --write and
/// init --agents are told to write.
#[derive(Debug, Parser)]
#[command(name = "git-empirica", bin_name = "git empirica", version, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
pub struct Cli {
    /// Show long answers without a pager
    #[arg(long)]
    pub no_pager: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)]
pub enum Command {
    #[command(subcommand)]
    Session(session::SessionCommand),
    Preflight(assess::preflight::Preflight),
    Check(assess::check::Check),
    Postflight(assess::postflight::Postflight),
    #[command(aliases = ["checkpoint-create", "assess-state"])]
    Checkpoint(checkpoint::Checkpoint),
    #[command(flatten)]
    Entry(journal::entry::EntryCommand),
    Undo(journal::undo::Undo),
    #[command(subcommand)]
    Goal(goal::GoalCommand),
    Handoff(handoff::Handoff),
    Accept(receive::accept::Accept),
    Answer(receive::answer::AnswerTo),
    #[command(subcommand)]
    Task(receive::task::TaskCommand),
    Collect(journal::collect::Collect),
    Show(query::show::Show),
    Diff(query::diff::Diff),
    Resume(query::resume::Resume),
    Log(query::log::Log),
    Search(query::search::Search),
    Calibration(query::calibration::Calibration),
    Metrics(query::metrics::Metrics),
    Report(query::report::Report),
    Status(query::status::Status),
    Flush(exchange::flush::Flush),
    Sync(exchange::sync::Sync),
    Export(exchange::export::Export),
    Import(exchange::import::Import),
    Redact(exchange::redact::Redact),
    Init(install::init::Init),
    Deinit(install::deinit::Deinit),
    Doctor(install::doctor::Doctor),
    Instructions(install::instructions::Instructions),
    Demo(install::demo::Demo),
    Setup(install::setup::Setup),
    Hook(install::hook::Hook),
    Mcp(install::mcp::Mcp),
}

impl Command {
    /// Runs the command, writes its answer, and returns the exit code.
    pub fn run(self, context: &mut Invocation) -> Result<u8> {
        if !matches!(self, Command::Demo(_) | Command::Hook(_) | Command::Mcp(_) | Command::Setup(_)) {
            // without a repository nothing else is looked at
            context.repo()?;
        }
        let answer = match self {
            // these answer their callers themselves
            Command::Hook(command) => return Ok(command.run(context)),
            Command::Mcp(command) => return command.run(context),
            Command::Session(command) => command.run(context),
            Command::Preflight(command) => command.run(context),
            Command::Check(command) => command.run(context),
            Command::Postflight(command) => command.run(context),
            Command::Checkpoint(command) => command.run(context),
            Command::Entry(command) => command.run(context),
            Command::Undo(command) => command.run(context),
            Command::Goal(command) => command.run(context),
            Command::Handoff(command) => command.run(context),
            Command::Accept(command) => command.run(context),
            Command::Answer(command) => command.run(context),
            Command::Task(command) => command.run(context),
            Command::Collect(command) => command.run(context),
            Command::Show(command) => command.run(context),
            Command::Diff(command) => command.run(context),
            Command::Resume(command) => command.run(context),
            Command::Log(command) => command.run(context),
            Command::Search(command) => command.run(context),
            Command::Calibration(command) => command.run(context),
            Command::Metrics(command) => command.run(context),
            Command::Report(command) => command.run(context),
            Command::Status(command) => command.run(context),
            Command::Flush(command) => command.run(context),
            Command::Sync(command) => command.run(context),
            Command::Export(command) => command.run(context),
            Command::Import(command) => command.run(context),
            Command::Redact(command) => command.run(context),
            Command::Init(command) => command.run(context),
            Command::Deinit(command) => command.run(context),
            Command::Doctor(command) => command.run(context),
            Command::Instructions(command) => command.run(context),
            Command::Demo(command) => command.run(context),
            Command::Setup(command) => command.run(context),
        }?;
        context.finish(answer)
    }
}

impl Cli {
    /// The commands that agents and hooks call hundreds of times, parsed without building all the others.
    ///
    /// `None` for every other command, and for arguments that are wrong or ask for help: the whole parser answers then.
    pub fn quickly(arguments: &[OsString]) -> Option<Self> {
        fn parsed<A: FromArgMatches>(add: fn(clap::Command) -> clap::Command, words: &[OsString]) -> Option<A> {
            // the process is about to do one thing and end: freeing the parser is for nobody
            let mut command = std::mem::ManuallyDrop::new(add(clap::Command::new("git empirica")));
            A::from_arg_matches(&command.try_get_matches_from_mut(words).ok()?).ok()
        }
        let words = arguments.get(1..)?;
        let command = match words.first()?.to_str()? {
            "handoff" => Command::Handoff(parsed(handoff::Handoff::augment_args, words)?),
            "hook" => Command::Hook(parsed(install::hook::Hook::augment_args, words)?),
            name if EntryCommand::has_subcommand(name) => {
                Command::Entry(parsed(EntryCommand::augment_subcommands, arguments)?)
            }
            _ => return None,
        };
        Some(Cli { no_pager: false, command })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_parser_understands_what_the_whole_one_does() {
        let words = |line: &str| -> Vec<OsString> {
            std::iter::once("git-empirica").chain(line.split(' ')).map(OsString::from).collect()
        };
        for line in [
            "finding text --impact 0.5 --as pattern --led-from abcd --ai a --session latest --json",
            "finding text of more words --impact 0.5",
            "resolve abcd text of more",
            "finding -- --text",
            "unknown text --json",
            "resolve abcd text",
            "deadend text --why because",
            "mistake text --prevention next",
            "decision text --why because --alternative one --alternative=two",
            "source README.md",
            "evidence cargo --exit 0 --file a --file b",
            "activity testing text --file a",
            "handoff -m task --finding f --next n --dry-run",
            "handoff list --json",
            "hook post-rewrite amend",
        ] {
            let words = words(line);
            let whole = Cli::try_parse_from(&words).map(|cli| format!("{cli:?}")).map_err(|error| error.to_string());
            let quick = Cli::quickly(&words).map(|cli| format!("{cli:?}"));
            assert_eq!(quick, whole.ok(), "{line}");
            assert!(quick.is_some(), "{line}");
        }
        for line in ["finding", "finding --help", "finding text --impact 2", "status", "", "-h"] {
            assert!(Cli::quickly(&words(line)).is_none(), "{line}");
        }
    }
}
