//! `handoff`.

use clap::{Args, Subcommand, ValueEnum};

use super::{DetailWord, Filter, Form, Speaker};

/// What a handoff says beyond the journal. A text can be `-` (standard input) or `@FILE`.
#[derive(Debug, Clone, Args)]
#[allow(missing_docs)]
pub struct Said {
    /// The task, instead of the session's
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub task: Option<String>,
    /// Something learned, journalled first; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub finding: Vec<String>,
    /// Something still unknown, journalled first; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub unknown: Vec<String>,
    /// Something done; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub accomplished: Vec<String>,
    /// What the next session must know
    #[arg(long, value_name = "TEXT")]
    pub context: Option<String>,
    /// A next step; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub next: Vec<String>,
    /// A file made or changed, beyond what git knows; can be given several times
    #[arg(long, value_name = "PATH")]
    pub artifact: Vec<String>,
    /// Sign it with your git signing key (user.signingKey, gpg.format). When git cannot sign, it is stored without
    #[arg(long, hide_short_help = true)]
    pub sign: bool,
}

/// Hand the session over: a report of its log, its assessments and git
///
/// Without flags everything comes from what was logged and from git. Flags add to it or override it. A newer handoff of
/// a session supersedes its earlier ones. The types initialization, progress, error_recovery and escalation pass a task
/// between a manager and a worker, with fields of their own; the type context is one document for the session that continues
/// this one, and supersedes no other handoff: see git empirica help tasks.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[allow(missing_docs)]
pub struct Handoff {
    #[command(subcommand)]
    pub command: Option<HandoffCommand>,
    #[command(flatten)]
    pub said: Said,
    /// The type [default: that of the document given, else epistemic]; git empirica help tasks says what each is for
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<HandoffType>,
    /// The agent it is for
    #[arg(long, value_name = "AI", hide_short_help = true)]
    pub to: Option<String>,
    /// The task; its handoffs form a chain
    #[arg(long, value_name = "ID", hide_short_help = true)]
    pub task_id: Option<String>,
    /// What a field of the type says, as in worker_report.status=COMPLETED; given again, it adds to a list. An object is
    /// given as JSON
    #[arg(long, value_name = "PATH=TEXT", hide_short_help = true)]
    pub set: Vec<String>,
    /// A document of the type, JSON, from a file or - for standard input
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub from: Option<String>,
    /// Print a document of the type to begin with, and store nothing
    #[arg(long, hide_short_help = true, requires = "kind", conflicts_with_all = [
        "set", "from", "edit", "dry_run", "task_id", "to", "task", "finding", "unknown", "accomplished", "context", "next",
        "artifact", "ai", "session", "validate", "regenerate", "transcript", "detail", "budget", "incremental",
        "sign",
    ])]
    pub example: bool,
    /// Hand over the session of an agent's transcript, which is collected first; the type is context unless --type says otherwise
    #[arg(long, value_name = "FILE", conflicts_with = "regenerate", hide_short_help = true)]
    pub transcript: Option<String>,
    /// How much a document of the type context has: summary 400 tokens, detailed 800, full 1,250
    #[arg(long, value_name = "LEVEL", hide_short_help = true)]
    pub detail: Option<DetailWord>,
    /// The most tokens of a document of the type context, 250 or more, instead of what --detail allows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(250..), hide_short_help = true)]
    pub budget: Option<u32>,
    /// Only what changed since the last handoff to the same receiver
    #[arg(long, conflicts_with = "regenerate", hide_short_help = true)]
    pub incremental: bool,
    /// Write a handoff anew, with what its receivers asked and missed; flags say otherwise what it said. It takes the place of
    /// the old one
    #[arg(long, value_name = "HANDOFF", conflicts_with = "session", hide_short_help = true)]
    pub regenerate: Option<String>,
    /// Check it before it is stored: where a check has an error, nothing is, and the exit code is 3
    #[arg(long, hide_short_help = true)]
    pub validate: bool,
    /// Complete the draft in your editor
    #[arg(long)]
    pub edit: bool,
    /// Show it and store nothing
    #[arg(long, conflicts_with = "sign")]
    pub dry_run: bool,
    #[command(flatten)]
    pub who: Speaker,
    #[command(flatten)]
    pub form: Form,
}

/// The types that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum HandoffType {
    Epistemic,
    Initialization,
    Progress,
    #[value(alias = "error-recovery")]
    ErrorRecovery,
    Escalation,
    Context,
}

impl HandoffType {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            HandoffType::Epistemic => "epistemic",
            HandoffType::Initialization => "initialization",
            HandoffType::Progress => "progress",
            HandoffType::ErrorRecovery => "error_recovery",
            HandoffType::Escalation => "escalation",
            HandoffType::Context => "context",
        }
    }
}

/// The commands below `handoff`.
#[derive(Debug, Subcommand)]
pub enum HandoffCommand {
    /// List the handoffs in force, newest first
    List {
        /// Only those that no other session has taken up
        #[arg(long)]
        #[allow(missing_docs)]
        unacknowledged: bool,
        #[command(flatten)]
        #[allow(missing_docs)]
        filter: Filter,
        #[command(flatten)]
        #[allow(missing_docs)]
        form: Form,
    },
    /// Sign a handoff that is stored with your git signing key; show --verify checks it
    Sign {
        /// The handoff's id
        #[allow(missing_docs)]
        handoff: String,
        /// Who signs it for you [default: EMPIRICA_AI, empirica.ai, user.name]
        #[arg(long, value_name = "AI")]
        #[allow(missing_docs)]
        ai: Option<String>,
        #[command(flatten)]
        #[allow(missing_docs)]
        form: Form,
    },
}
