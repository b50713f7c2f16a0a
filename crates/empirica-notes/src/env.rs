//! The process's environment, working folder and clock. Nothing else in the workspace reads them.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SubsecRound, Utc};

/// The variables the program reads.
const VARIABLES: &[&str] = &[
    "EMPIRICA_SESSION",
    "EMPIRICA_AI",
    "EMPIRICA_NOW",
    "GIT_REFLOG_ACTION",
    "EMPIRICA_IN_HOOK",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_SSH_VARIANT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CEILING_DIRECTORIES",
    "HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "EMPIRICA_BESIDE",
    "CLAUDE_ENV_FILE",
    "CURSOR_VERSION",
    "GEMINI_SESSION_ID",
    "GEMINI_CLI",
    "COPILOT_CLI",
    "COPILOT_AGENT_SESSION_ID",
    "CLAUDECODE",
    "CODEX_THREAD_ID",
    "CODEX_SANDBOX",
    "CODEX_CI",
    "OPENCODE",
    "CURSOR_AGENT",
    "CLAUDE_PROJECT_DIR",
    "CURSOR_PROJECT_DIR",
    "GEMINI_PROJECT_DIR",
    "COPILOT_PROJECT_DIR",
    "NO_COLOR",
    "TERM",
    "COLUMNS",
    "GIT_PAGER_IN_USE",
    "TMPDIR",
    "PATH",
];

/// Agents, with the variables that each sets for its child processes. Agents are often started from the shell of Claude
/// Code or Cursor, so these two come last.
pub const AGENTS: &[(&str, &[&str])] = &[
    ("codex", &["CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_CI"]),
    ("gemini", &["GEMINI_CLI"]),
    ("opencode", &["OPENCODE"]),
    ("copilot", &["COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"]),
    ("claude-code", &["CLAUDECODE"]),
    ("cursor", &["CURSOR_AGENT"]),
];

/// The environment a command runs in.
#[derive(Debug, Clone)]
pub struct Env {
    variables: HashMap<&'static str, String>,
    /// The working folder at start, absolute.
    pub cwd: PathBuf,
    /// The path of the running executable, for commands that name or call it.
    pub program: PathBuf,
}

impl Env {
    /// Reads the variables through `lookup`; drops empty ones.
    pub fn new(lookup: impl Fn(&str) -> Option<String>, cwd: PathBuf, program: PathBuf) -> Self {
        let variables =
            VARIABLES.iter().filter_map(|&name| lookup(name).filter(|v| !v.is_empty()).map(|v| (name, v))).collect();
        Env { variables, cwd, program }
    }

    /// The value of a variable; `None` if it is unset, empty or not one the program reads.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The agent running the command, by the variables it sets; `None` if none is set.
    pub fn agent(&self) -> Option<&'static str> {
        let is_set = |names: &[&str]| names.iter().any(|name| self.get(name).is_some());
        AGENTS.iter().find(|(_, names)| is_set(names)).map(|(agent, _)| *agent)
    }

    /// The executable that a shell would find in the absolute folders of `PATH`.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let folders = std::env::split_paths(self.get("PATH").unwrap_or_default()).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(name)).find(|file| is_executable(file))
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
        let folder = self.get(variable).map(Path::new).filter(|path| path.is_absolute());
        match folder {
            Some(path) => Some(path.to_owned()),
            None => self.get("HOME").map(|home| Path::new(home).join(fallback)),
        }
    }
}

/// Whether this is a file with any execute bit set.
pub fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
