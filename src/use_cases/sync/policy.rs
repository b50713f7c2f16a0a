//! Which refs may be pushed, and to which remotes.

use crate::context::CommandContext;
use empirica_notes::error::{Error, Result};
use empirica_notes::git::remotes::transfer;
use empirica_notes::git::{Repository, remotes};
use empirica_notes::model::Namespace;
use empirica_notes::store::{MARKDOWN_REF, data_ref};

/// `empirica.sync`: the notes that may be pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncPolicy {
    All,
    /// With their Markdown.
    Handoffs,
    Nothing,
}

impl SyncPolicy {
    /// As configured; `All` by default.
    pub fn configured(repo: &Repository) -> Result<Self> {
        match repo.config("empirica.sync").as_deref() {
            None | Some("all" | "true") => Ok(SyncPolicy::All),
            Some("handoffs") => Ok(SyncPolicy::Handoffs),
            Some("off" | "false") => Ok(SyncPolicy::Nothing),
            Some(other) => Err(Error::refused(format!("cannot read empirica.sync: its value is '{other}'"))
                .reason("it can be all, handoffs or off")
                .suggest("Set it to one of these.")
                .provided(other)
                .command("git config empirica.sync handoffs")),
        }
    }

    pub fn allows(self, name: &str) -> bool {
        match self {
            SyncPolicy::All => true,
            SyncPolicy::Handoffs => name == MARKDOWN_REF || name == data_ref(Namespace::Handoffs),
            SyncPolicy::Nothing => false,
        }
    }
}

/// The remotes for notes: `empirica.remote`, else the one the current branch tracks, else `origin`, else the only one.
pub fn destinations(repo: &Repository) -> Vec<String> {
    let configured = repo.config_all("empirica.remote");
    if configured.is_empty() { remotes::default(repo).into_iter().collect() } else { configured }
}

/// Whether a git that this program started runs this process.
pub(crate) fn is_nested(context: &CommandContext<'_>) -> bool {
    context.env.get(transfer::GUARD).is_some()
}
