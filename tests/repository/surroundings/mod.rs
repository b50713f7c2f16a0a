//! Ordinary surroundings: containers, users, mounts, homes, clocks, other tools, maintenance and file systems.

pub mod clock;
pub mod containers;
pub mod disks;
pub mod dry_runs;
pub mod elsewhere;
pub mod homes;
pub mod hook_tools;
pub mod hook_variables;
pub mod locks;
pub mod maintenance;
pub mod users;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::repository::kinds::{Format, git_has, new};
use crate::support::harness::{Repo, RunOutput, Sandbox, each};

/// The group of the users of [`Container`].
pub const GROUP: u32 = 23456;

/// Both object formats and both ref formats; in the short form, each once.
pub fn formats(place: &Sandbox) -> Vec<Format> {
    let kind = |hash, refs| Format { hash, refs };
    let all = [kind("sha1", "files"), kind("sha256", "files"), kind("sha256", "reftable"), kind("sha1", "reftable")];
    all.into_iter().step_by(each(2)).filter(|format| git_has(place, *format)).collect()
}

/// A new repository of a format, with one commit.
pub fn repo_of<'p>(place: &'p Sandbox, name: &str, format: Format) -> Repo<'p> {
    let repo = new(place, name, format, false);
    repo.git(["config", "maintenance.auto", "false"]).ok();
    repo.commit("README.md", "hello\n", "Begin");
    repo
}

/// A bare repository of the format beside this one, as its remote origin.
pub fn add_hub(repo: &Repo<'_>, name: &str, format: Format) {
    let options = format.options();
    let hub = format!("../{name}.git");
    repo.git(["init", "-q", "--bare", &hub].into_iter().chain(options.iter().map(String::as_str))).ok();
    repo.git(["remote", "add", "origin", &hub]).ok();
}

/// The id of what a command stored.
#[track_caller]
pub fn id(json: &Value) -> String {
    let keys = ["handoff_id", "checkpoint_id", "id"];
    keys.iter().find_map(|key| json[*key].as_str()).unwrap_or_else(|| panic!("no id: {json}")).to_owned()
}

/// Every id is in the notes, once, and git finds no fault.
#[track_caller]
pub fn stored_once(repo: &Repo<'_>, ids: &[String]) {
    stored(repo, ids, 1);
}

/// Every id is in the notes of one to `most` commits, once in each, and git finds no fault.
#[track_caller]
pub fn stored(repo: &Repo<'_>, ids: &[String], most: usize) {
    let flushed = repo.json(["flush"]);
    assert_eq!((&flushed["degraded_mode"], &flushed["waiting"]), (&false.into(), &0.into()), "{flushed}");
    let lines: Vec<String> = ["journal", "checkpoints", "handoffs"].iter().flat_map(|name| repo.lines(name)).collect();
    let of = |id: &String| lines.iter().filter(|line| line.contains(&format!("\"id\":\"{id}\",\"kind\""))).count();
    let wrong: Vec<(&String, usize)> =
        ids.iter().map(|id| (id, of(id))).filter(|(_, count)| !(1..=most).contains(count)).collect();
    assert!(wrong.is_empty(), "{} of {} are not there {most} times at most: {wrong:?}", wrong.len(), ids.len());
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "each has an id of its own");
    repo.fsck();
}

/// Says why a test does not try what it is for.
#[expect(clippy::print_stderr, reason = "there is no other way to tell of a skipped test")]
pub fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

/// The options of `unshare` with which this user gets namespaces; `None`, and why, if the kernel refuses.
fn unshare() -> Option<&'static [&'static str]> {
    static OPTIONS: OnceLock<Option<&[&str]>> = OnceLock::new();
    *OPTIONS.get_or_init(|| {
        let options: [&[&str]; 2] = [
            &["--uts", "--pid", "--fork", "--mount-proc", "--mount"],
            &["--map-root-user", "--uts", "--pid", "--fork", "--mount-proc", "--mount"],
        ];
        let mount = ["sh", "-c", "hostname probe && mount -t tmpfs -o size=64k none /mnt"];
        let tried = options.map(|options| (Command::new("unshare").args(options).args(mount).output(), options));
        let works = |ran: &std::io::Result<std::process::Output>| ran.as_ref().is_ok_and(|ran| ran.status.success());
        let found = tried.iter().find(|(ran, _)| works(ran)).map(|(_, options)| *options);
        if found.is_none() {
            skipped(&format!("the kernel refuses namespaces: {:?}", tried[0].0));
        }
        found
    })
}

