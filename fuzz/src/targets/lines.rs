//! The union of notes of lines is commutative, associative and idempotent, and loses no line.

use std::collections::BTreeSet;

use crate::input::first;
use empirica_notes::format::lines::{canonical, split, union};

pub fn fuzz(data: &[u8]) {
    let [a, b, c] = first(data);
    let ab = union(a, b);
    assert_eq!(ab, union(b, a), "commutative");
    assert_eq!(union(&ab, c), union(a, &union(b, c)), "associative");
    assert_eq!(union(&ab, &ab), ab, "idempotent");
    assert_eq!(union(&ab, b), ab, "what is in it changes nothing");
    assert_eq!(canonical(split(&ab)), ab, "canonical");
    let set = |note| split(note).collect::<BTreeSet<&[u8]>>();
    assert_eq!(set(&ab), set(a).union(&set(b)).copied().collect(), "no line is lost, none is new");
    assert!(ab.is_empty() || ab.ends_with(b"\n"));
}
