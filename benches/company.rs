//! A company of 5,000 developers with 50,000 sessions a day in 2,000 repositories: what a session costs is measured in repositories that are made here, then a year
//! is simulated. `EMPIRICA_BENCH_SIZES` sets the two sizes that are measured (`1000,20000`), `EMPIRICA_BENCH_DIR` a folder in which they are kept.
#![allow(clippy::disallowed_methods, missing_docs)]

#[path = "common.rs"]
#[allow(dead_code)]
mod common;
#[path = "generate.rs"]
mod generate;
#[path = "words.rs"]
mod words;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::{Bench, median, run, say, timed};
use words::Random;

const REPOSITORIES: usize = 2_000;
const SESSIONS_A_DAY: usize = 50_000;
const DAYS: usize = 250;
/// Seconds in which a day's work is done.
const WORKDAY: f64 = 8.0 * 3600.0;
/// How unequal repositories are: the one at rank `n` has a share of 1/n to this power.
const SKEWS: [f64; 2] = [0.8, 1.0];
/// Seconds that a sync takes longer over a network: four requests of 100 ms each.
const NETWORK: f64 = 0.4;
/// Sessions whose exchange is measured.
const EXCHANGED: usize = 15;
const FINDINGS: usize = 22;
const REFS: [&str; 4] = [
    "refs/notes/empirica/data/journal",
    "refs/notes/empirica/data/checkpoints",
    "refs/notes/empirica/data/handoffs",
    "refs/notes/empirica/handoffs",
];

/// What notes weigh and cost at a number of sessions.
struct Weight {
    sessions: f64,
    /// Bytes of the packs with the notes, and those of each ref.
    packed: f64,
    refs: [f64; 4],
    /// Bytes of the index.
    index: f64,
    /// Seconds of a first fetch, and of making the index.
    fetch: f64,
    made: f64,
}

fn main() {
    let bench = Bench::new();
    let sizes = std::env::var("EMPIRICA_BENCH_SIZES").unwrap_or("1000,20000".to_owned());
    let sizes: Vec<usize> = sizes.split(',').map(|size| size.trim().parse().expect("a size")).collect();
    let folder = std::env::var_os("EMPIRICA_BENCH_DIR").map_or(bench.dir.path().to_owned(), PathBuf::from);
    let places: Vec<PathBuf> = sizes.iter().map(|size| generate::repository(&bench, &folder, *size)).collect();
    let weights: Vec<Weight> = sizes.iter().zip(&places).map(|(size, place)| weighed(&bench, place, *size)).collect();
    say(
        "| sessions | MB packed | journal | checkpoints | handoffs | Markdown | KB a session | first fetch, s | index, MB | made in, s |",
    );
    say("|---|---|---|---|---|---|---|---|---|---|");
    for weight in &weights {
        let [journal, checkpoints, handoffs, markdown] = weight.refs.map(|bytes| bytes / 1e6);
        say(&format!(
            "| {} | {:.1} | {journal:.1} | {checkpoints:.1} | {handoffs:.1} | {markdown:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
            weight.sessions,
            weight.packed / 1e6,
            weight.packed / weight.sessions / 1e3,
            weight.fetch,
            weight.index / 1e6,
            weight.made
        ));
    }
    let (sent, took) = exchanged(&bench, places.last().expect("a size"));
    say(&format!("\nA session sends {:.1} KB; a sync of one takes {took:.2} s without a network.\n", sent / 1e3));
    let [less, more] = [&weights[0], weights.last().expect("a size")];
    // what another session adds, from the difference of the two
    let each = |of: fn(&Weight) -> f64| (of(more) - of(less)) / (more.sessions - less.sessions);
    let (packed, index) = (each(|weight| weight.packed), each(|weight| weight.index));
    let (fetch, made) = (each(|weight| weight.fetch), each(|weight| weight.made));
    say(
        "| skew | repository | sessions a day | in a year | notes, MB | first fetch, s | fetched a day, MB | index, MB | made in, s | rounds of a sync, mean | most |",
    );
    say("|---|---|---|---|---|---|---|---|---|---|---|");
    for skew in SKEWS {
        let year = simulated(skew, took + NETWORK);
        for (rank, name) in [(1, "the largest"), (20, "1 %"), (200, "10 %"), (1_000, "half"), (2_000, "the smallest")] {
            let Year { sessions, mean, most } = &year[rank - 1];
            let sessions = *sessions as f64;
            say(&format!(
                "| {skew} | {name} | {:.0} | {sessions} | {:.0} | {:.0} | {:.1} | {:.0} | {:.0} | {mean:.2} | {most} |",
                sessions / DAYS as f64,
                sessions * packed / 1e6,
                sessions * fetch,
                sessions / DAYS as f64 * sent / 1e6,
                sessions * index / 1e6,
                sessions * made,
            ));
        }
        let all: usize = year.iter().map(|year| year.sessions).sum();
        say(&format!(
            "| {skew} | all | {:.0} | {all} | {:.0} | | | | | | |",
            all as f64 / DAYS as f64,
            all as f64 * packed / 1e6
        ));
    }
}

/// A repository's year: its sessions, and how many rounds their syncs took.
struct Year {
    sessions: usize,
    mean: f64,
    most: usize,
}

