//! From `handoff` and `show` to their answers.

use super::args::HandoffCommand;
use super::dispatch::Here;
use super::input::Input;
use super::{args, editor, requests};
use crate::ops::{Asked, handoff, show, sign};
use crate::view::{self, Answer};
use empirica_notes::error::Result;

impl Here<'_> {
    pub(super) fn handoff(&mut self, given: args::Handoff) -> Result<Answer> {
        match given.command {
            Some(HandoffCommand::List { filter, unacknowledged, .. }) => {
                let (handoffs, warnings) = handoff::list(&self.context(filter)?, unacknowledged)?;
                return Ok(view::handoff::list(&handoffs, warnings));
            }
            Some(HandoffCommand::Sign { handoff, ai, .. }) => {
                let outcome = sign::run(&self.context(Asked { ai, session: None, ..Default::default() })?, &handoff)?;
                return Ok(view::trust::signed(&outcome));
            }
            None => {}
        }
        if let (true, Some(kind)) = (given.example, given.kind) {
            return view::managed::example(kind.name());
        }
        let who = given.who.clone();
        let request = requests::handoff(given, &mut Input::new(self.output.stdin()))?;
        let (repo, is_terminal) = (self.repo, self.output.is_terminal());
        let outcome = handoff::run(&self.context(who)?, request, &|text| editor::edit(repo, text, is_terminal))?;
        view::handoff::answer(&outcome, &mut self.terminal)
    }

    pub(super) fn show(&mut self, given: args::Show) -> Result<Answer> {
        let context = self.context(Asked::default())?;
        let (shown, warnings) = show::run(&context, given.name.as_deref(), given.verify)?;
        view::show::shown(&shown, given.format.into(), warnings, &mut self.terminal)
    }
}
