//! Faults of the logs, several faults at once, and missing programs; `status` reports pending records and
//! those that no remote has.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::recovery::faults::storage::{Wrap, answers, begun, drains, id, in_the_way, run, says_and_reads, state};
use crate::support::harness::{Repo, Sandbox};

/// A fault of the repository's own log: the user's state folder takes the records, and says so.
#[track_caller]
fn kept_in_the_state_folder(block: impl Fn(&Repo<'_>), wrap: Wrap<'_>, unblock: impl Fn(&Repo<'_>)) {
    let mut place = Sandbox::new();
    let (head, ids) = {
        let repo = begun(&place);
        block(&repo);
        let ids = says_and_reads(&repo, wrap, "user_state");
        let text = run(&repo, wrap, &["status"]).ok().json()["waiting"]["user_state"].as_u64();
        assert!(text.is_some_and(|waiting| waiting >= 5), "{text:?}");
        unblock(&repo);
        (repo.head(), ids)
    };
    drains(&mut place, &head, &ids);
}

#[test]
fn a_folder_in_place_of_the_log_loses_nothing() {
    let log = |repo: &Repo<'_>| {
        let names = fs::read_dir(repo.path.join(".git/empirica/wal/taken")).map(|all| all.count());
        assert_eq!(names.unwrap_or(0), 0);
        repo.path.join(".git/empirica/wal/main")
    };
    let name = |repo: &Repo<'_>| {
        repo.json(["finding", "to learn the log's name"]);
        let wal = repo.path.join(".git/empirica/wal");
        let file = fs::read_dir(&wal).expect("a folder").flatten().map(|e| e.path()).find(|path| path.is_file());
        repo.json(["flush"]);
        file.unwrap_or_else(|| log(repo))
    };
    let path = std::cell::RefCell::new(PathBuf::new());
    let lock = std::cell::RefCell::new(None);
    kept_in_the_state_folder(
        |repo| {
            path.replace(name(repo));
            fs::create_dir(&*path.borrow()).expect("a folder");
            // nor can the notes be written, or the state folder's log would be drained at once
            let file = fs::File::options().append(true).open(repo.path.join(".git/empirica/lock")).expect("the lock");
            file.lock().expect("it is ours");
            lock.replace(Some(file));
        },
        None,
        |_| {
            drop(lock.take());
            fs::remove_dir(&*path.borrow()).expect("it goes");
        },
    );
}

#[test]
fn a_state_folder_that_cannot_be_created_loses_nothing() {
    kept_in_the_state_folder(
        |repo| {
            fs::rename(repo.path.join(".git/empirica"), repo.path.join(".git/kept")).expect("a folder");
            fs::write(repo.path.join(".git/empirica"), "in the way").expect("a file");
        },
        None,
        |repo| {
            fs::remove_file(repo.path.join(".git/empirica")).expect("it goes");
            fs::rename(repo.path.join(".git/kept"), repo.path.join(".git/empirica")).expect("a folder");
        },
    );
}

#[test]
fn a_full_log_stores_no_partial_record_and_the_state_folder_stores_it() {
    // the log is as large as a file may be but for a few bytes: a part of an append would fit
    let padded = |repo: &Repo<'_>| {
        repo.json(["finding", "to learn the log's name"]);
        let wal = repo.path.join(".git/empirica/wal");
        let log = fs::read_dir(&wal).expect("a folder").flatten().map(|e| e.path()).find(|path| path.is_file());
        let log = log.expect("the log");
        let length = fs::metadata(&log).expect("the log").len() as usize;
        let foreign = " ".repeat(32 * 1024 - length - 100);
        fs::write(&log, [fs::read(&log).expect("the log"), foreign.into_bytes(), b"\n".to_vec()].concat()).expect("it");
        log
    };
    let mut place = Sandbox::new();
    let (head, found) = {
        let repo = begun(&place);
        let log = padded(&repo);
        let before = fs::read(&log).expect("the log");
        // blocks of 512 bytes in a POSIX shell, of 1024 in bash
        let wrap = "trap '' XFSZ; ulimit -f 1; dd if=/dev/zero of=../size bs=4096 count=1 2>/dev/null; \
            unit=$(wc -c <../size); exec sh -c 'trap \"\" XFSZ; ulimit -f '$((32768 / unit))'; exec \"$@\"' sh \"$@\"";
        let wrap = wrap.replace("ulimit -f 1;", "").replace(
            "dd if=/dev/zero of=../size bs=4096 count=1 2>/dev/null",
            "(ulimit -f 1; dd if=/dev/zero of=../size bs=4096 count=1 2>/dev/null)",
        );
        let json = answers(&repo, Some(&wrap), &["finding", "too long for the log"]);
        assert_eq!(
            (&json["storage"], &json["degraded_mode"]),
            (&Value::from("user_state"), &Value::from(true)),
            "{json}"
        );
        assert!(json["warning"].as_str().is_some_and(|text| text.contains("state folder")), "{json}");
        assert_eq!(fs::read(&log).expect("the log"), before, "no half of it is left");
        // without room in any log, nothing is stored, and the error says so
        let none = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
        let ran = run(&repo, Some(none), &["finding", "nowhere"]).code(128);
        assert_eq!(ran.json()["ok"], false);
        assert_eq!(fs::read(&log).expect("the log"), before);
        (repo.head(), id(&json))
    };
    place.now = "2026-03-02T00:00:00.000Z".into();
    let repo = place.at("r");
    repo.commit("later", "later", "Later");
    let flushed = answers(&repo, None, &["flush"]);
    assert_eq!(flushed["waiting"], 0, "{flushed}");
    let note = repo.note("refs/notes/empirica/data/journal", &head);
    assert_eq!(note.matches(found.as_str()).count(), 1, "{note}");
    assert!(!repo.lines("journal").iter().any(|line| line.contains("nowhere")));
    repo.fsck();
}

