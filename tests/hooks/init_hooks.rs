//! The shipped hooks: existing hooks keep running first, with arguments, stdin and exit status.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::setup::init::{listing, script};
use crate::support::harness::{Repo, RunOutput, Sandbox, installed};

/// A program that writes down how it was called, first on PATH, and what it wrote.
struct Fake<'p> {
    repo: Repo<'p>,
    folder: PathBuf,
}

impl<'p> Fake<'p> {
    /// It exits with `status` when it is called as a hook.
    fn new(repo: &Repo<'p>, status: i32) -> Self {
        let folder = repo.place.path().join("fake");
        let text = "#!/bin/sh\n[ \"$1\" = hook ] || exit 0\n{ echo \"ours $*\"; case $2 in post-rewrite|pre-push) cat;; esac; } >> \"$RAN\"\nexit STATUS\n";
        script(&folder.join("git-empirica"), &text.replace("STATUS", &status.to_string()));
        Fake { repo: repo.clone(), folder }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = self.repo.place.command(program, &self.repo.path);
        let folders = std::iter::once(self.folder.clone()).chain(self.repo.place.first.clone()).chain(installed().0);
        command.env("PATH", std::env::join_paths(folders).expect("a path")).env("RAN", self.ran());
        command
    }

    fn ran(&self) -> PathBuf {
        self.repo.place.path().join("ran")
    }

    fn git(&self, arguments: &[&str]) -> RunOutput {
        let out = self.command("git").args(arguments).output().expect("git starts");
        RunOutput {
            code: out.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&out.stdout).into_owned(),
            err: String::from_utf8_lossy(&out.stderr).into_owned(),
        }
    }

    /// What was written since the last time.
    fn take_output(&self) -> String {
        let output = fs::read_to_string(self.ran()).unwrap_or_default();
        let _ = fs::remove_file(self.ran());
        output
    }

    fn commit(&self, name: &str) -> RunOutput {
        self.repo.write(name, name);
        self.git(&["add", name]).ok();
        self.git(&["commit", "-q", "-m", name])
    }

    /// Runs a hook as git does, with a text on standard input; returns its exit status.
    fn hook(&self, name: &str, input: &[u8]) -> i32 {
        use std::io::Write;
        let folder = self.repo.git_out(["rev-parse", "--path-format=absolute", "--git-path", "hooks"]);
        let mut command = self.command(&format!("{folder}/{name}"));
        let mut child = command.args(["a", "b c"]).stdin(Stdio::piped()).spawn().expect("it starts");
        // it may not want it
        let _ = child.stdin.take().expect("a pipe").write_all(input);
        child.wait().expect("it ends").code().expect("a status")
    }
}

const THEIRS: &str = "#!/bin/sh\n{ echo \"theirs $*\"; cat; } >> \"$RAN\"\n";

fn hub(repo: &Repo<'_>) {
    repo.git(["init", "-q", "--bare", "../hub.git"]).ok();
    repo.git(["remote", "add", "origin", "../hub.git"]).ok();
}

#[test]
fn existing_hooks_run_first_with_arguments_and_stdin_and_keep_their_status() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    for name in ["post-commit", "post-applypatch", "post-merge", "post-rewrite", "pre-push"] {
        script(&repo.path.join(".git/hooks").join(name), &format!("{THEIRS}exit 7\n"));
    }
    repo.json(["init"]);
    let fake = Fake::new(&repo, 0);
    for (name, shared) in
        [("post-commit", false), ("post-applypatch", false), ("post-merge", false), ("post-rewrite", true)]
    {
        for input in ["", "one\n", "one\ntwo\n\n\n", "no line end"] {
            assert_eq!(fake.hook(name, input.as_bytes()), 7, "{name}");
            let second = if shared { input } else { "" };
            assert_eq!(fake.take_output(), format!("theirs a b c\n{input}ours hook {name} a b c\n{second}"), "{name}");
        }
    }
    // what they refuse is not pushed
    assert_eq!(fake.hook("pre-push", b"line\n"), 7);
    assert_eq!(fake.take_output(), "theirs a b c\nline\n");
    hub(&repo);
    fake.git(&["push", "-q", "origin", "main"]).code(1);
    assert!(!fake.take_output().contains("ours"));
    assert_eq!(repo.git_out(["ls-remote", "origin"]), "");
    // what they let pass is seen by both
    script(&repo.path.join(".git/hooks/pre-push"), THEIRS);
    let head = repo.head();
    fake.git(&["push", "-q", "origin", "main"]).ok();
    let line = format!("refs/heads/main {head} refs/heads/main {}\n", "0".repeat(40));
    assert_eq!(
        fake.take_output(),
        format!("theirs origin ../hub.git\n{line}ours hook pre-push origin ../hub.git\n{line}")
    );
    // nothing to push, no line
    fake.git(&["push", "-q", "origin", "main"]).ok();
    assert_eq!(fake.take_output(), "theirs origin ../hub.git\nours hook pre-push origin ../hub.git\n");
}

