//! The layout: allowed imports, where git is used, the first line of every file.

mod dependencies;
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The libraries, each with the modules of its root from the lowest up; a library may name those before it.
const CRATES: [(&str, &[&str]); 4] = [
    ("empirica-secrets", &["text", "rules", "formats", "glued"]),
    ("empirica-embed", &["error", "quantized", "file", "model", "http", "endpoint", "qdrant"]),
    ("empirica-transcripts", &["model", "error", "text", "read", "summary", "agents", "reader", "find"]),
    ("empirica-notes", &["error", "env", "fault", "model", "git", "format", "store"]),
];
/// The modules of the program, likewise.
const PROGRAM: &[&str] = &["text", "fold", "index", "context", "render", "use_cases", "cli", "mcp"];
/// The use cases, from the lowest up.
const USE_CASES: [&str; 15] = [
    "meaning",
    "sync",
    "collect",
    "setup",
    "handoff",
    "task",
    "search",
    "checkpoint",
    "session",
    "history",
    "assess",
    "claim",
    "report",
    "import",
    "hooks",
];
/// The interfaces, neither of which names the other.
const INTERFACES: [&str; 2] = ["cli", "mcp"];

/// The folders of the crates, each with its modules from the lowest up.
fn crates() -> impl Iterator<Item = (String, &'static [&'static str])> {
    let libraries = CRATES.iter().map(|(name, modules)| (format!("crates/{name}/src"), *modules));
    libraries.chain([("src".to_owned(), PROGRAM)])
}

fn below(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut out, mut folders) = (Vec::new(), vec![root.join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("UTF-8");
                out.push((path.strip_prefix(root).expect("inside").to_owned(), text));
            }
        }
    }
    out.sort();
    out
}

/// The sources of the program and its libraries.
fn sources() -> Vec<(PathBuf, String)> {
    let folders = CRATES.iter().map(|(name, _)| format!("crates/{name}/src"));
    folders.chain(["src".to_owned()]).flat_map(|folder| below(&folder)).collect()
}

/// The text of a source without its tests.
fn code(text: &str) -> String {
    let text = text.replace("#[cfg(test)]\nmod tests;\n", "");
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

#[test]
fn imports_only_go_down() {
    let mut wrong = Vec::new();
    for (folder, modules) in crates() {
        let sources = imports::Sources::read(&folder);
        let level = |name: &str| modules.iter().position(|module| *module == name);
        let imports = sources.imports();
        assert!(!imports.is_empty(), "imports of {folder} were found");
        for import in imports {
            let (Some(own), Some(other)) = (import.from.first(), import.to.first()) else { continue };
            let (from, to) = (sources.path(&import.from), sources.path(&import.to));
            let case = |module: &imports::Module| {
                USE_CASES.iter().position(|case| module.get(1).is_some_and(|own| own == case))
            };
            if own == "use_cases" && other == own {
                let at = case(&import.from).unwrap_or_else(|| panic!("{from} is in no use case of the layout"));
                if case(&import.to).is_none_or(|other| other > at) {
                    wrong.push(format!("{from} imports {to}"));
                }
                continue;
            }
            let at = level(own).unwrap_or_else(|| panic!("{from} is in no module of the layout"));
            let is_interface = |name: &String| INTERFACES.iter().any(|interface| interface == name);
            let is_below = level(other).is_some_and(|other| other < at) && !(is_interface(own) && is_interface(other));
            if own != other && !is_below {
                wrong.push(format!("{from} imports {to}"));
            }
        }
    }
    assert!(wrong.is_empty(), "imports only go down, and no interface imports the other:\n{}", wrong.join("\n"));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for (folder, _) in crates() {
        let sources = imports::Sources::read(&folder);
        circles.extend(sources.circles().into_iter().map(|circle| circle.join(" ")));
    }
    assert!(circles.is_empty(), "these import each other:\n{}", circles.join("\n"));
}

#[test]
fn a_folder_has_at_most_twelve_entries() {
    // a folder for each use case, a file for each command
    let is_wide = |folder: &Path| folder == Path::new("src/use_cases") || folder.starts_with("src/cli");
    let mut folders: Vec<PathBuf> = sources().iter().filter_map(|(path, _)| Some(path.parent()?.to_owned())).collect();
    folders.sort();
    folders.dedup();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in folders.iter().filter(|folder| !is_wide(folder)) {
        let count = std::fs::read_dir(root.join(folder)).expect("a folder").count();
        assert!(count <= 12, "{} has {count} entries", folder.display());
    }
}

#[test]
fn every_file_of_the_tests_is_compiled() {
    let read =
        |path: PathBuf| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap_or_default();
    for (path, _) in below("tests") {
        let path = if path.ends_with("mod.rs") { path.parent().expect("a folder").to_owned() } else { path };
        let (folder, name) = (path.parent().expect("a folder"), path.file_stem().expect("a name").to_string_lossy());
        // what cargo itself compiles
        if folder == Path::new("tests") && path.extension().is_some() {
            continue;
        }
        let parents = [folder.join("mod.rs"), folder.with_extension("rs"), folder.join("runner.rs")];
        let is_declared = parents.into_iter().any(|parent| read(parent).contains(&format!("mod {name};")));
        assert!(is_declared, "no file has 'mod {name};' for {}", path.display());
    }
}

#[test]
fn a_library_imports_only_lower_libraries_and_nothing_of_the_program() {
    for (at, (name, _)) in CRATES.iter().enumerate() {
        let later = CRATES[at..].iter().map(|(name, _)| name.replace('-', "_"));
        let forbidden: Vec<String> = later.chain(["git_empirica", "clap", "minijinja"].map(str::to_owned)).collect();
        for (path, text) in below(&format!("crates/{name}/src")) {
            let code = code(&text);
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            for (line, name) in lines.flat_map(|line| forbidden.iter().map(move |name| (line, name))) {
                assert!(!line.contains(&format!("{name}::")), "{}: {line}", path.display());
            }
            let has_database = text.contains("rusqlite") && *name != "empirica-transcripts";
            assert!(!has_database, "{} names a database", path.display());
        }
    }
}

#[test]
fn only_the_git_module_touches_git() {
    for (path, text) in sources() {
        let on_git = path.starts_with("crates/empirica-notes/src/git");
        for forbidden in ["gix::", "use gix", "Command::new(\"git\")"] {
            assert!(on_git || !text.contains(forbidden), "{} names {forbidden}", path.display());
        }
    }
}

#[test]
fn use_cases_print_nothing_and_nobody_prints_past_the_streams() {
    for (path, text) in sources() {
        let code = code(&text);
        for forbidden in ["println!", "eprintln!", "print!(", "dbg!("] {
            assert!(!code.contains(forbidden), "{} prints with {forbidden}", path.display());
        }
        let is_interface = INTERFACES.iter().any(|name| path.starts_with(format!("src/{name}")));
        if path.starts_with("src") && !is_interface && !path.ends_with("main.rs") {
            assert!(!code.contains("io::stdout") && !code.contains("io::stderr"), "{} prints", path.display());
        }
    }
}

#[test]
fn a_file_says_in_its_first_line_what_it_is_for() {
    for (path, text) in sources() {
        assert!(text.starts_with("//! "), "{} does not say what it is for", path.display());
    }
}

#[test]
fn a_command_line_of_the_program_is_written_as_data() {
    // help and the pages made of it are texts about the command line
    let about = ["src/cli/commands", "src/cli/help", "crates/empirica-notes/src/error/remedy.rs"];
    for (path, text) in sources().into_iter().filter(|(path, _)| !is_of_tests(path)) {
        let code = code(&text);
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let after = line.split("git empirica ").nth(1).and_then(|rest| rest.chars().next());
            let is_command = after.is_some_and(|first| first.is_ascii_lowercase() || "-{\\<".contains(first));
            assert!(!is_command || about.iter().any(|about| path.starts_with(about)), "{}: {line}", path.display());
        }
    }
}

