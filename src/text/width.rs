//! How many columns of a terminal a text takes, and what fits into them.

use crate::text::shorten;

/// How many columns a terminal takes for a character: 2 for those of East Asia and pictures, 0 for marks on others.
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

/// How many columns a text on one line takes.
pub fn measure(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// A line that takes at most `width` columns; what is cut off ends in `…`. See [`short::cut`].
pub fn cut(line: &str, width: usize) -> String {
    shorten::cut(line, width, columns_of)
}
