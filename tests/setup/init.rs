//! `init` and `deinit`: changes, idempotence and reversal in every kind of repository.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use git_empirica::use_cases::setup::record::hash;
use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

const NAMES: [&str; 5] = ["post-applypatch", "post-commit", "post-merge", "post-rewrite", "pre-push"];
const DATA: &str = "+refs/notes/empirica/data/*:refs/notes/empirica/remotes/origin/data/*";
const MARKDOWN: &str = "+refs/notes/empirica/handoffs*:refs/notes/empirica/remotes/origin/handoffs*";

/// Every file and folder below a path, with its mode and a hash of its content.
pub fn listing(root: &Path) -> BTreeMap<String, (u32, String)> {
    let mut out = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let about = fs::symlink_metadata(&path).expect("a file");
            let content = match about.file_type() {
                kind if kind.is_dir() => {
                    folders.push(path.clone());
                    Vec::new()
                }
                kind if kind.is_symlink() => {
                    fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
                }
                _ => fs::read(&path).expect("a file"),
            };
            out.insert(path.to_string_lossy().into_owned(), (about.permissions().mode(), hash(&content)));
        }
    }
    out
}

/// Writes an executable file, by another process: a file that a test has open for writing cannot be run, and a fork of
/// another test holds it open for a moment longer.
pub fn script(path: &Path, text: &str) {
    use std::io::Write;
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let mut command = Command::new("sh");
    command.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut child = command.spawn().expect("sh starts");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("a script");
    assert!(child.wait().expect("it ends").success(), "{}", path.display());
}

fn values(repo: &Repo<'_>, key: &str) -> Vec<String> {
    repo.git(["config", "--get-all", key]).out.lines().map(str::to_owned).collect()
}

fn changes(json: &Value) -> usize {
    json["changes"].as_array().expect("changes").len()
}

/// A repository with a bare remote `origin` that has no notes.
fn with_origin<'p>(place: &'p Sandbox) -> Repo<'p> {
    let repo = place.repo("project");
    repo.git(["clone", "-q", "--bare", ".", "../hub.git"]).ok();
    repo.git(["remote", "add", "origin", "../hub.git"]).ok();
    repo
}

#[test]
fn deinit_restores_every_byte() {
    let place = Sandbox::older_git();
    let repo = with_origin(&place);
    let before = listing(&repo.path);
    let json = repo.json(["init"]);
    assert_eq!((&json["hooks"], &json["remote"]), (&"default".into(), &"origin".into()), "{json}");
    assert_eq!(changes(&json), 5 + 4, "five hooks written, four values: {json}");
    assert_eq!(values(&repo, "notes.displayRef"), ["refs/notes/empirica/handoffs*"]);
    assert_eq!(values(&repo, "remote.origin.fetch")[1..], [DATA, MARKDOWN]);
    assert_eq!(values(&repo, "empirica.remote"), ["origin"]);
    assert_eq!(values(&repo, "notes.rewriteRef"), Vec::<String>::new());
    assert_eq!(repo.git_out(["status", "--porcelain"]), "", "nothing is in the work tree");
    for name in NAMES {
        let mode = fs::metadata(repo.path.join(".git/hooks").join(name)).expect("a hook").permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{name}");
    }
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
    assert_eq!(changes(&repo.json(["deinit"])), 0, "twice is once");
    // where there are hooks, they stay as they are, and ours call them
    script(&repo.path.join(".git/hooks/post-commit"), "#!/bin/sh\necho theirs\n");
    let (before, hooks) = (listing(&repo.path), listing(&repo.path.join(".git/hooks")));
    assert_eq!(repo.json(["init"])["hooks"], "folder");
    assert_eq!(listing(&repo.path.join(".git/hooks")), hooks);
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
}

#[test]
fn init_is_idempotent() {
    let place = Sandbox::older_git();
    let repo = with_origin(&place);
    script(&repo.path.join(".git/hooks/pre-push"), "#!/bin/sh\nexit 0\n");
    repo.json(["init"]);
    let once = listing(&repo.path);
    let again = repo.json(["init"]);
    assert_eq!(changes(&again), 0, "{again}");
    assert_eq!(listing(&repo.path), once);
}

#[test]
fn a_dry_run_names_every_change_and_makes_none() {
    let place = Sandbox::older_git();
    let repo = with_origin(&place);
    script(&repo.path.join(".git/hooks/post-merge"), "#!/bin/sh\n");
    let before = listing(&repo.path);
    let would = repo.json(["init", "--dry-run"]);
    assert_eq!(would["dry_run"], true);
    assert!(repo.run(["init", "--dry-run"]).ok().out.contains("would add empirica.remote = origin"));
    assert_eq!(listing(&repo.path), before);
    assert_eq!(would["changes"], repo.json(["init"])["changes"]);
    let set_up = listing(&repo.path);
    let would = repo.json(["deinit", "--dry-run"]);
    assert_eq!(listing(&repo.path), set_up);
    assert_eq!(would["changes"], repo.json(["deinit"])["changes"]);
    assert_eq!(listing(&repo.path), before);
}