/// Whether a file, or its folder, has the tests of a module.
fn is_of_tests(path: &Path) -> bool {
    path.ends_with("tests.rs") || path.parent().is_some_and(|folder| folder.ends_with("tests"))
}

#[test]
fn code_outside_tests_does_not_unwrap() {
    for (path, text) in sources().into_iter().filter(|(path, _)| !is_of_tests(path)) {
        let code = code(&text);
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

#[test]
fn only_the_mcp_server_needs_what_its_feature_brings() {
    let switches = ["src/lib.rs", "src/main.rs"];
    for (path, text) in below("src") {
        let code = code(&text);
        for forbidden in ["rmcp::", "tokio::", "crate::mcp", "git_empirica::mcp"] {
            let is_allowed = path.starts_with("src/mcp") || switches.iter().any(|switch| path.ends_with(switch));
            assert!(is_allowed || !code.contains(forbidden), "{} names {forbidden}", path.display());
        }
    }
}

#[test]
fn a_command_has_its_arguments_and_its_call_in_one_file() {
    let shared = ["commands/prelude.rs", "assess/assessment.rs", "journal/entry.rs"];
    let commands = below("src/cli/commands");
    for (path, text) in &commands {
        let is_command = text.contains("fn run(self") && ["Args)]", "Subcommand)]"].iter().any(|d| text.contains(d));
        assert!(is_command || shared.iter().any(|end| path.ends_with(end)), "{} is no command", path.display());
    }
    assert!(commands.len() > 42, "commands were found");
    for (path, text) in below("src").iter().filter(|(path, _)| !path.starts_with("src/cli/commands")) {
        assert!(!text.contains("Args)]"), "{} has arguments", path.display());
    }
}

#[test]
fn a_folder_of_the_interfaces_has_at_most_12_entries() {
    let mut entries: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    for (path, _) in INTERFACES.iter().flat_map(|name| below(&format!("src/{name}"))) {
        for pair in path.ancestors().collect::<Vec<_>>().windows(2) {
            entries.entry(pair[1].to_owned()).or_default().insert(pair[0].to_owned());
        }
    }
    for (folder, inside) in entries.iter().filter(|(folder, _)| folder.starts_with("src")) {
        assert!(inside.len() <= 12, "{} has {} entries", folder.display(), inside.len());
    }
    assert!(entries.len() > 10, "folders were found");
}
