//! `preflight`, `check`, `postflight`, `checkpoint`.

use clap::{Args, Subcommand, ValueEnum};

use super::handoff::Said;
use super::{Filter, Form, Speaker, pair, unit};

/// The vectors of an assessment.
#[derive(Debug, Clone, Args)]
pub struct Vectors {
    /// Vectors from 0 to 1: engagement, know, do, context, clarity, coherence, signal, density, state, change,
    /// completion, impact, uncertainty; @FILE reads a JSON object or NAME=VALUE pairs, - standard input (help vectors)
    #[arg(short = 'v', long = "vector", value_name = "NAME=VALUE[,…]")]
    pub vector: Vec<String>,
    /// Read the vectors from a file, as a JSON object or as NAME=VALUE pairs; - is standard input
    #[arg(long, value_name = "FILE", hide = true)]
    pub vectors: Option<String>,
}

/// What an assessment says beside its vectors.
#[derive(Debug, Clone, Args)]
#[allow(missing_docs)]
pub struct About {
    #[command(flatten)]
    pub vectors: Vectors,
    /// Why it is so
    #[arg(long, value_name = "TEXT")]
    pub reasoning: Option<String>,
    /// The iteration of the investigation, from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub cycle: Option<u32>,
    /// The depth of the scope, from 0 to 1
    #[arg(long, value_name = "X", value_parser = unit, hide_short_help = true)]
    pub scope: Option<f64>,
    /// A label; can be given several times
    #[arg(long, value_name = "TAG", hide_short_help = true)]
    pub tag: Vec<String>,
    /// Something else to keep; can be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair, hide_short_help = true)]
    pub meta: Vec<(String, String)>,
    #[command(flatten)]
    pub who: Speaker,
    #[command(flatten)]
    pub form: Form,
}

/// What is journalled with an assessment.
#[derive(Debug, Clone, Args)]
pub struct Noted {
    /// The task as you see it now
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// Something learned, journalled first; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub finding: Vec<String>,
    /// An open question, journalled first; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub unknown: Vec<String>,
}

/// Say how sure you are before the work
///
/// Recommends to investigate when uncertainty is above 0.6, know below 0.7 or state below 0.6, and then suggests goals: for
/// these first, then for other vectors below 0.7, at most 5, with what was tried before. They close with the session, unless
/// someone takes them (goal take).
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Preflight {
    #[command(flatten)]
    pub noted: Noted,
    #[command(flatten)]
    pub about: About,
}

/// Say how sure you are before you act
///
/// Says proceed when the confidence (--confidence, else the overall confidence) is 0.70 or more, the uncertainty given last is
/// 0.6 or less, and drift is not severe. Drift is a fall against the last assessments, or a gain while nothing is learned; a
/// gain above 0.30 is moderate drift unless evidence passed or 3 claims support it. On severe drift it says stop and exits
/// with 3; the assessment is stored all the same.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Check {
    /// The confidence you would act with, from 0 to 1
    #[arg(long, value_name = "X", value_parser = unit)]
    pub confidence: Option<f64>,
    /// Record nothing, and show whether confidence moved without reason: the newest assessment against the mean of those before it
    #[arg(long, conflicts_with_all = [
        "confidence", "task", "finding", "unknown", "vector", "vectors", "reasoning", "cycle", "scope", "tag", "meta",
        "allow_secret",
    ])]
    pub drift: bool,
    /// How many assessments --drift compares, 2 or more
    #[arg(long, value_name = "N", default_value = "3", requires = "drift", hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..))]
    pub window: u32,
    #[command(flatten)]
    pub noted: Noted,
    #[command(flatten)]
    pub about: About,
}

/// Say how sure you are after the work, and hand over
///
/// Compares with the first PREFLIGHT, over the vectors that both give, and says whether know and uncertainty moved together:
/// the self-assessment. Then it stores the handoff, as 'git empirica handoff' would; when that fails, the assessment stands, with
/// a warning.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Postflight {
    /// Write no handoff
    #[arg(long, conflicts_with = "sign")]
    pub no_handoff: bool,
    #[command(flatten)]
    pub said: Said,
    #[command(flatten)]
    pub about: About,
}

/// Record where the work stands: vectors, goals, findings, changed files
///
/// Of each vector that is not given, the newest value that an assessment of the session gave is taken and marked so. Lists hold the 5 newest entries, and all of it
/// at most 16 KiB; the records themselves are whole. After a compaction (--trigger post_compact) it prints what a new
/// context needs, and what was lost since the checkpoint before it.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[allow(missing_docs)]
pub struct Checkpoint {
    #[command(subcommand)]
    pub command: Option<CheckpointCommand>,
    /// Where in the workflow [default: as last said, by an assessment or a checkpoint]
    #[arg(long, value_name = "PHASE", ignore_case = true)]
    pub phase: Option<PhaseWord>,
    /// Which one of its phase, from 1 [default: that of the phase's last assessment]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub round: Option<u32>,
    /// Why it is taken
    #[arg(long, value_name = "TRIGGER", default_value = "manual")]
    pub trigger: TriggerWord,
    /// The most tokens of what is printed after a compaction, 200 or more [default: 1500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(200..), hide_short_help = true)]
    pub budget: Option<u32>,
    /// Add the 5 records that match QUERY best, as search finds them, to the checkpoint; without a QUERY, those that match
    /// the task, the goal and the recent findings and unknowns, and are none of these
    #[arg(long, alias = "semantic-search", value_name = "QUERY", num_args = 0..=1, default_missing_value = "")]
    pub search: Option<String>,
    /// The name that other programs know --search QUERY by
    #[arg(long, hide = true, value_name = "QUERY", conflicts_with = "search")]
    pub semantic_query: Option<String>,
    #[command(flatten)]
    pub about: About,
}

/// The commands below `checkpoint`.
#[derive(Debug, Subcommand)]
pub enum CheckpointCommand {
    /// List checkpoints and assessments, newest first
    List {
        #[command(flatten)]
        #[allow(missing_docs)]
        filter: Filter,
        #[command(flatten)]
        #[allow(missing_docs)]
        form: Form,
    },
    /// Show one checkpoint or assessment
    Show {
        /// Its id [default: the newest]
        #[arg(value_name = "ID")]
        id: Option<String>,
        #[command(flatten)]
        #[allow(missing_docs)]
        form: Form,
    },
}

/// The phases of the workflow.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
pub enum PhaseWord {
    Preflight,
    Check,
    Act,
    Postflight,
}

/// What a checkpoint is taken for.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum TriggerWord {
    Manual,
    PreCompact,
    PostCompact,
}
