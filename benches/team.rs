//! The cost the hooks add to git's commit and push, and the cost of merging compared with reading.

use std::path::{Path, PathBuf};

use super::common::{Bench, median, run, timed};

/// Which hooks a repository has.
#[derive(Clone, Copy, PartialEq)]
enum Hooks {
    Empty,
    Ours,
}

impl Bench {
    fn bare(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        run(self.git(self.dir.path(), &["init", "-q", "--bare", "-b", "main", path.to_str().expect("UTF-8")]));
        path
    }

    fn with_hooks(&self, name: &str, remote: &Path, hooks: Hooks) -> PathBuf {
        let path = self.dir.path().join(name);
        run(self.git(self.dir.path(), &["init", "-q", "-b", "main", path.to_str().expect("UTF-8")]));
        for (key, value) in [("user.name", "Bench"), ("user.email", "b@example.com"), ("gc.auto", "0")] {
            run(self.git(&path, &["config", key, value]));
        }
        run(self.git(&path, &["remote", "add", "origin", remote.to_str().expect("UTF-8")]));
        run(self.git(&path, &["commit", "-q", "--allow-empty", "-m", "begin"]));
        match hooks {
            Hooks::Ours => run(self.ours(&path, &["init"])),
            Hooks::Empty => {
                for hook in ["post-commit", "pre-push"] {
                    use std::os::unix::fs::PermissionsExt;
                    let file = path.join(".git/hooks").join(hook);
                    std::fs::create_dir_all(path.join(".git/hooks")).expect("a folder");
                    std::fs::write(&file, "#!/bin/sh\n").expect("a hook");
                    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("its mode");
                }
            }
        }
        run(self.git(&path, &["push", "-q", "-u", "origin", "main"]));
        path
    }

    /// Milliseconds that a command takes more in `ours` than in `theirs`, the median of pairs in turns. `before` runs,
    /// untimed, in ours.
    fn more(&self, ours: &Path, theirs: &Path, before: &dyn Fn(), arguments: &[&str]) -> f64 {
        let mut more = Vec::new();
        for turn in 0..self.runs + 3 {
            before();
            let (first, second) = if turn % 2 == 0 { (ours, theirs) } else { (theirs, ours) };
            let (a, b) = (timed(self.hooked(first, arguments)), timed(self.hooked(second, arguments)));
            if turn >= 3 {
                more.push(if turn % 2 == 0 { a - b } else { b - a });
            }
        }
        median(&mut more)
    }

    /// Commit and push with hooks.
    pub fn hooks(&mut self) {
        let (remote, other) = (self.bare("remote.git"), self.bare("other.git"));
        let ours = self.with_hooks("hooked", &remote, Hooks::Ours);
        let theirs = self.with_hooks("plain", &other, Hooks::Empty);
        let commit = ["commit", "-q", "--allow-empty", "-m", "work"];
        let none = self.more(&ours, &theirs, &|| {}, &commit);
        self.row("`git commit`, ms more than with an empty hook, no session", none, 1.0, 5.0);
        let push = ["push", "-q"];
        run(self.hooked(&ours, &push));
        run(self.hooked(&theirs, &push));
        run(self.ours(&ours, &["session", "start", "--ai", "bench", "--task", "port the cache"]));
        let log_finding = || run(self.finding(&ours));
        let digest = self.more(&ours, &theirs, &log_finding, &commit);
        self.row("`git commit`, ms more than with an empty hook, with a digest", digest, 1.0, 15.0);
        run(self.hooked(&ours, &push));
        run(self.hooked(&theirs, &push));
        let push = self.more(&ours, &theirs, &|| {}, &push);
        self.row("`git push` with nothing new, ms more than with an empty hook", push, 1.0, 10.0);
        let fetch = [
            "fetch",
            "-q",
            "origin",
            "+refs/notes/empirica/data/*:refs/notes/empirica/remotes/origin/data/*",
            "+refs/notes/empirica/handoffs*:refs/notes/empirica/remotes/origin/handoffs*",
        ];
        let pair = self.pair(&|| {}, &|| self.ours(&ours, &["sync"]), &|| self.git(&ours, &fetch));
        self.row("`sync` with nothing new beside one `git fetch` of the notes", pair.ours, pair.theirs, 2.0);
    }

    /// Two sets of 10,000 records, on the same commits, in `repo` and its tracking ref.
    pub fn merging(&mut self, repo: &Path) {
        let reference = "refs/notes/empirica/data/journal";
        let tracking = "refs/notes/empirica/remotes/origin/data/journal";
        let commits = self.git(repo, &["rev-list", "main"]).stdout(std::process::Stdio::piped()).output();
        let commits = String::from_utf8(commits.expect("git").stdout).expect("ids");
        for (namespace, name) in [(1, reference), (2, tracking)] {
            let mut stream = format!("commit {name}\ncommitter Bench <b@example.com> 1700000000 +0000\ndata 0\n");
            let all: Vec<&str> = commits.lines().collect();
            let mut notes = vec![String::new(); all.len()];
            for i in 0..10_000 {
                notes[i % all.len()].push_str(&format!(
                    "{{\"v\":1,\"id\":\"018c0000-0000-7{namespace:03x}-8000-{i:012x}\",\"kind\":\"finding\",\"session\":\"11111111-2222-4333-8444-555555555555\",\"ai\":\"bench\",\"at\":\"2023-11-14T22:13:20.000Z\",\"commit\":\"{}\",\"tree\":null,\"text\":\"the cache is keyed by user and nonce, so that a second login gets its own token\"}}\n",
                    all[i % all.len()]
                ));
            }
            for (commit, note) in all.iter().zip(&notes) {
                stream.push_str(&format!("N inline {commit}\ndata {}\n{note}\n", note.len()));
            }
            run(self.git(repo, &["update-ref", "-d", name]));
            self.import(repo, |to| to.write_all(stream.as_bytes()).expect("the stream"));
        }
        let tip = |name: &str| {
            let out = self.git(repo, &["rev-parse", name]).stdout(std::process::Stdio::piped()).output();
            String::from_utf8(out.expect("git").stdout).expect("an id").trim().to_owned()
        };
        let ours = tip(reference);
        // back to before the merge, with the tips as they were then
        let reset = || {
            run(self.git(repo, &["update-ref", reference, &ours]));
            let _ = std::fs::remove_dir_all(repo.join(".git/empirica"));
        };
        let (mut merging, mut reading) = (Vec::new(), Vec::new());
        for turn in 0..self.runs / 4 + 2 {
            reset();
            let merge = timed(self.ours(repo, &["flush"]));
            let read = timed(self.ours(repo, &["session", "list"]));
            if turn >= 2 {
                merging.push(merge);
                reading.push(read);
            }
        }
        let (merging, reading) = (median(&mut merging), median(&mut reading));
        self.row("merging two sets of 10,000 records beside reading them", merging, reading, 2.0);
    }
}
