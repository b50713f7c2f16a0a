//! An hour of simulated work of many agents in several clones at once, some killed in the middle.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::repository::surroundings::id;
use crate::support::harness::{Repo, RunOutput, Sandbox, is_long};
use crate::sync::load::remotes::stored;
use crate::sync::sync_pushes::hooked;
use crate::sync::team::{REFS, hub, trees};

/// What another git that writes the same refs at the same moment makes git say; it does so without the program, too.
const RACES: [&str; 5] = [
    "cannot lock ref",
    "incorrect old value",
    "failed to update ref",
    "[rejected]",
    "some local refs could not be updated",
];

/// An agent in a worktree of its own; several share a clone.
struct Agent<'p> {
    repo: Repo<'p>,
    name: String,
    session: String,
    branch: String,
    number: usize,
    /// Seconds since the beginning.
    now: usize,
    /// What was acknowledged.
    ids: Vec<String>,
}

impl Agent<'_> {
    /// A command at the simulated time.
    fn at_its_time(&self, mut command: Command) -> Command {
        let time = format!("2026-03-01T{:02}:{:02}:{:02}", 12 + self.now / 3600, self.now / 60 % 60, self.now % 60);
        command.env("EMPIRICA_NOW", format!("{time}.000Z"));
        command.env("GIT_AUTHOR_DATE", format!("{time}Z")).env("GIT_COMMITTER_DATE", format!("{time}Z"));
        command
    }

    fn git<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> RunOutput {
        let command = self.at_its_time(self.repo.place.command("git", &self.repo.path)).args(arguments).output();
        RunOutput::new(command.expect("git starts"))
    }

    /// Runs git again while others write the same refs.
    fn git_at_last(&self, arguments: &[&str]) -> RunOutput {
        let mut ran = self.git(arguments);
        for _ in 0..20 {
            if ran.code == 0 || !RACES.iter().any(|race| ran.err.contains(race)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
            ran = self.git(arguments);
        }
        ran
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = self.at_its_time(self.repo.program());
        command.args(arguments).args(["--session", &self.session, "--json"]);
        command
    }

    /// Logs something, which must be acknowledged.
    fn log(&mut self, arguments: &[&str]) {
        let ran = RunOutput::new(self.program(arguments).output().expect("it starts")).ok();
        self.ids.push(id(&ran.json()));
    }

    fn start(&mut self) {
        let mut start = self.at_its_time(self.repo.program());
        start.args(["session", "start", "--ai", &self.name, "--task", "Work", "--json"]);
        let started = RunOutput::new(start.output().expect("it starts")).ok().json();
        self.session = started["session_id"].as_str().expect("an id").to_owned();
    }

    fn commit(&self, step: usize, options: &[&str]) {
        self.repo.write(&format!("{}-{step}", self.name), "x\n");
        self.git(["add", "-A"]).ok();
        self.git(["commit", "-q", "--allow-empty", "-m", &format!("{} {step}", self.name)].iter().chain(options)).ok();
    }

    /// Pushes its branch, which must end as it does without the program.
    fn push(&self) {
        let spec = format!("+HEAD:refs/heads/{}", self.branch);
        self.git(["push", "-q", "origin", &spec]).ok();
        let there = self.git(["ls-remote", "origin", &format!("refs/heads/{}", self.branch)]).ok().out;
        assert!(there.starts_with(self.git(["rev-parse", "HEAD"]).ok().out.trim()), "{}: {there}", self.branch);
    }

    /// Kills a command after some milliseconds; with its children, by a signal that lets git clean up, if it is git's.
    fn kill(&self, mut command: Command, is_git: bool, after: usize) {
        command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = command.spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(after as u64));
        if is_git {
            let mut kill = Command::new("kill");
            kill.args(["-s", "TERM", "--", &format!("-{}", running.id())]).stderr(Stdio::null());
            kill.status().expect("it starts");
        } else {
            let _ = running.kill();
        }
        running.wait().expect("it ends");
    }

    fn step(&mut self, step: usize) {
        let text = format!("{} at {step}", self.name);
        let after = (self.number * 7 + step * 5) % 60;
        match (self.number + step * 5) % 16 {
            0 | 8 => self.log(&["finding", &text]),
            1 => self.log(&["checkpoint", "-v", "know=0.5"]),
            2 | 10 => self.log(&["handoff", "-m", &text, "--next", &text]),
            3 => self.commit(step, &[]),
            4 => self.commit(step, &["--amend"]),
            5 => {
                self.commit(step, &[]);
                self.git(["rebase", "-q", "--force-rebase", "HEAD~1"]).ok();
            }
            6 | 14 => self.push(),
            7 => drop(self.git_at_last(&["fetch", "-q", "--prune"]).ok()),
            9 => {
                // another may have pushed to main meanwhile
                self.git_at_last(&["pull", "-q", "--no-rebase", "--no-edit", "origin", "main"]).ok();
                let pushed = self.git(["push", "-q", "origin", "HEAD:main"]);
                assert!(pushed.code == 0 || RACES.iter().any(|race| pushed.err.contains(race)), "{}", pushed.err);
            }
            11 => {
                self.branch = format!("{}-{step}", self.name);
                self.git(["switch", "-q", "-c", &self.branch]).ok();
            }
            12 => self.kill(self.program(&["handoff", "-m", &text, "--next", &text]), false, after),
            13 => {
                let mut push = self.at_its_time(self.repo.place.command("git", &self.repo.path));
                push.args(["push", "-q", "origin", &format!("+HEAD:refs/heads/{}", self.branch)]);
                self.kill(push, true, after);
            }
            _ => {
                let mut sync = self.at_its_time(self.repo.program());
                sync.arg("sync");
                // the next begins where this one was killed
                if step.is_multiple_of(2) {
                    self.kill(sync, false, after);
                    self.start();
                } else {
                    drop(sync.output().expect("it starts"));
                }
            }
        }
    }
}

