//! Syncs notes with the destination of the user's push, within a time limit.

use std::time::{Duration, Instant};

use crate::context::CommandContext;
use crate::sync::exchange::RemoteSync;
use crate::sync::policy::{SyncPolicy, destinations, is_nested};
use crate::sync::remote::Sync;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::process::parent;
use empirica_notes::git::remotes::RemotePlace;
use empirica_notes::git::remotes::transfer::TransferOptions;
use empirica_notes::git::{Repository, parse_oid, remotes};
use empirica_notes::store::{PREFIX, RefComparison, Store, parse_duration};

/// Time limit if `empirica.syncTimeout` is unset.
const TIME: Duration = Duration::from_secs(10);

/// Result of the sync.
#[derive(Debug, Default)]
pub struct BeforePush {
    /// Messages for the user, a line each.
    pub messages: Vec<String>,
    /// Warnings, a line each; the notes were synchronised.
    pub warnings: Vec<String>,
    /// Why the sync failed. The user's push continues unless `blocks`.
    pub failed: Option<Error>,
    /// Whether the failure stops the user's push (`empirica.strict`).
    pub blocks: bool,
}

/// Syncs notes before the user's push if the destination lacks some and may receive them.
///
/// `remote` and `url` are the arguments of the pre-push hook, `lines` its input. Does nothing in a dry run, for a
/// mirror, or if the push includes notes. Never prompts. The store should not wait for locks.
pub fn before_push(context: &CommandContext<'_>, remote: &str, url: &str, lines: &[String]) -> BeforePush {
    let (mut messages, mut warnings) = (Vec::new(), Vec::new());
    if let Some(found) = taken_along(context, lines, remote) {
        let blocks = context.repo.config_bool("empirica.strict").unwrap_or(false);
        return BeforePush { warnings: vec![found], blocks, ..Default::default() };
    }
    match sync(context, remote, url, lines, &mut messages, &mut warnings) {
        Ok(Some(synced)) => {
            messages.extend(words(&synced));
            BeforePush { messages, warnings, ..Default::default() }
        }
        Ok(None) => BeforePush { messages, warnings, ..Default::default() },
        Err(error) => {
            let blocks = context.repo.config_bool("empirica.strict").unwrap_or(false);
            BeforePush { messages, warnings, failed: Some(error), blocks }
        }
    }
}

fn sync(
    context: &CommandContext<'_>,
    remote: &str,
    url: &str,
    lines: &[String],
    messages: &mut Vec<String>,
    warnings: &mut Vec<String>,
) -> Result<Option<RemoteSync>> {
    let (repo, began) = (context.repo, Instant::now());
    if is_nested(context) || names_notes(context, lines, remote) {
        return Ok(None);
    }
    let leaves = SyncPolicy::configured(repo)?;
    let store = &context.store;
    if leaves == SyncPolicy::Nothing
        || !destinations(repo).iter().any(|name| name == remote || name == url)
        || store.refused(url).is_some()
    {
        return Ok(None);
    }
    let time = time(repo, warnings);
    repo.end_by(began + time);
    let place = remotes::pushed_to(repo, remote, url);
    if !is_new(store, &place, leaves, warnings)? {
        return Ok(None);
    }
    let push = parent::push(repo);
    if push.dry_run || push.mirror {
        return Ok(None);
    }
    if Instant::now() >= began + time {
        return Err(Error::refused("timed out before anything was sent (empirica.syncTimeout)")
            .reason("pending records were written to the notes first: a reference-transaction hook or the disk is slow")
            .suggest("Your records are safe here. Sync them later.")
            .command(empirica("sync")));
    }
    let manner = TransferOptions {
        in_hook: true,
        plain_ssh: has_plain_ssh(context),
        shown: false,
        deadline: Some(began + time),
    };
    let synced = Sync { store, place: &place, manner, leaves, allow_secret: false, redactions_alone: false }.run(
        warnings,
        &mut |words| {
            messages.push(words.to_owned());
        },
    );
    synced.map(Some)
}

