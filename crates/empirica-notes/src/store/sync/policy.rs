//! Which records may leave the repository.

use crate::error::{Error, Result};
use crate::git::Repository;
use crate::model::Namespace;
use crate::store::{MARKDOWN_REF, data_ref};

/// `empirica.sync`: the records that may leave the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncPolicy {
    /// All records.
    All,
    /// Handoffs, with their Markdown.
    Handoffs,
    /// None.
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

    /// Whether a ref may be pushed.
    pub fn allows(self, name: &str) -> bool {
        match self {
            SyncPolicy::All => true,
            SyncPolicy::Handoffs => name == MARKDOWN_REF || name == data_ref(Namespace::Handoffs),
            SyncPolicy::Nothing => false,
        }
    }
}
