//! Reading: `show`, `diff`, `resume`, `log`.

use clap::{Args, ValueEnum};

use super::{Filter, Form, Who};

/// Show a handoff, another record, a session or a commit's records, whole
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Show {
    /// A handoff's or other record's id, a session, or a revision [default: the newest handoff]
    #[arg(value_name = "HANDOFF|SESSION|COMMIT")]
    pub name: Option<String>,
    /// The form; compact has short keys and short texts
    #[arg(long, value_name = "FORMAT", default_value = "markdown")]
    pub format: FormatWord,
    /// Check the signatures of the handoff: it exits with 1 unless one of them is good
    #[arg(long, conflicts_with = "format")]
    pub verify: bool,
    #[command(flatten)]
    pub form: Form,
}

/// The forms of `show`.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
pub enum FormatWord {
    Markdown,
    Json,
    Compact,
}

/// Compare two checkpoints or handoffs, and say what was lost
///
/// A name is that of a checkpoint, assessment or handoff, or of a session, of which the newest of these is meant. What is
/// not named is the present state; without any name the newest checkpoint of the active session is compared with it.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Diff {
    /// The earlier one: a checkpoint, an assessment or a handoff by its id, or a session for its newest one [default: the
    /// session's newest checkpoint]
    #[arg(value_name = "A")]
    pub a: Option<String>,
    /// The later one, likewise [default: the present state]
    #[arg(value_name = "B")]
    pub b: Option<String>,
    #[command(flatten)]
    pub who: Who,
    #[command(flatten)]
    pub form: Form,
}

/// Show what earlier sessions hand over, and what changed since
///
/// Each session is packed into a budget of tokens: summary 400, detailed 800, full 1,250. Next steps, open unknowns and
/// failed evidence always stay; what does not fit is named with the command that shows it. A session without a handoff
/// gets a summary of its journal. Of a handoff it says what became of it since: commits, artifacts that changed or are
/// missing, questions that were answered, evidence older than the code.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Resume {
    /// How many sessions, the newest first, 1 to 5
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=5), conflicts_with = "session")]
    pub last: u8,
    /// How much of each
    #[arg(long, value_name = "LEVEL", default_value = "summary")]
    pub detail: DetailWord,
    /// The most tokens of the whole answer, 50 or more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(50..))]
    pub budget: Option<u32>,
    #[command(flatten)]
    pub filter: Filter,
    #[command(flatten)]
    pub form: Form,
}

/// The levels of detail.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
pub enum DetailWord {
    Summary,
    Detailed,
    Full,
}

/// Show history with the records beside the commits
///
/// Lists the commits that have records as git log does, as soon as they are found. It takes what selects commits for git log: revisions
/// and ranges, paths, --since, --until, --author, --committer, --grep, -S, -G, --merges, --no-merges, --first-parent, --all,
/// --branches, --tags, --remotes, --not, --reverse, --topo-order and more of the kind. What shapes a diff is git log's own:
/// git log --notes=empirica/handoffs.
#[derive(Debug, Args)]
#[command(override_usage = "git empirica log [OPTIONS] [SELECTION OF GIT LOG]... [REVISION]... [-- PATH...]")]
#[allow(missing_docs)]
pub struct Log {
    /// Handoffs and what their receivers said
    #[arg(long)]
    pub handoffs: bool,
    /// Digests: what a session said before a commit, where it has not handed over [default: handoffs and digests]
    #[arg(long)]
    pub digests: bool,
    /// Checkpoints and assessments
    #[arg(long)]
    pub checkpoints: bool,
    /// Journal entries
    #[arg(long)]
    pub journal: bool,
    /// At most so many commits that have records, also as -N; with one of the four above, at most so many of those
    #[arg(short = 'n', long = "max-count", value_name = "N")]
    pub limit: Option<usize>,
    /// Only records of this agent
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// A line for each commit and handoff
    #[arg(long)]
    pub oneline: bool,
    /// Colours; --no-color is never [default: as git's configuration says]
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "always", conflicts_with = "json")]
    pub color: Option<ColorWord>,
    /// What selects commits for git log
    #[arg(last = true, hide = true)]
    pub selection: Vec<String>,
    #[command(flatten)]
    pub form: Form,
}

/// When there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum ColorWord {
    Always,
    Auto,
    Never,
}
