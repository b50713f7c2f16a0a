//! Runs the user's git for what gix lacks: history listings, status, pager and editor.

pub mod ancestors;
pub mod parameters;
pub mod parent;
pub mod version;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{Error, Result};

/// A git command in `cwd`, without optional locks, in the C locale.
pub fn git(cwd: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(cwd).env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C").stdin(Stdio::null());
    // hooks of this program run in another process
    #[cfg(feature = "fault-injection")]
    command.env_remove("EMPIRICA_FAULT");
    command
}

/// The same, fetching nothing: objects missing from a partial clone are errors. Versions of git that ignore the first variable
/// honor the second.
pub fn local(cwd: &Path) -> Command {
    let mut command = git(cwd);
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none");
    command
}

/// The usual folders of git.
const USUAL: [&str; 5] =
    ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/local/bin", "/run/current-system/sw/bin"];

/// The error if git cannot be started. If it is in a usual folder, suggests adding that to PATH.
pub fn not_started(error: std::io::Error) -> Error {
    let out = Error::storage("cannot start git");
    let out = if error.kind() == std::io::ErrorKind::NotFound {
        let out = out.reason("no git in the folders of PATH; commands that need no git still work");
        match USUAL.iter().find(|folder| Path::new(folder).join("git").is_file()) {
            Some(folder) => out
                .suggest(format!("Add the folder of git, {folder}, to PATH in this shell."))
                .command(format!("export PATH=\"${{PATH:+$PATH:}}{folder}\"")),
            None => out.suggest("Install git, or add its folder to PATH.").command("echo \"PATH is $PATH\""),
        }
    } else {
        out.suggest("Check which git is first on PATH, and who may run it.")
            .command("command -v git || echo \"PATH is $PATH\"")
    };
    out.caused_by(error)
}

/// Runs git and returns its standard output. Failures have git's message.
pub fn output(command: &mut Command) -> Result<Vec<u8>> {
    BackgroundGit::start(command).output()
}

/// As [`output`], as text without surrounding white space.
pub fn text(command: &mut Command) -> Result<String> {
    Ok(String::from_utf8_lossy(&output(command)?).trim().to_owned())
}

/// The items of an output, each ended by NUL.
pub fn nul_separated(output: &[u8]) -> impl Iterator<Item = String> {
    let items = output.split(|byte| *byte == 0).filter(|item| !item.is_empty());
    items.map(|item| String::from_utf8_lossy(item).into_owned())
}

/// As [`output`], but `None` if git exits with 1 or 5 without a message, which means there is no value.
pub fn optional_output(command: &mut Command) -> Result<Option<Vec<u8>>> {
    let out = run(command, Vec::new())?;
    match out.status.code() {
        Some(0) => Ok(Some(out.stdout)),
        Some(1 | 5) if out.stderr.is_empty() => Ok(None),
        _ => Err(failure(&out.stderr)),
    }
}

/// Runs git with `input` on its standard input, and returns its result even on failure.
pub fn run(command: &mut Command, input: Vec<u8>) -> Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(not_started)?;
    write_in_background(child.stdin.take(), input);
    child.wait_with_output().map_err(not_started)
}

/// Runs git with `input` on its standard input and returns its standard output. Failures have git's message.
pub fn output_with_input(command: &mut Command, input: Vec<u8>) -> Result<Vec<u8>> {
    stdout_of(run(command, input)?)
}

/// A git process running in the background.
pub struct BackgroundGit(Result<Child>);

impl BackgroundGit {
    /// Starts git; an error shows in [`Self::output`].
    pub fn start(command: &mut Command) -> Self {
        BackgroundGit(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(not_started))
    }

    /// Waits for it and returns its standard output. Failures have git's message.
    pub fn output(self) -> Result<Vec<u8>> {
        stdout_of(self.0?.wait_with_output().map_err(not_started)?)
    }
}

fn stdout_of(out: Output) -> Result<Vec<u8>> {
    if out.status.success() { Ok(out.stdout) } else { Err(failure(&out.stderr)) }
}

