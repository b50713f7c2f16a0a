//! Texts shortened for what quotes them; the records keep them whole.

/// A text on one line, with `…` in place of what goes beyond `most` characters. Empty text stays empty.
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
    match line.char_indices().nth(most) {
        None => line,
        Some(_) => {
            let kept: String = line.chars().take(most.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
    }
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
    }
}
