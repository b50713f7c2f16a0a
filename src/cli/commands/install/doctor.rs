//! `doctor`.

use crate::cli::commands::prelude::*;
use crate::cli::progress::Progress;
use crate::use_cases::setup::doctor::{self, view};
use crate::use_cases::sync::repair;

/// Find faults of the setup and the records; --fix repairs them
///
/// Checks the installation, hooks, configuration, refs and objects, and names a command that repairs each fault. Lists
/// the commits with handoffs that vanished, or were squashed, cherry-picked or filtered, with the commit that replaced each: by
/// filter-repo's commit map; by the patch-id of a whole branch (a squash); by the patch-id of the commit; by tree, author
/// and date (by the tree alone if the commit is missing); by an amend in the reflog. The first method with a result decides.
/// If it finds several commits, choose one with --to.
///
/// Without --fix it changes nothing. Exits with 1 if it finds a fault.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Repair everything without a choice: hooks and settings of init, pending records, handoffs whose commits vanished
    #[arg(long, alias = "apply")]
    pub fix: bool,
    /// Attach all records of the commit OLD, which may be missing, to NEW; can be given several times
    #[arg(long, value_name = "OLD=NEW", value_parser = moved)]
    pub to: Vec<(String, String)>,
    /// Only the handoffs whose commits vanished
    #[arg(long, hide = true, conflicts_with = "secrets")]
    pub repairs: bool,
    /// Also scan all stored texts for secrets; slow in a large repository
    #[arg(long)]
    pub secrets: bool,
}

impl Doctor {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let progress = Progress::new(context.output, "scanning notes");
        let context = context.open(Selection::default())?;
        let repairs = repair::RepairRequest { apply: self.fix, to: self.to };
        if self.repairs {
            return Ok(repair::view::answer(&repair::run(&context, &repairs)?));
        }
        let mut outcome = doctor::run(&context, &repairs)?;
        if self.secrets {
            outcome.checks.extend(doctor::secrets(&context, &mut |done, of| progress.set(done, of)));
        }
        Ok(view::answer(&outcome))
    }
}

fn moved(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.to_owned(), new.to_owned())),
        _ => Err("it must be of the form OLD=NEW".to_owned()),
    }
}
