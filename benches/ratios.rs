//! Whole-process times beside git's own, as ratios in one run: the two commands take turns, and the medians are
//! compared. The repositories are made here. `EMPIRICA_BENCH_RUNS` sets the number of turns (40).
#![allow(clippy::disallowed_methods, missing_docs)]

#[path = "collecting.rs"]
mod collecting;
#[path = "common.rs"]
mod common;
#[path = "server.rs"]
mod server;
#[path = "team.rs"]
mod team;
#[path = "transcript.rs"]
mod transcript;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::{Bench, run, timed};

const SIZES: [usize; 3] = [10, 1_000, 20_000];

/// What the note of the nth commit says.
type Note<'a> = Box<dyn Fn(usize) -> String + 'a>;

impl Bench {
    /// A repository with `n` commits, each with a note of some 400 bytes in a plain ref and in each of the program's.
    fn repository(&self, n: usize) -> PathBuf {
        let path = self.dir.path().join(format!("made-{n}"));
        std::fs::create_dir(&path).expect("a folder");
        run(self.git(&path, &["init", "-q", "-b", "main"]));
        self.configure(&path);
        let who = "Bench <bench@example.com>";
        let mut stream = String::new();
        for i in 1..=n {
            let from = if i > 1 { format!("from :{}\n", i - 1) } else { String::new() };
            let _ = write!(
                stream,
                "commit refs/heads/main\nmark :{i}\ncommitter {who} {} +0000\ndata 9\nc {i:06}\n\n{from}M 100644 inline f{}\ndata 7\n{i:06}\n\n",
                1_700_000_000 + i,
                i % 50
            );
        }
        self.import(&path, |to| to.write_all(stream.as_bytes()).expect("the stream"));
        let listed = self.git(&path, &["rev-list", "--reverse", "main"]).stdout(Stdio::piped()).output();
        let listed = String::from_utf8(listed.expect("git rev-list").stdout).expect("ids");
        let commits: Vec<&str> = listed.lines().collect();
        let session = "11111111-2222-4333-8444-555555555555";
        let text =
            "the cache is keyed by user and nonce, so that a second login in the same minute gets its own token "
                .repeat(3);
        let head = |i: usize, namespace: usize, kind: &str| {
            format!(
                r#"{{"v":1,"id":"018c0000-0000-7{namespace:03x}-8000-{i:012x}","kind":"{kind}","session":"{session}","ai":"bench","at":"2023-11-14T22:13:20.000Z","commit":"{}","tree":null"#,
                commits[i]
            )
        };
        let refs: [(&str, Note<'_>); 6] = [
            ("commits", Box::new(|_| format!("{text}\n"))),
            ("plain", Box::new(|_| format!("{text}\n"))),
            ("empirica/data/journal", Box::new(|i| format!("{},\"text\":\"{text}\"}}\n", head(i, 0, "finding")))),
            (
                "empirica/data/checkpoints",
                Box::new(|i| {
                    let rest = r#","phase":"CHECK","round":1,"vectors":{"know":0.5}}"#;
                    format!("{}{rest}\n", head(i, 1, "assessment"))
                }),
            ),
            (
                "empirica/data/handoffs",
                Box::new(|i| {
                    let rest = r#","findings":[{"text":"#;
                    format!(
                        "{},\"type\":\"other\",\"task\":\"number {i}\"{rest}\"{text}\"}}]}}\n",
                        head(i, 2, "handoff")
                    )
                }),
            ),
            (
                "empirica/handoffs",
                Box::new(|i| {
                    format!("# Handoff {i:08x}: bench\n\n{text}\n\n-- empirica 018c0000-0000-7002-8000-{i:012x} r2\n")
                }),
            ),
        ];
        let mut stream = String::new();
        for (name, note) in &refs {
            let _ = write!(stream, "commit refs/notes/{name}\ncommitter {who} 1700000000 +0000\ndata 0\n");
            for (i, commit) in commits.iter().enumerate() {
                let note = note(i);
                let _ = write!(stream, "N inline {commit}\ndata {}\n{note}\n", note.len());
            }
            stream.push('\n');
        }
        self.import(&path, |to| to.write_all(stream.as_bytes()).expect("the stream"));
        // fast-import uses another notes fanout than git notes: each subtree would be rewritten when first touched
        let same: String = commits.iter().map(|commit| format!("{commit} {commit}\n")).collect();
        for (name, _) in &refs {
            let mut child = self
                .git(&path, &["notes", &format!("--ref={name}"), "copy", "-f", "--stdin"])
                .stdin(Stdio::piped())
                .spawn()
                .expect("git notes copy");
            child.stdin.take().expect("a pipe").write_all(same.as_bytes()).expect("the commits");
            assert!(child.wait().expect("git notes copy").success());
        }
        // a clone is packed from the start: many files deleted a moment ago would slow down every new one
        let made = path.to_str().expect("UTF-8").to_owned();
        let path = self.dir.path().join(format!("repo-{n}"));
        run(self.git(self.dir.path(), &["clone", "-q", "--no-local", &made, path.to_str().expect("UTF-8")]));
        run(self.git(&path, &["fetch", "-q", "origin", "+refs/notes/*:refs/notes/*"]));
        run(self.git(&path, &["remote", "remove", "origin"]));
        self.configure(&path);
        run(self.git(&path, &["gc", "-q"]));
        run(self.ours(&path, &["session", "start", "--ai", "bench"]));
        // what changed by other hands is looked at once, not in what is measured
        run(self.ours(&path, &["flush"]));
        path
    }
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

/// The bytes of all files below a folder.
fn size(folder: &Path) -> u64 {
    let mut total = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        total += if path.is_dir() { size(&path) } else { entry.metadata().map_or(0, |m| m.len()) };
    }
    total
}

fn main() {
    let mut bench = Bench::new();
    let repos: Vec<PathBuf> = SIZES.iter().map(|n| bench.repository(*n)).collect();
    // what making them left to be written to disk shall not be measured
    run(bench.command("sync", &repos[0], &[]));
    std::thread::sleep(std::time::Duration::from_secs(3));
    bench.begin();
    let none = || {};
    let (small, large) = (repos[0].clone(), repos[2].clone());
    let version = bench.pair(&none, &|| bench.ours(&small, &["--version"]), &|| bench.git(&small, &["--version"]));
    bench.row("`--version` beside `git --version`", version.ours, version.theirs, 1.5);

    let append = ["notes", "--ref=plain", "append", "-m", "the cache is keyed by user and nonce"];
    for (repo, n) in repos.iter().zip(SIZES) {
        let pair = bench.pair(&none, &|| bench.finding(repo), &|| bench.git(repo, &append));
        bench.row(&format!("`finding` beside `git notes append`, {n} notes"), pair.ours, pair.theirs, 1.0);
    }
    let flat = bench.pair(&none, &|| bench.finding(&large), &|| bench.finding(&small));
    bench.row("`finding` at 20,000 notes beside 10", flat.ours, flat.theirs, 1.25);

    let listed = ["log", "--handoffs", "-n", "20"];
    let gits = ["log", "-20", "--notes"];
    let log = bench.pair(&none, &|| bench.ours(&large, &listed), &|| bench.git(&large, &gits));
    bench.row("`log --handoffs -n 20` beside `git log -20 --notes`, 20,000 notes", log.ours, log.theirs, 2.0);

    let handoff = ["handoff", "-m", "bench", "--context", "the cache is keyed by user and nonce"];
    let add = ["notes", "--ref=plain", "add", "-f", "-m", "the cache is keyed by user and nonce"];
    let fresh = |repo: &Path| {
        // each on a commit of its own, as agents work
        run(bench.git(repo, &["commit", "-q", "--allow-empty", "-m", "work"]));
        run(bench.ours(repo, &["session", "end"]));
        run(bench.ours(repo, &["session", "start", "--ai", "bench"]));
        run(bench.ours(repo, &["preflight", "-v", "know=0.5,uncertainty=0.5"]));
        run(bench.finding(repo));
    };
    let mut rows = Vec::new();
    for (repo, n) in repos.iter().zip(SIZES) {
        let pair = bench.pair(&|| fresh(repo), &|| bench.ours(repo, &handoff), &|| bench.git(repo, &add));
        rows.push((format!("`handoff` beside `git notes add`, {n} notes"), pair, 5.5));
    }
    let both = || {
        fresh(&large);
        fresh(&small);
    };
    let flat = bench.pair(&both, &|| bench.ours(&large, &handoff), &|| bench.ours(&small, &handoff));
    rows.push(("`handoff` at 20,000 notes beside 10".to_owned(), flat, 1.25));
    for (what, pair, most) in rows {
        bench.row(&what, pair.ours, pair.theirs, most);
    }

    let repo = repos[1].clone();
    run(bench.ours(&repo, &["session", "start", "--ai", "thousand"]));
    run(bench.ours(&repo, &["flush"]));
    let before = size(&repo.join(".git"));
    let mut times = Vec::new();
    for i in 0..1000 {
        let text =
            format!("finding number {i}: the cache is keyed by user and nonce, see login.py line {}", i * 7 % 400);
        times.push(timed(bench.ours(&repo, &["finding", &text, "--ai", "thousand"])));
    }
    run(bench.ours(&repo, &["flush"]));
    let written = size(&repo.join(".git")).saturating_sub(before);
    let (first, last) = (mean(&times[..100]), mean(&times[900..]));
    bench.row("1,000 findings on one commit: the last 100 beside the first 100, mean", last, first, 1.5);
    let megabytes = written as f64 / 1e6;
    bench.row("1,000 findings on one commit: MB written beside 10 MB", megabytes, 10.0, 1.0);
    bench.hooks();
    bench.merging(&repos[1].clone());
    collecting::collected(&mut bench);
    server::measured(&mut bench, &large);
    bench.end();
}