#[test]
fn an_existing_hook_keeps_its_name_and_path() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    let hooks = repo.path.join(".git/hooks");
    // one program for all hooks, by links, with files beside it
    script(
        &hooks.join("dispatch"),
        "#!/bin/sh\ncase ${0##*/} in pre-push | post-commit) ;; *) exit 64 ;; esac\ncat \"$(dirname \"$0\")/words\" >> \"$RAN\"\n",
    );
    std::fs::write(hooks.join("words"), "theirs\n").expect("a file");
    for name in ["pre-push", "post-commit"] {
        std::os::unix::fs::symlink("dispatch", hooks.join(name)).expect("a link");
    }
    repo.json(["init"]);
    let fake = Fake::new(&repo, 0);
    hub(&repo);
    fake.commit("a").ok();
    assert_eq!(fake.take_output(), "theirs\nours hook post-commit\n");
    fake.git(&["push", "-q", "origin", "main"]).ok();
    assert!(fake.take_output().starts_with("theirs\nours hook pre-push"));
}

#[test]
fn git_calls_our_hooks_where_there_were_none() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    repo.json(["init"]);
    let fake = Fake::new(&repo, 0);
    let first = repo.head();
    fake.commit("a").ok();
    assert_eq!(fake.take_output(), "ours hook post-commit\n");
    let old = repo.head();
    fake.git(&["commit", "-q", "--amend", "-m", "Better"]).ok();
    let amended = format!("ours hook post-commit\nours hook post-rewrite amend\n{old} {}\n", repo.head());
    assert_eq!(fake.take_output(), amended);
    fake.git(&["switch", "-q", "-c", "side", &first]).ok();
    fake.commit("b").ok();
    fake.take_output();
    fake.git(&["merge", "-q", "--no-edit", "main"]).ok();
    assert_eq!(fake.take_output(), "ours hook post-merge 0\n");
    fake.git(&["format-patch", "-q", "-1", "main", "-o", "../patches"]).ok();
    fake.git(&["reset", "-q", "--hard", &first]).ok();
    fake.git(&["am", "-q", "../patches/0001-Better.patch"]).ok();
    assert_eq!(fake.take_output(), "ours hook post-applypatch\n");
    // stdin that nobody reads breaks nothing
    let many = "a line of a push\n".repeat(100_000);
    assert_eq!(fake.hook("post-commit", many.as_bytes()), 0);
}

#[test]
fn an_existing_hook_that_ignores_large_input_breaks_nothing() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    for name in ["post-rewrite", "pre-push"] {
        script(&repo.path.join(".git/hooks").join(name), "#!/bin/sh\nexit 0\n");
    }
    repo.json(["init"]);
    let fake = Fake::new(&repo, 0);
    let many = "a line of a push\n".repeat(100_000);
    for name in ["post-rewrite", "pre-push"] {
        assert_eq!(fake.hook(name, many.as_bytes()), 0, "{name}");
        assert_eq!(fake.take_output(), format!("ours hook {name} a b c\n{many}"), "{name}");
    }
}