/// Runs a command with `input` on its standard input unless empty, until it exits; at `deadline` terminates it and its
/// descendants and returns `None`. It stays in this process group, so that an interrupt by the user also ends it. With
/// `shown` its standard error is inherited, and empty in the result.
pub fn run_until(
    command: &mut Command,
    input: Vec<u8>,
    deadline: Option<Instant>,
    shown: bool,
) -> Result<Option<Output>> {
    if !input.is_empty() {
        command.stdin(Stdio::piped());
    }
    command.stdout(Stdio::piped()).stderr(if shown { Stdio::inherit() } else { Stdio::piped() });
    let mut child = command.spawn().map_err(not_started)?;
    write_in_background(child.stdin.take(), input);
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let mut written = None;
    let status = loop {
        match (child.try_wait().map_err(not_started)?, deadline) {
            (Some(status), _) => break status,
            (None, None) => break child.wait().map_err(not_started)?,
            (None, Some(deadline)) if Instant::now() < deadline => match written {
                // most commands exit as soon as they have closed their standard output
                None => match stdout.recv_timeout(POLL) {
                    Err(RecvTimeoutError::Timeout) => {}
                    all => written = Some(all.unwrap_or_default()),
                },
                Some(_) => std::thread::sleep(POLL / 4),
            },
            (None, Some(_)) => {
                terminate(&mut child);
                return Ok(None);
            }
        }
    };
    // a background connection (ssh's ControlPersist) keeps standard error open
    let stderr_timeout = deadline
        .map_or(OUTPUT_TIMEOUT, |deadline| deadline.saturating_duration_since(Instant::now()).min(OUTPUT_TIMEOUT));
    let stdout = written.or_else(|| stdout.recv_timeout(OUTPUT_TIMEOUT).ok()).unwrap_or_default();
    let stderr = stderr.recv_timeout(stderr_timeout.max(POLL)).unwrap_or_default();
    Ok(Some(Output { status, stdout, stderr }))
}

/// The polling interval of a running command.
const POLL: Duration = Duration::from_millis(2);
/// The time to wait for the output of an exited command.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// Reads a pipe in the background, so that it never fills up; sends all of it at its end.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    if let Some(mut pipe) = pipe {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // on an error use what was read
            let _ = pipe.read_to_end(&mut bytes);
            let _ = sender.send(bytes);
        });
    }
    receiver
}

