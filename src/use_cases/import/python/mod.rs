//! Import from the Python tool: converts its notes to records on the commits they annotate, and leaves the notes
//! unchanged.

pub mod convert;
mod nearest;
mod originals;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::context::stored::StoreReport;
use crate::render::counts;
use crate::render::counts::KindCount;
use crate::use_cases::import::python::convert::draft::{ConvertedLine, Original};
use crate::use_cases::import::python::convert::{PREFIXES, Unreadable};
use crate::use_cases::import::python::nearest::Nearest;
use crate::use_cases::import::python::originals::{NewRecord, Originals};
use empirica_notes::error::Result;
use empirica_notes::git::notes::foreign;
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::{Body, Namespace, SessionId};
use empirica_notes::store::{PendingRecord, Storage};
use empirica_secrets::Replaced;

/// Refs of the Python tool's hooks, without content of agents.
const HOOK_REFS: [&str; 2] = ["refs/notes/breadcrumbs", "refs/notes/empirica-precompact"];

/// An item whose commit is missing here, and its substitute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "MovedOriginal")]
pub struct MovedNote {
    /// Its ref.
    #[serde(rename = "ref")]
    pub name: String,
    /// The commit it annotates.
    pub commit: String,
    /// The substitute commit; null while HEAD is unborn.
    pub to: Option<String>,
}

/// Result of an import from the Python tool.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct PythonOutcome {
    /// Whether this was a dry run.
    pub dry_run: bool,
    /// Number of refs of the Python tool.
    pub refs: usize,
    /// Number of payloads in them.
    pub originals: usize,
    /// Number of payloads converted.
    pub read: usize,
    /// Number of new records; copies and attachments do not count, here and below.
    pub new: usize,
    /// Number of records already stored.
    pub known: usize,
    /// Number of records redacted here.
    pub left_out: usize,
    /// The new records by kind.
    #[serde(serialize_with = "counts::listed")]
    #[schemars(with = "Vec<KindCount>")]
    pub kinds: BTreeMap<Option<String>, usize>,
    /// Converted payloads by ref folder.
    #[serde(serialize_with = "counts::listed")]
    #[schemars(with = "Vec<KindCount>")]
    pub from: BTreeMap<String, usize>,
    /// Number of sessions they belong to.
    pub sessions: usize,
    /// Items whose commits are missing here.
    pub moved: Vec<MovedNote>,
    /// Payloads that cannot be converted; they stay in the notes.
    pub not_understood: Vec<Unreadable>,
    /// Number of secrets replaced in new and known records; null if `empirica.redact` is off.
    #[serde(rename = "secrets_replaced")]
    pub secrets: Option<usize>,
    /// Outcome of storing: warnings, remedies, replaced secrets.
    #[serde(skip)]
    pub stored: StoreReport,
}

