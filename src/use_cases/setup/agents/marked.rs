//! A marked block in somebody else's text: found, added, removed, without changing another byte.

use std::ops::Range;

pub const BEGIN: &str = "<!-- git-empirica:begin -->";
pub const END: &str = "<!-- git-empirica:end -->";

/// Marks that do not form a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenMarks {
    /// The line, counted from 1.
    pub line: usize,
    /// The problem, without a full stop.
    pub what: String,
}

/// A text with its block added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedText {
    pub text: String,
    /// Number of line ends added before the block.
    pub before: usize,
    /// Number of line ends added after it.
    pub after: usize,
    /// The former block, with its marks; `None` if there was none.
    pub former: Option<String>,
}

/// Range of the block with its marks, without the final line end; `None` if there is none.
pub fn find(text: &str) -> Result<Option<Range<usize>>, BrokenMarks> {
    let (mut begun, mut found, mut at) = (None, None, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let number = number + 1;
        let start = at;
        at += line.len();
        let broken = |what: String| Err(BrokenMarks { line: number, what });
        match line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}') {
            BEGIN if found.is_some() => return broken("begins a second block".to_owned()),
            BEGIN => match begun {
                Some((_, first)) => return broken(format!("begins a block, as line {first} does before it ends")),
                None => begun = Some((start + line.find(BEGIN).unwrap_or(0), number)),
            },
            END => match begun.take() {
                Some((first, _)) => found = Some(first..start + line.find(END).unwrap_or(0) + END.len()),
                None => return broken("ends a block that does not begin".to_owned()),
            },
            _ => {}
        }
    }
    match begun {
        Some((_, line)) => Err(BrokenMarks { line, what: "begins a block that does not end".to_owned() }),
        None => Ok(found),
    }
}

/// The more frequent line end of a text; LF on a tie.
fn line_end(text: &str) -> &'static str {
    let crlf = text.matches("\r\n").count();
    if crlf * 2 > text.matches('\n').count() { "\r\n" } else { "\n" }
}

/// The block of a body, in the line ends of the text, without a final one.
fn block(body: &str, end: &str) -> String {
    let lines = body.trim_matches(['\r', '\n']).lines();
    [BEGIN].into_iter().chain(lines).chain([END]).collect::<Vec<_>>().join(end)
}

/// Replaces the block of a text, or appends one after a blank line.
pub fn put(text: &str, body: &str) -> Result<MarkedText, BrokenMarks> {
    let end = line_end(text);
    let block = block(body, end);
    if let Some(range) = find(text)? {
        let former = text[range.clone()].to_owned();
        let text = [&text[..range.start], &block, &text[range.end..]].concat();
        return Ok(MarkedText { text, before: 0, after: 0, former: Some(former) });
    }
    let rest = text.trim_start_matches('\u{feff}');
    let ended = |text: &str| text.is_empty() || text.ends_with('\n');
    // keep a missing final line end missing
    let (before, after) = match rest.strip_suffix('\n').map(|rest| rest.strip_suffix('\r').unwrap_or(rest)) {
        _ if rest.is_empty() => (0, 1),
        Some(rest) if ended(rest) => (0, 1),
        Some(_) => (1, 1),
        None => (2, 0),
    };
    let text = [text, &end.repeat(before), &block, &end.repeat(after)].concat();
    Ok(MarkedText { text, before, after, former: None })
}

/// Removes the block with the given number of line ends around it, or restores the former one. A text without a block
/// is unchanged.
pub fn take(text: &str, before: usize, after: usize, former: Option<&str>) -> Result<String, BrokenMarks> {
    let Some(range) = find(text)? else { return Ok(text.to_owned()) };
    let (mut head, mut tail) = (&text[..range.start], &text[range.end..]);
    if let Some(former) = former {
        return Ok([head, former, tail].concat());
    }
    // a carriage return at the end of the text is not ours
    let end = if text[range.clone()].contains("\r\n") { "\r\n" } else { "\n" };
    for _ in 0..before {
        head = head.strip_suffix(end).unwrap_or(head);
    }
    for _ in 0..after {
        tail = tail.strip_prefix(end).unwrap_or(tail);
    }
    Ok([head, tail].concat())
}

/// A block with LF line ends, for comparison.
pub fn plain(block: &str) -> String {
    block.replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_block_comes_behind_the_text_with_its_line_ends() {
        let put = |text: &str| put(text, "a\nb\n").unwrap().text;
        assert_eq!(put(""), format!("{BEGIN}\na\nb\n{END}\n"));
        assert_eq!(put("x\n"), format!("x\n\n{BEGIN}\na\nb\n{END}\n"));
        assert_eq!(put("x\n\n"), format!("x\n\n{BEGIN}\na\nb\n{END}\n"));
        assert_eq!(put("x"), format!("x\n\n{BEGIN}\na\nb\n{END}"));
        assert_eq!(put("x\r\n"), format!("x\r\n\r\n{BEGIN}\r\na\r\nb\r\n{END}\r\n"));
        assert_eq!(put("\u{feff}"), format!("\u{feff}{BEGIN}\na\nb\n{END}\n"));
    }

    #[test]
    fn a_block_is_replaced_in_place() {
        let text = format!("\u{feff}{BEGIN}\r\nold\r\n{END}  \r\nmore");
        let new = put(&text, "new").unwrap();
        assert_eq!(new.text, format!("\u{feff}{BEGIN}\r\nnew\r\n{END}  \r\nmore"));
        assert_eq!(take(&new.text, 0, 0, new.former.as_deref()).unwrap(), text);
        assert_eq!(put(&new.text, "new").unwrap().text, new.text);
    }

    #[test]
    fn marks_that_make_no_block_are_named_by_their_line() {
        let broken = |text: String| find(&text).unwrap_err();
        assert_eq!(broken(format!("x\n{BEGIN}\ny\n")).line, 2);
        assert_eq!(broken(format!("x\n{END}\n")).line, 2);
        assert_eq!(broken(format!("{BEGIN}\n{BEGIN}\n{END}\n")).line, 2);
        assert_eq!(broken(format!("{BEGIN}\n{END}\n{BEGIN}\n{END}\n")).line, 3);
        assert_eq!(broken(format!("{BEGIN}\n{END}\n{END}\n")).line, 3);
        assert_eq!(find(&format!("in a line {BEGIN} is no mark\n")), Ok(None));
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("\n".to_owned()),
            Just("\r\n".to_owned()),
            Just("\r".to_owned()),
            Just("\u{feff}".to_owned()),
            Just("# Title".to_owned()),
            "[ -~]{0,8}",
            "\\PC{0,4}",
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn adding_then_removing_restores_the_text(text in text(), body in "[a-z#\n ]{0,40}", other in "[a-z\n]{0,20}") {
            let first = put(&text, &body).unwrap();
            let second = put(&first.text, &other).unwrap();
            prop_assert!(second.former.is_some());
            prop_assert_eq!(&put(&second.text, &other).unwrap().text, &second.text);
            prop_assert_eq!(take(&second.text, first.before, first.after, None).unwrap(), text.clone());
            prop_assert_eq!(take(&second.text, 0, 0, second.former.as_deref()).unwrap(), first.text);
            prop_assert_eq!(take(&text, 1, 1, None).unwrap(), text);
        }
    }
}
