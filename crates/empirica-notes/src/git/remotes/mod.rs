//! Remotes: their names, the default one, and their tracking refs.

pub mod transfer;

use std::path::Path;
use std::time::Instant;

use gix::bstr::ByteSlice;

use crate::error::{Error, Result};
use crate::git::process::{git, run_until, text};
use crate::git::repository::Repository;
use crate::model::hash::fnv;

/// A remote to sync notes with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteTarget {
    /// The remote's name, or the URL, for display.
    pub name: String,
    /// The argument of `git fetch`: a remote's name or a URL.
    pub fetch: String,
    /// The URL to push to.
    pub push: String,
    /// The name of its tracking refs.
    pub tracking: String,
}

/// The names of all configured remotes, sorted.
pub fn names(repo: &Repository) -> Vec<String> {
    repo.gix().remote_names().iter().map(|name| name.to_str_lossy().into_owned()).collect()
}

/// The default remote: the one the current branch tracks, else `origin`, else the only one.
pub fn default(repo: &Repository) -> Option<String> {
    preferred(repo, &names(repo))
}

/// As [`default`], of these remotes.
pub fn preferred(repo: &Repository, names: &[String]) -> Option<String> {
    let branch = repo.head().ok().and_then(|head| head.branch);
    let tracked = branch.and_then(|branch| repo.config(&format!("branch.{branch}.remote")));
    let only = if let [only] = names { Some(only.clone()) } else { None };
    tracked.into_iter().chain(["origin".to_owned()]).find(|name| names.contains(name)).or(only)
}

/// The password that git's credential helpers keep for a URL; `None` without one, and if they take longer. Never asks the user.
pub fn credential(repo: &Repository, url: &str, until: Instant) -> Option<String> {
    let mut command = git(repo.cwd());
    command.args(["-c", "credential.interactive=false", "credential", "fill"]);
    command
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ASKPASS", "")
        .env("SSH_ASKPASS", "")
        .env("GCM_INTERACTIVE", "never");
    let out = run_until(&mut command, format!("url={url}\n\n").into_bytes(), Some(until), false).ok().flatten();
    let text = String::from_utf8(out.filter(|out| out.status.success())?.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("password=")).map(str::to_owned).filter(|key| !key.is_empty())
}

/// A name that the clones of a repository share: host and path of the URL of the default remote, without user, query and `.git`. Without
/// a remote, and for one that is a path, the name of the folder with a hash of its path.
pub fn shared_name(repo: &Repository) -> String {
    let url = default(repo).and_then(|remote| url(repo, &remote, &[]).ok());
    match url.filter(|url| !url.is_empty()) {
        Some(url) => shared(&url, repo.cwd()),
        None => local(&repo.work_tree().unwrap_or_else(|| repo.common_dir())),
    }
}

fn local(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{}-{:08x}", name.trim_end_matches(".git"), fnv(path.to_string_lossy().as_bytes()) as u32)
}

fn shared(url: &str, cwd: &Path) -> String {
    let plain = |text: &str| text.trim_end_matches('/').trim_end_matches(".git").trim_end_matches('/').to_owned();
    let without_user = |text: &str| match text.split_once('/') {
        Some((host, path)) => format!("{}/{path}", host.rsplit('@').next().unwrap_or(host)),
        None => text.rsplit('@').next().unwrap_or(text).to_owned(),
    };
    match (url.split_once("://"), url.split_once(':')) {
        (Some(("file", path)), _) => local(Path::new(path)),
        (Some((_, rest)), _) => plain(&without_user(rest.split(['?', '#']).next().unwrap_or_default())),
        // as scp has it
        (None, Some((host, path))) if !host.contains('/') => {
            plain(&without_user(&format!("{host}/{}", path.trim_start_matches('/'))))
        }
        _ => local(&std::fs::canonicalize(cwd.join(url)).unwrap_or_else(|_| cwd.join(url))),
    }
}

/// The refspecs for the notes of a remote; `tracking` as given by [`tracking`]. Both are globs: a plain name would make
/// every fetch fail while the remote lacks the ref.
pub fn refspecs(tracking: &str) -> [String; 2] {
    let to = format!("refs/notes/empirica/remotes/{tracking}");
    [format!("+refs/notes/empirica/data/*:{to}/data/*"), format!("+refs/notes/empirica/handoffs*:{to}/handoffs*")]
}

/// The tracking ref of a remote's ref by [`refspecs`]; `None` if they do not fetch it.
pub fn tracking_of(tracking: &str, name: &str) -> Option<String> {
    refspecs(tracking).iter().find_map(|refspec| {
        let (from, to) = refspec.trim_start_matches('+').split_once(':')?;
        let rest = name.strip_prefix(from.trim_end_matches('*'))?;
        Some(format!("{}{rest}", to.trim_end_matches('*')))
    })
}

/// Resolves a remote's name, a URL or a path.
pub fn target(repo: &Repository, remote: &str) -> Result<RemoteTarget> {
    if remote.is_empty() || remote.starts_with('-') {
        return Err(unknown(remote, &names(repo)));
    }
    let Some(remote) = &named(repo, remote) else {
        let path = repo.cwd().join(remote);
        let url = if path.exists() { path.to_string_lossy().into_owned() } else { remote.to_owned() };
        if !path.exists() && !remote.contains([':', '/']) {
            return Err(unknown(remote, &names(repo)));
        }
        let tracking = derived("url", remote);
        return Ok(RemoteTarget { name: remote.to_owned(), fetch: url.clone(), push: url, tracking });
    };
    let (fetch, push) = (url(repo, remote, &[])?, url(repo, remote, &["--push"])?);
    // both directions use the push URL; by name if that is the fetch URL, for the remote's other settings
    let fetch = if fetch == push { remote.to_owned() } else { push.clone() };
    Ok(RemoteTarget { name: remote.to_owned(), fetch, push, tracking: tracking(remote) })
}

