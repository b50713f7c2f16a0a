//! `git gc --prune=now`, `git maintenance run`, `pack-refs` and `commit-graph` at the same time as writers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::repository::surroundings::{formats, id, repo_of, stored_once};
use crate::support::harness::{Repo, RunOutput, Sandbox, is_long};

/// What people and hosts run, and cron.
const UPKEEP: [&[&str]; 6] = [
    &["gc", "-q", "--prune=now"],
    &["pack-refs", "--all", "--prune"],
    &["commit-graph", "write", "--reachable"],
    &[
        "maintenance",
        "run",
        "--quiet",
        "--task=gc",
        "--task=commit-graph",
        "--task=loose-objects",
        "--task=incremental-repack",
    ],
    &["prune", "--expire=now"],
    &["repack", "-adq"],
];

/// Writes until told to stop; returns the ids of what was acknowledged.
fn writes(repo: &Repo<'_>, session: &str, name: usize, done: &AtomicBool) -> Vec<String> {
    let mut ids = Vec::new();
    for n in 0.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let text = format!("writer {name} at {n}");
        let arguments: &[&str] = match n % 4 {
            0 | 2 => &["finding", &text],
            1 => &["checkpoint", "-v", "know=0.5"],
            _ => &["handoff", "-m", &text],
        };
        let mut command = repo.program();
        command.args(arguments).args(["--session", session, "--json"]);
        let ran = RunOutput::new(command.output().expect("it starts"));
        if ran.code == 128 && ran.out.contains("is missing") {
            // it was taken between two looks: not acknowledged, and the next command restores it
            continue;
        }
        let json = ran.ok().json();
        assert_eq!(json["ok"], true, "{json}");
        assert!(json["storage"] != "user_state", "{json}");
        ids.push(id(&json));
        // what was acknowledged is there, whatever runs beside
        let mut looks = Vec::new();
        let shown = (0..20).find_map(|_| {
            let ran = repo.run(["export", "--jsonl"]);
            if ran.code != 0 {
                // if only notes are missing, the next flush restores them
                repo.run(["flush"]);
            }
            looks.push(ran.err);
            (ran.code == 0).then_some(ran.out)
        });
        let shown = shown.unwrap_or_else(|| panic!("one look of many between two prunes: {looks:#?}"));
        let missing: Vec<&String> = ids.iter().filter(|id| !shown.contains(id.as_str())).collect();
        assert!(missing.is_empty(), "{missing:?} of {} are not shown", ids.len());
    }
    ids
}

#[test]
fn writers_beside_every_kind_of_maintenance_lose_no_record() {
    let place = Sandbox::new();
    for format in formats(&place) {
        let repo = repo_of(&place, &format!("{}-{}", format.hash, format.refs), format);
        let session = repo.start("ada", "Work");
        // notes that stand on a commit that is gone, with all that only they hold
        let gone = repo.commit("f", "x\n", "Gone");
        let mut ids = vec![id(&repo.json(["finding", "on a commit that goes"])), repo.hand_over("Gone")];
        repo.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
        repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
        let (done, rounds) = (AtomicBool::new(false), if is_long() { 20 } else { 2 });
        let ran = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let done = &done;
            let (repo, session) = (&repo, session.as_str());
            let writers: Vec<_> = (0..3).map(|name| scope.spawn(move || writes(repo, session, name, done))).collect();
            for n in 0..rounds * UPKEEP.len() {
                // two of them may meet: then git refuses the later one
                let code = repo.git(UPKEEP[n % UPKEEP.len()]).code;
                ran.fetch_add(usize::from(code == 0), Ordering::Relaxed);
            }
            done.store(true, Ordering::Relaxed);
            for writer in writers {
                ids.extend(writer.join().expect("a writer"));
            }
        });
        assert!(ran.load(Ordering::Relaxed) > UPKEEP.len(), "git did its part");
        assert_ne!(repo.git(["cat-file", "-e", &gone]).code, 0, "the commit is gone");
        stored_once(&repo, &ids);
        // and when all is quiet
        for arguments in UPKEEP {
            repo.git(arguments).ok();
        }
        stored_once(&repo, &ids);
        assert_eq!(repo.run(["doctor"]).code, 0);
    }
}

