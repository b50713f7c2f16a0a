//! Sync: fetch, merge, push what the policy allows; repeat if the remote changed meanwhile.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::{CommandContext, active, tasks};
use crate::use_cases::meaning;
use crate::use_cases::sync::exchange::RemoteSync;
use crate::use_cases::sync::policy::destinations;
use crate::use_cases::sync::{before_push, flush, quoted};
use empirica_notes::error::{Error, Result, blank, empirica, text};
use empirica_notes::git::remotes::RemoteTarget;
use empirica_notes::git::remotes::transfer::TransferOptions;
use empirica_notes::git::{Repository, remotes};
use empirica_notes::store::SyncPolicy;

pub use crate::use_cases::sync::before_push::{BeforePush, before_push};
pub(crate) use crate::use_cases::sync::remote::{RemoteSyncRun, TransferByRef};

#[derive(Debug, Clone, Default)]
pub struct SyncRequest {
    /// A remote name or URL; `None`: as configured.
    pub remote: Option<String>,
    /// Fetch tracking refs and report what would be transferred; change nothing else and push nothing.
    pub dry_run: bool,
    /// Whether to push records with secrets.
    pub allow_secret: bool,
    /// Whether to pass git's output, with progress, to standard error.
    pub shown: bool,
    /// Whether to fail instead of prompting for a password.
    pub unattended: bool,
}

/// Result of a sync; in a dry run, what would be transferred, including pending records.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct SyncOutcome {
    /// Whether this was a dry run: only tracking refs were fetched.
    pub dry_run: bool,
    /// The remotes, in the given order.
    pub remotes: Vec<RemoteSync>,
    /// What the user should know.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// Syncs with a remote, or with all configured ones. `say` gets notices before anything is pushed.
pub fn run(context: &CommandContext<'_>, request: &SyncRequest, say: &mut dyn FnMut(&str)) -> Result<SyncOutcome> {
    let store = &context.store;
    let policy = SyncPolicy::configured(context.repo)?;
    let names = request.remote.clone().map_or_else(|| destinations(context.repo), |name| vec![name]);
    if names.is_empty() {
        return Err(no_remote(context.repo));
    }
    let targets =
        names.iter().map(|name| remotes::target(context.repo, name)).collect::<Result<Vec<RemoteTarget>>>()?;
    let mut outcome = SyncOutcome { dry_run: request.dry_run, ..Default::default() };
    let mut fetched = vec![TransferByRef::new(); targets.len()];
    let mut unwritten = None;
    if !request.dry_run {
        // before it is united; what cannot be read is told then
        let not_united = |target: &RemoteTarget| store.remotes().not_united(&target.tracking).unwrap_or_default();
        fetched = targets.iter().map(not_united).collect();
        outcome.warnings = store.reconcile();
        unwritten = flush::write_pending(store, &mut outcome.warnings);
    }
    if policy == SyncPolicy::Nothing {
        outcome.warnings.push("empirica.sync is off: notes were fetched, and nothing is pushed".to_owned());
    }
    let mut failed = None;
    for (mut target, fetched) in targets.into_iter().zip(fetched) {
        target.name = empirica_secrets::redact_text(&target.name).map_or(target.name, |(name, _)| name);
        let options = TransferOptions {
            shown: request.shown,
            in_hook: request.unattended,
            plain_ssh: request.unattended && before_push::has_plain_ssh(context),
            ..Default::default()
        };
        let sync = RemoteSyncRun {
            allow_secret: request.allow_secret,
            fetched,
            ..RemoteSyncRun::new(context, &target, options, policy)
        };
        let synced =
            if request.dry_run { sync.dry_run(&mut outcome.warnings) } else { sync.run(&mut outcome.warnings, say) };
        match synced {
            Ok(synced) => outcome.remotes.push(synced),
            // continue with the other remotes
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    if !request.dry_run {
        outcome.warnings.extend(store.reconcile());
        let told = outcome.warnings.clone();
        if outcome.remotes.iter().any(|remote| remote.incoming.records > 0) {
            quoted::complete(context)?;
            let lost = tasks::inbox::lost(context, &active::load(context)?)?;
            outcome.warnings.extend(lost.into_iter().filter(|text| !told.contains(text)));
        }
        meaning::update_in_background(context);
    }
    let unsent = |error: Error| {
        Error::storage("cannot sync all records: some are not in the notes yet")
            .reason(error.with_reason())
            .suggest("What is in the notes was synced. Fix the cause, then sync again.")
            .commands_of(error.commands().to_vec())
            .caused_by(error)
    };
    failed.or(unwritten.map(unsent)).map_or(Ok(outcome), Err)
}

/// Fetches from remotes and merges, without pushing. `empirica.syncTimeout` and `most` limit each; never prompts.
pub fn receive(
    context: &CommandContext<'_>,
    names: Vec<String>,
    most: Duration,
    warnings: &mut Vec<String>,
) -> Vec<(String, Result<RemoteSync>)> {
    let time = before_push::time_limit(context.repo, warnings).min(most);
    let mut fetch = |name: &str, shown: &str| {
        let target = RemoteTarget { name: shown.to_owned(), ..remotes::target(context.repo, name)? };
        let deadline = Some(Instant::now() + time);
        let options =
            TransferOptions { in_hook: true, plain_ssh: before_push::has_plain_ssh(context), shown: false, deadline };
        RemoteSyncRun::new(context, &target, options, SyncPolicy::Nothing).run(warnings, &mut |_| {})
    };
    let named = names.into_iter().map(|name| {
        let shown = empirica_secrets::redact_text(&name).map_or_else(|| name.clone(), |(shown, _)| shown);
        let received = fetch(&name, &shown);
        (shown, received)
    });
    named.collect()
}

fn no_remote(repo: &Repository) -> Error {
    let names = remotes::names(repo);
    let error = Error::refused("cannot sync: there is no remote");
    if names.is_empty() {
        return error.reason("no remote is configured in this repository").suggest(text![
            "Add one with git remote add origin URL, or give the URL or path: ",
            empirica("sync").arg(blank("URL"))
        ]);
    }
    let error = names.iter().fold(error, |error, name| error.alternative(name));
    error
        .reason("the current branch tracks none, none is called origin, and there are several")
        .suggest("Name one, or configure the remote for notes.")
        .command(format!("git config empirica.remote {}", empirica_notes::error::quote(&names[0])))
}
