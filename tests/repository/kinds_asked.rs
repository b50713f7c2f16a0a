//! Repository settings, environment and git versions.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::repository::kinds::{Format, git_has};
use crate::setup::init::script;
use crate::support::harness::{Repo, RunOutput, Sandbox};

/// A session with a finding and a handoff; returns the handoff's id.
#[track_caller]
fn hand_over(repo: &Repo<'_>, ai: &str) -> String {
    repo.start(ai, "a task");
    repo.json(["finding", "a fact", "--ai", ai]);
    repo.hand_over("a task")
}

/// Every file and folder below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        out.push(entry.path());
        if entry.path().is_dir() {
            out.extend(below(&entry.path()));
        }
    }
    out
}

/// The same command as another user of the same group, as only root can run it.
fn as_mate(mut command: Command, group: u32) -> Command {
    let (program, arguments) = (command.get_program().to_owned(), command.get_args().map(ToOwned::to_owned));
    let mut out = Command::new("setpriv");
    out.args(["--reuid", "12345", "--regid", &group.to_string(), "--clear-groups", "--"]);
    out.arg(program).args(arguments.collect::<Vec<_>>());
    out.current_dir(command.get_current_dir().expect("a folder")).env_clear();
    out.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(std::process::Stdio::null());
    out
}

fn ran(mut command: Command) -> RunOutput {
    let output = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    RunOutput { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn in_a_shared_repository_a_mate_of_the_group_can_write_after_us() {
    const GROUP: u32 = 23456;
    let place = Sandbox::new();
    let shared = ["init", "-q", "-b", "main", "--shared=group"];
    fs::create_dir(place.path().join("r")).expect("a folder");
    let repo = place.at("r");
    repo.git(shared).ok();
    repo.git(["config", "user.name", "Test"]).ok();
    repo.git(["config", "user.email", "test@example.com"]).ok();
    repo.commit("f", "x\n", "One");
    let open = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    let is_root = fs::metadata(&repo.path).expect("a folder").uid() == 0;
    if is_root {
        open(&place.path(), 0o755);
        for path in [vec![repo.path.clone()], below(&repo.path)].concat() {
            std::os::unix::fs::chown(&path, None, Some(GROUP)).expect("root may");
            // chown clears the setgid bit that makes new files the group's
            if path.is_dir() {
                open(&path, 0o2775);
            }
        }
    }
    hand_over(&repo, "a");
    let ours = ["objects", "refs", "logs/refs/notes", "empirica"].map(|name| repo.path.join(".git").join(name));
    for path in ours.iter().flat_map(|folder| below(folder)) {
        let mode = fs::metadata(&path).expect("there").mode();
        let is_object = path.starts_with(&ours[0]) && path.is_file();
        let wanted = if is_object { 0o040 } else { 0o060 };
        assert_eq!(mode & wanted, wanted, "the group may not: {mode:o} {}", path.display());
    }
    if !is_root {
        return;
    }
    // really another user
    let mate_home = place.path().join("mate-home");
    fs::create_dir(&mate_home).expect("a folder");
    std::os::unix::fs::chown(&mate_home, Some(12345), Some(GROUP)).expect("root may");
    let as_them = |mut command: Command| {
        command.env("HOME", &mate_home).env("GIT_CONFIG_COUNT", "1");
        command.env("GIT_CONFIG_KEY_0", "safe.directory").env("GIT_CONFIG_VALUE_0", "*");
        as_mate(command, GROUP)
    };
    let program = |arguments: &[&str]| {
        let mut command = repo.program();
        command.args(arguments);
        ran(as_them(command))
    };
    let safe = place.command("git", &repo.path);
    let mut config = as_them(safe);
    config.args(["config", "--global", "--add", "safe.directory", "*"]);
    ran(config).ok();
    if !Path::new(env!("CARGO_BIN_EXE_git-empirica")).ancestors().all(others_may_enter) {
        // a checkout in a folder that is nobody else's
        return;
    }
    program(&["session", "start", "--ai", "b", "--json"]).ok();
    program(&["finding", "the mate's", "--ai", "b", "--json"]).ok();
    let json = program(&["handoff", "-m", "the mate's", "--ai", "b", "--json"]).ok().json();
    assert_eq!(json["degraded_mode"], false, "{json}");
    assert_eq!(repo.json(["handoff", "-m", "after the mate", "--ai", "a"])["degraded_mode"], false);
    assert_eq!(repo.json(["handoff", "list"])["handoffs"].as_array().map(Vec::len), Some(2));
    repo.fsck();
}

fn others_may_enter(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() || found.mode() & 0o001 != 0)
}

/// A hook that logs updates of notes refs and refuses them while a file `refuse` exists.
fn watching(repo: &Repo<'_>) -> PathBuf {
    let log_path = repo.place.path().join("told");
    let refuse = repo.place.path().join("refuse");
    let body = format!(
        "#!/bin/sh\nwhile read -r old new name; do case $name in refs/notes/empirica/*) echo \"$1 $name\" >>'{}'; \
         [ \"$1\" = prepared ] && [ -e '{}' ] && exit 1;; esac; done\nexit 0\n",
        log_path.display(),
        refuse.display()
    );
    script(&repo.path.join(".git/hooks/reference-transaction"), &body);
    log_path
}

#[test]
fn a_reference_transaction_hook_hears_of_every_ref_and_may_refuse() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let log_path = watching(&repo);
    hand_over(&repo, "a");
    let events = fs::read_to_string(&log_path).expect("it was told");
    for name in ["data/journal", "data/handoffs", "handoffs"] {
        assert!(events.contains(&format!("committed refs/notes/empirica/{name}\n")), "{events}");
    }
    // what it refuses waits, and is written as soon as it lets us
    fs::write(place.path().join("refuse"), "").expect("a file");
    let json = repo.json(["handoff", "-m", "refused"]);
    assert_eq!(json["degraded_mode"], true, "{json}");
    repo.commit("f", "x\n", "The user's own work goes on");
    let id = json["handoff_id"].as_str().expect("an id");
    assert!(repo.json(["handoff", "list"]).to_string().contains(id));
    let doctor = repo.run(["doctor"]).code(1);
    assert!(doctor.out.contains("hook rejects") && !doctor.out.contains("can be read and written"), "{}", doctor.out);
    fs::remove_file(place.path().join("refuse")).expect("ours");
    let json = repo.json(["flush"]);
    assert_eq!((&json["degraded_mode"], &json["waiting"]), (&false.into(), &0.into()), "{json}");
    assert!(repo.lines("handoffs").iter().any(|line| line.contains(id)));
    repo.fsck();
}

