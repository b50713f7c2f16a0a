//! From `report` to its page and answer.

use super::args;
use super::dispatch::Here;
use crate::context::Selection;
use crate::render::answer::Answer;
use crate::report;
use empirica_notes::error::{Error, Result, empirica};

impl Here<'_> {
    pub(super) fn report(&mut self, given: args::Report) -> Result<Answer> {
        let to_output = given.html.as_os_str() == "-";
        if to_output && self.output.as_json {
            return Err(Error::usage("--html - and --json both want standard output")
                .suggest("Name a file for the page, or leave --json out.")
                .command(empirica("report").option("--html", "report.html").flag("--json")));
        }
        let context = self.context(Selection { ai: given.ai, session: None, ..Default::default() })?;
        let outcome =
            report::gather::run(&context, &report::gather::ReportRequest { since: given.since, until: given.until })?;
        let page = crate::report::view::page(&outcome)?;
        if to_output {
            return Ok(crate::report::view::answer(&outcome, page, None));
        }
        let written = report::file::write(self.repo.cwd(), &given.html, &page.html)?;
        Ok(crate::report::view::answer(&outcome, page, Some(&written)))
    }
}
