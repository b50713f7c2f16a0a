//! `check`.

use crate::assess::drift;
use crate::assess::view;
use crate::cli::commands::assess::assessment::{About, Noted, assess};
use crate::cli::commands::prelude::*;
use empirica_notes::model::Phase;

/// Say how sure you are before you act
///
/// Says proceed when the confidence (--confidence, else the overall confidence) is 0.70 or more, the uncertainty given last is
/// 0.6 or less, and drift is not severe. Drift is a fall against the last assessments, or a gain while nothing is learned; a
/// gain above 0.30 is moderate drift unless evidence passed or 3 claims support it. On severe drift it says stop and exits
/// with 3; the assessment is stored all the same.
#[derive(Debug, Args)]
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

impl Check {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        if self.drift {
            let context = context.open(self.about.who)?;
            return Ok(view::drifted(&drift::run(&context, self.window as usize)?));
        }
        assess(context, Phase::Check, self.noted, self.about, self.confidence)
    }
}
