//! `init --agents`: entries in the files of agents, nothing else changed, and removal by `deinit`.

use std::fs;
use std::os::unix::fs::symlink;

use empirica_transcripts::model::Agent;
use git_empirica::use_cases::setup::agents::entries;
use serde_json::{Value, json};

use crate::setup::init::{listing, script};
use crate::support::harness::{Repo, Sandbox};

const ALL: &str = "claude-code,codex,gemini,cursor,opencode,copilot";

fn read(repo: &Repo<'_>, name: &str) -> String {
    fs::read_to_string(repo.path.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn document(repo: &Repo<'_>, name: &str) -> Value {
    serde_json::from_str(&read(repo, name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The changes of files in the work tree.
fn work(json: &Value) -> Vec<String> {
    let files = json["changes"].as_array().expect("changes").iter().filter_map(|change| change["file"].as_str());
    files.filter(|file| !file.contains("/.git/")).map(str::to_owned).collect()
}

#[test]
fn every_agent_gets_hooks_and_the_server_and_deinit_removes_them() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    let before = listing(&repo.path);
    let files = [
        (Agent::ClaudeCode, ".claude/settings.json", ".mcp.json"),
        (Agent::Codex, ".codex/hooks.json", ".codex/config.toml"),
        (Agent::Gemini, ".gemini/settings.json", ".gemini/settings.json"),
        (Agent::Cursor, ".cursor/hooks.json", ".cursor/mcp.json"),
        (Agent::OpenCode, ".opencode/plugins/git-empirica.ts", "opencode.json"),
        (Agent::Copilot, ".github/hooks/git-empirica.json", ".mcp.json"),
    ];
    for (agent, hooks, server) in files {
        let json = repo.json(["init", "--agents", agent.name()]);
        assert_eq!(json["agents"], json!([agent.name()]));
        let there = read(&repo, hooks);
        let about = entries::entry(agent);
        let is_entered = |kind| about.hooks.is_some_and(|hooks| hooks.seconds(kind).is_some());
        for (event, _) in about.dialect.events.iter().filter(|(_, kind)| is_entered(*kind)) {
            assert!(there.contains(&format!("git-empirica hook agent {} {event} ", agent.name())), "{event}: {there}");
        }
        assert!(read(&repo, server).contains("\"git-empirica\""), "{server}");
        repo.json(["deinit"]);
        assert_eq!(listing(&repo.path), before, "{agent:?}");
    }
    assert_eq!(work(&repo.json(["init"])), Vec::<String>::new(), "alone it touches no file of the work tree");
    assert_eq!(repo.git_out(["status", "--porcelain"]), "");
    let would = repo.json(["init", "--agents", ALL, "--dry-run"]);
    assert_eq!(repo.git_out(["status", "--porcelain"]), "", "a dry run changes nothing");
    let json =
        repo.json(["init", "--agent", "claude-code,codex", "--agents", "gemini", "--agent", "cursor,opencode,copilot"]);
    assert_eq!(json["changes"], would["changes"]);
    let again = repo.json(["init", "--agents", ALL, "--agents", "codex"]);
    assert_eq!((&again["changes"], again["agents"].as_array().map(Vec::len)), (&json!([]), Some(6)));
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
}

#[test]
fn each_file_has_the_form_its_agent_reads() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.json(["init", "--agents", ALL]);
    let line = |agent: &str, event: &str| format!("git-empirica hook agent {agent} {event} 2>/dev/null || true");
    let group = |agent: &str, event: &str, timeout: u64| json!([{"hooks": [{"type": "command", "command": line(agent, event), "timeout": timeout}]}]);
    assert_eq!(document(&repo, ".claude/settings.json")["hooks"]["Stop"], group("claude-code", "Stop", 10));
    let codex = document(&repo, ".codex/hooks.json");
    assert_eq!(codex["hooks"]["SessionEnd"], group("codex", "SessionEnd", 3), "it warns of more than 3 s");
    let gemini = document(&repo, ".gemini/settings.json");
    assert_eq!(gemini["hooks"]["BeforeAgent"], group("gemini", "BeforeAgent", 5_000), "in milliseconds");
    assert_eq!(gemini["hooks"].get("PreCompress"), None, "it fires before each request");
    let server = json!({"command": "git-empirica", "args": ["mcp", "--tools", "core"]});
    assert_eq!(gemini["mcpServers"]["empirica"], server);
    let cursor = document(&repo, ".cursor/hooks.json");
    assert_eq!(cursor["version"], 1);
    assert_eq!(cursor["hooks"]["stop"], json!([{"command": line("cursor", "stop"), "timeout": 10}]));
    assert_eq!(document(&repo, ".cursor/mcp.json"), json!({"mcpServers": {"empirica": server}}));
    assert_eq!(document(&repo, ".mcp.json"), json!({"mcpServers": {"empirica": server}}), "one for two agents");
    let copilot = document(&repo, ".github/hooks/git-empirica.json");
    let wanted = json!([{"type": "command", "bash": line("copilot", "agentStop"), "timeoutSec": 10}]);
    assert_eq!((&copilot["version"], &copilot["hooks"]["agentStop"]), (&json!(1), &wanted));
    let opencode = document(&repo, "opencode.json");
    let wanted = json!({"type": "local", "command": ["git-empirica", "mcp", "--tools", "core"], "enabled": true});
    assert_eq!(opencode, json!({"$schema": "https://opencode.ai/config.json", "mcp": {"empirica": wanted}}));
    let toml = read(&repo, ".codex/config.toml");
    assert_eq!(toml, "[mcp_servers.empirica]\ncommand = \"git-empirica\"\nargs = [\"mcp\", \"--tools\", \"core\"]\n");
}

#[test]
fn a_hook_calls_the_program_and_is_silent_where_there_is_none() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let bin = place.path().join("bin");
    script(&bin.join("git-empirica"), "#!/bin/sh\necho \"$*: $(cat)\"; echo aside >&2; exit 2\n");
    let command = entries::command(Agent::Gemini, "AfterAgent");
    let run = |path: String| {
        let line = format!("echo '{{}}' | {{ {command}; }}");
        let mut shell = place.command("/bin/sh", &repo.path);
        let out = shell.args(["-c", &line]).env("PATH", path).output().expect("a shell");
        (out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned(), out.stderr.len())
    };
    let expected = "hook agent gemini AfterAgent: {}\n".to_owned();
    assert_eq!(run(format!("{}:/usr/bin:/bin", bin.display())), (Some(0), expected, 0), "2 would block the agent");
    assert_eq!(run("/nowhere".to_owned()), (Some(0), String::new(), 0));
}

/// Files that others wrote, each in a form of its own.
fn theirs() -> Vec<(&'static str, String)> {
    vec![
        (
            ".claude/settings.json",
            "{\n\t// mine\n\t\"model\": \"opus\",\n\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"hooks\": [{\"type\": \"command\", \"command\": \"say\"}]} // loud\n\t\t],\n\t\t\"PreCompact\": [],\n\t},\n}".to_owned(),
        ),
        (".mcp.json", "{\"mcpServers\":{\"other\":{\"command\":\"x\"}}}\n".to_owned()),
        (".codex/hooks.json", "{ }\r\n".to_owned()),
        (".codex/config.toml", "# mine\r\nmodel = 'o'\r\n[mcp_servers.other] # why\r\ncommand = \"x\"".to_owned()),
        (".gemini/settings.json", "\u{feff}{\n    \"theme\": \"x\", /* y */\n    \"hooks\": {}\n}\n\n".to_owned()),
        (".cursor/hooks.json", "{\"unknown\": [1,2 , 3]}".to_owned()),
        (".cursor/mcp.json", "// nothing yet\n".to_owned()),
        (".opencode/opencode.jsonc", "{\n  // servers\n  \"mcp\": {\n    // none\n  }\n}\n".to_owned()),
        (".github/hooks/git-empirica.json", String::new()),
    ]
}

#[test]
fn foreign_text_stays_and_is_restored_to_the_byte() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    theirs().iter().for_each(|(name, text)| repo.write(name, text));
    let before = listing(&repo.path);
    let json = repo.json(["init", "--agents", ALL]);
    assert_eq!(json.get("warnings"), None, "{json}");
    assert!(!repo.path.join("opencode.json").exists(), "the one that is there is used");
    for (name, text) in theirs() {
        let now = read(&repo, name);
        assert!(now.contains("git-empirica"), "{name}");
        // all that was there is there, in its order
        let mut rest = now.chars();
        assert!(text.chars().all(|c| rest.any(|other| other == c)), "{name}: {now}");
        let lone = now.matches('\n').count() - now.matches("\r\n").count();
        assert!(!text.contains("\r\n") || lone == 0, "{name} keeps its line ends: {now:?}");
    }
    assert_eq!(work(&repo.json(["init", "--agents", ALL])), Vec::<String>::new());
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
}

#[test]
fn deinit_keeps_entries_added_later() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.json(["init", "--agents", "claude-code,codex,cursor"]);
    // rewritten by another tool, with more in it
    let mut settings = document(&repo, ".claude/settings.json");
    settings["model"] = json!("opus");
    settings["hooks"]["Stop"].as_array_mut().expect("a list").push(json!({"hooks": [{"command": "say"}]}));
    repo.write(".claude/settings.json", &settings.to_string());
    let mut hooks = document(&repo, ".cursor/hooks.json");
    hooks["hooks"]["stop"].as_array_mut().expect("a list").insert(0, json!({"command": "say"}));
    repo.write(".cursor/hooks.json", &format!("{hooks:#}"));
    let toml = read(&repo, ".codex/config.toml") + "env = { A = \"b\" }\n";
    repo.write(".codex/config.toml", &toml);
    repo.write(".codex/other", "");
    let json = repo.json(["deinit"]);
    let wanted = json!({"hooks": {"Stop": [{"hooks": [{"command": "say"}]}]}, "model": "opus"});
    assert_eq!(document(&repo, ".claude/settings.json"), wanted);
    assert_eq!(document(&repo, ".cursor/hooks.json"), json!({"version": 1, "hooks": {"stop": [{"command": "say"}]}}));
    assert_eq!(read(&repo, ".codex/config.toml"), toml);
    let text = json["warnings"].to_string();
    assert!(text.contains("mcp_servers.empirica was edited by hand") && text.contains("it is kept"), "{text}");
    assert!(!repo.path.join(".codex/hooks.json").exists() && !repo.path.join(".mcp.json").exists());
    assert!(repo.path.join(".codex/other").exists());
}

