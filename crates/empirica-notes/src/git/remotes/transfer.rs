//! Fetches and pushes notes by the user's git, with its credentials and settings, within a deadline.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::error::{Error, Result};
use crate::git::Oid;
use crate::git::process::{Ended, git, run_until};
use crate::git::refs::locks::left_behind;
use crate::git::remotes::{RemotePlace, is_partial, refspecs, tracking_of};
use crate::git::repository::Repository;

/// The variable set while a hook of this program runs git.
pub const GUARD: &str = "EMPIRICA_IN_HOOK";

/// Options for running git.
#[derive(Debug, Clone, Copy, Default)]
pub struct TransferOptions {
    /// In a hook: never prompt.
    pub in_hook: bool,
    /// In a hook: whether to run ssh in batch mode, as the user configured no ssh command.
    pub plain_ssh: bool,
    /// Whether git's standard error, including progress, is inherited.
    pub shown: bool,
    /// The time at which git is terminated.
    pub deadline: Option<Instant>,
}

/// Variables that git exports to its hooks and that would mislead another git.
const OUTER: [&str; 5] =
    ["GIT_INDEX_FILE", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REFLOG_ACTION", "GIT_PUSH_OPTION_COUNT"];

fn command(repo: &Repository, manner: &TransferOptions, url: &str) -> Command {
    // like git push, resolve relative URLs from the root
    let mut command = git(&repo.work_tree().unwrap_or_else(|| repo.cwd().to_owned()));
    command.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "fetch.writeCommitGraph=false"]);
    command.args(["-c", "push.gpgSign=false", "-c", "push.followTags=false", "-c", "push.recurseSubmodules=no"]);
    // this URL is rewritten already: map it to itself; not possible for one with `=`
    if !url.contains('=') {
        for key in ["insteadOf", "pushInsteadOf"] {
            command.args(["-c", &format!("url.{url}.{key}={url}")]);
        }
    }
    // given ones may be relative to the user's folder
    command.env(GUARD, "1").env("GIT_DIR", repo.git_dir());
    if let Some(root) = repo.work_tree() {
        command.env("GIT_WORK_TREE", root);
    }
    for name in OUTER {
        command.env_remove(name);
    }
    if manner.in_hook {
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "").env("GCM_INTERACTIVE", "never");
        if manner.plain_ssh {
            command.env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
        }
    }
    command
}

/// The limit of attempts if another fetch runs.
const TRIES: u64 = 5;

/// Git's message for a locked ref or reftable.
const LOCKED: &str = "cannot lock ref";

/// The result of a fetch.
#[derive(Debug, Default)]
pub struct Fetched {
    /// The tracking refs of the remote's refs.
    pub present: BTreeSet<String>,
}

/// Fetches the notes of a remote into its tracking refs; touches no other ref. With `whole` also fetches what a partial
/// clone left out, in one batch.
pub fn fetch(repo: &Repository, place: &RemotePlace, manner: &TransferOptions, whole: bool) -> Result<Fetched> {
    for tries in 1.. {
        let fetched = match try_fetch(repo, place, manner, whole, true) {
            // git before 2.41 has no --porcelain
            Ok(None) => fetch_unlisted(repo, place, manner, whole).map(Some),
            other => other,
        };
        match fetched {
            // another fetch is writing the same tracking refs
            Err(error) if tries < TRIES && error.reason_text().to_string().contains(LOCKED) => {
                std::thread::sleep(std::time::Duration::from_millis(20 * tries));
            }
            Err(error) => return Err(explained(repo, place, error)),
            Ok(fetched) => return Ok(fetched.unwrap_or_default()),
        }
    }
    Ok(Fetched::default())
}

/// As [`fetch`] without --porcelain: lists the remote's refs first, and fetches only if they differ.
fn fetch_unlisted(repo: &Repository, place: &RemotePlace, manner: &TransferOptions, whole: bool) -> Result<Fetched> {
    let there = ls_remote(repo, place, &place.fetch, manner, "refs/notes/empirica/")?;
    let mut present = BTreeSet::new();
    let mut is_known = true;
    for (id, name) in there {
        let Some(tracking) = tracking_of(&place.tracking, &name) else { continue };
        is_known = is_known && repo.find_ref(&tracking)? == crate::git::parse_oid(&id);
        present.insert(tracking);
    }
    if whole || !is_known {
        try_fetch(repo, place, manner, whole, false)?;
    }
    Ok(Fetched { present })
}

