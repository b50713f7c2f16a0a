//! `doctor` on the agents set up here: whether the user gave the trust that each wants before it runs the hooks.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::setup::init::script;
use crate::support::harness::{Repo, Sandbox, installed};

/// A repository with hooks for these agents, whose programs are installed.
fn with_agents<'p>(place: &'p mut Sandbox, agents: &str, programs: &[&str]) -> Repo<'p> {
    let bin = place.path().join("bin");
    programs.iter().for_each(|program| script(&bin.join(program), "#!/bin/sh\n"));
    place.first = Some(bin);
    let repo = place.repo("project");
    repo.run(["init", "--agents", agents]).ok();
    repo
}

/// Writes a file of the home folder; `TOP` is the work tree.
fn home(repo: &Repo<'_>, name: &str, text: &str) -> PathBuf {
    let path = repo.place.path().join("home").join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, text.replace("TOP", repo.path.to_str().expect("UTF-8"))).expect("a file");
    path
}

/// The findings on agents, each with its commands; none is a fault.
fn found(repo: &Repo<'_>) -> Vec<String> {
    let json = repo.json(["doctor"]);
    let checks = json["checks"].as_array().expect("checks").iter().filter(|check| check["check"] == "agents");
    let line = |check: &Value| {
        assert_eq!(check["ok"], true, "{check}");
        let commands = check["commands"].as_array().expect("a list").iter().map(|it| it.as_str().expect("a text"));
        [check["what"].as_str().expect("a text")].into_iter().chain(commands).collect::<Vec<_>>().join(" | ")
    };
    checks.map(line).collect()
}

#[test]
fn each_agent_says_in_its_own_files_whether_it_runs_the_hooks() {
    let mut place = Sandbox::new();
    let repo = with_agents(
        &mut place,
        "claude-code,codex,gemini,copilot,cursor,opencode",
        &["claude", "codex", "gemini", "copilot", "cursor-agent", "opencode"],
    );
    assert_eq!(
        found(&repo),
        [
            "claude-code does not run the hooks of .claude/settings.json: trust the folder when it asks | claude",
            "codex does not run the hooks of .codex/hooks.json: trust the folder when it asks | codex",
            "gemini does not run the hooks of .gemini/settings.json: trust the folder when it asks | gemini",
            "copilot does not run the hooks of .github/hooks/git-empirica.json: trust the folder when it asks | copilot",
        ]
    );
    home(
        &repo,
        ".claude.json",
        r#"{"projects": {"TOP": {"hasTrustDialogAccepted": true, "enabledMcpjsonServers": []}}}"#,
    );
    home(&repo, ".codex/config.toml", "[projects.\"TOP\"]\ntrust_level = \"trusted\"\n");
    home(&repo, ".gemini/trustedFolders.json", r#"{"TOP/src": "TRUST_PARENT"}"#);
    home(&repo, ".copilot/config.json", "// managed automatically\n{\"trustedFolders\": [\"TOP\"]}");
    let at_top = ", if started at the top of the work tree";
    let last = [
        format!("gemini runs the hooks of .gemini/settings.json{at_top}"),
        "copilot runs the hooks of .github/hooks/git-empirica.json".to_owned(),
    ];
    let first = [
        "claude-code does not start the server of .mcp.json: allow it when it asks | claude",
        "codex does not run the hooks of .codex/hooks.json: review them with /hooks | codex",
    ];
    assert_eq!(found(&repo), [first.map(str::to_owned), last.clone()].concat());
    repo.write(".claude/settings.local.json", r#"{"enabledMcpjsonServers": ["empirica"]}"#);
    let events = ["session_start", "user_prompt_submit", "pre_compact", "post_tool_use", "stop", "session_end"];
    let reviewed = |events: &[&str]| {
        let keys = events
            .iter()
            .map(|event| format!("[hooks.state.\"TOP/.codex/hooks.json:{event}:0:0\"]\ntrusted_hash = \"x\"\n"));
        "[projects.\"TOP\"]\ntrust_level = \"trusted\"\n".to_owned() + &keys.collect::<String>()
    };
    home(&repo, ".codex/config.toml", &reviewed(&events[1..]));
    assert_eq!(found(&repo)[1], first[1], "one hook is new");
    home(&repo, ".codex/config.toml", &reviewed(&events));
    let first = [
        format!("claude-code runs the hooks of .claude/settings.json{at_top}"),
        "codex runs the hooks of .codex/hooks.json".to_owned(),
    ];
    assert_eq!(found(&repo), [first, last].concat());
    assert!(repo.run(["doctor"]).ok().out.lines().any(|line| line.starts_with("ok     agents    codex runs")));
}

#[test]
fn trust_in_a_folder_above_counts_and_a_refusal_is_not_asked_about_again() {
    let mut place = Sandbox::new();
    let repo = with_agents(&mut place, "claude-code,codex,gemini", &["claude", "codex", "gemini"]);
    home(
        &repo,
        ".claude.json",
        &format!("{{\"projects\": {{{:?}: {{\"hasTrustDialogAccepted\": true}}}}}}", repo.place.path()),
    );
    home(&repo, ".claude/settings.json", "{\"enableAllProjectMcpServers\": true}");
    home(&repo, ".codex/config.toml", "[projects.\"TOP\"]\ntrust_level = \"untrusted\"\n");
    home(&repo, ".gemini/trustedFolders.json", r#"{"/": "TRUST_FOLDER", "TOP": "DO_NOT_TRUST"}"#);
    let claude = "claude-code runs the hooks of .claude/settings.json, if started at the top of the work tree";
    assert_eq!(found(&repo), [claude]);
    let linked = repo.place.path().join("linked");
    repo.git(["add", "-A"]).ok();
    repo.git(["commit", "-qm", "Hooks"]).ok();
    repo.git(["worktree", "add", "-q", linked.to_str().expect("UTF-8")]).ok();
    home(&repo, ".codex/config.toml", "[projects.\"TOP\"]\ntrust_level = \"trusted\"\n");
    let linked = found(&repo.place.at("linked"));
    assert!(linked[1].contains("review them with /hooks"), "the main worktree's trust counts: {linked:?}");
}

#[test]
fn files_of_another_form_and_agents_that_are_not_installed_say_nothing() {
    let mut place = Sandbox::new();
    let repo = with_agents(&mut place, "claude-code,codex,gemini,copilot", &["claude", "codex", "gemini", "copilot"]);
    for [claude, codex, gemini, copilot] in [
        ["{", "[", "no", "{"],
        [r#"{"projects": []}"#, "projects = 1", "[]", r#"{"trustedFolders": "TOP"}"#],
        [r#"{"projects": 5}"#, "[projects.\"TOP\"]\ntrust_level = 5", "{\"TOP\": 1}", r#"{"trustedFolders": [1]}"#],
    ] {
        home(&repo, ".claude.json", claude);
        home(&repo, ".codex/config.toml", codex);
        home(&repo, ".gemini/trustedFolders.json", gemini);
        home(&repo, ".copilot/config.json", copilot);
        assert_eq!(found(&repo), Vec::<String>::new(), "{claude} {codex} {gemini} {copilot}");
    }
    fs::remove_dir_all(repo.place.path().join("home/.codex")).expect("a folder");
    assert_eq!(found(&repo).len(), 1, "a file that is missing gave no trust");
    fs::remove_file(repo.place.path().join("bin/codex")).expect("a file");
    if installed().0.iter().all(|folder| !folder.join("codex").exists()) {
        assert_eq!(found(&repo), Vec::<String>::new());
    }
}
