//! Hooks that git runs with `GIT_DIR`, `GIT_INDEX_FILE` and `GIT_WORK_TREE` set.

use std::fs;

use crate::repository::surroundings::{add_hub, formats, repo_of};
use crate::support::harness::{Repo, RunOutput, Sandbox};

const HANDOFFS: &str = "refs/notes/empirica/handoffs";

/// Runs a shell script in a folder, with the environment of the tests.
fn sh(repo: &Repo<'_>, script: &str) -> RunOutput {
    let mut shell = repo.place.command("sh", &repo.path);
    RunOutput::new(shell.args(["-e", "-c", script]).output().expect("a shell"))
}

/// The staged entries, as git lists them.
fn staged(repo: &Repo<'_>) -> String {
    repo.git_out(["ls-files", "--stage"])
}

#[test]
fn a_hook_of_a_commit_writes_where_git_commits_and_leaves_every_index_alone() {
    let place = Sandbox::new();
    for format in formats(&place) {
        let name = format!("{}-{}", format.hash, format.refs);
        let repo = repo_of(&place, &name, format);
        repo.run(["init"]).ok();
        repo.commit("sub/a.txt", "a\n", "Sub");
        repo.git(["worktree", "add", "-q", "-b", "side", &format!("../{name}-linked")]).ok();
        let linked = place.at(format!("{name}-linked"));
        fs::create_dir(place.path().join(format!("{name}-far"))).expect("a folder");
        let far = place.at(format!("{name}-far"));
        // git exports what it was given to its hooks
        fs::write(
            repo.path.join(".git/hooks/pre-commit"),
            format!(
                "#!/bin/sh\nenv | grep -E '^GIT_(DIR|INDEX_FILE|WORK_TREE)=' >'{}' || :\n",
                far.path.join("told").display()
            ),
        )
        .expect("a hook");
        crate::repository::surroundings::set_mode(&repo.path.join(".git/hooks/pre-commit"), 0o755);
        let (git, tree) = (repo.path.join(".git"), repo.path.display().to_string());
        let git = git.display().to_string();
        let told = |names: &[&str]| {
            let text = fs::read_to_string(far.path.join("told")).expect("the hook ran");
            assert!(names.iter().all(|name| text.contains(&format!("{name}="))), "{names:?}: {text}");
        };
        repo.start("ada", "in main");
        linked.start("ada", "in linked");
        // where the command runs, the commit, where it ends, and what its hooks are told
        let ways: [(&Repo<'_>, String, &Repo<'_>, &[&str]); 7] = [
            (&repo, "git commit -q -a -m all".into(), &repo, &["GIT_INDEX_FILE"]),
            (&repo, "cd sub && git commit -q -m path a.txt".into(), &repo, &["GIT_INDEX_FILE"]),
            (&linked, "git commit -q -a -m linked".into(), &linked, &["GIT_DIR", "GIT_INDEX_FILE"]),
            (
                &far,
                format!("git --git-dir='{git}' --work-tree='{tree}' commit -q -a -m far"),
                &repo,
                &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"],
            ),
            (
                &far,
                format!("export GIT_DIR='{git}' GIT_WORK_TREE='{tree}'; git commit -q -a -m exported"),
                &repo,
                &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"],
            ),
            (&repo, "export GIT_DIR=.git; git commit -q -a -m relative".into(), &repo, &["GIT_DIR", "GIT_INDEX_FILE"]),
            (
                &repo,
                format!(
                    "cp .git/index '{0}' && export GIT_INDEX_FILE='{0}' && git add -u && git commit -q -m other",
                    far.path.join("index").display()
                ),
                &repo,
                &["GIT_INDEX_FILE"],
            ),
        ];
        for (n, (cwd, command, target, names)) in ways.into_iter().enumerate() {
            let text = format!("number {n}");
            target.run(["finding", &text]).ok();
            // of another size: git may not look again at a file that was changed in the instant of its index
            target.write("sub/a.txt", &format!("{}\n", "x".repeat(n + 2)));
            let of_main = staged(&repo);
            let ran = sh(cwd, &command).ok();
            assert_eq!(ran.err, "", "{command}");
            told(names);
            assert!(target.note(HANDOFFS, &target.head()).contains(&text), "{command}");
            if command.contains("GIT_INDEX_FILE") {
                assert_eq!(staged(&repo), of_main, "the usual index is not touched");
                repo.git(["reset", "-q"]).ok();
            }
            for clean in [&repo, &linked] {
                assert_eq!(clean.git_out(["status", "--porcelain"]), "", "{command}");
            }
        }
        assert_eq!(below_named(&far, "empirica"), 0, "nothing of ours is where the shell was");
        repo.fsck();
    }
}

fn below_named(repo: &Repo<'_>, part: &str) -> usize {
    let all = crate::repository::surroundings::below(&repo.path);
    all.iter().filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(part))).count()
}

#[test]
fn the_program_in_a_users_hook_writes_to_the_repository_of_that_hook_though_it_stands_in_another() {
    let place = Sandbox::new();
    for format in formats(&place) {
        let name = format!("{}-{}", format.hash, format.refs);
        let (repo, other) = (repo_of(&place, &name, format), repo_of(&place, &format!("{name}-other"), format));
        repo.start("ada", "t");
        let elsewhere = other.path.display();
        // in a linked worktree git sets GIT_DIR; one that leaves it for another repository has to unset it, as for git
        repo.git(["worktree", "add", "-q", "-b", "side", &format!("../{name}-linked")]).ok();
        let linked = place.at(format!("{name}-linked"));
        let body = format!(
            "#!/bin/sh\ncd '{elsewhere}' && git empirica finding 'with its variables' --ai ada\n\
             unset $(git rev-parse --local-env-vars) && git empirica finding 'without them' --ai eve\n"
        );
        let hook = repo.path.join(".git/hooks/post-commit");
        crate::setup::init::script(&hook, &body);
        linked.commit("f", "x\n", "One");
        for (clone, text, absent) in
            [(&repo, "with its variables", "without them"), (&other, "without them", "with its variables")]
        {
            clone.json(["flush"]);
            let journal = clone.lines("journal").concat();
            assert!(journal.contains(text) && !journal.contains(absent), "{journal}");
        }
        assert_eq!(linked.git_out(["status", "--porcelain"]), "");
    }
}

#[test]
fn pre_push_and_post_rewrite_work_with_the_variables_of_git() {
    let place = Sandbox::new();
    for format in formats(&place) {
        let name = format!("{}-{}", format.hash, format.refs);
        let repo = repo_of(&place, &name, format);
        add_hub(&repo, &name, format);
        repo.run(["init"]).ok();
        fs::create_dir(place.path().join(format!("{name}-far"))).expect("a folder");
        let far = place.at(format!("{name}-far"));
        let at = format!("git --git-dir='{0}/.git' --work-tree='{0}'", repo.path.display());
        repo.start("ada", "t");
        repo.write("f", "x\n");
        let handoff = repo.hand_over("t");
        sh(&far, &format!("{at} add -A && {at} commit -q -m One && {at} commit -q --amend -m Two")).ok();
        assert!(repo.handoffs_at(&repo.head()).contains(&handoff), "it follows");
        // a relative URL is relative to the work tree
        sh(&far, &format!("{at} push -q origin main")).ok();
        let theirs = place.at(format!("{name}.git")).git_out(["for-each-ref", "--format=%(refname)"]);
        assert!(theirs.contains("refs/notes/empirica/data/handoffs"), "{theirs}");
        assert_eq!(repo.git_out(["status", "--porcelain"]), "");
    }
}