/// Syncs; a lock that a killed process left is removed by the command that the error names.
fn sync_at_last(repo: &Repo<'_>) {
    for _ in 0..8 {
        let ran = repo.run(["sync", "--json"]);
        if ran.code == 0 {
            return;
        }
        let failed = ran.json();
        for command in failed["recovery_commands"].as_array().expect("a list").iter().filter_map(Value::as_str) {
            if command.starts_with("rm -f ") {
                repo.place.command("sh", &repo.path).args(["-c", command]).status().expect("it starts");
            }
        }
    }
    repo.run(["sync"]).ok();
}

#[test]
fn agents_that_work_for_an_hour_in_many_clones_lose_nothing_and_no_push_fails() {
    let (clones, agents, steps) = if is_long() { (10, 50, 60) } else { (4, 10, 5) };
    let place = Sandbox::new();
    let hub = hub(&place);
    let team = hooked(&place, &hub, clones);
    let mut all: Vec<Agent<'_>> = Vec::new();
    for number in 0..agents {
        let (clone, name) = (&team[number % clones], format!("ai{number}"));
        clone.git(["worktree", "add", "-q", "-b", &name, &format!("../{name}")]).ok();
        let (session, branch) = (String::new(), name.clone());
        all.push(Agent { repo: place.at(&name), name, session, branch, number, now: number, ids: Vec::new() });
    }
    std::thread::scope(|scope| {
        for agent in &mut all {
            scope.spawn(move || {
                agent.start();
                for step in 0..steps {
                    agent.now = step * 3600 / steps + agent.number;
                    agent.step(step);
                }
                agent.log(&["finding", "the last"]);
                agent.commit(steps, &[]);
                agent.push();
            });
        }
    });
    // a lock that a killed push left there is its administrator's to remove
    let mut find = hub.place.command("find", &hub.path);
    find.args(["refs", "-name", "*.lock", "-delete"]).status().expect("it starts");
    // those that were done first have not seen the others' last
    team.iter().chain(&team).for_each(sync_at_last);
    let expected = trees(&hub);
    assert!(expected.iter().all(Option::is_some), "{expected:?} of {REFS:?}");
    let stored: BTreeSet<String> = stored(&hub).into_keys().collect();
    for agent in &all {
        let lost: Vec<&String> = agent.ids.iter().filter(|id| !stored.contains(*id)).collect();
        assert!(lost.is_empty() && !agent.ids.is_empty(), "{} lost {lost:?} of {}", agent.name, agent.ids.len());
    }
    for repo in &team {
        assert_eq!(trees(repo), expected, "{}", repo.path.display());
        repo.fsck();
    }
    hub.fsck();
}
