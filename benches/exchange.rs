//! What new records cost in a large repository: beside git's own commands, when they are exchanged, and in size.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::common::{Bench, run};
use super::words::Words;

/// New records, and how many of them are on one commit.
const RECORDS: usize = 1_000;
const ON_ONE: usize = 20;
/// Words of a finding whose size is measured: as many as of one that an agent logs.
const WORDS: usize = 20;
/// Files of a large work tree.
const FILES: usize = 100_000;
/// Turns of an exchange, each with new records.
const TURNS: usize = 5;
const TEXT: &str =
    "The cache is keyed by user and nonce, so that a second login in the same minute gets its own token, see login.rs";

/// In a clone of a repository with many records; `size` names it.
pub fn measured(bench: &mut Bench, repo: &Path, size: &str) {
    let repo = &cloned(bench, repo);
    // a ref with as many notes
    run(bench.git(repo, &["update-ref", "refs/notes/plain", "refs/notes/empirica/data/journal"]));
    let append = ["notes", "--ref=plain", "append", "-m", "the cache is keyed by user and nonce"];
    let pair = bench.pair(&|| {}, &|| bench.finding(repo), &|| bench.git(repo, &append));
    bench.row(&format!("`finding` beside `git notes append`, {size}"), pair.ours, pair.theirs, 1.0);
    run(bench.git(repo, &["update-ref", "-d", "refs/notes/plain"]));
    committed(bench, repo, size);
    exchanged(bench, repo, size);
    grown(bench, repo, size);
}

/// The same in a work tree of [`FILES`], where git itself has more to do.
pub fn in_a_large_work_tree(bench: &mut Bench) {
    let path = bench.dir.path().join("large");
    for at in 0..FILES {
        let folder = path.join(format!("src/{}", at / 250));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(at.to_string()), format!("{at}\n")).expect("a file");
    }
    run(bench.git(&path, &["init", "-q"]));
    bench.configure(&path);
    run(bench.git(&path, &["add", "."]));
    run(bench.git(&path, &["commit", "-q", "-m", "work"]));
    run(bench.ours(&path, &["session", "start", "--ai", "bench"]));
    committed(bench, &path, &format!("{FILES} files"));
}

/// A commit with our hooks beside one without: the first of a session, one with a digest, and one with nothing to write.
fn committed(bench: &mut Bench, repo: &Path, size: &str) {
    run(bench.ours(repo, &["init"]));
    let commit = ["commit", "-q", "--allow-empty", "-m", "work"];
    let bare = [&["-c", "core.hooksPath=/dev/null"], commit.as_slice()].concat();
    let mut rows = Vec::new();
    let again = || {
        run(bench.ours(repo, &["session", "end"]));
        run(bench.ours(repo, &["session", "start", "--ai", "bench"]));
    };
    let cases: [(&str, &dyn Fn()); 3] = [
        ("the first of a session", &again),
        ("with a digest", &|| run(bench.finding(repo))),
        ("nothing to write", &|| ()),
    ];
    for (what, before) in cases {
        let pair = bench.pair(before, &|| bench.hooked(repo, &commit), &|| bench.git(repo, &bare));
        rows.push((format!("`git commit` with our hooks beside without, {what}, {size}"), pair));
    }
    rows.into_iter().for_each(|(what, pair)| bench.row(&what, pair.ours, pair.theirs, 1.1));
    run(bench.ours(repo, &["deinit"]));
    // what any hook costs
    let empty = repo.join(".git/empty-hooks");
    std::fs::create_dir_all(&empty).expect("a folder");
    let hook = empty.join("post-commit");
    std::fs::write(&hook, "#!/bin/sh\nexit 0\n").expect("a hook");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("a hook that can be run");
    let path = format!("core.hooksPath={}", empty.display());
    let with_empty = [&["-c", &path], commit.as_slice()].concat();
    let pair = bench.pair(&|| {}, &|| bench.git(repo, &with_empty), &|| bench.git(repo, &bare));
    bench.row(&format!("`git commit` with an empty hook beside without, {size}"), pair.ours, pair.theirs, 1.1);
}

/// A clone with all notes, so that the repository stays as it is.
fn cloned(bench: &Bench, repo: &Path) -> PathBuf {
    let path = bench.dir.path().join(repo.file_name().expect("a name"));
    let (from, to) = (repo.to_str().expect("UTF-8"), path.to_str().expect("UTF-8"));
    run(bench.git(repo, &["clone", "-q", from, to]));
    run(bench.git(&path, &["fetch", "-q", "origin", "+refs/notes/*:refs/notes/*"]));
    run(bench.git(&path, &["remote", "remove", "origin"]));
    bench.configure(&path);
    run(bench.ours(&path, &["session", "start", "--ai", "bench"]));
    run(bench.ours(&path, &["flush"]));
    path
}

