//! What does not grow with history.
#![allow(clippy::disallowed_methods, missing_docs)]

#[path = "common.rs"]
mod common;
#[path = "generate.rs"]
mod generate;
#[path = "words.rs"]
mod words;

use common::Bench;

const SIZES: [usize; 3] = [1_000, 20_000, 100_000];

fn main() {
    let bench = Bench::new();
    let sizes = std::env::var("EMPIRICA_BENCH_SIZES")
        .map(|s| s.split(',').filter_map(|n| n.trim().parse().ok()).collect::<Vec<usize>>());
    let sizes = sizes.unwrap_or(SIZES.to_vec());
    let kept = std::env::var_os("EMPIRICA_BENCH_DIR").map(std::path::PathBuf::from);
    let folder = kept.unwrap_or_else(|| bench.dir.path().to_owned());
    for n in sizes {
        let start = std::time::Instant::now();
        let repo = generate::repository(&bench, &folder, n);
        common::say(&format!("{n}: {} in {:.1} s", repo.display(), start.elapsed().as_secs_f64()));
    }
    bench.begin();
    bench.end();
}