/// Whether this process may become other users.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root {
        skipped("only root becomes other users");
    }
    is_root
}

/// As a container: a host name, process ids from 1, mounts, a user and a umask of its own.
pub struct Container<'c> {
    pub host: &'c str,
    /// Of [`GROUP`]; 0 is the user of the tests.
    pub user: u32,
    pub umask: &'c str,
    /// What root does in it first, such as mounts.
    pub prepare: String,
}

impl Container<'_> {
    /// The command that runs a shell script in it, at the place of the repository; `None` if the kernel refuses.
    pub fn command(&self, repo: &Repo<'_>, script: &str) -> Option<Command> {
        let options = unshare()?;
        let place = repo.place.path();
        let (bin, home) = (place.join("bin"), place.join(format!("home-{}", self.user)));
        for folder in [&bin, &home] {
            fs::create_dir_all(folder).expect("a folder");
        }
        let program = bin.join("git-empirica");
        if !program.exists() {
            fs::write(&program, "").expect("a file");
        }
        let mut command = place_command(repo, "unshare");
        let mut become_user = String::new();
        if self.user != 0 {
            set_mode(&place, 0o755);
            std::os::unix::fs::chown(&home, Some(self.user), Some(GROUP)).expect("root may");
            become_user = format!("setpriv --reuid {0} --regid {GROUP} --clear-groups --", self.user);
            command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "safe.directory");
            command.env("GIT_CONFIG_VALUE_0", "*");
        }
        // the build may be in a folder that is nobody else's
        let built = env!("CARGO_BIN_EXE_git-empirica");
        let bind = format!("mount --bind '{built}' '{}'", program.display());
        let prepare = if self.prepare.is_empty() { ":" } else { &self.prepare };
        let outer = format!(
            "hostname {} && {bind} && {prepare} && umask {} && exec {become_user} sh -c \"$0\"",
            self.host, self.umask
        );
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(bin).chain(std::env::split_paths(&paths));
        command.env("PATH", std::env::join_paths(paths).expect("a path")).env("HOME", home);
        command.args(options).args(["sh", "-c", &outer, script]).stdout(Stdio::piped()).stderr(Stdio::piped());
        Some(command)
    }

    /// Runs a shell script in it; `None` if the kernel refuses.
    pub fn run(&self, repo: &Repo<'_>, script: &str) -> Option<RunOutput> {
        Some(RunOutput::new(self.command(repo, script)?.output().expect("unshare starts")))
    }
}

fn place_command(repo: &Repo<'_>, program: &str) -> Command {
    repo.place.command(program, &repo.path)
}

pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
}

/// Every file and folder below a folder.
pub fn below(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        out.push(entry.path());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            out.extend(below(&entry.path()));
        }
    }
    out
}

/// A repository that the users of [`GROUP`] share.
pub fn shared<'p>(place: &'p Sandbox, name: &str, format: Format) -> Repo<'p> {
    let repo = repo_of(place, name, format);
    let options = format.options();
    repo.git(["init", "-q", "--shared=group"].into_iter().chain(options.iter().map(String::as_str))).ok();
    for path in std::iter::once(repo.path.clone()).chain(below(&repo.path)) {
        std::os::unix::fs::chown(&path, None, Some(GROUP)).expect("root may");
        // chown clears the bit that makes new files the group's
        let is_object = path.starts_with(repo.path.join(".git/objects"));
        set_mode(
            &path,
            if path.is_dir() {
                0o2775
            } else if is_object {
                0o444
            } else {
                0o664
            },
        );
    }
    repo
}