#[test]
fn logs_taken_by_an_interrupted_flush_are_counted_and_drained() {
    let place = Sandbox::new();
    let repo = begun(&place);
    repo.json(["finding", "taken"]);
    let lock = repo.path.join(".git/refs/notes/empirica/data/journal.lock");
    fs::write(&lock, "").expect("a lock");
    assert_eq!(repo.json(["flush"])["degraded_mode"], true);
    repo.json(["finding", "not taken"]);
    let status = repo.json(["status"]);
    assert_eq!((&status["waiting"]["interrupted"], &status["waiting"]["log"]), (&Value::from(1), &Value::from(1)));
    let text = repo.run(["status"]).ok().out;
    for part in
        ["1 in the log", "1 in logs that a flush took", "since 2026-03-01", "journal.lock", "git empirica flush"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    fs::remove_file(&lock).expect("a file");
    assert_eq!(repo.json(["flush"])["waiting"], 0);
}

#[test]
fn a_log_that_cannot_be_flushed_is_not_reported_as_stored() {
    let mut place = Sandbox::new();
    let (head, ids) = {
        let repo = begun(&place);
        let taken = repo.path.join(".git/empirica/wal/taken");
        let _ = fs::remove_dir_all(&taken);
        fs::write(&taken, "").expect("a file");
        let ids = says_and_reads(&repo, None, "log");
        let flushed = repo.json(["flush"]);
        assert_eq!(flushed["degraded_mode"], true, "{flushed}");
        assert!(flushed["waiting"].as_u64().is_some_and(|waiting| waiting >= 5), "{flushed}");
        let command = flushed["recovery_commands"][0].as_str().expect("a command").to_owned();
        let ran = repo.place.command("sh", &repo.path).args(["-c", &command]).status().expect("a shell");
        assert!(ran.success(), "{command}");
        (repo.head(), ids)
    };
    drains(&mut place, &head, &ids);
}

#[test]
fn simultaneous_failures_are_reported_with_recovery_commands() {
    let place = Sandbox::new();
    let repo = begun(&place);
    repo.git(["repack", "-adq"]).ok();
    in_the_way(&repo, true);
    let empirica = repo.path.join(".git/empirica");
    fs::remove_dir_all(&empirica).expect("a folder");
    fs::write(&empirica, "in the way").expect("a file");
    fs::create_dir_all(state(&repo)).expect("a folder");
    fs::write(state(&repo).join("git-empirica"), "in the way, too").expect("a file");
    for command in [
        &["finding", "nowhere to go", "--session", "latest"][..],
        &["checkpoint", "-v", "know=0.5", "--session", "latest"],
        &["preflight", "-v", "know=0.5", "--session", "latest"],
        &["handoff", "--session", "latest"],
        &["goal", "add", "g", "--session", "latest"],
        &["session", "start", "--ai", "bob"],
    ] {
        let json = repo.fails(128, command);
        assert!(json["reason"].as_str().is_some_and(|text| text.contains(".git/empirica is")), "{json}");
        assert!(json["reason"].as_str().is_some_and(|text| text.contains("state/git-empirica is")), "{json}");
        assert_eq!(json["recovery_commands"].as_array().map(Vec::len), Some(2), "{json}");
        let text = repo.run(command).code(128);
        assert!(text.out.is_empty() && text.err.contains("error: ") && text.err.contains("hint: "), "{}", text.err);
    }
    // reading still works
    for command in [&["status"][..], &["session", "list"], &["session", "show", "latest"], &["resume"], &["query"]] {
        repo.run(command).ok();
    }
    let failure = repo.fails(128, ["finding", "stored after all", "--session", "latest"]);
    let first = failure["recovery_commands"][0].as_str().expect("a command");
    assert!(repo.place.command("sh", &repo.path).args(["-c", first]).status().expect("a shell").success(), "{first}");
    let json = repo.json(["finding", "stored after all", "--session", "latest"]);
    assert_eq!(json["storage"], "log", "the notes still cannot be written: {json}");
    in_the_way(&repo, false);
    assert_eq!(repo.json(["flush"])["waiting"], 0);
    assert_eq!(repo.lines("journal").iter().filter(|line| line.contains("stored after all")).count(), 1);
    repo.fsck();
}

#[test]
fn without_git_on_the_path_every_local_command_works_or_names_git() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let empty = place.path().join("empty");
    fs::create_dir(&empty).expect("a folder");
    let path = empty.to_str().expect("UTF-8").to_owned();
    let run = |arguments: &[&str]| {
        let at = arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len());
        let (before, paths) = arguments.split_at(at);
        repo.run_with_env(&[("PATH", &path)], [before, &["--json"], paths].concat())
    };
    let session = run(&["session", "start", "--ai", "ada", "--task", "Work"]).ok().json();
    assert_eq!((&session["storage"], &session["degraded_mode"]), (&Value::from("log"), &Value::from(false)));
    for command in [
        &["session", "list"][..],
        &["session", "show"],
        &["preflight", "-v", "know=0.5,uncertainty=0.3"],
        &["check", "-v", "know=0.6,uncertainty=0.3"],
        &["finding", "said without git"],
        &["goal", "add", "wanted without git"],
        &["checkpoint"],
        &["postflight", "-v", "know=0.8,uncertainty=0.2"],
        &["handoff", "--next", "install git"],
        &["show"],
        &["resume"],
        &["goal", "list"],
        &["status"],
        &["flush"],
        &["query"],
        &["log"],
        &["session", "end"],
    ] {
        let json = run(command).ok().json();
        assert_eq!(json["ok"], true, "{command:?}: {json}");
        if let Some(storage) = json["storage"].as_str() {
            let wanted = if matches!(command[0], "finding" | "goal") { "log" } else { "git_notes" };
            assert_eq!((storage, &json["degraded_mode"]), (wanted, &Value::from(false)), "{command:?}: {json}");
        }
    }
    // what only git can do says so, with the command that puts it on PATH again
    for command in [&["log", "--", "README.md"][..], &["query", "--since", "yesterday"]] {
        let ran = run(command);
        if ran.code == 0 {
            continue;
        }
        let json = ran.code(128).json();
        assert!(json["reason"].as_str().is_some_and(|text| text.contains("PATH")), "{json}");
    }
    let json = run(&["log", "--", "README.md"]).code(128).json();
    let mend = json["recovery_commands"][0].as_str().expect("a command");
    let again = format!("{mend} && \"$0\" log -- README.md");
    let mut shell = repo.place.command("/bin/sh", &repo.path);
    let shell = shell.env("PATH", &path).args(["-c", &again, env!("CARGO_BIN_EXE_git-empirica")]);
    let out = shell.output().expect("a shell");
    let in_a_usual_folder = mend.starts_with("export");
    assert_eq!(out.status.success(), in_a_usual_folder, "{mend}: {}", String::from_utf8_lossy(&out.stderr));
    assert!(repo.run([OsStr::new("resume")]).ok().out.contains("said without git"));
    repo.fsck();
}

