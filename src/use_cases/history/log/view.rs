//! A commit of the log with its records.

use std::sync::Mutex;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::render::answer::Answer;
use crate::render::color::Paint;
use crate::render::format::duration;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::use_cases::handoff::note::lists::NoteLists;
use crate::use_cases::handoff::pack::each_text;
use crate::use_cases::handoff::receive::acceptance;
use crate::use_cases::handoff::view::HandoffView;
use crate::use_cases::handoff::view::growth;
use crate::use_cases::history::log::decoration::Decorations;
use crate::use_cases::history::log::reader::AnnotatedCommit;
use crate::use_cases::history::record_line;
use crate::use_cases::history::show::record::point_name;
use empirica_notes::error::Result;
use empirica_notes::model::{Body, Id, Record, SessionId};

/// A record on a commit, with the keys of its [kind](../format.md#records); of a checkpoint without `git_state` and `snapshot`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoggedRecordView")]
struct PointView<'a> {
    /// The record.
    id: &'a Id,
    /// Its kind.
    kind: &'a str,
    /// Its session.
    session_id: Option<&'a SessionId>,
    /// Its agent.
    ai_id: &'a str,
    /// When.
    timestamp: &'a str,
    #[serde(flatten)]
    keys: Map<String, Value>,
}

impl<'a> From<&'a Record> for PointView<'a> {
    fn from(Record { envelope, body }: &'a Record) -> Self {
        PointView {
            id: &envelope.id,
            kind: body.kind(),
            session_id: envelope.session.as_ref(),
            ai_id: &envelope.ai,
            timestamp: &envelope.at,
            keys: crate::use_cases::checkpoint::view::brief_keys(body),
        }
    }
}

/// A commit with the records on it. With `--checkpoints` or `--journal` alone, `handoffs`, `digests` and `acknowledgements` are empty.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoggedCommitView")]
struct CommitView<'a> {
    /// The commit.
    commit: String,
    /// The first line of its message.
    subject: &'a str,
    /// Its author: `Name <address>`.
    author: String,
    /// When it was written, strict ISO 8601.
    date: &'a str,
    /// The handoffs in force.
    handoffs: Vec<HandoffView<'a>>,
    /// The digests.
    digests: Vec<PointView<'a>>,
    /// The acknowledgements.
    acknowledgements: Vec<PointView<'a>>,
    /// With `--checkpoints`: the checkpoints and assessments.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoints: Option<Vec<PointView<'a>>>,
    /// With `--journal`: the entries of the journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    journal: Option<Vec<PointView<'a>>>,
}

/// The commits with records.
#[derive(Serialize, JsonSchema)]
pub struct LogView {
    /// The commits, in git's order.
    #[schemars(with = "Vec<CommitView<'_>>")]
    commits: Vec<Value>,
    /// How many they are.
    total_found: usize,
}

/// The answer of `log --json`: the commits as made by [`json()`].
pub fn answer(commits: Vec<Value>) -> Answer {
    Answer::new(LogView { total_found: commits.len(), commits })
}

/// The commit as JSON; `checkpoints` and `journal` only if requested.
pub fn json(found: &AnnotatedCommit, with_checkpoints: bool, with_journal: bool) -> Value {
    let commit = &found.commit;
    let mut view = CommitView {
        commit: commit.id.to_string(),
        subject: &commit.subject,
        author: format!("{} <{}>", commit.author, commit.email),
        date: &commit.date,
        handoffs: Vec::new(),
        digests: Vec::new(),
        acknowledgements: Vec::new(),
        checkpoints: with_checkpoints.then(|| found.checkpoints.iter().map(PointView::from).collect()),
        journal: with_journal.then(|| found.journal.iter().map(PointView::from).collect()),
    };
    for record in &found.handoffs {
        match &record.body {
            Body::Handoff(handoff) => view.handoffs.push(HandoffView::of(&record.envelope, handoff)),
            Body::Digest(_) => view.digests.push(record.into()),
            Body::Accept(_) => view.acknowledgements.push(record.into()),
            _ => {}
        }
    }
    json!(view)
}

