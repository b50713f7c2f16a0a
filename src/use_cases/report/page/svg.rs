//! Writes SVG elements from trusted numbers and escaped text.

use minijinja::HtmlEscape;

use crate::render::safe;
use crate::text::shorten::cut;

/// A coordinate with one decimal at most; 0 if it is not finite.
pub fn number(value: f64) -> String {
    let value = if value.is_finite() { (value * 10.0).round() / 10.0 + 0.0 } else { 0.0 };
    value.to_string()
}

/// A safe text on one line, escaped for an element or a quoted attribute.
pub fn text(text: &str) -> String {
    HtmlEscape(&safe::line(text)).to_string()
}

/// Greatest width of a character of 12 px in the fonts of the page, in tenths of a pixel.
fn width(c: char) -> usize {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 50,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 125,
        c if c.is_ascii_uppercase() => 98,
        c if (c as u32) < 0x250 => 80,
        _ => 160,
    }
}

/// A text cut to a width.
pub fn label(content: &str, pixels: f64) -> String {
    text(&cut(&safe::line(content), (pixels.max(0.0) * 10.0) as usize, width))
}

/// A path cut to a width, without its first folders.
pub fn tail(path: &str, pixels: f64) -> String {
    let shown = safe::line(path);
    let fits = |text: &str| text.chars().map(width).sum::<usize>() as f64 <= pixels * 10.0;
    let tails = shown.match_indices('/').map(|(at, _)| format!("…{}", &shown[at..]));
    let fitting = std::iter::once(shown.clone()).chain(tails).find(|tail| fits(tail));
    fitting.map_or_else(|| label(shown.rsplit('/').next().unwrap_or(&shown), pixels), |tail| text(&tail))
}

/// A picture with title, description and size. `name`, which is trusted, gives its class and IDs.
pub fn picture(name: &str, title: &str, description: &str, (width, height): (f64, f64), body: &str) -> String {
    let (width, height) = (number(width), number(height));
    format!(
        "<svg class=\"{name}\" role=\"img\" aria-labelledby=\"{name}-title {name}-desc\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\"><title id=\"{name}-title\">{}</title><desc id=\"{name}-desc\">{}</desc>{body}</svg>",
        text(title),
        text(description)
    )
}

/// A wide picture in a scrolling box.
pub fn scrolling(name: &str, what: &str, picture: &str) -> String {
    format!(
        "<div class=\"scroll {name}-box\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{picture}</div>",
        text(what)
    )
}

/// A line of escaped text.
pub fn at(class: &str, x: f64, y: f64, shown: &str) -> String {
    format!("<text class=\"{class}\" x=\"{}\" y=\"{}\">{shown}</text>", number(x), number(y))
}

pub fn line(class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> String {
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(number);
    format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>")
}

/// Path of a curve that starts and ends horizontally.
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
        assert_eq!(label("<<<<<<<<", 40.0), "&lt;&lt;&lt;…", "cut before it is escaped");
        assert!(label(hostile, 120.0).starts_with("&lt;script"));
    }

    #[test]
    fn labels_fit_and_break_between_words_and_names() {
        assert_eq!(label("one two three", 200.0), "one two three");
        assert_eq!(label("one two three", 75.0), "one two…");
        assert!(label(&"W".repeat(300), 100.0).chars().map(width).sum::<usize>() <= 1000);
        assert_eq!(tail("src/a.rs", 200.0), "src&#x2f;a.rs");
        assert_eq!(tail("very/long/folder/name/src/cache.rs", 100.0), "…&#x2f;cache.rs");
        assert!(tail(&"w".repeat(300), 100.0).chars().map(width).sum::<usize>() <= 1000);
    }
}
