//! Redact: records leave the notes and their history here, and on the remotes that have them.

pub mod view;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::{CommandContext, active, names};
use crate::sync::policy::{SyncPolicy, destinations};
use crate::sync::remote::Sync;
use empirica_notes::error::{Error, Kind, Result, empirica, quote};
use empirica_notes::format::redact::By;
use empirica_notes::git::remotes;
use empirica_notes::git::remotes::transfer::TransferOptions;
use empirica_notes::git::remotes::{RemotePlace, transfer};
use empirica_notes::model::{Body, Id, Namespace};
use empirica_notes::store::{PREFIX, Redaction, Scrubbed};

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct RedactRequest {
    /// The records, by their ids or unique parts of them; one at least.
    pub records: Vec<String>,
    /// Why: it is stored.
    pub reason: Option<String>,
    /// Tell what would be redacted and change nothing.
    pub dry_run: bool,
    /// Whether git's own words go to standard error.
    pub shown: bool,
}

/// What was done.
#[derive(Debug, Default)]
pub struct RedactOutcome {
    /// Here.
    pub here: Redaction,
    /// On each remote that notes go to or came from; none in a dry run.
    pub remotes: Vec<RemoteRedaction>,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// What became of what was redacted on a remote. It gets its own notes back without that, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RedactedRemote")]
pub struct RemoteRedaction {
    /// Its name or URL.
    #[serde(rename = "remote")]
    pub name: String,
    /// What became of it.
    pub state: RemoteState,
    /// Why it was not redacted, or not asked; null for the other states.
    pub reason: Option<String>,
}

/// Whether a remote still has what was redacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum RemoteState {
    /// It has the notes, without it.
    Redacted,
    /// It has no notes of this program.
    NoNotes,
    /// It still has it, or could not be asked.
    NotRedacted,
    /// It could not be asked, and no notes of this program are known to be there.
    NotAsked,
}

/// The refs from which secrets were taken that are in no record, or would be.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ScrubOutcome {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The refs. Each is a new commit on top of what a remote is known to have of it, else without parents.
    #[serde(rename = "scrubbed")]
    pub refs: Vec<Scrubbed>,
    /// What the user should know.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// Takes secrets out of what is no record, here. What a remote has already stays there.
pub fn scrub(context: &CommandContext<'_>, dry_run: bool) -> Result<ScrubOutcome> {
    let mut warnings = context.store.reconcile();
    let refs = context.store.scrub(dry_run, &mut warnings)?;
    Ok(ScrubOutcome { refs, dry_run, warnings })
}

/// Redacts records here, then on the remotes. A remote that does not take it is told, and does not undo what was done here: the
/// same command tries again.
pub fn run(context: &CommandContext<'_>, request: &RedactRequest) -> Result<RedactOutcome> {
    let mut outcome = RedactOutcome { dry_run: request.dry_run, ..Default::default() };
    outcome.warnings = context.store.reconcile();
    let ids = request.records.iter().map(|given| resolve(context, given)).collect::<Result<BTreeSet<Id>>>()?;
    context.optional("reason", request.reason.as_deref())?;
    let by = By {
        ai: context.store.without_secrets(&context.author(None)),
        at: context.store.now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        reason: request.reason.as_deref().map(|reason| context.store.without_secrets(reason)),
    };
    let places = places(context)?;
    outcome.here = context.store.redact(&ids, &by, request.dry_run)?;
    outcome.warnings.append(&mut outcome.here.warnings);
    if request.dry_run {
        return Ok(outcome);
    }
    active::forget_redacted(context);
    for (place, is_known) in places {
        let remote = publish(context, &place, is_known, request, &mut outcome.warnings);
        outcome.remotes.push(remote);
    }
    // what was fetched under a name that no remote has any more
    context.store.forget_tracking("")?;
    context.store.forget_traces(&mut outcome.warnings);
    Ok(outcome)
}

