//! The commands: one file each, with arguments and call. Their doc comments are the help, the manual pages and the completions.
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
    pub mod embed;
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
    pub mod correct;
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
    pub mod why;
}
mod receive {
    pub mod accept;
    pub mod answer;
    pub mod inbox;
    pub mod route;
    pub mod task;
}
mod prelude;
mod session;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, arg};
use schemars::SchemaGenerator;

use crate::cli::reference::Document;
use crate::render::answer::{CountedView, StoredView};
use prelude::*;

/// Keep what AI agents learned, doubted, tried and decided inside the repository, as git notes
///
/// An agent says how sure it is before, during and after its work, logs what it finds, and hands over. The next agent
/// resumes in seconds, a reviewer reads it in git log, and it travels with push and fetch. Everything of record is
/// under refs/notes/empirica/; only instructions --write and init --agents write to the work tree.
#[derive(Debug, Args)]
#[command(bin_name = "git empirica", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// Show long answers without a pager
    #[arg(long)]
    pub no_pager: bool,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// Declares each command once: its heading in `help -a`, its arguments, and its JSON documents, each with its views, by path
/// in the crate, and common views. A type of several commands lists their names.
macro_rules! commands {
    ($($heading:literal {
        $($(#[command($($attribute:tt)*)])? $command:ident($arguments:ty) $(as $names:expr)? => {
            $($commands:expr, $when:literal: $($($view:ident)::+),+ $(+ $common:ident)*;)*
        })*
    })*) => {
        /// The commands.
        #[derive(Debug, Subcommand)]
        #[allow(clippy::large_enum_variant)]
        pub enum Command {
            $($($(#[command($($attribute)*)])? $command($arguments),)*)*
        }

        impl Command {
            /// Parses the arguments by the definition of their command, without building the others.
            ///
            /// `None` for aliases, wrong arguments and help: the whole parser answers then.
            fn alone(arguments: &[OsString]) -> Option<Self> {
                let words = arguments.get(1..)?;
                let name = words.first()?.to_str()?;
                $($(if commands!(named $command($arguments) $($($attribute)*)?)(name) {
                    let (add, words) = commands!(definition $arguments, words, arguments, $($($attribute)*)?);
                    return parsed(add, words).map(Command::$command);
                })*)*
                None
            }

            fn answer(self, context: &mut Invocation) -> Result<u8> {
                match self {
                    $($(Command::$command(command) => command.run(context)?.finish(context),)*)*
                }
            }
        }

        /// The headings, each with the variants below it, or the names of their commands.
        pub const GROUPS: &[(&str, &[&[&str]])] = &[$(($heading, &[$(commands!(names $command $(as $names)?)),*])),*];

        /// All documents, in the order of the reference.
        pub const DOCUMENTS: &[Document] = &[$($($(Document {
            commands: &$commands,
            when: $when,
            parts: &[
                $(SchemaGenerator::root_schema_for::<$crate::use_cases::$($view)::+>,)+
                $(SchemaGenerator::root_schema_for::<$common>,)*
            ],
        },)*)*)*];
    };
    (named $command:ident($arguments:ty) flatten) => { <$arguments as Subcommand>::has_subcommand };
    (named $command:ident($arguments:ty) $($attribute:tt)*) => { |name| stringify!($command).to_lowercase() == name };
    (definition $arguments:ty, $words:ident, $all:ident, flatten) => {
        (<$arguments as Subcommand>::augment_subcommands as Define, $all)
    };
    (definition $arguments:ty, $words:ident, $all:ident, subcommand) => {
        (<$arguments as Subcommand>::augment_subcommands as Define, $words)
    };
    (definition $arguments:ty, $words:ident, $all:ident, $($attribute:tt)*) => {
        (<$arguments as Args>::augment_args as Define, $words)
    };
    (names $command:ident) => { &[stringify!($command)] };
    (names $command:ident as $names:expr) => { &$names };
}

commands! {
    "sessions" {
        #[command(subcommand)]
        Session(session::SessionCommand) => {
            ["session start"], "": session::lifecycle::StartOutcome + StoredView;
            ["session end"], "": session::lifecycle::EndOutcome + StoredView;
            ["session list"], "": session::view::ListView;
            ["session show"], "": session::view::ShownView, history::show::trust::CommittersView;
        }
        Status(query::status::Status) => {
            ["status"], "": session::status::view::StatusView;
            ["status"], "with `--prompt`": session::status::prompt::PromptOutcome;
            ["status --all"], "": session::project_overview::view::ProjectView + CountedView;
        }
    }
    "log" {
        #[command(flatten)]
        Entry(journal::entry::EntryCommand) as journal::entry::NAMES => {
            journal::entry::NAMES, "": claim::add::AddedClaim + StoredView;
        }
        #[command(flatten)]
        Correct(journal::correct::CorrectCommand) as journal::correct::NAMES => {
            journal::correct::NAMES, "": claim::correct::Correction + StoredView;
        }
        Undo(journal::undo::Undo) => { ["undo"], "": claim::view::UndoneView + StoredView; }
        Collect(journal::collect::Collect) => {
            ["collect"], "": collect::view::CollectedView + StoredView;
            ["collect --all"], "": collect::all::CollectAllOutcome + StoredView;
        }
    }
    "assess" {
        #[command(subcommand)]
        Goal(goal::GoalCommand) => {
            ["goal add", "goal sub", "goal done", "goal drop", "goal take"], "": claim::goal::GoalOutcome + StoredView;
            ["goal list"], "": claim::goal::view::ListView;
            ["goal show"], "": claim::goal::view::ShownView;
        }
        Preflight(assess::preflight::Preflight) => { ["preflight", "check"], "": assess::submit::AssessOutcome + StoredView; }
        Check(assess::check::Check) => { ["check --drift"], "": assess::drift::DriftOutcome; }
        Postflight(assess::postflight::Postflight) => {
            ["postflight"], "": assess::submit::AssessOutcome, assess::view::HandedOverView + StoredView;
        }
        #[command(aliases = ["checkpoint-create", "assess-state"])]
        Checkpoint(checkpoint::Checkpoint) => {
            ["checkpoint"], "": checkpoint::view::StoredCheckpointView + StoredView + CountedView;
            ["checkpoint"], "with `--trigger post_compact`":
                checkpoint::view::StoredCheckpointView, session::compaction::view::CompactionView + StoredView + CountedView;
            ["checkpoint list"], "": history::show::record::PointsView;
            ["checkpoint show"], "of a checkpoint": checkpoint::view::StoredCheckpointView;
            ["checkpoint show"], "of an assessment": history::show::record::StoredAssessmentView;
        }
        Diff(query::diff::Diff) => { ["diff"], "": checkpoint::diff::view::DiffView; }
        Calibration(query::calibration::Calibration) => { ["calibration"], "": assess::calibration::view::CalibrationView; }
        Metrics(query::metrics::Metrics) => {
            ["metrics"], "": history::metrics::view::MetricsView;
            ["metrics"], "with a handoff": history::metrics::view::HandedOverView;
        }
    }
    "the receiver's side of managed tasks" {
        Handoff(handoff::Handoff) => {
            ["handoff"], "": handoff::view::WrittenView + StoredView;
            ["handoff"], "with `--example`": handoff::managed::view::ExampleView;
            ["handoff"], "with `--pr`": report::review::view::ReviewView;
            ["handoff sign"], "": handoff::sign::SignOutcome + StoredView;
            ["handoff list"], "": handoff::view::ListView;
        }
        Accept(receive::accept::Accept) => { ["accept"], "": handoff::receive::view::AcceptedView, session::take_up::BriefView + StoredView; }
        Inbox(receive::inbox::Inbox) => { ["inbox"], "": task::inbox::InboxView; }
        Route(receive::route::Route) => {
            ["route"], "": task::route_view::RouteView;
            ["route check"], "": task::route_view::RouteCheckView;
        }
        Answer(receive::answer::AnswerTo) => { ["answer"], "": handoff::receive::view::AnsweredView + StoredView; }
        #[command(subcommand)]
        Task(receive::task::TaskCommand) => {
            ["task list"], "": task::view::ListView;
            ["task show"], "": task::view::ShownView;
        }
    }
    "query" {
        Resume(query::resume::Resume) => { ["resume"], "": session::resume::view::ResumeView; }
        Show(query::show::Show) => {
            ["show"], "of a handoff": handoff::view::HandoffView, handoff::arrival::view::ArrivalView,
                handoff::receive::view::ReceivedView, history::show::trust::CommittedView, history::show::trust::VerifiedView;
            ["show"], "of a handoff, with `--format compact`": handoff::view::CompactView;
            ["show"], "of a session": session::view::ShownView, history::show::trust::CommittersView;
            ["show"], "of a checkpoint": checkpoint::view::StoredCheckpointView, history::show::trust::CommittedView,
                history::show::state::StateView;
            ["show"], "of an assessment": history::show::record::StoredAssessmentView, history::show::trust::CommittedView,
                history::show::state::StateView;
            ["show"], "of another record": history::show::record::StoredRecordView, history::show::trust::CommittedView,
                history::show::state::StateView;
            ["show"], "of a commit": history::show::view::CommitView;
        }
        Log(query::log::Log) => { ["log"], "": history::log::view::LogView; }
        Search(query::search::Search) => {
            ["search", "search --handoffs"], "for records": search::view::HitsView;
            ["search", "search --handoffs"], "for handoffs": search::reports::ReportsView;
            ["search --like"], "": search::view::SimilarSessionsView;
            ["search --repository"], "": search::view::TeamHitsView;
        }
        Why(query::why::Why) => { ["why"], "": search::why::view::WhyView; }
        Report(query::report::Report) => { ["report"], "": report::view::ReportView; }
    }
    "exchange and redact" {
        Sync(exchange::sync::Sync) => { ["sync"], "": sync::run::SyncOutcome; }
        Redact(exchange::redact::Redact) => {
            ["redact"], "": sync::redact::view::RedactView;
            ["redact"], "with `--secrets`": sync::redact::ScrubOutcome;
        }
        Export(exchange::export::Export) => { ["export"], "with `--markdown`": import::markdown::MarkdownOutcome; }
        Import(exchange::import::Import) => {
            ["import"], "from the Python tool": import::python::view::ImportedView + StoredView;
            ["import"], "with `--jsonl`": import::lines::ImportOutcome + StoredView;
        }
    }
    "set up" {
        Init(install::init::Init) => { ["init"], "": setup::view::InitView; }
        Deinit(install::deinit::Deinit) => { ["deinit"], "": setup::view::DeinitView; }
        Doctor(install::doctor::Doctor) => {
            ["doctor"], "": setup::doctor::view::DoctorView;
            ["doctor --repairs"], "": sync::repair::view::RepairsView + StoredView;
        }
        Instructions(install::instructions::Instructions) => {
            ["instructions"], "": setup::agents::view::ShownView;
            ["instructions"], "with `--write`": setup::agents::view::WrittenView;
        }
        Demo(install::demo::Demo) => { ["demo"], "": setup::demo::DemoOutcome; }
        Setup(install::setup::Setup) => {
            ["setup"], "": setup::view::SetUpView;
            ["--version"], "": setup::doctor::version::VersionView;
        }
    }
    "plumbing" {
        Embed(exchange::embed::Embed) => { ["embed"], "": meaning::view::EmbedView; }
        Flush(exchange::flush::Flush) => { ["flush"], "": sync::view::FlushedView; }
        Hook(install::hook::Hook) => {}
        Mcp(install::mcp::Mcp) => {}
    }
}

/// Adds `--json` and `--quiet` to a command and to those below it. `cli::error` reads them before anything is parsed.
fn with_answer_arguments(command: clap::Command) -> clap::Command {
    let command = command.mut_subcommands(|command| command.defer(with_answer_arguments));
    match command.get_name() {
        "hook" | "mcp" => command,
        _ if command.is_subcommand_required_set() => command,
        _ => command
            .arg(arg!(--json "Answer with exactly one JSON document on standard output, also on failure"))
            .arg(arg!(-q --quiet "Print only the answer and warnings").hide(true)),
    }
}

impl CommandFactory for Cli {
    fn command() -> clap::Command {
        Cli::augment_args(clap::Command::new("git-empirica"))
            .mut_subcommands(|command| command.defer(with_answer_arguments))
    }

    fn command_for_update() -> clap::Command {
        Cli::command()
    }
}

impl Parser for Cli {
    fn try_parse_from<I: IntoIterator<Item = T>, T: Into<OsString> + Clone>(arguments: I) -> Result<Self, clap::Error> {
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        match Command::alone(&arguments) {
            Some(command) => Ok(Cli { no_pager: false, command }),
            None => Cli::from_arg_matches(&Cli::command().try_get_matches_from(arguments)?),
        }
    }
}

/// Adds the arguments of a command to its definition.
type Define = fn(clap::Command) -> clap::Command;

fn parsed<A: FromArgMatches>(add: Define, words: &[OsString]) -> Option<A> {
    let name = words.first()?.to_str()?.to_owned();
    // the process ends soon: freeing the parser would only cost time
    let mut command = std::mem::ManuallyDrop::new(with_answer_arguments(add(clap::Command::new(name))));
    A::from_arg_matches(&command.try_get_matches_from_mut(words).ok()?).ok()
}

/// The result of a command: an answer, or an exit code if the command wrote its own.
trait Finish {
    /// Writes the answer, and returns the exit code.
    fn finish(self, context: &mut Invocation) -> Result<u8>;
}

impl Finish for Answer {
    fn finish(self, context: &mut Invocation) -> Result<u8> {
        context.finish(self)
    }
}

impl Finish for u8 {
    fn finish(self, _: &mut Invocation) -> Result<u8> {
        Ok(self)
    }
}

impl Command {
    /// Runs the command, writes its answer, and returns the exit code.
    pub fn run(self, context: &mut Invocation) -> Result<u8> {
        let runs_anywhere = match &self {
            Command::Demo(_) | Command::Hook(_) | Command::Mcp(_) | Command::Setup(_) => true,
            Command::Status(status) => status.prompt,
            _ => false,
        };
        if !runs_anywhere {
            // report a missing repository before other errors
            context.repo()?;
        }
        self.answer(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        std::iter::once("git-empirica").chain(line.split(' ')).map(OsString::from).collect()
    }

    fn whole(line: &str) -> Result<String, clap::Error> {
        let matches = Cli::command().try_get_matches_from(words(line))?;
        Cli::from_arg_matches(&matches).map(|cli| format!("{cli:?}"))
    }

    #[test]
    fn a_command_is_parsed_alone_as_the_whole_parser_would() {
        for line in [
            "finding text --impact 0.5 --as pattern --led-from abcd --ai a --session latest --json",
            "finding text of more words --impact 0.5",
            "finding -- --text",
            "resolve abcd text of more",
            "decision text --why because --alternative one --alternative=two",
            "activity testing text --file a",
            "handoff -m task --finding f --next n --dry-run",
            "handoff list --json",
            "hook post-rewrite amend",
            "session start --ai a",
            "goal add a goal",
            "task list --json",
            "checkpoint list",
            "log --json",
            "status --all -q",
            "mcp --tools core",
        ] {
            let alone = Command::alone(&words(line)).map(|command| format!("{:?}", Cli { no_pager: false, command }));
            assert_eq!(alone, Some(whole(line).expect(line)));
        }
        for line in
            ["finding", "finding --help", "finding text --impact 2", "session", "Status", "checkpoint-create", ""]
        {
            assert!(Command::alone(&words(line)).is_none(), "{line}");
            let parsed = Cli::try_parse_from(words(line));
            assert_eq!(
                parsed.map(|cli| format!("{cli:?}")).map_err(|error| error.to_string()),
                whole(line).map_err(|error| error.to_string())
            );
        }
    }
}
