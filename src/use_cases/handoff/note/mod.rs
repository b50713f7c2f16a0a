//! The Markdown in notes: rendered with the built-in templates to the same bytes in every clone.

pub mod lists;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::render::template::Templates;
use crate::render::{fill, format, safe};
use crate::text::width::measure;
use crate::use_cases::handoff::note::lists::NoteLists;
use crate::use_cases::handoff::view::markdown;
use empirica_notes::error::Result;
use empirica_notes::format::blocks::{REVISIONS, footer};
use empirica_notes::model::handoff::substance::Substance;
use empirica_notes::model::handoff::superseded::replacements;
use empirica_notes::model::{Body, Digest, Envelope, Handoff, Id, Record};
use empirica_notes::store::Render;

/// The size of a block.
const LINES: usize = 12;
const COLUMNS: usize = 100;
/// The fixed lines of a block: heading, command, blank line, footer.
const FRAME: usize = 4;
/// Most columns of the agent's name in a heading, and fewest of the task.
const PART: usize = 20;
const TITLE: usize = 20;

/// Renders with the built-in templates.
pub struct BuiltIn;

impl Render for BuiltIn {
    fn blocks(&self, records: &[Record], left: &BTreeSet<Id>, whole: bool) -> Result<Vec<String>> {
        let mut templates = Templates::built_in();
        let mut sessions: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
        let mut out = Vec::new();
        for record in records {
            let id = &record.envelope.id;
            match &record.body {
                Body::Handoff(_) | Body::Digest(_) => {
                    let of = record.envelope.session.as_ref().map_or(id.as_str(), |session| session.as_str());
                    sessions.entry(of).or_default().push(record);
                }
                Body::Redacted(redacted) if matches!(redacted.was.as_str(), "handoff" | "digest") => {
                    let data = json!({
                        "what": format::words(&redacted.was),
                        "of": id.short(),
                        "by": redacted.redacted_by,
                        "at": redacted.redacted_at,
                        "reason": redacted.reason,
                        "footer": footer(id, REVISIONS),
                    });
                    out.push(templates.render("redacted.md", data)?.trim_end().to_owned());
                }
                _ => {}
            }
        }
        let newer = replacements(records);
        let retracts = records.iter().filter(|record| matches!(record.body, Body::Retract(_))).count();
        for records in sessions.values() {
            out.push(block(&mut templates, records, left, &newer, retracts, whole)?);
        }
        Ok(out)
    }

    fn report(&self, record: &Record) -> Result<String> {
        markdown(&mut Templates::built_in(), record)
    }
}