#[test]
fn an_older_entry_is_updated_and_an_edited_one_kept() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let hook = |event: &str, more: &str| {
        let command = format!("git-empirica hook agent claude-code {event}{more}");
        json!([{"matcher": "x", "hooks": [{"type": "command", "command": command, "timeout": 99}]}])
    };
    let hooks = json!({"Stop": hook("Stop", " || exit 0"), "SessionEnd": hook("SessionEnd", " 2>/dev/null || true")});
    repo.write(".claude/settings.json", &format!("{:#}\n", json!({"hooks": hooks})));
    repo.write(".opencode/plugins/git-empirica.ts", "// git-empirica: an older one\n");
    let before = listing(&repo.path);
    repo.json(["init", "--agents", "claude-code,opencode"]);
    let now = document(&repo, ".claude/settings.json");
    assert_eq!(now["hooks"]["Stop"], hook("Stop", " 2>/dev/null || true"));
    assert_eq!(now["hooks"]["SessionEnd"], hooks["SessionEnd"], "what is tuned stays");
    assert!(read(&repo, ".opencode/plugins/git-empirica.ts").contains("export default"));
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
    // of a plugin that is not ours, or edited, nothing is lost
    for text in ["export default () => {}\n", "// git-empirica: edited\n"] {
        let _ = fs::remove_file(repo.path.join(".opencode/plugins/git-empirica.ts"));
        if text.starts_with("//") {
            repo.json(["init", "--agents", "opencode"]);
        }
        repo.write(".opencode/plugins/git-empirica.ts", text);
        let json = repo.json(["init", "--agents", "opencode"]);
        assert!(json["warnings"].to_string().contains("; it is kept"), "{json}");
        repo.run(["deinit"]).ok();
        assert_eq!(read(&repo, ".opencode/plugins/git-empirica.ts"), text);
    }
}