fn try_fetch(
    repo: &Repository,
    place: &RemotePlace,
    manner: &TransferOptions,
    whole: bool,
    listed: bool,
) -> Result<Option<Fetched>> {
    let mut command = command(repo, manner, &place.push);
    command.args(["fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-prune"]);
    // without it, a configured refspec could overwrite our refs
    command.arg("--refmap=");
    if listed {
        command.args(["--porcelain", "--verbose"]);
    }
    if manner.shown {
        command.arg("--progress");
    } else if !listed {
        command.arg("--quiet");
    }
    if is_partial(repo) {
        command.arg("--no-filter").args(whole.then_some("--refetch"));
    }
    command.arg("--").arg(&place.fetch).args(refspecs(&place.tracking));
    let ended = run_until(&mut command, manner.deadline, manner.shown);
    repo.refresh();
    match ended? {
        Ended::TimedOut => Err(timed_out(place)),
        Ended::Itself { code: Some(129), .. } if listed => Ok(None),
        Ended::Itself { success: true, stdout, .. } => {
            let text = String::from_utf8_lossy(&stdout);
            // `<flag> <old> <new> <ref>`
            let refs = text.lines().filter_map(|line| Some(line.get(2..)?.splitn(3, ' ').nth(2)?.to_owned()));
            Ok(Some(Fetched { present: refs.collect() }))
        }
        Ended::Itself { stderr, .. } => Err(failed(place, "fetched from", &stderr)),
    }
}

/// Adds the lock file to an error of a fetch, if one explains it.
fn explained(repo: &Repository, place: &RemotePlace, error: Error) -> Error {
    let words = error.reason_text().to_string();
    let Some(at) = words.find(LOCKED) else { return error };
    // a name in a remote's message is not one of our tracking refs
    let ours = refspecs(&place.tracking).map(|refspec| refspec.split_once(':').map(|(_, to)| to.to_owned()));
    let is_ours = |name: &&str| {
        ours.iter().flatten().any(|to| name.starts_with(to.trim_end_matches('*'))) && !name.contains("..")
    };
    let name = words[at..].split('\'').nth(1).filter(is_ours);
    match repo.ref_lock(name.as_slice()) {
        Some(lock) => left_behind(
            Error::refused(format!("the notes could not be fetched from {}", place.name)).caused_by(error),
            &lock,
        ),
        None => error,
    }
}

/// The refs of a remote below `prefix`, which ends in a slash.
pub fn listed(repo: &Repository, place: &RemotePlace, manner: &TransferOptions, prefix: &str) -> Result<Vec<String>> {
    Ok(ls_remote(repo, place, &place.push, manner, prefix)?.into_iter().map(|(_, name)| name).collect())
}

/// As [`listed`], as (id in hex, name).
fn ls_remote(
    repo: &Repository,
    place: &RemotePlace,
    url: &str,
    manner: &TransferOptions,
    prefix: &str,
) -> Result<Vec<(String, String)>> {
    let mut command = command(repo, manner, &place.push);
    command.args(["ls-remote", "--refs", "--", url]).arg(format!("{prefix}*"));
    match run_until(&mut command, manner.deadline, false)? {
        Ended::TimedOut => Err(timed_out(place)),
        Ended::Itself { success: true, stdout, .. } => {
            let text = String::from_utf8_lossy(&stdout);
            let refs = text.lines().filter_map(|line| line.split_once('\t'));
            let ours = refs.filter(|(_, name)| name.starts_with(prefix));
            Ok(ours.map(|(id, name)| (id.to_owned(), name.to_owned())).collect())
        }
        Ended::Itself { stderr, .. } => Err(failed(place, "looked for at", &stderr)),
    }
}

/// An update to push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The full name, locally and in the remote.
    pub name: String,
    /// The new value.
    pub new: Oid,
    /// The old value that may be overwritten; `None` for a fast-forward only.
    pub lease: Option<Oid>,
}

/// The result of a push for one ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// Pushed.
    Done,
    /// Lost a race, with the remote's message: fetch, merge, push again.
    Outrun(String),
    /// Refused, with the server's message.
    Refused(String),
}

