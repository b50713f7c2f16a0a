//! A damaged, blocked, incomplete or concurrently used index: never an error, never a wrong answer.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::repository::index::{answers, equal, folder, forget_lists, remove};
use crate::support::harness::{Repo, Sandbox, each, is_long};

const ASKED: [&str; 5] = ["session list", "query", "calibration", "resume --last 2", "session show latest"];

fn db(repo: &Repo<'_>) -> PathBuf {
    folder(repo).join("index.db")
}

/// A repository with `n` sessions that handed over, and an index over them.
fn filled<'p>(place: &'p Sandbox, n: usize) -> Repo<'p> {
    let repo = place.repo("r");
    for at in 0..n {
        repo.start("ada", &format!("Task {at}"));
        repo.json(["finding", &format!("Finding {at}: {}", "words and words ".repeat(40))]);
        repo.hand_over(&format!("Hand over {at}"));
    }
    repo.json(["query"]);
    repo
}

/// Writes the stamp that belongs to the index as it is.
fn stamp(repo: &Repo<'_>) {
    let seen = fs::metadata(db(repo)).expect("an index");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let (modified, changed) = ((seen.mtime(), seen.mtime_nsec()), (seen.ctime(), seen.ctime_nsec()));
    let text = format!(
        "{} {}.{:09} {}.{:09} {}\n{boot}",
        seen.size(),
        modified.0,
        modified.1,
        changed.0,
        changed.1,
        seen.ino()
    );
    fs::write(folder(repo).join("index.stamp"), text).expect("a stamp");
}

fn edit(repo: &Repo<'_>, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(db(repo)).expect("an index");
    change(&mut bytes);
    fs::write(db(repo), bytes).expect("an index");
}

fn sql(repo: &Repo<'_>, text: &str) {
    rusqlite::Connection::open(db(repo)).expect("an index").execute_batch(text).expect("SQL");
}

fn instead(repo: &Repo<'_>, make: impl Fn(&PathBuf)) {
    fs::remove_file(db(repo)).expect("an index");
    make(&db(repo));
}

fn fifo(path: PathBuf) {
    let _ = fs::remove_file(&path);
    assert!(std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo starts").success());
}

type Damage = (&'static str, fn(&Repo<'_>));

#[test]
fn a_damaged_index_is_rebuilt_silently() {
    let all: [Damage; 21] = [
        ("empty", |r| edit(r, |b| b.clear())),
        ("a page", |r| edit(r, |b| b.truncate(4096))),
        ("half", |r| edit(r, |b| b.truncate(b.len() / 2))),
        ("a byte less", |r| edit(r, |b| b.truncate(b.len() - 1))),
        ("garbage", |r| edit(r, |b| b.fill(0x5a))),
        ("garbage in the middle", |r| edit(r, |b| b[10_000..40_000].fill(0xff))),
        ("flipped bytes", |r| edit(r, |b| (100..b.len()).step_by(97).for_each(|at| b[at] ^= 1))),
        ("other texts", |r| {
            sql(r, "UPDATE session SET task = 'forged', summary = NULL; UPDATE handoff_reports SET superseded = 1")
        }),
        ("no rows", |r| sql(r, "DELETE FROM record")),
        ("no tables", |r| sql(r, "DROP TABLE record; DROP TABLE session")),
        ("another layout", |r| {
            sql(r, "UPDATE meta SET value = '0' || substr(value, 2) WHERE name = 'key'; DELETE FROM record");
            stamp(r);
        }),
        ("another version", |r| {
            sql(r, "UPDATE meta SET value = replace(value, ' 0.', ' 99.') WHERE name = 'key'; DELETE FROM session");
            stamp(r);
        }),
        ("no key", |r| {
            sql(r, "DELETE FROM meta");
            stamp(r);
        }),
        ("a folder", |r| instead(r, |path| fs::create_dir_all(path.join("x")).expect("a folder"))),
        ("a link to nothing", |r| instead(r, |path| std::os::unix::fs::symlink("nothing", path).expect("a link"))),
        ("a link to a device", |r| instead(r, |path| std::os::unix::fs::symlink("/dev/zero", path).expect("a link"))),
        ("a pipe", |r| fifo(db(r))),
        ("a pipe for a stamp", |r| fifo(folder(r).join("index.stamp"))),
        ("a pipe for a lock", |r| {
            edit(r, |b| b.clear());
            fifo(folder(r).join("index.lock"));
        }),
        ("a stamp of nothing", |r| fs::write(folder(r).join("index.stamp"), [0xff, 0, 10]).expect("a stamp")),
        ("what a killed one left", |r| {
            fs::write(folder(r).join("index.new"), "half a database").expect("a file");
            edit(r, |b| b.truncate(8192));
        }),
    ];
    let place = Sandbox::new();
    let repo = filled(&place, 4);
    let known = answers(&repo, &ASKED, &[]);
    for (what, damage) in all.into_iter().step_by(each(2)) {
        damage(&repo);
        equal(&known, &answers(&repo, &ASKED, &[]), what);
        remove(&repo);
        repo.json(["query"]);
    }
    assert_eq!(fs::metadata("/dev/zero").map(|zero| zero.is_file()).ok(), Some(false));
}

