//! What the process was given: environment, working folder, clock. Everything else is told, and asks nobody.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SubsecRound, Utc};

/// The variables this program looks at; nothing else of the environment is read.
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

/// The agents that set a variable for what they run, with these variables. An agent is often started from the shell of Claude Code
/// or Cursor, so these come last.
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
    /// The folder the command was started in, absolute.
    pub cwd: PathBuf,
    /// The path of the running program, for commands that name or call it.
    pub program: PathBuf,
}

impl Env {
    /// An environment made from a lookup, the working folder and the program's own path.
    pub fn new(lookup: impl Fn(&str) -> Option<String>, cwd: PathBuf, program: PathBuf) -> Self {
        let variables =
            VARIABLES.iter().filter_map(|&name| lookup(name).filter(|v| !v.is_empty()).map(|v| (name, v))).collect();
        Env { variables, cwd, program }
    }

    /// The value of a variable; `None` when it is unset or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The agent that runs the command, by the variables it sets; `None` without any.
    pub fn agent(&self) -> Option<&'static str> {
        let is_set = |names: &[&str]| names.iter().any(|name| self.get(name).is_some());
        AGENTS.iter().find(|(_, names)| is_set(names)).map(|(agent, _)| *agent)
    }

    /// The program of that name that a shell would find, in the absolute folders of `PATH`.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let folders = std::env::split_paths(self.get("PATH").unwrap_or_default()).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(name)).find(|file| is_executable(file))
    }

    /// The same without a variable.
    pub fn without(&self, name: &str) -> Self {
        let mut out = self.clone();
        out.variables.remove(name);
        out
    }

    /// The time now, UTC, to the millisecond. `EMPIRICA_NOW` (RFC 3339) fixes it, for runs that must repeat.
    pub fn now(&self) -> DateTime<Utc> {
        self.get("EMPIRICA_NOW")
            .and_then(|text| DateTime::parse_from_rfc3339(text).ok())
            .map(|time| time.with_timezone(&Utc))
            .unwrap_or_else(Utc::now)
            .trunc_subsecs(3)
    }

    /// An XDG base folder: the variable when it is an absolute path, else `fallback` below the home folder.
    /// `None` without a home folder.
    pub fn xdg(&self, variable: &str, fallback: &str) -> Option<PathBuf> {
        let given = self.get(variable).map(Path::new).filter(|path| path.is_absolute());
        match given {
            Some(path) => Some(path.to_owned()),
            None => self.get("HOME").map(|home| Path::new(home).join(fallback)),
        }
    }
}

/// Whether a file can be executed by someone.
pub fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
