//! The project of a repository: its first root commit, name, description and remote URLs.

use crate::git::process::{git, text};
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid, remotes};

/// The start of git's default description.
const UNNAMED: &str = "Unnamed repository";

/// The first root commit of HEAD's history; `None` if HEAD is unborn, and in a shallow clone, which lacks it. Walks the
/// whole history.
pub fn root(repo: &Repository) -> Option<Oid> {
    if repo.is_shallow() || repo.head().ok()?.commit.is_none() {
        return None;
    }
    let roots = text(git(repo.cwd()).args(["rev-list", "--max-parents=0", "HEAD"])).ok()?;
    // newest first
    parse_oid(roots.lines().last()?)
}

/// The name of the repository: from the default remote's URL, else of its folder.
pub fn name(repo: &Repository) -> String {
    let remote = remotes::default(repo).and_then(|name| repo.config(&format!("remote.{name}.url")));
    let common = repo.common_dir();
    let folder = if common.ends_with(".git") { common.parent().unwrap_or(&common) } else { &common };
    let last = |text: String| {
        let text = text.trim_end_matches('/').trim_end_matches("/.git").trim_end_matches(".git").trim_end_matches('/');
        text.rsplit(['/', ':']).next().unwrap_or_default().to_owned()
    };
    let name = remote.map(last).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| last(folder.to_string_lossy().into_owned()))
}

/// The contents of git's `description` file; `None` for the default.
pub fn description(repo: &Repository) -> Option<String> {
    let text = std::fs::read_to_string(repo.common_dir().join("description")).ok()?;
    let text = text.trim();
    (!text.is_empty() && !text.starts_with(UNNAMED)).then(|| text.to_owned())
}

/// The URLs of the remotes, by remote name, without duplicates, user names and passwords.
pub fn repos(repo: &Repository) -> Vec<String> {
    let mut out = Vec::new();
    for url in remotes::names(repo).iter().filter_map(|name| repo.config(&format!("remote.{name}.url"))) {
        let url = without_user(&url);
        if !out.contains(&url) {
            out.push(url);
        }
    }
    out
}

/// A URL without user and password. In `git@host:path` the user is part of the address and stays.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rfind('@').map_or(&rest[..end], |at| &rest[at + 1..end]);
    format!("{scheme}://{host}{}", &rest[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_left_in_a_url() {
        for (url, bare) in [
            ("https://ada:secret@host.org/x.git", "https://host.org/x.git"),
            ("https://to:ken@with@host.org/x", "https://host.org/x"),
            ("ssh://git@host.org:22/x@y", "ssh://host.org:22/x@y"),
            ("git@host.org:x/y.git", "git@host.org:x/y.git"),
            ("/srv/a@b.git", "/srv/a@b.git"),
            ("https://host.org", "https://host.org"),
        ] {
            assert_eq!(without_user(url), bare);
        }
    }
}
