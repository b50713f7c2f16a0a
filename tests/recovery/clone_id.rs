//! A random id in the git directory identifies a clone, wherever and on whatever host it is mounted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use empirica_notes::model::hash::fnv;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::support::harness::{Repo, RunOutput, Sandbox, fed};

fn id(repo: &Repo<'_>) -> String {
    fs::read_to_string(repo.path.join(".git/empirica-id")).expect("an id")
}

/// The place of sessions in its main worktree, which does not tell its id.
fn own_place(repo: &Repo<'_>) -> String {
    let hash = Sha256::digest(format!("empirica place\0{}\0main", id(repo)));
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The same in 0.1.0.
fn former_place(repo: &Repo<'_>) -> String {
    format!("{:016x}", fnv(&[former(repo).as_slice(), b"main"].join(b"\0".as_slice())))
}

/// The clone at another path.
fn moved<'p>(repo: &Repo<'p>, to: &str) -> Repo<'p> {
    let path = repo.place.path().join(to);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::rename(&repo.path, &path).expect("moved");
    repo.place.at(path)
}

/// Runs the program as on a host of another name, with another home when one is given; on this host where the system lets
/// nobody give it a name.
fn on_another_host(repo: &Repo<'_>, arguments: &[&str]) -> RunOutput {
    let may = Command::new("unshare").args(["-r", "--uts", "true"]).output().is_ok_and(|out| out.status.success());
    if !may {
        return repo.run(arguments);
    }
    let mut command = repo.place.command("unshare", &repo.path);
    let script = "hostname another-host && exec git-empirica \"$@\"";
    command.args(["-r", "--uts", "sh", "-c", script, "sh"]).args(arguments);
    fed(command, b"")
}

fn json(ran: &RunOutput) -> Value {
    let json = ran.json();
    assert_eq!(json["ok"], true, "{json}");
    json
}

/// What 0.1.0 named this clone by.
fn former(repo: &Repo<'_>) -> Vec<u8> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let common = repo.path.join(".git").canonicalize().expect("the git directory");
    [host.trim().as_bytes(), common.as_os_str().as_encoded_bytes()].join(b"\0".as_slice())
}

fn logs(repo: &Repo<'_>) -> PathBuf {
    repo.place.path().join("home/.local/state/git-empirica")
}

/// Makes pending records go to the user's state folder.
fn block_log(repo: &Repo<'_>) {
    let wal = repo.path.join(".git/empirica/wal");
    let _ = fs::remove_dir_all(&wal);
    fs::write(wal, "").expect("a file");
}

fn unblock_log(repo: &Repo<'_>) {
    fs::remove_file(repo.path.join(".git/empirica/wal")).expect("a file");
}

#[track_caller]
fn assert_has_commit(handoff: &Value, subject: &str, file: &str) {
    assert!(handoff["warnings"].is_null(), "{handoff}");
    let id = handoff["handoff_id"].as_str().expect("an id");
    assert!(!id.is_empty() && handoff.to_string().contains(subject), "{handoff}");
    assert!(handoff.to_string().contains(file), "{handoff}");
}

/// Hands over on another host; what `show` tells of it.
fn handed_over(repo: &Repo<'_>) -> Value {
    let made = json(&on_another_host(repo, &["handoff", "-m", "t", "--context", "c", "--next", "n", "--json"]));
    let mut shown = repo.json(["show", made["handoff_id"].as_str().expect("an id")]);
    shown["warnings"] = made["warnings"].clone();
    shown
}

#[test]
fn a_session_continued_at_another_path_and_host_keeps_its_commits_and_files() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.commit("made-by-ada", "x\n", "Made by ada");
    let repo = moved(&repo, "mounted/elsewhere");
    assert_has_commit(&handed_over(&repo), "Made by ada", "made-by-ada");
}