#[test]
fn git_works_without_the_program_or_with_a_failing_one() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    hub(&repo);
    repo.json(["init"]);
    let fake = Fake::new(&repo, 0);
    fs::remove_file(fake.folder.join("git-empirica")).expect("the program");
    let ran = fake.commit("a").ok();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let ran = fake.git(&["push", "-q", "origin", "main"]).ok();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    // one that does not know hooks
    let fake = Fake::new(&repo, 2);
    fake.commit("b").ok();
    fake.git(&["push", "-q", "origin", "main"]).ok();
    // one that insists, as with empirica.strict
    let fake = Fake::new(&repo, 1);
    fake.commit("c").ok();
    fake.git(&["push", "-q", "origin", "main"]).code(1);
    script(&repo.path.join(".git/hooks/pre-push.before-empirica"), THEIRS);
    fake.git(&["push", "-q", "origin", "main"]).code(1);
    // the real one fails no commit
    repo.commit("d", "d\n", "Add d");
}

/// A repository with tracked hooks in a relative folder, as husky has them.
fn husky<'p>(place: &'p Sandbox) -> Repo<'p> {
    let repo = place.repo("project");
    repo.write(".husky/_/.gitignore", "*\n");
    for name in ["post-commit", "pre-push"] {
        script(
            &repo.path.join(".husky").join(name),
            &format!("#!/bin/sh\n. \"${{0%/*}}/lib\"\n{}", THEIRS.replace("theirs", "husky")),
        );
    }
    repo.write(".husky/lib", "echo sourced >> \"$RAN\"\n");
    script(&repo.path.join(".husky/commit-msg"), "#!/bin/sh\ngrep -q good \"$1\"\n");
    repo.git(["add", "."]).ok();
    repo.git(["commit", "-q", "-m", "Hooks"]).ok();
    repo.git(["config", "core.hooksPath", ".husky"]).ok();
    repo
}

#[test]
fn a_relative_hooks_path_is_chained_to_and_its_tracked_files_are_not_touched() {
    let place = Sandbox::older_git();
    let repo = husky(&place);
    hub(&repo);
    let before = listing(&repo.path);
    let json = repo.json(["init"]);
    assert_eq!(json["hooks"], "folder", "{json}");
    assert_eq!(repo.git_out(["status", "--porcelain"]), "");
    let fake = Fake::new(&repo, 0);
    fake.commit("bad").code(1);
    assert_eq!(fake.take_output(), "", "their commit-msg refused");
    fake.commit("good").ok();
    assert_eq!(fake.take_output(), "sourced\nhusky \nours hook post-commit\n");
    fake.git(&["push", "-q", "origin", "main"]).ok();
    let output = fake.take_output();
    assert_eq!(output.matches("refs/heads/main").count(), 4, "both read the line: {output}");
    assert!(output.starts_with("sourced\nhusky origin") && output.contains("\nours hook pre-push origin"), "{output}");
    // a hook that comes later runs at once, when it is a usual one
    script(&repo.path.join(".husky/pre-commit"), "#!/bin/sh\necho early >> \"$RAN\"\n");
    fake.commit("good too").ok();
    assert!(fake.take_output().starts_with("early\n"));
    fs::remove_file(repo.path.join(".husky/pre-commit")).expect("a hook");
    repo.git(["reset", "-q", "--hard", "HEAD~2"]).ok();
    // its own set-up takes the setting back; init again re-points it
    repo.git(["config", "core.hooksPath", ".husky"]).ok();
    fake.git(&["commit", "-q", "--allow-empty", "-m", "good"]).ok();
    assert_eq!(fake.take_output(), "sourced\nhusky \n", "ours does not run");
    assert_eq!(repo.json(["init"])["changes"].as_array().expect("changes").len(), 1);
    fake.git(&["commit", "-q", "--allow-empty", "-m", "good"]).ok();
    assert!(fake.take_output().ends_with("ours hook post-commit\n"));
    repo.json(["deinit"]);
    let config = repo.path.join(".git/config").to_string_lossy().into_owned();
    assert_eq!(listing(&repo.path)[&config], before[&config], "to the byte");
    assert!(!repo.path.join(".git/empirica").exists());
}

