//! The plugins that agents install by a command of their own: generated from the table of agents and the instructions
//! (`EMPIRICA_BLESS=1` renews them), and silent where the project has our hooks itself.

use std::fs;
use std::path::Path;

use empirica_transcripts::model::Agent;
use git_empirica::render::template::Templates;
use git_empirica::use_cases::setup::agents::entries::{self, PLUGIN, SERVER};
use git_empirica::use_cases::setup::agents::{hook, view};
use serde_json::{Map, Value, json};

use crate::support::harness::{Repo, Sandbox};

const NAME: &str = "git-empirica";
/// The plugin of Claude Code, Codex CLI and Copilot CLI, each with a manifest of its own in it.
const FOLDER: &str = "plugins/git-empirica";

fn hooks(agent: Agent) -> Value {
    let entry = entries::entry(agent);
    let form = entry.hooks.expect("an agent with hooks");
    let mut out = Map::new();
    for (event, kind) in entry.dialect.events {
        if let Some(hook) = hook(&form, *kind, &entries::command(agent, &format!("{event} {PLUGIN}"))) {
            out.insert((*event).to_owned(), json!([hook]));
        }
    }
    Value::Object(out)
}

fn servers(more: &Value) -> Value {
    let mut server = json!({"command": NAME, "args": entries::server_arguments(false)});
    server.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    json!({SERVER: server})
}

/// A manifest: the common keys, then others.
fn manifest(more: &Value) -> Value {
    let mut out =
        json!({"name": NAME, "version": env!("CARGO_PKG_VERSION"), "description": env!("CARGO_PKG_DESCRIPTION")});
    out.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    out
}

fn skill() -> String {
    let text = view::text(None, &mut Templates::built_in()).expect("the instructions");
    format!(
        "---\nname: {NAME}\ndescription: Keeps what agents learn, ask, try and decide in this repository as git notes. Use it \
         at the start of work that needs investigation or takes several sessions, to find what earlier agents learned, and \
         to log and hand over your own.\nlicense: {}\ncompatibility: Needs git and the program git-empirica on PATH\n---\n\n{text}",
        env!("CARGO_PKG_LICENSE"),
    )
}

/// The files, each with its text.
fn files() -> Vec<(String, String)> {
    let known = json!({"author": {"name": NAME}, "license": env!("CARGO_PKG_LICENSE")});
    let with = |more: Value| {
        let mut out = known.clone();
        out.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        manifest(&out)
    };
    let (none, here) = (json!({}), json!({"cwd": "."}));
    let plugin = |name: &str| format!("{FOLDER}/{name}");
    let documents = [
        (
            ".claude-plugin/marketplace.json".to_owned(),
            json!({
                "name": NAME,
                "owner": {"name": NAME},
                "description": env!("CARGO_PKG_DESCRIPTION"),
                "plugins": [{"name": NAME, "source": format!("./{FOLDER}"), "description": env!("CARGO_PKG_DESCRIPTION")}],
            }),
        ),
        (
            plugin(".claude-plugin/plugin.json"),
            with(json!({"hooks": hooks(Agent::ClaudeCode), "mcpServers": servers(&none)})),
        ),
        (
            plugin(".codex-plugin/plugin.json"),
            with(json!({"skills": "./skills", "hooks": {"hooks": hooks(Agent::Codex)}, "mcpServers": servers(&none)})),
        ),
        (
            plugin(".github/plugin/plugin.json"),
            // without a folder, the server would start in that of the plugin
            with(json!({"skills": "./skills", "hooks": "./copilot-hooks.json", "mcpServers": servers(&here)})),
        ),
        (plugin("copilot-hooks.json"), json!({"version": 1, "hooks": hooks(Agent::Copilot)})),
        ("gemini-extension.json".to_owned(), manifest(&json!({"mcpServers": servers(&none)}))),
        ("hooks/hooks.json".to_owned(), json!({"hooks": hooks(Agent::Gemini)})),
        (
            "package.json".to_owned(),
            manifest(&json!({
                "license": env!("CARGO_PKG_LICENSE"),
                "private": true,
                "type": "module",
                "exports": {"./server": "./hooks/opencode-plugin.ts"},
                "files": ["hooks/opencode-plugin.ts"],
            })),
        ),
    ];
    let skills = [plugin("skills/git-empirica/SKILL.md"), "skills/git-empirica/SKILL.md".to_owned()];
    let documents = documents.into_iter().map(|(name, document)| (name, format!("{document:#}\n")));
    documents.chain(skills.map(|name| (name, skill()))).collect()
}

#[test]
fn the_plugins_are_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, text) in files() {
        let path = root.join(&name);
        if std::env::var_os("EMPIRICA_BLESS").is_some() {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, &text).expect("a file");
        }
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(there == text, "{name} is not current: EMPIRICA_BLESS=1 cargo test --test runner plugins");
    }
}

#[test]
fn the_opencode_plugin_adds_the_server_of_the_table() {
    let plugin = entries::entry(Agent::OpenCode).plugin.expect("a plugin").content;
    let command = [NAME].into_iter().chain(entries::server_arguments(false)).collect::<Vec<_>>();
    let words = command.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
    assert!(
        plugin.contains(&format!("config.mcp.{SERVER} ??= {{ type: \"local\", command: [{words}], enabled: true }}"))
    );
}

/// Runs a hook of the plugin in a folder of the repository.
fn run(repo: &Repo<'_>, agent: &str, event: &str, session: &str, folder: &str) {
    let folder = repo.path.join(folder);
    let payload =
        json!({"session_id": session, "cwd": folder, "source": "startup", "error": "boom", "tool_name": "Bash"});
    let mut program = repo.program();
    program.current_dir(&folder).args(["hook", "agent", agent, event, PLUGIN]);
    let ran = crate::support::harness::fed(program, payload.to_string().as_bytes()).ok();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
}

fn sessions(repo: &Repo<'_>) -> usize {
    repo.json(["session", "list"])["sessions"].as_array().expect("sessions").len()
}

#[test]
fn a_plugin_works_where_init_never_ran_and_outside_a_repository() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    run(&repo, "claude-code", "SessionStart", "a", ".");
    run(&repo, "copilot", "sessionStart", "b", ".");
    assert_eq!(sessions(&repo), 2);
    fs::create_dir(place.path().join("plain")).expect("a folder");
    run(&place.at("plain"), "claude-code", "SessionStart", "c", ".");
    assert_eq!(fs::read_dir(place.path().join("plain")).expect("a folder").count(), 0);
}

#[test]
fn a_plugin_is_silent_where_the_agent_reads_our_hooks_in_the_project() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    fs::create_dir(repo.path.join("src")).expect("a folder");
    repo.run(["init", "--agents", "claude-code,codex,copilot,gemini"]).ok();
    let started = |folder: &str| {
        let before = sessions(&repo);
        for (agent, event) in [
            ("claude-code", "SessionStart"),
            ("codex", "SessionStart"),
            ("gemini", "SessionStart"),
            ("copilot", "sessionStart"),
        ] {
            run(&repo, agent, event, &format!("{agent} {folder}"), folder);
        }
        sessions(&repo) - before
    };
    assert_eq!(started("."), 0, "the project's own hooks do it");
    assert_eq!(started("src"), 2, "there Claude Code and Gemini CLI do not read the project's");
    // one that was taken out by hand
    let text = fs::read_to_string(repo.path.join(".codex/hooks.json")).expect("a file");
    repo.write(".codex/hooks.json", &text.replace("codex SessionStart ", "codex Other "));
    run(&repo, "codex", "SessionStart", "again", ".");
    assert_eq!(sessions(&repo), 3);
}
