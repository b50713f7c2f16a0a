//! Fetches and pushes notes by the user's git, with its credentials and settings, within a deadline.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;

use crate::error::{Error, Result, quote};
use crate::git::Oid;
use crate::git::process::{git, message, outdated, run_until};
use crate::git::refs::PREFIX;
use crate::git::refs::locks::add_stale_locks;
use crate::git::remotes::{RemoteTarget, is_partial, refspecs, tracking_of};
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
const HOOK_VARIABLES: [&str; 5] =
    ["GIT_INDEX_FILE", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REFLOG_ACTION", "GIT_PUSH_OPTION_COUNT"];

/// The settings of a remote that git does not apply to its URL, each with the variable that passes it.
const PROXY: [(&str, &str); 2] = [("proxy", "EMPIRICA_PROXY"), ("proxyAuthMethod", "EMPIRICA_PROXY_AUTH")];

fn command(repo: &Repository, options: &TransferOptions, target: &RemoteTarget) -> Command {
    let url = &target.push;
    // like git push, resolve relative URLs from the root
    let mut command = git(&repo.work_tree().unwrap_or_else(|| repo.cwd().to_owned()));
    command.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "fetch.writeCommitGraph=false"]);
    command.args(["-c", "push.gpgSign=false", "-c", "push.followTags=false", "-c", "push.recurseSubmodules=no"]);
    // git rewrote this URL already: map it to itself; not possible for one with `=`
    if !url.contains('=') {
        for key in ["insteadOf", "pushInsteadOf"] {
            command.args(["-c", &format!("url.{url}.{key}={url}")]);
        }
        for (key, variable) in PROXY {
            if let Some(value) = repo.config(&format!("remote.{}.{key}", target.name)) {
                // it may have a password, which is not for the arguments of a process
                command.arg(format!("--config-env=remote.{url}.{key}={variable}")).env(variable, value);
            }
        }
    }
    // inherited values may be relative to the user's folder
    command.env(GUARD, "1").env("GIT_DIR", repo.git_dir());
    if let Some(root) = repo.work_tree() {
        command.env("GIT_WORK_TREE", root);
    }
    for name in HOOK_VARIABLES {
        command.env_remove(name);
    }
    if options.in_hook {
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "").env("GCM_INTERACTIVE", "never");
        if options.plain_ssh {
            command.env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
        }
    }
    command
}

/// The limit of attempts if another fetch runs.
const ATTEMPTS: u64 = 5;

/// Git's message for a locked ref or reftable.
const LOCKED: &str = "cannot lock ref";

/// Fetches the notes of a remote into its tracking refs; touches no other ref. Returns the tracking refs of the refs that the
/// remote has. With `whole` also fetches what a partial
/// clone left out, in one batch.
pub fn fetch(
    repo: &Repository,
    target: &RemoteTarget,
    options: &TransferOptions,
    whole: bool,
) -> Result<BTreeSet<String>> {
    let mut attempts = 1;
    loop {
        let fetched = match try_fetch(repo, target, options, whole, true) {
            // git before 2.41 has no --porcelain
            Ok(None) => fetch_unlisted(repo, target, options, whole).map(Some),
            other => other,
        };
        match fetched {
            // another fetch is writing the same tracking refs
            Err(error) if attempts < ATTEMPTS && error.reason_text().to_string().contains(LOCKED) => {
                std::thread::sleep(std::time::Duration::from_millis(20 * attempts));
                attempts += 1;
            }
            Err(error) => return Err(explained(repo, target, error)),
            Ok(fetched) => return Ok(fetched.unwrap_or_default()),
        }
    }
}

/// As [`fetch`] without --porcelain: lists the remote's refs first, and fetches only if they differ.
fn fetch_unlisted(
    repo: &Repository,
    target: &RemoteTarget,
    options: &TransferOptions,
    whole: bool,
) -> Result<BTreeSet<String>> {
    let mut present = BTreeSet::new();
    let mut is_fetched = true;
    for (id, name) in ls_remote(repo, target, options, PREFIX)? {
        let Some(tracking) = tracking_of(&target.tracking, &name) else { continue };
        is_fetched = is_fetched && repo.find_ref(&tracking)? == crate::git::parse_oid(&id);
        present.insert(tracking);
    }
    if whole || !is_fetched {
        try_fetch(repo, target, options, whole, false)?;
    }
    Ok(present)
}