#[test]
fn objects_that_need_fsync_are_written_by_git() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let counts = |setting: &str| {
        let trace = place.path().join("trace");
        let _ = fs::remove_file(&trace);
        repo.git(["config", "core.fsync", setting]).ok();
        repo.start("a", "t");
        let environment = [("GIT_TRACE2_EVENT", trace.to_str().expect("UTF-8"))];
        let json = repo.json_with_env(&environment, ["handoff", "-m", "kept", "--ai", "a"]);
        assert_eq!(json["degraded_mode"], false, "{json}");
        let text = fs::read_to_string(&trace).unwrap_or_default();
        let is_flush = |line: &&str| line.contains("\"fsync\"") && line.contains("hardware-flush\"");
        text.lines().filter(is_flush).count()
    };
    assert_eq!(counts("none"), 0);
    assert!(counts("loose-object") > 0, "objects");
    assert!(counts("reference") > 0, "refs");
    assert_eq!(counts("pack"), 0, "we write none");
    repo.git(["config", "core.fsync", "all"]).ok();
    repo.git(["config", "core.fsyncMethod", "batch"]).ok();
    assert_eq!(repo.json(["handoff", "-m", "in a batch", "--ai", "a"])["degraded_mode"], false);
    repo.fsck();
}

#[test]
fn variables_that_put_objects_or_refs_elsewhere_are_refused_and_hooks_are_silent() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let elsewhere = place.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    let elsewhere = elsewhere.to_str().expect("UTF-8");
    for name in ["GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR"] {
        let ran = repo.run_with_env(&[(name, elsewhere)], ["status", "--json"]).code(128);
        let json = ran.json();
        assert!(json["error"].as_str().expect("a text").contains(name), "{json}");
        assert_eq!(json["recovery_commands"][0], format!("unset {name}"));
        let hook = repo.run_with_env(&[(name, elsewhere)], ["hook", "post-commit"]).ok();
        assert_eq!((hook.out.as_str(), hook.err.as_str()), ("", ""));
    }
    assert!(!repo.path.join(".git/empirica").exists());
    // the usual places, named
    let objects = repo.path.join(".git/objects");
    repo.run_with_env(&[("GIT_OBJECT_DIRECTORY", objects.to_str().expect("UTF-8"))], ["status"]).ok();
    repo.run_with_env(&[("GIT_COMMON_DIR", ".git"), ("GIT_DIR", ".git")], ["status"]).ok();
}