/// Whether a push includes notes. Git chose its values already, so a sync would make the remote reject them.
fn names_notes(context: &CommandContext<'_>, lines: &[String], remote: &str) -> bool {
    let is_notes = |line: &String| line.split(' ').step_by(2).any(|word| word.starts_with("refs/notes/"));
    lines.iter().any(is_notes) || context.repo.config_bool(&format!("remote.{remote}.mirror")).unwrap_or(false)
}

/// Warning for a push that includes notes with a secret, under any ref name; `None` if there is none. The user's push
/// continues unless in strict mode.
fn taken_along(context: &CommandContext<'_>, lines: &[String], remote: &str) -> Option<String> {
    if is_nested(context) {
        return None;
    }
    let all = context.repo.list_refs(PREFIX).unwrap_or_default();
    let mut leaves = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, new, _, old] = words.as_slice() else { continue };
        let Some(new) = parse_oid(new).filter(|new| !new.is_null()) else { continue };
        let named = all.iter().find(|(known, tip)| known == name || *tip == new).map(|(known, _)| known.as_str());
        leaves.extend(named.or(name.starts_with(PREFIX).then_some(*name)).map(|name| (name, new, parse_oid(old))));
    }
    if leaves.is_empty() {
        return None;
    }
    context.repo.end_by(Instant::now() + time(context.repo, &mut Vec::new()));
    // unreadable objects cannot be pushed anyway; give up when time is over
    let found = leaves.iter().find_map(|(name, new, old)| {
        context.store.secrets_in_push(name, *new, *old).unwrap_or_default().into_iter().next()
    });
    let leak = found?;
    let command = leak.remedies().pop()?;
    Some(format!(
        "{} holds a secret (rule {}), and this push to {remote} takes it along; change the secret, take it out and push again: {command}",
        leak.location(),
        leak.rule
    ))
}

/// Time limit of the whole sync.
pub(crate) fn time(repo: &Repository, warnings: &mut Vec<String>) -> Duration {
    let Some(text) = repo.config("empirica.syncTimeout") else { return TIME };
    parse_duration(&text).unwrap_or_else(|| {
        warnings.push(format!(
            "empirica.syncTimeout is '{text}', which is no time such as 300ms or 10s; it counts as {}s",
            TIME.as_secs()
        ));
        TIME
    })
}

/// Whether the remote lacks refs that may leave, as far as known here. Contacts nobody.
fn is_new(store: &Store<'_>, place: &RemotePlace, leaves: SyncPolicy, warnings: &mut Vec<String>) -> Result<bool> {
    if store.unflushed() > 0 {
        let flushed = store.flush();
        warnings.extend(flushed.warnings);
        if let Some(error) = flushed.degraded {
            warnings.push(format!("cannot write pending records to the notes: {error}"));
        }
    }
    let held = store.held_back(&place.push);
    let is_due = |standing: &RefComparison| {
        let is_held = standing.ours.as_ref() == held.get(&standing.name);
        standing.ours.is_some() && !is_held && !standing.equal && leaves.may(&standing.name)
    };
    Ok(store.compare_refs(&place.tracking, None)?.iter().any(is_due))
}

/// Whether ssh can be run without prompts: the user configured no ssh command.
pub(crate) fn has_plain_ssh(context: &CommandContext<'_>) -> bool {
    let given = |name: &&str| context.env.get(name).is_some();
    let set = |key: &&str| context.repo.config(key).is_some();
    let chosen = ["GIT_SSH_COMMAND", "GIT_SSH", "GIT_SSH_VARIANT"].iter().any(given);
    !chosen && !["core.sshCommand", "ssh.variant"].iter().any(set)
}

fn words(synced: &RemoteSync) -> Option<String> {
    let (sent, received) = (synced.outgoing.records, synced.incoming.records);
    (sent + received > 0).then(|| format!("Notes synced with {}: sent {sent}, received {received}.", synced.remote))
}