#[test]
fn a_relative_hooks_path_means_the_same_in_every_worktree() {
    let place = Sandbox::older_git();
    let repo = husky(&place);
    repo.git(["worktree", "add", "-q", "-b", "side", "../linked"]).ok();
    let linked = place.at("linked");
    script(&linked.path.join(".husky/post-commit"), "#!/bin/sh\necho linked >> \"$RAN\"\n");
    linked.json(["init"]);
    let fake = Fake::new(&linked, 0);
    fake.git(&["commit", "-q", "--allow-empty", "-m", "good"]).ok();
    assert_eq!(fake.take_output(), "linked\nours hook post-commit\n");
    let fake = Fake::new(&repo, 0);
    fake.git(&["commit", "-q", "--allow-empty", "-m", "good"]).ok();
    assert_eq!(fake.take_output(), "sourced\nhusky \nours hook post-commit\n");
}

#[test]
fn global_hooks_run_in_a_submodule_too() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    let library = place.repo("library");
    let url = library.path.to_str().expect("UTF-8");
    repo.git(["-c", "protocol.file.allow=always", "submodule", "add", "-q", url, "lib"]).ok();
    script(&place.path().join("home/my hooks/post-commit"), &THEIRS.replace("theirs", "global"));
    script(&place.path().join("home/my hooks/reference-transaction"), "#!/bin/sh\nexit 0\n");
    repo.git(["config", "--global", "core.hooksPath", "~/my hooks"]).ok();
    repo.git(["config", "--global", "user.name", "Test"]).ok();
    repo.git(["config", "--global", "user.email", "test@example.com"]).ok();
    let sub = place.at("project/lib");
    let config = repo.path.join(".git/modules/lib/config");
    let before = fs::read(&config).expect("a file");
    assert_eq!(sub.json(["init"])["hooks"], "folder");
    let ours = repo.path.join(".git/modules/lib/empirica/hooks");
    assert!(ours.join("reference-transaction").exists(), "theirs has it");
    assert!(!ours.join("post-index-change").exists(), "its mere presence costs");
    let fake = Fake::new(&sub, 0);
    fake.git(&["commit", "-q", "--allow-empty", "-m", "x"]).ok();
    assert_eq!(fake.take_output(), "global \nours hook post-commit\n");
    sub.json(["deinit"]);
    assert_eq!(fs::read(&config).expect("a file"), before);
    fake.git(&["commit", "-q", "--allow-empty", "-m", "x"]).ok();
    assert_eq!(fake.take_output(), "global \n");
}

#[test]
fn a_setting_of_one_worktree_is_replaced_in_that_worktree_alone() {
    let place = Sandbox::older_git();
    let repo = place.repo("project");
    repo.git(["config", "extensions.worktreeConfig", "true"]).ok();
    repo.git(["worktree", "add", "-q", "-b", "side", "../linked"]).ok();
    let linked = place.at("linked");
    script(&place.path().join("own/post-commit"), &THEIRS.replace("theirs", "own"));
    let own = place.path().join("own");
    linked.git(["config", "--worktree", "core.hooksPath", own.to_str().expect("UTF-8")]).ok();
    let before = listing(&repo.path);
    linked.json(["init"]);
    repo.json(["init"]);
    let local = repo.git(["config", "--local", "core.hooksPath"]);
    assert_eq!(local.code, 1, "nothing for the others: {}", local.out);
    let fake = Fake::new(&linked, 0);
    fake.git(&["commit", "-q", "--allow-empty", "-m", "x"]).ok();
    assert_eq!(fake.take_output(), "own \nours hook post-commit\n");
    let fake = Fake::new(&repo, 0);
    fake.git(&["commit", "-q", "--allow-empty", "-m", "x"]).ok();
    assert_eq!(fake.take_output(), "ours hook post-commit\n");
    assert_eq!(linked.json(["init"])["changes"], serde_json::json!([]));
    // from the other worktree
    repo.json(["deinit"]);
    let now = listing(&repo.path);
    for file in [".git/config", ".git/worktrees/linked/config.worktree"] {
        let file = repo.path.join(file).to_string_lossy().into_owned();
        assert_eq!(now[&file], before[&file], "{file}");
    }
    assert_eq!(
        listing(&repo.path.join(".git/hooks")).len(),
        before.keys().filter(|key| key.contains("/hooks/")).count()
    );
}

