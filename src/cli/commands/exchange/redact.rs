//! `redact`.

use crate::cli::commands::prelude::*;
use crate::use_cases::sync::redact::{self, view};

/// Remove records from the notes and their history, here and on the remotes
///
/// A stub replaces each record, with its kind and the agent, time and reason of the redaction. Removes its text from the
/// notes, their history, the Markdown, the log, the index, the tracking refs and the reflogs, and from handoffs, checkpoints
/// and other records that quote it. Then replaces it on the remotes by a forced push that sends nothing else. Other clones
/// lose the text with their next command after a fetch or sync, and cannot restore it.
///
/// It cannot be undone. Unreachable objects stay in a clone until git gc --prune=now, and on a server until it collects
/// them; pages, exports and backups keep it: change a shared secret all the same. Exits with 1 if a remote refuses: the text is then redacted here, and the
/// same command retries.
#[derive(Debug, Args)]
pub struct Redact {
    /// The records: ids, or 4 or more characters of one
    #[arg(value_name = "ID", required_unless_present = "secrets")]
    pub records: Vec<String>,
    /// Instead, replace secrets outside of records: in lines written with plain git, in people's Markdown and in other files of
    /// the notes, and drop unpushed history of the notes with a secret
    #[arg(long, conflicts_with_all = ["records", "reason", "ai"])]
    pub secrets: bool,
    /// The reason, stored with the stub; must not repeat the text
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// List the records to redact and their quotes, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// The redacting agent [default: EMPIRICA_AI, else empirica.ai, else user.name]
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
}

impl Redact {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        if self.secrets {
            return Ok(view::scrubbed(&redact::scrub(&context.open(Selection::default())?, self.dry_run)?));
        }
        let reason = context.input().optional(self.reason)?;
        let shown = context.output.shows_progress();
        let request = redact::RedactRequest { records: self.records, reason, dry_run: self.dry_run, shown };
        let opened = context.open(Selection { ai: self.ai, ..Default::default() })?;
        Ok(view::answer(&redact::run(&opened, &request)?))
    }
}
