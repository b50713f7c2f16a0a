//! `calibration`.

use crate::assess::calibration::{self, view};
use crate::cli::commands::prelude::*;

/// Show whose confidence was justified: forecasts beside outcomes, bias by vector
///
/// A session forecasts with --confidence of its last CHECK, else with the overall confidence of that CHECK or, without
/// one, of its last PREFLIGHT. It succeeded when all its goals are done and the last run of each evidence command
/// passed. That is calibration; whether know and uncertainty moved together is the self-assessment of each session. Sessions that are still going on, have neither goals nor evidence, or made no forecast are counted and left
/// out. From fewer than 10 sessions little follows, from one or two nothing; the answer says so.
#[derive(Debug, Args)]
pub struct Calibration {
    #[command(flatten)]
    pub filter: Filter,
}

impl Calibration {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        Ok(view::answer(&calibration::run(&context.open(self.filter)?)?))
    }
}