#[test]
fn a_foreign_server_of_the_same_name_is_reported_and_kept() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let other = "{\"mcpServers\": {\"empirica\": {\"command\": \"python\", \"args\": [\"-m\", \"empirica\"]}}}\n";
    repo.write(".mcp.json", other);
    repo.write(".cursor/mcp.json", "{\"mcpServers\": {\"empirica\": {\"command\": \"/opt/bin/git-empirica\"}}}\n");
    let json = repo.json(["init", "--agents", "copilot", "--agents", "cursor"]);
    let warnings = json["warnings"].as_array().expect("warnings");
    assert!(warnings.len() == 1 && warnings[0].to_string().contains(".mcp.json runs another command"), "{json}");
    assert_eq!(read(&repo, ".mcp.json"), other);
    assert!(!read(&repo, ".cursor/mcp.json").contains("args"), "ours, wherever it is installed");
}

#[test]
fn invalid_input_is_refused_before_any_write() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    fs::write(place.path().join("outside.json"), "{}").expect("a file");
    let cases = [
        (".claude/settings.json", "{\n  \"a\": \n}", "line 3 of"),
        (".claude/settings.json", "[]", "is not an object"),
        (".claude/settings.json", "{\"hooks\": {\"Stop\": {}}}", "its hooks.Stop is"),
        (".mcp.json", "{\"mcpServers\": []}", "its mcpServers is"),
        (".codex/config.toml", "a = 1\nb =\n", "line 2 of"),
        (".codex/config.toml", "mcp_servers = 1\n", "is not an object"),
        (".codex/hooks.json", "{\"hooks\": {}} {}", "cannot parse"),
    ];
    for (name, text, expected) in cases {
        repo.write(name, text);
        let before = listing(&repo.path);
        let json = repo.fails(1, ["init", "--agents", ALL]);
        assert!(json["error"].as_str().expect("a text").contains(expected), "{expected}: {json}");
        assert_eq!(listing(&repo.path), before, "{name}: nothing is half done");
        fs::remove_file(repo.path.join(name)).expect("a file");
    }
    symlink("../outside.json", repo.path.join(".mcp.json")).expect("a link");
    let json = repo.fails(1, ["init", "--agents", "claude-code"]);
    assert!(json["error"].as_str().expect("a text").contains("leads out of the work tree"), "{json}");
    repo.git(["init", "-q", "--bare", "../bare.git"]).ok();
    let bare = place.at("bare.git");
    assert_eq!(
        bare.fails(1, ["init", "--agents", "codex"])["error"],
        "cannot set up agents: the repository has no work tree"
    );
    bare.json(["init"]);
}