#[test]
fn without_a_remote_none_is_mentioned_and_one_can_be_added_later() {
    let place = Sandbox::older_git();
    let hub = place.repo("hub");
    let repo = place.repo("project");
    assert_eq!(repo.json(["init"])["remote"], Value::Null);
    let config = fs::read_to_string(repo.path.join(".git/config")).expect("a file");
    assert!(!config.contains("[remote") && !config.contains("[empirica"), "{config}");
    let log = repo.git(["log"]).ok();
    assert_eq!(log.err, "", "git has nothing to warn of");
    repo.git(["remote", "add", "origin", hub.path.to_str().expect("UTF-8")]).ok();
    let json = repo.json(["init"]);
    assert_eq!(changes(&json), 3, "{json}");
    assert_eq!(values(&repo, "remote.origin.fetch")[1..], [DATA, MARKDOWN]);
    // the other side has no notes yet, then some
    repo.git(["fetch", "-q"]).ok();
    hub.start("ada", "t");
    hub.json(["handoff"]);
    repo.git(["fetch", "-q", "--prune"]).ok();
    let there = repo.git_out(["for-each-ref", "--format=%(refname)", "refs/notes"]);
    assert!(there.contains("refs/notes/empirica/remotes/origin/data/handoffs"), "{there}");
    assert!(there.contains("refs/notes/empirica/remotes/origin/handoffs"), "{there}");
}

#[test]
fn the_remote_is_the_tracked_one_else_origin_else_the_only_one() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    let url = "../other.git";
    repo.git(["remote", "add", "upstream", url]).ok();
    assert_eq!(repo.json(["init", "--dry-run"])["remote"], "upstream");
    repo.git(["remote", "add", "third", url]).ok();
    assert_eq!(repo.json(["init", "--dry-run"])["remote"], Value::Null);
    repo.git(["remote", "add", "origin", url]).ok();
    assert_eq!(repo.json(["init", "--dry-run"])["remote"], "origin");
    repo.git(["config", "branch.main.remote", "third"]).ok();
    assert_eq!(repo.json(["init", "--dry-run"])["remote"], "third");
    repo.git(["config", "empirica.remote", "upstream"]).ok();
    assert_eq!(repo.json(["init"])["remote"], "upstream", "the user's own choice");
    repo.json(["deinit"]);
    assert_eq!(values(&repo, "empirica.remote"), ["upstream"]);
}

#[test]
fn a_remote_that_cannot_have_refspecs_gets_none() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    repo.git(["config", "remote.mirrored.url", "../a"]).ok();
    repo.git(["config", "remote.mirrored.fetch", "+refs/*:refs/*"]).ok();
    repo.git(["config", "remote.pushed.url", "../a"]).ok();
    repo.git(["config", "remote.pushed.mirror", "true"]).ok();
    repo.git(["config", "remote.no url.fetch", "+refs/heads/*:refs/heads/*"]).ok();
    repo.git(["config", "remote.a..b.url", "../a"]).ok();
    repo.git(["config", "--global", "remote.users.url", "../a"]).ok();
    let before = fs::read(repo.path.join(".git/config")).expect("a file");
    let json = repo.json(["init"]);
    let warnings = json["warnings"].to_string();
    for name in ["mirrored", "pushed", "a..b"] {
        assert!(warnings.contains(&format!("'{name}'")), "{name}: {warnings}");
    }
    repo.git(["config", "--unset", "notes.displayRef"]).ok();
    assert_eq!(fs::read(repo.path.join(".git/config")).expect("a file"), before);
}

#[test]
fn a_remote_whose_name_begins_as_its_keys_do_gets_its_refspecs() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    repo.git(["remote", "add", "remote.hub", "../hub.git"]).ok();
    repo.run(["init"]).ok();
    assert!(repo.git_out(["config", "--get-all", "remote.remote.hub.fetch"]).contains("remotes/remote.hub/data/*"));
    assert_eq!(repo.git(["config", "--get-all", "remote.hub.fetch"]).out, "");
}

