//! A short hash for names of files and refs. Not cryptographic.

/// The prime of FNV.
pub const PRIME: u64 = 0x0100_0000_01b3;

/// FNV-1a, 64 bits; stable across machines and versions.
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}
