//! From `search` and `similar` to their answers.

use super::dispatch::Here;
use super::input::Input;
use super::{args, requests};
use crate::error::Result;
use crate::ops::{Asked, search, similar};
use crate::view::{self, Answer};

impl Here<'_> {
    pub(super) fn search(&mut self, given: args::Search) -> Result<Answer> {
        let (request, asked) = requests::search(given);
        let outcome = search::run(&self.context(asked)?, &request)?;
        let paint = self.output.paint(self.env, Some(self.repo));
        Ok(view::search::answer(&outcome, paint, self.output.width(self.env)))
    }

    pub(super) fn similar(&mut self, given: args::Similar) -> Result<Answer> {
        let about = Input::new(self.output.stdin()).text(given.about.join(" "))?;
        let request = similar::Request { about, limit: given.limit };
        let outcome = similar::run(&self.context(Asked::default())?, &request)?;
        Ok(view::search::alike(&outcome, self.output.width(self.env)))
    }
}
