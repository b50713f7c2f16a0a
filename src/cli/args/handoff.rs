//! `handoff`.

use clap::{Args, Subcommand};

use super::{Filter, Form, Who};

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
}

/// Hand the session over: drawn from the journal, the assessments and git, stored on HEAD
///
/// Without flags everything comes from what was logged and from git. Flags add to it or override it. A newer handoff of
/// a session takes the place of its earlier ones.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[allow(missing_docs)]
pub struct Handoff {
    #[command(subcommand)]
    pub command: Option<HandoffCommand>,
    #[command(flatten)]
    pub said: Said,
    /// Complete the draft in your editor
    #[arg(long)]
    pub edit: bool,
    /// Show it and store nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub who: Who,
    #[command(flatten)]
    pub form: Form,
}

/// The commands below `handoff`.
#[derive(Debug, Subcommand)]
pub enum HandoffCommand {
    /// List the handoffs in force, newest first
    List {
        #[command(flatten)]
        #[allow(missing_docs)]
        filter: Filter,
        #[command(flatten)]
        #[allow(missing_docs)]
        form: Form,
    },
}