/// The commit on a line, with a line for each handoff and a count of the rest.
pub fn one_line(found: &AnnotatedCommit, paint: Paint, decorations: &Decorations) -> String {
    let refs = decorations.of(found.commit.id, paint);
    let mut text = format!("{}{refs} {}\n", paint.commit(&found.commit.short), safe::line(&found.commit.subject));
    for record in &found.handoffs {
        let about = match &record.body {
            Body::Digest(digest) => {
                let task = Some(safe::line(&digest.task)).filter(|task| !task.is_empty());
                let counts = NoteLists::of(None, &[digest]).counts();
                format!("digest{} ({counts})", task.map(|task| format!(" of {task}")).unwrap_or_default())
            }
            Body::Accept(accept) => format!("{}{}", accept.of.short(), acceptance::accepted(accept)),
            Body::Handoff(handoff) => format!(
                "{} ({}, {})",
                safe::line(&handoff.task),
                format::signed(growth(handoff)),
                handoff.calibration_status.phrase()
            ),
            _ => continue,
        };
        let (short, ai) = (paint.heading(record.envelope.id.short()), safe::line(&record.envelope.ai));
        text.push_str(&format!("  {short} {ai}: {about}\n"));
    }
    for (records, noun) in [(&found.checkpoints, "checkpoint"), (&found.journal, "journal record")] {
        if !records.is_empty() {
            text.push_str(&format!("  {}\n", format::count(records.len(), noun)));
        }
    }
    text
}

/// The templates of the terminal, for several threads.
pub struct Terminal<'t> {
    templates: Mutex<&'t mut Templates>,
    is_built_in: bool,
}

impl<'t> Terminal<'t> {
    pub fn new(templates: &'t mut Templates) -> Self {
        Terminal { is_built_in: templates.is_built_in("log.txt"), templates: Mutex::new(templates) }
    }
}

/// The commit as `git log` shows it, with its records below.
pub fn entry(
    found: &AnnotatedCommit,
    paint: Paint,
    decorations: &Decorations,
    terminal: &Terminal<'_>,
) -> Result<String> {
    let commit = &found.commit;
    let mut text = String::with_capacity(1024);
    text.push_str(&paint.commit(&format!("commit {}", commit.id)));
    text.push_str(&decorations.of(commit.id, paint));
    text.push('\n');
    if commit.parents.len() > 1 {
        text.push_str(&format!("Merge: {}\n", commit.parents.join(" ")));
    }
    text.push_str(&format!(
        "Author: {} <{}>\nDate:   {}\n\n",
        safe::line(&commit.author),
        safe::line(&commit.email),
        commit.shown_date
    ));
    for line in safe::clean(commit.message.trim_end()).split('\n') {
        let begun = text.len();
        text.push_str("    ");
        text.push_str(line);
        text.truncate(begun + text[begun..].trim_end().len());
        text.push('\n');
    }
    let begun = text.len();
    match terminal.is_built_in {
        true => built_in(found, &mut text),
        false => text.push_str(&templated(found, terminal)?),
    }
    text.truncate(begun + text[begun..].trim_end().len());
    if paint.on {
        let records = text.split_off(begun);
        text.push_str(&paint.text(&records));
    }
    text.push_str("\n\n");
    Ok(text)
}