#[test]
fn a_renamed_remote_is_followed() {
    let place = Sandbox::older_git();
    let repo = with_origin(&place);
    let config = || fs::read_to_string(repo.path.join(".git/config")).expect("a file");
    let before = config();
    repo.json(["init"]);
    repo.git(["remote", "rename", "origin", "up"]).ok();
    let json = repo.json(["init"]);
    assert_eq!(json["remote"], "up");
    let renamed = |spec: &str| spec.replace("remotes/origin", "remotes/up");
    assert_eq!(values(&repo, "remote.up.fetch")[1..], [renamed(DATA), renamed(MARKDOWN)]);
    assert_eq!(values(&repo, "empirica.remote"), ["up"]);
    repo.git(["remote", "rename", "up", "origin"]).ok();
    repo.json(["deinit"]);
    assert_eq!(config(), before, "also what stands under another name now");
}

#[test]
fn existing_settings_are_neither_added_nor_removed() {
    let place = Sandbox::older_git();
    let repo = with_origin(&place);
    repo.git(["config", "notes.displayRef", "refs/notes/*"]).ok();
    repo.git(["config", "--add", "remote.origin.fetch", DATA]).ok();
    repo.json(["init"]);
    assert_eq!(values(&repo, "notes.displayRef"), ["refs/notes/*"]);
    assert_eq!(values(&repo, "remote.origin.fetch")[1..], [DATA, MARKDOWN]);
    repo.git(["config", "empirica.remote", "elsewhere"]).ok();
    repo.json(["deinit"]);
    assert_eq!(values(&repo, "notes.displayRef"), ["refs/notes/*"]);
    assert_eq!(values(&repo, "remote.origin.fetch")[1..], [DATA]);
    assert_eq!(values(&repo, "empirica.remote"), ["elsewhere"], "changed since");
}

#[test]
fn a_linked_worktree_a_submodule_a_bare_one_and_a_subfolder_are_set_up_where_git_looks() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    repo.git(["worktree", "add", "-q", "../linked"]).ok();
    place.at("linked").json(["init"]);
    assert!(repo.path.join(".git/hooks/post-commit").exists());
    assert!(!repo.path.join(".git/worktrees/linked/hooks").exists());
    assert_eq!(changes(&repo.json(["init"])), 0);
    repo.json(["deinit"]);

    let library = place.repo("library");
    let url = library.path.to_str().expect("UTF-8");
    repo.git(["-c", "protocol.file.allow=always", "submodule", "add", "-q", url, "lib"]).ok();
    let sub = place.at("project/lib");
    assert_eq!(sub.json(["init"])["remote"], "origin");
    assert!(repo.path.join(".git/modules/lib/hooks/pre-push").exists());
    assert!(!repo.path.join(".git/hooks/pre-push").exists());

    repo.git(["clone", "-q", "--bare", ".", "../bare.git"]).ok();
    place.at("bare.git").json(["init"]);
    assert!(place.path().join("bare.git/hooks/pre-push").exists());

    fs::create_dir_all(library.path.join("deep/er")).expect("a folder");
    place.at("library/deep/er").json(["init"]);
    assert!(library.path.join(".git/hooks/post-merge").exists());
    fs::create_dir(place.path().join("nowhere")).expect("a folder");
    for command in ["init", "deinit", "doctor"] {
        place.at("nowhere").fails(128, [command]);
    }
}

#[test]
fn a_missing_hooks_folder_is_created_and_removed() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    fs::remove_dir_all(repo.path.join(".git/hooks")).expect("the samples");
    let before = listing(&repo.path);
    repo.json(["init"]);
    assert!(repo.path.join(".git/hooks/post-commit").exists());
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
}

#[test]
fn a_hooks_folder_that_leads_into_the_work_tree_is_not_written_to() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    script(&repo.path.join("tools/hooks/post-commit"), "#!/bin/sh\necho ran > .git/theirs\n");
    repo.git(["add", "."]).ok();
    repo.git(["commit", "-q", "-m", "Hooks"]).ok();
    fs::remove_dir_all(repo.path.join(".git/hooks")).expect("the samples");
    symlink("../tools/hooks", repo.path.join(".git/hooks")).expect("a link");
    let before = listing(&repo.path);
    let tools = listing(&repo.path.join("tools"));
    assert_eq!(repo.json(["init"])["hooks"], "folder");
    assert_eq!(listing(&repo.path.join("tools")), tools);
    assert_eq!(repo.git_out(["status", "--porcelain"]), "");
    repo.commit("a", "a\n", "Add a");
    assert!(repo.path.join(".git/theirs").exists(), "theirs still runs");
    fs::remove_file(repo.path.join(".git/theirs")).expect("a file");
    repo.json(["deinit"]);
    let config = |all: &BTreeMap<String, (u32, String)>| all[&format!("{}/.git/config", repo.path.display())].clone();
    assert_eq!(config(&listing(&repo.path)), config(&before));
}

