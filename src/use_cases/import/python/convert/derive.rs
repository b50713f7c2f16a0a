//! Deterministic IDs: importing the same payload in any clone gives the same IDs.

use sha2::{Digest, Sha256};

use empirica_notes::model::{Id, SessionId};

fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in ["empirica-python"].iter().chain(parts) {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().into()
}

/// The ID of a record made at `ms`, from its ref, its role and further distinguishing parts.
pub fn id(ms: u64, parts: &[&str]) -> Id {
    let mut bits = [0; 10];
    bits.copy_from_slice(&digest(parts)[..10]);
    Id::derived(ms, &bits)
}

/// The session of the Python tool: its ID if a UUID, otherwise one derived from it.
pub fn session(original: &str) -> SessionId {
    SessionId::parse(&original.to_ascii_lowercase()).unwrap_or_else(|| {
        let mut bits = [0; 16];
        bits.copy_from_slice(&digest(&["session", original])[..16]);
        SessionId::derived(bits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_the_same_and_else_is_else() {
        let one = id(1_700_000_000_123, &["a", "bc"]);
        assert_eq!(one, id(1_700_000_000_123, &["a", "bc"]));
        assert_ne!(one, id(1_700_000_000_123, &["ab", "c"]));
        assert_eq!(one.ms(), 1_700_000_000_123);
        let own = "75C755D2-f3ff-4a18-a6f1-e2f6a59c732b";
        assert_eq!(session(own).as_str(), own.to_ascii_lowercase());
        assert_eq!(session("test-cli-create"), session("test-cli-create"));
        assert_ne!(session("test-cli-create"), session("test-cli"));
    }
}
