//! Damaged objects, invalid packed-refs, stale locks, refs that move meanwhile, clocks that go back, one id for two texts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

const JOURNAL: &str = "refs/notes/empirica/data/journal";

/// A clone whose hub has all its records, on two commits.
fn shared(place: &Sandbox) -> Repo<'_> {
    let repo = place.repo("r");
    repo.git(["config", "empirica.lockTimeout", "300ms"]).ok();
    repo.git(["init", "-q", "--bare", "../hub.git"]).ok();
    repo.git(["remote", "add", "origin", "../hub.git"]).ok();
    repo.start("ada", "Work");
    repo.json(["finding", "on the first commit"]);
    repo.json(["handoff", "-m", "handed over"]);
    repo.commit("b", "b\n", "Next");
    repo.json(["finding", "on the second commit"]);
    repo.json(["checkpoint", "-v", "know=0.5"]);
    repo.json(["flush"]);
    repo.json(["sync"]);
    repo
}

/// Changes two bytes in the middle of a file.
fn flip(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("a mode");
    let mut bytes = fs::read(path).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    bytes[middle + 1] ^= 0xff;
    fs::write(path, bytes).expect("a file");
}

fn loose(repo: &Repo<'_>, id: &str) -> PathBuf {
    repo.path.join(".git/objects").join(&id[..2]).join(&id[2..])
}

fn journal(repo: &Repo<'_>) -> String {
    let mut lines = repo.lines("journal");
    lines.sort();
    lines.join("\n")
}

