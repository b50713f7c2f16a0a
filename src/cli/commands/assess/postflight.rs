//! `postflight`.

use crate::cli::commands::assess::assessment::AssessmentArguments;
use crate::cli::commands::handoff::HandoffArguments;
use crate::cli::commands::prelude::*;
use crate::use_cases::assess::{submit, view};

/// Assess your confidence after the work, and hand over
///
/// Compares with the first PREFLIGHT, over the vectors in both, and tells whether know and uncertainty moved together: the
/// self-assessment. Then stores the handoff, like 'git empirica handoff'; if that fails, the assessment stays stored, with
/// a warning.
#[derive(Debug, Args)]
pub struct Postflight {
    /// Write no handoff
    #[arg(long, conflicts_with = "sign")]
    pub no_handoff: bool,
    #[command(flatten)]
    pub handoff: HandoffArguments,
    #[command(flatten)]
    pub assessment: AssessmentArguments,
}

impl Postflight {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let mut input = context.input();
        let (mut request, selection) = self.assessment.request(&mut input)?;
        request.sign = self.handoff.sign;
        let handoff = self.handoff.input(&mut input)?;
        view::assessed(&submit::postflight(&context.open(selection)?, request, handoff, !self.no_handoff)?)
    }
}
