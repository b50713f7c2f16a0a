//! The manual pages under `man/` match the definitions; `EMPIRICA_BLESS=1` regenerates them.

use std::path::Path;

use clap::CommandFactory;
use git_empirica::cli::Cli;
use git_empirica::cli::help::manual;

#[test]
fn the_manual_pages_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let pages = manual::pages(&Cli::command());
    assert!(pages.len() > 30, "one page a command");
    if std::env::var_os("EMPIRICA_BLESS").is_some() {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        for (name, page) in &pages {
            std::fs::write(folder.join(name), page).expect("a page");
        }
    }
    for (name, page) in &pages {
        let there = std::fs::read(folder.join(name)).unwrap_or_default();
        assert!(there == *page, "man/{name} is not current: EMPIRICA_BLESS=1 cargo test --test runner manual");
    }
    let there = std::fs::read_dir(&folder).expect("man/").count();
    assert_eq!(there, pages.len(), "man/ holds pages of commands that are gone");
}

#[test]
fn the_first_page_is_what_git_opens_for_help() {
    let (name, page) = &manual::pages(&Cli::command())[0];
    let text = String::from_utf8_lossy(page);
    assert_eq!(name, "git-empirica.1");
    for word in [".SH NAME", "git\\-empirica", "EXIT STATUS", "handoff", "CONFIGURATION"] {
        assert!(text.contains(word), "{word} is missing");
    }
}

#[test]
fn every_option_of_a_page_has_a_text() {
    for (name, page) in manual::pages(&Cli::command()) {
        let text = String::from_utf8(page).expect("UTF-8");
        let lines: Vec<&str> = text.lines().collect();
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| **line == ".TP") {
            let body = lines.get(at + 2).copied().unwrap_or_default();
            let is_text = !body.is_empty() && !body.starts_with('.');
            assert!(is_text, "{name}: {} has no text", lines[at + 1]);
        }
    }
}
