//! Remotes: which there are, which one is meant, and where what is fetched from it is kept.

pub mod transfer;

use gix::bstr::ByteSlice;

use crate::error::{Error, Result};
use crate::git::process::{git, output};
use crate::git::repository::Repository;
use crate::model::hash::fnv;

/// A place notes travel to and from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemotePlace {
    /// As the user knows it: the remote's name, or the URL.
    pub name: String,
    /// What git is told to fetch from: a remote's name or a URL.
    pub fetch: String,
    /// The URL to push to.
    pub push: String,
    /// The name its tracking refs are kept under.
    pub tracking: String,
}

/// The names of all configured remotes, sorted.
pub fn names(repo: &Repository) -> Vec<String> {
    repo.gix().remote_names().iter().map(|name| name.to_str_lossy().into_owned()).collect()
}

/// The remote that is meant when none is named: the one the current branch tracks, else `origin`, else the only one.
pub fn default(repo: &Repository) -> Option<String> {
    preferred(repo, &names(repo))
}

/// The same out of some remotes.
pub fn preferred(repo: &Repository, names: &[String]) -> Option<String> {
    let branch = repo.head().ok().and_then(|head| head.branch);
    let tracked = branch.and_then(|branch| repo.config(&format!("branch.{branch}.remote")));
    let known = |name: &String| names.contains(name);
    tracked.filter(known).or_else(|| Some("origin".to_owned()).filter(known)).or_else(|| match names {
        [only] => Some(only.clone()),
        _ => None,
    })
}

/// The refspecs under which the notes of a remote are fetched; `tracking` as [`tracking`] gives it. Both are globs: a plain
/// name would make every fetch fail while the remote lacks the ref.
pub fn refspecs(tracking: &str) -> [String; 2] {
    let to = format!("refs/notes/empirica/remotes/{tracking}");
    [format!("+refs/notes/empirica/data/*:{to}/data/*"), format!("+refs/notes/empirica/handoffs*:{to}/handoffs*")]
}

/// Where [`refspecs`] put a ref of the remote; `None` of one that they do not fetch.
pub fn tracking_of(tracking: &str, name: &str) -> Option<String> {
    refspecs(tracking).iter().find_map(|refspec| {
        let (from, to) = refspec.trim_start_matches('+').split_once(':')?;
        let rest = name.strip_prefix(from.trim_end_matches('*'))?;
        Some(format!("{}{rest}", to.trim_end_matches('*')))
    })
}

/// A remote by name, or a URL or path. Asks git for the URLs.
pub fn place(repo: &Repository, given: &str) -> Result<RemotePlace> {
    let names = names(repo);
    if given.is_empty() || given.starts_with('-') {
        return Err(unknown(given, &names));
    }
    if !names.iter().any(|name| name == given) {
        let path = repo.cwd().join(given);
        let url = if path.exists() { path.to_string_lossy().into_owned() } else { given.to_owned() };
        return match names.iter().find(|name| repo.config(&format!("remote.{name}.url")).as_deref() == Some(given)) {
            Some(name) => place(repo, name),
            None if path.exists() || given.contains([':', '/']) => Ok(RemotePlace {
                name: given.to_owned(),
                fetch: url.clone(),
                tracking: derived("url", given),
                push: url,
            }),
            None => Err(unknown(given, &names)),
        };
    }
    let url = |option: &[&str]| -> Result<String> {
        let out = output(git(repo.cwd()).args(["remote", "get-url"]).args(option).arg(given))?;
        Ok(String::from_utf8_lossy(&out).lines().next().unwrap_or_default().to_owned())
    };
    let (fetch, push) = (url(&[])?, url(&["--push"])?);
    // one repository is talked to, the one that is written to; by name where that is the same, for its other settings
    let fetch = if fetch == push { given.to_owned() } else { push.clone() };
    Ok(RemotePlace { name: given.to_owned(), fetch, push, tracking: tracking(given) })
}

/// The place a push goes to, as git tells its hook: the remote's name (the URL when it has none) and the URL. Of a remote
/// with several URLs to push to each has tracking refs of its own.
pub fn pushed_to(repo: &Repository, remote: &str, url: &str) -> RemotePlace {
    let named = names(repo).iter().any(|name| name == remote);
    let (pushed, urls) =
        (repo.config_all(&format!("remote.{remote}.pushurl")), repo.config_all(&format!("remote.{remote}.url")));
    let places = if pushed.is_empty() { &urls } else { &pushed };
    let is_it = named && (places.len() <= 1 || places.first().is_some_and(|first| first == url));
    let same = named && pushed.is_empty() && places.len() <= 1;
    RemotePlace {
        name: remote.to_owned(),
        fetch: if same { remote.to_owned() } else { url.to_owned() },
        push: url.to_owned(),
        tracking: if is_it { tracking(remote) } else { derived("url", url) },
    }
}

/// The name under which what is fetched from a remote is kept, below `refs/notes/empirica/remotes/`: its own, or a derived
/// one where that would be no ref name, or be taken for another remote's.
pub fn tracking(remote: &str) -> String {
    let name = format!("refs/notes/empirica/remotes/{remote}/data/journal");
    let is_ref = gix::refs::FullName::try_from(name.as_str()).is_ok();
    if is_ref && !remote.ends_with("/data") && !remote.starts_with("url-") {
        remote.to_owned()
    } else {
        derived("name", remote)
    }
}

/// The name under which what is fetched from a remote, a URL or a path is kept, as [`place`] says it; git is not asked.
pub fn kept_under(repo: &Repository, given: &str) -> String {
    let names = names(repo);
    let is_it = |name: &&String| *name == given || repo.config(&format!("remote.{name}.url")).as_deref() == Some(given);
    let named = names.iter().find(|name| *name == given).or_else(|| names.iter().find(is_it));
    named.map_or_else(|| derived("url", given), |name| tracking(name))
}

fn derived(what: &str, text: &str) -> String {
    format!("{what}-{:016x}", fnv(text.as_bytes()))
}

/// The remote that keeps objects which are missing here; `None` when all are to be here.
pub fn promisor(repo: &Repository) -> Option<String> {
    let promised = |name: &String| {
        repo.config_bool(&format!("remote.{name}.promisor")).unwrap_or(false)
            || repo.config(&format!("remote.{name}.partialclonefilter")).is_some()
    };
    repo.config("extensions.partialClone").or_else(|| names(repo).into_iter().find(promised))
}

/// Whether objects can be missing here because a remote keeps them.
pub fn is_partial(repo: &Repository) -> bool {
    promisor(repo).is_some()
}

fn unknown(given: &str, names: &[String]) -> Error {
    let error = Error::not_found(format!("there is no remote '{given}'")).provided(given);
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
