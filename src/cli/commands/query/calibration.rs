//! `calibration`.

use crate::cli::commands::prelude::*;
use crate::use_cases::assess::calibration::{self, view};

/// Compare confidence with outcomes: forecasts, results, bias by vector
///
/// The forecast of a session is --confidence of its last CHECK, else the overall confidence of that CHECK or, without
/// one, of its last PREFLIGHT. The session succeeded if all its goals are done and the last run of each evidence command
/// passed. This differs from the self-assessment of a session: whether know and uncertainty moved together. Active
/// sessions, and sessions without goals and evidence or without a forecast, are counted and excluded. Results from fewer
/// than 10 sessions are marked as weak, from one or two as meaningless.
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
