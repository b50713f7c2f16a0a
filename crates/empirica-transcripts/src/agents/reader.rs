//! What reads the rows of an agent.

use crate::summary::fold::Fold;

/// Takes the rows of one agent.
pub(crate) trait Reader {
    /// Takes a row. `false`, and nothing taken, when it is no JSON.
    fn row(&mut self, text: &str, fold: &mut Fold) -> bool;

    /// There are no more rows.
    fn end(&mut self, _fold: &mut Fold) {}
}
