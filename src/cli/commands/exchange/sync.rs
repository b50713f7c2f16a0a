//! `sync`.

use crate::cli::commands::prelude::*;
use crate::render::safe;
use crate::sync::{run, view};

/// Exchange the notes with a remote: fetch, unite, push
///
/// What others shared is fetched and united with yours, record by record; what is new here is pushed. When somebody is
/// faster, it is done again. What may leave is empirica.sync (all, handoffs, off), where to is empirica.remote (may be
/// given several times), else the remote the current branch tracks, else origin, else the only one.
#[derive(Debug, Args)]
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
}

impl Sync {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let request = run::SyncRequest {
            remote: self.remote,
            dry_run: self.dry_run,
            allow_secret: self.allow_secret,
            shown: context.output.shows_progress(),
            unattended: false,
        };
        let opened = context.open(Selection::default())?;
        let mut unsaid = Ok(());
        let outcome = run::run(&opened, &request, &mut |line| {
            if !context.output.as_json {
                unsaid = context.output.say(&safe::lines(line));
            }
        });
        unsaid.and(outcome).map(|outcome| view::answer(&outcome))
    }
}
