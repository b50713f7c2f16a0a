//! The floors: imports only go down, only `git/` touches git, files stay readable.

use std::path::{Path, PathBuf};

/// From the ground up.
const FLOORS: [&str; 13] =
    ["error", "env", "fault", "model", "epistemics", "git", "wire", "store", "index", "ops", "view", "cli", "mcp"];
/// The faces, side by side.
const FACES: [&str; 2] = ["cli", "mcp"];

fn sources() -> Vec<(PathBuf, String)> {
    let mut out = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("UTF-8");
                let relative = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("inside").to_owned();
                out.push((relative, text));
            }
        }
    }
    out.sort();
    out
}

/// The floor of a file: the folder or file right below `src`.
fn floor(path: &Path) -> Option<usize> {
    let name = path.iter().nth(1)?.to_str()?;
    FLOORS.iter().position(|floor| *floor == name.trim_end_matches(".rs"))
}

/// The floors a text names through `crate::`, tests left out.
fn named(text: &str) -> Vec<usize> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut out = Vec::new();
    for rest in code.split("crate::").skip(1) {
        // `use crate::{a, b}` names several
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default().split(',').collect(),
            None => vec![rest],
        };
        for name in names {
            let word: String = name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            out.extend(FLOORS.iter().position(|floor| *floor == word));
        }
    }
    out
}

#[test]
fn imports_only_go_down() {
    let sources = sources();
    assert!(sources.len() > 50, "the sources were found");
    let mut seen = 0;
    for (path, text) in &sources {
        let Some(own) = floor(path) else { continue };
        for other in named(text) {
            seen += 1;
            assert!(other <= own, "{} names the higher floor {}", path.display(), FLOORS[other]);
            let beside = other != own && FACES.contains(&FLOORS[own]) && FACES.contains(&FLOORS[other]);
            assert!(!beside, "{} names the other face, {}", path.display(), FLOORS[other]);
        }
    }
    assert!(seen > 100, "imports were found");
}

#[test]
fn every_file_is_on_a_floor() {
    for (path, _) in sources() {
        let name = path.to_str().expect("UTF-8");
        assert!(floor(&path).is_some() || ["src/lib.rs", "src/main.rs"].contains(&name), "{name} is on no floor");
    }
}

#[test]
fn only_the_git_floor_touches_git() {
    for (path, text) in sources() {
        let on_git = path.starts_with("src/git");
        for forbidden in ["gix::", "use gix", "Command::new(\"git\")"] {
            assert!(on_git || !text.contains(forbidden), "{} names {forbidden}", path.display());
        }
    }
}

#[test]
fn ops_print_nothing_and_nobody_prints_past_the_streams() {
    for (path, text) in sources() {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for forbidden in ["println!", "eprintln!", "print!(", "dbg!("] {
            assert!(!code.contains(forbidden), "{} prints with {forbidden}", path.display());
        }
        if path.starts_with("src/ops") {
            assert!(!code.contains("io::stdout") && !code.contains("io::stderr"), "{} prints", path.display());
        }
    }
}

#[test]
fn a_file_says_in_its_first_line_what_it_tells_and_is_not_long() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(text.starts_with("//! "), "{} does not say what it tells", path.display());
        assert!(lines <= 500, "{} has {lines} lines", path.display());
        assert!(path.iter().count() <= 4, "{} is too deep", path.display());
    }
}

#[test]
fn a_command_line_of_the_program_is_written_as_data() {
    // help and the pages made of it are texts about the command line
    let about = ["src/cli/args", "src/cli/help.rs", "src/cli/help", "src/cli/manual.rs", "src/error/remedy.rs"];
    for (path, text) in sources().into_iter().filter(|(path, _)| !path.ends_with("tests.rs")) {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let after = line.split("git empirica ").nth(1).and_then(|rest| rest.chars().next());
            let is_command = after.is_some_and(|first| first.is_ascii_lowercase() || "-{\\<".contains(first));
            assert!(!is_command || about.iter().any(|about| path.starts_with(about)), "{}: {line}", path.display());
        }
    }
}

#[test]
fn code_outside_tests_does_not_unwrap() {
    for (path, text) in sources().into_iter().filter(|(path, _)| !path.ends_with("tests.rs")) {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        assert!(!code.contains(".unwrap()"), "{} unwraps", path.display());
    }
}

#[test]
fn no_source_tells_a_debug_build_from_a_release() {
    for (path, text) in sources() {
        for forbidden in ["debug_assertions", "cfg!(test)", "cfg(not(test))"] {
            assert!(!text.contains(forbidden), "{} names {forbidden}", path.display());
        }
    }
}
