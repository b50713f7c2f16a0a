//! After an amend or a rebase: copies notes to the rewritten commits, in one batch.

use crate::context::CommandContext;
use crate::use_cases::hooks::errors::errors_of;
use empirica_notes::error::Result;
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::store::Follow;

/// Copies the notes of each rewritten commit. Lines of `input` are `<old> <new>[ <more>]`; others are skipped.
/// Returns warnings; no record is lost.
pub(crate) fn run(context: &CommandContext<'_>, input: &[u8]) -> Result<Vec<String>> {
    let moves: Vec<(Oid, Oid)> = String::from_utf8_lossy(input)
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((parse_oid(words.next()?)?, parse_oid(words.next()?)?))
        })
        .collect();
    let mut warnings = context.store.reconcile();
    let follows: Vec<Follow> = moves.iter().map(|(from, to)| Follow { from: *from, to: *to, only: None }).collect();
    context.store.pending_handoffs().follow(&moves);
    warnings.extend(errors_of(context.store.writer().follow_durably(&follows)?));
    Ok(warnings)
}
