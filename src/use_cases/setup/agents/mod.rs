//! The entries that agents need in their files to run our hooks and start our MCP server.

pub mod edit;
pub mod entries;
pub mod files;
pub mod instructions;
pub mod marked;
pub mod readers;
pub mod view;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::use_cases::setup::agents::edit::spot::EntryPath;
use crate::use_cases::setup::agents::edit::{AddedEntry, FileFormat, MARK};
use crate::use_cases::setup::agents::entries::{AgentEntry, Dialect, EventKind, HookFile, Plugin, SERVER, Server};
use crate::use_cases::setup::agents::files::{EditableWorkTree, LocatedFile, faulty};
use crate::use_cases::setup::git_hooks::scripts::shell_path;
use crate::use_cases::setup::record::{EditedFile, Insertion, SetupRecord, hash};
use crate::use_cases::setup::steps::{SetupStep, SetupWarning};
use empirica_notes::env::Env;
use empirica_notes::error::{Result, empirica};
use empirica_notes::git::Repository;
use empirica_transcripts::model::Agent;

/// First bytes of every file entirely ours.
const OURS: &str = "// git-empirica: ";

#[derive(Debug, Default)]
pub struct AgentPlan {
    pub steps: Vec<SetupStep>,
    pub warnings: Vec<SetupWarning>,
}

struct FileDraft {
    located: LocatedFile,
    /// Its present or initial text.
    was: String,
    now: String,
    entries: Vec<AddedEntry>,
}

impl FileDraft {
    fn form(&self) -> FileFormat {
        FileFormat::of(&self.located.name.to_string_lossy())
    }

    fn read(&self) -> Result<Value> {
        self.form().read(&self.now).map_err(|fault| faulty(&self.located.path, &fault))
    }

    fn put(&mut self, spot: &EntryPath, value: &Value) -> Result<()> {
        let put = self.form().put(&self.now, spot, value);
        let (now, entry) = put.map_err(|fault| faulty(&self.located.path, &fault))?;
        self.now = now;
        self.entries.push(entry);
        Ok(())
    }
}

struct Planning<'a> {
    site: &'a EditableWorkTree,
    all_tools: bool,
    drafts: Vec<FileDraft>,
    plan: AgentPlan,
}

/// The agents used here, judging by worktree files and installed programs. None without a worktree.
pub fn used(env: &Env, repo: &Repository) -> Vec<Agent> {
    let Some(top) = repo.work_tree() else { return Vec::new() };
    let is_used = |agent: &Agent| {
        let AgentEntry { program, traces, .. } = entries::entry(*agent);
        traces.iter().any(|name| top.join(name).exists()) || env.find_program(program).is_some()
    };
    Agent::ALL.into_iter().filter(is_used).collect()
}

/// Plans the hooks and the MCP server of `agents`, and adds them to the record; with `all_tools`, the server lists
/// all tools. Everything is read before anything is written: an unreadable file is an error.
pub fn plan(repo: &Repository, agents: &[Agent], all_tools: bool, record: &mut SetupRecord) -> Result<AgentPlan> {
    if agents.is_empty() {
        return Ok(AgentPlan::default());
    }
    let site = EditableWorkTree::new(repo)?;
    let mut planning = Planning { site: &site, all_tools, drafts: Vec::new(), plan: AgentPlan::default() };
    let mut plugins = Vec::new();
    for agent in agents {
        let entry = entries::entry(*agent);
        if let Some(hooks) = &entry.hooks {
            planning.hooks(*agent, hooks, &entry.dialect)?;
        }
        plugins.extend(entry.plugin.map(|plugin| (*agent, plugin)));
        planning.server(&entry.server)?;
    }
    for (agent, plugin) in plugins {
        planning.plugin(agent, &plugin, record)?;
    }
    let Planning { drafts, mut plan, .. } = planning;
    for draft in drafts.into_iter().filter(|draft| !draft.entries.is_empty()) {
        let began = draft.located.inode.is_none().then_some(draft.was);
        note(record, &site, &draft.located, Insertion::Entries { entries: draft.entries, began });
        plan.steps.extend(site.write(&draft.located, draft.now));
    }
    let mut folders = BTreeSet::new();
    plan.steps.retain(|step| !matches!(step, SetupStep::MakeFolder(path) if !folders.insert(path.clone())));
    Ok(plan)
}

