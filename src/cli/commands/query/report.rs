//! `report`.

use std::path::PathBuf;

use crate::cli::commands::prelude::*;
use crate::use_cases::report::{file, gather, view};

/// Write an HTML page of the project: open work, knowledge, sessions over time
///
/// The page is one file, readable without network and scripts, in light and dark. It starts with the points that need
/// attention: open questions, failed checks, handoffs without a receiver, checks older than the code, silent sessions, open
/// goals. Then it shows the sessions, the findings by file and commit, and charts: a timeline of agents and handoffs, each
/// vector over time, forecasts and outcomes. It shows the newest entries, and names the command that shows the others.
#[derive(Debug, Args)]
pub struct Report {
    /// Only sessions that recorded something for this range of commits, BASE..HEAD
    #[arg(value_name = "RANGE")]
    pub range: Option<String>,
    /// The file to write or replace; - for standard output
    #[arg(long, value_name = "FILE", required = true)]
    pub html: PathBuf,
    /// Only sessions of this agent, and their records
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
            return Err(Error::usage("cannot combine --html - and --json: both write to standard output")
                .suggest("Name a file for the page, or omit --json.")
                .command(empirica("report").option("--html", "report.html").flag("--json")));
        }
        let opened = context.open(Selection { ai: self.ai, ..Default::default() })?;
        let outcome =
            gather::run(&opened, &gather::ReportRequest { since: self.since, until: self.until, range: self.range })?;
        let page = view::page(&outcome)?;
        if to_output {
            return Ok(view::answer(&outcome, page, None));
        }
        let written = file::write(context.repo()?.cwd(), &self.html, &page.html)?;
        Ok(view::answer(&outcome, page, Some(&written)))
    }
}