#[test]
fn a_wrong_stamp_is_trusted_at_most_once() {
    let place = Sandbox::new();
    let repo = filled(&place, 8);
    let known = answers(&repo, &ASKED, &[]);
    edit(&repo, |bytes| bytes[8192..].chunks_mut(4096).for_each(|page| page[..8].fill(0xee)));
    stamp(&repo);
    let first = repo.run(["query", "--json"]);
    if first.code != 0 {
        assert!(first.json()["suggestion"].as_str().is_some_and(|text| text.contains("again")), "{}", first.out);
    }
    equal(&known, &answers(&repo, &ASKED, &[]), "after the first");
}

#[test]
fn leftovers_of_another_program_do_not_enter_the_index() {
    let place = Sandbox::new();
    let repo = filled(&place, 2);
    let known = answers(&repo, &ASKED, &[]);
    let other = rusqlite::Connection::open(db(&repo)).expect("an index");
    other.execute_batch("PRAGMA journal_mode=WAL; UPDATE session SET task = 'forged'").expect("SQL");
    let wal = folder(&repo).join("index.db-wal");
    let left = fs::read(&wal).expect("a log of SQLite's");
    equal(&known, &answers(&repo, &ASKED, &[]), "while it is open");
    drop(other);
    for before in [true, false] {
        if before {
            fs::remove_file(db(&repo)).expect("an index");
        }
        fs::write(&wal, &left).expect("a log of SQLite's");
        equal(&known, &answers(&repo, &ASKED, &[]), "what is left");
        assert!(!wal.exists());
    }
}

#[test]
fn a_full_disk_changes_no_answer() {
    let place = Sandbox::new();
    let repo = filled(&place, 6);
    let known: Vec<String> = ASKED.iter().map(|command| repo.run(command.split(' ')).ok().out).collect();
    let program = env!("CARGO_BIN_EXE_git-empirica");
    let mut sizes: Vec<u64> = [0, 1, 2, 9, 33, 65, 129].into_iter().step_by(each(2)).collect();
    sizes.push(fs::metadata(db(&repo)).expect("an index").len() / 512 - 1);
    for size in sizes {
        for is_rebuilt in [true, false] {
            // a refresh writes, too
            if is_rebuilt {
                remove(&repo);
            } else {
                remove(&repo);
                repo.json(["query"]);
                repo.git(["notes", "--ref", "empirica/data/journal", "append", "-m", "by hand"]).ok();
            }
            for (command, known) in ASKED.iter().zip(&known) {
                forget_lists(&repo);
                let script = format!("trap '' XFSZ; ulimit -f {size}; exec {program} {command}");
                let ran = place.command("sh", &repo.path).args(["-c", &script]).output().expect("sh starts");
                let output = String::from_utf8_lossy(&ran.stderr);
                assert!(ran.status.success(), "{command} within {size}: {output}");
                assert_eq!(&String::from_utf8_lossy(&ran.stdout), known, "{command} within {size}");
            }
        }
    }
    let left: Vec<_> = fs::read_dir(folder(&repo)).expect("a folder").flatten().map(|file| file.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".index")), "{left:?}");
}

#[test]
fn a_folder_that_cannot_be_written_or_read_changes_no_answer() {
    let place = Sandbox::new();
    let repo = filled(&place, 2);
    let known = answers(&repo, &ASKED, &[]);
    let set = |path: PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    // root ignores permissions, so nothing blocks it
    for (file, mode) in [(db(&repo), 0o000), (folder(&repo).join("index.stamp"), 0o000), (folder(&repo), 0o555)] {
        remove(&repo);
        repo.json(["query"]);
        set(file.clone(), mode);
        equal(&known, &answers(&repo, &ASKED, &[]), "kept out");
        let _ = fs::set_permissions(&file, fs::Permissions::from_mode(0o755));
    }
}

