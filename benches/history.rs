//! Costs that must not grow with history: queries, the log, writing, the index, at 1,000, 20,000 and 100,000 handoffs, packed,
//! warm. The repositories are made here. `EMPIRICA_BENCH_RUNS` sets the number of turns (40), `EMPIRICA_BENCH_SIZES` other
//! sizes (`1000,20000`), `EMPIRICA_BENCH_DIR` a folder in which they are kept and found again, `EMPIRICA_BENCH_PARTS` some of
//! the parts (`questions,log,index,memory,writing,exchange,hooks,code`).
#![allow(clippy::disallowed_methods, missing_docs)]

#[path = "code.rs"]
mod code;
#[path = "common.rs"]
mod common;
#[path = "exchange.rs"]
mod exchange;
#[path = "generate.rs"]
mod generate;
#[path = "hooks.rs"]
mod hooks;
#[path = "transcript.rs"]
mod transcript;
#[path = "words.rs"]
mod words;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Bench, median, peak, run, say, timed};
use hooks::p95;
use words::Words;

const SIZES: [usize; 3] = [1_000, 20_000, 100_000];
/// What a question may take, in milliseconds, and how much longer than in the smallest repository.
const QUESTION: f64 = 25.0;
const FLAT: f64 = 1.6;
/// The same for a search: FTS5 scores every record that has one of the words before it knows the best.
const SEARCH: f64 = 25.0;
const FREQUENT: f64 = 2.5;
/// How soon the log begins, in milliseconds.
const FIRST: f64 = 15.0;
/// The most memory of its own, in MB.
const MEMORY: f64 = 64.0;
/// The most that making an index may take, in MB: what hostile data may cost beyond the size of what is read.
const INDEX_MEMORY: f64 = 512.0;
/// How long an index may take to make, beside reading all notes as records: FTS5 holds every word with its positions.
const MADE: f64 = 6.5;
const LOG: [&str; 2] = ["log", "--handoffs"];
const GITS_LOG: [&str; 2] = ["log", "--notes=empirica/handoffs"];

