//! The demonstration: runs the main workflow in a temporary repository.

pub mod view;

use std::path::{Path, PathBuf};
use std::process::Command;

use schemars::JsonSchema;
use serde::Serialize;

use empirica_notes::env::Env;
use empirica_notes::error::quote;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::process::git;
use empirica_transcripts::model::Agent;

/// A step of the demonstration.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DemoStep")]
pub struct DemoStep {
    /// The event.
    pub title: String,
    /// The command.
    pub command: String,
    /// Its output.
    pub output: String,
}

/// The main workflow, run in a temporary repository.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DemoOutcome {
    /// The steps.
    pub steps: Vec<DemoStep>,
}

/// A folder removed on drop.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Simulates two agents: the first works and hands off, a reviewer reads the handoff in `git log`, the second resumes
/// in a clone.
pub fn run(env: &Env) -> Result<DemoOutcome> {
    let unusable = |error: std::io::Error| {
        Error::refused("cannot write to the temporary folder")
            .suggest("Set TMPDIR to a writable folder.")
            .command(format!("TMPDIR=/var/tmp {}", empirica("demo")))
            .caused_by(error)
    };
    let base = env.get("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let scratch = Scratch(base.join(format!("git-empirica-demo-{}", empirica_notes::store::unique())));
    let (work, clone) = (scratch.0.join("project"), scratch.0.join("clone"));
    std::fs::create_dir_all(&work).map_err(unusable)?;
    let mut demo = Demo { env, home: scratch.0.clone(), steps: Vec::new() };
    demo.git(&work, &["init", "-q", "-b", "main"])?;
    demo.git(&work, &["config", "user.name", "ada"])?;
    demo.git(&work, &["config", "user.email", "ada@example.com"])?;
    std::fs::write(work.join("login.py"), "def login(user):\n    return session(user)\n").map_err(unusable)?;
    demo.git(&work, &["add", "."])?;
    demo.git(&work, &["commit", "-qm", "Add login"])?;

    demo.show_own("One command sets the repository up.", &work, &["init"])?;
    let learned = "The session token is cached for 60 s, so a second login in the same minute fails";
    let failed = ["deadend", "Retrying the login", "--why", "the cache returns the same stale token"];
    let chosen = ["decision", "Key the cache by user and nonce", "--why", "tokens stay unique"];
    demo.show_own("An agent logs what it learns; that begins its session …", &work, &["finding", learned])?;
    demo.show_own("… what did not work, and why …", &work, &failed)?;
    let alternative = ["--alternative", "drop the cache: 40 ms slower per request"];
    demo.show_own("… what it decided, and instead of what …", &work, &[&chosen[..], &alternative].concat())?;
    demo.show_own("… what is still open …", &work, &["unknown", "Does the mobile client reuse nonces?"])?;
    let checked = ["evidence", "pytest tests/test_login.py", "--exit", "0", "--file", "login.py"];
    demo.show_own("… and what proves the work.", &work, &checked)?;
    std::fs::write(work.join("login.py"), "def login(user, nonce):\n    return session(user, nonce)\n")
        .map_err(unusable)?;
    demo.git(&work, &["commit", "-qam", "Key the token cache by user and nonce"])?;
    let handoff = ["handoff", "--task", "Fix the flaky login test", "--next", "Ask the mobile team about nonces"];
    demo.show_own("It hands over.", &work, &handoff)?;
    demo.show_git("A reviewer reads it in plain git log.", &work, &["log", "-1"])?;
    demo.git(&scratch.0, &["clone", "-q", "project", "clone"])?;
    demo.show_own("A teammate's clone gets the notes …", &clone, &["init"])?;
    demo.show_own("… and the next agent resumes there.", &clone, &["resume"])?;
    Ok(DemoOutcome { steps: demo.steps })
}

struct Demo<'a> {
    env: &'a Env,
    home: PathBuf,
    steps: Vec<DemoStep>,
}

impl Demo<'_> {
    /// A command isolated from the user's repository, configuration and session.
    fn prepared(&self, folder: &Path, program: &Path) -> Command {
        let mut command = if program == Path::new("git") { git(folder) } else { Command::new(program) };
        command
            .current_dir(folder)
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("XDG_STATE_HOME", self.home.join("state")).env("GIT_PAGER", "cat").env("NO_COLOR", "1");
        let own = ["EMPIRICA_SESSION", "EMPIRICA_AI", "EMPIRICA_NOW"];
        let of_git = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_GLOBAL"];
        let of_agents = Agent::ALL.iter().flat_map(|agent| agent.variables());
        own.iter().chain(&of_git).chain(of_agents).for_each(|name| {
            command.env_remove(name);
        });
        command
    }

    fn run(&self, folder: &Path, program: &Path, arguments: &[&str]) -> Result<String> {
        let out = self.prepared(folder, program).args(arguments).output().map_err(|error| {
            let out = Error::refused(format!("cannot start {}", program.display()));
            match program.is_absolute() {
                true => out.on_path(program, error),
                false => empirica_notes::git::process::not_started(error),
            }
        })?;
        if out.status.success() {
            return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
        }
        let command = format!("{} {}", program.display(), arguments.join(" "));
        Err(Error::refused(format!("cannot run a step of the demonstration: {command}"))
            .reason(String::from_utf8_lossy(&out.stderr).trim().to_owned()))
    }

    fn git(&self, folder: &Path, arguments: &[&str]) -> Result<()> {
        self.run(folder, Path::new("git"), arguments).map(|_| ())
    }

    fn step(&mut self, title: &str, name: &str, arguments: &[&str], output: String) {
        let words: Vec<String> = arguments.iter().map(|word| quote(word)).collect();
        self.steps.push(DemoStep { title: title.to_owned(), command: format!("{name} {}", words.join(" ")), output });
    }

    fn show_own(&mut self, title: &str, folder: &Path, arguments: &[&str]) -> Result<()> {
        let output = self.run(folder, &self.env.program, arguments)?;
        self.step(title, "git empirica", arguments, output);
        Ok(())
    }

    fn show_git(&mut self, title: &str, folder: &Path, arguments: &[&str]) -> Result<()> {
        let output = self.run(folder, Path::new("git"), arguments)?;
        self.step(title, "git", arguments, output);
        Ok(())
    }
}
