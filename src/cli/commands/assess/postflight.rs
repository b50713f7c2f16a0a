//! `postflight`.

use crate::assess::{submit, view};
use crate::cli::commands::assess::assessment::About;
use crate::cli::commands::handoff::Said;
use crate::cli::commands::prelude::*;

/// Say how sure you are after the work, and hand over
///
/// Compares with the first PREFLIGHT, over the vectors that both give, and says whether know and uncertainty moved together:
/// the self-assessment. Then it stores the handoff, as 'git empirica handoff' would; when that fails, the assessment stands, with
/// a warning.
#[derive(Debug, Args)]
pub struct Postflight {
    /// Write no handoff
    #[arg(long, conflicts_with = "sign")]
    pub no_handoff: bool,
    #[command(flatten)]
    pub said: Said,
    #[command(flatten)]
    pub about: About,
}

impl Postflight {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let mut input = context.input();
        let (mut request, asked) = self.about.request(&mut input)?;
        request.sign = self.said.sign;
        let said = self.said.read(&mut input)?;
        view::assessed(&submit::postflight(&context.open(asked)?, request, said, !self.no_handoff)?)
    }
}