impl Planning<'_> {
    /// The draft of a file; a missing file starts as `began`.
    fn draft(&mut self, file: &str, began: impl FnOnce() -> String) -> Result<&mut FileDraft> {
        let located = self.site.locate(file)?;
        let at = match self.drafts.iter().position(|draft| draft.located.path == located.path) {
            Some(at) => at,
            None => {
                let was = self.site.read(&located)?.unwrap_or_else(began);
                self.drafts.push(FileDraft { located, now: was.clone(), was, entries: Vec::new() });
                self.drafts.len() - 1
            }
        };
        Ok(&mut self.drafts[at])
    }

    fn hooks(&mut self, agent: Agent, hooks: &HookFile, dialect: &Dialect) -> Result<()> {
        let initial = if hooks.versioned { json!({"version": 1}) } else { json!({}) };
        let draft = self.draft(hooks.path, || pretty(&initial))?;
        if hooks.versioned && draft.read()?.get("version").is_none() {
            draft.put(&EntryPath::key(&["version"]), &json!(1))?;
        }
        for (event, kind) in dialect.events {
            let command = entries::command(agent, event);
            let Some(value) = hook(hooks, *kind, &command) else { continue };
            let spot = EntryPath::list(&["hooks", event]);
            let document = draft.read()?;
            let mut lines = Vec::new();
            texts(document.get("hooks").and_then(|hooks| hooks.get(*event)).unwrap_or(&Value::Null), &mut lines);
            let ours = format!("{MARK}{} ", agent.name());
            lines.retain(|line| line.contains(&ours));
            if lines.is_empty() {
                draft.put(&spot, &value)?;
            }
            for was in lines.iter().filter(|was| **was != command && edit::is_our_line(was)) {
                if let Some((now, entry)) = edit::reword(&draft.now, &spot, was, &command) {
                    draft.now = now;
                    draft.entries.push(entry);
                }
            }
        }
        Ok(())
    }

    fn server(&mut self, server: &Server) -> Result<()> {
        let (path, mut existing) = ([server.key, SERVER], None);
        let (spot, all_tools) = (EntryPath::key(&path), self.all_tools);
        for name in server.files {
            if self.site.locate(name)?.inode.is_none()
                && self.drafts.iter().all(|d| d.located.name != PathBuf::from(name))
            {
                continue;
            }
            let draft = self.draft(name, String::new)?;
            let document = draft.read()?;
            let entered = path.iter().try_fold(&document, |value, key| value.get(*key));
            if let Some(entered) = entered {
                let mut words = Vec::new();
                texts(entered, &mut words);
                let why = match edit::list_all_tools(&draft.now, &spot) {
                    _ if !runs_us(entered) => "runs another command",
                    _ if !all_tools || !words.contains(&"core") => return Ok(()),
                    Some((now, entry)) => {
                        draft.now = now;
                        draft.entries.push(entry);
                        return Ok(());
                    }
                    None => "lists the core tools in another form",
                };
                let what = format!("the MCP server {SERVER} of {} {why}; it is kept", draft.located.path.display());
                self.plan.warnings.push(SetupWarning::new(what));
                return Ok(());
            }
            existing = existing.or(Some(*name));
        }
        let name = existing.or(server.files.first().copied()).unwrap_or_default();
        let initial = match server.schema {
            _ if FileFormat::of(name) == FileFormat::Toml => None,
            Some(schema) => Some(json!({"$schema": schema})),
            None => Some(json!({})),
        };
        let arguments = entries::server_arguments(all_tools);
        let value = if server.joined {
            let command: Vec<&str> = ["git-empirica"].into_iter().chain(arguments).collect();
            json!({"type": "local", "command": command, "enabled": true})
        } else {
            json!({"command": "git-empirica", "args": arguments})
        };
        let draft = self.draft(name, || initial.as_ref().map(pretty).unwrap_or_default())?;
        draft.put(&spot, &value)
    }

    fn plugin(&mut self, agent: Agent, plugin: &Plugin, record: &mut SetupRecord) -> Result<()> {
        let located = self.site.locate(plugin.file)?;
        let now = self.site.read(&located)?;
        let whole = |former| Insertion::Whole { hash: hash(plugin.content.as_bytes()), former };
        let edited = EditedFile::at(self.site, &located, whole(None));
        let written = record.files.iter().find(|recorded| recorded.same_place(&edited)).and_then(|recorded| {
            match &recorded.put {
                Insertion::Whole { hash, former } => Some((hash, former)),
                _ => None,
            }
        });
        let former = match (&now, written) {
            (Some(now), _) if now == plugin.content => return Ok(()),
            (None, _) => None,
            (Some(now), Some((written, former))) if hash(now.as_bytes()) == *written => former.clone(),
            // written by another version of the program
            (Some(now), None) if now.starts_with(OURS) => Some(now.clone()),
            (Some(now), _) => {
                let why = if now.starts_with(OURS) { "is ours and was edited by hand" } else { "is not ours" };
                let (path, init) = (shell_path(&located.path), empirica("init").option("--agents", agent.name()));
                let warning = SetupWarning::new(format!("{} {why}; it is kept", located.path.display()));
                self.plan.warnings.push(warning.command(format!("mv {path} {path}.old && {init}")));
                return Ok(());
            }
        };
        note(record, self.site, &located, whole(former));
        self.plan.steps.extend(self.site.write(&located, plugin.content.to_owned()));
        Ok(())
    }
}

