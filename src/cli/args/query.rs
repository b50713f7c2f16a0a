//! `query`.

use clap::{Args, ValueEnum};

use super::Form;

/// Find handoffs by agent, time, task, session, commits, path, type and self-assessment
///
/// All that is asked must fit. The newest come first; of a session only the handoff in force is there. DATE is an ISO date or anything git
/// knows ("7 days ago", yesterday, "last friday"); an ISO day without a time is the whole day, in your time zone.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Query {
    /// Only those of this agent
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// Only newer ones, from this time on: 2026-01-31, "7 days ago", yesterday
    #[arg(long, value_name = "DATE", visible_alias = "after")]
    pub since: Option<String>,
    /// Only older ones, up to this time
    #[arg(long, value_name = "DATE", visible_alias = "before")]
    pub until: Option<String>,
    /// Only those whose task matches this regular expression, without regard to case
    #[arg(long, alias = "task-pattern", value_name = "REGEX")]
    pub task: Option<String>,
    /// Only those of this session: an id, 4 or more characters of one, latest, latest:active, latest:<ai>,
    /// latest:active:<ai>, or the agent's own session id
    #[arg(long, alias = "session-id", value_name = "ALIAS")]
    pub session: Option<String>,
    /// Only those on these commits: main..topic, v1.., or a revision for all that can be reached from it, as git log takes them; can be
    /// given several times
    #[arg(long, value_name = "REVISION")]
    pub range: Vec<String>,
    /// Only those that made or changed this file, or one below this folder, or had it uncommitted; relative to the folder you are in
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub path: Option<String>,
    /// Only those of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<TypeWord>,
    /// Only those whose session's self-assessment is this: whether know and uncertainty moved together
    #[arg(long, aliases = ["calibration", "calibration-status"], value_name = "STATUS")]
    pub self_assessment: Option<SelfAssessmentWord>,
    /// At most so many; 0 lists none, and total_found still counts all
    #[arg(long, value_name = "N", default_value = "10")]
    pub limit: usize,
    /// The form [default: table]; a table is fitted to the terminal, json is that of --json, jsonl a report a line
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<QueryFormat>,
    #[command(flatten)]
    pub form: Form,
}

/// The types of handoffs; `context` is one that newer versions write.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum TypeWord {
    Epistemic,
    Context,
    Initialization,
    Progress,
    #[value(alias = "error-recovery")]
    ErrorRecovery,
    Escalation,
}

/// The words for a self-assessment.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum SelfAssessmentWord {
    #[value(aliases = ["well_calibrated", "well-calibrated"])]
    Consistent,
    Overconfident,
    Underconfident,
    #[value(alias = "not-assessable")]
    NotAssessable,
}

/// The forms of `query`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum QueryFormat {
    Table,
    Markdown,
    Json,
    Jsonl,
}
