//! What pictures and page are written with: numbers that are numbers, and text that is nothing but text.

use crate::epistemics::short::short;
use crate::view::safe;

/// A coordinate: one decimal at most, and always a number.
pub fn number(value: f64) -> String {
    let value = if value.is_finite() { (value * 10.0).round() / 10.0 + 0.0 } else { 0.0 };
    value.to_string()
}

/// A text on one line for an element or a quoted attribute: no control, no character that reorders or hides others, no
/// markup.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in safe::line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The same of a text that must fit into a picture.
pub fn label(given: &str, most: usize) -> String {
    text(&short(&safe::line(given), most))
}

/// A picture: what it is, said in a title and a description, and how large. `name` is ours and makes its ids.
pub fn picture(name: &str, title: &str, description: &str, (width, height): (f64, f64), body: &str) -> String {
    let (width, height) = (number(width), number(height));
    format!(
        "<svg class=\"{name}\" role=\"img\" aria-labelledby=\"{name}-title {name}-desc\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\"><title id=\"{name}-title\">{}</title><desc id=\"{name}-desc\">{}</desc>{body}</svg>",
        text(title),
        text(description)
    )
}

/// A picture that is wider than some windows, in a box of its own that scrolls.
pub fn scrolling(name: &str, what: &str, picture: &str) -> String {
    format!(
        "<div class=\"scroll {name}-box\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{picture}</div>",
        text(what)
    )
}

/// A line of text at a place.
pub fn at(class: &str, x: f64, y: f64, shown: &str) -> String {
    format!("<text class=\"{class}\" x=\"{}\" y=\"{}\">{shown}</text>", number(x), number(y))
}

/// A straight line.
pub fn line(class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> String {
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(number);
    format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>")
}

/// A curve that leaves and arrives level.
pub fn curve((x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> String {
    let middle = (x1 + x2) / 2.0;
    let [x1, y1, x2, y2, middle] = [x1, y1, x2, y2, middle].map(number);
    format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers() {
        let shown = [1.0, 1.25, -0.04, f64::NAN, f64::INFINITY, 1e-9].map(number);
        assert_eq!(shown, ["1", "1.3", "0", "0", "0", "0"]);
    }

    #[test]
    fn text_is_nothing_but_text() {
        let hostile = "<script>alert(1)</script>\"><img src='x'> & \u{202e}\u{1b}[31m\n]]>";
        let shown = text(hostile);
        assert!(!shown.contains(['<', '>', '"', '\'', '\n', '\u{1b}', '\u{202e}']), "{shown}");
        assert_eq!(text("a < b & c"), "a &lt; b &amp; c");
        assert_eq!(label("<<<<<<<<", 4), "&lt;&lt;&lt;…", "cut before it is escaped");
        assert!(label(hostile, 8).starts_with("&lt;script"));
    }
}