/// The year of each repository, the largest first. Sessions end at random times of a day, and are then synced, which takes so many
/// seconds a round; a round during which another's push arrived is done again.
fn simulated(skew: f64, round: f64) -> Vec<Year> {
    let mut random = Random::new(42);
    let share = |rank: usize| (rank as f64).powf(-skew);
    let all: f64 = (1..=REPOSITORIES).map(share).sum();
    let mut out = Vec::new();
    for rank in 1..=REPOSITORIES {
        let a_second = SESSIONS_A_DAY as f64 * share(rank) / all / WORKDAY;
        let (mut sessions, mut rounds, mut most) = (0, 0, 0);
        for _ in 0..DAYS {
            // times of arrival
            let (mut now, mut starts) = (0.0, Vec::new());
            loop {
                now -= (1.0 - random.unit()).ln() / a_second;
                if now > WORKDAY {
                    break;
                }
                starts.push(now);
            }
            sessions += starts.len();
            let syncs = synced(&starts, round);
            rounds += syncs.iter().sum::<usize>();
            most = most.max(syncs.into_iter().max().unwrap_or(0));
        }
        out.push(Year { sessions, mean: rounds as f64 / f64::from(sessions.max(1) as u32), most });
    }
    out
}

/// The rounds of each sync that starts at these times, in seconds.
fn synced(starts: &[f64], round: f64) -> Vec<usize> {
    // by when the present round ends: (end, start, which)
    let mut pending: Vec<(f64, f64, usize)> = Vec::new();
    let mut rounds = vec![1; starts.len()];
    let (mut next, mut pushed) = (0, f64::NEG_INFINITY);
    loop {
        let first = (0..pending.len()).min_by(|a, b| pending[*a].0.total_cmp(&pending[*b].0));
        let ends = first.map_or(f64::INFINITY, |at| pending[at].0);
        if next < starts.len() && starts[next] < ends {
            pending.push((starts[next] + round, starts[next], next));
            next += 1;
            continue;
        }
        let Some(at) = first else { return rounds };
        let (end, begun, which) = pending.swap_remove(at);
        if pushed > begun {
            rounds[which] += 1;
            pending.push((end + round, end, which));
        } else {
            pushed = end;
        }
    }
}

fn weighed(bench: &Bench, place: &Path, size: usize) -> Weight {
    let path = bench.dir.path().join(format!("weighed-{size}"));
    std::fs::create_dir_all(&path).expect("a folder");
    run(bench.git(&path, &["init", "-q", "-b", "main"]));
    bench.configure(&path);
    let from = place.to_str().expect("UTF-8");
    let refs = "refs/notes/empirica/*:refs/notes/empirica/*";
    let fetch = timed(bench.git(&path, &["fetch", "-q", &format!("file://{from}"), refs])) / 1e3;
    let usage = |name: &str| {
        let arguments = ["rev-list", "--disk-usage", "--objects", name];
        let output = bench.git(&path, &arguments).stdout(Stdio::piped()).output().expect("git starts");
        String::from_utf8_lossy(&output.stdout).trim().parse::<f64>().expect("bytes")
    };
    let refs = REFS.map(usage);
    let packs = std::fs::read_dir(path.join(".git/objects/pack")).expect("the packs").flatten();
    let packed: u64 = packs.map(|file| file.metadata().map_or(0, |meta| meta.len())).sum();
    let made = timed(bench.ours(&path, &["search", "cache"])) / 1e3;
    let index = std::fs::metadata(path.join(".git/empirica/index.db")).map_or(0, |meta| meta.len());
    std::fs::remove_dir_all(&path).expect("it goes");
    Weight { sessions: size as f64, packed: packed as f64, refs, index: index as f64, fetch, made }
}

/// What a session sends, in bytes of packed objects, and the median seconds of its sync.
fn exchanged(bench: &Bench, place: &Path) -> (f64, f64) {
    let (hub, path) = (bench.dir.path().join("hub.git"), bench.dir.path().join("works"));
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    run(bench.git(place, &["clone", "-q", "--bare", &text(place), &text(&hub)]));
    let notes = "refs/notes/empirica/*:refs/notes/empirica/*";
    run(bench.git(&hub, &["fetch", "-q", "origin", notes]));
    run(bench.git(place, &["clone", "-q", &text(&hub), &text(&path)]));
    bench.configure(&path);
    run(bench.ours(&path, &["init"]));
    run(bench.ours(&path, &["sync"]));
    let mut words = words::Words::new(7);
    let tips = |hub: &Path| {
        let arguments = ["for-each-ref", "--format=%(objectname)", "refs/notes/empirica"];
        let output = bench.git(hub, &arguments).stdout(Stdio::piped()).output().expect("git starts");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let before = tips(&hub);
    let mut took = Vec::new();
    for n in 0..EXCHANGED {
        let ai = format!("agent-{n}");
        run(bench.ours(&path, &["session", "start", "--ai", &ai, "--task", &words.text(6)]));
        run(bench.ours(&path, &["preflight", "-v", "know=0.4,uncertainty=0.6", "--ai", &ai]));
        for _ in 0..FINDINGS {
            run(bench.ours(&path, &["finding", &words.text(14), "--ai", &ai]));
        }
        run(bench.git(&path, &["commit", "-q", "--allow-empty", "-m", "work"]));
        run(bench.ours(&path, &["postflight", "-v", "know=0.8,uncertainty=0.2", "--ai", &ai]));
        run(bench.ours(&path, &["handoff", "--context", &words.text(60), "--next", &words.text(10), "--ai", &ai]));
        took.push(timed(bench.ours(&path, &["sync"])) / 1e3);
    }
    run(bench.git(&hub, &["repack", "-q", "-a", "-d"]));
    let not: Vec<String> = before.iter().map(|tip| format!("^{tip}")).collect();
    let mut arguments = vec!["rev-list".to_owned(), "--disk-usage".to_owned(), "--objects".to_owned()];
    arguments.extend(tips(&hub).into_iter().chain(not));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = bench.git(&hub, &arguments).stdout(Stdio::piped()).output().expect("git starts");
    let sent: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("bytes");
    (sent / EXCHANGED as f64, median(&mut took))
}
