//! Concurrent writers, also with plain git, and stores that cannot be written for a while: nothing acknowledged is lost.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

const JOURNAL: &str = "refs/notes/empirica/data/journal";
const HANDOFFS: &str = "refs/notes/empirica/data/handoffs";
const MARKDOWN: &str = "refs/notes/empirica/handoffs";

/// Starts writer number `n`: findings, checkpoints and handoffs in turn.
fn writer(repo: &Repo<'_>, session: &str, n: usize) -> Child {
    let text = format!("writer {n}");
    let mut command = repo.program();
    match n % 4 {
        0 | 1 => command.args(["finding", &text]),
        2 => command.args(["checkpoint", "-v", "know=0.5"]),
        _ => command.args(["handoff", "-m", &text]),
    };
    command.args(["--session", session, "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// Waits for a writer, which must have succeeded; returns the id of what it stored.
#[track_caller]
fn acknowledged(child: Child) -> String {
    let output = child.wait_with_output().expect("it ends");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    let json: Value = serde_json::from_str(&out).expect("one document");
    let id = ["id", "checkpoint_id", "handoff_id"].iter().find_map(|key| json[key].as_str());
    id.unwrap_or_else(|| panic!("no id: {json}")).to_owned()
}

/// Every id must stand in the notes, once on each object at most, and the newest handoff of each session and commit in the
/// Markdown.
#[track_caller]
fn all_there(repo: &Repo<'_>, ids: &[String]) {
    let flushed = repo.json(["flush"]);
    assert_eq!((&flushed["degraded_mode"], &flushed["waiting"]), (&false.into(), &0.into()), "{flushed}");
    let lines: Vec<String> = ["journal", "checkpoints", "handoffs"].iter().flat_map(|s| repo.lines(s)).collect();
    let list = repo.git_out(["notes", "--ref", MARKDOWN, "list"]);
    let shown: String = list
        .lines()
        .map(|line| repo.git_out(["cat-file", "blob", &line[..line.find(' ').expect("a blob")]]) + "\n")
        .collect();
    let missing: Vec<&String> = ids
        .iter()
        .filter(|id| {
            let own: Vec<_> = lines.iter().filter(|line| line.contains(&format!("\"id\":\"{id}\",\"kind\""))).collect();
            own.len() != 1
        })
        .collect();
    assert!(missing.is_empty(), "{} of {} are missing: {missing:?}", missing.len(), ids.len());
    let mut newest: BTreeMap<(String, String), String> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.contains("\"kind\":\"handoff\"")) {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        let known = newest.entry((text("session"), text("commit"))).or_default();
        *known = text("id").max(known.clone());
    }
    let hidden: Vec<&String> = newest.values().filter(|id| !shown.contains(&format!("-- empirica {id} r"))).collect();
    assert!(hidden.is_empty() && !newest.is_empty(), "{hidden:?}: {shown}");
    repo.fsck();
}

#[test]
fn of_32_writers_on_one_commit_every_record_is_kept() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let session = repo.start("a", "t");
    let writers: Vec<Child> = (0..32).map(|n| writer(&repo, &session, n)).collect();
    let ids: Vec<String> = writers.into_iter().map(acknowledged).collect();
    all_there(&repo, &ids);
    let findings = repo.json(["session", "show", &session])["findings"].as_array().map(Vec::len);
    assert_eq!(findings, Some(16));
}

#[test]
fn of_32_writers_on_many_commits_every_record_is_kept_on_its_own() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let session = repo.start("a", "t");
    repo.json(["flush"]);
    let trees: Vec<(Repo<'_>, String)> = (0..8)
        .map(|n| {
            repo.git(["worktree", "add", "-q", "--detach", &format!("../w{n}")]).ok();
            let tree = place.at(format!("w{n}"));
            let commit = tree.commit("own", &format!("{n}"), &format!("Commit {n}"));
            (tree, commit)
        })
        .collect();
    // each worktree gets every kind of writer
    let writers: Vec<(Child, &str)> = (0..32)
        .map(|n| {
            let (tree, commit) = &trees[(n + n / 8) % 8];
            (writer(tree, &session, n), commit.as_str())
        })
        .collect();
    let ids: Vec<(String, &str)> = writers.into_iter().map(|(child, commit)| (acknowledged(child), commit)).collect();
    all_there(&repo, &ids.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>());
    for (id, commit) in ids {
        let namespaces = ["journal", "checkpoints", "handoffs"];
        let notes = namespaces.map(|namespace| repo.note(&format!("refs/notes/empirica/data/{namespace}"), commit));
        assert!(notes.concat().contains(&id), "{id} is not on {commit}");
    }
    // the worktrees can go: nothing that matters lay in them
    for (n, (tree, _)) in trees.iter().enumerate() {
        tree.json(["finding", &format!("last of {n}"), "--session", &session]);
        repo.git(["worktree", "remove", "--force", &format!("../w{n}")]).ok();
    }
    assert_eq!(repo.json(["flush"])["flushed"], 8);
}

#[test]
fn concurrent_plain_git_writers_lose_no_record() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let session = repo.start("a", "t");
    repo.json(["handoff"]);
    let mut ids = Vec::new();
    for round in 0..2 {
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for n in 0..12 {
            ours.push(writer(&repo, &session, round * 12 + n));
            for name in [JOURNAL, HANDOFFS, MARKDOWN] {
                let mut git = repo.place.command("git", &repo.path);
                git.args(["notes", "--ref", name, "append", "-m", &format!("git {round} {n}")]);
                theirs.push(git.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
            }
        }
        ids.extend(ours.into_iter().map(acknowledged));
        theirs.into_iter().for_each(|mut child| drop(child.wait()));
    }
    repo.json(["status"]);
    all_there(&repo, &ids);
    assert!(repo.note(JOURNAL, "HEAD").contains("\ngit "), "a line of git's that stood at the end is kept");
}

#[test]
fn acknowledged_records_are_visible_during_a_flush() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let session = repo.start("a", "t");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flusher = {
            let (repo, done) = (repo.clone(), &done);
            scope.spawn(move || {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    repo.json(["flush"]);
                }
            })
        };
        let mut known = Vec::new();
        let mut hidden = Vec::new();
        for n in 0..25 {
            known.push(repo.json(["finding", &format!("finding {n}"), "--session", &session])["id"].clone());
            let shown = repo.json(["session", "show", &session])["findings"].to_string();
            hidden.extend(known.iter().filter(|id| !shown.contains(&id.to_string())).cloned());
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        flusher.join().unwrap();
        assert!(hidden.is_empty(), "{hidden:?}");
    });
}

