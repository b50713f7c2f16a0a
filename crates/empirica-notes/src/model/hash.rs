//! A short hash for names of files and refs. Not cryptographic.

/// FNV-1a, 64 bits; stable across machines and versions.
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
