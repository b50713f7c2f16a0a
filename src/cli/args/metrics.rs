//! `metrics`: how well handing over works.

use clap::{Args, ValueEnum};

use super::Form;

/// Measure how well handing over works, by agent, over time, or of one handoff
///
/// Computed from the records when it is asked for; nothing is written. First-try completeness is the share of accepted
/// handoffs without question or gap; context relevance the share of paths handed over that the receiver touched;
/// decision accuracy the share of COMPLETE that was not reopened; duplicates are unknowns and dead ends that an earlier
/// session had, too. A session, handoff, decision or duplicate counts when it was made, for the agent that made it.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Metrics {
    /// One handoff: what resuming from it costs, who took it up, which of its paths were touched
    #[arg(value_name = "HANDOFF", conflicts_with_all = ["ai", "since", "until", "by", "limit"])]
    pub handoff: Option<String>,
    /// Only what this agent's sessions did
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// Only what was done since then: 2026-01-31, "7 days ago", yesterday
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Only what was done until then
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// The periods over time, in UTC
    #[arg(long, value_name = "PERIOD", default_value = "month")]
    pub by: PeriodWord,
    /// How many duplicates to list, the newest first
    #[arg(long, value_name = "N", default_value = "10")]
    pub limit: usize,
    /// Count tokens exactly (o200k) instead of estimating them; needs a build with the feature exact-tokens
    #[arg(long)]
    pub exact: bool,
    #[command(flatten)]
    pub form: Form,
}

/// How time is divided.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
pub enum PeriodWord {
    Day,
    Week,
    Month,
}
