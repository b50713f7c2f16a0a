//! `sync`.

use clap::Args;

use super::Form;

/// Exchange the notes with a remote: fetch, unite, push
///
/// What others shared is fetched and united with yours, record by record; what is new here is pushed. When somebody is
/// faster, it is done again. What may leave is empirica.sync (all, handoffs, off), where to is empirica.remote (may be
/// given several times), else the remote the current branch tracks, else origin, else the only one.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Sync {
    /// The remote's name, or a URL
    #[arg(value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Fetch into the tracking refs only, and list what would travel; change no ref of yours and push nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Send records that hold what looks like a secret, too; without it their refs stay here
    #[arg(long, conflicts_with = "dry_run")]
    pub allow_secret: bool,
    #[command(flatten)]
    pub form: Form,
}
