//! A short hash for names of files and refs; no protection against anybody.

/// FNV-1a, 64 bits: short, and the same on every machine and version.
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
