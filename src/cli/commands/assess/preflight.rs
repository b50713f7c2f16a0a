//! `preflight`.

use crate::cli::commands::assess::assessment::{About, Noted, assess};
use crate::cli::commands::prelude::*;
use empirica_notes::model::Phase;

/// Say how sure you are before the work
///
/// Recommends to investigate when uncertainty is above 0.6, know below 0.7 or state below 0.6, and then suggests goals: for
/// these first, then for other vectors below 0.7, at most 5, with what was tried before. They close with the session, unless
/// someone takes them (goal take).
#[derive(Debug, Args)]
pub struct Preflight {
    #[command(flatten)]
    pub noted: Noted,
    #[command(flatten)]
    pub about: About,
}

impl Preflight {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        assess(context, Phase::Preflight, self.noted, self.about, None)
    }
}
