//! Care: `status`, `flush`, `init`, `deinit`, `doctor`, `demo`, `setup`.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use clap_complete::Shell;

use super::Form;
use empirica_transcripts::model::Agent;

/// Show where things stand and what to do next, as without a command
///
/// With --all, what a new context needs to know about the project, fitted into a budget of tokens: active sessions, each
/// agent's task, self-assessment and next step, open goals and unknowns, findings by importance, dead ends, mistakes,
/// decisions and the last handoff of each agent. What does not fit is counted, with the command that shows it.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Status {
    /// Show the whole project: who is at work, what is open, what failed
    #[arg(long)]
    pub all: bool,
    /// The same in at most so many tokens, 100 or more [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..))]
    pub budget: Option<u32>,
    /// The agent that asks, for --all: what it said comes first
    #[arg(long, value_name = "ID", conflicts_with = "session", hide = true)]
    pub ai: Option<String>,
    /// The session that asks, for --all
    #[arg(long, alias = "session-id", value_name = "ALIAS", hide = true)]
    pub session: Option<String>,
    #[command(flatten)]
    pub form: Form,
}

/// Write pending records to the notes
///
/// Where objects of the notes are damaged or not here, doctor names them, and the command that puts a damaged file aside. With
/// --without-damaged the notes are then written anew from what is left of them here: older versions in their history, what the
/// reflog leads to, objects that nothing leads to any more. What a remote has comes back with the next sync.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Flush {
    /// First write notes anew that lead to objects which are damaged or not here, without these
    #[arg(long)]
    pub without_damaged: bool,
    #[command(flatten)]
    pub form: Form,
}

/// How changes are made and told.
#[derive(Debug, Args)]
pub struct Changes {
    /// Show every change and make none
    #[arg(long)]
    pub dry_run: bool,
    /// The form of the answer.
    #[command(flatten)]
    pub form: Form,
}

/// The words of `init --agents`.
fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(["auto", "none"].into_iter().chain(Agent::ALL.map(Agent::name)))
}

/// Set the clone up: git hooks, what git log shows, the remotes and what they have, the files of agents
///
/// Hooks that are there keep running, before ours. Nothing of git's own is changed but the configuration of the repository. What the
/// remotes have is fetched at once, each within empirica.syncTimeout; nothing is sent. Where agents are used, which is told by their files
/// and programs, it asks on a terminal whether to enter hooks and the MCP server into their files, beside what is in them; else
/// nothing is written to the work tree. Twice is the same as once; deinit takes it back.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Init {
    /// The agents whose files get hooks and the MCP server, with commas between them; auto: those used here; none: ask nothing
    #[arg(long, alias = "agent", value_name = "LIST", value_delimiter = ',', value_parser = agents())]
    pub agents: Vec<String>,
    /// Let the MCP server list all its tools, not only the 10 of a day's work
    #[arg(long, requires = "agents")]
    pub all_tools: bool,
    #[command(flatten)]
    pub changes: Changes,
}

/// Take back what init and instructions --write did; the records stay
///
/// Only what is still as it was written is changed: hooks and blocks that were edited and settings that have another value
/// now are kept. The notes, and what waits in the log, stay.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Deinit {
    #[command(flatten)]
    pub changes: Changes,
}

/// Find what is wrong with the set-up and the records; --fix mends it
///
/// Looks at the installation, hooks, configuration, refs and objects, and names the command that mends what is wrong. Lists
/// the commits with handoffs that vanished, or were squashed, cherry-picked or filtered, with the commit that replaced each: by
/// filter-repo's commit map; by the patch-id of a whole branch (a squash); by the patch-id of the commit; by tree, author
/// and date (by the tree alone if the commit is not here); by an amend that the reflog remembers. The first of these that
/// finds anything decides. Where it finds several commits, you choose with --to.
///
/// Without --fix it changes nothing. Exits with 1 when something is wrong.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Doctor {
    /// Mend what needs no choice: hooks and settings of init, pending records, handoffs whose commits vanished
    #[arg(long, alias = "apply")]
    pub fix: bool,
    /// Attach all records of the commit OLD, which need not be here, to NEW; can be given several times
    #[arg(long, value_name = "OLD=NEW", value_parser = moved)]
    pub to: Vec<(String, String)>,
    /// Only the handoffs whose commits vanished
    #[arg(long, hide = true, conflicts_with = "secrets")]
    pub repairs: bool,
    /// Scan everything that is stored for secrets, too; takes a moment in a large repository
    #[arg(long)]
    pub secrets: bool,
    #[command(flatten)]
    pub form: Form,
}

/// Do the main job in a throwaway repository: two agents, a handoff, git log, a resume
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Demo {
    #[command(flatten)]
    pub form: Form,
}

/// Install the manual pages and shell completions for you
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Setup {
    /// Print the completions of a shell, and install nothing
    #[arg(long, value_name = "SHELL", conflicts_with_all = ["dry_run", "json"])]
    pub completions: Option<Shell>,
    /// List the files and write nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub form: Form,
}

/// Run a hook that init installed: one of git's, or with agent NAME EVENT an agent's
///
/// A hook of an agent reads the agent's JSON on standard input, answers in the agent's form when there is something to put before its model, and
/// always ends with 0: what goes wrong is written to the same log, which doctor reads.
///
/// Reads what git gives that hook. It says little and waits for nobody: what goes wrong is written to a log in the git
/// directory, and no record is lost. It does not fail, except pre-push with empirica.strict, which ends with 1 when the
/// notes could not be synced.
#[derive(Debug, Args)]
pub struct Hook {
    /// The hook
    #[arg(value_name = "NAME")]
    pub name: HookWord,
    /// What git tells the hook
    #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// The hooks there are.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
pub enum HookWord {
    PostCommit,
    PostApplypatch,
    PostMerge,
    PostRewrite,
    PrePush,
    Agent,
}

fn moved(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.to_owned(), new.to_owned())),
        _ => Err("it must be of the form OLD=NEW".to_owned()),
    }
}
