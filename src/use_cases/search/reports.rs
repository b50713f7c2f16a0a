//! Matching handoffs as a table, Markdown, or JSON, in one document or a line per report.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::context::handoffs::ListedHandoff;
use crate::fold::assessment::trajectory::alone;
use crate::render::format::short_commit;
use crate::render::{format, safe};
use crate::text::width::{cut, measure};
use crate::use_cases::handoff::view::{BriefView, growth, texts};
use empirica_notes::error::empirica;

/// Format of matching handoffs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// For people: columns, with findings below.
    #[default]
    Table,
    /// For documents: a section per handoff.
    Markdown,
    /// For programs: a JSON report per line.
    Lines,
}

/// Most findings shown per handoff in the table.
const SHOWN: usize = 5;
/// Widest column of agents.
const WIDEST: usize = 24;
/// Columns reserved for the task; other columns give way.
const ROOM: usize = 24;
/// Separator of columns.
const GAP: &str = "  ";

/// The matching handoffs.
#[derive(Serialize, JsonSchema)]
pub struct ReportsView<'a> {
    /// At most `--limit`, newest first; those with an invalid time come last.
    pub(crate) reports: Vec<ReportView<'a>>,
    /// Number of matches, beyond the limit too.
    pub(crate) total_found: usize,
}

/// A matching handoff.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReportView<'a> {
    #[serde(flatten)]
    brief: BriefView<'a>,
    /// Its findings.
    key_findings: Vec<&'a str>,
    /// The open questions.
    remaining_unknowns: Vec<&'a str>,
}

impl<'a> From<&'a ListedHandoff> for ReportView<'a> {
    fn from(listed: &'a ListedHandoff) -> Self {
        let handoff = &listed.handoff;
        ReportView {
            brief: listed.into(),
            key_findings: texts(&handoff.findings),
            remaining_unknowns: texts(&handoff.unknowns),
        }
    }
}

