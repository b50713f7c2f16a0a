//! From the commands that take care of what is stored to their answers: `redact`, `doctor`.

use super::args;
use super::dispatch::Here;
use super::input::Input;
use super::progress::Progress;
use crate::context::Selection;
use crate::render::answer::Answer;
use crate::setup::doctor;
use crate::sync::{redact, repair};
use empirica_notes::error::Result;

impl Here<'_> {
    pub(super) fn redact(&mut self, given: args::Redact) -> Result<Answer> {
        if given.secrets {
            let context = self.context(Selection::default())?;
            return Ok(crate::sync::redact::view::scrubbed(&redact::scrub(&context, given.dry_run)?));
        }
        let mut input = Input::new(self.output.stdin());
        let reason = given.reason.map(|reason| input.text(reason)).transpose()?;
        let shown = self.output.tells_progress();
        let request = redact::RedactRequest { records: given.records, reason, dry_run: given.dry_run, shown };
        let asked = Selection { ai: given.ai, session: None, ..Default::default() };
        Ok(crate::sync::redact::view::answer(&redact::run(&self.context(asked)?, &request)?))
    }

    pub(super) fn doctor(&mut self, given: args::Doctor) -> Result<Answer> {
        let progress = Progress::new(self.output, "scanning notes");
        let context = self.context(Selection::default())?;
        let repairs = repair::RepairRequest { apply: given.fix, to: given.to };
        if given.repairs {
            return Ok(crate::sync::repair::view::answer(&repair::run(&context, &repairs)?));
        }
        let mut outcome = doctor::run(&context, &repairs)?;
        if given.secrets {
            outcome.checks.extend(doctor::secrets(&context, &mut |done, of| progress.tell(done, of)));
        }
        Ok(crate::setup::doctor::view::answer(&outcome))
    }
}
