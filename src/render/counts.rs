//! Counts by kind: a list of objects in JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Number of items of a kind.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "KindCount")]
pub struct KindCount<K = Option<String>> {
    /// The kind; null for lines that are not records.
    kind: K,
    /// How many.
    count: usize,
}

/// Serializes counts as a list of [`KindCount`].
pub(crate) fn listed<K: Serialize, S: Serializer>(counts: &BTreeMap<K, usize>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(counts.iter().map(|(kind, count)| KindCount { kind, count: *count }))
}
