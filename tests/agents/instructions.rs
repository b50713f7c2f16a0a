//! `instructions`: its text, its block in the files that agents read, and removal by `deinit`, byte for byte.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use clap::CommandFactory;
use git_empirica::cli::Cli;
use git_empirica::text::tokens::CAN_COUNT;
use git_empirica::use_cases::setup::agents::marked::{BEGIN, END};
use serde_json::Value;

use crate::setup::init::listing;
use crate::support::harness::{Repo, Sandbox, tokens};

const FILES: [&str; 8] = [
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    "QWEN.md",
    "MINIMAX.md",
    "ROVODEV.md",
    "COPILOT_CLAUDE.md",
    ".github/copilot-instructions.md",
];

fn text(repo: &Repo<'_>, arguments: &[&str]) -> String {
    repo.json(arguments)["text"].as_str().expect("a text").to_owned()
}

fn read(repo: &Repo<'_>, name: &str) -> String {
    fs::read_to_string(repo.path.join(name)).expect("a file")
}

fn files(json: &Value) -> Vec<&str> {
    json["changes"].as_array().expect("changes").iter().map(|change| change["file"].as_str().expect("a file")).collect()
}

#[test]
fn instructions_take_few_tokens_and_explain_when_to_log() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    for agent in
        [None, Some("claude-code"), Some("codex"), Some("gemini"), Some("copilot"), Some("minimax"), Some("rovodev")]
    {
        let given: Vec<&str> = ["instructions"].into_iter().chain(agent.iter().flat_map(|a| ["--agent", *a])).collect();
        let count = tokens(&text(&repo, &given));
        // an estimate may be 10 % above the count
        let most = if CAN_COUNT { 400 } else { 440 };
        assert!(count <= most, "{agent:?}: {count}");
    }
    let text = text(&repo, &["instructions"]);
    for tool in git_empirica::mcp::listed(false) {
        let name = tool["name"].as_str().expect("a name");
        assert!(text.contains(&format!("`{name}`")) || name == "bootstrap_session", "every tool of a day: {name}");
    }
    assert!(!text.contains("know="), "nothing of it needs a vector");
    assert_eq!(repo.run(["instructions"]).ok().out, text);
    assert_eq!(repo.git_out(["status", "--porcelain"]), "", "printing writes nothing");
    // people read when it is worth it
    let page = include_str!("../../docs/agents.md");
    for expected in ["Refactor authentication system", "Fix typo in README.md line 42", "KNOW < 0.7", "When in doubt"] {
        assert!(page.contains(expected), "{expected}");
    }
}

#[test]
fn every_command_it_names_is_one() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let commands = Cli::command();
    let text = text(&repo, &["instructions"]);
    let mut seen = 0;
    for line in text.split("`git empirica ").skip(1) {
        let name = line.split([' ', '`']).next().expect("a word");
        assert!(name == "COMMAND" || commands.find_subcommand(name).is_some(), "{name}");
        seen += 1;
    }
    assert!(seen > 8, "{seen}");
}

#[test]
fn the_words_are_those_of_the_agent_where_they_differ() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let general = text(&repo, &["instructions"]);
    assert!(general.contains("--ai NAME"), "{general}");
    for name in ["claude-code", "gemini", "copilot", "qwen", "minimax", "rovodev"] {
        let text = text(&repo, &["instructions", "--agent", name]);
        assert!(text.contains(&format!("`--ai {name}`")) && !text.contains("NAME"), "{name}");
        assert_eq!(text.contains("mcp__empirica__"), name == "claude-code", "{name}");
    }
    for name in ["codex", "cursor", "opencode"] {
        let json = repo.json(["instructions", "--agent", name]);
        assert_eq!((&json["file"], &json["text"]), (&"AGENTS.md".into(), &general.as_str().into()), "one file for all");
    }
    let folder = place.path().join("templates");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("instructions.md"), "Ours, {{ ai }}\n\n").expect("a template");
    repo.git(["config", "empirica.templateDir", folder.to_str().expect("UTF-8")]).ok();
    assert_eq!(text(&repo, &["instructions", "--agent", "qwen"]), "Ours, qwen\n");
    repo.json(["instructions", "--write", "--agent", "qwen"]);
    assert_eq!(read(&repo, "QWEN.md"), format!("{BEGIN}\nOurs, qwen\n{END}\n"));
    fs::write(folder.join("instructions.md"), format!("Ours\n{END}\n")).expect("a template");
    let json = repo.fails(1, ["instructions", "--write"]);
    assert!(json["error"].as_str().expect("a text").contains("has the marks of a block"), "{json}");
}

