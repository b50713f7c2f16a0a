//! `doctor` finds every problem, and the command that it names fixes it.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::setup::init::{listing, script};
use crate::support::harness::{Repo, Sandbox, installed};

fn wrong(json: &Value) -> Vec<&Value> {
    json["checks"].as_array().expect("checks").iter().filter(|check| check["ok"] == false).collect()
}

fn commands(check: &Value) -> Vec<String> {
    check["commands"].as_array().expect("commands").iter().map(|c| c.as_str().expect("a command").to_owned()).collect()
}

/// Runs a shell line in the repository.
#[track_caller]
fn shell(repo: &Repo<'_>, line: &str) {
    // started by git, the program would see the installed git first, not the one of the place
    let line = &line.replace("git empirica", "git-empirica");
    let out = repo.place.command("sh", &repo.path).args(["-c", line]).output().expect("sh starts");
    assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
}

/// Exactly these faults are found, checking changes nothing, and the suggested commands fix them.
#[track_caller]
fn mended(repo: &Repo<'_>, faults: &[(&str, &str)]) {
    let before = listing(&repo.path);
    let json = repo.fails(1, ["doctor"]);
    assert_eq!(listing(&repo.path), before, "doctor changes nothing");
    let found = wrong(&json);
    assert_eq!(found.len(), faults.len(), "{found:#?}");
    assert_eq!(json["wrong"], found.len());
    let mut lines = Vec::new();
    for (check, (name, what)) in found.iter().zip(faults) {
        assert_eq!(check["check"], *name, "{check}");
        assert!(check["what"].as_str().expect("a text").contains(what), "{what}: {check}");
        assert!(!commands(check).is_empty(), "{check}");
        lines.extend(commands(check).into_iter().filter(|line| !lines.contains(line)).collect::<Vec<_>>());
    }
    for line in &lines {
        assert!(json["recovery_commands"].as_array().expect("a list").contains(&Value::String(line.clone())));
        shell(repo, line);
    }
    let text = repo.run(["doctor"]).code(0).out;
    assert!(!text.contains("wrong"), "after {lines:?}:\n{text}");
}

/// A repository that is set up, with records and a remote that has them.
fn healthy<'p>(place: &'p Sandbox) -> Repo<'p> {
    let repo = place.repo("project");
    // git tidies up behind a fetch, when nobody looks
    repo.git(["config", "maintenance.auto", "false"]).ok();
    repo.git(["clone", "-q", "--bare", ".", "../hub.git"]).ok();
    repo.git(["remote", "add", "origin", "../hub.git"]).ok();
    repo.start("ada", "t");
    repo.json(["checkpoint", "-v", "know=0.5"]);
    repo.json(["handoff"]);
    repo.json(["session", "end"]);
    repo.json(["init"]);
    repo.git(["push", "-q", "--no-verify", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    repo.git(["fetch", "-q"]).ok();
    repo
}

#[test]
fn doctor_finds_no_fault_after_init() {
    let place = Sandbox::older_git();
    let repo = healthy(&place);
    let before = listing(&repo.path);
    let json = repo.json(["doctor"]);
    assert_eq!((&json["set_up"], &json["wrong"]), (&true.into(), &0.into()), "{json}");
    assert!(json["checks"].as_array().expect("checks").iter().all(|check| commands(check).is_empty()), "{json}");
    assert_eq!(listing(&repo.path), before);
    let text = repo.run(["doctor"]).ok();
    assert!(text.out.lines().all(|line| line.starts_with("ok ")), "{}", text.out);
}

#[test]
fn a_missing_init_is_reported_without_a_fault() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    let json = repo.json(["doctor"]);
    assert_eq!(json["set_up"], false);
    let setup = json["checks"].as_array().expect("checks").iter().find(|check| check["check"] == "setup");
    assert_eq!(commands(setup.expect("a check")), ["git empirica init"]);
    shell(&repo, "git empirica init");
    assert_eq!(repo.json(["doctor"])["set_up"], true);
}

