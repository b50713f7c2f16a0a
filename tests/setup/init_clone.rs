//! `init` in a clone: it fetches notes, detects agents, and sets up bare repositories.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::setup::init::{listing, script};
use crate::support::harness::{Repo, RunOutput, Sandbox};

/// A bare repository `hub.git` that has the notes of one session with a handoff, pushed by `author`.
fn hub(place: &Sandbox) -> Repo<'_> {
    let author = place.repo("author");
    author.git(["clone", "-q", "--bare", ".", "../hub.git"]).ok();
    author.git(["remote", "add", "origin", "../hub.git"]).ok();
    author.start("ada", "Fix the cache");
    author.json(["finding", "the cache is per process"]);
    author.hand_over("Fix the cache");
    author.json(["sync"]);
    place.at("hub.git")
}

fn cloned<'p>(place: &'p Sandbox, options: &[&str], name: &str) -> Repo<'p> {
    let url = format!("file://{}", place.path().join("hub.git").display());
    let words = [&["clone", "-q"], options, &[url.as_str(), name]].concat();
    place.at(".").git(words).ok();
    place.at(name)
}

/// What came from each remote: how many records, or why none.
fn fetched(json: &Value) -> Vec<(String, Value)> {
    let all = json["fetched"].as_array().expect("a list").iter();
    let came =
        |one: &Value| if one["error"].is_null() { one["incoming"]["records"].clone() } else { one["error"].clone() };
    all.map(|one| (one["remote"].as_str().expect("a name").to_owned(), came(one))).collect()
}

#[test]
fn after_init_the_next_command_resumes_in_every_kind_of_clone() {
    let place = Sandbox::new();
    hub(&place);
    let kinds: [&[&str]; 4] = [&[], &["--depth=1"], &["--filter=blob:none"], &["--filter=tree:0", "--no-checkout"]];
    for (nth, options) in kinds.into_iter().enumerate() {
        place.at("hub.git").git(["config", "uploadpack.allowFilter", "true"]).ok();
        let clone = cloned(&place, options, &format!("clone{nth}"));
        let json = clone.json(["init"]);
        assert_eq!(fetched(&json), [("origin".to_owned(), json!(3))], "{options:?}: {json}");
        assert_eq!(json["fetched"][0]["incoming"]["handoffs"][0]["task"], "Fix the cache", "{options:?}");
        assert_eq!((json.get("warnings"), &json["next_command"]), (None, &json!("git empirica resume")), "{json}");
        let resumed = clone.run(["resume"]).ok().out;
        assert!(resumed.contains("the cache is per process"), "{options:?}: {resumed}");
        let log = clone.git(["log", "-1", "--format=%N"]).ok();
        assert!(log.out.contains("Fix the cache") && log.err.is_empty(), "{options:?}: {log:?}");
        clone.fsck();
    }
}

#[test]
fn init_prints_a_few_lines_with_results_and_next_steps() {
    let place = Sandbox::older_git();
    hub(&place);
    let clone = cloned(&place, &[], "clone");
    let would = clone.run(["init", "--dry-run"]).ok();
    assert!(would.out.contains("/.git/hooks/post-commit\n"), "{}", would.out);
    assert!(would.out.ends_with("would fetch the records of origin\n"), "{}", would.out);
    assert_eq!(clone.git_out(["for-each-ref", "refs/notes"]), "", "a dry run fetches nothing");
    assert_eq!(
        clone.json(["init", "--dry-run"])["fetched"],
        json!([{"remote": "origin", "incoming": null, "error": null}])
    );
    let ran = clone.run(["init"]).ok();
    let expected = "Set up: hooks, what git log shows, the remote origin.\nFrom origin: 3 records, 1 handoff among them.\nNext: git empirica resume\n";
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (expected, "To revert it: git empirica deinit\n"));
    let ran = clone.run(["init"]).ok();
    let expected = "Set up already.\nFrom origin: nothing new.\nNext: git empirica resume\n";
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (expected, ""));
    // nothing is sent
    clone.json(["finding", "mine alone"]);
    clone.json(["flush"]);
    let before = place.at("hub.git").git_out(["for-each-ref"]);
    clone.json(["init"]);
    assert_eq!(place.at("hub.git").git_out(["for-each-ref"]), before);
    // a remote without notes, and none at all
    let repo = place.repo("project");
    let expected = "Set up: hooks, what git log shows.\nNext: git empirica finding \"<what you learned>\"\n";
    assert_eq!(repo.run(["init"]).ok().out, expected);
    repo.git(["clone", "-q", "--bare", ".", "../empty.git"]).ok();
    repo.git(["remote", "add", "origin", "../empty.git"]).ok();
    assert!(repo.run(["init"]).ok().out.contains("From origin: it has no records yet.\n"));
}

