//! `sync`.

use crate::cli::commands::prelude::*;
use crate::render::safe;
use crate::use_cases::sync::{run, view};

/// Exchange the notes with a remote: fetch, merge, push
///
/// Fetches the remote's records and merges them with yours, record by record; pushes new records, and retries if the
/// remote changed meanwhile. empirica.sync selects the records that may leave (all, handoffs, off), empirica.remote the
/// remotes (can be set several times); the default is the remote the current branch tracks, else origin, else the only one.
#[derive(Debug, Args)]
pub struct Sync {
    /// The remote's name, or a URL
    #[arg(value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Fetch into the tracking refs only, and list the records to exchange; change no other ref and push nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Also push records that contain a likely secret; otherwise their refs are not pushed
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
        let mut written = Ok(());
        let outcome = run::run(&opened, &request, &mut |line| {
            if !context.output.as_json {
                written = context.output.say(&safe::lines(line));
            }
        });
        written.and(outcome).map(|outcome| view::answer(&outcome))
    }
}
