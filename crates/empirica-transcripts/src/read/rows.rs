//! Splits a stream into rows: the lines of JSON Lines, or the members and messages of one JSON document. One row is in
//! memory at a time.

use std::io::{self, BufRead, Read};

/// The size limit of a row, in bytes.
pub const LONGEST: usize = 16 << 20;
/// The capacity kept between rows, in bytes.
const KEPT: usize = 1 << 20;
/// The size of the beginning that decides between document and lines, in bytes.
const HEAD: u64 = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    Row {
        /// Whether its end was seen.
        whole: bool,
    },
    /// A member of a document, wrapped in an object; not a row.
    Member,
    /// A row that was too long, or the torn end of a document; its content is dropped.
    Skipped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Lines,
    /// In the top-level object of a document.
    Object,
    /// In its list of messages.
    Messages,
}

pub struct Rows<R> {
    input: R,
    place: Place,
    /// The last piece read.
    pub row: Vec<u8>,
    /// The number of bytes read.
    at: u64,
    /// The end of the last complete piece.
    pub size: u64,
}

/// The encoding of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Bytes to be read as UTF-8.
    Text,
    /// No bytes.
    Empty,
    /// UTF-16, with or without a byte order mark.
    Utf16,
}

/// The rows of a stream, and its encoding. Skips a byte order mark of UTF-8.
pub fn rows<R: BufRead>(mut input: R) -> io::Result<(Start, Rows<impl BufRead>)> {
    let mut head = Vec::new();
    input.by_ref().take(HEAD).read_to_end(&mut head)?;
    let has_utf16_mark = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    let start = match head.as_slice() {
        [] => Start::Empty,
        // without a mark every second byte of JSON is 0
        [0, _, ..] | [_, 0, ..] => Start::Utf16,
        _ if has_utf16_mark => Start::Utf16,
        _ => Start::Text,
    };
    let mark = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let document = is_document(&head[mark..]);
    let mut chain = io::Cursor::new(head).chain(input);
    chain.consume(mark);
    let mut rows = Rows { input: chain, place: Place::Lines, row: Vec::new(), at: mark as u64, size: 0 };
    if document {
        rows.begin_document()?;
    }
    Ok((start, rows))
}

/// Whether this is the beginning of a document with a list of `messages`, or of an object that spans lines.
fn is_document(head: &[u8]) -> bool {
    let Some(open) = head.iter().position(|byte| !byte.is_ascii_whitespace()).filter(|at| head[*at] == b'{') else {
        return false;
    };
    let (mut depth, mut string, mut key, mut at) = (0_u64, None, &head[..0], open);
    while let Some(byte) = head.get(at) {
        match (string, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(start), b'"') => (key, string) = (&head[start..at], None),
            (Some(_), _) => {}
            (None, b'"') => string = Some(at + 1),
            (None, b'[') if depth == 1 && key == b"messages" => return true,
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') if depth <= 1 => return false,
            (None, b'}' | b']') => depth -= 1,
            (None, b',') => key = &[],
            (None, b'\n') => {
                // after a torn line comes one that begins with `{`
                let next = head[at..].iter().find(|byte| !byte.is_ascii_whitespace());
                return matches!(next, Some(b'"' | b'}'));
            }
            _ => {}
        }
        at += 1;
    }
    false
}

impl<R: BufRead> Rows<R> {
    fn begin_document(&mut self) -> io::Result<()> {
        let before = self.input.skip_until(b'{')?;
        self.at += before as u64;
        self.place = Place::Object;
        Ok(())
    }

