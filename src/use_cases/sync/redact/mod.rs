//! Redacts records: removes them from notes and their history, here and on remotes.

pub mod view;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::{CommandContext, active, names};
use crate::use_cases::sync::policy::destinations;
use crate::use_cases::sync::remote::RemoteSyncRun;
use empirica_notes::error::{Error, Kind, Result, empirica, quote, text};
use empirica_notes::format::redact::Attribution;
use empirica_notes::git::remotes;
use empirica_notes::git::remotes::transfer::TransferOptions;
use empirica_notes::git::remotes::{RemoteTarget, transfer};
use empirica_notes::model::{Body, Id, Namespace};
use empirica_notes::store::SyncPolicy;
use empirica_notes::store::{PREFIX, RedactedRecords, Scrubbed};

#[derive(Debug, Clone, Default)]
pub struct RedactRequest {
    /// Record IDs or unique parts of them; at least one.
    pub records: Vec<String>,
    /// The reason, which is stored.
    pub reason: Option<String>,
    /// Report only; change nothing.
    pub dry_run: bool,
    /// Whether to pass git's output to standard error.
    pub shown: bool,
}

#[derive(Debug, Default)]
pub struct RedactOutcome {
    pub redaction: RedactedRecords,
    /// Result per remote that notes are pushed to or fetched from; empty in a dry run.
    pub remotes: Vec<RemoteRedaction>,
    pub dry_run: bool,
    pub warnings: Vec<String>,
}

/// Result on a remote. Its notes are pushed back without the redacted records, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RedactedRemote")]
pub struct RemoteRedaction {
    /// Its name or URL.
    #[serde(rename = "remote")]
    pub name: String,
    /// The resulting state.
    pub state: RemoteState,
    /// Why it was not redacted or not contacted; null for other states.
    pub reason: Option<String>,
}

/// State of redacted records on a remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum RemoteState {
    /// The notes are there without the records.
    Redacted,
    /// No notes of this program.
    NoNotes,
    /// The records are still there, or the remote could not be contacted.
    NotRedacted,
    /// The remote could not be contacted, but is not known to have notes of this program.
    #[serde(rename = "not_asked")]
    Unreachable,
}

/// Refs cleaned of secrets outside records.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ScrubOutcome {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Rewritten refs. Each is a new commit on top of its state known on a remote, otherwise without parents.
    #[serde(rename = "scrubbed")]
    pub refs: Vec<Scrubbed>,
    /// What the user should know.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// Removes secrets outside records from local refs. Content already on a remote stays there.
pub fn scrub(context: &CommandContext<'_>, dry_run: bool) -> Result<ScrubOutcome> {
    let mut warnings = context.store.reconcile();
    let refs = context.store.redaction().scrub(dry_run, &mut warnings)?;
    Ok(ScrubOutcome { refs, dry_run, warnings })
}

/// Redacts records here, then on remotes. A remote that fails is reported and does not undo the local redaction:
/// repeat the command to retry.
pub fn run(context: &CommandContext<'_>, request: &RedactRequest) -> Result<RedactOutcome> {
    let mut outcome = RedactOutcome { dry_run: request.dry_run, ..Default::default() };
    outcome.warnings = context.store.reconcile();
    let ids = request.records.iter().map(|name| resolve(context, name)).collect::<Result<BTreeSet<Id>>>()?;
    context.optional("reason", request.reason.as_deref())?;
    let by = Attribution {
        ai: context.store.secret_filter().clean(&context.author(None)),
        at: context.store.now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        reason: request.reason.as_deref().map(|reason| context.store.secret_filter().clean(reason)),
    };
    let targets = targets(context)?;
    outcome.redaction = context.store.redaction().redact(&ids, &by, request.dry_run)?;
    outcome.warnings.append(&mut outcome.redaction.warnings);
    if request.dry_run {
        return Ok(outcome);
    }
    active::forget_redacted(context);
    for (target, is_known) in targets {
        let remote = publish(context, &target, is_known, request, &mut outcome.warnings);
        outcome.remotes.push(remote);
    }
    // tracking refs of remotes no longer configured
    context.store.redaction().forget_tracking("")?;
    context.store.redaction().forget_traces(&mut outcome.warnings);
    Ok(outcome)
}

