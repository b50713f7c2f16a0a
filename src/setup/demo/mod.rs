//! The demonstration: runs the main workflow in a temporary repository.

pub mod view;

use schemars::JsonSchema;
use serde::Serialize;

use std::path::{Path, PathBuf};
use std::process::Command;

use empirica_notes::env::Env;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::process::git;
use empirica_notes::git::repository::quote;
use empirica_transcripts::model::Agent;

/// A step of the demonstration.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DemoStep")]
pub struct DemoStep {
    /// What happens.
    pub title: String,
    /// The command.
    pub command: String,
    /// What it printed.
    pub output: String,
}

/// The main job, done in a throwaway repository.
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
        Error::refused("the demonstration needs a temporary folder that can be written")
            .suggest("Set TMPDIR to a folder that can be written.")
            .command(format!("TMPDIR=/var/tmp {}", empirica("demo")))
            .caused_by(error)
    };
    let base = env.get("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let scratch = Scratch(base.join(format!("git-empirica-demo-{}", empirica_notes::store::unique())));
    let (work, clone) = (scratch.0.join("project"), scratch.0.join("clone"));
    std::fs::create_dir_all(&work).map_err(unusable)?;
    let mut play = Play { env, home: scratch.0.clone(), steps: Vec::new() };
    play.quiet(&work, "git", &["init", "-q", "-b", "main"])?;
    play.quiet(&work, "git", &["config", "user.name", "ada"])?;
    play.quiet(&work, "git", &["config", "user.email", "ada@example.com"])?;
    std::fs::write(work.join("login.py"), "def login(user):\n    return session(user)\n").map_err(unusable)?;
    play.quiet(&work, "git", &["add", "."])?;
    play.quiet(&work, "git", &["commit", "-qm", "Add login"])?;

    play.ours("One command sets the repository up.", &work, &["init"])?;
    let learned = "The session token is cached for 60 s, so a second login in the same minute fails";
    let failed = ["deadend", "Retrying the login", "--why", "the cache returns the same stale token"];
    let chosen = ["decision", "Key the cache by user and nonce", "--why", "tokens stay unique"];
    play.ours("An agent logs what it learns; that begins its session …", &work, &["finding", learned])?;
    play.ours("… what did not work, and why …", &work, &failed)?;
    let alternative = ["--alternative", "drop the cache: 40 ms slower per request"];
    play.ours("… what it decided, and instead of what …", &work, &[&chosen[..], &alternative].concat())?;
    play.ours("… what is still open …", &work, &["unknown", "Does the mobile client reuse nonces?"])?;
    let checked = ["evidence", "pytest tests/test_login.py", "--exit", "0", "--file", "login.py"];
    play.ours("… and what proves the work.", &work, &checked)?;
    std::fs::write(work.join("login.py"), "def login(user, nonce):\n    return session(user, nonce)\n")
        .map_err(unusable)?;
    play.quiet(&work, "git", &["commit", "-qam", "Key the token cache by user and nonce"])?;
    let handoff = ["handoff", "--task", "Fix the flaky login test", "--next", "Ask the mobile team about nonces"];
    play.ours("It hands over.", &work, &handoff)?;
    play.git("A reviewer reads it in plain git log.", &work, &["log", "-1"])?;
    play.quiet(&scratch.0, "git", &["clone", "-q", "project", "clone"])?;
    play.ours("A teammate's clone gets the notes …", &clone, &["init"])?;
    play.ours("… and the next agent resumes there.", &clone, &["resume"])?;
    Ok(DemoOutcome { steps: play.steps })
}

struct Play<'a> {
    env: &'a Env,
    home: PathBuf,
    steps: Vec<DemoStep>,
}

impl Play<'_> {
    /// A command isolated from the user's repository, configuration and session.
    fn prepared(&self, folder: &Path, program: &Path) -> Command {
        let mut command = if program == Path::new("git") { git(folder) } else { Command::new(program) };
        command
            .current_dir(folder)
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("XDG_STATE_HOME", self.home.join("state")).env("GIT_PAGER", "cat").env("NO_COLOR", "1");
        for name in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "EMPIRICA_SESSION",
            "EMPIRICA_AI",
            "EMPIRICA_NOW",
            "GIT_CONFIG_GLOBAL",
        ]
        .iter()
        .chain(Agent::ALL.iter().flat_map(|agent| agent.variables()))
        {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, folder: &Path, program: &Path, arguments: &[&str]) -> Result<String> {
        let mut command = self.prepared(folder, program);
        let out = command.args(arguments).output().map_err(|error| {
            let out = Error::refused(format!("cannot start {}", program.display()));
            match program.is_absolute() {
                true => out.on_path(program, error),
                false => empirica_notes::git::process::not_started(error),
            }
        })?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        if out.status.success() {
            return Ok(text);
        }
        Err(Error::refused(format!(
            "a step of the demonstration failed: {} {}",
            program.display(),
            arguments.join(" ")
        ))
        .reason(String::from_utf8_lossy(&out.stderr).trim().to_owned()))
    }

    fn quiet(&self, folder: &Path, program: &str, arguments: &[&str]) -> Result<()> {
        self.run(folder, Path::new(program), arguments).map(|_| ())
    }

    fn step(&mut self, title: &str, shown: &str, arguments: &[&str], output: String) {
        let words: Vec<String> = arguments.iter().map(|word| quote(word)).collect();
        self.steps.push(DemoStep { title: title.to_owned(), command: format!("{shown} {}", words.join(" ")), output });
    }

    fn ours(&mut self, title: &str, folder: &Path, arguments: &[&str]) -> Result<()> {
        let output = self.run(folder, &self.env.program.clone(), arguments)?;
        self.step(title, "git empirica", arguments, output);
        Ok(())
    }

    fn git(&mut self, title: &str, folder: &Path, arguments: &[&str]) -> Result<()> {
        let output = self.run(folder, Path::new("git"), arguments)?;
        self.step(title, "git", arguments, output);
        Ok(())
    }
}
