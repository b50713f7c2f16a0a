//! A note as a set of lines: canonical order and union, on bytes that are never reinterpreted.

use std::io::BufRead;

/// The id of a record line; `None` for a foreign line.
///
/// A record line begins with `{"v":<digits>,"id":"<36 characters of a lower-case UUID>"`. The rule is textual, so that
/// all versions sort alike, including lines of versions they do not know.
pub fn id(line: &[u8]) -> Option<&str> {
    let rest = line.strip_prefix(b"{\"v\":")?;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = rest[digits..].strip_prefix(b",\"id\":\"").filter(|_| digits > 0)?;
    let id = rest.get(..36).filter(|_| rest.get(36) == Some(&b'"'))?;
    let is_uuid = id.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
    });
    std::str::from_utf8(id).ok().filter(|_| is_uuid)
}

/// The lines of a note in order, without blank ones.
pub fn split(note: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = note;
    let lines = std::iter::from_fn(move || {
        let whole = rest;
        // reading from memory cannot fail; `skip_until` is faster than a loop over bytes
        let length = rest.skip_until(b'\n').ok().filter(|length| *length > 0)?;
        Some(whole[..length].strip_suffix(b"\n").unwrap_or(&whole[..length]))
    });
    lines.filter(|line| !line.is_empty())
}

/// The canonical note of a set of lines: records by (id, bytes), then foreign lines bytewise, without duplicates, each
/// line ended by one LF. Empty without lines.
pub fn canonical<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut keyed: Vec<(bool, &str, &[u8])> = lines
        .into_iter()
        .map(|line| match id(line) {
            Some(id) => (false, id, line),
            None => (true, "", line),
        })
        .collect();
    keyed.sort_unstable();
    keyed.dedup();
    let mut out = Vec::with_capacity(keyed.iter().map(|(_, _, line)| line.len() + 1).sum());
    for (_, _, line) in keyed {
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out
}

/// The union of two notes, canonical. Commutative, associative, idempotent.
pub fn union(a: &[u8], b: &[u8]) -> Vec<u8> {
    canonical(split(a).chain(split(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = r#"{"v":1,"id":"00000000-0000-7000-8000-00000000000a","kind":"x"}"#;
    const B: &str = r#"{"v":22,"id":"00000000-0000-7000-8000-00000000000b","kind":"x"}"#;

    #[test]
    fn record_lines_are_recognized_by_their_prefix() {
        assert_eq!(id(A.as_bytes()), Some("00000000-0000-7000-8000-00000000000a"));
        assert!(id(B.as_bytes()).is_some());
        for foreign in
            ["", "{}", r#"{"v":,"id":"00000000-0000-7000-8000-00000000000a"}"#, r#"{"id":"x","v":1}"#, "Reviewed"]
        {
            assert_eq!(id(foreign.as_bytes()), None, "{foreign}");
        }
        assert_eq!(id(A.to_uppercase().as_bytes()), None);
    }

    #[test]
    fn a_note_has_one_canonical_form() {
        let messy = format!("zeta\n\n{B}\n{A}\nalpha\n\n{A}");
        assert_eq!(canonical(split(messy.as_bytes())), format!("{A}\n{B}\nalpha\nzeta\n").into_bytes());
        assert_eq!(canonical([]), b"");
    }

    #[test]
    fn bytes_survive_as_they_are() {
        let odd = b"\xff\xfe \t\r".as_slice();
        assert_eq!(union(odd, b""), b"\xff\xfe \t\r\n");
    }
}
