//! From `search` to its answer.

use super::dispatch::Here;
use super::input::Input;
use super::{args, requests};
use crate::history::search;
use crate::render::answer::Answer;
use empirica_notes::error::Result;

impl Here<'_> {
    pub(super) fn search(&mut self, mut given: args::Search) -> Result<Answer> {
        if given.like {
            given.words = vec![Input::new(self.output.stdin()).text(given.words.join(" "))?];
        }
        let (request, asked, format) = requests::search(given, self.output.as_json)?;
        let outcome = search::run(&self.context(asked)?, &request)?;
        let paint = self.output.paint(self.env, Some(self.repo));
        Ok(crate::history::search::view::answer(&outcome, format, paint, self.output.width(self.env)))
    }
}