/// Runs the commands that a check of doctor names.
fn follow(repo: &Repo<'_>, name: &str) {
    let failure = repo.fails(1, ["doctor"]);
    let wrong = failure["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .find(|check| check["ok"] == false && check["check"] == name);
    let wrong = wrong.unwrap_or_else(|| panic!("{name}: {failure}"));
    for command in wrong["commands"].as_array().expect("commands") {
        let command = command.as_str().expect("a command");
        let ran = repo.place.command("sh", &repo.path).args(["-c", command]).output().expect("a shell");
        assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

/// With an object damaged: every command answers with one document, a record is kept, none of what is damaged is written over, and
/// the commands that doctor names bring all of it back.
#[track_caller]
fn mended(repo: &Repo<'_>, before: &str, check: &str) {
    let answer = repo.json(["finding", "said meanwhile"]);
    for command in [
        &["status"][..],
        &["session", "show", "latest"],
        &["resume"],
        &["query"],
        &["handoff", "list"],
        &["search", "commit"],
        &["log", "--handoffs"],
        &["checkpoint", "-v", "know=0.6"],
        &["sync"],
    ] {
        let ran = repo.run(command.iter().chain(&["--json"]));
        let json = ran.json();
        assert_eq!(json["ok"], ran.code == 0, "{command:?}: {json}");
        assert!(matches!(ran.code, 0 | 1 | 128), "{command:?}: {json}");
        if ran.code != 0 {
            assert!(json["reason"].is_string() && json["recovery_commands"][0].is_string(), "{command:?}: {json}");
        }
    }
    let tip = repo.git_out(["rev-parse", JOURNAL]);
    let flushed = repo.json(["flush"]);
    assert_eq!(flushed["degraded_mode"], true, "{flushed}");
    assert_eq!(repo.git_out(["rev-parse", JOURNAL]), tip, "nothing is written over it");
    for _ in 0..3 {
        if repo.run(["doctor"]).code == 0 {
            break;
        }
        follow(repo, check);
    }
    let flushed = repo.json(["flush"]);
    assert_eq!((&flushed["degraded_mode"], &flushed["waiting"]), (&false.into(), &0.into()), "{flushed}");
    let after = journal(repo);
    assert!(before.lines().all(|line| after.contains(line)), "{before}\n{after}");
    assert!(after.contains(answer["id"].as_str().expect("an id")), "{after}");
    repo.json(["session", "show", "latest"]);
}

#[test]
fn a_damaged_note_hides_no_other_and_comes_back_from_a_remote() {
    let place = Sandbox::new();
    let repo = shared(&place);
    let before = journal(&repo);
    let blob = repo.git_out(["notes", "--ref", JOURNAL, "list", "HEAD"]);
    flip(&loose(&repo, &blob));
    assert!(
        repo.json(["session", "list"])["total_found"] == 1 || repo.json(["session", "list"])["sessions"][0].is_object()
    );
    assert!(repo.json(["search", "first"]).to_string().contains("on the first commit"), "the other note is read");
    mended(&repo, &before, "objects");
}

#[test]
fn a_damaged_notes_tree_is_reported_and_restored_from_a_remote() {
    let place = Sandbox::new();
    let repo = shared(&place);
    let before = journal(&repo);
    flip(&loose(&repo, &repo.git_out(["rev-parse", &format!("{JOURNAL}^{{tree}}")])));
    mended(&repo, &before, "objects");
}

#[test]
fn a_damaged_notes_commit_is_reported_and_its_notes_restored() {
    let place = Sandbox::new();
    let repo = shared(&place);
    let before = journal(&repo);
    let file = loose(&repo, &repo.git_out(["rev-parse", JOURNAL]));
    flip(&file);
    let answer = repo.json(["finding", "said meanwhile"]);
    let flushed = repo.json(["flush"]);
    assert_eq!(flushed["degraded_mode"], true, "{flushed}");
    let doctor = repo.fails(1, ["doctor"]);
    assert!(doctor["reason"].as_str().is_some_and(|why| why.contains("data/journal")), "{doctor}");
    assert!(repo.json(["handoff", "list"]).to_string().contains("handed over"));
    // whole again from the hub: put aside, the ref removed, fetched
    fs::remove_file(&file).expect("a file");
    repo.git(["update-ref", "-d", JOURNAL]).ok();
    repo.git(["fetch", "-q", "--refetch", "origin", &format!("{JOURNAL}:{JOURNAL}")]).ok();
    assert_eq!(repo.json(["flush"])["waiting"], 0);
    let after = journal(&repo);
    assert!(before.lines().all(|line| after.contains(line)) && after.contains(answer["id"].as_str().expect("an id")));
    repo.fsck();
}

#[test]
fn a_damaged_pack_is_reported_and_never_overwritten() {
    let place = Sandbox::new();
    let repo = shared(&place);
    let before = journal(&repo);
    repo.git(["repack", "-adq"]).ok();
    let packs = fs::read_dir(repo.path.join(".git/objects/pack")).expect("a folder").flatten().map(|file| file.path());
    let pack = packs.into_iter().find(|path| path.extension().is_some_and(|name| name == "pack")).expect("a pack");
    let kept = fs::read(&pack).expect("a pack");
    let mut bytes = kept.clone();
    // all but its head and its end
    let end = bytes.len() - 40;
    bytes[40..end].iter_mut().for_each(|byte| *byte ^= 0x55);
    fs::set_permissions(&pack, fs::Permissions::from_mode(0o644)).expect("a mode");
    fs::write(&pack, bytes).expect("a pack");
    let tip = fs::read(repo.path.join(".git").join(JOURNAL)).ok();
    for command in [&["status"][..], &["resume"], &["flush"], &["doctor"], &["checkpoint", "-v", "know=0.6"]] {
        let ran = repo.run(command.iter().chain(&["--json"]));
        assert_eq!(ran.json()["ok"], ran.code == 0, "{command:?}: {}", ran.out);
    }
    assert_eq!(fs::read(repo.path.join(".git").join(JOURNAL)).ok(), tip);
    fs::write(&pack, kept).expect("a pack");
    assert_eq!(repo.json(["flush"])["waiting"], 0);
    let after = journal(&repo);
    assert!(before.lines().all(|line| after.contains(line)), "{after}");
    repo.fsck();
}

#[test]
fn an_invalid_packed_refs_is_reported_and_loses_nothing() {
    let place = Sandbox::new();
    let repo = shared(&place);
    let before = journal(&repo);
    repo.git(["pack-refs", "--all"]).ok();
    let packed = repo.path.join(".git/packed-refs");
    let kept = fs::read(&packed).expect("packed refs");
    for garbage in [[b"# pack-refs with: peeled\n", &b"no ref at all\n"[..]].concat(), b"\xff\x00\xfe".repeat(100)] {
        fs::write(&packed, &garbage).expect("a file");
        for command in [&["status"][..], &["resume"], &["flush"], &["doctor"], &["session", "list"]] {
            let ran = repo.run(command.iter().chain(&["--json"]));
            assert_eq!(ran.json()["ok"], ran.code == 0, "{command:?}: {}", ran.out);
            assert!(ran.code == 0 || ran.out.contains("packed-refs: its line"), "{command:?}: {}", ran.out);
        }
        assert_eq!(fs::read(&packed).expect("a file"), garbage, "it is not ours to write");
    }
    // the suggested command removes one invalid line
    fs::write(&packed, [kept.as_slice(), b"no ref at all\n"].concat()).expect("a file");
    follow(&repo, "refs");
    assert_eq!(fs::read(&packed).expect("a file"), kept);
    let answer = repo.json(["finding", "said afterwards"]);
    assert_eq!(repo.json(["flush"])["waiting"], 0);
    let after = journal(&repo);
    assert!(before.lines().all(|line| after.contains(line)) && after.contains(answer["id"].as_str().expect("an id")));
    repo.fsck();
}

#[test]
fn a_lock_that_was_left_is_named_with_its_age_and_never_removed() {
    let place = Sandbox::new();
    let repo = shared(&place);
    repo.git(["pack-refs", "--all"]).ok();
    let leave = |name: &str| {
        let lock = repo.path.join(".git").join(name);
        fs::create_dir_all(lock.parent().expect("a folder")).expect("a folder");
        fs::write(&lock, "").expect("a lock");
        let old = SystemTime::now() - Duration::from_secs(3 * 3600 + 60);
        fs::File::options().write(true).open(&lock).expect("a lock").set_modified(old).expect("a time");
        lock
    };
    let doubted = |lock: &Path| {
        let doctor = repo.fails(1, ["doctor"]);
        let name = lock.file_name().expect("a name").to_string_lossy();
        assert!(
            doctor["reason"].as_str().is_some_and(|why| why.contains(&*name) && why.contains("3 h ago")),
            "{doctor}"
        );
        assert!(lock.exists(), "it is the user's to remove");
        follow(&repo, "locks");
    };
    let name = format!("{JOURNAL}.lock");
    let lock = leave(&name);
    repo.json(["finding", "waits"]);
    let flushed = repo.json(["flush"]);
    assert_eq!((&flushed["degraded_mode"], &flushed["waiting"]), (&true.into(), &1.into()), "{flushed}");
    let command = flushed["recovery_commands"][0].as_str().expect("a command");
    assert!(command.starts_with("rm -f ") && command.ends_with(&name), "{command}");
    let status = repo.json(["status"]);
    assert!(status["waiting"]["recovery_commands"].to_string().contains(&name), "{status}");
    doubted(&lock);
    let flushed = repo.json(["flush"]);
    assert_eq!((&flushed["degraded_mode"], &flushed["waiting"]), (&false.into(), &0.into()), "{flushed}");
    // git takes this one to delete refs, which no write of ours does
    let lock = leave("packed-refs.lock");
    repo.json(["finding", "does not wait"]);
    let flushed = repo.json(["flush"]);
    assert_eq!((&flushed["degraded_mode"], &flushed["waiting"]), (&false.into(), &0.into()), "{flushed}");
    doubted(&lock);
}

/// As `git branch -d` and the end of a pick do.
#[test]
fn a_write_killed_while_it_sets_refs_leaves_no_lock_that_keeps_git_from_deleting_one() {
    let place = Sandbox::new();
    let repo = shared(&place);
    // the refs and a file of them are there
    repo.git(["pack-refs", "--all"]).ok();
    let hand_over = |fault: String| {
        repo.json(["finding", &fault]);
        let mut command = repo.program();
        command.args(["handoff", "-m", "x", "--json"]).env("EMPIRICA_FAULT", fault).output().expect("it starts")
    };
    let list = place.path().join("points");
    assert!(hand_over(format!("list:{}", list.display())).status.success());
    let points = fs::read_to_string(list).expect("a list");
    let of_refs = (1..).zip(points.lines()).filter(|(_, point)| point.contains(" refs: "));
    let mut at_refs = 0;
    for (n, point) in of_refs {
        assert_eq!(hand_over(format!("kill:{n}")).status.code(), None, "{point}");
        assert!(!repo.path.join(".git/packed-refs.lock").exists(), "{point}");
        repo.git(["branch", "passing"]).ok();
        repo.git(["branch", "-d", "passing"]).ok();
        let flushed = repo.json(["flush"]);
        if let Some(command) = flushed["recovery_commands"][0].as_str() {
            at_refs += 1;
            assert!(command.starts_with("rm -f ") && !command.contains("packed-refs"), "{command}");
            place.command("sh", &repo.path).args(["-c", command]).status().expect("a shell");
            // one command removes all of them
            assert_eq!(repo.json(["flush"])["waiting"], 0, "{point}");
        }
    }
    assert!(at_refs > 0, "none died while it held locks");
}

#[test]
fn unrelated_git_locks_block_nothing() {
    let place = Sandbox::new();
    let repo = shared(&place);
    for name in ["HEAD.lock", "index.lock", "config.lock", "refs/heads/main.lock"] {
        fs::write(repo.path.join(".git").join(name), "").expect("a lock");
    }
    let answer = repo.json(["finding", "said beside them"]);
    let flushed = repo.json(["flush"]);
    assert_eq!((&flushed["degraded_mode"], &flushed["waiting"]), (&false.into(), &0.into()), "{flushed}");
    assert!(journal(&repo).contains(answer["id"].as_str().expect("an id")));
}

#[test]
fn our_own_lock_goes_with_the_process_that_held_it() {
    let place = Sandbox::new();
    let repo = shared(&place);
    let lock = repo.path.join(".git/empirica/lock");
    let mut holder = place.command("flock", &repo.path);
    let Ok(mut holder) = holder.arg(&lock).args(["sleep", "60"]).spawn() else { return };
    while fs::File::open(&lock).is_ok_and(|file| file.try_lock().is_ok()) {
        std::thread::sleep(Duration::from_millis(5));
    }
    repo.json(["finding", "waits"]);
    assert_eq!(repo.json(["flush"])["waiting"], 1);
    // the lock is on what sleep has open as well
    let children = place.command("pkill", &repo.path).args(["-KILL", "-P", &holder.id().to_string()]).status();
    holder.kill().expect("it goes");
    holder.wait().expect("it ends");
    if children.is_ok_and(|status| status.success()) {
        assert_eq!(repo.json(["flush"])["waiting"], 0);
    }
}

#[test]
fn a_ref_that_moves_while_it_is_merged_loses_nothing() {
    // a note is appended by plain git again and again while fetched notes are united
    let place = Sandbox::new();
    let repo = shared(&place);
    let other = place.clone(&place.at("hub.git"), "other", false);
    other.commit("c", "c\n", "Other");
    other.start("bob", "Other work");
    other.git(["remote", "set-url", "origin", "../hub.git"]).ok();
    for round in 0..6 {
        other.json(["finding", &format!("by the other {round}")]);
        other.json(["sync"]);
        let mut git = place.command("git", &repo.path);
        let line = format!("a reviewer's line {round}");
        let mut git = git.args(["notes", "--ref", JOURNAL, "append", "-m", &line]).spawn().expect("git starts");
        repo.json(["finding", &format!("ours {round}")]);
        repo.json(["sync"]);
        let appended = git.wait().expect("it ends").success();
        repo.json(["status"]);
        if appended {
            assert!(journal(&repo).contains(&line), "{line}");
        }
    }
    repo.json(["sync"]);
    let all = journal(&repo);
    for round in 0..6 {
        assert!(
            all.contains(&format!("by the other {round}")) && all.contains(&format!("ours {round}")),
            "{round}: {all}"
        );
    }
    repo.fsck();
}

#[test]
fn when_the_clock_goes_backwards_ids_increase_and_nothing_is_lost() {
    let mut place = Sandbox::new();
    let path = place.repo("r").path;
    let mut ids: Vec<String> = Vec::new();
    let mut texts = Vec::new();
    // an hour back, nearly a day back, half a day ahead and back: a day is what an id may be ahead of the clock
    for (n, now) in ["2026-03-01T12:00", "2026-03-01T11:00", "2026-02-28T13:00", "2026-03-01T23:00", "2026-03-01T11:30"]
        .iter()
        .enumerate()
    {
        place.now = format!("{now}:00.000Z");
        let repo = Repo { place: &place, path: path.clone() };
        if n == 0 {
            repo.start("ada", "Work");
        }
        for when in ["waiting", "flushed"] {
            let text = format!("said {n} {when}");
            ids.push(repo.json(["finding", &text])["id"].as_str().expect("an id").to_owned());
            texts.push(text);
            if when == "flushed" {
                repo.json(["flush"]);
            }
        }
    }
    assert!(ids.is_sorted(), "{ids:?}");
    let repo = Repo { place: &place, path: path.clone() };
    let shown = repo.json(["session", "show", "latest"])["findings"].to_string();
    let places: Vec<usize> =
        texts.iter().map(|text| shown.find(text.as_str()).unwrap_or_else(|| panic!("{text}"))).collect();
    assert!(places.is_sorted(), "in the order they were said: {shown}");
    // a year back: then ids are of that time
    place.now = "2025-03-01T12:00:00.000Z".into();
    let repo = Repo { place: &place, path: path.clone() };
    repo.json(["finding", "from the past"]);
    repo.json(["flush"]);
    // years ahead, and back: earlier and later records are kept
    place.now = "2031-01-01T00:00:00.000Z".into();
    let repo = Repo { place: &place, path: path.clone() };
    repo.json(["finding", "from the far future"]);
    repo.json(["flush"]);
    place.now = "2026-03-02T12:00:00.000Z".into();
    let repo = Repo { place: &place, path };
    let last = repo.json(["finding", "back again"])["id"].as_str().expect("an id").to_owned();
    assert!(last > ids[ids.len() - 1], "later than all that was said before the clock ran ahead");
    repo.json(["flush"]);
    let shown = repo.json(["session", "show", "latest"])["findings"].to_string();
    assert!(texts.iter().all(|text| shown.contains(text.as_str())) && shown.contains("far future"), "{shown}");
    assert!(shown.contains("back again") && shown.contains("from the past"), "{shown}");
    repo.fsck();
}

#[test]
fn one_id_for_two_texts_of_two_clones_keeps_both_and_is_reported() {
    let place = Sandbox::new();
    let repo = shared(&place);
    let other = place.clone(&place.at("hub.git"), "other", true);
    other.git(["remote", "set-url", "origin", "../hub.git"]).ok();
    let id = "019ca94d-0000-7000-8000-000000000001";
    let commit = repo.git_out(["rev-parse", "HEAD~1"]);
    let session = repo.json(["session", "list"])["sessions"][0]["session_id"].as_str().expect("an id").to_owned();
    for (clone, text) in [(&repo, "one machine says"), (&other, "the other machine says")] {
        let note = clone.note(JOURNAL, &commit);
        let line = format!(
            r#"{{"v":1,"id":"{id}","kind":"finding","session":"{session}","ai":"ada","at":"2026-03-01T12:00:00.000Z","commit":"{commit}","text":"{text}"}}"#
        );
        clone.set_note(JOURNAL, &commit, format!("{note}{line}\n").as_bytes());
        clone.json(["sync"]);
    }
    repo.json(["sync"]);
    let mut shown = Vec::new();
    for clone in [&repo, &other] {
        let all = journal(clone);
        assert!(all.contains("one machine says") && all.contains("the other machine says"), "{all}");
        let status = clone.json(["status"]);
        let warnings = format!("{} {}", status["warning"], status["warnings"]);
        assert!(warnings.contains(id) || warnings.contains(&id[28..]), "it is reported: {status}");
        let known = clone.json(["session", "show", &session])["findings"].to_string();
        shown.push((known.contains("one machine says"), known.contains("the other machine says")));
    }
    assert_eq!(shown[0], shown[1], "both clones show the same one");
    assert!(shown[0].0 != shown[0].1, "one of them");
    let tree = |clone: &Repo<'_>| Value::from(clone.git_out(["rev-parse", &format!("{JOURNAL}^{{tree}}")]));
    assert_eq!(tree(&repo), tree(&other));
}
