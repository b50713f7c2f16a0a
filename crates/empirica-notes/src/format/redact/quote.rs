//! A text found in another: whole, cut off, or a part of it; and the other without it.

/// Texts with fewer characters are replaced where they stand alone in what is put together from others, not inside of texts.
const INSIDE: usize = 12;
/// The most characters of the beginning of a text that are looked for before an ellipsis.
const CUT: usize = 2000;

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As it is.
    Plain,
    /// With backslashes before punctuation.
    Markdown,
}

/// Whether a text is long enough to be looked for inside of others.
pub fn is_long(text: &str) -> bool {
    text.chars().nth(INSIDE - 1).is_some()
}

/// A text with every run of white space as one space, and where each of its bytes stands in the original.
pub struct OneLine {
    /// The text.
    pub text: String,
    /// For each byte, and for the end.
    from: Vec<usize>,
}

impl OneLine {
    /// Of a text. In Markdown a backslash before a character of punctuation is none.
    pub fn of(text: &str, form: Form) -> Self {
        let mut out = OneLine { text: String::with_capacity(text.len()), from: Vec::with_capacity(text.len() + 1) };
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let escapes = |next: Option<&(usize, char)>| next.is_some_and(|(_, next)| next.is_ascii_punctuation());
            if form == Form::Markdown && c == '\\' && escapes(chars.peek()) {
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

/// `text` without `gone`, which is on one line: whole, or as it begins before an ellipsis, or a part of it between two.
/// `None` when it holds nothing of it. A short one counts only where it stands alone, if it counts at all.
pub fn without_one(text: &str, gone: &str, short_counts: bool, form: Form) -> Option<String> {
    let line = OneLine::of(text, form);
    let unescaped = OneLine::of(gone, form).text;
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
        // what stands behind an ellipsis, up to the next one
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

/// Where in `before` something begins that reaches to its end and is the beginning of `gone`; `None` when that is too short
/// to tell.
fn begins_before(before: &str, gone: &str) -> Option<usize> {
    let before = before.trim_end();
    let ends: Vec<usize> = gone.char_indices().map(|(at, _)| at).skip(INSIDE).take(CUT).collect();
    let begins = |end: usize| before.strip_suffix(gone[..end].trim_end()).map(str::len);
    ends.into_iter().rev().find_map(begins)
}

/// What stands in place of a text that is gone.
pub const MARK: &str = "[redacted]";