#[test]
fn git_namespace_does_not_affect_local_refs() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let namespace = [("GIT_NAMESPACE", "tenant")];
    let json = repo.json_with_env(&namespace, ["handoff", "-m", "in a namespace"]);
    assert_eq!(json["commit"], repo.head(), "{json}");
    let mut git = place.command("git", &repo.path);
    git.env("GIT_NAMESPACE", "tenant").args(["notes", "--ref", "refs/notes/beside", "add", "-m", "x"]);
    ran(git).ok();
    let refs = repo.git_out(["for-each-ref", "--format=%(refname)"]);
    assert!(refs.contains("refs/notes/beside") && refs.contains("refs/notes/empirica/data/handoffs"), "{refs}");
    assert!(!refs.contains("namespaces"), "{refs}");
}

#[test]
fn repository_discovery_follows_git() {
    let place = Sandbox::new();
    let (one, two) = (place.repo("one"), place.repo("one/two"));
    let sub = place.path().join("one/folder");
    fs::create_dir(&sub).expect("a folder");
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let cases: [(Vec<(&str, String)>, &Path); 7] = [
        (vec![("GIT_DIR", text(&two.path.join(".git")))], &one.path),
        (vec![("GIT_DIR", "../.git".into()), ("GIT_WORK_TREE", text(&one.path))], &sub),
        (vec![("GIT_CEILING_DIRECTORIES", text(&one.path))], &sub),
        (vec![("GIT_CEILING_DIRECTORIES", text(&place.path()))], &sub),
        (vec![("GIT_DIR", text(&place.path().join("nothing")))], &one.path),
        (
            vec![
                ("GIT_CONFIG_COUNT", "1".into()),
                ("GIT_CONFIG_KEY_0", "core.bare".into()),
                ("GIT_CONFIG_VALUE_0", "false".into()),
            ],
            &one.path,
        ),
        (vec![("GIT_DISCOVERY_ACROSS_FILESYSTEM", "true".into())], &sub),
    ];
    for (at, (variables, cwd)) in cases.into_iter().enumerate() {
        let set = |mut command: Command, arguments: &[&str]| {
            command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
            ran(command)
        };
        let ours =
            set(place.command(env!("CARGO_BIN_EXE_git-empirica"), cwd), &["session", "start", "--ai", "a", "--json"]);
        let gits = set(place.command("git", cwd), &["rev-parse", "--absolute-git-dir"]);
        assert_eq!(ours.code, gits.code, "{variables:?}: {} {}", ours.out, gits.err);
        if gits.code == 0 {
            let logs = PathBuf::from(gits.out.trim()).join("empirica/wal");
            let made = below(&logs).len();
            assert!(made > 0, "case {at}: nothing in {}", logs.display());
            fs::remove_dir_all(logs.parent().expect("a folder")).expect("ours");
        }
    }
    // settings of the environment count
    let env = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "empirica.ai"),
        ("GIT_CONFIG_VALUE_0", "from the environment"),
    ];
    let json = one.json_with_env(&env, ["session", "start"]);
    assert_eq!(json["ai_id"], "from the environment");
}

#[test]
fn a_bare_repository_is_refused_where_only_named_ones_may_be_used() {
    let place = Sandbox::new();
    fs::create_dir_all(place.path().join("r/bare.git")).expect("a folder");
    let bare = place.at("r/bare.git");
    bare.git(["init", "-q", "--bare"]).ok();
    bare.git(["config", "--global", "safe.bareRepository", "explicit"]).ok();
    let json = bare.fails(128, ["status"]);
    assert!(json["reason"].as_str().expect("a text").contains("safe.bareRepository"), "{json}");
    assert_eq!(bare.run(["hook", "post-commit"]).ok().err, "");
    bare.run_with_env(&[("GIT_DIR", ".")], ["status"]).ok();
}

