//! Every state of a repository: worktrees, bare, detached, no identity, foreign formats and owners.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox, fed};

/// A session with a finding and a handoff; returns the handoff's id.
#[track_caller]
fn hand_over(repo: &Repo<'_>, ai: &str) -> String {
    repo.start(ai, "a task");
    repo.json(["finding", "a fact", "--ai", ai]);
    let json = repo.json(["handoff", "--ai", ai, "--next", "a step"]);
    json["handoff_id"].as_str().expect("an id").to_owned()
}

/// The handoffs of `handoff list`.
#[track_caller]
fn listed(repo: &Repo<'_>) -> Vec<String> {
    let json = repo.json(["handoff", "list"]);
    let rows = json["handoffs"].as_array().expect("a list").iter();
    rows.map(|row| row["handoff_id"].as_str().expect("an id").to_owned()).collect()
}

/// The texts of a session's findings.
#[track_caller]
fn findings(repo: &Repo<'_>, session: &str) -> String {
    repo.run(["session", "show", session]).ok().out
}

/// Every path below a folder but for `.git`.
fn tree(folder: &Path) -> Vec<String> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.file_name().is_some_and(|name| name != ".git") {
            out.push(entry.display().to_string());
            if entry.is_dir() {
                out.extend(tree(&entry));
            }
        }
    }
    out.sort();
    out
}

fn linked<'p>(place: &'p Sandbox, repo: &Repo<'_>, name: &str) -> Repo<'p> {
    let path = place.path().join(name);
    repo.git(["worktree", "add", "-q", path.to_str().expect("UTF-8")]).ok();
    place.at(name)
}

#[test]
fn worktrees_share_one_store_below_the_common_dir() {
    let place = Sandbox::new();
    let main = place.repo("main");
    let other = linked(&place, &main, "other");
    let here = hand_over(&main, "a");
    let there = hand_over(&other, "b");
    for repo in [&main, &other] {
        let mut all = listed(repo);
        all.sort();
        assert_eq!(all, {
            let mut both = vec![here.clone(), there.clone()];
            both.sort();
            both
        });
    }
    assert!(main.path.join(".git/empirica").is_dir());
    assert!(!main.path.join(".git/worktrees/other/empirica").exists());
    assert!(main.git_out(["for-each-ref", "refs/worktree", "refs/bisect"]).is_empty());
}

#[test]
fn sessions_of_worktrees_are_apart() {
    let place = Sandbox::new();
    let main = place.repo("main");
    let other = linked(&place, &main, "other");
    main.start("a", "in main");
    other.fails(1, ["drift"]);
    other.start("a", "in other");
    let first = main.json(["finding", "of main"]);
    let second = other.json(["finding", "of other"]);
    assert_ne!(first["session_id"], second["session_id"]);
}

#[test]
fn removing_a_worktree_loses_no_unflushed_record() {
    let place = Sandbox::new();
    let main = place.repo("main");
    let other = linked(&place, &main, "other");
    let session = other.start("a", "t");
    other.json(["finding", "not flushed yet"]);
    assert!(other.json(["status"])["unflushed"].as_u64().expect("a number") > 0);
    main.git(["worktree", "remove", other.path.to_str().expect("UTF-8")]).ok();
    assert!(findings(&main, &session).contains("not flushed yet"));
    main.json(["flush"]);
    assert!(main.lines("journal").iter().any(|line| line.contains("not flushed yet")));
    assert!(findings(&main, &session).contains("not flushed yet"));
}

#[test]
fn a_subfolder_works_and_nothing_is_left_in_the_work_tree() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.commit("deep/er/file", "x\n", "Deep");
    let before = tree(&repo.path);
    let below = place.at("r/deep/er");
    let id = hand_over(&below, "a");
    assert_eq!(listed(&repo), [id]);
    below.run(["resume"]).ok();
    below.run(["log", "--handoffs"]).ok();
    assert_eq!(tree(&repo.path), before);
    assert_eq!(repo.git_out(["status", "--porcelain"]), "");
}

#[test]
fn a_bare_repository_keeps_records_on_head() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["clone", "-q", "--bare", ".", "../bare.git"]).ok();
    let bare = place.at("bare.git");
    let id = hand_over(&bare, "a");
    assert!(bare.note("refs/notes/empirica/handoffs", &bare.head()).contains("a fact"));
    assert_eq!(listed(&bare), std::slice::from_ref(&id));
    assert!(bare.run(["resume"]).ok().out.contains("a step"));
    assert!(bare.run(["log", "--handoffs"]).ok().out.contains(&id[id.len() - 8..]));
    bare.run(["status"]).ok();
    bare.json(["checkpoint", "-v", "know=0.5"]);
    bare.fsck();
}