fn spawn(repo: &Repo<'_>, arguments: &[&str]) -> Child {
    let mut command = repo.program();
    command.args(arguments).arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

#[test]
fn a_kill_at_any_moment_of_a_refresh_or_a_rebuild_leaves_nothing_wrong() {
    let place = Sandbox::new();
    let repo = filled(&place, 5);
    let kills = if is_long() { 800 } else { 24 };
    let mut killed = 0;
    for round in 0..kills {
        match round % 3 {
            0 => drop(fs::remove_file(db(&repo))),
            1 => edit(&repo, |bytes| bytes.truncate(bytes.len() / 2)),
            _ => drop(repo.json(["finding", &format!("Finding of round {round}")])),
        }
        let mut child = spawn(&repo, &["query"]);
        // the golden ratio spreads the moments evenly
        std::thread::sleep(Duration::from_micros((round as u64 * 618_034) % 1_000_000 / 40));
        child.kill().expect("a kill");
        killed += usize::from(!child.wait().expect("it ends").success());
        let list = repo.json(["session", "list"]);
        assert_eq!(list["sessions"].as_array().map(Vec::len), Some(5), "{list}");
        if round % 4 == 3 {
            let known = answers(&repo, &ASKED, &[]);
            remove(&repo);
            equal(&known, &answers(&repo, &ASKED, &[]), "made anew");
        }
    }
    assert!(killed > kills / 10, "only {killed} of {kills} were killed in time");
}

#[test]
fn a_command_that_holds_an_older_index_updates_it() {
    let place = Sandbox::new();
    let repo = filled(&place, 2);
    let finding = |text: &str| drop(repo.json(["finding", text]));
    let resume = |fault: String| {
        let mut command = repo.program();
        command.args(["resume", "--last", "2", "--json"]).env("EMPIRICA_FAULT", fault);
        command.stdout(Stdio::piped()).spawn().expect("the program starts")
    };
    let (points, waiting) = (place.path().join("points"), place.path().join("waiting"));
    finding("before the list");
    assert!(resume(format!("list:{}", points.display())).wait().is_ok_and(|ended| ended.success()));
    let points = fs::read_to_string(points).expect("a list");
    let committed = points.lines().position(|line| line.ends_with("index: committed")).expect("an update") + 1;

    finding("before the command");
    let inode = fs::metadata(db(&repo)).expect("an index").ino();
    let mut child = resume(format!("wait:{committed}:{}", waiting.display()));
    while !waiting.exists() {
        assert!(child.try_wait().is_ok_and(|ended| ended.is_none()), "it ended without updating the index");
        std::thread::sleep(Duration::from_millis(1));
    }
    finding("while the command has its first index");
    fs::remove_file(&waiting).expect("it waits");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert_eq!(fs::metadata(db(&repo)).expect("an index").ino(), inode, "rebuilt after waiting for its own lock");
}

/// The ids that an answer of `query` or `session show` tells.
fn seen(json: &Value) -> BTreeSet<String> {
    let rows = json["reports"].as_array().into_iter().flatten().map(|report| &report["handoff_id"]);
    let findings = json["findings"].as_array().into_iter().flatten().map(|finding| &finding["id"]);
    rows.chain(findings).filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

#[test]
fn readers_during_writes_never_fail_and_never_lose_a_seen_record() {
    let place = Sandbox::new();
    let repo = filled(&place, 2);
    let session = repo.start("bob", "t");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..16)
            .map(|n| {
                let (repo, session) = (repo.clone(), session.clone());
                scope.spawn(move || {
                    for round in 0..3 {
                        let text = format!("of {n} in round {round}");
                        if n % 4 == 3 {
                            repo.json(["handoff", "--session", &session, "-m", &text]);
                        } else {
                            repo.json(["finding", &text, "--session", &session]);
                        }
                        if n == 0 {
                            // others rebuild it concurrently
                            let _ = fs::remove_file(db(&repo));
                        }
                    }
                })
            })
            .collect();
        for n in 0..16 {
            let (repo, session, done) = (repo.clone(), session.clone(), &done);
            scope.spawn(move || {
                let mut known = BTreeSet::new();
                let mut rounds = 0;
                while rounds < 2 || !done.load(std::sync::atomic::Ordering::Relaxed) {
                    rounds += 1;
                    forget_lists(&repo);
                    if n % 2 == 0 {
                        let json = repo.json(["session", "show", &session]);
                        let now = seen(&json);
                        assert!(known.is_subset(&now), "{:?} vanished", known.difference(&now));
                        known = now;
                    } else {
                        // of a session one handoff is in force, at every moment: one of each session
                        let json = repo.json(["query", "--limit", "99"]);
                        let rows = json["reports"].as_array().expect("a list");
                        let owners: BTreeSet<String> = rows.iter().map(|row| row["session_id"].to_string()).collect();
                        assert_eq!(owners.len(), rows.len(), "{json}");
                        assert!(known.is_subset(&owners), "{known:?} vanished from {owners:?}");
                        known = owners;
                    }
                }
            });
        }
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let known = answers(&repo, &ASKED, &[]);
    remove(&repo);
    equal(&known, &answers(&repo, &ASKED, &[]), "made anew");
}
