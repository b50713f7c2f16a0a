//! `core.sharedRepository`: files in the git directory have git's permissions, and no others do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::harness::{Repo, RunOutput, Sandbox, fed};

/// Runs a script in which the mask lets nobody else in.
fn masked(repo: &Repo<'_>, script: &str) -> RunOutput {
    let mut shell = repo.place.command("sh", &repo.path);
    shell.args(["-c", &format!("umask 077; {script}")]);
    fed(shell, b"")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o7777
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        out.push(entry.path());
        out.extend(below(&entry.path()));
    }
    out
}

#[test]
fn files_outside_the_git_directory_follow_the_umask() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["config", "core.sharedRepository", "group"]).ok();
    repo.start("ada", "t");
    masked(&repo, "git empirica report --html page.html && git empirica export --markdown out").ok();
    assert_eq!(mode(&repo.path.join("page.html")), 0o600);
    assert_eq!(mode(&repo.path.join("out")), 0o700);
    // also where the log of the repository cannot be written
    fs::remove_dir_all(repo.path.join(".git/empirica/wal")).expect("a folder");
    repo.write(".git/empirica/wal", "");
    masked(&repo, "git empirica finding f").ok();
    let state = place.path().join("home/.local/state");
    let open: Vec<PathBuf> = below(&state).into_iter().filter(|path| mode(path) & 0o077 != 0).collect();
    assert_eq!((below(&state).is_empty(), open), (false, Vec::new()));
}

#[test]
fn files_in_the_git_directory_have_gits_permissions() {
    for value in ["group", "all", "0640", "0660", "umask"] {
        let place = Sandbox::new();
        let repo = place.repo("r");
        repo.git(["init", "-q", &format!("--shared={value}")]).ok();
        // before the others are made, so that git sets the permissions of the folders
        masked(&repo, "git notes --ref by-git add -m note").ok();
        let work = "git empirica init && git empirica session start --ai ada && git empirica finding f \
            && git empirica checkpoint && git empirica handoff && git empirica finding waits && git empirica search f \
            && git empirica flush";
        masked(&repo, work).ok();
        let git = repo.path.join(".git");
        let file = mode(&git.join("refs/notes/by-git"));
        let folder = mode(&git.join("refs/notes"));
        let made: Vec<PathBuf> = ["empirica", "refs/notes"].iter().flat_map(|name| below(&git.join(name))).collect();
        assert!(made.iter().any(|path| path.ends_with("index.db")), "{made:?}");
        for path in made.iter().chain([&git.join("empirica"), &git.join("empirica-id")]) {
            let is_hook = path.starts_with(git.join("empirica/hooks")) && path.is_file();
            let wanted = match path.is_dir() {
                true => folder,
                false if is_hook => file | (file & 0o444) >> 2,
                false => file,
            };
            assert_eq!(format!("{:o}", mode(path)), format!("{wanted:o}"), "{value}: {}", path.display());
        }
        let by_git = repo.git_out(["rev-parse", "refs/notes/by-git:"]);
        let object = |id: &str| mode(&git.join("objects").join(&id[..2]).join(&id[2..]));
        let ours = repo.git_out(["rev-parse", "refs/notes/empirica/data/handoffs^{tree}"]);
        assert_eq!(format!("{:o}", object(&ours)), format!("{:o}", object(&by_git)), "{value}");
    }
}
