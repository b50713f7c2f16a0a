//! `redact`.

use crate::cli::commands::prelude::*;
use crate::sync::redact::{self, view};

/// Remove records from the notes and their history, here and on the remotes
///
/// A stub replaces each record: that it was, of what kind, who redacted it when and why. Its text leaves the notes, their
/// history, the Markdown, the log, the index, the tracking refs and the reflogs; handoffs, checkpoints and whatever else quotes
/// it are rewritten without it. What remotes have of it is then replaced there, with force; nothing else leaves. Clones that still have the
/// text lose it with their next command after a fetch or sync, and cannot bring it back.
///
/// It cannot be undone. Objects that nothing leads to any more stay in a clone until git gc --prune=now; a server removes them when
/// it pleases. A secret that was shared is to be changed all the same. Ends with 1 when a remote did not take it: here it is
/// redacted then, and the same command tries again.
#[derive(Debug, Args)]
pub struct Redact {
    /// The records: ids, or 4 or more characters of one
    #[arg(value_name = "ID", required_unless_present = "secrets")]
    pub records: Vec<String>,
    /// Replace secrets in what is no record instead: in lines that plain git wrote, in Markdown of people, in other files of the
    /// notes, and cut off history of the notes that held one and was sent nowhere
    #[arg(long, conflicts_with_all = ["records", "reason", "ai"])]
    pub secrets: bool,
    /// Why; it is stored with the stub, so not the text itself
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Tell what would be redacted and what quotes it, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Who redacts [default: EMPIRICA_AI, else empirica.ai, else user.name]
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
