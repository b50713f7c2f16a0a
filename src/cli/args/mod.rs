//! The arguments: their doc comments are the help, the manual pages and the completions.
// doc comments are the help, which names placeholders as <ai>
#![allow(rustdoc::invalid_html_tags)]

mod assess;
mod calibration;
mod care;
mod collect;
mod goal;
mod handoff;
mod instructions;
mod journal;
mod mcp;
mod metrics;
mod portable;
mod read;
mod redact;
mod report;
mod search;
mod session;
mod sync;
mod task;

pub use assess::{
    About, Check, Checkpoint, CheckpointCommand, Noted, PhaseWord, Postflight, Preflight, TriggerWord, Vectors,
};
pub use calibration::Calibration;
pub use care::{Deinit, Demo, Doctor, Flush, Hook, HookWord, Init, Setup, Status};
pub use collect::{AgentWord, Collect};
pub use goal::{GoalCommand, PriorityWord};
pub use handoff::{Handoff, HandoffCommand, HandoffType, Said};
pub use instructions::{Instructions, ReaderWord};
pub use journal::{Activity, DeadEnd, Decision, Entry, Evidence, Finding, Mistake, Resolve, Source, Undo, Unknown};
pub use mcp::{Mcp, ToolsWord};
pub use metrics::{Metrics, PeriodWord};
pub use portable::{Export, Import};
pub use read::{ColorWord, DetailWord, Diff, FormatWord, Log, Resume, Show};
pub use redact::Redact;
pub use report::Report;
pub use search::{KindWord, ListFormat, Search, SelfAssessmentWord};
pub use session::SessionCommand;
pub use sync::Sync;
pub use task::{Accept, AnswerTo, TaskCommand, VerdictWord};

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

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
#[allow(missing_docs, clippy::large_enum_variant)]
pub enum Command {
    #[command(subcommand)]
    Session(SessionCommand),
    Preflight(Preflight),
    Check(Check),
    Postflight(Postflight),
    #[command(aliases = ["checkpoint-create", "assess-state"])]
    Checkpoint(Checkpoint),
    Finding(Finding),
    Unknown(Unknown),
    Resolve(Resolve),
    Deadend(DeadEnd),
    Mistake(Mistake),
    Decision(Decision),
    Source(Source),
    Evidence(Evidence),
    Activity(Activity),
    Undo(Undo),
    #[command(subcommand)]
    Goal(GoalCommand),
    Handoff(Handoff),
    Accept(Accept),
    Answer(AnswerTo),
    #[command(subcommand)]
    Task(TaskCommand),
    Collect(Collect),
    Show(Show),
    Diff(Diff),
    Resume(Resume),
    Log(Log),
    Search(Search),
    Calibration(Calibration),
    Metrics(Metrics),
    Report(Report),
    Status(Status),
    Flush(Flush),
    Sync(Sync),
    Export(Export),
    Import(Import),
    Redact(Redact),
    Init(Init),
    Deinit(Deinit),
    Doctor(Doctor),
    Instructions(Instructions),
    Demo(Demo),
    Setup(Setup),
    Hook(Hook),
    Mcp(Mcp),
}

impl Cli {
    /// The commands that agents and hooks call hundreds of times, parsed without building all the others.
    ///
    /// `None` for every other command, and for arguments that are wrong or ask for help: the whole parser answers then.
    pub fn quickly(arguments: &[OsString]) -> Option<Self> {
        fn parsed<A: Args>(words: &[OsString]) -> Option<A> {
            let command = A::augment_args(clap::Command::new("git empirica"));
            // the process is about to do one thing and end: freeing the parser is for nobody
            let mut command = std::mem::ManuallyDrop::new(command);
            A::from_arg_matches(&command.try_get_matches_from_mut(words).ok()?).ok()
        }
        let words = arguments.get(1..)?;
        let command = match words.first()?.to_str()? {
            "finding" => Command::Finding(parsed(words)?),
            "unknown" => Command::Unknown(parsed(words)?),
            "resolve" => Command::Resolve(parsed(words)?),
            "deadend" => Command::Deadend(parsed(words)?),
            "mistake" => Command::Mistake(parsed(words)?),
            "decision" => Command::Decision(parsed(words)?),
            "source" => Command::Source(parsed(words)?),
            "evidence" => Command::Evidence(parsed(words)?),
            "activity" => Command::Activity(parsed(words)?),
            "handoff" => Command::Handoff(parsed(words)?),
            "hook" => Command::Hook(parsed(words)?),
            _ => return None,
        };
        Some(Cli { no_pager: false, command })
    }
}

/// The form of the answer.
#[derive(Debug, Clone, Args)]
pub struct Form {
    /// Answer with exactly one JSON document on standard output, also on failure
    #[arg(long)]
    pub json: bool,
    /// Say nothing beside the answer and warnings
    #[arg(short, long, hide = true)]
    pub quiet: bool,
}

/// Who speaks, in which session.
#[derive(Debug, Clone, Args)]
pub struct Who {
    /// The agent that speaks [default: EMPIRICA_AI, else the session's agent, else the agent that runs
    /// the command, else empirica.ai, else user.name]
    #[arg(long, value_name = "ID", hide_short_help = true)]
    pub ai: Option<String>,
    /// The session: an id, 4 or more characters of one, latest, latest:active, latest:<ai>, latest:active:<ai>, or the
    /// agent's own session id [default: EMPIRICA_SESSION, else the active session of this worktree]
    #[arg(long, alias = "session-id", value_name = "ALIAS", hide_short_help = true)]
    pub session: Option<String>,
}

/// Who says what is stored.
#[derive(Debug, Clone, Args)]
pub struct Speaker {
    /// Who.
    #[command(flatten)]
    pub who: Who,
    /// Store what looks like a secret as it is, and let it leave
    #[arg(long, hide_short_help = true)]
    pub allow_secret: bool,
}

/// Which records to show.
#[derive(Debug, Clone, Args)]
pub struct Filter {
    /// Only those of this agent
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// Only those of this session
    #[arg(long, alias = "session-id", value_name = "ALIAS")]
    pub session: Option<String>,
}

/// A number from 0 to 1.
pub fn unit(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err("it must be a number from 0 to 1".to_owned()),
    }
}

/// A key and its value.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("it must be of the form KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_parser_understands_what_the_whole_one_does() {
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
            let words: Vec<OsString> =
                std::iter::once("git-empirica").chain(line.split(' ')).map(OsString::from).collect();
            let whole = Cli::try_parse_from(&words).map(|cli| format!("{cli:?}")).map_err(|error| error.to_string());
            let quick = Cli::quickly(&words).map(|cli| format!("{cli:?}"));
            assert_eq!(quick, whole.ok(), "{line}");
            assert!(quick.is_some(), "{line}");
        }
        for line in ["finding", "finding --help", "finding text --impact 2", "status", "", "-h"] {
            let words: Vec<OsString> =
                std::iter::once("git-empirica").chain(line.split(' ')).map(OsString::from).collect();
            assert!(Cli::quickly(&words).is_none(), "{line}");
        }
    }
}
