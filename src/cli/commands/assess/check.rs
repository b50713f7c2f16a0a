//! `check`.

use crate::cli::commands::assess::assessment::{AssessmentArguments, ClaimArguments, assess};
use crate::cli::commands::prelude::*;
use crate::use_cases::assess::drift;
use crate::use_cases::assess::view;
use empirica_notes::model::Phase;

/// Assess your confidence before you act
///
/// Recommends proceeding if the confidence (--confidence, else the overall confidence) is 0.70 or more, the last uncertainty
/// 0.6 or less, and drift not severe. Drift is a fall against the last assessments, or a gain without anything learned; a
/// gain above 0.30 is moderate drift unless evidence passed or 3 claims support it. On severe drift it stops with exit
/// code 3, after storing the assessment.
#[derive(Debug, Args)]
pub struct Check {
    /// Your confidence to act, from 0 to 1
    #[arg(long, value_name = "X", value_parser = unit)]
    pub confidence: Option<f64>,
    /// Only show whether confidence moved without reason: the newest assessment against the mean of the earlier ones
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
    pub claims: ClaimArguments,
    #[command(flatten)]
    pub assessment: AssessmentArguments,
}

impl Check {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        if self.drift {
            let context = context.open(self.assessment.author)?;
            return Ok(view::drifted(&drift::run(&context, self.window as usize)?));
        }
        assess(context, Phase::Check, self.claims, self.assessment, self.confidence)
    }
}
