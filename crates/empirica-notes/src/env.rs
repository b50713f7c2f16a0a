//! The process's environment, working folder and clock, as read by `main.rs`. `now` gives the times of records; elsewhere the clock
//! serves only deadlines, ages of locks and files, and relative dates.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SubsecRound, Utc};
use empirica_transcripts::model::Agent;

/// The environment a command runs in.
#[derive(Debug, Clone)]
pub struct Env {
    variables: HashMap<String, String>,
    /// The working folder at start, absolute.
    pub cwd: PathBuf,
    /// The path of the running executable, for commands that name or call it.
    pub program: PathBuf,
}

impl Env {
    /// The environment with these variables; drops empty ones.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>, cwd: PathBuf, program: PathBuf) -> Self {
        Env { variables: variables.into_iter().filter(|(_, value)| !value.is_empty()).collect(), cwd, program }
    }

    /// The value of a variable; `None` if it is unset or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The agent running the command, by the variables it sets; `None` if none is set.
    pub fn agent(&self) -> Option<Agent> {
        Agent::running(|name| self.get(name).is_some())
    }

    /// The own id of the session of an agent that runs the command, by its variables; `None` if none is set.
    pub fn agent_session(&self, agent: Agent) -> Option<&str> {
        agent.session_variables().iter().find_map(|name| self.get(name))
    }

    /// The executable that a shell would find in the absolute folders of `PATH`.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let folders = std::env::split_paths(self.get("PATH").unwrap_or_default()).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(name)).find(|file| is_executable(file))
    }

    /// A copy with one variable set.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut out = self.clone();
        out.variables.insert(name.to_owned(), value.to_owned());
        out
    }

    /// A copy with one variable unset.
    pub fn without(&self, name: &str) -> Self {
        let mut out = self.clone();
        out.variables.remove(name);
        out
    }

    /// The current time, UTC, to the millisecond; `EMPIRICA_NOW` (RFC 3339) overrides it, for reproducible runs.
    pub fn now(&self) -> DateTime<Utc> {
        self.get("EMPIRICA_NOW")
            .and_then(|text| DateTime::parse_from_rfc3339(text).ok())
            .map(|time| time.with_timezone(&Utc))
            .unwrap_or_else(Utc::now)
            .trunc_subsecs(3)
    }

    /// An XDG base folder: the variable if it holds an absolute path, else `fallback` below the home folder. `None`
    /// without a home folder.
    pub fn xdg(&self, variable: &str, fallback: &str) -> Option<PathBuf> {
        let folder = self.get(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        folder.or_else(|| Some(Path::new(self.get("HOME")?).join(fallback)))
    }
}

/// Whether this is a file with any execute bit set.
pub fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