#[test]
fn without_init_the_first_hook_of_an_agent_fetches_notes_and_names_init() {
    let place = Sandbox::new();
    hub(&place);
    let start = |clone: &Repo<'_>, id: &str| {
        let payload = json!({"session_id": id, "cwd": clone.path, "source": "startup"}).to_string();
        clone.run_with_input(["hook", "agent", "claude-code", "SessionStart"], payload.as_bytes()).ok().out
    };
    let clone = cloned(&place, &[], "clone");
    let told = start(&clone, "first");
    assert!(told.contains("Fix the cache") && told.contains("the cache is per process"), "{told}");
    assert!(told.contains("git push does not send") && told.contains("git empirica init"), "{told}");
    // later ones fetch nothing, also without an answer
    clone.git(["remote", "set-url", "origin", "../nowhere.git"]).ok();
    assert!(start(&clone, "second").contains("git empirica init"));
    assert!(!clone.run(["doctor"]).out.contains("nowhere"));
    clone.run(["init"]).code(0);
    assert!(!start(&clone, "third").contains("git push does not send"));
    // a remote that never answers keeps the agent for a bounded time, and the trouble is told
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = cloned(&place, &[], "silent");
    let url = format!("http://{}/x.git", listener.local_addr().expect("an address"));
    silent.git(["remote", "set-url", "origin", &url]).ok();
    assert!(start(&silent, "first").contains("git empirica init"));
    assert!(silent.run(["doctor"]).out.contains("cannot fetch from origin"));
    assert_eq!(silent.json(["session", "list"])["total_sessions"], 1);
}

#[test]
fn a_remote_that_is_dead_hangs_or_refuses_is_a_warning_and_the_others_are_fetched() {
    let place = Sandbox::new();
    hub(&place);
    let clone = cloned(&place, &[], "clone");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let hanging = format!("http://{}/x.git", listener.local_addr().expect("an address"));
    let refusing = place.path().join("refuse");
    script(&refusing, "#!/bin/sh\necho 'access denied' >&2\nexit 1\n");
    let refused = format!("ext::{}", refusing.display());
    clone.git(["config", "protocol.ext.allow", "always"]).ok();
    for (name, url) in [("dead", "../nowhere.git"), ("hangs", &hanging), ("no", &refused)] {
        clone.git(["remote", "add", name, url]).ok();
    }
    clone.git(["config", "empirica.syncTimeout", "5s"]).ok();
    let json = clone.json(["init"]);
    let names: Vec<String> = fetched(&json).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["origin", "dead", "hangs", "no"], "where records go first");
    assert_eq!(fetched(&json)[0].1, 3, "{json}");
    let expected = ["'../nowhere.git' does not appear to be a git repository", "empirica.syncTimeout", "access denied"];
    let warnings = json["warnings"].as_array().expect("warnings");
    assert_eq!(warnings.len(), 3, "{json}");
    for ((name, why), expected) in fetched(&json)[1..].iter().zip(expected) {
        assert!(why.as_str().is_some_and(|why| why.contains(expected)), "{name}: {json}");
        assert!(warnings.iter().any(|warning| warning.as_str().is_some_and(|text| text.contains(name))), "{json}");
    }
    assert!(clone.run(["resume"]).ok().out.contains("the cache is per process"));
    // the hooks are installed, and an invalid time is reported
    assert!(clone.path.join(".git/hooks/pre-push").exists());
    clone.git(["config", "empirica.syncTimeout", "soon"]).ok();
    clone.git(["remote", "remove", "hangs"]).ok();
    assert!(clone.run(["init"]).ok().err.contains("empirica.syncTimeout is 'soon'"));
}

