//! What is known of code: `why` of a file with a thousand commits and of a line in it, and claims compared with the code.

use std::path::Path;
use std::process::{Command, Stdio};

use super::common::{Bench, run, timed};
use super::hooks::p95;

/// Commits that change the file, one line each, and its lines.
const COMMITS: usize = 1000;
const LINES: usize = 400;
/// Claims about lines of it.
const CLAIMS: usize = 200;
const FILE: &str = "hot.rs";
/// Milliseconds that `why` may take, of a file at the 95th percentile, and that `resume` may take.
const WHY: f64 = 50.0;
const RESUME: f64 = 25.0;
/// How much longer than git's own blame `why` of a line may take, if that is more.
const BLAME: f64 = 1.2;

/// In a repository with many records; `size` names it.
pub fn measured(bench: &mut Bench, repo: &Path, size: &str) {
    prepare(bench, repo);
    let of = |bench: &Bench, arguments: &[&str]| {
        let mut times: Vec<f64> = (0..bench.runs + 3).map(|_| timed(bench.ours(repo, arguments))).skip(3).collect();
        p95(&mut times)
    };
    let took = of(bench, &["why", FILE]);
    bench.row(&format!("`why FILE`, {size}, {COMMITS} commits: p95 beside {WHY} ms"), took, WHY, 1.0);
    let took = of(bench, &["resume", "--ai", "code"]);
    bench.row(&format!("`resume`, {size}, {CLAIMS} claims about code: p95 beside {RESUME} ms"), took, RESUME, 1.0);
    let line = &format!("{FILE}:{}", LINES / 2);
    let range = &format!("{0},{0}", LINES / 2);
    let pair = bench.pair(&|| {}, &|| bench.ours(repo, &["why", line]), &|| {
        bench.git(repo, &["blame", "--incremental", "-L", range, "--", FILE])
    });
    let limit = WHY.max(pair.theirs * BLAME);
    bench.row(&format!("`why FILE:LINE`, {size}, beside {WHY} ms or `git blame` + 20 %"), pair.ours, limit, 1.0);
}

/// Adds the commits and the claims, once.
fn prepare(bench: &Bench, repo: &Path) {
    if repo.join(FILE).exists() {
        return;
    }
    let head = bench.git(repo, &["rev-parse", "HEAD"]).stdout(Stdio::piped()).output().expect("git rev-parse");
    let head = String::from_utf8(head.stdout).expect("an id");
    let mut lines: Vec<String> = (0..LINES).map(|n| format!("line {n}\n")).collect();
    bench.import(repo, |to| {
        for n in 0..COMMITS {
            lines[n % LINES] = format!("line {} of commit {n}\n", n % LINES);
            let text = lines.concat();
            let seconds = 1_790_000_000 + n;
            let _ = writeln!(
                to,
                "commit refs/heads/main\nmark :{}\ncommitter Bench <bench@example.com> {seconds} +0000",
                n + 1
            );
            let _ = writeln!(to, "data 4\nhot\n");
            let _ = match n {
                0 => writeln!(to, "from {}", head.trim()),
                n => writeln!(to, "from :{n}"),
            };
            let _ = write!(to, "M 100644 inline {FILE}\ndata {}\n{text}\n", text.len());
        }
    });
    run(bench.git(repo, &["reset", "-q", "--hard"]));
    let log = |number: usize| -> Command {
        let at = format!("{FILE}:{}-{}", number + 1, number + 2);
        bench.ours(
            repo,
            &["deadend", &format!("lock number {number}"), "--why", "it waits", "--at", &at, "--ai", "code"],
        )
    };
    (0..CLAIMS).for_each(|number| run(log(number)));
    run(bench.ours(repo, &["session", "end", "--ai", "code"]));
    run(bench.ours(repo, &["flush"]));
}