/// An unwritable store: records made meanwhile are acknowledged, readable immediately, and drained later with
/// its original commit and time.
#[track_caller]
fn degraded(place: &mut Sandbox, block: impl Fn(&Repo<'_>), unblock: impl Fn(&Repo<'_>), hint: &str) {
    let (session, commit, ids) = {
        let repo = place.repo("r");
        repo.git(["config", "empirica.lockTimeout", "200ms"]).ok();
        let session = repo.start("a", "t");
        repo.git(["repack", "-adq"]).ok();
        block(&repo);
        let mut ids = Vec::new();
        ids.push(repo.json(["finding", "said meanwhile"])["id"].clone());
        for command in [&["checkpoint", "-v", "know=0.5"][..], &["handoff", "-m", "meanwhile"]] {
            let json = repo.json(command);
            assert_eq!(json["degraded_mode"], true, "{json}");
            assert!(json["warning"].as_str().is_some_and(|text| text.contains(hint)), "{hint}: {json}");
            ids.extend(["checkpoint_id", "handoff_id"].iter().filter_map(|key| json.get(key)).cloned());
        }
        assert_eq!(ids.len(), 3);
        assert!(ids.is_sorted_by_key(|id| id.to_string()), "ids go up also while the notes cannot be written: {ids:?}");
        let shown = repo.json(["session", "show", &session]);
        let log = repo.json(["log", "--handoffs", "--checkpoints", "--journal"]);
        assert!(ids.iter().all(|id| shown.to_string().contains(&id.to_string())), "{shown}");
        assert!(ids.iter().all(|id| log.to_string().contains(&id.to_string())), "{log}");
        assert_eq!(repo.json(["handoff", "list"])["handoffs"][0]["handoff_id"], ids[2]);
        assert_eq!(repo.json(["flush"])["degraded_mode"], true);
        let commit = repo.head();
        unblock(&repo);
        (session, commit, ids)
    };
    place.now = "2026-03-02T00:00:00.000Z".into();
    let repo = place.at("r");
    repo.commit("later", "later", "Later");
    // a command that has nothing to do with them drains them
    let json = repo.json(["checkpoint", "-v", "know=0.6", "--session", &session]);
    assert_eq!(json["degraded_mode"], false, "{json}");
    assert_eq!(repo.json(["status"])["unflushed"], 0);
    for (id, namespace) in ids.iter().zip(["journal", "checkpoints", "handoffs"]) {
        let note = repo.note(&format!("refs/notes/empirica/data/{namespace}"), &commit);
        let line = note.lines().find(|line| line.contains(&id.to_string())).expect(namespace);
        let record: Value = serde_json::from_str(line).expect("a record");
        assert_eq!(record["commit"], *commit);
        assert!(record["at"].as_str().expect("a time").starts_with("2026-03-01T12:00:00"), "{line}");
    }
    let id = ids[2].as_str().expect("an id");
    assert!(repo.note(MARKDOWN, &commit).contains(id), "the Markdown is made up for, too");
    repo.fsck();
}

