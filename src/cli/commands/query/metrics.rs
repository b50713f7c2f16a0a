//! `metrics`.

use crate::cli::commands::prelude::*;
use crate::use_cases::history::metrics::fold::Period;
use crate::use_cases::history::metrics::{self, view};

/// Measure the quality of handoffs, by agent, over time, or of one handoff
///
/// Computes all values from the records, and stores nothing. First-try completeness is the share of accepted handoffs
/// without question or gap; context relevance the share of handed-over paths that the receiver touched; decision accuracy
/// the share of COMPLETE decisions that stayed closed; duplicates are unknowns and dead ends that repeat an earlier
/// session's. A session, handoff, decision or duplicate counts at its own time, for its own agent.
#[derive(Debug, Args)]
pub struct Metrics {
    /// One handoff: the cost of resuming from it, its receivers, the touched paths
    #[arg(value_name = "HANDOFF", conflicts_with_all = ["ai", "since", "until", "by", "limit"])]
    pub handoff: Option<String>,
    /// Only sessions of this agent
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// Only records since then: 2026-01-31, "7 days ago", yesterday
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Only records until then
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// The length of a period, in UTC
    #[arg(long, value_name = "PERIOD", default_value = "month")]
    #[arg(value_parser = named(Period::ALL, Period::name))]
    pub by: Period,
    /// Number of duplicates to list, newest first
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