#[test]
fn several_remotes_are_united() {
    let place = Sandbox::new();
    hub(&place);
    let other = place.repo("other");
    other.start("bob", "Another thing");
    other.hand_over("Another thing");
    let clone = cloned(&place, &[], "clone");
    clone.git(["remote", "add", "upstream", "../other"]).ok();
    let json = clone.json(["init"]);
    assert_eq!(fetched(&json), [("origin".to_owned(), json!(3)), ("upstream".to_owned(), json!(2))]);
    let tasks = clone.json(["handoff", "list"])["handoffs"].to_string();
    assert!(tasks.contains("Fix the cache") && tasks.contains("Another thing"), "{tasks}");
    clone.fsck();
}

/// Programs of these names on a PATH that has git, a shell and ours, and no agent of the machine.
fn with_programs(place: &Sandbox, names: &[&str]) -> String {
    let bin = place.path().join("bin");
    let _ = fs::remove_dir_all(&bin);
    fs::create_dir_all(&bin).expect("a folder");
    let needed = ["git", "sh", "cat", "sleep", "script", "env"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    for name in needed {
        let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
        std::os::unix::fs::symlink(found.expect(name), bin.join(name)).expect("a link");
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_git-empirica"), bin.join("git-empirica")).expect("a link");
    names.iter().for_each(|name| script(&bin.join(name), "#!/bin/sh\nexit 0\n"));
    bin.display().to_string()
}

/// Runs a command line at a terminal and types an answer.
fn typed(repo: &Repo<'_>, path: &str, line: &str, answer: &str) -> RunOutput {
    let mut command: Command = repo.place.command("script", &repo.path);
    command.args(["-qec", line, "/dev/null"]).env("PATH", path);
    crate::support::harness::fed(command, answer.as_bytes())
}

const QUESTION: &str = "[Y/n]";

#[test]
fn agents_are_detected_by_their_files_and_programs() {
    let place = Sandbox::new();
    let found = |repo: &Repo<'_>, path: &str| {
        repo.json_with_env(&[("PATH", path)], ["init", "--dry-run"])["agents_found"].clone()
    };
    let none = with_programs(&place, &[]);
    let traces = [
        ("claude-code", "CLAUDE.md", "claude"),
        ("claude-code", ".claude/settings.local.json", "claude"),
        ("codex", ".codex/config.toml", "codex"),
        ("gemini", "GEMINI.md", "gemini"),
        ("gemini", ".gemini/settings.json", "gemini"),
        ("cursor", ".cursor/rules/a.mdc", "cursor-agent"),
        ("opencode", "opencode.json", "opencode"),
        ("opencode", ".opencode/plugins/a.ts", "opencode"),
        ("copilot", ".github/copilot-instructions.md", "copilot"),
    ];
    for (nth, (agent, file, program)) in traces.into_iter().enumerate() {
        let repo = place.repo(&format!("r{nth}"));
        assert_eq!(found(&repo, &none), json!([]), "{file}");
        repo.write(file, "");
        assert_eq!(found(&repo, &none), json!([agent]), "{file}");
        let path = with_programs(&place, &[program]);
        fs::remove_file(repo.path.join(file)).expect("a file");
        let fresh = place.repo(&format!("fresh{nth}"));
        fresh.write("AGENTS.md", "for all of them");
        assert_eq!(found(&fresh, &path), json!([agent]), "{program}");
        // one that cannot be run is none
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        fs::set_permissions(Path::new(&path).join(program), mode).expect("a mode");
        assert_eq!(found(&fresh, &path), json!([]), "{program}");
        with_programs(&place, &[]);
    }
}

#[test]
fn without_a_terminal_no_agent_is_set_up_and_one_line_names_the_command() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.write("CLAUDE.md", "");
    let path = with_programs(&place, &["codex"]);
    let env = [("PATH", path.as_str())];
    let ran = repo.run_with_env(&env, ["init"]).ok();
    let hint = "hint: used here: claude-code, codex; to enter hooks and MCP tools: git empirica init --agents auto\n";
    assert!(ran.err.ends_with(hint) && !ran.err.contains(QUESTION), "{}", ran.err);
    assert_eq!(repo.git_out(["status", "--porcelain"]), "?? CLAUDE.md");
    for arguments in [&["init", "--json"][..], &["init", "-q"]] {
        repo.run_with_env(&env, arguments).ok();
        assert_eq!(repo.git_out(["status", "--porcelain"]), "?? CLAUDE.md", "{arguments:?}");
    }
    // declined and set-up agents are not mentioned again
    assert!(!repo.run_with_env(&env, ["init", "--agents", "none"]).ok().err.contains("used here"));
    let json = repo.json_with_env(&env, ["init", "--agents", "auto"]);
    assert_eq!(
        (&json["agents"], &json["agents_found"]),
        (&json!(["claude-code", "codex"]), &json!(["claude-code", "codex"]))
    );
    assert!(repo.path.join(".codex/hooks.json").exists() && repo.path.join(".claude/settings.json").exists());
    assert!(!repo.run_with_env(&env, ["init"]).ok().err.contains("used here"));
    let again = repo.json_with_env(&env, ["init", "--agents", "auto"]);
    assert_eq!(again["changes"], json!([]), "twice is once");
    for wrong in ["auto,codex", "none,codex", "nobody"] {
        repo.fails(2, ["init", "--agents", wrong]);
    }
    repo.fails(2, ["init", "--all-tools"]);
    repo.fails(2, ["init", "--agents", "none", "--all-tools"]);
}

