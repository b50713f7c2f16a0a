//! Shortens quoted texts; records keep them whole. Never cuts a word, an ID or a path that would fit by itself.

use crate::text::similarity::is_dense;

/// A text on one line, cut to `most` characters with `…`. An empty text stays empty.
pub fn short(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > most * 4 {
            break;
        }
    }
    cut(&line, most, |_| 1)
}

/// A line cut with `…` to `most`, in units of `width`.
pub fn cut(line: &str, most: usize, width: impl Fn(char) -> usize) -> String {
    let takes = |text: &str| text.chars().map(&width).sum::<usize>();
    if takes(line) <= most {
        return line.to_owned();
    }
    let Some(mut left) = most.checked_sub(width('…')) else { return String::new() };
    let beyond = line.char_indices().find(|(_, c)| match left.checked_sub(width(*c)) {
        Some(rest) => (left = rest, false).1,
        None => true,
    });
    let end = word_end(line, beyond.map_or(line.len(), |(at, _)| at), |word| takes(word) <= most);
    format!("{}…", line[..end].trim_end())
}

/// Where to cut a text that has room up to `end`: before the word there if it `fits` by itself and is not the first.
/// In scripts without spaces, each character is a word.
pub fn word_end(text: &str, end: usize, fits: impl Fn(&str) -> bool) -> usize {
    let parts = |c: char| c.is_whitespace() || is_dense(c);
    let (before, after) = text.split_at(end);
    if after.starts_with(parts) {
        return end;
    }
    let begin = before.rfind(parts).map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
    let word_end = end + after.find(parts).unwrap_or(after.len());
    let something = text[..begin].contains(char::is_alphanumeric);
    if something && fits(&text[begin..word_end]) { begin } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_ends_in_an_ellipsis() {
        assert_eq!(short(" a\n b\tc ", 5), "a b c");
        assert_eq!(short("a b c d", 5), "a b…");
        assert_eq!(short("äöüßé", 5), "äöüßé");
        assert_eq!(short("äöüßéx", 5), "äöüß…");
        assert_eq!(short("", 5), "");
        assert_eq!(short(&"x".repeat(1000), 10).chars().count(), 10);
        assert_eq!(cut("abc", 0, |_| 1), "");
    }

    #[test]
    fn no_word_is_split_but_one_that_is_too_long_by_itself() {
        assert_eq!(short("see src/epistemics/short.rs now", 24), "see…");
        assert_eq!(short("see a.rs:12 now", 12), "see a.rs:12…");
        assert_eq!(short(&format!("see {}", "x/".repeat(30)), 10), "see x/x/x…");
        assert_eq!(
            short("  - src/epistemics/short.rs is long", 20),
            "- src/epistemics/sh…",
            "else nothing would be left"
        );
        assert_eq!(short("修复登录令牌", 4), "修复登…");
        assert_eq!(short("the key 令牌缓存", 11), "the key 令牌…");
    }
}
