//! The answer of `import` from the Python tool.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::import::python::convert::Unreadable;
use crate::use_cases::import::python::{MovedNote, PythonOutcome};
use empirica_notes::error::{empirica, text};

/// How many entries a text lists.
const LISTED: usize = 20;

/// The result of an import from the Python tool.
#[derive(Serialize, JsonSchema)]
pub struct ImportedView<'a> {
    /// Always `empirica-python`.
    source: &'static str,
    #[serde(flatten)]
    outcome: &'a PythonOutcome,
}

pub fn imported(outcome: &PythonOutcome) -> Answer {
    let view = ImportedView { source: "empirica-python", outcome };
    let mut answer = Answer::new(view).text(text(outcome)).stored(&outcome.stored);
    if outcome.left_out > 0 {
        let records = format::count(outcome.left_out, "record");
        answer.warnings.push(format!("{records} left out: they were redacted here").into());
    }
    if !outcome.moved.is_empty() {
        let (all, lost) = (outcome.moved.len(), outcome.moved.iter().filter(|moved| moved.to.is_none()).count());
        let place = match lost {
            0 => "found on the nearest commit".to_owned(),
            _ => format!("{lost} of them on no commit until HEAD has one and you import again"),
        };
        let originals = format::count(all, "original");
        answer.warnings.push(format!("{originals} on commits that are not here: stored there, and {place}").into());
    }
    match (outcome.refs, outcome.dry_run) {
        (0, _) => answer
            .hint("Notes of the Python tool do not come with a clone: git fetch origin 'refs/notes/empirica/*:refs/notes/empirica/*' '^refs/notes/empirica/data/*' '^refs/notes/empirica/handoffs' '^refs/notes/empirica/remotes/*'"),
        (_, true) => answer.hint(text!["This was a dry run: ", empirica("import"), " stores it."]),
        (_, false) if outcome.new > 0 => answer
            .hint(text![empirica("session list"), " lists the imported sessions; ", empirica("sync"), " shares them. The notes of the Python tool are kept: see the README on when to remove them."]),
        _ => answer,
    }
}

fn text(outcome: &PythonOutcome) -> String {
    if outcome.refs == 0 && outcome.not_understood.is_empty() {
        return "There are no notes of the Python tool here.\n".to_owned();
    }
    let count = |(kind, count): (&str, &usize)| format!("{} {count}", safe::line(&kind.replace('_', " ")));
    let verb = if outcome.dry_run { "would be new" } else { "new" };
    let mut out = format!(
        "{} in {}, {} read: {} {verb}, {} known, of {}.\n",
        format::count(outcome.originals, "original"),
        format::count(outcome.refs, "ref"),
        outcome.read,
        format::count(outcome.new, "record"),
        outcome.known,
        format::count(outcome.sessions, "session"),
    );
    let from: Vec<String> = outcome.from.iter().map(|(kind, n)| count((kind, n))).collect();
    let kinds: Vec<String> =
        outcome.kinds.iter().map(|(kind, n)| count((kind.as_deref().unwrap_or("none"), n))).collect();
    for (title, counts) in [("read", from), (verb, kinds)] {
        if !counts.is_empty() {
            out.push_str(&format!("  {title}: {}\n", counts.join(", ")));
        }
    }
    if !outcome.not_understood.is_empty() {
        out.push_str("Not converted, and left where it is:\n");
        let line = |entry: &Unreadable| format!("{}: {}", safe::line(&entry.name), safe::line(&entry.reason));
        list(&outcome.not_understood, line, &mut out);
    }
    if !outcome.moved.is_empty() {
        out.push_str("On commits that are not here:\n");
        let line = |moved: &MovedNote| {
            let to = moved.to.as_ref().map_or("no commit here yet", |to| &to[..12]);
            format!("{}: {}, found on {to}", safe::line(&moved.name), &moved.commit[..12])
        };
        list(&outcome.moved, line, &mut out);
    }
    out
}

fn list<T>(all: &[T], line: impl Fn(&T) -> String, out: &mut String) {
    all.iter().take(LISTED).for_each(|entry| out.push_str(&format!("  {}\n", line(entry))));
    if all.len() > LISTED {
        out.push_str(&format!("  and {} more: --json lists all\n", all.len() - LISTED));
    }
}
