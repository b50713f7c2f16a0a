//! The promises of `docs/reliability.md`: each names an existing test.

use std::fs;
use std::path::Path;

/// The names in backticks that name a test.
fn named(page: &str) -> Vec<(String, String)> {
    let quoted = page.split('`').skip(1).step_by(2);
    let names = quoted.filter_map(|quoted| quoted.rsplit_once("::")).filter(|(file, _)| *file != "folder::file");
    names.map(|(file, test)| (file.to_owned(), test.to_owned())).collect()
}

#[test]
fn every_test_that_is_named_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/reliability.md")).expect("the page");
    let names = named(&page);
    assert!(names.len() > 60, "{} are named", names.len());
    for (file, test) in names {
        let path = if file.starts_with("src/") || file.starts_with("crates/") {
            file.clone()
        } else {
            format!("tests/{}.rs", file.replace("::", "/"))
        };
        let text = fs::read_to_string(root.join(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let (before, _) =
            text.split_once(&format!("fn {test}(")).unwrap_or_else(|| panic!("{file}::{test} is not there"));
        let attributes: Vec<&str> = before
            .lines()
            .rev()
            .skip_while(|line| line.trim().is_empty())
            .take_while(|line| line.trim().starts_with("#["))
            .collect();
        let is_test = attributes.iter().any(|line| line.contains("#[test]"));
        assert!(is_test, "{file}::{test} is no test");
    }
}

#[test]
fn every_promise_has_a_test() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reliability.md")).expect("the page");
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let rows = rows.filter(|line| !line.starts_with("| promise") && !line.starts_with("| attack"));
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        assert_eq!(cells.len(), 3, "{row}");
        assert!(cells[1..].iter().any(|cell| !named(cell).is_empty()), "{row}");
    }
}