#[test]
fn hooks_that_are_missing_edited_or_cannot_run_are_found() {
    let place = Sandbox::older_git();
    let repo = healthy(&place);
    let hooks = repo.path.join(".git/hooks");
    fs::remove_file(hooks.join("post-commit")).expect("a hook");
    mended(&repo, &[("hooks", "post-commit is missing")]);
    shell(&repo, "chmod -x .git/hooks/pre-push");
    mended(&repo, &[("hooks", "pre-push is not executable")]);
    fs::write(hooks.join("post-merge"), fs::read_to_string(hooks.join("post-merge")).expect("a hook") + "true\n")
        .expect("a hook");
    mended(&repo, &[("hooks", "edited by hand")]);
    // with a hook of theirs there ours go elsewhere, and call it
    script(&hooks.join("post-rewrite"), "#!/bin/sh\n# one\n");
    mended(&repo, &[("hooks", "another place")]);
    script(&hooks.join("post-rewrite"), "#!/bin/sh\n# two\n");
    repo.run(["doctor"]).code(0);
}

#[test]
fn hooks_in_a_folder_that_git_does_not_look_at_are_found() {
    let place = Sandbox::older_git();
    let repo = healthy(&place);
    script(&repo.path.join(".husky/pre-commit"), "#!/bin/sh\n");
    repo.git(["config", "core.hooksPath", ".husky"]).ok();
    mended(&repo, &[("hooks", "another place")]);
    repo.git(["config", "core.hooksPath", ".husky"]).ok();
    mended(&repo, &[("hooks", "core.hooksPath is '.husky'")]);
    script(&repo.path.join(".husky/reference-transaction"), "#!/bin/sh\n");
    mended(&repo, &[("hooks", "reference-transaction is missing")]);
    script(&repo.path.join(".git/empirica/hooks/pre-push"), "#!/bin/sh\n# another tool's\n");
    mended(&repo, &[("hooks", "is of another tool")]);
    repo.git(["config", "-f", ".git/more", "core.hooksPath", "elsewhere"]).ok();
    repo.git(["config", "include.path", "more"]).ok();
    assert!(repo.json(["init"])["warning"].as_str().expect("a warning").contains("is overridden by"));
    mended(&repo, &[("hooks", "is overridden by 'elsewhere'")]);
    fs::remove_file(repo.path.join(".git/empirica/init.json")).expect("a file");
    repo.fails(1, ["init"]);
    assert_eq!(repo.json(["doctor"])["set_up"], false);
}

#[test]
fn hooks_of_the_configuration_that_are_gone_or_off_are_found() {
    let mut place = Sandbox::older_git();
    let path = healthy(&place).path;
    let newer = Sandbox::newer_git();
    place.first = newer.first.clone();
    let repo = Repo { place: &place, path };
    mended(&repo, &[("hooks", "another place")]);
    repo.git(["config", "--unset", "hook.empirica-pre-push.event"]).ok();
    mended(&repo, &[("hooks", "hook.empirica-pre-push.event")]);
    repo.git(["config", "hook.empirica-pre-push.command", "true"]).ok();
    mended(&repo, &[("hooks", "edited by hand")]);
    repo.git(["config", "hook.empirica-pre-push.enabled", "false"]).ok();
    mended(&repo, &[("hooks", "hook.empirica-pre-push.enabled is off")]);
}

#[test]
fn display_and_fetch_settings_are_checked() {
    let place = Sandbox::older_git();
    let repo = healthy(&place);
    repo.git(["config", "--unset", "notes.displayRef"]).ok();
    mended(&repo, &[("display", "notes.displayRef")]);
    repo.git(["remote", "add", "second", "../hub.git"]).ok();
    mended(&repo, &[("fetch", "git fetch second")]);
    repo.git(["remote", "set-branches", "origin", "main"]).ok();
    mended(&repo, &[("fetch", "git fetch origin")]);
    repo.git(["config", "--unset", "empirica.remote"]).ok();
    mended(&repo, &[("remote", "empirica.remote")]);
    repo.git(["config", "--add", "remote.second.fetch", "+refs/*:refs/*"]).ok();
    mended(&repo, &[("fetch", "'second' mirrors")]);
    repo.git(["fetch", "-q", "--prune", "second"]);
    assert!(repo.git_out(["for-each-ref", "refs/notes/empirica/handoffs"]).contains("handoffs"));
}