#[test]
fn edited_entries_are_kept_and_reported() {
    let place = Sandbox::new();
    let repo = place.repo("edited");
    repo.run(["init", "--agents", "claude-code"]).ok();
    let server = r#"{"mcpServers":{"empirica":{"command":"npx","args":["-y","mine"],"env":{"KEY":"precious"}}}}"#;
    repo.write(".mcp.json", server);
    let settings = std::fs::read_to_string(repo.path.join(".claude/settings.json")).expect("the settings");
    let ours = "git-empirica hook agent claude-code Stop 2>/dev/null || true";
    let own = settings.replace(ours, &format!("make lint; {ours}; notify-send done"));
    assert_ne!(own, settings);
    repo.write(".claude/settings.json", &own);
    repo.run(["init", "--agents", "claude-code"]).ok();
    assert_eq!(std::fs::read_to_string(repo.path.join(".claude/settings.json")).expect("kept"), own);
    let ran = repo.run(["deinit"]).ok();
    assert_eq!(ran.err.matches("edited by hand").count(), 2, "{}", ran.err);
    assert_eq!(std::fs::read_to_string(repo.path.join(".mcp.json")).expect("kept"), server);
    let left = std::fs::read_to_string(repo.path.join(".claude/settings.json")).expect("kept");
    assert!(left.contains("make lint") && !left.contains("SessionEnd"), "{left}");
}