#[test]
fn existing_files_are_written_else_the_default_and_restored_to_the_byte() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let before = listing(&repo.path);
    let json = repo.json(["instructions", "--write"]);
    assert_eq!(files(&json), [repo.path.join("AGENTS.md").to_str().expect("UTF-8")]);
    assert_eq!(json["changes"][0]["change"], "write");
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
    // each of the eight, each another way
    let texts = ["a\n", "a", "a\r\nb\r\n", "\u{feff}a\n\n", "", "a\nb\r\nc", "\u{feff}", "\n"];
    for (name, text) in FILES.iter().zip(texts) {
        repo.write(name, text);
    }
    let before = listing(&repo.path);
    let would = repo.json(["instructions", "--write", "--dry-run"]);
    assert_eq!(listing(&repo.path), before, "a dry run changes nothing");
    let json = repo.json(["instructions", "--write"]);
    assert_eq!((json["changes"].clone(), files(&json).len()), (would["changes"].clone(), 8));
    assert!(json["changes"].as_array().expect("a list").iter().all(|change| change["change"] == "edit"), "{json}");
    for (name, text) in FILES.iter().zip(texts) {
        let now = read(&repo, name);
        assert!(now.starts_with(text) && now.matches(BEGIN).count() == 1, "{name}: {now:?}");
        assert_eq!(now.ends_with('\n'), text.is_empty() || text == "\u{feff}" || text.ends_with('\n'), "{name}");
        let bare = now.matches('\n').count() - now.matches("\r\n").count();
        assert_eq!(bare == 0, text.contains("a\r\n"), "{name} keeps its line ends");
    }
    let written = listing(&repo.path);
    let again = repo.json(["instructions", "--write"]);
    assert_eq!(again["changes"], Value::Array(Vec::new()));
    assert_eq!(again["unchanged"].as_array().expect("a list").len(), 8);
    assert!(repo.run(["instructions", "--write"]).ok().err.contains("Nothing is left to do"));
    assert_eq!(listing(&repo.path), written);
    let json = repo.json(["deinit"]);
    assert_eq!(json.get("warnings"), None, "{json}");
    assert_eq!(listing(&repo.path), before);
}

#[test]
fn naming_an_agent_writes_only_its_file() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.write("GEMINI.md", "theirs\n");
    let before = listing(&repo.path);
    let sub = repo.path.join("src");
    fs::create_dir(&sub).expect("a folder");
    place.at("project/src").json(["instructions", "--agent", "copilot", "--write"]);
    assert!(read(&repo, ".github/copilot-instructions.md").contains("--ai copilot"));
    assert_eq!(read(&repo, "GEMINI.md"), "theirs\n");
    fs::remove_dir(&sub).expect("a folder");
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before, "the folder is gone, too");
    // a folder that others use by now stays
    repo.json(["instructions", "--agent", "copilot", "--write"]);
    repo.write(".github/dependabot.yml", "version: 2\n");
    repo.json(["deinit"]);
    assert_eq!(fs::read_dir(repo.path.join(".github")).expect("a folder").count(), 1);
}

#[test]
fn text_around_the_block_stays_and_an_older_block_is_replaced() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.json(["instructions", "--write"]);
    let block = read(&repo, "AGENTS.md");
    repo.write("AGENTS.md", &format!("# Ours\n{}More\n", block.replace(END, &format!("edited\n{END}"))));
    repo.json(["instructions", "--write"]);
    assert_eq!(read(&repo, "AGENTS.md"), format!("# Ours\n{block}More\n"));
    repo.json(["deinit"]);
    assert_eq!(read(&repo, "AGENTS.md"), "# Ours\nMore\n");
    // a block that a colleague's version wrote comes back
    let theirs = format!("a\n{BEGIN}\nolder\n{END}\nb");
    repo.write("AGENTS.md", &theirs);
    repo.json(["instructions", "--write"]);
    assert_eq!(read(&repo, "AGENTS.md"), format!("a\n{block}b"));
    repo.json(["deinit"]);
    assert_eq!(read(&repo, "AGENTS.md"), theirs);
    // what was written here is theirs when it comes with a commit, and one that was edited is not taken
    repo.write("AGENTS.md", &block);
    assert_eq!(repo.json(["instructions", "--write"])["changes"], Value::Array(Vec::new()));
    repo.json(["deinit"]);
    assert_eq!(read(&repo, "AGENTS.md"), block);
    repo.write("AGENTS.md", "");
    repo.json(["instructions", "--write"]);
    let edited = block.replace("Log at once", "Log");
    repo.write("AGENTS.md", &edited);
    let json = repo.json(["deinit"]);
    assert!(json["warnings"][0].as_str().expect("a text").contains("was edited by hand; it is kept"), "{json}");
    assert_eq!(read(&repo, "AGENTS.md"), edited);
}