#[test]
fn a_bare_repository_without_commits_works() {
    let place = Sandbox::new();
    fs::create_dir(place.path().join("bare.git")).expect("a folder");
    let bare = place.at("bare.git");
    bare.git(["init", "-q", "--bare"]).ok();
    let id = hand_over(&bare, "a");
    assert_eq!(listed(&bare), [id]);
    assert!(bare.run(["resume"]).ok().out.contains("a step"));
    bare.run(["log", "--handoffs"]).ok();
    bare.run(["status"]).ok();
    assert_eq!(bare.git(["rev-parse", "--verify", "-q", "HEAD"]).code, 1);
    bare.fsck();
}

#[test]
fn a_detached_head_works() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["checkout", "-q", "--detach"]).ok();
    let id = hand_over(&repo, "a");
    assert_eq!(repo.json(["log", "--handoffs"])["commits"][0]["handoffs"][0]["handoff_id"], id);
    assert!(repo.run(["status"]).ok().out.contains("detached"));
    assert_eq!(repo.git(["symbolic-ref", "-q", "HEAD"]).code, 1);
}

#[test]
fn without_an_identity_the_notes_commit_has_the_fallback() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["config", "--unset", "user.name"]).ok();
    repo.git(["config", "--unset", "user.email"]).ok();
    let id = hand_over(&repo, "a");
    assert_eq!(listed(&repo), [id]);
    let who = repo.git_out(["log", "-1", "--format=%an <%ae> %cn <%ce>", "refs/notes/empirica/data/handoffs"]);
    assert_eq!(who, "git-empirica <git-empirica@localhost> git-empirica <git-empirica@localhost>");
    let nameless = repo.json(["session", "start"]);
    assert_eq!(nameless["ai_id"], "unknown", "a session needs no agent's name");
}

#[test]
fn an_author_in_the_environment_does_not_leak_into_the_notes() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let author = [("GIT_AUTHOR_NAME", "Somebody Else"), ("GIT_AUTHOR_EMAIL", "else@example.com")];
    repo.run_with_env(&author, ["session", "start", "--ai", "a", "--task", "t"]).ok();
    repo.run_with_env(&author, ["handoff"]).ok();
    let who = repo.git_out(["log", "-1", "--format=%an <%ae>", "refs/notes/empirica/data/handoffs"]);
    assert_eq!(who, "Test <test@example.com>");
}

#[test]
fn the_committer_is_the_one_git_would_use() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["config", "user.name", "User"]).ok();
    repo.git(["config", "--unset", "user.email"]).ok();
    let by_git = |env: &[(&str, &str)]| {
        let mut command = repo.place.command("git", &repo.path);
        command.args(["var", "GIT_COMMITTER_IDENT"]).envs(env.iter().copied());
        let ident = fed(command, b"").ok().out;
        ident[..=ident.find('>').expect("an address")].to_owned()
    };
    let committer = [("GIT_COMMITTER_NAME", "C"), ("GIT_COMMITTER_EMAIL", "c@example.com")];
    let address = [("EMAIL", "address@example.com")];
    for (key, env) in
        [("", &address[..]), ("committer.name", &address), ("committer.email", &[]), ("user.email", &committer)]
    {
        if !key.is_empty() {
            repo.git(["config", key, &format!("{key}@example.com")]).ok();
        }
        repo.run_with_env(env, ["finding", &format!("with {key}")]).ok();
        repo.run_with_env(env, ["flush"]).ok();
        let who = repo.git_out(["log", "-1", "--format=%cn <%ce>", "refs/notes/empirica/data/journal"]);
        assert_eq!(who, by_git(env), "{key}");
    }
}

#[test]
fn git_dir_and_work_tree_in_the_environment_are_obeyed() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let elsewhere = place.repo("elsewhere");
    let (git_dir, work_tree) = (repo.path.join(".git"), repo.path.clone());
    let set = [("GIT_DIR", git_dir.to_str().expect("UTF-8")), ("GIT_WORK_TREE", work_tree.to_str().expect("UTF-8"))];
    elsewhere.run_with_env(&set, ["session", "start", "--ai", "a", "--task", "t"]).ok();
    elsewhere.run_with_env(&set, ["finding", "a fact"]).ok();
    elsewhere.run_with_env(&set, ["handoff", "--next", "a step"]).ok();
    assert_eq!(listed(&repo).len(), 1);
    assert!(listed(&elsewhere).is_empty());
    assert!(elsewhere.run_with_env(&set, ["log", "--handoffs"]).ok().out.contains("a fact"));
}

#[test]
fn inside_the_git_dir_it_works() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let inside = place.at("r/.git");
    let id = hand_over(&inside, "a");
    assert_eq!(listed(&repo), [id]);
    for command in ["status", "resume", "log", "query"] {
        inside.run([command]).ok();
    }
}

