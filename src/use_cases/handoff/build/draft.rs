//! The draft of a handoff for the user's editor: written as plain lines, read back after editing.

use crate::fold::handoff_report::HandoffInput;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::model::Handoff;
use empirica_notes::model::handoff::Item;

const SECTIONS: [&str; 7] = [
    "Task:",
    "Accomplished:",
    "Findings:",
    "Remaining unknowns:",
    "Next steps:",
    "Artifacts:",
    "Context for next session:",
];

const HELP: &str = "\
; Complete the handoff. One entry a line, beginning with '- '; indented lines continue an entry.
; Entries that begin with '= ' are already recorded and stay unchanged; add your own below them.
; Lines that begin with ';' are ignored. An empty task cancels the handoff.
";

/// The draft as text; entries of `input` can be changed, others not.
pub fn write(handoff: &Handoff, input: &HandoffInput) -> String {
    let texts = |items: &[Item]| -> Vec<String> { items.iter().map(|item| item.text.clone()).collect() };
    let mut out = format!("{}\n{}\n", SECTIONS[0], lines(&handoff.task));
    let mut section = |at: usize, all: &[String], own: &[String]| {
        out.push_str(&format!("\n{}\n", SECTIONS[at]));
        let kept = all.iter().filter(|text| !own.contains(text));
        kept.for_each(|text| out.push_str(&format!("= {}\n", entry(text))));
        own.iter().for_each(|text| out.push_str(&format!("- {}\n", entry(text))));
    };
    section(1, &handoff.accomplished, &input.accomplished);
    section(2, &texts(&handoff.findings), &input.findings);
    section(3, &texts(&handoff.unknowns), &input.unknowns);
    section(4, &handoff.next_steps, &handoff.next_steps);
    section(5, &handoff.artifacts, &input.artifacts);
    out.push_str(&format!("\n{}\n{}\n\n{HELP}", SECTIONS[6], lines(&handoff.context)));
    out
}

fn entry(text: &str) -> String {
    text.replace('\n', "\n  ")
}

/// A text without entries; lines that would parse as structure are indented.
fn lines(text: &str) -> String {
    let guard = |line: &str| {
        if SECTIONS.contains(&line) || line.starts_with(';') { format!(" {line}") } else { line.to_owned() }
    };
    text.split('\n').map(guard).collect::<Vec<_>>().join("\n")
}

pub fn empty() -> Error {
    Error::refused("cannot store the handoff: the draft is empty")
        .reason("nothing was stored")
        .suggest("Leave the task in the draft, or hand over without an editor.")
        .command(empirica("handoff"))
}

/// Parses an edited draft. A line outside the sections and an empty task are errors.
pub fn read(text: &str) -> Result<HandoffInput> {
    let mut sections: [Vec<&str>; 7] = Default::default();
    let mut at = None;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with(';') {
            continue;
        }
        if let Some(found) = SECTIONS.iter().position(|section| line.trim_end() == *section) {
            at = Some(found);
        } else if let Some(at) = at {
            sections[at].push(line);
        } else if !line.trim().is_empty() {
            return Err(Error::usage(format!(
                "cannot read line {} of the draft: it is outside every section",
                number + 1
            ))
            .provided(line)
            .reason(format!("the sections are {}", SECTIONS.join(" ")))
            .suggest("Put every line below a heading."));
        }
    }
    let prose = |at: usize| sections[at].join("\n").trim().to_owned();
    let task = prose(0);
    if task.is_empty() {
        return Err(empty());
    }
    Ok(HandoffInput {
        task: Some(task),
        accomplished: entries(&sections[1]),
        findings: entries(&sections[2]),
        unknowns: entries(&sections[3]),
        next_steps: Some(entries(&sections[4])),
        artifacts: entries(&sections[5]),
        context: Some(prose(6)),
    })
}

/// The entries that the user can change: those without the prefix `= `.
fn entries(lines: &[&str]) -> Vec<String> {
    let mut out: Vec<(bool, String)> = Vec::new();
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        let own = line.strip_prefix("- ");
        if let Some(text) = own.or(line.strip_prefix("= ")) {
            out.push((own.is_some(), text.to_owned()));
        } else {
            match (line.strip_prefix("  "), out.last_mut()) {
                (Some(text), Some((_, last))) => {
                    last.push('\n');
                    last.push_str(text);
                }
                _ => out.push((true, line.trim().to_owned())),
            }
        }
    }
    out.into_iter().filter(|(own, text)| *own && !text.trim().is_empty()).map(|(_, text)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unchanged_draft_reads_as_the_input() {
        let input = HandoffInput {
            task: Some("fix; the\nTask:\n; thing".into()),
            accomplished: vec!["one\ntwo".into()],
            findings: vec!["- dash".into()],
            unknowns: vec![],
            context: Some("mind\n\nthe gap".into()),
            next_steps: Some(vec!["go".into()]),
            artifacts: vec!["a b.rs".into()],
        };
        let item = |text: &str| Item { id: None, text: text.into() };
        let handoff = Handoff {
            task: input.task.clone().unwrap(),
            accomplished: vec!["earlier".into(), "one\ntwo".into()],
            findings: vec![item("journal"), item("- dash")],
            context: "mind\n\nthe gap".into(),
            next_steps: vec!["go".into()],
            artifacts: vec!["known.rs".into(), "a b.rs".into()],
            ..Default::default()
        };
        let back = read(&write(&handoff, &input)).unwrap();
        assert_eq!(back.task.as_deref(), Some("fix; the\n Task:\n ; thing"));
        assert_eq!(HandoffInput { task: None, ..back }, HandoffInput { task: None, ..input });
    }

    #[test]
    fn an_empty_draft_and_stray_lines_are_errors() {
        assert!(read("").is_err());
        assert!(read("; only comments\nTask:\n\n").is_err());
        assert_eq!(read("hello\nTask:\nx").unwrap_err().kind(), empirica_notes::error::Kind::Usage);
        let plain = read("Task:\nx\nFindings:\nno dash\n").unwrap();
        assert_eq!(plain.findings, ["no dash"]);
    }
}
