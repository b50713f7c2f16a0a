//! Kills at random moments: acknowledged records stay, nothing is truncated, and the next command works.

use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox, is_long};

/// SplitMix64: the same moments in every run.
struct Moments(u64);

impl Moments {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }
}

fn spawn(repo: &Repo<'_>, arguments: &[&str]) -> Child {
    let mut command = repo.program();
    command.args(arguments).arg("--json").stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

/// Every line of our data notes, each of which must be a whole record.
#[track_caller]
fn whole_lines(repo: &Repo<'_>) -> Vec<String> {
    let all: Vec<String> =
        ["journal", "checkpoints", "handoffs"].iter().flat_map(|namespace| repo.lines(namespace)).collect();
    for line in &all {
        let record: Result<Value, _> = serde_json::from_str(line);
        assert!(record.is_ok_and(|record| record["id"].is_string()), "no whole record: {line}");
    }
    all
}

/// How many logs there are, taken or not.
fn logs(repo: &Repo<'_>) -> usize {
    let folder = repo.path.join(".git/empirica/wal");
    let files = |folder: std::path::PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    files(folder.clone()).chain(files(folder.join("taken"))).filter(|file| file.path().is_file()).count()
}

#[test]
fn a_kill_at_any_moment_loses_and_truncates_nothing() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let kills = if is_long() { 1500 } else { 60 };
    let mut moments = Moments(7);
    let mut acknowledged: Vec<String> = Vec::new();
    let mut killed = 0;
    for round in 0..kills {
        let text = format!("text {round} {{with}} braces {{\"v\":1}}");
        let commands: [&[&str]; 5] = [
            &["finding", &text],
            &["handoff", "-m", &text],
            &["flush"],
            &["checkpoint", "-v", "know=0.5"],
            &["handoff", "list"],
        ];
        let mut child = spawn(&repo, commands[moments.next(5) as usize]);
        std::thread::sleep(Duration::from_micros(moments.next(50_000)));
        child.kill().unwrap();
        let mut out = String::new();
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        killed += usize::from(!child.wait().unwrap().success());
        // a whole document was the answer, whatever became of the process then
        if let Ok(json) = serde_json::from_str::<Value>(&out) {
            let id = ["id", "handoff_id", "checkpoint_id"].iter().find_map(|key| json[key].as_str());
            acknowledged.extend(id.map(str::to_owned));
        }
        if round % 15 == 14 {
            let id = repo.json(["finding", "between the kills"])["id"].as_str().unwrap().to_owned();
            let known = repo.json(["session", "show", "latest"])["findings"].to_string();
            assert!(known.contains(&id), "{known}");
            acknowledged.push(id);
            repo.json(["resume"]);
            repo.fsck();
        }
    }
    assert!(killed > kills / 10, "only {killed} of {kills} were killed in time");
    // a lock file of git's that the killed left is theirs to remove, as after a killed git
    let left = ["data/journal", "data/checkpoints", "data/handoffs", "handoffs"];
    for name in left {
        let _ = fs::remove_file(repo.path.join(format!(".git/refs/notes/empirica/{name}.lock")));
    }
    let json = repo.json(["flush"]);
    assert_eq!((&json["degraded_mode"], &json["waiting"]), (&false.into(), &0.into()), "{json}");
    let all = whole_lines(&repo);
    assert!(acknowledged.len() > kills / 15);
    for id in acknowledged {
        let count = all.iter().filter(|line| line.contains(&format!("\"id\":\"{id}\",\"kind\""))).count();
        assert_eq!(count, 1, "{id}");
    }
    repo.fsck();
    assert_eq!(logs(&repo), 0, "what was flushed is no longer in the log");
}

#[test]
fn a_line_torn_anywhere_is_passed_over_and_spoils_no_other() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    repo.json(["flush"]);
    repo.json(["finding", "text with {braces} and \"quotes\" and {\"v\":1}}} é"]);
    let log = repo.path.join(".git/empirica/wal/main");
    let whole = fs::read(&log).unwrap();
    let record: Vec<u8> = whole.iter().copied().filter(|byte| *byte != b'\n').collect();
    // another record's id, so that a torn copy cannot hide behind the whole one
    let id = String::from_utf8_lossy(&record).split('"').nth(5).unwrap().to_owned();
    let torn_id = format!("{}00000000", &id[..28]);
    let record = String::from_utf8(record).unwrap().replace(&id, &torn_id).into_bytes();
    let mut text = whole.clone();
    for end in 1..record.len() {
        text.push(b'\n');
        text.extend_from_slice(&record[..end]);
    }
    fs::write(&log, text).unwrap();

    let shown = repo.json(["session", "show", "latest"]);
    assert_eq!(shown["findings"].as_array().map(Vec::len), Some(1), "{shown}");
    assert_eq!(repo.json(["status"])["unflushed"], 1);
    repo.json(["finding", "the next one"]);
    assert_eq!(repo.json(["flush"])["waiting"], 0);
    let all = whole_lines(&repo);
    assert_eq!(all.len(), 3, "{all:#?}");
    assert!(all.iter().all(|line| !line.contains(&torn_id)));
    assert!(all[2].contains("the next one"));
}

#[test]
fn an_id_sorts_after_that_of_an_earlier_long_record() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let ids: Vec<String> = (0..4)
        .map(|n| repo.json(["finding", &format!("{n}{}", "x".repeat(12_000))])["id"].as_str().unwrap().to_owned())
        .collect();
    assert!(ids.is_sorted(), "{ids:?}");
}

#[test]
fn a_flush_that_was_interrupted_is_finished_by_the_next_one() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let one = repo.json(["finding", "taken"])["id"].clone();
    let folder = repo.path.join(".git/empirica/wal");
    // as a flush leaves it that was killed after the rename
    fs::create_dir_all(folder.join("taken")).unwrap();
    fs::rename(folder.join("main"), folder.join("taken/main.taken-1-0000000a")).unwrap();
    let two = repo.json(["finding", "later"])["id"].clone();
    let shown = repo.json(["session", "show", "latest"])["findings"].to_string();
    assert!(shown.contains("taken") && shown.contains("later"), "{shown}");
    let handoff = repo.json(["handoff"]);
    assert_eq!(handoff["degraded_mode"], false);
    let all = whole_lines(&repo);
    for id in [one, two] {
        assert_eq!(all.iter().filter(|line| line.contains(&format!("\"id\":{id},\"kind\""))).count(), 1);
    }
    assert_eq!(logs(&repo), 0);
}

#[test]
fn a_flush_killed_after_writing_the_notes_duplicates_nothing() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    repo.json(["finding", "once"]);
    let log = repo.path.join(".git/empirica/wal/main");
    let text = fs::read(&log).unwrap();
    let tips = repo.path.join(".git/empirica/tips");
    let before = fs::read(&tips).unwrap_or_default();
    repo.json(["flush"]);
    let tree = repo.git_out(["rev-parse", "refs/notes/empirica/data/journal^{tree}"]);
    fs::write(&log, text).unwrap();
    fs::write(&tips, before).unwrap();
    assert_eq!(repo.json(["session", "show", "latest"])["findings"].as_array().map(Vec::len), Some(1));
    repo.json(["flush"]);
    assert_eq!(repo.git_out(["rev-parse", "refs/notes/empirica/data/journal^{tree}"]), tree);
}