/// The block of a session: its newest handoff with the most substance and later digests, or only digests; `retracts` is the
/// number of those in the note.
fn block(
    templates: &mut Templates,
    records: &[&Record],
    left: &BTreeSet<Id>,
    newer: &BTreeMap<&Id, &Id>,
    retracts: usize,
    whole: bool,
) -> Result<String> {
    let present = || records.iter().copied().filter(|record| !left.contains(&record.envelope.id));
    let handoffs = present().filter_map(|record| match &record.body {
        Body::Handoff(handoff) => Some((record, handoff.as_ref())),
        _ => None,
    });
    let handoff = handoffs.max_by_key(|(record, handoff)| (Substance::of(handoff), &record.envelope.id));
    let digests = present().filter_map(|record| match &record.body {
        Body::Digest(digest) => Some((record, digest.as_ref())),
        _ => None,
    });
    let mut digests: Vec<(&Record, &Digest)> =
        digests.filter(|(record, _)| handoff.is_none_or(|(by, _)| record.envelope.id > by.envelope.id)).collect();
    let shown = handoff.map(|(record, _)| record).or(digests.last().map(|(record, _)| *record));
    let Some(record) = shown.or(records.last().copied()) else { return Ok(String::new()) };
    let id = &record.envelope.id;
    let superseded = newer.get(id);
    let task = handoff.map(|(_, handoff)| &handoff.task).or(digests.last().map(|(_, digest)| &digest.task));
    let title = match (task, handoff) {
        (None, _) => "On the next commit",
        (Some(task), _) if !task.trim().is_empty() => task,
        (_, Some(_)) => "Handoff",
        _ => "Digest",
    };
    let part = |text: &str| fill::one_line(&safe::words(text), PART);
    let mut origin = vec![part(&record.envelope.ai)];
    match (superseded, handoff) {
        (Some(by), _) => origin.push(format!("superseded by {}", by.short())),
        (None, Some((_, handoff))) => {
            let kind = handoff.payload.as_ref().map(|_| handoff.kind.replace('_', " "));
            let to = handoff.to.as_ref().map(|to| format!("for {to}"));
            let what: Vec<String> = kind.into_iter().chain(to).collect();
            origin.extend((!what.is_empty()).then(|| part(&what.join(" "))));
        }
        (None, None) => {}
    }
    let also = others(records, left, newer, record);
    let session = record.envelope.session.as_ref();
    let end = session.map(|session| format!(", session {}", session.short())).unwrap_or_default();
    let origin = format!("({}, ", origin.join(", "));
    // the newest digests whose IDs fit in the heading
    let room = COLUMNS.saturating_sub(TITLE + measure(&origin) + end.len()) / (id.short().len() + 1);
    let most = room.max(1) - usize::from(handoff.is_some() && room > 1);
    digests.drain(..digests.len().saturating_sub(most));
    let mut ids = vec![id.short()];
    ids.extend(digests.iter().map(|(record, _)| record.envelope.id.short()).filter(|short| *short != id.short()));
    let origin = format!("{origin}{}{end})", ids.join(" "));
    let title = fill::one_line(&safe::words(title), COLUMNS.saturating_sub(measure(&origin) + 3));
    let show = session.filter(|_| ids.len() > 1 || !also.is_empty()).map_or(id.short(), |session| session.short());
    let digests: Vec<&Digest> = digests.iter().map(|(_, digest)| *digest).collect();
    // a block rendered from more records is newer
    let inputs = |record: &&Record| {
        1 + usize::from(left.contains(&record.envelope.id)) + usize::from(newer.contains_key(&record.envelope.id))
    };
    let renderer = REVISIONS + (retracts + records.iter().map(inputs).sum::<usize>()).min(99) as u32;
    let (most, columns) = if whole { (usize::MAX, usize::MAX) } else { (LINES - FRAME, COLUMNS) };
    // without the commit, which has the note
    let unplaced = |record: &Record| Record {
        envelope: Envelope { commit: None, ..record.envelope.clone() },
        body: record.body.clone(),
    };
    let report = handoff.filter(|_| whole).map(|(record, _)| markdown(templates, &unplaced(record))).transpose()?;
    let report = report.as_ref().and_then(|report| report.split_once('\n')).map(|(_, below)| below.trim_end());
    // without duplicates of the report
    let lists = NoteLists::of(handoff.map(|(_, handoff)| handoff).filter(|_| report.is_none()), &digests);
    let lists = if superseded.is_some() { lists.superseded() } else { lists };
    let lists = if whole { lists } else { lists.newest_first() };
    let also = Some(("Also", also.as_slice())).filter(|(_, also)| !also.is_empty());
    let data = json!({
        "title": title,
        "who": origin,
        "report": report,
        "lines": fill::lists(&lists.all().chain(also).collect::<Vec<_>>(), most, columns),
        "show": show,
        "elsewhere": shown.is_none(),
        "footer": footer(id, renderer),
    });
    Ok(templates.render("note.md", data)?.trim_end().to_owned())
}

/// The handoffs of a session in force for other stages of tasks than `shown`, newest first: the task, its receiver and its id.
fn others(records: &[&Record], left: &BTreeSet<Id>, newer: &BTreeMap<&Id, &Id>, shown: &Record) -> Vec<String> {
    let Body::Handoff(own) = &shown.body else { return Vec::new() };
    let stage = |handoff: &Handoff| (handoff.task_id.clone(), handoff.continues.clone());
    let mut seen = BTreeSet::from([stage(own)]);
    let mut out = Vec::new();
    for record in records.iter().rev().filter(|record| !left.contains(&record.envelope.id)) {
        let (Body::Handoff(handoff), id) = (&record.body, &record.envelope.id) else { continue };
        if handoff.kind == "epistemic" && !newer.contains_key(id) && seen.insert(stage(handoff)) {
            let to = handoff.to.as_ref().map(|to| format!(" for {to}")).unwrap_or_default();
            let task = if handoff.task.trim().is_empty() { "an earlier handoff" } else { &handoff.task };
            out.push(format!("{task}{to} ({})", id.short()));
        }
    }
    out
}
