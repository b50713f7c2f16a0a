//! No home, an empty one, one that is not there, and one that cannot be written.

use std::fs;

use serde_json::Value;

use crate::repository::surroundings::{Container, GROUP, formats, id, is_root, repo_of, set_mode, stored_once};
use crate::support::harness::{RunOutput, Sandbox};

/// What people and agents do most; each succeeds wherever a home is.
const WORK: [&[&str]; 17] = [
    &["session", "start", "--ai", "ada", "--task", "t"],
    &["init"],
    &["finding", "found at home"],
    &["unknown", "why?"],
    &["checkpoint", "-v", "know=0.5"],
    &["handoff", "-m", "t", "--next", "n"],
    &["status"],
    &["resume"],
    &["log"],
    &["search", "home"],
    &["query"],
    &["instructions"],
    &["flush"],
    &["sync"],
    &["doctor"],
    &["session", "end"],
    &["deinit"],
];

#[test]
fn without_a_home_every_command_works_and_stores_in_the_repository() {
    let place = Sandbox::new();
    let nowhere = place.path().join("nowhere/at all").display().to_string();
    for format in formats(&place) {
        for (n, home) in [None, Some(""), Some(nowhere.as_str()), Some("/proc/self/none")].into_iter().enumerate() {
            let name = format!("{}-{}-{n}", format.hash, format.refs);
            let repo = repo_of(&place, &name, format);
            repo.git(
                ["init", "-q", "--bare", &format!("../{name}.git")]
                    .into_iter()
                    .chain(format.options().iter().map(String::as_str)),
            )
            .ok();
            repo.git(["remote", "add", "origin", &format!("../{name}.git")]).ok();
            let mut ids = Vec::new();
            for arguments in WORK {
                let mut command = repo.program();
                match home {
                    None => command.env_remove("HOME"),
                    Some(home) => command.env("HOME", home),
                };
                let ran = RunOutput::new(command.args(arguments).arg("--json").output().expect("it starts")).ok();
                let json: Value = ran.json();
                assert!(json["degraded_mode"] != true, "{home:?} {arguments:?}: {json}");
                if ["finding", "unknown", "checkpoint", "handoff"].contains(&arguments[0]) {
                    ids.push(id(&json));
                }
            }
            stored_once(&repo, &ids);
            assert!(!place.path().join("nowhere").exists(), "no home is made");
        }
    }
}

#[test]
fn setup_without_a_home_says_what_it_lacks() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let mut command = repo.program();
    command.env_remove("HOME").args(["setup", "--json"]);
    let json = RunOutput::new(command.output().expect("it starts")).json();
    assert_eq!(json["ok"], false, "{json}");
    assert!(json.to_string().contains("HOME"), "{json}");
}

#[test]
fn with_a_home_that_cannot_be_written_records_are_in_the_repository_and_its_errors_name_it() {
    if !is_root() {
        return;
    }
    let place = Sandbox::new();
    for format in formats(&place) {
        let name = format!("{}-{}", format.hash, format.refs);
        let repo = repo_of(&place, &name, format);
        let give = |path: &std::path::Path| std::os::unix::fs::chown(path, Some(12345), Some(GROUP)).expect("root may");
        std::iter::once(repo.path.clone())
            .chain(crate::repository::surroundings::below(&repo.path))
            .for_each(|path| give(&path));
        repo.git(["config", "--global", "safe.directory", "*"]).ok();
        let home = place.path().join(format!("locked-{name}"));
        fs::create_dir(&home).expect("a folder");
        set_mode(&home, 0o555);
        let container = Container { host: "alpha", user: 12345, umask: "0022", prepare: String::new() };
        let run = |line: &str| container.run(&repo, &format!("export HOME='{}'; {line}", home.display()));
        let mut ids = Vec::new();
        for arguments in WORK.iter().filter(|arguments| arguments[0] != "sync") {
            let line: String = arguments.iter().map(|word| format!(" '{word}'")).collect();
            let Some(ran) = run(&format!("git empirica{line} --json")) else { return };
            let json = ran.ok().json();
            assert!(json["degraded_mode"] != true, "{arguments:?}: {json}");
            if ["finding", "unknown", "checkpoint", "handoff"].contains(&arguments[0]) {
                ids.push(id(&json));
            }
        }
        assert_eq!(fs::read_dir(&home).expect("a folder").count(), 0);
        // with no other place to store, the error names both, and nothing is acknowledged
        fs::rename(repo.path.join(".git/empirica"), repo.path.join(".git/empirica-aside")).expect("renamed");
        fs::write(repo.path.join(".git/empirica"), "").expect("a file");
        let json = run("git empirica finding lost --json").expect("a container").code(128).json();
        let reason = json["reason"].as_str().expect("a text");
        assert!(reason.contains(".git/empirica") && reason.contains("locked-"), "{json}");
        assert!(!json["recovery_commands"].as_array().expect("a list").is_empty(), "{json}");
        fs::remove_file(repo.path.join(".git/empirica")).expect("ours");
        fs::rename(repo.path.join(".git/empirica-aside"), repo.path.join(".git/empirica")).expect("renamed");
        stored_once(&repo, &ids);
    }
}
