//! Finds and removes a text in another: whole, truncated, or in part.

/// The replacement of a redacted text.
pub const MARK: &str = "[redacted]";

/// The minimum length of a text to be replaced inside others, in characters. Shorter ones are replaced only where they are
/// the whole value, in composed records.
const INSIDE: usize = 12;
/// The length limit of a truncated beginning, in characters.
const CUT: usize = 2000;

/// The escaping of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escaping {
    /// None.
    None,
    /// Backslashes before punctuation.
    Markdown,
}

/// Whether a text is long enough to be searched for inside others.
pub fn is_long(text: &str) -> bool {
    text.chars().nth(INSIDE - 1).is_some()
}

/// A text with each run of white space replaced by one space, and the original offsets.
pub struct OneLine {
    /// The text.
    pub text: String,
    /// The original offset of each byte and of the end.
    from: Vec<usize>,
}

impl OneLine {
    /// In Markdown, drops backslashes before punctuation.
    pub fn of(text: &str, escaping: Escaping) -> Self {
        let mut out = OneLine { text: String::with_capacity(text.len()), from: Vec::with_capacity(text.len() + 1) };
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let escapes = |next: Option<&(usize, char)>| next.is_some_and(|(_, next)| next.is_ascii_punctuation());
            if escaping == Escaping::Markdown && c == '\\' && escapes(chars.peek()) {
                continue;
            }
            match c.is_whitespace() {
                true if out.text.ends_with(' ') => continue,
                true => out.text.push(' '),
                false => out.text.push(c),
            }
            out.from.resize(out.text.len(), at);
        }
        out.from.push(text.len());
        out
    }
}

/// Removes `gone`, a one-line text, from `text`: whole, truncated before an ellipsis, or a part between two ellipses.
/// `None` if it does not occur. A short text matches only the whole of `text`, and only if `short_counts`.
pub fn without_one(text: &str, gone: &str, short_counts: bool, escaping: Escaping) -> Option<String> {
    let line = OneLine::of(text, escaping);
    let unescaped = OneLine::of(gone, escaping).text;
    let gone = unescaped.as_str();
    if !is_long(gone) {
        return (short_counts && line.text.trim() == gone).then(|| MARK.to_owned());
    }
    let mut ranges: Vec<(usize, usize)> = line.text.match_indices(gone).map(|(at, _)| (at, at + gone.len())).collect();
    let marks: Vec<usize> = line.text.match_indices('…').map(|(at, _)| at).collect();
    for (n, &mark) in marks.iter().enumerate() {
        let after = mark + '…'.len_utf8();
        if let Some(begins) = begins_before(&line.text[..mark], gone) {
            ranges.push((begins, after));
        }
        // the part after an ellipsis, up to the next
        let end = marks.get(n + 1).copied().unwrap_or(line.text.len());
        let piece = line.text[after..end].trim();
        if is_long(piece) && gone.contains(piece) {
            ranges.push((mark, end));
        }
    }
    if ranges.is_empty() {
        return None;
    }
    ranges.sort_unstable();
    let mut out = String::new();
    let mut done = 0;
    for (from, to) in ranges {
        if from >= done {
            out.push_str(&text[line.from[done]..line.from[from]]);
            out.push_str(MARK);
        }
        done = done.max(to);
    }
    out.push_str(&text[line.from[done]..]);
    Some(out)
}

/// The offset in `before` of a suffix that is a prefix of `gone`; `None` if it is too short.
fn begins_before(before: &str, gone: &str) -> Option<usize> {
    let before = before.trim_end();
    let ends: Vec<usize> = gone.char_indices().map(|(at, _)| at).skip(INSIDE).take(CUT).collect();
    let begins = |end: usize| before.strip_suffix(gone[..end].trim_end()).map(str::len);
    ends.into_iter().rev().find_map(begins)
}