#[test]
fn refspecs_and_settings_that_lose_notes_are_found() {
    let place = Sandbox::older_git();
    let repo = healthy(&place);
    for refspec in [
        "+refs/notes/*:refs/notes/*",
        "refs/notes/empirica/*:refs/notes/empirica/*",
        "+refs/notes/empirica/handoffs:refs/notes/empirica/handoffs",
    ] {
        repo.git(["config", "--add", "remote.origin.fetch", refspec]).ok();
        mended(&repo, &[("refspecs", "overwrites our notes")]);
    }
    repo.git(["config", "--add", "remote.origin.fetch", "+refs/notes/empirica/*:refs/notes/empirica/remotes/origin/*"])
        .ok();
    mended(&repo, &[("refspecs", "again with every fetch")]);
    repo.git(["config", "remote.origin.push", "+refs/notes/*:refs/notes/*"]).ok();
    mended(&repo, &[("refspecs", "with every push")]);
    repo.git(["config", "--add", "remote.origin.fetch", "+refs/notes/*:refs/notes/origin/*"]).ok();
    repo.json(["doctor"]);
    repo.git(["config", "--global", "remote.origin.fetch", "+refs/notes/*:refs/notes/*"]).ok();
    mended(&repo, &[("refspecs", "overwrites our notes")]);
    repo.git(["config", "notes.rewriteRef", "refs/notes/commits"]).ok();
    repo.git(["config", "--add", "notes.rewriteRef", "refs/notes/*"]).ok();
    mended(&repo, &[("rewrite", "notes.rewriteRef = refs/notes/*")]);
    assert_eq!(repo.git_out(["config", "--get-all", "notes.rewriteRef"]), "refs/notes/commits");
    // included from another file
    repo.git(["config", "-f", ".git/more", "notes.rewriteRef", "refs/notes/empirica/*"]).ok();
    repo.git(["config", "include.path", "more"]).ok();
    mended(&repo, &[("rewrite", "notes.rewriteRef = refs/notes/empirica/*")]);
}

#[test]
fn conflicting_ref_names_are_found_and_renamed() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    repo.json(["init"]);
    let blob = repo.head();
    for name in [
        "refs/notes/empirica",
        "refs/notes/empirica/data",
        "refs/notes/empirica/handoffs/one",
        "refs/notes/empirica/data/journal/x y",
    ] {
        let name = name.replace(' ', "-");
        repo.git(["update-ref", &name, &blob]).ok();
        mended(&repo, &[("refs", &format!("the ref {name} conflicts with"))]);
        assert_eq!(repo.git_out(["for-each-ref", "refs/notes/empirica"]), "", "{name}");
        assert!(repo.git_out(["for-each-ref", "refs/notes/aside-empirica"]).contains(&blob), "what it held is kept");
        repo.start("ada", "t");
        assert_eq!(repo.json(["handoff"])["degraded_mode"], false, "{name}");
        shell(
            &repo,
            "git for-each-ref --format='delete %(refname)' refs/notes | git update-ref --stdin; rm -rf .git/empirica/tips .git/empirica/current",
        );
    }
    // those of the older tool are in nobody's way
    repo.git(["update-ref", "refs/notes/empirica/handoff/abc/markdown", &blob]).ok();
    repo.git(["update-ref", "refs/notes/empirica/session/abc/PREFLIGHT/1", &blob]).ok();
    repo.json(["doctor"]);
}