#[test]
fn a_lock_held_by_another_process_delays_nothing_but_the_notes() {
    let held = std::cell::RefCell::new(None);
    degraded(
        &mut Sandbox::new(),
        |repo| {
            let lock = File::options().create(true).append(true).open(repo.path.join(".git/empirica/lock")).unwrap();
            lock.lock().unwrap();
            held.replace(Some(lock));
        },
        |_| drop(held.take()),
        "empirica/lock",
    );
}

#[test]
fn a_stale_ref_lock_is_named_with_a_remedy() {
    let path = |repo: &Repo<'_>| repo.path.join(format!(".git/{JOURNAL}.lock"));
    degraded(
        &mut Sandbox::new(),
        |repo| {
            fs::create_dir_all(path(repo).parent().unwrap()).unwrap();
            fs::write(path(repo), "").unwrap();
        },
        |repo| fs::remove_file(path(repo)).unwrap(),
        "data/journal.lock",
    );
}

#[test]
fn a_store_that_takes_no_object_loses_nothing() {
    // a file in place of a folder of objects: not even root can write there
    let each = |repo: &Repo<'_>, act: &dyn Fn(std::path::PathBuf)| {
        (0..256).for_each(|n| act(repo.path.join(format!(".git/objects/{n:02x}"))));
    };
    degraded(
        &mut Sandbox::new(),
        |repo| {
            each(repo, &|path| {
                let _ = fs::remove_dir(&path);
                fs::write(path, "").unwrap();
            });
        },
        |repo| each(repo, &|path| fs::remove_file(path).unwrap()),
        "object",
    );
}

#[test]
fn a_conflicting_ref_name_loses_nothing() {
    let other = format!("{JOURNAL}/x");
    degraded(
        &mut Sandbox::new(),
        |repo| drop(repo.git(["update-ref", &other, "HEAD"]).ok()),
        |repo| drop(repo.git(["update-ref", "-d", &other]).ok()),
        JOURNAL,
    );
}

#[test]
fn a_corrupt_ref_loses_nothing() {
    let path = |repo: &Repo<'_>| repo.path.join(".git").join(JOURNAL);
    degraded(
        &mut Sandbox::new(),
        |repo| {
            fs::create_dir_all(path(repo).parent().unwrap()).unwrap();
            fs::write(path(repo), "garbage\n").unwrap();
        },
        |repo| fs::remove_file(path(repo)).unwrap(),
        JOURNAL,
    );
}

#[test]
fn a_ref_that_names_a_missing_commit_loses_nothing() {
    let path = |repo: &Repo<'_>| repo.path.join(".git").join(JOURNAL);
    degraded(
        &mut Sandbox::new(),
        |repo| {
            fs::create_dir_all(path(repo).parent().unwrap()).unwrap();
            fs::write(path(repo), format!("{}\n", "1".repeat(40))).unwrap();
        },
        |repo| fs::remove_file(path(repo)).unwrap(),
        "1111",
    );
}
