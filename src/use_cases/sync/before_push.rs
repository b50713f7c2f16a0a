//! Syncs notes with the destination of the user's push, within a time limit.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::context::CommandContext;
use crate::use_cases::sync::exchange::RemoteSync;
use crate::use_cases::sync::flush::write_pending;
use crate::use_cases::sync::policy::{destinations, is_nested};
use crate::use_cases::sync::remote::RemoteSyncRun;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::process::parent;
use empirica_notes::git::remotes::RemoteTarget;
use empirica_notes::git::remotes::transfer::TransferOptions;
use empirica_notes::git::{Repository, parse_oid, remotes};
use empirica_notes::store::SyncPolicy;
use empirica_notes::store::{PREFIX, RefComparison, parse_duration};

/// Time limit if `empirica.syncTimeout` is unset.
const TIME: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub struct BeforePush {
    /// A line each.
    pub messages: Vec<String>,
    /// A line each; the notes were synchronized.
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
    if let Some(warning) = pushed_secret(context, lines, remote) {
        return BeforePush { warnings: vec![warning], blocks: is_strict(context), ..Default::default() };
    }
    let mut out = BeforePush::default();
    match sync(context, remote, url, lines, &mut out) {
        Ok(Some(synced)) => out.messages.extend(message(&synced)),
        Ok(None) => {}
        Err(error) => (out.failed, out.blocks) = (Some(error), is_strict(context)),
    }
    out
}

fn sync(
    context: &CommandContext<'_>,
    remote: &str,
    url: &str,
    lines: &[String],
    out: &mut BeforePush,
) -> Result<Option<RemoteSync>> {
    let (repo, began) = (context.repo, Instant::now());
    if is_nested(context) || names_notes(context, lines, remote) {
        return Ok(None);
    }
    let policy = SyncPolicy::configured(repo)?;
    let store = &context.store;
    if policy == SyncPolicy::Nothing
        || !destinations(repo).iter().any(|name| name == remote || name == url)
        || (!is_strict(context) && store.server(url).refusal().is_some())
    {
        return Ok(None);
    }
    let BeforePush { messages, warnings, .. } = out;
    let time = time_limit(repo, warnings);
    repo.set_deadline(began + time);
    let target = remotes::push_target(repo, remote, url);
    if !is_new(context, &target, policy, warnings)? {
        return Ok(None);
    }
    let push = parent::push(repo);
    if push.dry_run || push.mirror {
        return Ok(None);
    }
    if Instant::now() >= began + time {
        return Err(Error::refused("cannot sync: timed out before anything was sent (empirica.syncTimeout)")
            .reason("pending records were written to the notes first: a reference-transaction hook or the disk is slow")
            .suggest("Your records are safe here. Sync them later.")
            .command(empirica("sync")));
    }
    let options = TransferOptions {
        in_hook: true,
        plain_ssh: has_plain_ssh(context),
        shown: false,
        deadline: Some(began + time),
    };
    let sync = RemoteSyncRun::new(context, &target, options, policy);
    sync.run(warnings, &mut |message| messages.push(message.to_owned())).map(Some)
}

/// Whether a push includes notes. Git chose its values already, so a sync would make the remote reject them.
fn names_notes(context: &CommandContext<'_>, lines: &[String], remote: &str) -> bool {
    let is_notes = |line: &String| line.split(' ').step_by(2).any(|word| word.starts_with("refs/notes/"));
    lines.iter().any(is_notes) || context.repo.config_bool(&format!("remote.{remote}.mirror")).unwrap_or(false)
}

/// Warning for a push that includes notes with a secret, under any ref name; `None` if there is none. The user's push
/// continues unless in strict mode.
fn pushed_secret(context: &CommandContext<'_>, lines: &[String], remote: &str) -> Option<String> {
    if is_nested(context) {
        return None;
    }
    let all = context.repo.list_refs(PREFIX).unwrap_or_default();
    let mut pushed = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, new, _, old] = words.as_slice() else { continue };
        let Some(new) = parse_oid(new).filter(|new| !new.is_null()) else { continue };
        let named = all
            .iter()
            .find(|(reference, tip)| reference == name || *tip == new)
            .map(|(reference, _)| reference.as_str());
        pushed.extend(named.or(name.starts_with(PREFIX).then_some(*name)).map(|name| (name, new, parse_oid(old))));
    }
    if pushed.is_empty() {
        return None;
    }
    context.repo.set_deadline(Instant::now() + time_limit(context.repo, &mut Vec::new()));
    // unreadable objects cannot be pushed anyway
    let leak = pushed.iter().find_map(|(name, new, old)| {
        context.store.secret_scan().in_push(name, *new, *old).unwrap_or_default().into_iter().next()
    })?;
    let command = leak.remedies().pop()?;
    Some(format!(
        "{} holds a secret (rule {}), and this push to {remote} sends it; change the secret, redact it and push again: {command}",
        leak.location(),
        leak.rule
    ))
}

/// Time limit of the whole sync.
pub(crate) fn time_limit(repo: &Repository, warnings: &mut Vec<String>) -> Duration {
    let Some(text) = repo.config("empirica.syncTimeout") else { return TIME };
    parse_duration(&text).unwrap_or_else(|| {
        warnings.push(format!(
            "empirica.syncTimeout is '{text}', which is not a duration such as 300ms or 10s; {}s is used",
            TIME.as_secs()
        ));
        TIME
    })
}

/// Whether a push fails if its notes cannot be synced; each push then asks the remote, also one that refused them.
fn is_strict(context: &CommandContext<'_>) -> bool {
    context.repo.config_bool("empirica.strict").unwrap_or(false)
}

/// Whether the remote lacks refs that the policy allows, as far as known here. Makes no connection.
fn is_new(
    context: &CommandContext<'_>,
    target: &RemoteTarget,
    policy: SyncPolicy,
    warnings: &mut Vec<String>,
) -> Result<bool> {
    let store = &context.store;
    if store.log().counts().total() > 0 {
        match write_pending(store, warnings) {
            Some(error) if is_strict(context) => return Err(error),
            Some(error) => warnings.push(format!("cannot write pending records to the notes: {error}")),
            None => {}
        }
    }
    let held = if is_strict(context) { BTreeMap::new() } else { store.server(&target.push).held_back() };
    let is_due = |compared: &RefComparison| {
        let is_held = compared.ours.as_ref() == held.get(&compared.name);
        compared.ours.is_some() && !is_held && !compared.equal && policy.allows(&compared.name)
    };
    Ok(store.remotes().compare_refs(&target.tracking, None)?.iter().any(is_due))
}

/// Whether ssh can be run without prompts: the user configured no ssh command.
pub(crate) fn has_plain_ssh(context: &CommandContext<'_>) -> bool {
    ["GIT_SSH_COMMAND", "GIT_SSH", "GIT_SSH_VARIANT"].iter().all(|name| context.env.get(name).is_none())
        && ["core.sshCommand", "ssh.variant"].iter().all(|key| context.repo.config(key).is_none())
}

fn message(synced: &RemoteSync) -> Option<String> {
    let (sent, received) = (synced.outgoing.records, synced.incoming.records);
    (sent + received > 0).then(|| format!("Notes synced with {}: sent {sent}, received {received}.", synced.remote))
}