/// Imports. `progress` receives the refs read, then the notes written, and their totals.
pub fn run(
    context: &CommandContext<'_>,
    dry_run: bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<PythonOutcome> {
    let mut outcome = PythonOutcome { dry_run, ..Default::default() };
    let originals = read(context, &mut outcome, progress)?;
    outcome.originals = originals.len();
    let converted = convert::convert(&originals);
    outcome.from = converted.from;
    outcome.read = outcome.from.values().sum();
    outcome.sessions = converted.sessions;
    outcome.not_understood.extend(converted.refused);
    outcome.not_understood.sort();
    if !dry_run && !converted.lines.is_empty() {
        outcome.stored.warnings = context.store.reconcile();
    }
    let stored = Originals { store: &context.store };
    let mut redacted = Vec::new();
    let mut new = Vec::new();
    let native = native(context)?;
    let is_bound = |body: &Body| matches!(body, Body::SessionStart(_) | Body::SessionEnd(_));
    for line in &converted.lines {
        let Some(on) = line.envelope.commit.as_deref().and_then(parse_oid) else { continue };
        // starts and ends of our own sessions come from our own records
        if is_bound(&line.body) && line.envelope.session.as_ref().is_some_and(|session| native.contains(session)) {
            continue;
        }
        let namespace = line.body.namespace().unwrap_or(Namespace::Journal);
        let encoded = stored.foreign_line(&line.envelope, &line.body, line.foreign.clone(), &mut redacted)?;
        new.push(NewRecord { line: line.clone(), pending: PendingRecord { namespace, on, line: encoded } });
    }
    let survey = stored.survey(new, &mut redacted)?;
    outcome.new = survey.new.values().sum();
    (outcome.kinds, outcome.known, outcome.left_out) = (survey.new, survey.known, survey.left_out);
    outcome.secrets = context.store.secret_filter().is_enabled().then_some(redacted.len());
    if outcome.new > 0 {
        report_secrets(&redacted, &mut outcome.stored);
    }
    let mut pending = survey.pending;
    let copies = copies(context, &stored, &converted.lines, &pending, &mut outcome)?;
    pending.extend(copies);
    if !dry_run && !pending.is_empty() {
        let imported = context.store.archive().import(pending, &BTreeMap::new(), progress)?;
        outcome.stored.warnings.extend(imported.warnings);
        outcome.stored.storage = (outcome.new > 0).then_some(Storage::GitNotes);
    }
    Ok(outcome)
}

/// Sessions not created by an import.
fn native(context: &CommandContext<'_>) -> Result<BTreeSet<SessionId>> {
    let journal = context.store.reader().scan(Namespace::Journal)?;
    let native = journal.records().filter(|record| match &record.body {
        Body::SessionStart(start) => start.worktree != convert::PLACE,
        _ => false,
    });
    Ok(native.filter_map(|record| record.envelope.session.clone()).collect())
}

/// Reads all payloads of the Python tool; warns of refs without any.
fn read(
    context: &CommandContext<'_>,
    outcome: &mut PythonOutcome,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Original>> {
    let mut refs = Vec::new();
    for prefix in PREFIXES {
        refs.extend(context.repo.list_refs(prefix)?.into_iter().filter(|(name, _)| !convert::is_ours(name)));
    }
    let mut out = Vec::new();
    outcome.refs = refs.len();
    for (at, (name, tip)) in refs.iter().enumerate() {
        let found = foreign::read(context.repo, *tip)?;
        let mut refuse = |reason: &str| {
            outcome.not_understood.push(Unreadable { name: name.clone(), reason: reason.to_owned() });
        };
        match (found.readable, found.notes.is_empty()) {
            (false, _) => refuse("cannot read its notes"),
            (true, true) => refuse("its tree holds no note"),
            _ => {}
        }
        for (on, content) in found.notes {
            match content {
                Some(content) => {
                    let (name, commit) = (name.clone(), on.to_string());
                    out.push(Original { name, commit, seconds: found.seconds, content });
                }
                None => refuse("the content of its note is not here"),
            }
        }
        progress(at + 1, refs.len());
    }
    for name in HOOK_REFS {
        if context.repo.find_ref(name)?.is_some() {
            let reason = "it holds only data of the Python tool's hooks".to_owned();
            outcome.not_understood.push(Unreadable { name: name.to_owned(), reason });
        }
    }
    Ok(out)
}

/// Copies of items whose commits are missing, on a substitute commit; lists the moves.
fn copies(
    context: &CommandContext<'_>,
    stored: &Originals<'_>,
    lines: &[ConvertedLine],
    records: &[PendingRecord],
    outcome: &mut PythonOutcome,
) -> Result<Vec<PendingRecord>> {
    let mut missing: BTreeMap<Oid, Vec<&PendingRecord>> = BTreeMap::new();
    for pending in records.iter().filter(|pending| !context.repo.has_object(pending.on)) {
        missing.entry(pending.on).or_default().push(pending);
    }
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let nearest = Nearest::new(context, lines, missing.keys().copied())?;
    let mut places = BTreeMap::new();
    let mut out = Vec::new();
    for (from, pending) in missing {
        let attached = stored.attached_from(from)?;
        let to = attached.values().next().copied().or_else(|| nearest.to(from));
        places.insert(from, to);
        let Some(to) = to else { continue };
        let is_new = |pending: &&PendingRecord| {
            let id = empirica_notes::format::lines::id(&pending.line);
            id.is_none_or(|id| attached.keys().all(|other| other.as_str() != id))
        };
        let new: Vec<&PendingRecord> = pending.into_iter().filter(is_new).collect();
        out.extend(stored.copies(&new, to)?);
    }
    let mut moved = BTreeSet::new();
    for line in lines {
        let commit = line.envelope.commit.as_deref().and_then(parse_oid);
        let name = line.foreign.get("ref").and_then(serde_json::Value::as_str);
        if let (Some(commit), Some(name)) = (commit, name)
            && let Some(to) = places.get(&commit)
        {
            let (name, commit) = (name.to_owned(), commit.to_string());
            moved.insert(MovedNote { name, commit, to: to.map(|to| to.to_string()) });
        }
    }
    outcome.moved = moved.into_iter().collect();
    Ok(out)
}

/// Reports replaced secrets, each field and rule once.
fn report_secrets(redacted: &[Replaced], stored: &mut StoreReport) {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for replaced in redacted {
        let count = counts.entry((&replaced.field, replaced.rule)).or_default();
        *count += 1;
        if *count == 1 {
            stored.redacted.push(replaced.clone());
        }
    }
    for ((field, rule), count) in counts {
        let what = if count == 1 { "a secret was".to_owned() } else { format!("{count} secrets were") };
        stored.warnings.push(format!("{field}: {what} replaced by [redacted:{rule}]; if it was real, change it"));
    }
}
