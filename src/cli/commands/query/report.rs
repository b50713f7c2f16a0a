//! `report`: a page to look at.

use std::path::PathBuf;

use crate::cli::commands::prelude::*;
use crate::report::{file, gather, view};

/// Write an HTML page of the project: what is open and known, who worked when
///
/// One file that needs nothing else: no network, no script to read it, light and dark. It begins with what needs attention: open
/// questions, failed checks, handoffs nobody took up, checks older than the code, silent sessions, goals not reached. Then come the
/// sessions, what is known by file and commit, and pictures: a timeline of agents and handoffs, how each vector went, forecasts
/// and outcomes. The newest is shown; where there is more, the page names the command that shows it.
#[derive(Debug, Args)]
pub struct Report {
    /// Where the page goes, replacing a file that is there; - for standard output
    #[arg(long, value_name = "FILE", required = true)]
    pub html: PathBuf,
    /// Only the sessions of this agent, and what they said
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// Only sessions that began since then: 2026-01-31, "7 days ago", yesterday
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Only sessions that began until then
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
}

impl Report {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let to_output = self.html.as_os_str() == "-";
        if to_output && context.output.as_json {
            return Err(Error::usage("--html - and --json both want standard output")
                .suggest("Name a file for the page, or leave --json out.")
                .command(empirica("report").option("--html", "report.html").flag("--json")));
        }
        let opened = context.open(Selection { ai: self.ai, ..Default::default() })?;
        let outcome = gather::run(&opened, &gather::ReportRequest { since: self.since, until: self.until })?;
        let page = view::page(&outcome)?;
        if to_output {
            return Ok(view::answer(&outcome, page, None));
        }
        let written = file::write(context.repo()?.cwd(), &self.html, &page.html)?;
        Ok(view::answer(&outcome, page, Some(&written)))
    }
}
