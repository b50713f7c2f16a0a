//! Patterns of paths, as in `.gitignore`.

use gix::bstr::BStr;
use gix::glob::pattern::Case;
use gix::glob::{Pattern, wildmatch};

/// A pattern that matches files and all that is below matching folders; without a slash at any depth. `!` has no meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct PathPattern(Pattern);

impl PathPattern {
    /// `None` for a pattern that matches nothing: an empty text, or a comment.
    pub fn parse(text: &str) -> Option<Self> {
        Pattern::from_bytes_without_negation(text.as_bytes()).map(PathPattern)
    }

    /// Whether it matches a path relative to the root, with slashes.
    pub fn matches(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(end, _)| (end, true)).chain([(path.len(), false)]);
        ends.map(|(end, is_folder)| (&path[..end], is_folder)).any(|(path, is_folder)| {
            let name = path.rfind('/').map(|at| at + 1);
            let mode = wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
            self.0.matches_repo_relative_path(BStr::new(path), name, Some(is_folder), Case::Sensitive, mode)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_gitignore() {
        let matches = |pattern: &str, path: &str| PathPattern::parse(pattern).expect(pattern).matches(path);
        for (pattern, path) in [
            ("src/", "src/a/b.rs"),
            ("src", "src/a.rs"),
            ("/src/*.rs", "src/a.rs"),
            ("*.rs", "src/deep/a.rs"),
            ("src/**/b.rs", "src/a/c/b.rs"),
            ("docs/*", "docs/a/b.md"),
            ("b", "a/b/c"),
        ] {
            assert!(matches(pattern, path), "{pattern} matches {path}");
        }
        for (pattern, path) in
            [("src/", "src"), ("/b", "a/b"), ("src/*.rs", "src/a/b.rs"), ("*.rs", "a.rst"), ("a", "ab")]
        {
            assert!(!matches(pattern, path), "{pattern} does not match {path}");
        }
        assert!(PathPattern::parse("").is_none());
    }
}
