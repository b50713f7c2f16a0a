//! Width of texts in terminal columns.

use crate::text::shorten;

/// Columns of a character: 2 for East Asian and emoji, 0 for combining marks.
fn columns_of(c: char) -> usize {
    match c as u32 {
        0..=0x2ff => 1,
        0x300..=0x36f
        | 0x483..=0x489
        | 0x591..=0x5bd
        | 0x610..=0x61a
        | 0x64b..=0x65f
        | 0x20d0..=0x20ff
        | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0x303e | 0x3041..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1f64f | 0x1f900..=0x1f9ff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Columns of a text on one line.
pub fn measure(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Shortens a line to `width` columns, between words where it can.
pub fn cut(line: &str, width: usize) -> String {
    shorten::cut(line, width, columns_of)
}
