//! Reads the command line of the git that runs a hook, as git does not pass it on.

use std::path::Path;
use std::process::Command;

use crate::git::process::{nul_separated, stat};
use crate::git::repository::Repository;

/// The options of a running `git push`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct ParentPush {
    pub dry_run: bool,
    pub mirror: bool,
}

/// The limit of processes between git and this one: shells, hook managers.
const MAX_ANCESTORS: usize = 16;

/// The options of the `git push` above this process; the default if there is none.
pub fn push(repo: &Repository) -> ParentPush {
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..MAX_ANCESTORS {
        let Some((parent, arguments)) = process(pid) else { break };
        let alias = |name: &str| repo.config(&format!("alias.{name}"));
        if let Some(push) = parse(&arguments, &alias) {
            return push;
        }
        if parent <= 1 {
            break;
        }
        pid = parent;
    }
    ParentPush::default()
}

fn process(pid: u32) -> Option<(u32, Vec<String>)> {
    if let (Some(found), Ok(line)) = (stat(pid), std::fs::read(format!("/proc/{pid}/cmdline"))) {
        return Some((found.parent, nul_separated(&line).collect()));
    }
    let out = Command::new("ps").args(["-o", "ppid=", "-o", "args=", "-p", &pid.to_string()]).output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut words = text.split_whitespace().map(str::to_owned);
    Some((words.next()?.parse().ok()?, words.collect()))
}

/// Parses a command line; `None` if it is not `git push`. `alias` resolves the user's aliases.
fn parse(arguments: &[String], alias: &dyn Fn(&str) -> Option<String>) -> Option<ParentPush> {
    let program = Path::new(arguments.first()?).file_name()?.to_str()?;
    let mut words: Vec<String> = arguments[1..].to_vec();
    match program {
        "git-push" => return Some(options(&words)),
        "git" => {}
        _ => return None,
    }
    for _ in 0..8 {
        let at = subcommand(&words)?;
        let name = words[at].clone();
        words.drain(..=at);
        if name == "push" {
            return Some(options(&words));
        }
        let meaning = alias(&name).filter(|meaning| !meaning.starts_with('!'))?;
        words.splice(0..0, meaning.split_whitespace().map(str::to_owned));
    }
    None
}

/// The index of the subcommand, after git's own options.
fn subcommand(words: &[String]) -> Option<usize> {
    const WITH_VALUE: [&str; 8] =
        ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source"];
    let mut at = 0;
    while let Some(word) = words.get(at) {
        match word.as_str() {
            option if WITH_VALUE.contains(&option) => at += 2,
            option if option.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
    None
}

/// Parses the options of `git push`, abbreviated or combined; the last one wins.
fn options(words: &[String]) -> ParentPush {
    let mut push = ParentPush::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            let abbreviates = |whole: &str, shortest: usize| long.len() >= shortest && whole.starts_with(long);
            match long {
                _ if abbreviates("dry-run", 2) => push.dry_run = true,
                _ if abbreviates("no-dry-run", 5) => push.dry_run = false,
                _ if abbreviates("mirror", 1) => push.mirror = true,
                _ if abbreviates("no-mirror", 4) => push.mirror = false,
                // these take the next word
                _ if abbreviates("push-option", 2)
                    || abbreviates("receive-pack", 4)
                    || abbreviates("repo", 3)
                    || abbreviates("exec", 1) =>
                {
                    words.next();
                }
                _ => {}
            }
        } else if let Some(cluster) = word.strip_prefix('-') {
            // the rest after `o` is its value
            let flags = cluster.split('o').next().unwrap_or_default();
            push.dry_run |= flags.contains('n');
            if cluster.ends_with('o') && flags.len() + 1 == cluster.len() {
                words.next();
            }
        }
    }
    push
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<ParentPush> {
        let alias = |name: &str| match name {
            "p" => Some("push".to_owned()),
            "try" => Some("p --dry-run".to_owned()),
            "loop" => Some("loop".to_owned()),
            "sh" => Some("!git push -n".to_owned()),
            _ => None,
        };
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        parse(&words, &alias)
    }

    #[test]
    fn all_spellings_of_a_dry_run_are_recognized() {
        let dry = [
            "git push --dry-run",
            "/usr/bin/git push origin main -n",
            "git push --dry",
            "git push --dr origin",
            "git push -fn",
            "git push -nv",
            "git -C /x -c a.b=c --no-pager push -n",
            "git p -n",
            "git try origin",
            "git-push -n",
            "git push -o x -n",
            "git push --no-dry-run -n",
        ];
        for line in dry {
            assert_eq!(read(line), Some(ParentPush { dry_run: true, mirror: false }), "{line}");
        }
        let real = [
            "git push",
            "git push origin main",
            "git push -o -n origin",
            "git push -on",
            "git push --push-option --dry-run",
            "git push --repo -n",
            "git push -n --no-dry-run",
            "git push -- -n",
            "git push --delete x",
        ];
        for line in real {
            assert_eq!(read(line), Some(ParentPush::default()), "{line}");
        }
        for line in ["git push --mirror", "git push --mir x"] {
            assert_eq!(read(line), Some(ParentPush { dry_run: false, mirror: true }), "{line}");
        }
    }

    #[test]
    fn other_commands_are_not_a_push() {
        for line in ["sh .git/hooks/pre-push origin url", "git empirica hook pre-push", "git", "git loop", "git sh", ""]
        {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
