//! Checks of the agents: whether the user gave each the trust without which it does not run the project's hooks.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::context::CommandContext;
use crate::use_cases::setup::agents::edit::FileFormat;
use crate::use_cases::setup::agents::entries::{self, AgentEntry, EventKind, HookFile, SERVER};
use crate::use_cases::setup::agents::has_hook;
use crate::use_cases::setup::doctor::check::DoctorCheck;
use empirica_notes::env::Env;
use empirica_transcripts::model::Agent;

/// What an agent does with the project's hooks, by its own files.
enum Trust {
    Given,
    /// The hooks do not run until the user does this.
    Missing(&'static str),
    /// The same of the MCP server; the hooks run.
    MissingForServer(&'static str),
}

const ASKED: &str = "trust the folder when it asks";

/// A check for each agent that is installed and has our hooks in the work tree; none for one whose files are
/// unreadable, or say that the user refused.
pub fn checks(context: &CommandContext<'_>) -> Vec<DoctorCheck> {
    let (env, Some(top)) = (context.env, context.repo.work_tree()) else { return Vec::new() };
    // a linked worktree has the trust of the main one
    let main = context.repo.common_dir().parent().map(Path::to_owned);
    let tops: Vec<PathBuf> = [top.clone()].into_iter().chain(main.filter(|main| *main != top)).collect();
    let check = |agent: Agent| {
        let AgentEntry { program, hooks, dialect, .. } = entries::entry(agent);
        let hooks = hooks.filter(|_| env.find_program(program).is_some())?;
        dialect.events.iter().find(|(event, _)| has_hook(context.repo, &top, agent, event))?;
        let (name, file) = (agent.name(), hooks.path);
        Some(match trust(agent, env, &tops, &hooks)? {
            Trust::Given if hooks.at_start => DoctorCheck::right(
                "agents",
                format!("{name} runs the hooks of {file}, if started at the top of the work tree"),
            ),
            Trust::Given => DoctorCheck::right("agents", format!("{name} runs the hooks of {file}")),
            Trust::Missing(what) => {
                DoctorCheck::right("agents", format!("{name} does not run the hooks of {file}: {what}"))
                    .command(program)
            }
            Trust::MissingForServer(what) => {
                DoctorCheck::right("agents", format!("{name} does not start the server of .mcp.json: {what}"))
                    .command(program)
            }
        })
    };
    Agent::ALL.into_iter().filter_map(check).collect()
}

fn trust(agent: Agent, env: &Env, tops: &[PathBuf], hooks: &HookFile) -> Option<Trust> {
    match agent {
        Agent::ClaudeCode => claude(env, tops),
        Agent::Codex => codex(env, tops, hooks),
        Agent::Gemini => gemini(env, tops),
        Agent::Copilot => copilot(env, tops),
        // where Cursor keeps it is unknown; OpenCode asks for none
        Agent::Cursor | Agent::OpenCode => None,
    }
}

/// A file of an agent, empty if it is missing; `None` if it cannot be read.
fn read(path: &Path) -> Option<Value> {
    match std::fs::read_to_string(path) {
        Ok(text) => FileFormat::of(&path.to_string_lossy()).read(&text).ok(),
        Err(error) if error.kind() == ErrorKind::NotFound => Some(Value::Object(Map::new())),
        Err(_) => None,
    }
}

/// A folder of an agent: that of its variable, else one in the home folder.
fn folder(env: &Env, variable: &str, name: &str) -> Option<PathBuf> {
    env.get(variable).map(PathBuf::from).or_else(|| Some(Path::new(env.get("HOME")?).join(name)))
}

/// The folders and those above them, as agents write them.
fn above(tops: &[PathBuf]) -> impl Iterator<Item = String> {
    tops.iter().flat_map(|top| top.ancestors()).map(|path| path.to_string_lossy().into_owned())
}

/// The texts in a list; none if the key is missing, `None` if the value has another form.
fn texts<'v>(value: &'v Value, key: &str) -> Option<Vec<&'v str>> {
    value.get(key).map_or(Some(Vec::new()), |list| list.as_array()?.iter().map(Value::as_str).collect())
}

/// The same of an object.
fn object(value: &Value, key: &str) -> Option<Map<String, Value>> {
    value.get(key).map_or(Some(Map::new()), |value| value.as_object().cloned())
}

