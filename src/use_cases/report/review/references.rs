//! Keeps texts from records from acting on the host of a pull request: to notify people, to link or to close issues, to load images.

use std::sync::LazyLock;

use regex::Regex;

/// A space without width, as HTML and Markdown write it. It breaks a reference, and is plain ASCII in the source.
const BREAK: &str = "&#8203;";

/// References that hosts act on: the signs of mentions, issues and merge requests, `GH-1`, links, images and check boxes, and a keyword that closes
/// the issue at an address.
static REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let closing = "clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?";
    Regex::new(&format!(
        r"(?i)(?P<bracket>!?\[)|(?P<sign>[@#!])|\b(?P<gh>GH)-[0-9]|\b(?P<word>{closing})\s*:?\s+https?:"
    ))
    .ok()
});

/// Safe Markdown text on one line without references; code spans stay as they are, but for the beginning of a comment, which marks the
/// text in a description.
pub fn inert(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = code_begins(rest) {
        let ticks = rest[open..].bytes().take_while(|byte| *byte == b'`').count();
        let fence = "`".repeat(ticks);
        let close = rest[open + ticks..].find(&fence).map_or(rest.len(), |at| open + ticks + at + ticks);
        out.push_str(&plain(&rest[..open]));
        out.push_str(&rest[open..close].replace("<!--", "<! --"));
        rest = &rest[close..];
    }
    out + &plain(rest)
}

/// One line of HTML text without tags and references.
pub fn html(line: &str) -> String {
    plain(&line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

/// The first backtick that is not escaped.
fn code_begins(text: &str) -> Option<usize> {
    text.match_indices('`').map(|(at, _)| at).find(|at| !text[..*at].ends_with('\\'))
}

fn plain(text: &str) -> String {
    let Some(reference) = REFERENCE.as_ref() else { return text.to_owned() };
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for found in reference.captures_iter(text) {
        if let Some(bracket) = found.name("bracket") {
            out.push_str(&text[from..bracket.start()]);
            out.push_str(&bracket.as_str().replace('[', "&#91;"));
            from = bracket.end();
            continue;
        }
        let Some(kept) = ["sign", "gh", "word"].iter().find_map(|name| found.name(name)) else { continue };
        let names = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let is_sign = found.name("sign").is_some();
        if is_sign && !text[kept.end()..].starts_with(names) {
            continue;
        }
        out.push_str(&text[from..kept.end()]);
        out.push_str(BREAK);
        from = kept.end();
    }
    out + &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_broken_outside_code() {
        for (text, expected) in [
            ("ask @ada", "ask @&#8203;ada"),
            ("@a@b", "@&#8203;a@&#8203;b"),
            ("Fixes #12", "Fixes #&#8203;12"),
            ("closes org/app#3", "closes org/app#&#8203;3"),
            ("see !7 and GH-8", "see !&#8203;7 and GH&#8203;-8"),
            ("Closes: https://h/o/r/issues/1", "Closes&#8203;: https://h/o/r/issues/1"),
            ("resolved  http://h/1", "resolved&#8203;  http://h/1"),
            ("![x](http://h)", "!&#91;x](http://h)"),
            ("[x] done", "&#91;x] done"),
            ("C# is fine, 5 # 3!", "C# is fine, 5 # 3!"),
            ("`@ada #1` and @bob", "`@ada #1` and @&#8203;bob"),
            (r"a \` @ada", r"a \` @&#8203;ada"),
            ("`<!-- /x -->`", "`<! -- /x -->`"),
            ("see https://h/x", "see https://h/x"),
            ("&#8203;", "&#&#8203;8203;"),
        ] {
            assert_eq!(inert(text), expected, "{text}");
        }
    }

    #[test]
    fn html_has_no_tags() {
        assert_eq!(html("</details> & @ada"), "&lt;/details&gt; &amp; @&#8203;ada");
    }
}
