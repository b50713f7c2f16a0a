//! Shared by the benchmarks: commands in an isolated folder, medians of alternating commands, rows of a table.

use std::cell::Cell;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub struct Bench {
    /// Has the program in `bin`, copied as an installed one is: it starts .3 ms faster than the file that the linker wrote.
    pub dir: tempfile::TempDir,
    pub runs: usize,
    pub failed: bool,
    /// The number of findings logged.
    findings: Cell<usize>,
}

/// A pair of medians, in milliseconds.
pub struct Pair {
    pub ours: f64,
    pub theirs: f64,
}

impl Bench {
    /// A place of its own; `EMPIRICA_BENCH_RUNS` sets the number of turns (40).
    pub fn new() -> Self {
        let runs = std::env::var("EMPIRICA_BENCH_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
        let bench = Bench {
            dir: tempfile::tempdir().expect("a temporary folder"),
            runs,
            failed: false,
            findings: Cell::new(0),
        };
        std::fs::create_dir(bench.bin()).expect("a folder");
        std::fs::copy(env!("CARGO_BIN_EXE_git-empirica"), bench.program()).expect("the program");
        bench
    }

    fn bin(&self) -> PathBuf {
        self.dir.path().join("bin")
    }

    fn program(&self) -> PathBuf {
        self.bin().join("git-empirica")
    }

    pub fn command(&self, program: &str, cwd: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(cwd)
            .env("HOME", self.dir.path())
            .env("XDG_CONFIG_HOME", self.dir.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("GIT_DIR")
            .env_remove("EMPIRICA_SESSION")
            .env_remove("EMPIRICA_AI")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    pub fn ours(&self, cwd: &Path, arguments: &[&str]) -> Command {
        self.command(self.program().to_str().expect("UTF-8"), cwd, arguments)
    }

    /// Logs a finding in words of its own: a session's repetition is not stored.
    pub fn finding(&self, cwd: &Path) -> Command {
        self.findings.set(self.findings.get() + 1);
        let text = format!("the cache is keyed by user and nonce {:06}", self.findings.get());
        self.ours(cwd, &["finding", &text])
    }

    pub fn git(&self, cwd: &Path, arguments: &[&str]) -> Command {
        self.command("git", cwd, arguments)
    }

    /// An identity, and no background maintenance of git during measurements.
    pub fn configure(&self, path: &Path) {
        for (key, value) in [
            ("user.name", "Bench"),
            ("user.email", "bench@example.com"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
        ] {
            run(self.git(path, &["config", key, value]));
        }
    }

    /// Feeds git's fast-import with what `write` writes.
    pub fn import(&self, path: &Path, write: impl FnOnce(&mut dyn std::io::Write)) {
        let mut import = self.git(path, &["fast-import", "--quiet", "--done"]);
        let mut child = import.stdin(Stdio::piped()).spawn().expect("git fast-import");
        let mut stream = std::io::BufWriter::with_capacity(1 << 16, child.stdin.take().expect("a pipe"));
        write(&mut stream);
        stream.write_all(b"done\n").expect("the stream");
        drop(stream);
        assert!(child.wait().expect("git fast-import").success());
    }

    /// Git, with our program where its hooks look for it.
    pub fn hooked(&self, cwd: &Path, arguments: &[&str]) -> Command {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(self.bin()).chain(std::env::split_paths(&paths));
        let mut command = self.git(cwd, arguments);
        command.env("PATH", std::env::join_paths(paths).expect("a path"));
        command
    }

    /// The medians of two alternating commands. `before` runs, untimed, before each of the program's.
    pub fn pair(&self, before: &dyn Fn(), ours: &dyn Fn() -> Command, theirs: &dyn Fn() -> Command) -> Pair {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for turn in 0..self.runs + 3 {
            before();
            // the first command finds the caches as the second left them
            let (x, y) = if turn % 2 == 0 {
                let x = timed(ours());
                (x, timed(theirs()))
            } else {
                let y = timed(theirs());
                (timed(ours()), y)
            };
            if turn >= 3 {
                a.push(x);
                b.push(y);
            }
        }
        Pair { ours: median(&mut a), theirs: median(&mut b) }
    }

    pub fn row(&mut self, what: &str, ours: f64, theirs: f64, most: f64) {
        let ratio = ours / theirs;
        let verdict = if ratio <= most { "yes" } else { "NO" };
        self.failed |= ratio > most;
        say(&format!("| {what} | {ours:.2} | {theirs:.2} | {ratio:.2} | {most:.2} | {verdict} |"));
    }

    /// The head of the table.
    pub fn begin(&self) {
        say(&format!("Medians of {} turns, whole processes, milliseconds.\n", self.runs));
        say("| what | ours | beside | ratio | at most | held |\n|---|---|---|---|---|---|");
    }

    /// Ends with 1 when a bound was not held.
    pub fn end(self) {
        if self.failed {
            say("\nNot every bound was held.");
            drop(self);
            std::process::exit(1);
        }
    }
}

pub fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

pub fn run(mut command: Command) {
    let status = command.status().expect("it starts");
    assert!(status.success(), "{command:?}");
}

/// Milliseconds from start to end of a process.
pub fn timed(mut command: Command) -> f64 {
    let start = Instant::now();
    let status = command.status().expect("it starts");
    let took = start.elapsed().as_secs_f64() * 1000.0;
    assert!(status.success(), "{command:?}");
    took
}

pub fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The peak of a process in megabytes: its own memory (`RssAnon` in `/proc/<pid>/status`), and with the pages of
/// files it has mapped (`VmHWM`). Looked at five times a millisecond, else as often as the machine can.
pub fn peak(mut command: Command) -> (f64, f64) {
    let mut child = command.spawn().expect("it starts");
    let status = format!("/proc/{}/status", child.id());
    let (mut own, mut all) = (0.0, 0.0);
    while child.try_wait().expect("its state").is_none() {
        // gone when it ends meanwhile
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let megabytes = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key))?;
            Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0 / 1e6)
        };
        own = f64::max(own, megabytes("RssAnon:").unwrap_or(0.0));
        all = f64::max(all, megabytes("VmHWM:").unwrap_or(0.0));
        std::thread::sleep(Duration::from_micros(200));
    }
    assert!(child.wait().expect("its end").success(), "{command:?}");
    assert!(own > 0.0 && all > 0.0, "{command:?} was not seen");
    (own, all)
}