fn claude(env: &Env, tops: &[PathBuf]) -> Option<Trust> {
    let state = folder(env, "CLAUDE_CONFIG_DIR", "")?.join(".claude.json");
    let projects = object(&read(&state)?, "projects")?;
    let is_trusted = |path: String| projects.get(&path).is_some_and(|it| it["hasTrustDialogAccepted"] == true);
    if !above(tops).any(is_trusted) {
        return Some(Trust::Missing(ASKED));
    }
    let own = folder(env, "CLAUDE_CONFIG_DIR", ".claude")?.join("settings.json");
    let shared =
        tops.iter().flat_map(|top| [".claude/settings.json", ".claude/settings.local.json"].map(|name| top.join(name)));
    let settings: Option<Vec<Value>> = [own].into_iter().chain(shared).map(|path| read(&path)).collect();
    let of_projects = tops.iter().filter_map(|top| projects.get(&*top.to_string_lossy()).cloned());
    for settings in settings?.into_iter().chain(of_projects) {
        let decided =
            [texts(&settings, "enabledMcpjsonServers")?, texts(&settings, "disabledMcpjsonServers")?].concat();
        if settings["enableAllProjectMcpServers"] == true || decided.contains(&SERVER) {
            return Some(Trust::Given);
        }
    }
    Some(Trust::MissingForServer("allow it when it asks"))
}

fn codex(env: &Env, tops: &[PathBuf], hooks: &HookFile) -> Option<Trust> {
    let config = read(&folder(env, "CODEX_HOME", ".codex")?.join("config.toml"))?;
    let projects = object(&config, "projects")?;
    let level = tops.iter().find_map(|top| projects.get(&*top.to_string_lossy())?.get("trust_level"));
    match level.map(Value::as_str) {
        Some(Some("trusted")) => {}
        None => return Some(Trust::Missing(ASKED)),
        Some(_) => return None,
    }
    let state = object(config.get("hooks").unwrap_or(&Value::Null), "state")?;
    let is_reviewed = |event: &str| {
        let keys = tops.iter().map(|top| format!("{}:{}:", top.join(hooks.path).display(), snake(event)));
        keys.into_iter().any(|key| state.keys().any(|reviewed| reviewed.starts_with(&key)))
    };
    let events = entries::entry(Agent::Codex).dialect.events;
    let mut run = events.iter().filter(|(_, kind): &&(&str, EventKind)| hooks.seconds(*kind).is_some());
    Some(if run.all(|(event, _)| is_reviewed(event)) {
        Trust::Given
    } else {
        Trust::Missing("review them with /hooks")
    })
}

/// `SessionStart` as `session_start`.
fn snake(event: &str) -> String {
    let mut out = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

fn gemini(env: &Env, tops: &[PathBuf]) -> Option<Trust> {
    let own = folder(env, "GEMINI_CLI_HOME", "")?.join(".gemini");
    let settings = read(&own.join("settings.json"))?;
    if settings.pointer("/security/folderTrust/enabled") == Some(&Value::Bool(false)) {
        return Some(Trust::Given);
    }
    let file = env.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH").map_or(own.join("trustedFolders.json"), PathBuf::from);
    let rules = read(&file)?;
    let rules = rules.as_object()?;
    // the rule of the nearest folder; that of a parent is written for one of its folders
    let covers = |path: &Path| {
        rules.iter().find_map(|(rule, level)| match level.as_str() {
            Some("TRUST_PARENT") => (Path::new(rule).parent() == Some(path)).then_some(true),
            level => (Path::new(rule) == path).then_some(level == Some("TRUST_FOLDER")),
        })
    };
    match tops[0].ancestors().find_map(covers) {
        Some(true) => Some(Trust::Given),
        Some(false) => None,
        None => Some(Trust::Missing(ASKED)),
    }
}

fn copilot(env: &Env, tops: &[PathBuf]) -> Option<Trust> {
    let config = read(&folder(env, "COPILOT_HOME", ".copilot")?.join("config.json"))?;
    let trusted = [texts(&config, "trustedFolders")?, texts(&config, "trusted_folders")?].concat();
    let is_trusted = above(tops).any(|path| trusted.contains(&path.as_str()));
    Some(if is_trusted { Trust::Given } else { Trust::Missing(ASKED) })
}