fn try_fetch(
    repo: &Repository,
    target: &RemoteTarget,
    options: &TransferOptions,
    whole: bool,
    listed: bool,
) -> Result<Option<BTreeSet<String>>> {
    let mut command = command(repo, options, target);
    command.args(["fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-prune"]);
    // without it, a configured refspec could overwrite our refs
    command.arg("--refmap=");
    if listed {
        command.args(["--porcelain", "--verbose"]);
    }
    if options.shown {
        command.arg("--progress");
    } else if !listed {
        command.arg("--quiet");
    }
    if is_partial(repo) {
        command.arg("--no-filter").args(whole.then_some("--refetch"));
    }
    command.arg("--").arg(&target.fetch).args(refspecs(&target.tracking));
    let out = run_until(&mut command, Vec::new(), options.deadline, options.shown);
    repo.refresh();
    let out = out?.ok_or_else(|| timed_out(target))?;
    if listed && out.status.code() == Some(129) {
        return Ok(None);
    }
    if !out.status.success() {
        return Err(failed(target, "fetch the notes from", &out.stderr));
    }
    let text = String::from_utf8_lossy(&out.stdout);
    // `<flag> <old> <new> <ref>`
    let refs = text.lines().filter_map(|line| Some(line.get(2..)?.splitn(3, ' ').nth(2)?.to_owned()));
    Ok(Some(refs.collect()))
}

/// Adds the lock file to an error of a fetch, if one explains it.
fn explained(repo: &Repository, target: &RemoteTarget, error: Error) -> Error {
    let words = error.reason_text().to_string();
    let Some(at) = words.find(LOCKED) else { return error };
    // a name in a remote's message is not one of our tracking refs
    let ours = refspecs(&target.tracking).map(|refspec| refspec.split_once(':').map(|(_, to)| to.to_owned()));
    let is_ours = |name: &&str| {
        ours.iter().flatten().any(|to| name.starts_with(to.trim_end_matches('*'))) && !name.contains("..")
    };
    let name = words[at..].split('\'').nth(1).filter(is_ours);
    let locks = repo.held_locks(name.as_slice(), true);
    if locks.is_empty() {
        return error;
    }
    add_stale_locks(Error::refused(format!("cannot fetch the notes from {}", target.name)).caused_by(error), &locks)
}

/// The refs of a remote below `prefix`, which ends in a slash.
pub fn listed(
    repo: &Repository,
    target: &RemoteTarget,
    options: &TransferOptions,
    prefix: &str,
) -> Result<Vec<String>> {
    Ok(ls_remote(repo, target, options, prefix)?.into_iter().map(|(_, name)| name).collect())
}

/// As [`listed`], as (id in hex, name).
fn ls_remote(
    repo: &Repository,
    target: &RemoteTarget,
    options: &TransferOptions,
    prefix: &str,
) -> Result<Vec<(String, String)>> {
    let mut command = command(repo, options, target);
    command.args(["ls-remote", "--refs", "--", &target.fetch]).arg(format!("{prefix}*"));
    let out = run_until(&mut command, Vec::new(), options.deadline, false)?.ok_or_else(|| timed_out(target))?;
    if !out.status.success() {
        return Err(failed(target, "list the notes of", &out.stderr));
    }
    let text = String::from_utf8_lossy(&out.stdout);
    let refs = text.lines().filter_map(|line| line.split_once('\t'));
    let ours = refs.filter(|(_, name)| name.starts_with(prefix));
    Ok(ours.map(|(id, name)| (id.to_owned(), name.to_owned())).collect())
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
    LostRace(String),
    /// Refused, with the server's message.
    Refused(String),
}

/// Pushes refs to the URL of a remote; returns the results in the same order.
pub fn push(
    repo: &Repository,
    target: &RemoteTarget,
    updates: &[Update],
    options: &TransferOptions,
) -> Result<Vec<Pushed>> {
    repo.store_objects()?;
    let mut command = command(repo, options, target);
    command.args(["push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"]);
    command.args(options.shown.then_some("--progress"));
    if let Some(program) = repo.config(&format!("remote.{}.receivepack", target.name)) {
        command.arg(format!("--receive-pack={program}"));
    }
    for update in updates {
        if let Some(tip) = update.lease {
            command.arg(format!("--force-with-lease={}:{tip}", update.name));
        }
    }
    command.arg("--").arg(&target.push);
    command.args(updates.iter().map(|update| format!("{}:{}", update.new, update.name)));
    let out = run_until(&mut command, Vec::new(), options.deadline, options.shown)?.ok_or_else(|| timed_out(target))?;
    if out.status.success() {
        return Ok(updates.iter().map(|_| Pushed::Done).collect());
    }
    let text = String::from_utf8_lossy(&out.stdout);
    let said = String::from_utf8_lossy(&out.stderr);
    let unwritable = unwritable(&said);
    let outcomes = updates.iter().map(|update| {
        let outcome = text.lines().find_map(|line| outcome(line, &update.name))?;
        Some(match (outcome, unwritable) {
            (Pushed::LostRace(words) | Pushed::Refused(words), Some(cause)) => {
                Pushed::Refused(format!("{words}: {cause}"))
            }
            (Pushed::LostRace(words), None) => Pushed::LostRace(match locked(&said, &update.name) {
                Some(cause) => format!("{words}: {cause}"),
                None => words,
            }),
            (outcome, _) => outcome,
        })
    });
    outcomes.collect::<Option<_>>().ok_or_else(|| failed(target, "push the notes to", &out.stderr))
}