/// A record by its id; one that is not understood by its whole id.
fn resolve(context: &CommandContext<'_>, given: &str) -> Result<Id> {
    let found = context.record(given, "record", &Namespace::ALL, |_| true);
    let record = match found.or_else(|error| names::retracted(context, given, error)) {
        Ok(record) => record,
        Err(error) => {
            let whole = Id::parse(given.trim()).filter(|_| error.kind() == Kind::NotFound);
            let is_stored = |id: &Id| {
                let looked = context.store.redact(&BTreeSet::from([id.clone()]), &By::default(), true);
                looked.is_ok_and(|looked| looked.gone.len() + looked.before.len() > 0)
            };
            return whole.filter(is_stored).ok_or(error);
        }
    };
    match record.body {
        Body::Attach(_) | Body::Supersede(_) => Err(Error::refused(format!("'{given}' holds no text"))
            .provided(given)
            .reason(format!("a record of the kind {} only names others", record.body.kind()))
            .suggest("Redact the record that says what is to be gone.")
            .command(empirica("show").arg(record.head.id.as_str()))),
        _ => Ok(record.head.id),
    }
}

/// All remotes, each with whether notes of ours go there or something was fetched from there; each of several URLs to push to.
fn places(context: &CommandContext<'_>) -> Result<Vec<(RemotePlace, bool)>> {
    let repo = context.repo;
    let mut names = destinations(repo);
    let known = names.len();
    names.extend(remotes::names(repo).into_iter().filter(|name| !destinations(repo).contains(name)));
    let mut out = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let pushed = repo.config_all(&format!("remote.{name}.pushurl"));
        let urls = if pushed.is_empty() { repo.config_all(&format!("remote.{name}.url")) } else { pushed };
        let places = match urls.len() {
            0 | 1 => vec![remotes::place(repo, name)?],
            _ => urls
                .iter()
                .map(|url| RemotePlace { name: url.clone(), ..remotes::pushed_to(repo, name, url) })
                .collect(),
        };
        for place in places {
            let below = format!("{PREFIX}remotes/{}/", place.tracking);
            let is_known = at < known || !repo.list_refs(&below)?.is_empty();
            out.push((place, is_known));
        }
    }
    Ok(out)
}

/// Redacts on a remote what it has of ours, and takes in what it has; nothing else leaves.
fn publish(
    context: &CommandContext<'_>,
    place: &RemotePlace,
    is_known: bool,
    request: &RedactRequest,
    warnings: &mut Vec<String>,
) -> RemoteRedaction {
    let name = context.store.without_secrets(&place.name);
    let told = |state, reason: Option<String>| RemoteRedaction { name: name.clone(), state, reason };
    let mut exchange = || -> Result<RemoteRedaction> {
        let leaves = SyncPolicy::configured(context.repo)?;
        let manner = TransferOptions { shown: request.shown, ..Default::default() };
        let exchange =
            Sync { store: &context.store, place, manner, leaves, allow_secret: false, redactions_alone: true };
        match exchange.dry_run(&mut Vec::new()) {
            Ok(seen) if seen.first => return Ok(told(RemoteState::NoNotes, None)),
            Err(error) if !is_known => return Ok(told(RemoteState::NotAsked, Some(error.in_one_line()))),
            other => drop(other?),
        }
        let synced = exchange.run(warnings, &mut |_| {})?;
        let copied = transfer::listed(context.repo, place, &exchange.manner, &format!("{PREFIX}remotes/"))?;
        if !copied.is_empty() {
            // another clone tidies up with its next command; what a mirror push took to a server stays there
            let refs = copied.iter().map(|name| quote(name)).collect::<Vec<_>>().join(" ");
            warnings.push(format!(
                "{name} has tracking refs, which may lead to it: of its own, when it is somebody's clone; else a push of all refs took them there, and they are removed by: git push {} --delete {refs}",
                quote(&name)
            ));
        }
        Ok(match synced.unredacted.first() {
            None => told(RemoteState::Redacted, None),
            Some(name) if !leaves.may(name) => {
                told(RemoteState::NotRedacted, Some(format!("empirica.sync lets {name} not leave this repository")))
            }
            Some(name) => told(RemoteState::NotRedacted, Some(format!("{name} is there as it was"))),
        })
    };
    let outcome = exchange();
    outcome.unwrap_or_else(|error| told(RemoteState::NotRedacted, Some(error.in_one_line())))
}