/// Finds a record by its ID; one that cannot be decoded needs the whole ID.
fn resolve(context: &CommandContext<'_>, name: &str) -> Result<Id> {
    let found = context.record(name, "record", &Namespace::ALL, |_| true);
    let record = match found.or_else(|error| names::retracted(context, name, error)) {
        Ok(record) => record,
        Err(error) => {
            let whole = Id::parse(name.trim()).filter(|_| error.kind() == Kind::NotFound);
            let is_stored = |id: &Id| {
                let found =
                    context.store.redaction().redact(&BTreeSet::from([id.clone()]), &Attribution::default(), true);
                found.is_ok_and(|found| found.gone.len() + found.already_redacted.len() > 0)
            };
            return whole.filter(is_stored).ok_or(error);
        }
    };
    match record.body {
        Body::Retract(retract) => Err(Error::refused(format!("cannot redact '{name}': it retracts a claim"))
            .provided(name)
            .reason("without it, the claim would hold again")
            .suggest(text![
                "Redact the claim, or remove a secret in the reason with ",
                empirica("redact").flag("--secrets"),
                "."
            ])
            .command(empirica("redact").arg(retract.of.first().map_or(name, |id| id.short())))),
        Body::Attach(_) | Body::Supersede(_) | Body::Confirm(_) => {
            Err(Error::refused(format!("cannot redact '{name}': it holds no text"))
                .provided(name)
                .reason(format!("a record of the kind {} only names other records", record.body.kind()))
                .suggest("Redact the record with the text to remove.")
                .command(empirica("show").arg(record.envelope.id.as_str())))
        }
        _ => Ok(record.envelope.id),
    }
}

/// All remotes, one per push URL, each with whether our notes are pushed there or were fetched from there.
fn targets(context: &CommandContext<'_>) -> Result<Vec<(RemoteTarget, bool)>> {
    let repo = context.repo;
    let mut names = destinations(repo);
    let known = names.len();
    names.extend(remotes::names(repo).into_iter().filter(|name| !destinations(repo).contains(name)));
    let mut out = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let pushed = repo.config_all(&format!("remote.{name}.pushurl"));
        let urls = if pushed.is_empty() { repo.config_all(&format!("remote.{name}.url")) } else { pushed };
        let targets = match urls.len() {
            0 | 1 => vec![remotes::target(repo, name)?],
            _ => urls
                .iter()
                .map(|url| RemoteTarget { name: url.clone(), ..remotes::push_target(repo, name, url) })
                .collect(),
        };
        for target in targets {
            let below = format!("{PREFIX}remotes/{}/", target.tracking);
            let is_known = at < known || !repo.list_refs(&below)?.is_empty();
            out.push((target, is_known));
        }
    }
    Ok(out)
}

/// Removes redacted records from a remote's refs, and merges the rest here; pushes nothing else.
fn publish(
    context: &CommandContext<'_>,
    target: &RemoteTarget,
    is_known: bool,
    request: &RedactRequest,
    warnings: &mut Vec<String>,
) -> RemoteRedaction {
    let name = context.store.secret_filter().clean(&target.name);
    let result = |state, reason: Option<String>| RemoteRedaction { name: name.clone(), state, reason };
    let mut redact = || -> Result<RemoteRedaction> {
        let policy = SyncPolicy::configured(context.repo)?;
        let options = TransferOptions { shown: request.shown, ..Default::default() };
        let sync = RemoteSyncRun { only_redactions: true, ..RemoteSyncRun::new(context, target, options, policy) };
        match sync.dry_run(&mut Vec::new()) {
            Ok(seen) if seen.first => return Ok(result(RemoteState::NoNotes, None)),
            Err(error) if !is_known => return Ok(result(RemoteState::Unreachable, Some(error.in_one_line()))),
            other => drop(other?),
        }
        let synced = sync.run(warnings, &mut |_| {})?;
        let copied = transfer::listed(context.repo, target, &sync.options, &format!("{PREFIX}remotes/"))?;
        if !copied.is_empty() {
            // other clones clean up with their next command; copies of a mirror push remain on the server
            let refs = copied.iter().map(|name| quote(name)).collect::<Vec<_>>().join(" ");
            warnings.push(format!(
                "{name} has tracking refs that may reach the redacted records. If it is a clone, they are its own; if a push of all refs created them, remove them: git push {} --delete {refs}",
                quote(&name)
            ));
        }
        Ok(match synced.unredacted.first() {
            None => result(RemoteState::Redacted, None),
            Some(name) if !policy.allows(name) => {
                result(RemoteState::NotRedacted, Some(format!("empirica.sync keeps {name} in this repository")))
            }
            Some(name) => result(RemoteState::NotRedacted, Some(format!("{name} is unchanged there"))),
        })
    };
    redact().unwrap_or_else(|error| result(RemoteState::NotRedacted, Some(error.in_one_line())))
}
