//! The settings of `git -c`, as git passes them to child processes.

/// Parses `GIT_CONFIG_PARAMETERS`: `'<key>'='<value>'` or, in older versions, `'<key>=<value>'`, separated by spaces. A
/// key without a value stands alone. Skips anything else, and keys with other characters than letters, digits, `.` and
/// `-`.
pub fn parameters(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    let mut end = |word: &mut String| {
        let word = std::mem::take(word);
        let key = word.split('=').next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
        if key.contains('.') && key.chars().all(plain) {
            out.push(word);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' => quoted = !quoted,
            '\\' if !quoted => word.extend(chars.next()),
            ' ' if !quoted => end(&mut word),
            // a key without a value
            '=' if !quoted && chars.peek().is_none_or(|next| *next == ' ') => {}
            other => word.push(other),
        }
    }
    end(&mut word);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        assert_eq!(parameters("'empirica.sync'='off' 'core.pager'="), ["empirica.sync=off", "core.pager"]);
        assert_eq!(parameters("'empirica.ai=it'\\''s me' 'x.y'='a b=c'"), ["empirica.ai=it's me", "x.y=a b=c"]);
        assert_eq!(parameters("'empirica.ai'=''"), ["empirica.ai="]);
        for odd in ["", "'", "nothing", "'url.a b.insteadOf'='x'", "'x"] {
            assert_eq!(parameters(odd), Vec::<String>::new(), "{odd}");
        }
    }
}