/// The text; a table fits `width` columns, `None` for no limit.
pub(crate) fn text(listed: &[ListedHandoff], views: &[ReportView<'_>], format: Format, width: Option<usize>) -> String {
    match format {
        Format::Table => table(listed, width),
        Format::Markdown => listed.iter().map(section).collect::<Vec<_>>().join("\n"),
        Format::Lines => views.iter().map(|view| safe::json(&json!(view)) + "\n").collect(),
    }
}

fn grown(listed: &ListedHandoff) -> String {
    let growth = growth(&listed.handoff);
    match growth {
        Some(_) => format::signed(growth) + &format::only(alone(&listed.handoff.trajectory)),
        None => "unknown".to_owned(),
    }
}

fn section(listed: &ListedHandoff) -> String {
    let (envelope, handoff) = (&listed.envelope, &listed.handoff);
    let on = short_commit(envelope.commit.as_deref()).unwrap_or_else(|| "no commit".to_owned());
    let mut text = format!(
        "## Handoff {}: {}\n\n{} by {}, on {on}; growth {}, {}\n",
        envelope.id.short(),
        safe::words(&handoff.task),
        format::date(&envelope.at),
        safe::words(&envelope.ai),
        grown(listed),
        listed.handoff.calibration_status.phrase(),
    );
    if !handoff.findings.is_empty() {
        text.push('\n');
    }
    for finding in &handoff.findings {
        text.push_str(&format!("- {}\n", safe::item(&finding.text)));
    }
    text
}

/// A column: its title, and its content for a handoff.
type Column = (&'static str, fn(&ListedHandoff) -> String);

const COLUMNS: [Column; 5] = [
    ("HANDOFF", |listed| listed.envelope.id.short().to_owned()),
    ("TIME", |listed| format::date(&listed.envelope.at)),
    ("AGENT", |listed| safe::line(&listed.envelope.ai)),
    ("GROWTH", grown),
    ("SELF-ASSESSMENT", |listed| listed.handoff.calibration_status.word().to_owned()),
];
/// Columns that give way to the task, the first one first.
const GIVE_WAY: [&str; 3] = ["SELF-ASSESSMENT", "GROWTH", "TIME"];

/// Reports as a table, task last, findings below. Empty without reports.
fn table(reports: &[ListedHandoff], width: Option<usize>) -> String {
    if reports.is_empty() {
        return String::new();
    }
    let wide = |(title, cell): Column| {
        let cells = reports.iter().map(|listed| measure(&cell(listed)));
        (title, cell, cells.chain([title.len()]).max().unwrap_or_default().min(WIDEST))
    };
    let mut columns = COLUMNS.map(wide).to_vec();
    for least in GIVE_WAY {
        let taken = columns.iter().map(|(.., wide)| wide + GAP.len()).sum::<usize>();
        if width.is_some_and(|width| width.saturating_sub(taken) < ROOM) {
            columns.retain(|(title, ..)| *title != least);
        }
    }
    let line = |listed: Option<&ListedHandoff>, last: &str| {
        let mut line = String::new();
        for (title, cell, wide) in &columns {
            let cell = listed.map_or_else(|| (*title).to_owned(), cell);
            // cut long names in a terminal only
            let cell = if width.is_some() { cut(&cell, *wide) } else { cell };
            let padding = wide.saturating_sub(measure(&cell));
            line.push_str(&format!("{cell}{}{GAP}", " ".repeat(padding)));
        }
        line.push_str(last);
        fitted(line.trim_end(), width)
    };
    let mut text = line(None, "TASK");
    for listed in reports {
        text.push_str(&line(Some(listed), &safe::line(&listed.handoff.task)));
        for finding in listed.handoff.findings.iter().take(SHOWN) {
            text.push_str(&fitted(&format!("  - {}", safe::line(&finding.text)), width));
        }
        if let more @ 1.. = listed.handoff.findings.len().saturating_sub(SHOWN) {
            let command = format!("  {more} more: {}", empirica("show").arg(listed.envelope.id.short()));
            text.push_str(&fitted(&command, width));
        }
    }
    text
}

fn fitted(line: &str, width: Option<usize>) -> String {
    width.map_or_else(|| line.to_owned(), |width| cut(line, width)) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::handoff::Item;
    use empirica_notes::model::{Envelope, Handoff, Id};

    fn listed(ai: &str, task: &str, findings: &[&str]) -> ListedHandoff {
        let id = Id::parse("01a2004e-a732-738b-ae3d-eb67a874c4a9").expect("an id");
        let at = "2026-03-01T12:00:00.338Z".to_owned();
        let envelope = Envelope { v: 1, id, session: None, ai: ai.to_owned(), at, commit: None, tree: None };
        let findings = findings.iter().map(|text| Item { id: None, text: (*text).to_owned() }).collect();
        ListedHandoff { envelope, handoff: Handoff { task: task.to_owned(), findings, ..Handoff::default() } }
    }

    #[test]
    fn columns_are_aligned_and_nothing_is_cut_without_a_width() {
        let long = "long ".repeat(100);
        let reports = [listed("ada", &long, &["one\n## two"]), listed("日本", "short", &[])];
        let text = table(&reports, None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        let task = lines[0].find("TASK").expect("a title");
        assert_eq!(&lines[1][task..], long.trim_end());
        assert_eq!(lines[2], "  - one ## two");
        // two letters of three bytes and two columns each
        assert_eq!(&lines[3][task + 2..], "short");
        assert!(lines[1].contains("  unknown  "), "unknown growth is shown as unknown: {text}");
        assert_eq!(table(&[], Some(80)), "");
    }

    #[test]
    fn a_table_fits_the_terminal_and_columns_give_way_to_the_task() {
        let finding = "日本語 ".repeat(60);
        let reports = [listed(&"a".repeat(300), &"task ".repeat(60), &[finding.as_str(); 7])];
        for width in [0, 1, 5, 20, 40, 60, 80, 100, 120, 200] {
            let text = table(&reports, Some(width));
            for line in text.lines() {
                assert!(measure(line) <= width, "{width}: {line:?}");
            }
            assert_eq!(text.lines().count(), 1 + 1 + SHOWN + 1, "{text}");
        }
        let titles = |width| table(&reports, Some(width)).lines().next().map(str::to_owned).unwrap_or_default();
        assert!(titles(120).contains("SELF-ASSESSMENT"), "{}", titles(120));
        assert!(!titles(100).contains("SELF-ASSESSMENT") && titles(100).contains("GROWTH"), "{}", titles(100));
        assert!(!titles(90).contains("GROWTH") && titles(90).contains("TIME"), "{}", titles(90));
        assert!(!titles(60).contains("TIME") && titles(60).contains("TASK"), "{}", titles(60));
    }

    #[test]
    fn a_cut_line_says_so() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("e\u{301}e\u{301}", 2), "e\u{301}e\u{301}");
        assert_eq!(cut("ab", 0), "");
    }
}
