//! The names of refs in `log`, beside those of `git log`.

use crate::support::harness::{Repo, Sandbox};

/// A repository whose commits have records and refs of all kinds.
fn decorated<'s>(sandbox: &'s Sandbox) -> Repo<'s> {
    let upstream = sandbox.repo("upstream");
    let repo = sandbox.clone(&upstream, "r", false);
    for name in ["a.txt", "b.txt", "c.txt"] {
        repo.start("ada", name);
        repo.commit(name, name, &format!("Add {name}"));
        repo.hand_over(name);
    }
    for arguments in [
        vec!["branch", "topic"],
        vec!["branch", "other/one"],
        vec!["tag", "v1"],
        vec!["tag", "-a", "v2", "-m", "annotated"],
        vec!["tag", "old", "HEAD~1"],
        vec!["branch", "behind", "HEAD~1"],
        vec!["update-ref", "refs/remotes/origin/topic", "HEAD~2"],
        vec!["update-ref", "refs/remotes/origin/main", "HEAD"],
    ] {
        repo.git(arguments).ok();
    }
    repo
}

/// The lines that name commits.
fn commits(out: &str) -> Vec<String> {
    let is_commit = |line: &&str| line.contains("commit ") && !line.starts_with(' ');
    out.lines().filter(is_commit).map(str::to_owned).collect()
}

/// What both print, without git's forms of colors that mean the same.
fn both(repo: &Repo<'_>, env: &[(&str, &str)], arguments: &[&str]) -> (Vec<String>, Vec<String>) {
    let ours = repo.run_with_env(env, [&["log"], arguments].concat()).ok().out;
    let mut git = repo.place.command("git", &repo.path);
    git.args(["-c", "core.abbrev=7", "log", "-3", "--no-notes"]).args(arguments).envs(env.iter().copied());
    let git = String::from_utf8(git.output().expect("git starts").stdout).expect("UTF-8");
    (commits(&ours), commits(&git))
}

#[test]
fn refs_are_named_as_by_git_log() {
    let sandbox = Sandbox::new();
    let repo = decorated(&sandbox);
    for decorate in
        ["--decorate", "--decorate=short", "--decorate=full", "--decorate=no", "--no-decorate", "--decorate=auto"]
    {
        let (ours, git) = both(&repo, &[], &[decorate]);
        assert_eq!(ours, git, "{decorate}");
    }
    let (ours, _) = both(&repo, &[], &["--decorate"]);
    assert!(ours[0].contains("(HEAD -> main, tag: v2, tag: v1, origin/main, "), "{ours:?}");
    // a pager counts as a terminal
    let pager = [("GIT_PAGER_IN_USE", "1")];
    let (ours, _) = both(&repo, &pager, &["--no-color"]);
    let (_, git) = both(&repo, &[], &["--decorate"]);
    assert_eq!(ours, git);
    for (value, as_if) in
        [("short", "--decorate=short"), ("full", "--decorate=full"), ("true", "--decorate"), ("false", "--decorate=no")]
    {
        repo.git(["config", "log.decorate", value]).ok();
        let (ours, _) = both(&repo, &[], &[]);
        let (_, git) = both(&repo, &[], &[as_if]);
        assert_eq!(ours, git, "{value}");
    }
    repo.git(["config", "--unset", "log.decorate"]).ok();
    repo.git(["checkout", "-q", "--detach"]).ok();
    let (ours, git) = both(&repo, &[], &["--decorate"]);
    assert_eq!(ours, git, "detached");
    // beside abbreviated ids, too
    let line = repo.run(["log", "--oneline", "--decorate"]).ok().out;
    assert!(line.lines().next().is_some_and(|line| line.contains(" (HEAD, tag: v2, ")), "{line}");
}

#[test]
fn they_have_gits_colors() {
    let sandbox = Sandbox::new();
    let repo = decorated(&sandbox);
    let (ours, git) = both(&repo, &[], &["--decorate", "--color=always"]);
    // git ends and begins colors around empty texts, and orders bold and color otherwise
    let same = |lines: &[String]| -> Vec<String> {
        let plain = |line: &String| {
            let line = line.replace("\u{1b}[m", "\u{1b}[0m");
            let colors = regex::Regex::new("\u{1b}\\[([0-9;]*)m").expect("a pattern");
            // each character with the color it has
            let (mut color, mut out, mut at) = (String::new(), String::new(), 0);
            for found in colors.captures_iter(&line) {
                let whole = found.get(0).expect("a match");
                // older versions of git give the arrow the color of HEAD
                for c in line[at..whole.start()].chars().filter(|c| !" ->".contains(*c)) {
                    out.push_str(&format!("{color}{c} "));
                }
                let mut codes: Vec<&str> = found[1].split(';').collect();
                codes.sort_unstable();
                color = if codes == ["0"] { String::new() } else { codes.join(";") };
                at = whole.end();
            }
            out + &line[at..]
        };
        lines.iter().map(plain).collect()
    };
    assert_eq!(same(&ours), same(&git));
}