#[test]
fn a_submodule_has_its_own_store() {
    let place = Sandbox::new();
    let (library, repo) = (place.repo("library"), place.repo("r"));
    let url = library.path.to_str().expect("UTF-8");
    repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]).ok();
    repo.git(["commit", "-q", "-m", "Add sub"]).ok();
    let sub = place.at("r/sub");
    let id = hand_over(&sub, "a");
    assert_eq!(listed(&sub), [id]);
    assert!(listed(&repo).is_empty());
    assert!(repo.path.join(".git/modules/sub/empirica").is_dir());
    assert_eq!(repo.git_out(["status", "--porcelain"]), "");
}

#[test]
fn a_sha256_repository_works() {
    let place = Sandbox::new();
    fs::create_dir(place.path().join("r")).expect("a folder");
    let repo = place.at("r");
    repo.git(["init", "-q", "-b", "main", "--object-format=sha256"]).ok();
    repo.git(["config", "user.name", "Test"]).ok();
    repo.git(["config", "user.email", "test@example.com"]).ok();
    let unborn = hand_over(&repo, "a");
    let commit = repo.commit("f", "x\n", "One");
    assert_eq!(commit.len(), 64);
    let born = hand_over(&repo, "b");
    assert_eq!(listed(&repo).len(), 2);
    let log = repo.run(["log", "--handoffs"]).ok().out;
    assert!(log.contains(&unborn[28..]) && log.contains(&born[28..]), "{log}");
    assert!(repo.note("refs/notes/empirica/handoffs", &commit).contains("a fact"));
    repo.fsck();
}

/// Why git itself refuses a repository: what it says before its advice.
#[track_caller]
fn gits_reason(repo: &Repo<'_>) -> String {
    let output = repo.git(["rev-parse", "--git-dir"]).code(128).err;
    let lines = output.lines().take_while(|line| !line.starts_with("To add"));
    let lines: Vec<&str> = lines.map(|line| line.trim().trim_start_matches("fatal: ")).collect();
    lines.join("; ")
}

/// What must be refused as git would, before anything is written.
#[track_caller]
fn refused(repo: &Repo<'_>) -> Value {
    for command in [["session", "list"], ["handoff", "list"], ["finding", "x"]] {
        repo.fails(128, command);
    }
    for hook in ["post-commit", "pre-push", "post-rewrite"] {
        let ran = repo.run(["hook", hook]).ok();
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""), "a hook is silent");
    }
    assert!(!repo.path.join(".git/empirica").exists());
    repo.fails(128, ["session", "start", "--ai", "a"])
}

#[test]
fn an_unknown_extension_is_refused_by_name() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["config", "core.repositoryFormatVersion", "1"]).ok();
    repo.git(["config", "extensions.telepathy", "true"]).ok();
    let json = refused(&repo);
    assert!(json["error"].as_str().expect("a text").contains("telepathy"), "{json}");
    assert_eq!(json["reason"], gits_reason(&repo));
}

#[test]
fn a_newer_format_version_is_refused() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["config", "core.repositoryFormatVersion", "2"]).ok();
    let json = refused(&repo);
    let text = format!("{}: {}", json["error"], json["reason"]);
    assert!(text.contains("version") && !text.contains("not a git repository"), "{json}");
    assert_eq!(json["reason"], gits_reason(&repo));
}

#[test]
fn another_users_repository_is_refused_until_its_command_is_run() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    // only root can give a folder away
    if fs::metadata(&repo.path).expect("a folder").uid() != 0 {
        return;
    }
    for folder in [repo.path.clone(), repo.path.join(".git")] {
        std::os::unix::fs::chown(folder, Some(12345), None).expect("root may");
    }
    fs::create_dir(repo.path.join("below")).expect("a folder");
    for at in [place.at("r"), place.at("r/below")] {
        let json = at.fails(128, ["session", "list"]);
        let command = json["recovery_commands"][0].as_str().expect("a command");
        let wanted = format!("git config --global --add safe.directory {}", repo.path.display());
        assert_eq!(command, wanted, "git itself asks for the root of the work tree");
        assert_eq!(json["reason"], gits_reason(&at));
    }
    repo.git(["config", "--global", "--add", "safe.directory", repo.path.to_str().expect("UTF-8")]).ok();
    repo.run(["session", "list"]).ok();
    place.at("r/below").run(["session", "list"]).ok();
}

#[test]
fn outside_a_repository_status_suggests_git_init() {
    let place = Sandbox::new();
    let json = place.at("home").fails(128, ["status"]);
    assert_eq!(json["recovery_commands"][0], "git init");
}
