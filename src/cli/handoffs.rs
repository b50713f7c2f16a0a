//! From `handoff` and `show` to their answers.

use super::args::HandoffCommand;
use super::dispatch::Here;
use super::input::Input;
use super::{args, editor, requests};
use crate::context::Selection;
use crate::handoff;
use crate::handoff::sign;
use crate::history::show;
use crate::render::answer::Answer;
use empirica_notes::error::Result;

impl Here<'_> {
    pub(super) fn handoff(&mut self, given: args::Handoff) -> Result<Answer> {
        match given.command {
            Some(HandoffCommand::List { filter, unacknowledged, .. }) => {
                let (handoffs, warnings) = crate::handoff::list::list(&self.context(filter)?, unacknowledged)?;
                return Ok(crate::handoff::view::list(&handoffs, warnings));
            }
            Some(HandoffCommand::Sign { handoff, ai, .. }) => {
                let outcome =
                    sign::run(&self.context(Selection { ai, session: None, ..Default::default() })?, &handoff)?;
                return Ok(crate::history::show::trust::signed(&outcome));
            }
            None => {}
        }
        if let (true, Some(kind)) = (given.example, given.kind) {
            return crate::handoff::managed::view::example(kind.name());
        }
        let who = given.who.clone();
        let request = requests::handoff(given, &mut Input::new(self.output.stdin()))?;
        let (repo, is_terminal) = (self.repo, self.output.is_terminal());
        let outcome = handoff::write::run(&self.context(who)?, request, &|text| editor::edit(repo, text, is_terminal))?;
        crate::handoff::view::answer(&outcome, &mut self.terminal)
    }

    pub(super) fn show(&mut self, given: args::Show) -> Result<Answer> {
        let context = self.context(Selection::default())?;
        let (shown, warnings) = show::run(&context, given.name.as_deref(), given.verify)?;
        crate::history::show::view::shown(&shown, given.format.into(), warnings, &mut self.terminal)
    }
}
