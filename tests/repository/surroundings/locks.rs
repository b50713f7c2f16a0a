//! A file system without file locks, as some network file systems: a clear answer, and nothing is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::repository::surroundings::{formats, id, repo_of, skipped, stored_once};
use crate::support::harness::{Repo, RunOutput, Sandbox};

/// Runs a program whose calls for file locks fail with an error. A filter of system calls: it works for programs without
/// a dynamic linker, too.
const WITHOUT_LOCKS: &str = r#"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
int main(int argc, char **argv) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 6, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETLK, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETLKW, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GETLK, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (atoi(argv[1]) & SECCOMP_RET_DATA)),
    };
    struct sock_fprog program = { sizeof code / sizeof *code, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("seccomp");
        return 125;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
"#;

/// The program above; `None`, and why, without a compiler, or if the kernel refuses.
fn built(place: &Sandbox) -> Option<PathBuf> {
    let (source, program) = (place.path().join("without-locks.c"), place.path().join("without-locks"));
    fs::write(&source, WITHOUT_LOCKS).expect("a file");
    let compiled = Command::new("cc").arg("-o").arg(&program).arg(&source).output();
    if !compiled.as_ref().is_ok_and(|compiled| compiled.status.success()) {
        skipped(&format!("no C compiler: {compiled:?}"));
        return None;
    }
    let tried = Command::new(&program).args(["37", "flock", "."]).arg("true").stderr(Stdio::null()).status();
    let works = tried.is_ok_and(|status| status.code() != Some(125) && !status.success());
    if !works {
        skipped("the kernel takes no filter of system calls");
    }
    works.then_some(program)
}

/// `git empirica … --json` where a lock is answered with an error.
fn without(repo: &Repo<'_>, program: &Path, error: i32, arguments: &[&str]) -> RunOutput {
    let mut command = repo.place.command(program, &repo.path);
    command.arg(error.to_string()).arg(env!("CARGO_BIN_EXE_git-empirica")).args(arguments).arg("--json");
    RunOutput::new(command.output().expect("it starts"))
}

/// It names the cause and a command that shows the file system.
#[track_caller]
fn names_the_cause(words: &str, commands: &Value) {
    assert!(words.contains("has no file locks"), "{words}");
    assert!(commands.to_string().contains("df -h "), "{commands}");
}

#[test]
fn without_file_locks_a_write_is_refused_by_name_reading_works_and_nothing_is_lost() {
    const ENOSYS: i32 = 38;
    const ENOLCK: i32 = 37;
    const EOPNOTSUPP: i32 = 95;
    let place = Sandbox::new();
    let Some(program) = built(&place) else { return };
    for format in formats(&place) {
        for error in [ENOLCK, EOPNOTSUPP, ENOSYS] {
            let repo = repo_of(&place, &format!("{}-{}-{error}", format.hash, format.refs), format);
            repo.run(["init"]).ok();
            repo.start("ada", "t");
            let mut ids = vec![id(&repo.json(["finding", "in the notes"])), repo.hand_over("t")];
            ids.push(id(&repo.json(["finding", "still pending"])));
            let run = |arguments: &[&str]| without(&repo, &program, error, arguments);
            for arguments in
                [&["status"][..], &["resume"], &["log"], &["search", "pending"], &["handoff", "list"], &["query"]]
            {
                let json = run(arguments).ok().json();
                assert_eq!(json["ok"], true, "{arguments:?}: {json}");
            }
            assert!(run(&["session", "show", "latest"]).ok().out.contains("still pending"));
            let status = run(&["status"]).json();
            names_the_cause(&status["waiting"]["reason"].to_string(), &status["waiting"]["recovery_commands"]);
            for arguments in [
                &["finding", "lost"][..],
                &["session", "start", "--ai", "eve"],
                &["checkpoint", "-v", "know=0.5"],
                &["handoff", "-m", "lost"],
            ] {
                let json = run(arguments).code(128).json();
                assert_eq!(json["ok"], false, "{arguments:?}: {json}");
                names_the_cause(&json["reason"].to_string(), &json["recovery_commands"]);
            }
            let flushed = run(&["flush"]).json();
            assert_eq!((&flushed["degraded_mode"], &flushed["waiting"]), (&true.into(), &1.into()), "{flushed}");
            names_the_cause(&flushed["warning"].to_string(), &flushed["recovery_commands"]);
            let doctor = run(&["doctor"]).code(1).json();
            let checks = doctor["checks"].as_array().expect("a list");
            let store = checks.iter().find(|check| check["check"] == "store").expect("the store");
            assert_eq!(store["ok"], false, "{store}");
            names_the_cause(&store["what"].to_string(), &store["commands"]);
            // a commit goes on
            let mut commit = place.command(&program, &repo.path);
            commit.arg(error.to_string()).args(["git", "commit", "-q", "--allow-empty", "-m", "Goes on"]);
            let ran = RunOutput::new(commit.output().expect("it starts")).ok();
            assert!(ran.err.is_empty() || ran.err.contains("has no file locks"), "{}", ran.err);
            stored_once(&repo, &ids);
            assert!(!repo.run(["export", "--jsonl"]).ok().out.contains("lost"), "a refused record is nowhere");
        }
    }
}
