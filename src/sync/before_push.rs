//! What happens to the notes before a push of the user's: the same sync, to where the push goes, within a limit of time.

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

/// How long it may take when `empirica.syncTimeout` does not say.
const TIME: Duration = Duration::from_secs(10);

/// What came of it.
#[derive(Debug, Default)]
pub struct BeforePush {
    /// What is to be said aside, a line each.
    pub said: Vec<String>,
    /// What went wrong without keeping the notes from going, likewise.
    pub warnings: Vec<String>,
    /// Why the notes could not be synced. The user's push goes on, unless `blocks`.
    pub failed: Option<Error>,
    /// Whether the user's push shall fail with it (`empirica.strict`).
    pub blocks: bool,
}

/// Syncs the notes before a push of the user's, when there is something new for where it goes to, and it may go there.
///
/// `remote` and `url` are the two arguments of the pre-push hook, `lines` what it reads. Does nothing for a dry run, for a
/// mirror, and when the push names notes itself. Never asks the user anything. The store is to be in a hurry.
pub fn before_push(context: &CommandContext<'_>, remote: &str, url: &str, lines: &[String]) -> BeforePush {
    let (mut said, mut warnings) = (Vec::new(), Vec::new());
    if let Some(found) = taken_along(context, lines, remote) {
        let blocks = context.repo.config_bool("empirica.strict").unwrap_or(false);
        return BeforePush { warnings: vec![found], blocks, ..Default::default() };
    }
    match sync(context, remote, url, lines, &mut said, &mut warnings) {
        Ok(Some(synced)) => {
            said.extend(words(&synced));
            BeforePush { said, warnings, ..Default::default() }
        }
        Ok(None) => BeforePush { said, warnings, ..Default::default() },
        Err(error) => {
            let blocks = context.repo.config_bool("empirica.strict").unwrap_or(false);
            BeforePush { said, warnings, failed: Some(error), blocks }
        }
    }
}

fn sync(
    context: &CommandContext<'_>,
    remote: &str,
    url: &str,
    lines: &[String],
    said: &mut Vec<String>,
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
    let asked = parent::push(repo);
    if asked.dry_run || asked.mirror {
        return Ok(None);
    }
    if Instant::now() >= began + time {
        return Err(Error::refused("the time for syncing was over before anything was sent (empirica.syncTimeout)")
            .reason("what waited here was written to the notes first: a reference-transaction hook or the disk is slow")
            .suggest("Your records are safe here. Send them when you have the time.")
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
            said.push(words.to_owned());
        },
    );
    synced.map(Some)
}

/// Whether a push takes notes along itself. Git chose its values before: what it pushes itself would be refused after a push of ours.
fn names_notes(context: &CommandContext<'_>, lines: &[String], remote: &str) -> bool {
    let is_notes = |line: &String| line.split(' ').step_by(2).any(|word| word.starts_with("refs/notes/"));
    lines.iter().any(is_notes) || context.repo.config_bool(&format!("remote.{remote}.mirror")).unwrap_or(false)
}

/// What is to be said of a push that takes a secret of the notes along itself, whatever it calls them; `None` when it takes none. It is the
/// user's push: it goes on, unless the user is strict.
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
    // what cannot be read cannot be pushed either; what takes too long is not waited for
    let found = leaves.iter().find_map(|(name, new, old)| {
        context.store.secrets_leaving(name, *new, *old).unwrap_or_default().into_iter().next()
    });
    let leak = found?;
    let command = leak.remedies().pop()?;
    Some(format!(
        "{} holds a secret (rule {}), and this push to {remote} takes it along; change the secret, take it out and push again: {command}",
        leak.what(),
        leak.rule
    ))
}

/// How long it may take, all in all.
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

/// Whether something may leave that the remote lacks, as far as is known here. Asks nobody.
fn is_new(store: &Store<'_>, place: &RemotePlace, leaves: SyncPolicy, warnings: &mut Vec<String>) -> Result<bool> {
    if store.unflushed() > 0 {
        let flushed = store.flush();
        warnings.extend(flushed.warnings);
        if let Some(error) = flushed.degraded {
            warnings.push(format!("what waits in the log could not be written to the notes: {error}"));
        }
    }
    let held = store.held_back(&place.push);
    let is_due = |standing: &RefComparison| {
        let is_held = standing.ours.as_ref() == held.get(&standing.name);
        standing.ours.is_some() && !is_held && !standing.equal && leaves.may(&standing.name)
    };
    Ok(store.standing(&place.tracking, None)?.iter().any(is_due))
}

/// Whether ssh may be told not to ask: the user chose no ssh command.
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