/// Causes for which a server cannot write, in its messages.
const UNWRITABLE: [&str; 3] = ["No space left on device", "Disk quota exceeded", "Read-only file system"];

/// Whether a server refused a push only because it cannot write at present.
pub fn is_unwritable(words: &str) -> bool {
    UNWRITABLE.iter().any(|cause| words.contains(cause))
}

/// The cause for which the server cannot write, from git's standard error.
fn unwritable(stderr: &str) -> Option<&'static str> {
    let of_server = |cause: &&str| stderr.lines().any(|line| line.starts_with("remote: ") && line.contains(cause));
    UNWRITABLE.into_iter().find(of_server)
}

/// Messages of a push to a ref that another holds.
const RACES: [&str; 5] =
    ["failed to update ref", "cannot lock ref", "unable to lock", "incorrect old value", "already exists"];

/// Whether a server refused a push only because something holds the ref at present.
pub fn is_held(words: &str) -> bool {
    RACES.iter().any(|cause| words.contains(cause))
}

/// What the server says of the lock of a ref, in git's standard error.
fn locked<'t>(stderr: &'t str, name: &str) -> Option<&'t str> {
    let begins = format!("remote: error: cannot lock ref '{name}'");
    stderr.lines().find(|line| line.starts_with(&begins)).map(|line| line["remote: error: ".len()..].trim_end())
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
    let raced = summary.starts_with("[rejected]") || is_held(summary);
    Some(if raced { Pushed::LostRace(summary.to_owned()) } else { Pushed::Refused(summary.to_owned()) })
}

fn timed_out(target: &RemoteTarget) -> Error {
    Error::refused(format!("cannot sync with {}: timed out (empirica.syncTimeout)", target.name))
        .reason("git was terminated at the time limit (empirica.syncTimeout)")
        .suggest("Your records are safe here. Raise the limit, or run it again when the remote answers.")
        .command(format!("git -c empirica.syncTimeout=10m empirica sync {}", quote(&target.name)))
}

/// The error of a failed transfer: git's message, and advice for common causes.
fn failed(target: &RemoteTarget, action: &str, stderr: &[u8]) -> Error {
    const UNREACHABLE: [&str; 5] =
        ["Could not resolve", "unable to access", "Connection refused", "timed out", "unreachable"];
    const DENIED: [&str; 5] =
        ["Authentication failed", "Permission denied", "could not read Username", "Host key", "terminal prompts"];
    const MISSING: [&str; 3] = ["does not appear to be a git repository", "not found", "does not exist"];
    let text = message(stderr);
    let shows = |any: &[&str]| any.iter().any(|part| text.contains(part));
    let advice = if shows(&UNREACHABLE) {
        "The remote cannot be reached. Your records are safe here; run it again when you are online."
    } else if shows(&DENIED) {
        "The remote denies access. Your records are safe here; make git push work, then run it again."
    } else if shows(&MISSING) {
        "There is no such repository. Your records are safe here; check the URL of the remote."
    } else {
        "Your records are safe here; fix the cause, then run it again."
    };
    let reason = if text.is_empty() { "git gives the reason above" } else { &text };
    Error::refused(format!("cannot {action} {}", target.name))
        .reason(outdated(&text).map_or(reason.to_owned(), |old| format!("{old}; {reason}")))
        .suggest(advice)
        .commands_of((target.name != target.push).then_some("git remote -v"))
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
            assert_eq!(line("!", raced), Some(Pushed::LostRace(raced.to_owned())));
        }
        let declined = "[remote rejected] (pre-receive hook declined)";
        assert_eq!(line("!", declined), Some(Pushed::Refused(declined.to_owned())));
        assert_eq!(outcome(&format!("!\tabc:{name}x\t[rejected]"), name), None);
        assert_eq!(outcome("Done", name), None);
    }

    #[test]
    fn a_server_that_cannot_write_is_told_by_its_own_messages() {
        let full = "remote: fatal: unable to write loose object file: No space left on device        \nerror: x\n";
        assert_eq!(unwritable(full), Some("No space left on device"));
        assert!(is_unwritable("[remote rejected] (unpacker error): No space left on device"));
        for other in ["fatal: No space left on device", "remote: fatal: early EOF", ""] {
            assert_eq!(unwritable(other), None);
        }
    }
}
