//! Sync: fetch, merge, push what may leave; repeat if the remote changed meanwhile.

use crate::sync::before_push;
use std::collections::BTreeMap;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::render::counts;
use crate::render::counts::KindCount;
use empirica_notes::error::{Error, Result, blank, empirica, text};
use empirica_notes::format;
use empirica_notes::git::Repository;
use empirica_notes::git::remotes;
use empirica_notes::git::remotes::RemotePlace;
use empirica_notes::git::remotes::transfer;
use empirica_notes::git::remotes::transfer::TransferOptions;
use empirica_notes::model::{Body, Namespace};
use empirica_notes::store::{MARKDOWN_REF, RefComparison, TransferLines, data_ref};

pub use crate::sync::before_push::{BeforePush, before_push};
pub(crate) use crate::sync::remote::Sync;

/// Remotes and options of a sync.
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

/// Exchange with one remote.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct RemoteSync {
    /// Its name or URL.
    pub remote: String,
    /// Whether the remote had no notes of this program before.
    pub first: bool,
    /// Number of fetches; 1 unless the remote changed meanwhile.
    pub rounds: u32,
    /// The four refs.
    pub refs: Vec<RefSync>,
    /// Received records.
    pub incoming: Transfer,
    /// Sent records.
    pub outgoing: Transfer,
    /// Refs of ours that still contain redacted records on the remote.
    #[serde(skip)]
    pub unredacted: Vec<String>,
}

/// Result for a ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefSync {
    /// Its full name.
    #[serde(rename = "ref")]
    pub name: String,
    /// What was done.
    pub status: RefStatus,
    /// Number of records received; for `refs/notes/empirica/handoffs` (the Markdown), of notes.
    pub incoming: usize,
    /// Number of records sent.
    pub outgoing: usize,
}

/// Result for a ref, actual or expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum RefStatus {
    /// Both were equal.
    Unchanged,
    /// Records were received.
    Received,
    /// Records were sent.
    Sent,
    /// Records were received and sent.
    Exchanged,
    /// Nothing was sent: `empirica.sync` keeps the ref here, or it contains a secret.
    Kept,
}

/// Transferred records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "TravellingRecords")]
pub struct Transfer {
    /// Number of distinct records.
    pub records: usize,
    /// Number of records by kind.
    #[serde(serialize_with = "counts::listed")]
    #[schemars(with = "Vec<KindCount>")]
    pub kinds: BTreeMap<String, usize>,
    /// The handoffs among them, oldest first.
    pub handoffs: Vec<TransferredHandoff>,
}

/// A transferred handoff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "TravellingHandoff")]
pub struct TransferredHandoff {
    /// The handoff.
    #[serde(rename = "handoff_id")]
    pub id: String,
    /// Its agent.
    #[serde(rename = "ai_id")]
    pub ai: String,
    /// What it is about.
    pub task: String,
}

impl Transfer {
    pub(crate) fn new<'t>(all: impl Iterator<Item = &'t TransferLines>) -> Self {
        let mut lines: Vec<_> = all.flat_map(|travelling| &travelling.lines).filter(|line| line.id.is_some()).collect();
        lines.sort();
        lines.dedup_by(|a, b| a.id == b.id);
        let mut cargo = Transfer { records: lines.len(), ..Default::default() };
        for line in lines {
            let record = format::record::decode(&line.bytes);
            let kind = record.as_ref().map_or_else(|| kind_of(&line.bytes), |record| record.body.kind().to_owned());
            *cargo.kinds.entry(kind).or_default() += 1;
            if let Some(record) = record
                && let Body::Handoff(handoff) = &record.body
            {
                let id = record.head.id.as_str().to_owned();
                cargo.handoffs.push(TransferredHandoff { id, ai: record.head.ai.clone(), task: handoff.task.clone() });
            }
        }
        cargo
    }
}

/// Kind of a record that cannot be decoded.
fn kind_of(line: &[u8]) -> String {
    let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
    value.and_then(|value| value.get("kind")?.as_str().map(str::to_owned)).unwrap_or_else(|| "unknown kind".to_owned())
}

/// `empirica.sync`: refs that may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Everything.
    All,
    /// Handoffs and their Markdown.
    Handoffs,
    /// Nothing.
    Nothing,
}

impl SyncPolicy {
    /// As configured; `All` if unset.
    pub fn configured(repo: &Repository) -> Result<Self> {
        match repo.config("empirica.sync").as_deref() {
            None | Some("all" | "true") => Ok(SyncPolicy::All),
            Some("handoffs") => Ok(SyncPolicy::Handoffs),
            Some("off" | "false") => Ok(SyncPolicy::Nothing),
            Some(other) => Err(Error::refused(format!("empirica.sync is '{other}'"))
                .reason("it can be all, handoffs or off")
                .suggest("Set it to one of these.")
                .provided(other)
                .command("git config empirica.sync handoffs")),
        }
    }

    /// Whether a ref may leave.
    pub fn may(self, name: &str) -> bool {
        match self {
            SyncPolicy::All => true,
            SyncPolicy::Handoffs => name == MARKDOWN_REF || name == data_ref(Namespace::Handoffs),
            SyncPolicy::Nothing => false,
        }
    }
}

