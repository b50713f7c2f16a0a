//! The remotes of the repository, and the refspecs that fetch their notes into tracking refs.

use std::collections::BTreeMap;

use empirica_notes::error::Result;
use empirica_notes::git::Repository;
use empirica_notes::git::remotes::{refspecs, tracking};
use empirica_notes::git::repository::config;
use empirica_notes::git::repository::config::{ConfigValue, valid_ref};
use empirica_notes::store::PREFIX;

/// A remote that has a URL.
#[derive(Debug, Clone, Default)]
pub struct Remote {
    pub name: String,
    /// Fetch refspecs.
    pub fetch: Vec<ConfigValue>,
    /// Whether the repository configures it, not the user's global configuration.
    pub is_local: bool,
    /// Whether it mirrors all refs, in either direction.
    pub mirror: bool,
}

/// Both sides of a fetch refspec, without the `+`; `None` for one that is negative or stores nothing.
pub fn sides(refspec: &str) -> Option<(&str, &str)> {
    let refspec = refspec.strip_prefix('+').unwrap_or(refspec);
    refspec.split_once(':').filter(|(_, to)| !to.is_empty() && !refspec.starts_with('^'))
}

impl Remote {
    /// Whether its name can be part of a ref.
    pub fn is_usable(&self) -> bool {
        valid_ref(&format!("{PREFIX}remotes/{}/handoffs", self.name))
    }

    /// Whether it gets our refspecs.
    pub fn is_source(&self) -> bool {
        self.is_local && !self.mirror && self.is_usable()
    }

    /// Missing refspecs.
    pub fn missing(&self) -> Vec<String> {
        let is_set = |refspec: &String| self.fetch.iter().any(|value| sides(&value.value) == sides(refspec));
        refspecs(&tracking(&self.name)).into_iter().filter(|refspec| !is_set(refspec)).collect()
    }

    /// Our refspecs from before the remote was renamed.
    pub fn misnamed(&self) -> Vec<String> {
        let other = |value: &&ConfigValue| {
            let ours = sides(&value.value).and_then(|(_, to)| to.strip_prefix(PREFIX)?.strip_prefix("remotes/"));
            let name = ours.and_then(|to| to.strip_suffix("/data/*").or_else(|| to.strip_suffix("/handoffs*")));
            name.is_some_and(|name| name != self.name && refspecs(name).contains(&value.value))
        };
        let local = self.fetch.iter().filter(|value| value.scope == "local");
        local.filter(other).map(|value| value.value.clone()).collect()
    }
}

/// Remotes with a URL, by name.
pub fn list(repo: &Repository) -> Result<Vec<Remote>> {
    let mut out: BTreeMap<String, Remote> = BTreeMap::new();
    let mut with_url = Vec::new();
    for value in config::matching(repo, |key| key.starts_with("remote."))? {
        // a remote's own name can begin so, too
        let key = value.key.strip_prefix("remote.").unwrap_or_default().to_owned();
        let Some((name, what @ ("url" | "mirror" | "fetch"))) = key.rsplit_once('.') else { continue };
        let remote = out.entry(name.to_owned()).or_default();
        remote.name = name.to_owned();
        match what {
            "url" => {
                remote.is_local |= value.in_repository();
                with_url.push(name.to_owned());
            }
            "mirror" => remote.mirror |= !matches!(value.value.as_str(), "false" | "no" | "off" | "0"),
            _ => {
                remote.mirror |= sides(&value.value).is_some_and(|(from, to)| from == "refs/*" && to == "refs/*");
                remote.fetch.push(value);
            }
        }
    }
    Ok(out.into_values().filter(|remote| with_url.contains(&remote.name)).collect())
}
