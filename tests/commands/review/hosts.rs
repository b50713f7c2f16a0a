//! The recipes for GitHub and GitLab, against hosts with the answers of their APIs.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::branch;
use crate::support::harness::{Repo, RunOutput, Sandbox};
use crate::support::hosts::{Api, Host};

const BEGIN: &str = "<!-- git-empirica -->";
const END: &str = "<!-- /git-empirica -->";

/// A job of a pull request: the remote that it is for, the host, and the folder that it runs in.
struct Job<'s> {
    sandbox: &'s Sandbox,
    /// Where the branch is made.
    repo: Repo<'s>,
    host: Host,
    folder: PathBuf,
}

impl<'s> Job<'s> {
    /// The two agents' branch, pushed as pull request 7; `None` without curl and jq, which the recipes need.
    fn new(sandbox: &'s Sandbox, api: Api) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = |name: &&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
        if !["curl", "jq"].iter().all(is_there) {
            return None;
        }
        let repo = branch(sandbox);
        let remote = sandbox.path().join("server/o/r");
        std::fs::create_dir_all(&remote).expect("a folder");
        repo.git(["init", "-q", "--bare", remote.to_str().expect("UTF-8")]).ok();
        // GitLab's ends with .git
        std::os::unix::fs::symlink(&remote, sandbox.path().join("server/o/r.git")).expect("a link");
        repo.git(["remote", "add", "origin", remote.to_str().expect("UTF-8")]).ok();
        repo.run(["init"]).ok();
        let folder = sandbox.path().join("job");
        std::fs::create_dir_all(&folder).expect("a folder");
        let job = Job { sandbox, repo, host: Host::new(api), folder };
        job.push();
        Some(job)
    }

    fn push(&self) {
        self.repo.git(["push", "-q", "--force", "origin", "main", "topic:refs/pull/7/head"]).ok();
        self.repo.git(["push", "-q", "--force", "origin", "topic:refs/merge-requests/7/head"]).ok();
        self.repo.run(["sync"]).ok();
    }

    fn command(&self, token: &str, fork: Option<&str>) -> Command {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib/review.sh");
        let mut command = self.sandbox.command(script, &self.folder);
        command.env("EMPIRICA_TOKEN", token);
        let server = format!("file://{}", self.sandbox.path().join("server").display());
        match self.host.state(|state| state.api) {
            Api::GitHub => {
                let head = json!({"repo": {"full_name": fork.unwrap_or("o/r")}});
                let event = json!({"pull_request": {"number": 7, "base": {"ref": "main"}, "head": head}});
                std::fs::write(self.folder.join("event.json"), event.to_string()).expect("a file");
                command
                    .arg("github")
                    .env("GITHUB_EVENT_PATH", self.folder.join("event.json"))
                    .env("GITHUB_API_URL", self.host.url())
                    .env("GITHUB_SERVER_URL", server)
                    .env("GITHUB_REPOSITORY", "o/r")
                    .env("GITHUB_STEP_SUMMARY", self.folder.join("summary.md"));
            }
            Api::GitLab => {
                command
                    .arg("gitlab")
                    .env("CI_MERGE_REQUEST_IID", "7")
                    .env("CI_MERGE_REQUEST_PROJECT_ID", "42")
                    .env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main")
                    .env("CI_MERGE_REQUEST_PROJECT_URL", format!("{server}/o/r"))
                    .env("CI_MERGE_REQUEST_SOURCE_PROJECT_URL", format!("{server}/{}", fork.unwrap_or("o/r")))
                    .env("CI_SERVER_URL", &server)
                    .env("CI_API_V4_URL", self.host.url());
            }
        }
        command
    }

    #[track_caller]
    fn run(&self, place: &str) -> RunOutput {
        self.run_with(&[("EMPIRICA_PLACE", place)]).ok()
    }

    fn run_with(&self, env: &[(&str, &str)]) -> RunOutput {
        let mut command = self.command("token-that-writes", None);
        RunOutput::new(command.envs(env.iter().copied()).output().expect("the recipe starts"))
    }

    fn summary(&self) -> String {
        let name = if self.host.state(|state| state.api) == Api::GitHub { "summary.md" } else { "empirica.md" };
        let file = self.folder.join(name);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let _ = std::fs::remove_file(file);
        text
    }

    fn text(&self) -> String {
        super::text(&self.repo, "main..topic")
    }

    fn comments(&self) -> Vec<(String, String)> {
        self.host.state(|state| state.comments.clone())
    }

    /// More work on the branch.
    fn go_on(&self) {
        self.repo.start("cy", "Go on");
        self.repo.json(["decision", "Go on with it", "--why", "it works"]);
        self.repo.commit("c.txt", "c\n", "Go on");
        self.repo.json(["session", "end"]);
        self.push();
    }
}