/// Terminates a child and its descendants: by SIGTERM, so that git removes its lock files, then by SIGKILL.
fn terminate(child: &mut Child) {
    let raw = |id: u32| Pid::from_raw(i32::try_from(id).ok()?);
    let ids: Vec<Pid> = descendants(child.id()).into_iter().filter_map(raw).collect();
    for signal in [Signal::TERM, Signal::KILL] {
        for id in &ids {
            // it may have exited meanwhile
            let _ = kill_process(*id, signal);
        }
        for _ in 0..100 {
            if matches!(child.try_wait(), Ok(Some(_))) {
                break;
            }
            std::thread::sleep(POLL);
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn descendants(root: u32) -> Vec<u32> {
    let parents = parents();
    let mut out = vec![root];
    let mut at = 0;
    while at < out.len() {
        out.extend(parents.iter().filter(|(_, parent)| *parent == out[at]).map(|(id, _)| *id).collect::<Vec<_>>());
        at += 1;
    }
    out
}

/// A running process.
pub(crate) struct Stat {
    pub program: String,
    pub parent: u32,
    /// In ticks since the boot.
    pub started: String,
}

/// A running process by its number, from `/proc`; `None` without one, or if it only waits for its parent to learn of its end.
pub(crate) fn stat(id: u32) -> Option<Stat> {
    let stat = std::fs::read(format!("/proc/{id}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // the program name, in parentheses, can contain anything
    let (name, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    fields.next().filter(|state| !matches!(*state, "Z" | "X"))?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.to_owned();
    Some(Stat { program: name.split_once('(')?.1.to_owned(), parent, started })
}

fn parents() -> Vec<(u32, u32)> {
    let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let found: Vec<(u32, u32)> = ids.filter_map(|id| Some((id, stat(id)?.parent))).collect();
    if !found.is_empty() {
        return found;
    }
    let out = Command::new("ps").args(["-A", "-o", "pid=", "-o", "ppid="]).output();
    let text = out.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    let pair = |line: &str| {
        let mut words = line.split_whitespace().map(|word| word.parse().ok());
        Some((words.next()??, words.next()??))
    };
    text.lines().filter_map(pair).collect()
}

/// The message of a failed git in one line.
pub(crate) fn message(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

fn failure(stderr: &[u8]) -> Error {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("git failed without a message");
    let line = line.trim_start_matches("fatal: ").trim_start_matches("error: ");
    let out = Error::refused(format!("git failed: {line}"));
    if line.contains("unknown revision") || line.contains("bad revision") {
        return out
            .reason("this repository has no such revision")
            .suggest("Use an existing branch, tag or commit; paths go behind --.")
            .command("git for-each-ref --count=20 --sort=-committerdate refs/heads refs/tags refs/remotes");
    }
    let reason = outdated(&text).unwrap_or_else(|| "git refused the request".to_owned());
    out.reason(reason).suggest("Fix what git names, then run the command again.").command("git version")
}

/// A git process running in the background, and the parser of its output.
pub struct ParsedGit<T> {
    git: Option<BackgroundGit>,
    parse: fn(&[u8]) -> T,
}

impl<T: Default> ParsedGit<T> {
    /// Starts git; without a command the result is the default.
    pub fn start(command: Option<Command>, parse: fn(&[u8]) -> T) -> Self {
        ParsedGit { git: command.map(|mut command| BackgroundGit::start(&mut command)), parse }
    }

    /// Waits for the result.
    pub fn read(self) -> Result<T> {
        self.git.map_or_else(|| Ok(T::default()), |git| Ok((self.parse)(&git.output()?)))
    }
}

/// A git process whose output is read while it runs; killed on drop.
pub struct StreamingGit {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl StreamingGit {
    /// Starts git with a piped stdout and stderr.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(not_started)?;
        match child.stdout.take().map(BufReader::new) {
            Some(stdout) => Ok(StreamingGit { child, stdout }),
            None => Err(unreadable_output(std::io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Starts git with `input` on its standard input.
    pub fn feed(command: &mut Command, input: Vec<u8>) -> Result<Self> {
        let mut running = StreamingGit::start(command.stdin(Stdio::piped()))?;
        write_in_background(running.child.stdin.take(), input);
        Ok(running)
    }

    /// The next field of its output, which NUL ends, without the line feed that git puts between records; `None` at the
    /// end.
    pub fn field(&mut self) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        self.stdout.read_until(0, &mut bytes).map_err(unreadable_output)?;
        if bytes.pop() != Some(0) {
            return Ok(None);
        }
        let begin = usize::from(bytes.first() == Some(&b'\n'));
        Ok(Some(bytes.split_off(begin)))
    }

    /// The lines of its output.
    pub fn lines(&mut self) -> impl Iterator<Item = Result<String>> {
        (&mut self.stdout).lines().map(|line| line.map_err(unreadable_output))
    }

    /// Waits for it, after its output was read to the end. Failures have git's message.
    pub fn finish(mut self) -> Result<()> {
        let mut stderr = Vec::new();
        if let Some(mut pipe) = self.child.stderr.take() {
            // an error reading the message is ignored
            let _ = pipe.read_to_end(&mut stderr);
        }
        let status = self.child.wait().map_err(not_started)?;
        if status.success() { Ok(()) } else { Err(failure(&stderr)) }
    }
}

impl Drop for StreamingGit {
    fn drop(&mut self) {
        // it may have exited already
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes in a thread, so that writing and reading do not block each other. Ignores a reader that stops early.
fn write_in_background(pipe: Option<std::process::ChildStdin>, input: Vec<u8>) {
    if let Some(mut pipe) = pipe {
        std::thread::spawn(move || pipe.write_all(&input));
    }
}

/// Runs git with `input`, pipes its output to a second git, and returns that one's output. Failures have the message of
/// either.
pub fn pipe(first: &mut Command, input: Vec<u8>, second: &mut Command) -> Result<Vec<u8>> {
    let mut source =
        first.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(not_started)?;
    write_in_background(source.stdin.take(), input);
    let between = source.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let output = BackgroundGit::start(second.stdin(between)).output();
    let first = source.wait_with_output().map_err(not_started)?;
    if first.status.success() { output } else { Err(failure(&first.stderr)) }
}

/// The error of a broken pipe from git.
fn unreadable_output(error: std::io::Error) -> Error {
    Error::storage("cannot read the output of git")
        .suggest("Run the command again; if it fails again, check which git runs.")
        .command("git version")
        .caused_by(error)
}

/// The value of `git var` for `GIT_PAGER` or `GIT_EDITOR`; `None` if it fails or is empty.
pub fn variable(cwd: &Path, name: &str) -> Option<String> {
    text(git(cwd).args(["var", name])).ok().filter(|value| !value.is_empty())
}

/// Starts a detached program: with no streams but its input, and without signals of the terminal.
pub fn in_background(command: &mut Command, input: &[u8]) -> std::io::Result<()> {
    use std::os::unix::process::CommandExt;
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()?;
    let pipe = child.stdin.take();
    // a server outlives many of them
    std::thread::spawn(move || child.wait());
    match pipe {
        Some(mut pipe) => pipe.write_all(input),
        None => Ok(()),
    }
}

/// A shell line with arguments, as git runs editors and pagers.
pub fn shell(line: &str, arguments: &[&std::ffi::OsStr]) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(if arguments.is_empty() { line.to_owned() } else { format!("{line} \"$@\"") }).arg(line);
    command.args(arguments);
    command
}

/// The version of the installed git; `None` if it cannot be run.
pub fn installed(cwd: &Path) -> Option<String> {
    Some(text(git(cwd).arg("version")).ok()?.trim_start_matches("git version ").to_owned())
}

/// A hint that git is too old, if its message reports an unknown option or command.
pub(crate) fn outdated(message: &str) -> Option<String> {
    const UNKNOWN: [&str; 4] = ["unknown option", "unknown switch", "is not a git command", "unrecognized argument"];
    let is_unknown = UNKNOWN.iter().any(|unknown| message.contains(unknown));
    is_unknown.then(|| version::too_old(&installed(Path::new("."))?)).flatten()
}
