//! The answer of `import` from the Python tool.

use schemars::JsonSchema;
use serde::Serialize;

use crate::import::python::PythonOutcome;
use crate::render::answer::Answer;
use crate::render::{format, safe};
use empirica_notes::error::{empirica, text};

/// How many things a text lists one by one.
const LISTED: usize = 20;

/// What an import from the Python tool came to.
#[derive(Serialize, JsonSchema)]
pub struct ImportedView<'a> {
    /// Always `empirica-python`.
    source: &'static str,
    #[serde(flatten)]
    outcome: &'a PythonOutcome,
}

/// The answer.
pub fn imported(outcome: &PythonOutcome) -> Answer {
    let view = ImportedView { source: "empirica-python", outcome };
    let mut answer = Answer::new(view).text(text(outcome)).stored(&outcome.stored);
    if outcome.left_out > 0 {
        let records = format::count(outcome.left_out, "record");
        answer.warnings.push(format!("{records} left out: what they say was redacted here").into());
    }
    if !outcome.moved.is_empty() {
        let (all, lost) = (outcome.moved.len(), outcome.moved.iter().filter(|moved| moved.to.is_none()).count());
        let where_to = match lost {
            0 => "found on the nearest commit".to_owned(),
            _ => format!("{lost} of them on no commit until HEAD has one and you import again"),
        };
        let originals = format::count(all, "original");
        answer.warnings.push(format!("{originals} on commits that are not here: stored there, and {where_to}").into());
    }
    match (outcome.refs, outcome.dry_run) {
        (0, _) => answer
            .hint("Notes of the Python tool do not come with a clone: git fetch origin 'refs/notes/empirica/*:refs/notes/empirica/*'"),
        (_, true) => answer.hint(text!["This was a dry run: ", empirica("import"), " stores it."]),
        (_, false) if outcome.new > 0 => answer
            .hint(text![empirica("session list"), " shows whose work came; ", empirica("sync"), " shares it. The notes of the Python tool are still there: see the README on when to remove them."]),
        _ => answer,
    }
}

fn text(outcome: &PythonOutcome) -> String {
    if outcome.refs == 0 && outcome.not_understood.is_empty() {
        return "There are no notes of the Python tool here.\n".to_owned();
    }
    let counts = |counts: Vec<(String, usize)>| {
        let each: Vec<String> = counts.into_iter().map(|(word, count)| format!("{word} {count}")).collect();
        each.join(", ")
    };
    let word = |kind: &str| safe::line(&kind.replace('_', " "));
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
    let from = outcome.from.iter().map(|(kind, count)| (word(kind), *count)).collect();
    let kinds = outcome.kinds.iter().map(|(kind, count)| (word(kind.as_deref().unwrap_or("none")), *count)).collect();
    for (title, list) in [("read", counts(from)), (verb, counts(kinds))] {
        if !list.is_empty() {
            out.push_str(&format!("  {title}: {list}\n"));
        }
    }
    if !outcome.not_understood.is_empty() {
        out.push_str("Not understood, and left where it is:\n");
        for one in outcome.not_understood.iter().take(LISTED) {
            out.push_str(&format!("  {}: {}\n", safe::line(&one.name), safe::line(&one.reason)));
        }
        more(outcome.not_understood.len(), &mut out);
    }
    if !outcome.moved.is_empty() {
        out.push_str("On commits that are not here:\n");
        for one in outcome.moved.iter().take(LISTED) {
            let to = one.to.as_ref().map_or("no commit here yet", |to| &to[..12]);
            out.push_str(&format!("  {}: {}, found on {to}\n", safe::line(&one.name), &one.commit[..12]));
        }
        more(outcome.moved.len(), &mut out);
    }
    out
}

fn more(all: usize, out: &mut String) {
    if all > LISTED {
        out.push_str(&format!("  and {} more: --json lists all\n", all - LISTED));
    }
}
