//! From the commands that take care of what is stored to their answers: `redact`.

use super::args;
use super::dispatch::Here;
use super::input::Input;
use crate::error::Result;
use crate::ops::{Asked, redact};
use crate::view::{self, Answer};

impl Here<'_> {
    pub(super) fn redact(&mut self, given: args::Redact) -> Result<Answer> {
        let mut input = Input::new(self.output.stdin());
        let reason = given.reason.map(|reason| input.text(reason)).transpose()?;
        let shown = self.output.tells_progress();
        let request = redact::Request { records: given.records, reason, dry_run: given.dry_run, shown };
        let asked = Asked { ai: given.ai, session: None };
        Ok(view::redact::answer(&redact::run(&self.context(asked)?, &request)?))
    }
}