/// The first URL of a remote, for pushes with the option `--push`: as configured, by git if a setting can rewrite it.
fn url(repo: &Repository, remote: &str, option: &[&str]) -> Result<String> {
    let urls = repo.config_all(&format!("remote.{remote}.url"));
    let pushed = repo.config_all(&format!("remote.{remote}.pushurl"));
    let is_plain = |urls: &[String]| urls.iter().all(|url| !url.is_empty());
    let is_rewritten = repo.gix().config_snapshot().plumbing().sections_by_name("url").is_some();
    let configured = if option.is_empty() || pushed.is_empty() { &urls } else { &pushed };
    match configured.first() {
        Some(url) if !is_rewritten && is_plain(&urls) && is_plain(&pushed) => Ok(url.clone()),
        _ => {
            let urls = text(git(repo.cwd()).args(["remote", "get-url"]).args(option).arg(remote))?;
            Ok(urls.lines().next().unwrap_or_default().to_owned())
        }
    }
}

/// The remote of a push, from the arguments of its hook: the remote's name (the URL without one) and the URL. Each of
/// several push URLs has its own tracking refs.
pub fn push_target(repo: &Repository, remote: &str, url: &str) -> RemoteTarget {
    let named = names(repo).iter().any(|name| name == remote);
    let (pushed, urls) =
        (repo.config_all(&format!("remote.{remote}.pushurl")), repo.config_all(&format!("remote.{remote}.url")));
    let places = if pushed.is_empty() { &urls } else { &pushed };
    let is_it = named && (places.len() <= 1 || places.first().is_some_and(|first| first == url));
    let same = named && pushed.is_empty() && places.len() <= 1;
    RemoteTarget {
        name: remote.to_owned(),
        fetch: if same { remote.to_owned() } else { url.to_owned() },
        push: url.to_owned(),
        tracking: if is_it { tracking(remote) } else { derived("url", url) },
    }
}

/// The name of a remote's tracking refs below `refs/notes/empirica/remotes/`: its own, or a derived one if that is not
/// a valid ref name or ambiguous.
pub fn tracking(remote: &str) -> String {
    let name = format!("refs/notes/empirica/remotes/{remote}/data/journal");
    let is_ref = gix::refs::FullName::try_from(name.as_str()).is_ok();
    if is_ref && !remote.ends_with("/data") && !remote.starts_with("url-") {
        remote.to_owned()
    } else {
        derived("name", remote)
    }
}

/// The name of the tracking refs of a remote, URL or path, as in [`target`], without asking git.
pub fn tracking_name(repo: &Repository, remote: &str) -> String {
    named(repo, remote).map_or_else(|| derived("url", remote), |name| tracking(&name))
}

/// The remote of that name, else the first with that URL.
fn named(repo: &Repository, remote: &str) -> Option<String> {
    let mut names = names(repo);
    let has_url = |name: &String| repo.config(&format!("remote.{name}.url")).as_deref() == Some(remote);
    let at = names.iter().position(|name| name == remote).or_else(|| names.iter().position(has_url))?;
    Some(names.swap_remove(at))
}

fn derived(kind: &str, remote: &str) -> String {
    format!("{kind}-{:016x}", fnv(remote.as_bytes()))
}

/// The promisor remote of a partial clone; `None` in a complete one.
pub fn promisor(repo: &Repository) -> Option<String> {
    let promised = |name: &String| {
        repo.config_bool(&format!("remote.{name}.promisor")).unwrap_or(false)
            || repo.config(&format!("remote.{name}.partialclonefilter")).is_some()
    };
    repo.config("extensions.partialClone").or_else(|| names(repo).into_iter().find(promised))
}

/// Whether this is a partial clone.
pub fn is_partial(repo: &Repository) -> bool {
    promisor(repo).is_some()
}

fn unknown(remote: &str, names: &[String]) -> Error {
    let error = Error::not_found(format!("cannot find remote '{remote}'")).provided(remote);
    let error = names.iter().fold(error, |error, name| error.alternative(name));
    let error = match names {
        [] => error.reason("no remote is configured in this repository"),
        names => error.reason(format!("the remotes are {}", names.join(", "))).command("git remote -v"),
    };
    error.suggest("Name a remote, or give a URL or a path that exists.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_a_name_without_user_and_scheme() {
        let name = |url: &str| shared(url, Path::new("/none/here"));
        for url in [
            "https://git.example.org/team/app.git",
            "https://user:secret@git.example.org/team/app",
            "ssh://git@git.example.org/team/app.git/",
            "git@git.example.org:team/app.git",
            "git.example.org:/team/app",
            "https://git.example.org/team/app.git?private_token=secret",
        ] {
            assert_eq!(name(url), "git.example.org/team/app", "{url}");
        }
        assert_eq!(name("https://git.example.org:8443/app.git"), "git.example.org:8443/app");
        for path in ["file:///srv/app.git", "app.git", "/srv/app.git/"] {
            let name = name(path);
            assert!(name.starts_with("app-") && name.len() == 12, "{path}: {name}");
        }
    }

    #[test]
    fn a_remote_keeps_its_name_where_that_is_safe() {
        for plain in ["origin", "up/stream", "data", "handoffs", "ü"] {
            assert_eq!(tracking(plain), plain);
        }
        for odd in ["", "..", "a b", "a..b", "x/data", "/x", "x/", "a.lock", "a:b", "url-0", "a\nb"] {
            let name = tracking(odd);
            assert!(name.starts_with("name-") && name.len() == 21, "{odd:?}: {name}");
        }
    }
}
