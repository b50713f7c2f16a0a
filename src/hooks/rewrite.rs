//! After an amend or a rebase: notes follow the commits that took the place of others, all in one batch.

use crate::context::CommandContext;
use crate::hooks::trouble::troubles;
use empirica_notes::error::Result;
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::store::Follow;

/// Copies the notes of each rewritten commit. `input` has `<old> <new>[ <more>]` a line; other lines are passed over.
/// Returns what went wrong without losing anything.
pub(crate) fn run(context: &CommandContext<'_>, input: &[u8]) -> Result<Vec<String>> {
    let moves: Vec<(Oid, Oid)> = String::from_utf8_lossy(input)
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((parse_oid(words.next()?)?, parse_oid(words.next()?)?))
        })
        .collect();
    let mut said = context.store.reconcile();
    let follows: Vec<Follow> = moves.iter().map(|(from, to)| Follow { from: *from, to: *to, only: None }).collect();
    context.store.move_pending(&moves);
    said.extend(troubles(context.store.follow_surely(&follows)?));
    Ok(said)
}