#[test]
fn a_file_with_two_names_is_written_once_and_stays_linked() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.write("docs/agents.md", "x\n");
    symlink("docs/agents.md", repo.path.join("AGENTS.md")).expect("a link");
    symlink("AGENTS.md", repo.path.join("CLAUDE.md")).expect("a link");
    repo.write("QWEN.md", "q\n");
    fs::hard_link(repo.path.join("QWEN.md"), repo.path.join("MINIMAX.md")).expect("a link");
    fs::set_permissions(repo.path.join("docs/agents.md"), PermissionsExt::from_mode(0o640)).expect("a mode");
    let before = listing(&repo.path);
    let json = repo.json(["instructions", "--write"]);
    let ends: Vec<&str> = files(&json).iter().map(|file| file.rsplit('/').next().expect("a name")).collect();
    assert_eq!(ends, ["agents.md", "QWEN.md"], "{json}");
    let about = fs::symlink_metadata(repo.path.join("docs/agents.md")).expect("a file");
    assert_eq!(about.permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(repo.path.join("AGENTS.md")).expect("a link").is_symlink());
    assert!(read(&repo, "CLAUDE.md").contains("--ai NAME"), "in words for all that read it");
    assert_eq!(fs::metadata(repo.path.join("QWEN.md")).expect("a file").nlink(), 2);
    assert_eq!(repo.json(["instructions", "--write", "--agent", "claude-code"])["changes"], Value::Array(Vec::new()));
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
}

#[test]
fn an_unwritable_file_is_refused_before_any_write() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    repo.write("AGENTS.md", "fine\n");
    let outside = place.path().join("outside.md");
    fs::write(&outside, "not ours\n").expect("a file");
    let claude = repo.path.join("CLAUDE.md");
    type Make<'a> = &'a dyn Fn();
    let cases: [(&str, Make<'_>); 8] = [
        ("its line 2 ", &|| repo.write("CLAUDE.md", &format!("a\n{BEGIN}\nb\n"))),
        ("ends a block that does not begin", &|| repo.write("CLAUDE.md", &format!("{END}\n"))),
        ("begins a second block", &|| repo.write("CLAUDE.md", &format!("{BEGIN}\n{END}\n{BEGIN}\n{END}\n"))),
        ("it is not UTF-8", &|| fs::write(&claude, b"a\xff\n").expect("a file")),
        ("cannot follow the link", &|| symlink("gone.md", &claude).expect("a link")),
        ("leads out of the work tree", &|| symlink(&outside, &claude).expect("a link")),
        ("leads out of the work tree", &|| symlink(".git/config", &claude).expect("a link")),
        ("cannot use", &|| fs::create_dir(&claude).expect("a folder")),
    ];
    for (expected, make) in cases {
        make();
        let before = listing(&place.path());
        let json = repo.fails(1, ["instructions", "--write"]);
        assert!(json["error"].as_str().expect("a text").contains(expected), "{expected}: {json}");
        assert!(json["recovery_commands"][0].is_string(), "{expected}: {json}");
        assert_eq!(listing(&place.path()), before, "{expected}: nothing is half done");
        let _ = fs::remove_file(&claude).or_else(|_| fs::remove_dir(&claude));
    }
    symlink(place.path(), repo.path.join(".github")).expect("a link");
    let json = repo.fails(1, ["instructions", "--write", "--agent", "copilot"]);
    assert!(json["error"].as_str().expect("a text").contains("leads out"), "{json}");
    repo.git(["init", "-q", "--bare", "../bare.git"]).ok();
    let json = place.at("bare.git").fails(1, ["instructions", "--write"]);
    assert_eq!(json["error"], "cannot set up agents: the repository has no work tree");
}

#[test]
fn instructions_are_independent_of_init() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    let before = listing(&repo.path);
    repo.json(["instructions", "--write"]);
    assert_eq!(repo.json(["doctor"])["set_up"], false);
    repo.json(["init"]);
    assert_eq!(repo.json(["init"])["changes"], Value::Array(Vec::new()));
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
    // another work tree's files are taken back from here
    repo.git(["worktree", "add", "-q", "../side"]).ok();
    let side = place.at("side");
    side.json(["instructions", "--write", "--agent", "gemini"]);
    repo.json(["instructions", "--write"]);
    repo.json(["deinit"]);
    assert!(!side.path.join("GEMINI.md").exists() && !repo.path.join("AGENTS.md").exists());
    // one that is gone has nothing left
    side.json(["instructions", "--write"]);
    fs::remove_dir_all(&side.path).expect("a folder");
    assert_eq!(repo.json(["deinit"]).get("warnings"), None);
}