/// The output of the built-in `log.txt`, without the cost of a template: a log can show a hundred thousand commits. A
/// test compares both.
fn built_in(found: &AnnotatedCommit, out: &mut String) {
    for record in &found.handoffs {
        let Body::Handoff(handoff) = &record.body else { continue };
        out.push_str(&format!(
            "\nHandoff {} by {}, session {}, {}, {}{}",
            record.envelope.id.short(),
            safe::line(&record.envelope.ai),
            session(record),
            duration(handoff.duration_seconds),
            handoff.calibration_status.phrase(),
            task(&handoff.task),
        ));
        let mut within = "";
        each_text(handoff, &mut |title, text| {
            if title != within {
                for part in ["\n    ", title, ":"] {
                    out.push_str(part);
                }
                within = title;
            }
            out.push_str("\n      - ");
            safe::add_indented(&text, 8, out);
        });
        out.push('\n');
    }
    for record in &found.handoffs {
        let Body::Digest(digest) = &record.body else { continue };
        out.push_str(&format!(
            "\nDigest {} by {}, session {}{}",
            record.envelope.id.short(),
            safe::line(&record.envelope.ai),
            session(record),
            task(&digest.task)
        ));
        for entry in record_line::digest(digest) {
            out.push_str(&format!("\n      - {}", safe::line(&entry)));
        }
        out.push('\n');
    }
    for record in found.handoffs.iter().filter(|record| matches!(record.body, Body::Accept(_))) {
        let text = safe::indented(&record_line::text(record), 4);
        out.push_str(&format!(
            "\nAcknowledgement {} by {}: {text}\n",
            record.envelope.id.short(),
            safe::line(&record.envelope.ai)
        ));
    }
    if !found.checkpoints.is_empty() {
        out.push_str("\nCheckpoints:");
        for record in &found.checkpoints {
            let (short, what) = (record.envelope.id.short(), point_name(record));
            out.push_str(&format!(
                "\n    {short} {what} by {}: {}",
                safe::line(&record.envelope.ai),
                record_line::text(record)
            ));
        }
        out.push('\n');
    }
    if !found.journal.is_empty() {
        out.push_str("\nJournal:");
        for record in &found.journal {
            let (short, kind) = (record.envelope.id.short(), record.body.kind().replace('_', " "));
            let text = safe::indented(&record_line::text(record), 8);
            out.push_str(&format!("\n    {short} {kind} by {}: {text}", safe::line(&record.envelope.ai)));
        }
        out.push('\n');
    }
}

/// The short ID of the session, as a template shows a missing value.
fn session(record: &Record) -> &str {
    record.envelope.session.as_ref().map_or("None", |id| id.short())
}

/// The task on a line of its own, if any.
fn task(text: &str) -> String {
    Some(safe::line(text)).filter(|task| !task.is_empty()).map(|task| format!("\n    {task}")).unwrap_or_default()
}

/// The records as shown by the user's own template.
fn templated(found: &AnnotatedCommit, terminal: &Terminal<'_>) -> Result<String> {
    let views = |records: &[Record], fits: fn(&Body) -> bool| -> Value {
        records.iter().filter(|record| fits(&record.body)).map(template_record).collect()
    };
    let data = json!({
        "handoffs": views(&found.handoffs, |body| matches!(body, Body::Handoff(_))),
        "digests": views(&found.handoffs, |body| matches!(body, Body::Digest(_))),
        "acknowledgements": views(&found.handoffs, |body| matches!(body, Body::Accept(_))),
        "checkpoints": views(&found.checkpoints, |_| true),
        "journal": views(&found.journal, |_| true),
    });
    // the output of a thread that panicked is not shown
    let mut templates = terminal.templates.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    templates.render("log.txt", data)
}