    /// Reads the next piece into `row`, which may be blank; `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<Piece>> {
        self.row.clear();
        self.row.shrink_to(KEPT);
        if self.place == Place::Lines { self.next_line() } else { self.next_in_document() }
    }

    fn next_line(&mut self) -> io::Result<Option<Piece>> {
        let read = self.input.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut self.row)?;
        self.at += read as u64;
        if read == 0 {
            return Ok(None);
        }
        if self.row.ends_with(b"\n") {
            self.size = self.at;
            return Ok(Some(Piece::Row { whole: true }));
        }
        if read <= LONGEST {
            return Ok(Some(Piece::Row { whole: false }));
        }
        self.row.clear();
        if self.skip_line()? {
            self.size = self.at;
        }
        Ok(Some(Piece::Skipped))
    }

    /// Skips the rest of a line. Returns whether it ended.
    fn skip_line(&mut self) -> io::Result<bool> {
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Ok(false);
            }
            let end = memchr::memchr(b'\n', buffer);
            let read = end.map_or(buffer.len(), |end| end + 1);
            self.input.consume(read);
            self.at += read as u64;
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// Whether the last piece read is incomplete, which at the end of the stream means torn.
    pub fn is_torn(&self) -> bool {
        self.size < self.at
    }

    /// Counts the last row as complete, although it has no line feed.
    pub fn accept_last(&mut self) {
        self.size = self.at;
    }

    fn next_in_document(&mut self) -> io::Result<Option<Piece>> {
        let (mut depth, mut string, mut escape, mut long) = (0_u64, false, false, false);
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                self.place = Place::Lines;
                let torn = long || self.row.iter().any(|byte| !byte.is_ascii_whitespace());
                self.row.clear();
                return Ok(torn.then_some(Piece::Skipped));
            }
            let (mut at, mut end) = (0, None);
            while at < buffer.len() && end.is_none() {
                let start = at;
                if string {
                    at = match memchr::memchr2(b'"', b'\\', &buffer[at..]) {
                        _ if escape => at + 1,
                        Some(found) => at + found + 1,
                        None => buffer.len(),
                    };
                    let last = buffer[at - 1];
                    (string, escape) = (escape || last != b'"', !escape && last == b'\\');
                } else {
                    at += 1;
                    match buffer[start] {
                        b'"' => string = true,
                        byte @ (b',' | b'}' | b']') if depth == 0 => end = Some(byte),
                        b'[' if depth == 0 && self.place == Place::Object && is_messages(&self.row) => {
                            self.place = Place::Messages;
                            self.row.clear();
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                }
                if end.is_none() && !long {
                    self.row.extend_from_slice(&buffer[start..at]);
                    long = self.row.len() > LONGEST;
                }
            }
            self.input.consume(at);
            self.at += at as u64;
            let Some(end) = end else { continue };
            self.size = self.at;
            let member = self.place == Place::Object;
            match end {
                b']' => self.place = Place::Object,
                b'}' => self.place = Place::Lines,
                _ => {}
            }
            if long {
                self.row.clear();
                return Ok(Some(Piece::Skipped));
            }
            if member && !self.row.trim_ascii().is_empty() {
                self.row.insert(0, b'{');
                self.row.push(b'}');
            }
            return Ok(Some(if member { Piece::Member } else { Piece::Row { whole: true } }));
        }
    }
}

/// Whether the text so far is the key `messages` and its colon.
fn is_messages(row: &[u8]) -> bool {
    let key = row.trim_ascii();
    key.strip_suffix(b":").is_some_and(|key| key.trim_ascii_end() == b"\"messages\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &[u8]) -> (Vec<(Piece, String)>, u64) {
        let (_, mut rows) = rows(io::BufReader::with_capacity(3, text)).unwrap();
        let mut out = Vec::new();
        while let Some(piece) = rows.next().unwrap() {
            if !rows.row.trim_ascii().is_empty() || piece == Piece::Skipped {
                out.push((piece, String::from_utf8_lossy(rows.row.trim_ascii()).into_owned()));
            }
        }
        (out, rows.size)
    }

    fn row(text: &str) -> (Piece, String) {
        (Piece::Row { whole: true }, text.to_owned())
    }

    #[test]
    fn lines_end_at_newlines_and_the_last_may_be_torn() {
        let (found, size) = pieces(b"\xef\xbb\xbf{\"a\":1}\r\n\n{\"b\"");
        assert_eq!(found, [row("{\"a\":1}"), (Piece::Row { whole: false }, "{\"b\"".into())]);
        assert_eq!(size, 13);
    }

    #[test]
    fn a_document_is_cut_into_members_and_messages_however_it_is_printed() {
        let flat = r#"{"id":"x,]}\"[","messages":[{"a":[1,{"b":"\\"}]},{"c":"]"} , 3],"z":{"messages":[1]}}"#;
        let pretty = flat.replace("{\"id\"", "{\n  \"id\"").replace(",\"z\"", ",\n \"z\" ");
        for text in [flat.to_owned(), pretty] {
            let (found, size) = pieces(text.as_bytes());
            let texts: Vec<String> = found.iter().map(|(_, text)| text.replace([' ', '\n'], "")).collect();
            let wanted =
                [r#"{"id":"x,]}\"["}"#, r#"{"a":[1,{"b":"\\"}]}"#, r#"{"c":"]"}"#, "3", r#"{"z":{"messages":[1]}}"#];
            assert_eq!(texts, wanted);
            assert_eq!((found[0].0, found[4].0), (Piece::Member, Piece::Member));
            assert_eq!(size, text.len() as u64);
        }
    }

    #[test]
    fn a_truncated_document_keeps_complete_rows() {
        let (found, size) = pieces(br#"{"messages":[{"a":1},{"b":"#);
        assert_eq!(found, [row(r#"{"a":1}"#), (Piece::Skipped, String::new())]);
        assert_eq!(size, 21);
    }

    #[test]
    fn lines_follow_a_document_and_a_torn_line_is_none() {
        let (found, _) = pieces(b"{\"messages\":[]}\n{\"a\":1}\n{\"b\":2}\n");
        assert_eq!(found, [row("{\"a\":1}"), row("{\"b\":2}")]);
        let (found, _) = pieces(b"{\"a\":1,\n{\"b\":2}\n");
        assert_eq!(found, [row("{\"a\":1,"), row("{\"b\":2}")]);
    }
}