#[test]
fn hooks_are_configured_where_git_supports_it() {
    let mut place = Sandbox::newer_git();
    let repo = husky(&place);
    let before = listing(&repo.path);
    let json = repo.json(["init"]);
    assert_eq!((&json["hooks"], &json["hooks_folder"]), (&"config".into(), &serde_json::Value::Null), "{json}");
    let command = repo.git_out(["config", "hook.empirica-post-commit.command"]);
    assert_eq!(command, "command -v git-empirica >/dev/null 2>&1 || exit 0; exec git-empirica hook post-commit");
    for name in ["post-commit", "post-applypatch", "post-merge", "post-rewrite", "pre-push"] {
        assert_eq!(repo.git_out(["config", "--get-all", &format!("hook.empirica-{name}.event")]), name);
    }
    assert_eq!(repo.git_out(["config", "core.hooksPath"]), ".husky", "nothing else is touched");
    assert_eq!(repo.json(["init"])["changes"], serde_json::json!([]));
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
    // a set-up moves with the git that is installed, there and back
    let older = Sandbox::older_git();
    let path = repo.path.clone();
    for (wrapper, hooks) in [(&older.first, "folder"), (&place.first.clone(), "config"), (&older.first, "folder")] {
        place.first = wrapper.clone();
        let repo = Repo { place: &place, path: path.clone() };
        assert_eq!(repo.json(["init"])["hooks"], hooks);
        let named = repo.git_out(["config", "core.hooksPath"]);
        assert_eq!(named == ".husky", hooks == "config", "{named}");
        assert_eq!(repo.path.join(".git/empirica/hooks").exists(), hooks == "folder");
        assert_eq!(repo.git(["config", "--get-regexp", "^hook"]).code == 0, hooks == "config");
    }
    let repo = Repo { place: &place, path };
    repo.json(["deinit"]);
    assert_eq!(listing(&repo.path), before);
}

#[test]
fn configured_hooks_get_arguments_and_stdin_and_fail_no_push() {
    let place = Sandbox::newer_git();
    let repo = place.repo("project");
    repo.json(["init"]);
    for (name, status, left) in [("post-rewrite", 0, 0), ("pre-push", 0, 0), ("pre-push", 2, 0), ("pre-push", 1, 1)] {
        let fake = Fake::new(&repo, status);
        // as git runs a command of the configuration: arguments behind it, by a shell
        let line = format!("{} \"$@\"", repo.git_out(["config", &format!("hook.empirica-{name}.command")]));
        script(&repo.path.join(".git/hooks/tried"), &format!("#!/bin/sh\n{line}\n"));
        assert_eq!(fake.hook("tried", b"line\n"), left, "{name}");
        assert_eq!(fake.take_output(), format!("ours hook {name} a b c\nline\n"));
        fs::remove_file(fake.folder.join("git-empirica")).expect("the program");
        assert_eq!(fake.hook("tried", b"line\n"), 0, "{name} without the program");
    }
    fs::remove_file(repo.path.join(".git/hooks/tried")).expect("a hook");
    let fake = Fake::new(&repo, 0);
    // where the installed git can do it, by git itself
    let usage = Command::new(installed().1).args(["hook", "-h"]).output().expect("git starts");
    if String::from_utf8_lossy(&usage.stdout).contains("git hook list") {
        script(&repo.path.join(".git/hooks/post-commit"), THEIRS);
        fake.commit("a").ok();
        let output = fake.take_output();
        assert!(output.contains("ours hook post-commit\n") && output.contains("theirs \n"), "{output}");
    }
}
