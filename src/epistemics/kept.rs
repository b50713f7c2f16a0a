//! What follows from one session alone and is asked of all of them together: small, so that it can be kept.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::belief::differences;
use super::facts::{Facts, facts};
use super::gathered::Gathered;
use super::track::Entry;
use crate::model::{Id, Vector, Vectors};

/// What is kept of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// What metrics count.
    pub facts: Facts,
    /// The vectors of the first PREFLIGHT; `None` without one.
    pub before: Option<Vectors>,
    /// The vectors of the POSTFLIGHT that ended the work; `None` without one.
    pub after: Option<Vectors>,
    /// What it forecast, and what came of it.
    pub entry: Entry,
    /// What it thought of itself before and after, a vector each.
    pub differences: Vec<(Vector, f64)>,
}

/// What is kept of a session. `aside` has those of its handoffs that a newer one took the place of.
pub fn kept(gathered: &Gathered, aside: &BTreeSet<Id>) -> Kept {
    Kept {
        facts: facts(gathered, aside),
        before: gathered.before().cloned(),
        after: gathered.after().cloned(),
        entry: Entry::of(gathered),
        differences: differences(gathered),
    }
}