#[test]
fn one_comment_is_written_and_updated_and_others_are_left_alone() {
    let sandbox = Sandbox::new();
    for api in [Api::GitHub, Api::GitLab] {
        let sandbox = if api == Api::GitHub { &sandbox } else { &Sandbox::new() };
        let Some(job) = Job::new(sandbox, api) else { return };
        // one by somebody else with our marker, and more than a page
        let others: Vec<(String, String)> =
            (0..120).map(|n| ("eve".to_owned(), format!("{BEGIN}\ncomment {n}"))).collect();
        job.host.state(|state| state.comments = others.clone());
        let said = job.run("comment");
        assert_eq!(said.err, "", "{api:?}");
        let all = job.comments();
        assert_eq!(all[..120], others);
        assert_eq!(all.len(), 121);
        assert_eq!(all[120].1, format!("{BEGIN}\n{}{END}", job.text()), "{api:?}");
        job.host.take();
        // nothing new, nothing written
        job.run("comment");
        assert!(job.host.take().iter().all(|asked| asked.starts_with("GET ")), "{api:?}");
        job.go_on();
        job.run("comment");
        let updated = job.comments();
        assert_eq!((updated.len(), &updated[..120]), (121, &others[..]));
        assert!(updated[120].1.contains("Go on with it"), "{}", updated[120].1);
        assert_eq!(job.summary(), "", "{api:?}");
        assert!(std::fs::read_dir(&job.folder).expect("a folder").count() <= 1, "nothing is left behind");
        let description = job.host.state(|state| state.description.clone());
        assert_eq!(description.as_deref(), Some("By hand.\r\n\r\nTwo  lines \r\n"));
    }
}

#[test]
fn a_part_of_the_description_is_ours_and_the_rest_stays_byte_for_byte() {
    let sandbox = Sandbox::new();
    for api in [Api::GitHub, Api::GitLab] {
        let sandbox = if api == Api::GitHub { &sandbox } else { &Sandbox::new() };
        let Some(job) = Job::new(sandbox, api) else { return };
        let description = || job.host.state(|state| state.description.clone()).expect("a description");
        job.run("description");
        let block = || format!("{BEGIN}\n{}{END}", job.text());
        assert_eq!(description(), format!("By hand.\r\n\r\nTwo  lines \r\n\n\n{}", block()), "{api:?}");
        job.host.take();
        job.run("description");
        assert!(job.host.take().iter().all(|asked| asked.starts_with("GET ")), "{api:?}");
        // people write around it
        let around = |inside: &str| format!("Before\r\n{inside}\r\n\r\nAfter `{{}}` $x \\n \"ü\"\r\n");
        job.host.state(|state| state.description = Some(around(&block())));
        job.go_on();
        job.run("description");
        assert_eq!(description(), around(&block()), "{api:?}");
        assert!(description().contains("Go on with it"));
        // with the beginning alone, or twice, nobody knows what is whose
        for broken in [format!("{BEGIN}\nmine"), format!("{0}\n{0}", block()), format!("{END}{BEGIN}")] {
            job.host.state(|state| state.description = Some(broken.clone()));
            let said = job.run("description");
            assert!(said.err.contains("warning: cannot write to the description"), "{}", said.err);
            assert_eq!((description(), job.summary()), (broken, job.text()), "{api:?}");
        }
        // an empty one, and none
        for empty in [Some(String::new()), None] {
            job.host.state(|state| state.description = empty);
            job.run("description");
            assert_eq!(description(), block());
        }
        assert_eq!(job.comments(), []);
    }
}

#[test]
fn without_the_right_to_write_the_text_is_in_the_summary() {
    let sandbox = Sandbox::new();
    for api in [Api::GitHub, Api::GitLab] {
        let sandbox = if api == Api::GitHub { &sandbox } else { &Sandbox::new() };
        let Some(job) = Job::new(sandbox, api) else { return };
        for (token, place) in [("", "comment"), ("reads", "comment"), ("reads", "description"), ("reads", "summary")] {
            let mut command = job.command(token, None);
            let said = RunOutput::new(command.env("EMPIRICA_PLACE", place).output().expect("it starts")).ok();
            assert_eq!(job.summary(), job.text(), "{api:?} {token} {place}: {}", said.err);
            assert_eq!(said.err.is_empty(), place == "summary", "{}", said.err);
            assert!(!said.err.contains("reads") && !said.out.contains("reads"), "no token is printed");
        }
        assert_eq!(job.comments(), []);
        job.host.state(|state| state.description = Some("x".repeat(65_000)));
        let said = job.run("description");
        assert!(said.err.contains("more than 65536 bytes"), "{}", said.err);
        assert_eq!(job.summary(), job.text());
    }
}