/// Findings of a session of its own, on new commits.
fn records(bench: &Bench, repo: &Path, turn: usize) {
    run(bench.ours(repo, &["session", "start", "--ai", &format!("bench-{turn}")]));
    for n in 0..RECORDS {
        if n % ON_ONE == 0 {
            run(bench.git(repo, &["commit", "-q", "--no-verify", "--allow-empty", "-m", "work"]));
        }
        run(bench.ours(repo, &["finding", &format!("{TEXT}:{n}"), "--ai", &format!("bench-{turn}")]));
    }
    run(bench.ours(repo, &["flush"]));
}

/// `sync` of new records beside git's fetch and push of the same notes.
fn exchanged(bench: &mut Bench, repo: &Path, size: &str) {
    let remote = |name: &str| -> PathBuf {
        let path = repo.with_extension(name);
        let _ = std::fs::remove_dir_all(&path);
        let (from, to) = (repo.to_str().expect("UTF-8"), path.to_str().expect("UTF-8"));
        run(bench.git(repo, &["clone", "-q", "--bare", from, to]));
        run(bench.git(&path, &["fetch", "-q", "origin", "+refs/notes/*:refs/notes/*"]));
        let _ = bench.git(repo, &["remote", "remove", name]).status();
        run(bench.git(repo, &["remote", "add", name, to]));
        path
    };
    let places = [remote("ours"), remote("theirs")];
    let gits = [
        "-c",
        "alias.exchange=!git fetch -q theirs '+refs/notes/empirica/*:refs/notes/theirs/*' && git push -q theirs 'refs/notes/empirica/*'",
        "exchange",
    ];
    run(bench.ours(repo, &["sync", "ours"]));
    run(bench.git(repo, &gits));
    let runs = std::mem::replace(&mut bench.runs, TURNS);
    let turn = std::cell::Cell::new(0);
    let before = || {
        turn.set(turn.get() + 1);
        records(bench, repo, turn.get());
    };
    let pair = bench.pair(&before, &|| bench.ours(repo, &["sync", "ours"]), &|| bench.git(repo, &gits));
    bench.runs = runs;
    let what = format!("`sync` of {RECORDS} records, {size}, beside `git fetch` and `git push`");
    bench.row(&what, pair.ours, pair.theirs, 1.5);
    for (name, place) in ["ours", "theirs"].iter().zip(places) {
        run(bench.git(repo, &["remote", "remove", name]));
        std::fs::remove_dir_all(place).expect("the remote");
    }
}

/// The size of a repository after `gc`, with new records, beside these compressed.
fn grown(bench: &mut Bench, repo: &Path, size: &str) {
    let packed = || {
        run(bench.git(repo, &["gc", "-q", "--prune=now"]));
        std::fs::read_dir(repo.join(".git/objects/pack"))
            .expect("the packs")
            .flatten()
            .map(|file| file.metadata().map_or(0, |meta| meta.len()))
            .sum::<u64>()
    };
    let compressed = || {
        let export = bench.ours(repo, &["export", "--jsonl"]).stdout(Stdio::piped()).output().expect("an export");
        let lines = String::from_utf8(export.stdout).expect("records");
        let lines: String =
            lines.lines().filter(|line| line.contains("\"bench-size\"")).map(|line| format!("{line}\n")).collect();
        let file = bench.dir.path().join("records");
        std::fs::write(&file, lines).expect("the records");
        let gzip = std::process::Command::new("gzip").arg("-6c").arg(&file).output().expect("gzip");
        assert!(gzip.status.success());
        gzip.stdout.len() as u64
    };
    let before = packed();
    let mut words = Words::new(1);
    run(bench.ours(repo, &["session", "start", "--ai", "bench-size"]));
    for _ in 0..RECORDS {
        run(bench.ours(repo, &["finding", &words.text(WORDS), "--ai", "bench-size"]));
    }
    run(bench.ours(repo, &["flush"]));
    let (grown, compressed) = (packed().saturating_sub(before), compressed());
    let what = format!("KB that {RECORDS} records add to the packs after `gc`, {size}, beside these compressed");
    bench.row(&what, grown as f64 / 1e3, compressed as f64 / 1e3, 1.2);
}