/// The arguments of a question, with what it may take in milliseconds and beside the smallest repository.
type Question<'a> = (&'a [&'a str], (f64, Option<f64>));

/// A repository and how many handoffs it has.
struct Place {
    size: usize,
    path: PathBuf,
}

/// A few of what takes seconds.
fn few(bench: &Bench, size: usize) -> usize {
    (bench.runs * 1_000 / size).clamp(bench.runs.min(5), bench.runs)
}

/// A setting of the environment as a list.
fn listed(name: &str) -> Option<Vec<String>> {
    let value = std::env::var(name).ok()?;
    Some(value.split(',').map(|entry| entry.trim().to_owned()).filter(|entry| !entry.is_empty()).collect())
}

fn main() {
    let mut bench = Bench::new();
    let sizes = listed("EMPIRICA_BENCH_SIZES").map(|sizes| sizes.iter().map(|n| n.parse().expect("a size")).collect());
    let sizes: Vec<usize> = sizes.unwrap_or(SIZES.to_vec());
    let folder = std::env::var_os("EMPIRICA_BENCH_DIR").map_or(bench.dir.path().to_owned(), PathBuf::from);
    let place = |size: &usize| Place { size: *size, path: generate::repository(&bench, &folder, *size) };
    let places: Vec<Place> = sizes.iter().map(place).collect();
    // what making them left to be written to disk shall not be measured
    run(bench.command("sync", &folder, &[]));
    std::thread::sleep(Duration::from_secs(3));
    bench.begin();
    let parts = listed("EMPIRICA_BENCH_PARTS");
    let wanted = |part: &str| parts.as_ref().is_none_or(|parts| parts.iter().any(|name| name == part));
    for (part, measure) in [
        ("questions", questions as fn(&mut Bench, &[Place])),
        ("log", log),
        ("index", index),
        ("memory", memory),
        ("writing", writing),
        ("exchange", exchanged),
        ("hooks", agent),
        ("code", about_code),
    ] {
        if wanted(part) {
            measure(&mut bench, &places);
        }
    }
    bench.end();
}

/// A row without a limit.
fn row_without_limit(what: &str, ours: f64, theirs: f64) {
    say(&format!("| {what} | {ours:.2} | {theirs:.2} | {:.2} | | |", ours / theirs));
}

/// Questions about everything: how long in the largest repositories, and how much longer than in the smallest one.
fn questions(bench: &mut Bench, places: &[Place]) {
    let words = Words::new(0);
    // words that one finding in two hundred has, one in fifty, one in twenty; and the two most frequent ones
    let [some, more, many, most] = [(240, 260), (60, 90), (22, 24), (0, 1)]
        .map(|(one, other)| format!("{} {}", words.ranked(one), words.ranked(other)));
    let listing = (QUESTION, Some(FLAT));
    let search = (SEARCH, Some(FREQUENT));
    let file = file(bench, &places.last().expect("a size").path);
    let questions: [Question; 10] = [
        (&["query", "--ai", "codex", "--limit", "10"], listing),
        (&["query", "--ai", "rare-agent", "--limit", "10"], listing),
        (&["resume"], listing),
        (&["status"], listing),
        (&["why", &file], listing),
        (&["log", "--handoffs", "-n", "20"], listing),
        (&["search", &some], search),
        (&["search", &more], search),
        (&["search", &many], search),
        (&["search", &most], (SEARCH, None)),
    ];
    for Place { path, .. } in places {
        run(bench.git(path, &["commit-graph", "write", "--reachable", "--changed-paths"]));
    }
    let (small, larger) = places.split_first().expect("a size");
    for (question, (time, bound)) in questions {
        // the index is there, and the pages are warm
        places.iter().for_each(|place| run(bench.ours(&place.path, question)));
        let what = question.join(" ");
        for large in larger {
            let in_one = |place: &Place| bench.ours(&place.path, question);
            let pair = bench.pair(&|| {}, &|| in_one(large), &|| in_one(small));
            let mut times: Vec<f64> = (0..bench.runs).map(|_| timed(in_one(large))).collect();
            let (many, few) = (large.size, small.size);
            let beside_time = format!("`{what}`, {many} handoffs, beside {time} ms");
            let beside_few = format!("`{what}` at {many} handoffs beside {few}");
            // what most records have distinguishes no record: the worst case is listed without a limit
            if let Some(bound) = bound {
                bench.row(&beside_time, pair.ours, time, 1.0);
                bench.row(&beside_few, pair.ours, pair.theirs, bound);
                if time == SEARCH {
                    bench.row(&format!("`{what}`, {many} handoffs: p95 beside {time} ms"), p95(&mut times), time, 1.0);
                }
            } else {
                row_without_limit(&beside_time, pair.ours, time);
                row_without_limit(&beside_few, pair.ours, pair.theirs);
            }
        }
    }
    without_filters(bench, places, &file);
}

/// What was decided on the commits of a file, where no commit-graph knows the paths that they changed.
fn without_filters(bench: &mut Bench, places: &[Place], file: &str) {
    let unfiltered = |mut command: Command| {
        let setting = [("COUNT", "1"), ("KEY_0", "commitGraph.changedPathsVersion"), ("VALUE_0", "0")];
        command.envs(setting.map(|(name, value)| (format!("GIT_CONFIG_{name}"), value)));
        command
    };
    for Place { size, path } in places {
        let pair = bench.pair(&|| {}, &|| unfiltered(bench.ours(path, &["why", file])), &|| {
            unfiltered(bench.git(path, &["log", "--follow", "-n", "100", "--format=%H", "--", file]))
        });
        let what = format!(
            "`why {file}`, {size} handoffs, without filters of changed paths, beside `git log --follow -n 100`"
        );
        row_without_limit(&what, pair.ours, pair.theirs);
    }
}

/// The log over everything, and how soon it begins.
fn log(bench: &mut Bench, places: &[Place]) {
    for Place { size, path } in places {
        let few = few(bench, *size);
        let runs = std::mem::replace(&mut bench.runs, few);
        let pair = bench.pair(&|| {}, &|| bench.ours(path, &LOG), &|| bench.git(path, &GITS_LOG));
        bench.runs = runs;
        let what = format!("`log --handoffs`, all {size} handoffs, beside `git log --notes=empirica/handoffs`");
        bench.row(&what, pair.ours, pair.theirs, 1.0);
        let mut times: Vec<f64> = (0..bench.runs).map(|_| first_line(bench.ours(path, &LOG))).collect();
        let what = format!("`log --handoffs`, {size} handoffs: ms to the first line, beside {FIRST} ms");
        bench.row(&what, median(&mut times), FIRST, 1.0);
    }
}

/// Milliseconds from the start of a process to the first bytes it says; then it is left.
fn first_line(mut command: Command) -> f64 {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut first = [0; 64];
    let read = child.stdout.take().expect("a pipe").read(&mut first).expect("its output");
    let took = start.elapsed().as_secs_f64() * 1000.0;
    assert!(read > 0, "{command:?} says nothing");
    // its reader has gone
    child.wait().expect("its end");
    took
}

/// The index: made, brought up to date, found as it should be.
fn index(bench: &mut Bench, places: &[Place]) {
    // the least a question can ask of it, and a command that looks at the refs and at no note
    let (query, none) = (["query", "--ai", "nobody", "--limit", "1"], ["flush"]);
    for Place { size, path } in places {
        let blobs = blobs(bench, path);
        let (mut made, mut read, mut raw) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..few(bench, *size).min(7) {
            without_index(path);
            let whole = timed(bench.ours(path, &query));
            made.push(whole - timed(bench.ours(path, &query)));
            read.push(timed(bench.ours(path, &["export", "--jsonl"])));
            raw.push(reading(bench, path, &blobs));
        }
        let what = format!("index of {size} handoffs made, beside reading all notes (`export --jsonl`)");
        bench.row(&what, median(&mut made), median(&mut read), MADE);
        let what = "the same beside `git cat-file --batch` of the same notes, which understands none";
        row_without_limit(what, median(&mut made), median(&mut raw));

        let (mut changed, mut same) = (Vec::new(), Vec::new());
        for turn in 0..bench.runs + 3 {
            fresh(bench, path);
            run(bench.ours(path, &HANDOFF));
            let first = timed(bench.ours(path, &query));
            let again = timed(bench.ours(path, &query));
            let other = timed(bench.ours(path, &none));
            if turn >= 3 {
                changed.push(first - again);
                same.push(again - other);
            }
        }
        let what =
            format!("index of {size} handoffs after one more: ms more than the same question again, beside 10 ms");
        bench.row(&what, median(&mut changed), 10.0, 1.0);
        let what = format!("index of {size} handoffs as it was: ms of a question more than `flush`, beside 3 ms");
        bench.row(&what, median(&mut same), 3.0, 1.0);
    }
}

/// The ids of all notes of the data refs, a line each.
fn blobs(bench: &Bench, path: &Path) -> String {
    let mut all = String::new();
    for namespace in ["journal", "checkpoints", "handoffs"] {
        let mut list = bench.git(path, &["notes", &format!("--ref=empirica/data/{namespace}"), "list"]);
        let list = list.stdout(Stdio::piped()).output().expect("git notes list");
        for line in String::from_utf8(list.stdout).expect("ids").lines() {
            all.push_str(line.split(' ').next().expect("an id"));
            all.push('\n');
        }
    }
    all
}

/// Milliseconds in which git reads these objects.
fn reading(bench: &Bench, path: &Path, blobs: &str) -> f64 {
    let mut command = bench.git(path, &["cat-file", "--batch", "--buffer"]);
    let start = Instant::now();
    let mut child = command.stdin(Stdio::piped()).spawn().expect("git cat-file");
    child.stdin.take().expect("a pipe").write_all(blobs.as_bytes()).expect("the ids");
    assert!(child.wait().expect("its end").success());
    start.elapsed().as_secs_f64() * 1000.0
}

fn without_index(path: &Path) {
    for entry in std::fs::read_dir(path.join(".git/empirica")).expect("its folder").flatten() {
        if entry.file_name().to_string_lossy().starts_with("index.") {
            std::fs::remove_file(entry.path()).expect("a file of the index");
        }
    }
}

/// The peak memory of commands in the largest repository.
fn memory(bench: &mut Bench, places: &[Place]) {
    let place = places.last().expect("a size");
    let words = Words::new(0);
    let (some, most) = (words.ranked(240), words.ranked(19));
    let file = file(bench, &place.path);
    let commands: [&[&str]; 9] = [
        &LOG,
        &["log", "--handoffs", "-n", "20"],
        &["query", "--ai", "codex", "--limit", "10"],
        &["resume"],
        &["status"],
        &["search", some],
        &["search", most],
        &["why", &file],
        &["finding", "the cache is keyed by user and nonce"],
    ];
    without_index(&place.path);
    let (own, _) = peak(bench.ours(&place.path, commands[2]));
    let what = format!("index of {} handoffs made: MB of its own, beside {INDEX_MEMORY} MB", place.size);
    bench.row(&what, own, INDEX_MEMORY, 1.0);
    let mut mapped = Vec::new();
    for command in commands {
        let shown = command.join(" ");
        let (own, all) = peak(bench.ours(&place.path, command));
        bench.row(&format!("`{shown}`, {} handoffs: MB of its own, beside {MEMORY} MB", place.size), own, MEMORY, 1.0);
        mapped.push(format!("`{shown}` {all:.0} MB"));
    }
    let (_, git) = peak(bench.git(&place.path, &GITS_LOG));
    say(&format!(
        "\nWith the pages of mapped files: {}, `git {}` {git:.0} MB.\n",
        mapped.join(", "),
        GITS_LOG.join(" ")
    ));
}

/// A file that the last commit changed.
fn file(bench: &Bench, path: &Path) -> String {
    let mut log = bench.git(path, &["log", "-1", "--name-only", "--format=", "--diff-filter=AM", "--", "src"]);
    let listed = log.stdout(Stdio::piped()).output().expect("git log").stdout;
    String::from_utf8(listed).expect("paths").lines().next().expect("a file").to_owned()
}

const HANDOFF: [&str; 5] = ["handoff", "-m", "bench", "--context", "the cache is keyed by user and nonce"];

/// A session of its own on a commit of its own, as agents work.
fn fresh(bench: &Bench, path: &Path) {
    run(bench.git(path, &["commit", "-q", "--allow-empty", "-m", "work"]));
    run(bench.ours(path, &["session", "end"]));
    run(bench.ours(path, &["session", "start", "--ai", "bench"]));
    run(bench.ours(path, &["preflight", "-v", "know=0.5,uncertainty=0.5"]));
    run(bench.finding(path));
}

/// Writing in the largest repositories beside the smallest.
fn writing(bench: &mut Bench, places: &[Place]) {
    let (small, larger) = places.split_first().expect("a size");
    for large in larger {
        let (many, few) = (large.size, small.size);
        let finding = |place: &Place| bench.finding(&place.path);
        let pair = bench.pair(&|| {}, &|| finding(large), &|| finding(small));
        bench.row(&format!("`finding` at {many} handoffs beside {few}"), pair.ours, pair.theirs, 1.25);
        let both = || [large, small].iter().for_each(|place| fresh(bench, &place.path));
        let handoff = |place: &Place| bench.ours(&place.path, &HANDOFF);
        let pair = bench.pair(&both, &|| handoff(large), &|| handoff(small));
        bench.row(&format!("`handoff` at {many} handoffs beside {few}"), pair.ours, pair.theirs, 1.25);
    }
}

/// New records, in each repository.
fn exchanged(bench: &mut Bench, places: &[Place]) {
    for Place { size, path } in places {
        exchange::measured(bench, path, &format!("{size} handoffs"));
    }
    exchange::in_a_large_work_tree(bench);
}

/// Hooks of an agent, in each repository.
fn agent(bench: &mut Bench, places: &[Place]) {
    for Place { size, path } in places {
        hooks::measured(bench, path, &format!("{size} handoffs"));
    }
}

/// What is known of code, in each repository.
fn about_code(bench: &mut Bench, places: &[Place]) {
    for Place { size, path } in places {
        code::measured(bench, path, &format!("{size} handoffs"));
    }
}