#[test]
fn at_a_terminal_one_prompt_decides() {
    let place = Sandbox::new();
    let path = with_programs(&place, &["codex"]);
    let answered = |answer: &str, entered: bool| {
        let repo = place.repo(&format!("asked-{}", answer.len() + usize::from(entered) * 10));
        repo.write("CLAUDE.md", "");
        let ran = typed(&repo, &path, "git-empirica init", answer).ok();
        assert_eq!(ran.out.matches(QUESTION).count(), 1, "{}", ran.out);
        assert!(ran.out.contains("files of claude-code, codex here?"), "{}", ran.out);
        assert!(!ran.out.contains("used here"), "{answer:?}: {}", ran.out);
        for file in [".mcp.json", ".claude/settings.json", ".codex/hooks.json", ".codex/config.toml"] {
            assert_eq!(repo.path.join(file).exists(), entered, "{answer:?} {file}: {}", ran.out);
        }
        assert_eq!(ran.out.contains("to be committed: .claude/settings.json"), entered, "{}", ran.out);
        assert!(repo.path.join(".git/hooks/post-commit").exists(), "set up in any case");
        // set-up agents are not offered again
        assert_eq!(typed(&repo, &path, "git-empirica init", "n\n").ok().out.contains(QUESTION), !entered, "{answer:?}");
    };
    // the terminal of each waits a second for more
    std::thread::scope(|all| {
        for (answer, entered) in
            [("y\n", true), ("\n", true), ("Yes\n", true), ("n\n", false), ("what\n", false), ("\u{4}", false)]
        {
            all.spawn(move || answered(answer, entered));
        }
    });
    let repo = place.repo("undisturbed");
    let unasked = ["--agents none", "--agents codex", "--json", "-q", "--dry-run"];
    for arguments in unasked {
        assert!(
            !typed(&repo, &path, &format!("git-empirica init {arguments}"), "y\n").ok().out.contains(QUESTION),
            "{arguments}"
        );
        repo.run(["deinit"]).ok();
        assert_eq!(repo.git_out(["status", "--porcelain"]), "", "{arguments}");
    }
    // an agent's own terminal: nobody is there to answer
    let by_agent = typed(&repo, &path, "CODEX_CI=1 git-empirica init", "y\n").ok().out;
    assert!(!by_agent.contains(QUESTION) && by_agent.contains("used here: codex"), "{by_agent}");
    repo.run(["deinit"]).ok();
    let unused = with_programs(&place, &[]);
    assert!(!typed(&repo, &unused, "git-empirica init", "y\n").ok().out.contains(QUESTION), "nobody is used here");
}

