//! Colors, according to the terminal and git's configuration.

use owo_colors::{OwoColorize, Style};

/// Applies colors if enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paint {
    /// Whether colors are enabled.
    pub on: bool,
}

impl Paint {
    fn style(self, text: &str, style: Style) -> String {
        if self.on { text.style(style).to_string() } else { text.to_owned() }
    }

    /// A commit line, colored as by git.
    pub fn commit(self, text: &str) -> String {
        self.style(text, Style::new().yellow())
    }

    /// HEAD, a branch, a remote branch and a tag beside a commit, colored as by git.
    pub fn head(self, text: &str) -> String {
        self.style(text, Style::new().cyan().bold())
    }

    pub fn branch(self, text: &str) -> String {
        self.style(text, Style::new().green().bold())
    }

    pub fn remote(self, text: &str) -> String {
        self.style(text, Style::new().red().bold())
    }

    pub fn tag(self, text: &str) -> String {
        self.style(text, Style::new().yellow().bold())
    }

    pub fn heading(self, text: &str) -> String {
        self.style(text, Style::new().bold())
    }

    pub fn bad(self, text: &str) -> String {
        self.style(text, Style::new().red().bold())
    }

    pub fn warning(self, text: &str) -> String {
        self.style(text, Style::new().yellow())
    }

    pub fn hint(self, text: &str) -> String {
        self.style(text, Style::new().cyan())
    }

    /// A search match, colored as by `git grep`.
    pub fn found(self, text: &str) -> String {
        self.style(text, Style::new().red().bold())
    }

    /// A line of a diff, colored as by git.
    fn difference(self, line: &str) -> String {
        match line.as_bytes().first() {
            Some(b'+') if !line.starts_with("+++ ") => self.style(line, Style::new().green()),
            Some(b'-') if !line.starts_with("--- ") => self.style(line, Style::new().red()),
            Some(b'@') => self.style(line, Style::new().cyan()),
            Some(b'+' | b'-') => self.heading(line),
            _ => line.to_owned(),
        }
    }

    /// Colors a whole text: Markdown headings, list titles and losses; a final diff, which starts with `--- `, is
    /// colored as by git.
    pub fn text(self, text: &str) -> String {
        if !self.on {
            return text.to_owned();
        }
        let mut is_diff = false;
        let paint = |line: &str| {
            is_diff |= line.starts_with("--- ");
            if is_diff {
                self.difference(line)
            } else if line.starts_with('#')
                || line.starts_with("Handoff ")
                || line.starts_with("HANDOFF ")
                || line.starts_with("session ")
                || line.starts_with("Session ")
            {
                self.heading(line)
            } else if line.starts_with("commit ") {
                self.commit(line)
            } else if line.contains("FAILED") || line.starts_with("lost ") {
                self.bad(line)
            } else {
                line.to_owned()
            }
        };
        text.split('\n').map(paint).collect::<Vec<_>>().join("\n")
    }
}