#[test]
fn a_session_of_0_1_0_keeps_its_commits_and_files() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let log = repo.path.join(".git/empirica/wal/main");
    let text = fs::read_to_string(&log).expect("a log");
    let (now, then) = (own_place(&repo), former_place(&repo));
    assert!(text.contains(&now), "{text}");
    fs::write(&log, text.replace(&now, &then)).expect("a log");
    fs::remove_dir_all(repo.path.join(".git/empirica/current")).expect("what is remembered");
    repo.commit("made-by-ada", "x\n", "Made by ada");
    let made = repo.json(["handoff", "-m", "t", "--context", "c", "--next", "n"]);
    let mut shown = repo.json(["show", made["handoff_id"].as_str().expect("an id")]);
    shown["warnings"] = made["warnings"].clone();
    assert_has_commit(&shown, "Made by ada", "made-by-ada");

    // while it is remembered as active, also where it is mounted elsewhere now
    let other = place.repo("other");
    other.start("ada", "t");
    let log = other.path.join(".git/empirica/wal/main");
    let text = fs::read_to_string(&log).expect("a log");
    let (now, then) = (own_place(&other), former_place(&other));
    fs::write(&log, text.replace(&now, &then)).expect("a log");
    other.commit("made-by-ada", "x\n", "Made by ada");
    assert_has_commit(&handed_over(&moved(&other, "mounted")), "Made by ada", "made-by-ada");
}

#[test]
fn records_in_the_users_state_folder_are_found_from_another_path_and_host() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.json(["flush"]);
    block_log(&repo);
    assert_eq!(repo.json(["finding", "kept in the state folder"])["storage"], "user_state");
    let repo = moved(&repo, "mounted");
    let status = json(&on_another_host(&repo, &["status", "--json"]));
    assert_eq!(status["waiting"]["user_state"], 1, "{status}");
    let doctor = on_another_host(&repo, &["doctor"]);
    assert!(doctor.out.contains("1 record"), "{}", doctor.out);
    unblock_log(&repo);
    json(&on_another_host(&repo, &["flush", "--json"]));
    assert!(repo.lines("journal").join("\n").contains("kept in the state folder"));
}

#[test]
fn records_that_0_1_0_left_in_the_users_state_folder_are_found() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.json(["flush"]);
    block_log(&repo);
    repo.json(["finding", "kept in the state folder"]);
    let then = format!("{:016x}", fnv(&former(&repo)));
    fs::rename(logs(&repo).join(id(&repo)), logs(&repo).join(then)).expect("the log");
    assert_eq!(repo.json(["status"])["waiting"]["user_state"], 1);
    repo.json(["flush"]);
    assert!(repo.lines("journal").join("\n").contains("kept in the state folder"));
}

#[test]
fn concurrent_first_uses_give_a_clone_one_id() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let start = |n: usize| repo.program().args(["session", "start", "--ai", &format!("ai{n}")]).spawn();
    let children: Vec<_> = (0..12).map(|n| start(n).expect("it starts")).collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    repo.json(["flush"]);
    let starts = repo.lines("journal");
    let starts = starts.iter().map(|line| serde_json::from_str::<Value>(line).expect("a record"));
    let places: Vec<String> = starts.map(|start| start["place"].as_str().expect("a place").to_owned()).collect();
    assert_eq!(places, vec![own_place(&repo); 12]);
    assert_eq!(id(&repo).len(), 32);
}

#[test]
fn a_clone_whose_id_was_torn_by_a_crash_gets_another_one() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.write(".git/empirica-id", "0123");
    repo.start("ada", "t");
    assert_eq!(id(&repo).len(), 32);
}

#[test]
fn a_copied_clone_continues_the_session_and_takes_pending_records_of_the_state_folder() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.json(["flush"]);
    block_log(&repo);
    repo.json(["finding", "kept in the state folder"]);
    unblock_log(&repo);
    let copied = Command::new("cp").arg("-r").arg(&repo.path).arg(place.path().join("copy")).status();
    assert!(copied.expect("cp starts").success());
    let copy = place.at(Path::new("copy"));
    copy.commit("made-in-the-copy", "x\n", "Made in the copy");
    assert_has_commit(&handed_over(&copy), "Made in the copy", "made-in-the-copy");
    assert!(copy.lines("journal").join("\n").contains("kept in the state folder"));
    // with an id of its own the session is another clone's
    fs::remove_file(copy.path.join(".git/empirica-id")).expect("ours");
    fs::remove_dir_all(copy.path.join(".git/empirica")).expect("ours");
    copy.json(["status"]);
    let active = copy.json(["session", "start", "--ai", "ada"]);
    assert_ne!(id(&copy), id(&repo));
    assert_eq!(active["ok"], true);
}