/// The keys of a record in `log.txt`.
fn template_record(record: &Record) -> Value {
    let mut view = match &record.body {
        Body::Handoff(handoff) => {
            let mut lists: Vec<(&str, Vec<String>)> = Vec::new();
            each_text(handoff, &mut |title, text| match lists.last_mut() {
                Some((last, entries)) if *last == title => entries.push(text.into_owned()),
                _ => lists.push((title, vec![text.into_owned()])),
            });
            let lists: Vec<Value> =
                lists.into_iter().map(|(title, entries)| json!({"title": title, "entries": entries})).collect();
            json!({
                "duration": duration(handoff.duration_seconds),
                "calibration": handoff.calibration_status.phrase(),
                "task": handoff.task,
                "lists": lists,
            })
        }
        Body::Digest(digest) => json!({"task": digest.task, "entries": record_line::digest(digest)}),
        body => {
            let text = record_line::text(record);
            let kind = body.kind().replace('_', " ");
            json!({"kind": kind, "what": point_name(record), "values": text, "text": text})
        }
    };
    view["short"] = json!(record.envelope.id.short());
    view["ai"] = json!(record.envelope.ai);
    view["session"] = json!(record.envelope.session.as_ref().map(|id| id.short()));
    view
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::format::record::decode;
    use empirica_notes::git::history::commit::Commit;

    const WHOLE: &str = r#""kind":"handoff",@,"type":"epistemic","task":"a  b\n# c","duration_seconds":4000,"calibration_status":"well_calibrated","trajectory":[{"vector":"know","before":0.1,"after":0.5,"delta":0.4,"status":"improved"},{"vector":"do","before":0.1,"after":null,"delta":null,"status":"x"},{"vector":"overall_confidence","before":0.1,"after":0.3,"delta":-0.2,"status":"y"},{"vector":"know","before":0.1,"after":0.5,"delta":0.3,"status":"z"}],"accomplished":["done"],"findings":[{"text":"one\ntwo\n\n- three"},{"text":"<b>bold</b> `x"}],"gaps_filled":[{"gap":"g","before":"b","after":"one\ntwo\n\n- three","confidence_change":0.1},{"gap":"g","before":"b","after":"a","confidence_change":null},{"gap":"g","before":"b","after":"a","confidence_change":-0.25}],"unknowns":[{"id":"019ab000-0000-7000-8000-00000000000a","text":"why?"},{"text":" how? "}],"dead_ends":[{"approach":"a","why":"w"}],"mistakes":[{"text":"m","prevention":"p"},{"text":"1. n"}],"decisions":[{"text":"d","why":"w","alternatives":["x","y"]}],"evidence":[{"command":"cargo  test","exit":0},{"command":"false","exit":1}],"goals":[{"id":"019ab000-0000-7000-8000-00000000000a","text":"g","status":"done","priority":"low","evidence":"e"},{"id":"019ab000-0000-7000-8000-00000000000b","text":"h","status":"open","priority":"high","vector":"know"}],"context":"\ttab\r\nnext \u202e","next_steps":["  step  ","","- x"],"recommendations":["r"]"#;

    fn records(bodies: &[&str]) -> Vec<Record> {
        let record = |(n, body): (usize, &&str)| {
            let id = Id::at(1_700_000_000_000 + n as u64);
            let session = if n % 2 == 0 { "null" } else { r#""11111111-2222-4333-8444-555555555555""# };
            let head = format!(
                r#""session":{session},"ai":"ada\u001b[31m <b>","at":"2026-01-02T03:04:05.678Z","commit":null,"tree":null"#
            );
            decode(format!(r#"{{"v":1,"id":"{id}",{}}}"#, body.replacen('@', &head, 1)).as_bytes()).unwrap()
        };
        bodies.iter().enumerate().map(record).collect()
    }

    #[test]
    fn the_built_in_log_equals_its_template() {
        let handoffs = [
            r#""kind":"handoff",@,"type":"epistemic""#,
            WHOLE,
            r#""kind":"digest",@,"task":"t","upto":"019ab000-0000-7000-8000-00000000000a","findings":[{"text":"f\ng"}]"#,
            r#""kind":"digest",@,"task":"","upto":"019ab000-0000-7000-8000-00000000000a""#,
            r#""kind":"handoff",@,"type":"epistemic","task":"only","next_steps":[],"recommendations":["r","s"]"#,
        ];
        let checkpoints = [r#""kind":"assessment",@,"phase":"CHECK","round":2,"vectors":{"know":0.5}"#];
        let journal =
            [r#""kind":"finding",@,"text":"a\nb\n\nc \u0007""#, r#""kind":"dead_end",@,"approach":"x","why":"y""#];
        let commit = Commit {
            id: empirica_notes::git::parse_oid(&"1".repeat(40)).unwrap(),
            short: String::new(),
            parents: Vec::new(),
            author: "A".to_owned(),
            email: "a@b".to_owned(),
            date: String::new(),
            shown_date: "then".to_owned(),
            subject: "s".to_owned(),
            message: "s\n".to_owned(),
        };
        for which in 0..8 {
            let kept = |bit: usize, bodies: &[&str]| if which >> bit & 1 == 1 { records(bodies) } else { Vec::new() };
            let found = AnnotatedCommit {
                commit: commit.clone(),
                handoffs: kept(0, &handoffs),
                checkpoints: kept(1, &checkpoints),
                journal: kept(2, &journal),
            };
            let mut templates = Templates::built_in();
            let shown = templated(&found, &Terminal::new(&mut templates)).unwrap();
            let mut built = String::new();
            built_in(&found, &mut built);
            assert_eq!(built.trim_end(), shown.trim_end());
            assert!(which == 0 || !shown.trim().is_empty());
        }
    }
}
