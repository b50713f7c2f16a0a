//! The union of Markdown notes is commutative, associative and idempotent, and keeps all content.

use crate::input::first;
use empirica_notes::format::blocks::{mend, union, union_all, with_texts, without};

fn words(note: &[u8]) -> Vec<String> {
    let mut words: Vec<String> = String::from_utf8_lossy(note).split_whitespace().map(str::to_owned).collect();
    words.sort();
    words.dedup();
    words
}

pub fn fuzz(data: &[u8]) {
    let [a, b, c] = first(data);
    let ab = union(a, b);
    assert_eq!(ab, union(b, a), "commutative");
    assert_eq!(union(&ab, c), union(a, &union(b, c)), "associative");
    assert_eq!(union(&ab, c), union_all([a, b, c]), "all at once");
    assert_eq!(union(&ab, &ab), ab, "idempotent");
    assert_eq!(union(&ab, b), ab, "what is in it changes nothing");
    // normalizing a note loses no word unless it has a block in two versions
    let once = union(a, b"");
    if String::from_utf8_lossy(a).matches("\n-- empirica ").count() < 2 {
        let left = words(&once);
        assert!(words(a).iter().all(|word| left.binary_search(word).is_ok()
            || word == "--"
            || word == "empirica:"
            || word == "another"
            || word == "note"));
    }
    let mended = mend(a, b);
    assert_eq!(mend(&mended, b), mended, "mended is mended");
    assert_eq!(without(&ab, |_| false), None);
    assert_eq!(with_texts(&ab, |_| None), None);
    if let Some(none) = without(&ab, |_| true) {
        assert_eq!(without(&none, |_| true), None);
    }
}