/// The loose objects that lead to the notes, and were not there for these tips.
fn new_objects(repo: &Repo<'_>, before: &[String]) -> Vec<(String, std::path::PathBuf)> {
    let mut words: Vec<String> =
        ["rev-list", "--objects", "--glob=refs/notes/empirica/*", "--not"].map(str::to_owned).into();
    words.extend(before.iter().cloned());
    let listed = repo.git_out(words);
    let ids = listed.lines().map(|line| line.split(' ').next().expect("an id").to_owned());
    let loose = |id: &String| repo.path.join(".git/objects").join(&id[..2]).join(&id[2..]);
    ids.map(|id| (id.clone(), loose(&id))).filter(|(_, path)| path.is_file()).collect()
}

#[test]
fn what_a_prune_took_of_the_last_flush_is_written_again() {
    let place = Sandbox::new();
    for format in formats(&place) {
        // a prune goes from folder to folder: it may take a part
        for kind in ["commit", "tree", "blob", "all"] {
            let repo = repo_of(&place, &format!("{}-{}-{kind}", format.hash, format.refs), format);
            repo.start("ada", "Work");
            let mut ids = vec![id(&repo.json(["finding", "said before"])), repo.hand_over("before")];
            let refs = ["data/journal", "data/handoffs", "data/checkpoints", "handoffs"];
            let tip =
                |name: &&str| repo.git(["rev-parse", "-q", "--verify", &format!("refs/notes/empirica/{name}")]).out;
            let before: Vec<String> =
                refs.iter().map(tip).map(|tip| tip.trim().to_owned()).filter(|tip| !tip.is_empty()).collect();
            ids.push(id(&repo.json(["finding", "said during the prune"])));
            ids.push(id(&repo.json(["checkpoint", "-v", "know=0.5"])));
            ids.push(repo.hand_over("during the prune"));
            let mut taken = 0;
            for (object, path) in new_objects(&repo, &before) {
                if kind == "all" || repo.git_out(["cat-file", "-t", &object]) == kind {
                    std::fs::remove_file(path).expect("a loose object");
                    taken += 1;
                }
            }
            assert!(taken > 1, "{kind}: {taken}");
            if kind == "blob" {
                // no look at the tips shows it
                assert_eq!(repo.json(["flush"])["degraded_mode"], false);
            }
            let shown = repo.run(["export", "--jsonl"]).ok();
            assert!(ids.iter().all(|id| shown.out.contains(id.as_str())), "{kind}: {}", shown.err);
            stored_once(&repo, &ids);
            let listed = repo.json(["handoff", "list"])["handoffs"].to_string();
            assert!(listed.contains(ids.last().expect("a handoff").as_str()), "{kind}: {listed}");
            assert!(repo.note("refs/notes/empirica/handoffs", "HEAD").contains("during the prune"), "{kind}");
            // what the program keeps for this has no text that was redacted
            repo.json(["redact", &ids[2]]);
            let files = crate::repository::surroundings::below(&repo.path.join(".git/empirica"));
            let text = |path: &std::path::PathBuf| std::fs::read(path).unwrap_or_default();
            let holds =
                |path: &&std::path::PathBuf| String::from_utf8_lossy(&text(path)).contains("said during the prune");
            assert_eq!(files.iter().filter(|path| path.is_file()).find(holds), None, "{kind}");
        }
    }
}

#[test]
fn a_written_log_is_kept_for_ten_minutes() {
    let place = Sandbox::new();
    let repo = repo_of(&place, "kept", formats(&place)[0]);
    repo.start("ada", "Work");
    let written = || crate::repository::surroundings::below(&repo.path.join(".git/empirica/wal/written"));
    let flush = |text: &str| {
        repo.json(["finding", text]);
        repo.json(["flush"]);
    };
    flush("one");
    let before = written();
    assert!(!before.is_empty());
    for (seconds, is_kept) in [(590, true), (20, false)] {
        for path in written() {
            let (at, name) = path.file_name().and_then(|name| name.to_str()?.split_once('.')).expect("a time");
            let at: u64 = at.parse().expect("seconds");
            std::fs::rename(&path, path.with_file_name(format!("{}.{name}", at - seconds))).expect("a log");
        }
        let aged = written().len();
        flush(&format!("{seconds}"));
        assert_eq!(written().len(), if is_kept { aged + 1 } else { 2 }, "{seconds}: {:?}", written());
    }
}