#[test]
fn an_interrupted_setup_is_completed_by_init_and_reverted_by_deinit() {
    let place = Sandbox::older_git();
    let repo = with_origin(&place);
    script(&repo.path.join(".git/hooks/pre-push"), "#!/bin/sh\nexit 0\n");
    let before = listing(&repo.path);
    let lock = repo.path.join(".git/config.lock");
    for mend in ["init", "deinit"] {
        // the hooks are written, the configuration cannot be
        fs::write(&lock, "").expect("a lock");
        let failed = repo.fails(1, ["init"]);
        assert!(failed["error"].as_str().expect("a text").contains("could not lock config file"), "{failed}");
        assert!(repo.path.join(".git/empirica/hooks/pre-push").exists());
        fs::remove_file(&lock).expect("the lock");
        repo.json([mend]);
        if mend == "init" {
            assert_eq!(changes(&repo.json(["init"])), 0);
            repo.json(["deinit"]);
        }
        assert_eq!(listing(&repo.path), before, "{mend}");
    }
}

#[test]
fn a_crash_between_the_two_names_of_a_hook_loses_neither() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    let hook = repo.path.join(".git/hooks/pre-push");
    script(&hook, "#!/bin/sh\nexit 0\n");
    // one that git does not run is in our way all the same
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).expect("its mode");
    let before = listing(&repo.path);
    // renamed by a second name; ours is not written yet
    fs::hard_link(&hook, repo.path.join(".git/hooks/pre-push.before-empirica")).expect("a link");
    repo.json(["init"]);
    assert!(fs::read_to_string(&hook).expect("a hook").contains("git-empirica hook pre-push"));
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
}

#[test]
fn an_older_hook_script_is_replaced_and_an_edited_one_kept() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    repo.json(["init"]);
    let (hook, about) = (repo.path.join(".git/hooks/post-commit"), repo.path.join(".git/empirica/init.json"));
    let current = fs::read_to_string(&hook).expect("a hook");
    let older = current.replace("exec ", "");
    fs::write(&hook, &older).expect("a hook");
    let written = fs::read_to_string(&about).expect("a file");
    fs::write(&about, written.replace(&hash(current.as_bytes()), &hash(older.as_bytes()))).expect("a file");
    assert_eq!(changes(&repo.json(["init"])), 1);
    assert_eq!(fs::read_to_string(&hook).expect("a hook"), current);

    let edited = format!("{current}# my own line\n");
    fs::write(&hook, &edited).expect("a hook");
    for command in ["init", "deinit"] {
        let json = repo.json([command]);
        assert!(json["warning"].as_str().expect("a warning").contains("edited by hand"), "{json}");
        assert_eq!(fs::read_to_string(&hook).expect("a hook"), edited, "{command}");
    }
    assert!(!repo.path.join(".git/hooks/pre-push").exists(), "the others are taken back");
}

#[test]
fn a_tool_that_renames_our_hook_and_calls_it_is_left_alone() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    let hooks = repo.path.join(".git/hooks");
    script(&hooks.join("pre-push"), "#!/bin/sh\necho first >> .git/ran\n");
    repo.json(["init"]);
    // as the tool pre-commit does it
    fs::rename(hooks.join("pre-push"), hooks.join("pre-push.legacy")).expect("renamed");
    script(&hooks.join("pre-push"), "#!/bin/sh\necho tool >> .git/ran\nexec .git/hooks/pre-push.legacy \"$@\"\n");
    let there = listing(&hooks);
    assert_eq!(changes(&repo.json(["init"])), 0);
    assert_eq!(listing(&hooks), there);
    repo.git(["clone", "-q", "--bare", ".", "../hub.git"]).ok();
    repo.git(["push", "-q", "../hub.git", "main:other"]).ok();
    assert_eq!(fs::read_to_string(repo.path.join(".git/ran")).expect("a file"), "tool\nfirst\n");
}

#[test]
fn existing_hooks_are_never_overwritten() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    let hooks = repo.path.join(".git/hooks");
    script(&hooks.join("pre-push"), "#!/bin/sh\necho one >> .git/ran\n");
    repo.json(["init"]);
    script(&hooks.join("pre-push"), "#!/bin/sh\necho two >> .git/ran\n");
    let there = listing(&hooks);
    repo.json(["init"]);
    repo.git(["clone", "-q", "--bare", ".", "../hub.git"]).ok();
    repo.git(["push", "-q", "../hub.git", "main:other"]).ok();
    assert_eq!(fs::read_to_string(repo.path.join(".git/ran")).expect("a file"), "two\n");
    repo.json(["deinit"]);
    assert_eq!(listing(&hooks), there);
}
