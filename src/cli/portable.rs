//! From `export` and `import` to their answers.

use super::args;
use super::dispatch::Here;
use super::progress::Progress;
use crate::context::Selection;
use crate::import::{lines, markdown, python};
use crate::render::answer::Answer;
use empirica_notes::error::Result;

impl Here<'_> {
    /// An export of lines is written as it is read; it is no document.
    pub(super) fn export(&mut self, given: args::Export) -> Result<Option<Answer>> {
        let context = self.context(Selection::default())?;
        if let Some(folder) = given.markdown {
            let progress = Progress::new(self.output, "writing");
            let mut render = |handoffs: &[_]| crate::import::view::page(handoffs);
            let outcome = markdown::run(&context, &folder, &mut render, &mut |done, all| progress.tell(done, all))?;
            return Ok(Some(crate::import::view::exported(&outcome)));
        }
        let exported = lines::export(&context, &mut |line| self.output.write(line))?;
        self.output.flush()?;
        if exported.lines == 0 {
            self.output.say("Nothing is stored here.")?;
        }
        self.output.aside(&exported.warnings, &[])?;
        Ok(None)
    }

    pub(super) fn import(&mut self, given: args::Import) -> Result<Answer> {
        let context = self.context(Selection::default())?;
        let progress = Progress::new(self.output, "importing");
        let mut told = |done, total| progress.tell(done, total);
        let Some(jsonl) = given.jsonl else {
            return Ok(crate::import::python::view::imported(&python::run(&context, given.dry_run, &mut told)?));
        };
        let (mut input, name) = super::input::lines(self.output.stdin(), &jsonl)?;
        let outcome = lines::import(&context, &mut input, &name, &mut told)?;
        Ok(crate::import::view::imported(&outcome))
    }
}