/// Whether an agent that is started in `folder` reads our hook of an event in a file of the project.
pub fn has_hook(repo: &Repository, folder: &Path, agent: Agent, event: &str) -> bool {
    let (Some(top), Some(hooks)) = (repo.work_tree(), entries::entry(agent).hooks) else { return false };
    let text = std::fs::read_to_string(if hooks.at_start { folder } else { &top }.join(hooks.path));
    text.is_ok_and(|text| text.contains(&format!("{MARK}{} {event} ", agent.name())))
}

/// A hook in an agent's format; `None` for events that need none.
pub fn hook(hooks: &HookFile, kind: EventKind, command: &str) -> Option<Value> {
    let seconds = hooks.seconds(kind)?;
    let mut hook = Map::new();
    if hooks.typed {
        hook.insert("type".to_owned(), json!("command"));
    }
    hook.insert(hooks.command.to_owned(), json!(command));
    hook.insert(hooks.timeout.to_owned(), json!(seconds * hooks.second));
    Some(match (hooks.grouped, hooks.matcher.filter(|_| kind == EventKind::ToolEnded)) {
        (true, Some(matcher)) => json!({"matcher": matcher, "hooks": [hook]}),
        (true, None) => json!({"hooks": [hook]}),
        _ => Value::Object(hook),
    })
}

/// The text of a new file.
fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Adds all strings in a value, nested ones too.
fn texts<'v>(value: &'v Value, out: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => out.push(text),
        Value::Array(list) => list.iter().for_each(|value| texts(value, out)),
        Value::Object(map) => map.values().for_each(|value| texts(value, out)),
        _ => {}
    }
}

/// Whether an MCP server runs this program, wherever it is installed.
fn runs_us(server: &Value) -> bool {
    let command = match server.get("command") {
        Some(Value::Array(words)) => words.first().and_then(Value::as_str),
        Some(command) => command.as_str(),
        None => None,
    };
    command.is_some_and(|command| command.rsplit('/').next() == Some("git-empirica"))
}

/// Records an addition to a file, merged with earlier ones.
fn note(record: &mut SetupRecord, site: &EditableWorkTree, located: &LocatedFile, put: Insertion) {
    let edited = EditedFile::at(site, located, put);
    match record.files.iter_mut().find(|recorded| recorded.same_place(&edited)) {
        None => record.files.push(edited),
        Some(recorded) if located.inode.is_none() => *recorded = edited,
        Some(recorded) => match (&mut recorded.put, edited.put) {
            (Insertion::Entries { entries, .. }, Insertion::Entries { entries: more, .. }) => entries.extend(more),
            (former, put) => *former = put,
        },
    }
}