#[test]
fn an_extension_of_version_1_in_a_repository_of_version_0_is_refused_as_git_does() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["config", "extensions.objectFormat", "sha1"]).ok();
    let git = repo.git(["rev-parse", "--git-dir"]);
    assert_eq!(git.code, 128, "{}", git.out);
    let json = repo.fails(128, ["status"]);
    assert!(git.err.contains(json["reason"].as_str().expect("a text").split(';').next().expect("a part")), "{json}");
}

#[test]
fn a_treeless_clone_fetches_notes_trees_then_blobs_in_batches() {
    let place = Sandbox::new();
    let (hub, mate) = (place.init("hub"), place.repo("mate"));
    for (key, value) in [
        ("receive.denyCurrentBranch", "ignore"),
        ("uploadpack.allowFilter", "true"),
        ("uploadpack.allowAnySHA1InWant", "true"),
    ] {
        hub.git(["config", key, value]).ok();
    }
    mate.git(["remote", "add", "origin", hub.path.to_str().expect("UTF-8")]).ok();
    mate.start("mate", "t");
    for n in 0..5 {
        mate.commit("f", &format!("{n}\n"), &format!("Commit {n}"));
        mate.json(["finding", &format!("fact {n}")]);
        mate.json(["handoff", "-m", &format!("task {n}")]);
    }
    mate.git(["push", "-q", "origin", "main"]).ok();
    mate.json(["sync"]);
    let url = format!("file://{}", hub.path.display());
    place.at("home").git(["clone", "-q", "--filter=tree:0", &url, &place.path().join("r").display().to_string()]).ok();
    let repo = place.at("r");
    repo.git(["config", "user.name", "Me"]).ok();
    repo.git(["config", "user.email", "me@example.com"]).ok();
    // as a plain fetch does it, which leaves out the trees as well
    let data = "+refs/notes/empirica/data/*:refs/notes/empirica/remotes/origin/data/*";
    let shown = "+refs/notes/empirica/handoffs*:refs/notes/empirica/remotes/origin/handoffs*";
    repo.git(["fetch", "-q", "origin", data, shown]).ok();
    let root = repo.git_out(["log", "-1", "--format=%T", "refs/notes/empirica/remotes/origin/data/journal", "--"]);
    let lacks = |id: &str| {
        let mut command = place.command("git", &repo.path);
        command.env("GIT_NO_LAZY_FETCH", "1").args(["cat-file", "-e", id]);
        ran(command).code != 0
    };
    assert!(lacks(&root), "the tree is left out");

    // a write within a hook's time limit waits for no network
    repo.run(["hook", "post-commit"]).ok();
    assert!(lacks(&root));
    let trace = place.path().join("trace");
    let environment = [("GIT_TRACE2_EVENT", trace.to_str().expect("UTF-8"))];
    let found = repo.json_with_env(&environment, ["query"]);
    assert_eq!(found["total_found"], 1, "{found}");
    let text = fs::read_to_string(&trace).expect("a trace");
    let fetches = text.lines().filter(|line| line.contains("\"event\":\"start\"") && line.contains("\"fetch\""));
    assert_eq!(fetches.count(), 2, "the trees, then the blobs");
    assert!(repo.json(["search", "fact"]).to_string().contains("fact 4"));
    repo.start("me", "mine");
    let json = repo.json(["handoff", "-m", "on top"]);
    assert_eq!(json["degraded_mode"], false, "{json}");
    assert_eq!(repo.json(["handoff", "list"])["handoffs"].as_array().map(Vec::len), Some(2));
    repo.json(["sync"]);
    mate.json(["sync"]);
    assert!(mate.json(["handoff", "list"]).to_string().contains("on top"));
    hub.fsck();
}

#[test]
fn a_reftable_repository_with_a_lock_left_in_it_loses_nothing() {
    let place = Sandbox::new();
    let format = Format { hash: "sha1", refs: "reftable" };
    if !git_has(&place, format) {
        return;
    }
    fs::create_dir(place.path().join("r")).expect("a folder");
    let repo = place.at("r");
    let options = format.options();
    repo.git(["init", "-q", "-b", "main"].into_iter().chain(options.iter().map(String::as_str))).ok();
    repo.git(["config", "user.name", "Test"]).ok();
    repo.git(["config", "user.email", "test@example.com"]).ok();
    repo.git(["config", "empirica.lockTimeout", "300ms"]).ok();
    repo.commit("f", "x\n", "One");
    hand_over(&repo, "a");
    let lock = repo.path.join(".git/reftable/tables.list.lock");
    fs::write(&lock, "").expect("a file");
    let json = repo.json(["handoff", "-m", "while it is locked"]);
    assert_eq!(json["degraded_mode"], true, "{json}");
    let ran = repo.run(["flush"]);
    assert!(ran.err.contains("tables.list.lock"), "{}", ran.err);
    let doctor = repo.run(["doctor"]).ok();
    assert!(doctor.out.contains("tables.list.lock is held"), "{}", doctor.out);
    let doctor = repo.run(["doctor"]);
    assert!(doctor.out.contains("records are pending") || doctor.out.contains("record is pending"), "{}", doctor.out);
    assert!(lock.exists(), "it is the user's to remove");
    fs::remove_file(&lock).expect("ours");
    assert_eq!(repo.json(["flush"])["waiting"], 0);
    assert!(repo.lines("handoffs").iter().any(|line| line.contains("while it is locked")));
    repo.fsck();
}

