//! Repair: handoffs whose commits vanished.

use clap::Args;

use super::Form;

/// Re-attach the handoffs of commits that vanished or were squashed, cherry-picked or filtered
///
/// Looks for what took the place of each commit with handoffs that HEAD's history does not hold: by filter-repo's commit
/// map; by the patch-id of a whole branch (a squash); by the patch-id of the commit; by tree, author and date (by the tree
/// alone, if the commit is not here any more); by an amend that the reflog remembers. The first of these that finds
/// anything decides. Where it finds several commits, you choose with --to. All records of the commit follow. Nothing is
/// written without --apply.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Repair {
    /// Do it
    #[arg(long)]
    pub apply: bool,
    /// NEW took the place of OLD: a commit with records, which need not be here, and a revision (repeatable)
    #[arg(long, value_name = "OLD=NEW", value_parser = moved)]
    pub to: Vec<(String, String)>,
    #[command(flatten)]
    pub form: Form,
}

fn moved(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.to_owned(), new.to_owned())),
        _ => Err("it must be of the form OLD=NEW".to_owned()),
    }
}