/// Remotes for notes: `empirica.remote`, otherwise the one of the current branch, otherwise `origin`, otherwise the
/// only one; empty if there is none.
pub fn destinations(repo: &Repository) -> Vec<String> {
    let configured = repo.config_all("empirica.remote");
    if configured.is_empty() { remotes::default(repo).into_iter().collect() } else { configured }
}

/// Syncs with a remote, or with all configured ones. `say` receives messages before anything is sent.
pub fn run(context: &CommandContext<'_>, request: &SyncRequest, say: &mut dyn FnMut(&str)) -> Result<SyncOutcome> {
    let store = &context.store;
    let leaves = SyncPolicy::configured(context.repo)?;
    let names = request.remote.clone().map_or_else(|| destinations(context.repo), |name| vec![name]);
    if names.is_empty() {
        return Err(no_remote(context.repo));
    }
    let places = names.iter().map(|name| remotes::place(context.repo, name)).collect::<Result<Vec<RemotePlace>>>()?;
    let mut outcome = SyncOutcome { dry_run: request.dry_run, ..Default::default() };
    if !request.dry_run {
        outcome.warnings = store.reconcile();
        let flushed = store.flush();
        outcome.warnings.extend(flushed.warnings);
        if let Some(error) = flushed.degraded {
            outcome.warnings.push(format!("cannot write pending records to the notes: {error}"));
        }
    }
    if leaves == SyncPolicy::Nothing {
        outcome.warnings.push("empirica.sync is off: what others shared was fetched, and nothing leaves".to_owned());
    }
    let mut failed = None;
    for mut place in places {
        place.name = empirica_secrets::redact_text(&place.name).map_or(place.name, |(name, _)| name);
        let manner = TransferOptions {
            shown: request.shown,
            in_hook: request.unattended,
            plain_ssh: request.unattended && before_push::has_plain_ssh(context),
            ..Default::default()
        };
        let exchange =
            Sync { store, place: &place, manner, leaves, allow_secret: request.allow_secret, redactions_alone: false };
        let synced = if request.dry_run {
            exchange.dry_run(&mut outcome.warnings)
        } else {
            exchange.run(&mut outcome.warnings, say)
        };
        match synced {
            Ok(synced) => outcome.remotes.push(synced),
            // continue with the other remotes
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    if !request.dry_run {
        outcome.warnings.extend(store.reconcile());
    }
    failed.map_or(Ok(outcome), Err)
}

/// Fetches from remotes and merges, without pushing. `empirica.syncTimeout` limits each; never prompts.
pub fn receive(
    context: &CommandContext<'_>,
    names: Vec<String>,
    warnings: &mut Vec<String>,
) -> Vec<(String, Result<RemoteSync>)> {
    let (store, time) = (&context.store, before_push::time(context.repo, warnings));
    let mut one = |name: &str, shown: &str| {
        let place = RemotePlace { name: shown.to_owned(), ..remotes::place(context.repo, name)? };
        let deadline = Some(Instant::now() + time);
        let manner =
            TransferOptions { in_hook: true, plain_ssh: before_push::has_plain_ssh(context), shown: false, deadline };
        let leaves = SyncPolicy::Nothing;
        Sync { store, place: &place, manner, leaves, allow_secret: false, redactions_alone: false }
            .run(warnings, &mut |_| {})
    };
    let named = names.into_iter().map(|name| {
        let shown = empirica_secrets::redact_text(&name).map_or_else(|| name.clone(), |(shown, _)| shown);
        let received = one(&name, &shown);
        (shown, received)
    });
    named.collect()
}

fn no_remote(repo: &Repository) -> Error {
    let names = remotes::names(repo);
    let error = Error::refused("there is no remote to sync with");
    if names.is_empty() {
        return error.reason("no remote is configured in this repository").suggest(text![
            "Add one with git remote add origin URL, or give the URL or path: ",
            empirica("sync").arg(blank("URL"))
        ]);
    }
    let error = names.iter().fold(error, |error, name| error.alternative(name));
    error
        .reason("the current branch tracks none, none is called origin, and there are several")
        .suggest("Name one, or say which one notes go to.")
        .command(format!("git config empirica.remote {}", empirica_notes::git::repository::quote(&names[0])))
}

/// Derives the status of a ref from its transfers.
pub(crate) fn status(standing: &RefComparison, incoming: bool, outgoing: bool, leaves: SyncPolicy) -> RefStatus {
    match (incoming, outgoing && leaves.may(&standing.name)) {
        (true, true) => RefStatus::Exchanged,
        (true, false) => RefStatus::Received,
        (false, true) => RefStatus::Sent,
        (false, false) if outgoing => RefStatus::Kept,
        (false, false) => RefStatus::Unchanged,
    }
}

/// Whether this process was started by a git process of ours.
pub(crate) fn is_nested(context: &CommandContext<'_>) -> bool {
    context.env.get(transfer::GUARD).is_some()
}