#[test]
fn missing_broken_and_locked_refs_are_found() {
    let place = Sandbox::older_git();
    let repo = healthy(&place);
    let name = "refs/notes/empirica/data/handoffs";
    let file = repo.path.join(".git").join(name);
    let whole = repo.git_out(["rev-parse", &format!("{name}^{{tree}}")]);
    let tree = || repo.git_out(["rev-parse", &format!("{name}^{{tree}}")]);
    repo.git(["update-ref", "-d", name]).ok();
    mended(&repo, &[("refs", "is gone")]);
    assert_eq!(tree(), whole);
    fs::write(&file, "garbage\n").expect("a ref");
    mended(&repo, &[("refs", "cannot read the ref")]);
    assert_eq!(tree(), whole, "healed from what is remembered");
    fs::write(&file, "1".repeat(40) + "\n").expect("a ref");
    mended(&repo, &[("refs", "not a notes commit here, or is damaged")]);
    assert_eq!(tree(), whole);
    repo.git(["update-ref", name, "HEAD^{tree}"]).ok();
    mended(&repo, &[("refs", "not a notes commit here")]);
    assert_eq!(tree(), whole);
    fs::write(&file, "1".repeat(40) + "\n").expect("a ref");
    let packed = repo.path.join(".git/packed-refs");
    fs::rename(&file, repo.path.join(".git/aside")).expect("a file");
    fs::write(&packed, format!("{} {name}\n", "1".repeat(40))).expect("a ref");
    mended(&repo, &[("refs", "not a notes commit here, or is damaged")]);
    assert_eq!(tree(), whole);
    let tracking = repo.path.join(".git/refs/notes/empirica/remotes/origin/handoffs");
    fs::write(&tracking, "2".repeat(40) + "\n").expect("a ref");
    mended(&repo, &[("refs", "remotes/origin/handoffs")]);

    let lock = repo.path.join(".git").join(format!("{name}.lock"));
    fs::write(&lock, "").expect("a lock");
    repo.json(["doctor"]);
    let old = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().write(true).open(&lock).expect("a lock").set_modified(old).expect("a time");
    mended(&repo, &[("locks", "handoffs.lock was left")]);
}

#[test]
fn values_that_cannot_be_used_are_found() {
    let place = Sandbox::older_git();
    let repo = healthy(&place);
    for (key, value) in [
        ("empirica.lockTimeout", "soon"),
        ("empirica.syncTimeout", "10 apples"),
        ("empirica.sync", "some"),
        ("empirica.strict", "maybe"),
        ("empirica.index", "perhaps"),
        ("empirica.digest", "perhaps"),
        ("empirica.redact", "never"),
        ("empirica.remote", "upstream"),
        ("empirica.startBudget", "-1"),
        ("empirica.templateDir", "/nowhere at all"),
        ("empirica.ai", " "),
    ] {
        repo.git(["config", key, value]).ok();
        let what = format!("{} is '{value}'", key.to_lowercase());
        mended(&repo, &[("config", &what)]);
    }
    assert_eq!(repo.git_out(["config", "empirica.remote"]), "origin");
    for (key, value) in [
        ("lockTimeout", "300ms"),
        ("sync", "handoffs"),
        ("strict", "1"),
        ("digest", "off"),
        ("templateDir", "~"),
        ("startBudget", "0"),
    ] {
        repo.git(["config", &format!("empirica.{key}"), value]).ok();
    }
    repo.json(["doctor"]);
}

#[test]
fn identity_program_and_store_are_checked() {
    let place = Sandbox::older_git();
    let repo = healthy(&place);
    repo.git(["config", "--unset", "user.name"]).ok();
    repo.run_with_env(&[("EMPIRICA_AI", "ada")], ["doctor"]).ok();
    mended(&repo, &[("identity", "'unknown'")]);

    let other = place.path().join("other");
    script(&other.join("git-empirica"), "#!/bin/sh\necho git-empirica 0.0.1\n");
    let (without, _) = installed();
    let with = |first: &[PathBuf]| {
        let folders = first.iter().chain(&place.first).chain(&without);
        std::env::join_paths(folders).expect("a path").into_string().expect("UTF-8")
    };
    for (path, what) in [(with(&[]), "not on PATH"), (with(&[other]), "(0.0.1)")] {
        let ran = repo.run_with_env(&[("PATH", &path)], ["doctor", "--json"]).code(1);
        let json = ran.json();
        let found = wrong(&json);
        assert!(found.len() == 1 && found[0]["what"].as_str().expect("a text").contains(what), "{found:#?}");
        let line = format!("{} && git-empirica doctor", commands(found[0])[0]);
        let out = place.command("sh", &repo.path).env("PATH", &path).args(["-c", &line]).output().expect("sh starts");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    }

    let fresh = place.repo("fresh");
    fs::write(fresh.path.join(".git/empirica"), "").expect("a file");
    mended(&fresh, &[("store", "cannot be written")]);
}

