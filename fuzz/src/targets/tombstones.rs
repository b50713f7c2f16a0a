//! The redactions of a ref: what is parsed can be written, and a union is the same in either order and keeps every redaction.

use crate::input::first;
use empirica_notes::store::Tombstones;

pub fn fuzz(data: &[u8]) {
    let [a, b, line] = first(data);
    let [a, b] = [a, b].map(Tombstones::parse);
    for one in [&a, &b] {
        assert_eq!(&Tombstones::parse(one.text().as_bytes()), one, "{}", one.text());
        assert_eq!(&one.united(one), one, "idempotent");
    }
    let both = a.united(&b);
    assert_eq!(both, b.united(&a), "commutative");
    assert_eq!(both.united(&a), both, "what is in it changes nothing");
    assert!(!a.lacks(&both) || both != a);
    for one in [&a, &b] {
        assert!(one.redacted.iter().all(|(id, tombstone)| both.redacted[id].of.is_superset(&tombstone.of)));
        assert!(one.gone().all(|id| both.gone().any(|other| other == id)), "a redacted record stays redacted");
        assert!(one.permits(line) || !both.permits(line) || both.redacted != one.redacted);
    }
}