#[test]
fn a_busy_host_is_asked_again_and_one_that_refuses_is_not() {
    let sandbox = Sandbox::new();
    let Some(job) = Job::new(&sandbox, Api::GitHub) else { return };
    let soon = || vec![("retry-after", "0".to_owned())];
    let failing = vec![(429, soon()), (502, soon()), (403, soon()), (403, vec![]), (503, soon())];
    job.host.state(|state| state.failing = failing);
    job.run("comment");
    // who we are: three times busy, then refused; the comments: once busy
    assert_eq!(job.comments().len(), 1);
    assert_eq!(job.host.take().len(), 4 + 2 + 1);
    job.host.state(|state| state.failing = vec![(404, vec![]), (404, vec![])]);
    let said = job.run("comment");
    assert!(said.err.contains("the host answered with 404"), "{}", said.err);
    assert_eq!(job.summary(), job.text());
    // one that asks for an hour is not waited for
    job.host.state(|state| state.failing = vec![(404, vec![]), (429, vec![("retry-after", "3600".to_owned())])]);
    assert!(job.run("comment").err.contains("the host answered with 429"));
}

#[test]
fn a_fork_brings_its_notes_and_runs_nothing() {
    let sandbox = Sandbox::new();
    for api in [Api::GitHub, Api::GitLab] {
        let sandbox = if api == Api::GitHub { &sandbox } else { &Sandbox::new() };
        let Some(job) = Job::new(sandbox, api) else { return };
        let fork = sandbox.clone(&job.repo, "server/eve/r", true);
        std::os::unix::fs::symlink(&fork.path, sandbox.path().join("server/eve/r.git")).expect("a link");
        fork.git(["checkout", "-q", "topic"]).ok();
        fork.run(["init"]).ok();
        fork.start("eve", "In a fork");
        fork.json(["decision", "Decided in the fork", "--why", "so"]);
        // what a checkout or a filter would run
        let trap = sandbox.path().join("trapped");
        let run = format!("#!/bin/sh\ntouch '{}'\n", trap.display());
        for name in ["post-checkout", "pre-commit", "Makefile", "package.json"] {
            fork.write(&format!(".githooks/{name}"), &run);
        }
        fork.write(".gitattributes", "* filter=trap diff=trap merge=trap\n");
        fork.write(
            ".gitconfig",
            &format!("[filter \"trap\"]\n\tsmudge = touch '{0}'\n[core]\n\tfsmonitor = touch '{0}'\n", trap.display()),
        );
        fork.write(".empirica/routes.toml", "not toml [\n");
        fork.git(["add", "."]).ok();
        fork.commit("d.txt", "d\n", "In the fork");
        fork.json(["session", "end"]);
        fork.run(["flush"]).ok();
        let server = sandbox.path().join("server/o/r");
        let heads = ["topic:refs/pull/7/head", "topic:refs/merge-requests/7/head"];
        for head in heads {
            fork.git(["push", "-q", "--no-verify", "--force", server.to_str().expect("UTF-8"), head]).ok();
        }
        let mut command = job.command("token-that-writes", Some("eve/r"));
        let said = RunOutput::new(command.output().expect("it starts")).ok();
        assert_eq!(said.err, "", "{api:?}");
        let text = job.comments().pop().expect("a comment").1;
        assert!(text.contains("Decided in the fork — so") && text.contains("Use a ring"), "{text}");
        assert!(!trap.exists(), "{api:?}");
        // a fork that cannot be read is left out
        let mut command = job.command("token-that-writes", Some("gone/r"));
        let said = RunOutput::new(command.output().expect("it starts")).ok();
        assert!(said.err.contains("warning: cannot fetch the notes of "), "{}", said.err);
    }
}

#[test]
fn rules_fail_the_job_after_the_text_is_written_and_a_page_is_made() {
    let sandbox = Sandbox::new();
    let Some(job) = Job::new(&sandbox, Api::GitHub) else { return };
    let said = job.run_with(&[("EMPIRICA_REQUIRE", "checks"), ("EMPIRICA_REPORT", "page.html")]).code(3);
    assert!(said.err.contains("checks: cargo bench (exit 101)"), "{}", said.err);
    assert_eq!(job.comments().len(), 1);
    let page = std::fs::read_to_string(job.folder.join("page.html")).expect("a page");
    assert!(page.contains("Make the queue a ring") && !page.contains("<h1>Look"), "{}", page.len());
    job.run_with(&[("EMPIRICA_REQUIRE", "nothing")]).code(2);
    job.run_with(&[("EMPIRICA_PLACE", "wall")]).code(1);
    job.run_with(&[("EMPIRICA_PROGRAM", "/nowhere/git-empirica")]).code(1);
    // where nothing was recorded, no comment begins
    let other = Sandbox::new();
    let Some(empty) = Job::new(&other, Api::GitHub) else { return };
    empty.repo.git(["push", "-q", "--force", "origin", "main:refs/pull/7/head"]).ok();
    empty.run("comment");
    assert_eq!(empty.comments(), []);
    empty.run("description");
    assert_eq!(empty.host.state(|state| state.description.clone()).as_deref(), Some("By hand.\r\n\r\nTwo  lines \r\n"));
}

