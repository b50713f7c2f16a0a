//! `preflight`.

use crate::cli::commands::assess::assessment::{AssessmentArguments, ClaimArguments, assess};
use crate::cli::commands::prelude::*;
use empirica_notes::model::Phase;

/// Assess your confidence before the work
///
/// Recommends investigating if uncertainty is above 0.6, know below 0.7 or state below 0.6, and then suggests at most 5
/// goals with earlier attempts: for these vectors first, then for others below 0.7. Suggested goals close with the session,
/// unless taken over (goal take).
#[derive(Debug, Args)]
pub struct Preflight {
    #[command(flatten)]
    pub claims: ClaimArguments,
    #[command(flatten)]
    pub assessment: AssessmentArguments,
}

impl Preflight {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        assess(context, Phase::Preflight, self.claims, self.assessment, None)
    }
}
