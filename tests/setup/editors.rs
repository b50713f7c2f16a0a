//! The examples for editors and prompts, in the programs that they are for.

use std::path::Path;

use crate::commands::code::anchors::id;
use crate::support::harness::{Repo, RunOutput, Sandbox};

fn shipped(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// What a program prints in a folder of a repository; `None` where it is not installed.
fn run(repo: &Repo<'_>, program: &str, arguments: &[&str]) -> Option<RunOutput> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).find(|folder| folder.join(program).is_file())?;
    let mut command = repo.place.command(program, &repo.path);
    Some(RunOutput::new(command.args(arguments).env("TERM", "dumb").output().expect("it starts")))
}

fn with_claim<'s>(sandbox: &'s Sandbox) -> Repo<'s> {
    let repo = sandbox.repo("r");
    repo.commit("src/a.rs", "one\ntwo\nthree\n", "A");
    repo.start("ada", "Look");
    repo.json(["deadend", "two <img src=x> **bold** [x](y)", "--why", "it is slow", "--at", "src/a.rs:2"]);
    repo
}

#[test]
fn vim_shows_what_was_logged_about_the_line() {
    let sandbox = Sandbox::new();
    let repo = with_claim(&sandbox);
    let plugin = shipped("contrib/vim/plugin/empirica.vim");
    let script = format!("source {}", plugin.display());
    let out = repo.path.join("out");
    let write = format!("write! {}", out.display());
    let arguments =
        ["-u", "NONE", "-N", "-es", "src/a.rs", "-c", &script, "-c", "2", "-c", "Why", "-c", &write, "-c", "qa!"];
    // the smallest build of vim has no scripts
    let version = run(&repo, "vim", &["--version"]).map(|ran| ran.out).unwrap_or_default();
    if !version.contains("+eval") {
        return;
    }
    run(&repo, "vim", &arguments);
    let shown = std::fs::read_to_string(&out).expect("the window was written");
    assert!(shown.contains("dead end ") && shown.contains("it is slow"), "{shown}");
    assert!(!shown.contains("<records-"), "{shown}");
}

#[test]
fn the_extension_shows_texts_as_data() {
    let sandbox = Sandbox::new();
    let repo = with_claim(&sandbox);
    // the interface of the editor, as far as it is used
    let driver = r#"
const Module = require("node:module");
const registered = {};
class MarkdownString {
  constructor() { this.value = ""; }
  appendMarkdown(text) { this.value += text; }
  appendText(text) { this.value += text.replace(/[\\`*_{}[\]()#+\-!~<>]/g, "\\$&"); }
}
const shown = [];
const vscode = {
  MarkdownString,
  Hover: class { constructor(text) { this.text = text; } },
  languages: { registerHoverProvider: (_, provider) => { registered.hover = provider; return {}; } },
  commands: { registerCommand: (name, run) => { registered[name] = run; return {}; } },
  window: {
    activeTextEditor: { document: { fileName: process.argv[3] }, selection: { start: { line: 1 }, end: { line: 1 } } },
    showQuickPick: items => shown.push(...items),
    showInformationMessage: text => shown.push(text),
  },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const extension = require(process.argv[2]);
(async () => {
  extension.activate({ subscriptions: [] });
  const document = { fileName: process.argv[3] };
  const about = await registered.hover.provideHover(document, { line: 1 });
  const none = await registered.hover.provideHover(document, { line: 0 });
  await registered["empirica.why"]();
  console.log(JSON.stringify({ about: about.text.value, none: none === undefined, shown }));
})();
"#;
    repo.write(".git/driver.js", driver);
    let (extension, file) = (shipped("contrib/vscode/extension.js"), repo.path.join("src/a.rs"));
    let driver = repo.path.join(".git/driver.js");
    let arguments = [&driver, &extension, &file].map(|path| path.to_str().expect("UTF-8").to_owned());
    let Some(ran) = run(&repo, "node", &arguments.each_ref().map(String::as_str)) else { return };
    let told: serde_json::Value = serde_json::from_str(ran.ok().out.trim()).expect("JSON");
    assert_eq!(told["none"], true);
    let about = told["about"].as_str().expect("a text");
    assert!(about.starts_with("**dead end** `") && about.contains("it is slow"), "{about}");
    assert!(about.contains(r"\<img src=x\> \*\*bold\*\*"), "{about}");
    assert_eq!(told["shown"][0]["detail"], "it is slow");
    assert_eq!(told["shown"][0]["description"], "dead end by ada");
}

#[test]
fn the_prompt_has_three_numbers_and_nothing_elsewhere() {
    let sandbox = Sandbox::new();
    let repo = sandbox.set_up("r");
    let prompt = |repo: &Repo<'_>| repo.run(["status", "--prompt"]).ok().out;
    assert_eq!(prompt(&repo), "");
    let session = repo.start("ada", "Ask");
    assert_eq!(prompt(&repo), "s1\n");
    let unknown = id(&repo.json(["unknown", "why?"]));
    repo.json(["unknown", "how?"]);
    assert_eq!(prompt(&repo), "s1 ?2\n");
    repo.json(["handoff", "--to", "bo", "--next", "go on"]);
    repo.json(["resolve", &unknown, "so"]);
    assert_eq!(prompt(&repo), "s1 ?1 h1\n");
    repo.json(["session", "end", "--session", &session]);
    assert_eq!(prompt(&repo), "?1 h1\n");
    let numbers = repo.json(["status", "--prompt"]);
    assert_eq!((&numbers["unknowns_open"], &numbers["handoffs_waiting"]), (&1.into(), &1.into()));
    // nothing is written, and no remote is asked
    let before = repo.git_out(["for-each-ref"]);
    repo.git(["remote", "add", "origin", "/nowhere"]).ok();
    assert_eq!(prompt(&repo), "?1 h1\n");
    assert_eq!(repo.git_out(["for-each-ref"]), before);
    let outside = sandbox.at(".");
    assert_eq!(outside.run(["status", "--prompt"]).ok().out, "");
    assert_eq!(outside.json(["status", "--prompt"])["sessions_active"], 0);
    repo.fails(2, ["status", "--prompt", "--all"]);
}

#[test]
fn the_recipes_for_prompts_show_them() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.start("ada", "Ask");
    repo.json(["unknown", "why?"]);
    let page = std::fs::read_to_string(shipped("docs/terminal.md")).expect("a page");
    let block = |language: &str| {
        let (_, rest) = page.split_once(&format!("```{language}\n")).expect("a recipe");
        rest.split_once("```").expect("its end").0.to_owned()
    };
    let bash = format!("{}\nprintf '%s' \"${{PS1@P}}\"", block("bash"));
    if let Some(ran) = run(&repo, "bash", &["--norc", "-c", &bash]) {
        assert!(ran.out.contains("s1 ?1"), "{ran:?}");
    }
    let zsh = format!("{}\nprint -rP -- \"$PROMPT\"", block("zsh"));
    if let Some(ran) = run(&repo, "zsh", &["-f", "-c", &zsh]) {
        assert!(ran.out.contains("s1 ?1"), "{ran:?}");
    }
    if let Some(ran) = run(&repo, "fish", &["--no-config", "-c", &format!("{}\nfish_right_prompt", block("fish"))]) {
        assert!(ran.out.contains("s1 ?1"), "{ran:?}");
    }
    let starship: toml_edit::DocumentMut = block("toml").parse().expect("TOML");
    assert_eq!(starship["custom"]["empirica"]["command"].as_str(), Some("git-empirica status --prompt"));
}