/// The program that a variable names, if it does: where CI could install it.
fn runner(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_file())
}

/// A recipe without the steps that install from the network.
fn recipe(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib").join(name);
    std::fs::read_to_string(path).expect("a recipe")
}

/// A repository with the recipes, as users name it: `name` below the server, with the tag of this version.
fn recipes<'s>(sandbox: &'s Sandbox, name: &str) -> Repo<'s> {
    let repo = sandbox.repo(name);
    for file in ["review.sh", "github/action.yml"] {
        repo.write(&format!("contrib/{file}"), &recipe(file));
    }
    repo.git(["add", "."]).ok();
    repo.git(["update-index", "--chmod=+x", "contrib/review.sh"]).ok();
    repo.git(["commit", "-q", "-m", "Recipes"]).ok();
    repo.git(["tag", &format!("v{}", env!("CARGO_PKG_VERSION"))]).ok();
    repo
}

#[test]
fn the_action_runs_in_a_runner_of_github_actions() {
    let Some(act) = runner("EMPIRICA_TEST_ACT") else { return };
    let sandbox = Sandbox::new();
    let Some(job) = Job::new(&sandbox, Api::GitHub) else { return };
    recipes(&sandbox, "server/OWNER/git-empirica");
    let workflow = sandbox.repo("job");
    let all = recipe("github/review.yml");
    let (first, _) = all.split_once("      - uses: actions/upload-artifact").expect("the upload");
    let own: String = first.split_inclusive('\n').filter(|line| !line.contains("pipx")).collect();
    workflow.commit(".github/workflows/review.yml", &own, "Review");
    let mut command = sandbox.command(act, &workflow.path);
    job.command("", None);
    let server = format!("file://{}", sandbox.path().join("server").display());
    command.args(["pull_request", "--bind", "-e", "event.json", "-P", "ubuntu-latest=-self-hosted"]);
    for pair in [
        "GITHUB_REPOSITORY=o/r".to_owned(),
        format!("GITHUB_SERVER_URL={server}"),
        format!("GITHUB_API_URL={}", job.host.url()),
    ] {
        command.args(["--env", &pair]);
    }
    let path: String = format!(
        "PATH={}:{}",
        Path::new(env!("CARGO_BIN_EXE_git-empirica")).parent().expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let said = RunOutput::new(
        command.args(["--env", &path, "-s", "GITHUB_TOKEN=token-that-writes"]).output().expect("act starts"),
    )
    .ok();
    let comments = job.comments();
    assert_eq!(comments.len(), 1, "{}{}", said.out, said.err);
    assert_eq!(comments[0].1, format!("{BEGIN}\n{}{END}", job.text()));
}

#[test]
fn the_job_runs_in_a_runner_of_gitlab_ci() {
    let Some(runner) = runner("EMPIRICA_TEST_GITLAB_CI_LOCAL") else { return };
    let sandbox = Sandbox::new();
    let Some(job) = Job::new(&sandbox, Api::GitLab) else { return };
    let source = recipes(&sandbox, "server/OWNER/git-empirica");
    let project = sandbox.repo("job");
    project.commit(".gitlab-ci.yml", &recipe("gitlab/empirica.yml"), "Review");
    project.git(["remote", "add", "origin", "https://host.example/o/r.git"]).ok();
    let mut command = sandbox.command(runner, &project.path);
    command.args([
        "--force-shell-executor",
        "--no-shell-isolation",
        "--variable",
        "CI_PIPELINE_SOURCE=merge_request_event",
    ]);
    let server = format!("file://{}", sandbox.path().join("server").display());
    for (name, value) in [
        ("CI_MERGE_REQUEST_IID", "7"),
        ("CI_MERGE_REQUEST_PROJECT_ID", "42"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
        ("CI_MERGE_REQUEST_PROJECT_URL", &format!("{server}/o/r")),
        ("CI_MERGE_REQUEST_SOURCE_PROJECT_URL", &format!("{server}/o/r")),
        ("CI_SERVER_URL", &server),
        ("CI_API_V4_URL", &job.host.url()),
        ("EMPIRICA_SOURCE", source.path.to_str().expect("UTF-8")),
        ("EMPIRICA_TOKEN", "token-that-writes"),
    ] {
        command.args(["--variable", &format!("{name}={value}")]);
    }
    let said = RunOutput::new(command.arg("empirica").output().expect("it starts"));
    let comments = job.comments();
    assert_eq!((said.code, comments.len()), (0, 1), "{}{}", said.out, said.err);
    assert_eq!(comments[0].1, format!("{BEGIN}\n{}{END}", job.text()));
}