#[test]
fn agents_get_the_core_tools_or_all_on_request() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let before = listing(&repo.path);
    let servers = [".mcp.json", ".codex/config.toml", ".gemini/settings.json", ".cursor/mcp.json", "opencode.json"];
    let all = "claude-code,codex,gemini,cursor,opencode,copilot";
    let read = |name: &str| fs::read_to_string(repo.path.join(name)).expect(name);
    let plain = |name: &str| read(name).split_whitespace().collect::<String>();
    repo.json(["init", "--agents", all]);
    for name in servers {
        assert!(plain(name).contains(r#""mcp","--tools","core""#), "{name}: {}", read(name));
    }
    let core = listing(&repo.path);
    repo.json(["init", "--agents", all, "--all-tools"]);
    for name in servers {
        assert!(plain(name).contains(r#""mcp","--tools","all""#), "{name}: {}", read(name));
    }
    let json = repo.json(["init", "--agents", all, "--all-tools"]);
    assert_eq!((&json["changes"], json.get("warnings")), (&json!([]), None), "twice is once");
    let json = repo.json(["init", "--agents", all]);
    assert_eq!(json["changes"], json!([]), "what was chosen stays");
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
    repo.json(["init", "--agents", all, "--all-tools"]);
    assert!(servers.iter().all(|name| plain(name).contains(r#""mcp","--tools","all""#)));
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
    assert_ne!(core, before);
    // an edited one is kept and reported
    let own = "{\"mcpServers\": {\"empirica\": {\"command\": \"git-empirica\", \"args\": [\"mcp\", \"--tools\" /* few */, \"core\"]}}}";
    repo.write(".mcp.json", own);
    let json = repo.json(["init", "--agents", "claude-code", "--all-tools"]);
    assert!(json["warnings"][0].to_string().contains("it is kept"), "{json}");
    assert_eq!(read(".mcp.json"), own);
}

/// The shipped hooks in a folder.
fn hooks(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| fs::read_to_string(folder.join(name)).is_ok_and(|text| text.contains("git-empirica hook ")));
    names.sort();
    names
}

#[test]
fn a_bare_repository_gets_the_hook_of_a_push_alone_until_it_has_a_worktree() {
    let place = Sandbox::older_git();
    let author = place.repo("author");
    author.git(["clone", "-q", "--bare", ".", "../bare.git"]).ok();
    let bare = place.at("bare.git");
    bare.git(["config", "user.name", "T"]).ok();
    bare.git(["config", "user.email", "t@example.com"]).ok();
    let (folder, before) = (bare.path.join("hooks"), listing(&bare.path));
    let path = with_programs(&place, &["claude"]);
    let json = bare.json_with_env(&[("PATH", &path)], ["init"]);
    assert_eq!((hooks(&folder), &json["agents_found"]), (vec!["pre-push".to_owned()], &json!([])), "{json}");
    assert!(!typed(&bare, &path, "git-empirica init", "y\n").ok().out.contains(QUESTION));
    assert_eq!(bare.git_out(["config", "notes.displayRef"]), "refs/notes/empirica/handoffs*", "git log works here");
    assert!(bare.run(["doctor"]).ok().out.contains("hooks"), "that is all it needs");
    assert_eq!(bare.json(["init"])["changes"], json!([]), "twice is once");
    bare.json(["deinit"]);
    bare.json(["deinit"]);
    let left = |before: &std::collections::BTreeMap<String, (u32, String)>| {
        listing(&bare.path).keys().filter(|name| !before.contains_key(*name) && !name.contains("/empirica")).count()
    };
    assert_eq!(left(&before), 0);
    // a hook of theirs keeps running when a worktree comes, whether or not init does
    script(&folder.join("post-commit"), "#!/bin/sh\necho theirs >> \"$(git rev-parse --git-common-dir)/ran\"\n");
    script(&folder.join("pre-push"), "#!/bin/sh\nexit 0\n");
    assert_eq!(bare.json(["init"])["hooks"], "folder");
    bare.git(["worktree", "add", "-q", "../tree", "main"]).ok();
    let tree = place.at("tree");
    tree.commit("a", "a\n", "One");
    assert_eq!(fs::read_to_string(bare.path.join("ran")).expect("it ran"), "theirs\n");
    assert!(bare.run(["doctor"]).code(1).out.contains("post-commit"), "there are commits now");
    bare.json(["init"]);
    let ours = hooks(&bare.path.join("empirica/hooks"));
    assert!(
        ["post-applypatch", "post-commit", "post-merge", "post-rewrite", "pre-push"]
            .iter()
            .all(|name| ours.contains(&(*name).to_owned())),
        "{ours:?}"
    );
    assert_eq!(tree.json(["init"])["changes"], json!([]), "one set-up for all worktrees");
    tree.start("ada", "t");
    tree.json(["finding", "in a worktree of a hub"]);
    tree.commit("b", "b\n", "Two");
    assert_eq!(fs::read_to_string(bare.path.join("ran")).expect("it ran"), "theirs\ntheirs\n");
    assert!(tree.note("refs/notes/empirica/handoffs", "HEAD").contains("in a worktree of a hub"), "a digest");
    bare.json(["deinit"]);
    assert_eq!(hooks(&folder), Vec::<String>::new());
    assert!(!bare.path.join("empirica/hooks").exists());
    assert_eq!(bare.git(["config", "core.hooksPath"]).out, "");
}

#[test]
fn a_bare_repository_with_a_remote_takes_notes_along_with_a_push_and_resumes() {
    let place = Sandbox::new();
    hub(&place);
    let bare = cloned(&place, &["--bare"], "mirror.git");
    let json = bare.json(["init"]);
    assert_eq!((fetched(&json), &json["remote"]), (vec![("origin".to_owned(), json!(3))], &json!("origin")), "{json}");
    assert!(bare.run(["resume"]).ok().out.contains("the cache is per process"));
    bare.json(["finding", "seen from the server"]);
    bare.git(["push", "-q", "origin", "main:topic"]).ok();
    assert!(place.at("hub.git").lines("journal").join("\n").contains("seen from the server"));
}

#[test]
fn with_configured_hooks_a_bare_repository_gets_only_the_push_hook() {
    let place = Sandbox::newer_git();
    let author = place.repo("author");
    author.git(["clone", "-q", "--bare", ".", "../bare.git"]).ok();
    let bare = place.at("bare.git");
    let before = fs::read_to_string(bare.path.join("config")).expect("a file");
    assert_eq!(bare.json(["init"])["hooks"], "config");
    let named = bare.git_out(["config", "--name-only", "--get-regexp", r"^hook\."]);
    assert_eq!(named, "hook.empirica-pre-push.command\nhook.empirica-pre-push.event");
    bare.json(["deinit"]);
    assert_eq!(fs::read_to_string(bare.path.join("config")).expect("a file"), before);
}