/// Every git that is installed, by the folder it is in, one of each version.
fn installed(place: &Sandbox) -> Vec<(String, PathBuf)> {
    let mut out: Vec<(String, PathBuf)> = Vec::new();
    for folder in crate::support::harness::installed().0 {
        let git = folder.join("git");
        if !git.is_file() {
            continue;
        }
        let mut command = place.command(&git, &place.path());
        command.arg("version");
        let version = ran(command).ok().out.trim().to_owned();
        if out.iter().all(|(known, _)| *known != version) {
            out.push((version, folder));
        }
    }
    out
}

#[test]
fn every_installed_git_carries_records_from_clone_to_clone() {
    for (version, folder) in installed(&Sandbox::new()) {
        let mut place = Sandbox::new();
        // nothing but git of that folder
        let only = place.path().join("only");
        fs::create_dir(&only).expect("a folder");
        std::os::unix::fs::symlink(folder.join("git"), only.join("git")).expect("a link");
        place.first = Some(only);
        let hub = place.init("hub");
        hub.git(["config", "receive.denyCurrentBranch", "ignore"]).ok();
        let one = place.repo("one");
        assert_eq!(one.git_out(["version"]), version);
        one.git(["remote", "add", "origin", hub.path.to_str().expect("UTF-8")]).ok();
        one.git(["push", "-q", "-u", "origin", "main"]).ok();
        one.run(["init"]).ok();
        one.start("a", "t");
        one.json(["finding", "carried over"]);
        one.commit("f", "x\n", "Two");
        let handoff = one.hand_over("t");
        one.git(["commit", "-q", "--amend", "-m", "Two, again"]).ok();
        one.git(["push", "-q", "origin", "main"]).ok();
        assert!(one.handoffs_at(&one.head()).contains(&handoff), "{version}");
        let two = place.clone(&hub, "two", false);
        two.run(["init"]).ok();
        two.json(["sync"]);
        assert!(two.json(["search", "carried"]).to_string().contains("carried over"), "{version}");
        let doctor = two.run(["doctor"]);
        assert_eq!(doctor.code, 0, "{version}: {}{}", doctor.out, doctor.err);
        two.fsck();
    }
}

#[test]
fn a_git_that_is_too_old_is_named() {
    let mut place = Sandbox::new();
    let folder = place.path().join("older");
    let git = crate::support::harness::installed().1;
    let body = format!(
        "#!/bin/sh\nfor word; do case $word in version|--version) echo 'git version 2.17.1'; exit 0;; \
         fetch) echo \"error: unknown option \\`no-write-fetch-head'\" >&2; echo 'usage: git fetch' >&2; exit 129;; esac; done\nexec {} \"$@\"\n",
        git.display()
    );
    script(&folder.join("git"), &body);
    place.first = Some(folder);
    let (hub, repo) = (place.init("hub"), place.repo("r"));
    repo.git(["remote", "add", "origin", hub.path.to_str().expect("UTF-8")]).ok();
    repo.start("a", "t");
    repo.json(["finding", "kept all the same"]);
    // there is something to fetch
    hub.start("b", "u");
    hub.run(["flush"]).ok();
    let json = repo.fails(1, ["sync"]);
    let reason = json["reason"].as_str().expect("a text");
    assert!(reason.contains("2.17.1") && reason.contains("2.39"), "{json}");
    let doctor = repo.run(["doctor"]);
    assert!(doctor.out.contains("2.17.1") && doctor.out.contains("2.39"), "{}", doctor.out);
}