#[test]
fn status_counts_unpushed_records_without_the_network() {
    let place = Sandbox::new();
    let repo = begun(&place);
    assert_eq!(repo.json(["status"])["unsynced"], Value::Null, "there is no remote");
    repo.git(["init", "-q", "--bare", "../hub.git"]).ok();
    repo.git(["remote", "add", "origin", "../hub.git"]).ok();
    repo.json(["finding", "one"]);
    repo.json(["handoff"]);
    let unsynced = |records: u64, handoffs: u64| {
        let json = repo.json(["status"])["unsynced"].clone();
        assert_eq!((json["records"].as_u64(), json["handoffs"].as_u64()), (Some(records), Some(handoffs)), "{json}");
        assert_eq!(json["remotes"][0]["remote"], "origin", "{json}");
        assert_eq!(json["remotes"][0]["records"], records, "{json}");
    };
    unsynced(3, 1);
    assert!(repo.run(["status"]).ok().out.contains("3 records, 1 handoff among them, not on origin yet"));
    repo.json(["sync"]);
    unsynced(0, 0);
    assert!(!repo.run(["status"]).ok().out.contains("not on origin"));
    repo.json(["finding", "two"]);
    unsynced(1, 0);
    repo.json(["flush"]);
    unsynced(1, 0);
    repo.json(["handoff"]);
    let all = repo.json(["status"])["unsynced"]["records"].as_u64().expect("a number");
    assert!(all >= 2, "{all}");
    // status reads the tracking refs, not the remote
    fs::rename(place.path().join("hub.git"), place.path().join("gone.git")).expect("a folder");
    let json = repo.json(["status"]);
    assert_eq!(json["unsynced"]["records"], all, "{json}");
    repo.git(["config", "empirica.sync", "handoffs"]).ok();
    let json = repo.json(["status"]);
    assert!(json["unsynced"]["records"].as_u64().is_some_and(|some| some < all && some >= 1), "{json}");
    repo.git(["config", "empirica.sync", "off"]).ok();
    assert_eq!(repo.json(["status"])["unsynced"], Value::Null);
}
