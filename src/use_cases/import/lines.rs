//! Export and import of all stored lines, for backups and tests; an import takes all lines or none.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::context::stored::StoreReport;
use crate::render::counts;
use crate::render::counts::KindCount;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::format::export;
use empirica_notes::format::export::{ExportEntry, ExportLine};
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::Namespace;
use empirica_notes::store::{ExportItem, PendingRecord, Storage, Tombstones, has_allowed_secrets};

/// Number of invalid lines that an error quotes.
const LISTED: usize = 3;

#[derive(Debug, Default)]
pub struct ExportOutcome {
    pub lines: usize,
    pub warnings: Vec<String>,
}

/// Result of an import; it fails if the notes cannot be written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImportOutcome {
    /// Number of lines read, blank ones excluded: the sum of `new`, `known` and `left_out`.
    pub read: usize,
    /// Number of lines not stored before.
    pub new: usize,
    /// Number of lines already stored, or repeated in the input.
    pub known: usize,
    /// Number of lines whose IDs were redacted here.
    pub left_out: usize,
    /// New lines by kind, including kinds unknown to this version.
    #[serde(serialize_with = "counts::listed")]
    #[schemars(with = "Vec<KindCount>")]
    pub kinds: BTreeMap<Option<String>, usize>,
    /// Number of annotated commits that do not exist here.
    pub missing_commits: usize,
    /// Number of lines with secrets that a new record would not keep; they are stored unchanged. Null if
    /// `empirica.redact` is off.
    pub secrets: Option<usize>,
    /// Outcome of storing: warnings, remedies, replaced secrets.
    #[serde(skip)]
    pub stored: StoreReport,
}

/// Passes every stored line to `each`, as a line of JSON with LF, sorted: clones with the same records export the
/// same bytes.
pub fn export(context: &CommandContext<'_>, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<ExportOutcome> {
    let mut exported = ExportOutcome { lines: 0, warnings: context.store.reconcile() };
    let mut commit = (None, String::new());
    context.store.archive().export(&mut |out| {
        let (namespace, on, line) = match out {
            ExportItem::Tombstones(namespace, epoch) => {
                return each(&(export::encode_tombstones(namespace, &epoch) + "\n"));
            }
            ExportItem::Line(namespace, on, line) => (namespace, on, line),
        };
        if commit.0 != Some(on) {
            commit = (Some(on), on.to_string());
        }
        exported.lines += 1;
        each(&(export::encode(&commit.1, namespace, line) + "\n"))
    })?;
    Ok(exported)
}

/// Imports the lines of `input`, called `name` in errors. Stores nothing if a line is invalid. `progress` receives
/// the notes done and their total.
pub fn import(
    context: &CommandContext<'_>,
    input: &mut dyn BufRead,
    name: &str,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<ImportOutcome> {
    let (lines, epochs) = read(context, input, name)?;
    let read = lines.len();
    let mut missing: BTreeMap<Oid, bool> = BTreeMap::new();
    let empty = context.repo.empty_tree();
    for line in &lines {
        missing.entry(line.on).or_insert_with(|| line.on != empty && !context.repo.has_object(line.on));
    }
    let filter = context.store.secret_filter();
    let secrets = filter.is_enabled().then(|| lines.iter().filter(|line| filter.has_secret(&line.line)).count());
    let allowed = lines.iter().filter(|line| filter.is_enabled() && has_allowed_secrets(&line.line)).count();
    let imported = context.store.archive().import(lines, &epochs, progress)?;
    let new = imported.new.values().sum();
    let missing_commits = missing.into_values().filter(|missing| *missing).count();
    let mut stored = StoreReport { warnings: imported.warnings, ..Default::default() };
    if allowed > 0 {
        stored.warnings.push(format!("the next sync sends {allowed} of these lines with the secrets that they allow"));
    }
    stored.storage = (new > 0).then_some(Storage::GitNotes);
    Ok(ImportOutcome {
        read,
        new,
        known: imported.known,
        left_out: imported.left_out,
        kinds: imported.new,
        missing_commits,
        secrets,
        stored,
    })
}

/// Reads all lines, and redactions by namespace; an error quotes the first invalid lines.
fn read(
    context: &CommandContext<'_>,
    input: &mut dyn BufRead,
    name: &str,
) -> Result<(Vec<PendingRecord>, BTreeMap<Namespace, String>)> {
    let mut out = Vec::new();
    let mut epochs: BTreeMap<Namespace, String> = BTreeMap::new();
    let (mut wrong, mut first) = (Vec::new(), 0);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(|error| unread(name, error))? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let read = export::decode(&line).and_then(|read| match read {
            ExportEntry::Tombstones(namespace, epoch) => {
                // several redaction lines add up
                let tombstones = epochs.entry(namespace).or_default();
                *tombstones =
                    Tombstones::parse(tombstones.as_bytes()).united(&Tombstones::parse(epoch.as_bytes())).text();
                Ok(None)
            }
            ExportEntry::Line(line) => pending(context, line).map(Some),
        });
        match read {
            Ok(pending) => out.extend(pending),
            Err(what) => {
                first = if wrong.is_empty() { number } else { first };
                wrong.push(format!("line {number}: {what}"));
            }
        }
    }
    if wrong.is_empty() {
        return Ok((out, epochs));
    }
    let more = wrong.len().saturating_sub(LISTED);
    wrong.truncate(LISTED);
    if more > 0 {
        wrong.push(format!("{more} more are invalid"));
    }
    Err(Error::usage(format!("cannot import line {first} of {name}"))
        .reason(wrong.join("; "))
        .suggest(
            "Fix or remove these lines, then import again: nothing was stored. Lines have the format of export --jsonl.",
        )
        .command(empirica("export").flag("--jsonl")))
}

fn pending(context: &CommandContext<'_>, read: ExportLine) -> Result<PendingRecord, String> {
    let digits = context.repo.hex_len();
    let on = parse_oid(&read.commit).filter(|_| read.commit.len() == digits);
    let on = on.ok_or_else(|| format!("the commit is not {digits} hex digits, as object ids here"))?;
    let line = export::canonical(&read.line).unwrap_or(read.line);
    Ok(PendingRecord { namespace: read.namespace, on, line })
}

pub fn unread(name: &str, error: io::Error) -> Error {
    let out = Error::usage(format!("cannot read {name}"));
    match error.kind() {
        io::ErrorKind::PermissionDenied => out.about_path(std::path::Path::new(name), &error),
        _ => out.suggest("Name a file that export --jsonl wrote, or - for standard input."),
    }
    .caused_by(error)
}
