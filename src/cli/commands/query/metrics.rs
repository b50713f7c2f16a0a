//! `metrics`: how well handing over works.

use crate::cli::commands::prelude::*;
use crate::history::metrics::fold::Period;
use crate::history::metrics::{self, view};

/// Measure how well handing over works, by agent, over time, or of one handoff
///
/// Computed from the records when it is asked for; nothing is written. First-try completeness is the share of accepted
/// handoffs without question or gap; context relevance the share of paths handed over that the receiver touched;
/// decision accuracy the share of COMPLETE that was not reopened; duplicates are unknowns and dead ends that an earlier
/// session had, too. A session, handoff, decision or duplicate counts when it was made, for the agent that made it.
#[derive(Debug, Args)]
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
    #[arg(value_parser = named([Period::Day, Period::Week, Period::Month], Period::name))]
    pub by: Period,
    /// How many duplicates to list, the newest first
    #[arg(long, value_name = "N", default_value = "10")]
    pub limit: usize,
    /// Count tokens exactly (o200k) instead of estimating them; needs a build with the feature exact-tokens
    #[arg(long)]
    pub exact: bool,
}

impl Metrics {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let opened = context.open(Selection { ai: self.ai, ..Default::default() })?;
        if let Some(handoff) = self.handoff {
            return view::of_handoff(&metrics::one(&opened, &handoff, self.exact)?, &mut context.templates()?);
        }
        let request = metrics::MetricsRequest {
            since: self.since,
            until: self.until,
            by: self.by,
            limit: self.limit,
            exact: self.exact,
        };
        view::answer(&metrics::run(&opened, &request)?, &mut context.templates()?)
    }
}
