//! Collecting a transcript: time and memory.

use std::path::Path;

use super::common::{Bench, peak, run};
use super::transcript;

const BYTES: usize = 24_000_000;

/// Collects it beside a tenth of it, and beside a program that only counts its words.
pub fn collected(bench: &mut Bench) {
    let repo = bench.dir.path().join("transcripts");
    run(bench.git(bench.dir.path(), &["init", "-q", "transcripts"]));
    bench.configure(&repo);
    run(bench.git(&repo, &["commit", "-q", "--allow-empty", "-m", "begin"]));
    let file = |bytes: usize| {
        let path = bench.dir.path().join(format!("{bytes}.jsonl"));
        transcript::write(&path, bytes, "5e555555-0000-4000-8000-000000000000", Path::new("/home/dev/repo"));
        path.to_str().expect("UTF-8").to_owned()
    };
    let (large, small) = (file(BYTES), file(BYTES / 10));
    let collect = |path: &str| bench.ours(&repo, &["collect", path, "--dry-run"]);
    let grown = bench.pair(&|| {}, &|| collect(&large), &|| collect(&small));
    let counted = bench.pair(&|| {}, &|| collect(&large), &|| bench.command("wc", &repo, &["-w", &large]));
    let (_, all) = peak(collect(&large));
    let size = format!("{} MB", BYTES / 1_000_000);
    bench.row(&format!("`collect`, {size}: ms beside 250"), grown.ours, 250.0, 1.0);
    bench.row(&format!("`collect`, {size}: MB of memory beside 40"), all, 40.0, 1.0);
    bench.row(&format!("`collect`, {size}, beside a tenth of it"), grown.ours, grown.theirs, 10.0);
    bench.row(&format!("`collect`, {size}, beside `wc -w` of it"), counted.ours, counted.theirs, 1.0);
}
