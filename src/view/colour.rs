//! Colours, where the terminal and git's configuration want them.

use owo_colors::{OwoColorize, Style};

/// Paints, or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paint {
    /// Whether colours are wanted.
    pub on: bool,
}

impl Paint {
    fn style(self, text: &str, style: Style) -> String {
        if self.on { text.style(style).to_string() } else { text.to_owned() }
    }

    /// A commit's line, as git paints it.
    pub fn commit(self, text: &str) -> String {
        self.style(text, Style::new().yellow())
    }

    /// A heading.
    pub fn heading(self, text: &str) -> String {
        self.style(text, Style::new().bold())
    }

    /// Something that is wrong.
    pub fn bad(self, text: &str) -> String {
        self.style(text, Style::new().red().bold())
    }

    /// Something to be careful about.
    pub fn warning(self, text: &str) -> String {
        self.style(text, Style::new().yellow())
    }

    /// Something that helps.
    pub fn hint(self, text: &str) -> String {
        self.style(text, Style::new().cyan())
    }

    /// A whole text: Markdown headings and the titles of lists stand out.
    pub fn text(self, text: &str) -> String {
        if !self.on {
            return text.to_owned();
        }
        let paint = |line: &str| {
            if line.starts_with('#')
                || line.starts_with("Handoff ")
                || line.starts_with("session ")
                || line.starts_with("Session ")
            {
                self.heading(line)
            } else if line.starts_with("commit ") {
                self.commit(line)
            } else if line.contains("FAILED") {
                self.bad(line)
            } else {
                line.to_owned()
            }
        };
        text.split('\n').map(paint).collect::<Vec<_>>().join("\n")
    }
}