/// Pushes refs to the URL of a remote; returns the results in the same order.
pub fn push(
    repo: &Repository,
    place: &RemotePlace,
    updates: &[Update],
    manner: &TransferOptions,
) -> Result<Vec<Pushed>> {
    repo.store_objects()?;
    let mut command = command(repo, manner, &place.push);
    command.args(["push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"]);
    command.args(manner.shown.then_some("--progress"));
    for update in updates {
        if let Some(tip) = update.lease {
            command.arg(format!("--force-with-lease={}:{tip}", update.name));
        }
    }
    command.arg("--").arg(&place.push);
    command.args(updates.iter().map(|update| format!("{}:{}", update.new, update.name)));
    let (success, stdout, stderr) = match run_until(&mut command, manner.deadline, manner.shown)? {
        Ended::TimedOut => return Err(timed_out(place)),
        Ended::Itself { success, stdout, stderr, .. } => (success, stdout, stderr),
    };
    let text = String::from_utf8_lossy(&stdout);
    let found: Vec<Option<Pushed>> =
        updates.iter().map(|update| text.lines().find_map(|line| outcome(line, &update.name))).collect();
    if success {
        return Ok(updates.iter().map(|_| Pushed::Done).collect());
    }
    match found.into_iter().collect() {
        Some(all) => Ok(all),
        None => Err(failed(place, "pushed to", &stderr)),
    }
}

/// The result for a ref in a line of `git push --porcelain`: `<flag> TAB <from>:<to> TAB <summary>`.
fn outcome(line: &str, name: &str) -> Option<Pushed> {
    let mut fields = line.splitn(3, '\t');
    let (flag, refs, summary) = (fields.next()?, fields.next()?, fields.next()?);
    if refs.rsplit(':').next()? != name {
        return None;
    }
    if flag != "!" {
        return Some(Pushed::Done);
    }
    // messages of a concurrent push to the same ref
    const RACES: [&str; 5] =
        ["failed to update ref", "cannot lock ref", "unable to lock", "incorrect old value", "already exists"];
    let raced = summary.starts_with("[rejected]") || RACES.iter().any(|words| summary.contains(words));
    Some(if raced { Pushed::Outrun(summary.to_owned()) } else { Pushed::Refused(summary.to_owned()) })
}

fn timed_out(place: &RemotePlace) -> Error {
    Error::refused(format!("the exchange with {} did not end in time", place.name))
        .reason("git was ended when the time for it was over (empirica.syncTimeout)")
        .suggest("Your records are safe here. Give it more time, or send them when the remote answers again.")
        .command(format!(
            "git -c empirica.syncTimeout=10m empirica sync {}",
            crate::git::repository::quote(&place.name)
        ))
}

/// The error of a failed transfer: git's message, and advice for common causes.
fn failed(place: &RemotePlace, action: &str, stderr: &[u8]) -> Error {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let shows = |any: &[&str]| any.iter().any(|part| text.contains(part));
    let advice = if shows(&["Could not resolve", "unable to access", "Connection refused", "timed out", "unreachable"])
    {
        "The remote cannot be reached. Your records are safe here; run it again when you are online."
    } else if shows(&[
        "Authentication failed",
        "Permission denied",
        "could not read Username",
        "Host key",
        "terminal prompts",
    ]) {
        "The remote does not let you in. Your records are safe here; see that git push works, then run it again."
    } else if shows(&["does not appear to be a git repository", "not found", "does not exist"]) {
        "There is no such repository. Your records are safe here; look at the remote's URL."
    } else {
        "Your records are safe here; run it again when this is mended."
    };
    let reason = if lines.is_empty() { "git says why above".to_owned() } else { lines.join("; ") };
    let reason =
        crate::git::process::blamed(Path::new("."), &text).map_or(reason.clone(), |old| format!("{old}; {reason}"));
    Error::refused(format!("the notes could not be {action} {}", place.name))
        .reason(reason)
        .suggest(advice)
        .commands_of((place.name != place.push).then(|| "git remote -v".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_of_pushing_a_ref_is_parsed() {
        let name = "refs/notes/empirica/handoffs";
        let line = |flag: &str, summary: &str| outcome(&format!("{flag}\tabc:{name}\t{summary}"), name);
        assert_eq!(line(" ", "a..b"), Some(Pushed::Done));
        assert_eq!(line("=", "[up to date]"), Some(Pushed::Done));
        for raced in ["[rejected] (fetch first)", "[remote rejected] (failed to update ref)"] {
            assert_eq!(line("!", raced), Some(Pushed::Outrun(raced.to_owned())));
        }
        let declined = "[remote rejected] (pre-receive hook declined)";
        assert_eq!(line("!", declined), Some(Pushed::Refused(declined.to_owned())));
        assert_eq!(outcome(&format!("!\tabc:{name}x\t[rejected]"), name), None);
        assert_eq!(outcome("Done", name), None);
    }
}