#[test]
fn pending_records_are_no_fault_and_their_command_is_named() {
    let place = Sandbox::older_git();
    let repo = healthy(&place);
    repo.start("bob", "t");
    let json = repo.json(["doctor"]);
    let of = |json: &Value, name: &str| {
        json["checks"].as_array().expect("checks").iter().find(|check| check["check"] == name).expect("a check").clone()
    };
    assert!(of(&json, "log")["what"].as_str().expect("a text").contains("1 record is pending"), "{json}");
    assert_eq!(commands(&of(&json, "sync")), Vec::<String>::new(), "the log is not published");
    assert_eq!(commands(&of(&json, "log")), ["git empirica flush"]);
    shell(&repo, "git empirica flush");
    let json = repo.json(["doctor"]);
    assert_eq!(commands(&of(&json, "log")), Vec::<String>::new());
    assert_eq!(commands(&of(&json, "sync")), ["git empirica sync"]);
    repo.git(["config", "empirica.sync", "handoffs"]).ok();
    assert_eq!(commands(&of(&repo.json(["doctor"]), "sync")), Vec::<String>::new(), "the journal is private");
    repo.git(["config", "--unset", "empirica.sync"]).ok();
    repo.git(["push", "-q", "--no-verify", "origin", "refs/notes/empirica/data/*"]).ok();
    repo.git(["fetch", "-q"]).ok();
    assert_eq!(commands(&of(&repo.json(["doctor"]), "sync")), Vec::<String>::new());
}

#[test]
fn a_fault_is_one_document_with_the_keys_of_a_failure() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    repo.git(["config", "empirica.sync", "some\u{1b}[31m\nok     forged"]).ok();
    let json = repo.fails(1, ["doctor"]);
    assert_eq!(json["recovery_commands"].as_array().expect("a list").len(), 1, "{json}");
    assert_eq!(json["wrong"], 1);
    let ran = repo.run(["doctor"]).code(1);
    assert!(!ran.out.contains('\u{1b}') && !ran.out.contains("\nok     forged"), "{}", ran.out);
    assert!(ran.err.contains("1 thing is wrong"), "{}", ran.err);
    assert!(ran.err.lines().all(|line| !line.starts_with("error")), "{}", ran.err);
}

#[test]
fn obstacles_to_writing_objects_or_refs_are_found() {
    use std::os::unix::fs::PermissionsExt;
    let place = Sandbox::new();
    let repo = healthy(&place);
    let objects = repo.path.join(".git/objects");
    // a file where a folder of objects belongs
    let free = (0..256).map(|n| objects.join(format!("{n:02x}"))).find(|path| !path.exists()).expect("a free one");
    fs::write(&free, "x").expect("a file");
    let json = repo.fails(1, ["doctor"]);
    let value_of = |json: &Value, what: &str| {
        let checks = json["checks"].as_array().expect("checks").iter();
        assert!(
            checks.into_iter().any(|check| check["check"] == "store"
                && check["ok"] == false
                && check["what"].as_str().is_some_and(|text| text.contains(what))),
            "{what}: {json}"
        );
    };
    value_of(&json, "cannot write the object store");
    fs::remove_file(&free).expect("a file");
    for (folder, what) in [("objects", "the object store"), ("refs/notes/empirica", "the refs of the notes")] {
        let folder = repo.path.join(".git").join(folder);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("a mode");
        // nothing is refused to root
        let is_bound = fs::write(folder.join(".try"), "").is_err();
        let ran = repo.run(["doctor", "--json"]);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("a mode");
        if is_bound {
            value_of(&ran.json(), what);
        } else {
            fs::remove_file(folder.join(".try")).expect("a file");
        }
    }
    repo.json(["doctor"]);
}
