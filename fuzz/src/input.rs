//! Splits the input of a target into parts and numbers.
#![forbid(unsafe_code)]

/// The parts of an input, which NUL keeps apart.
pub fn parts(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|byte| *byte == 0)
}

/// The first `N` parts; empty ones where there are fewer.
pub fn first<const N: usize>(data: &[u8]) -> [&[u8]; N] {
    let mut parts = parts(data);
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

/// The same of a text; `None` when it is none.
pub fn texts<const N: usize>(data: &[u8]) -> Option<[&str; N]> {
    let mut parts = std::str::from_utf8(data).ok()?.split('\0');
    Some(std::array::from_fn(|_| parts.next().unwrap_or_default()))
}

/// An input read byte by byte; zeros behind its end.
pub struct Bytes<'d>(pub &'d [u8]);

impl Bytes<'_> {
    /// The next byte.
    pub fn next(&mut self) -> u8 {
        let byte = self.0.first().copied().unwrap_or(0);
        self.0 = self.0.get(1..).unwrap_or_default();
        byte
    }
}
