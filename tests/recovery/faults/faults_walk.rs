//! Every kind of write, killed at each step, and with each step failing: refs are old or new, acknowledged records exist, and
//! the next command completes the rest. Only in builds with the feature `fault-injection`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::recovery::faults::faults_writes::{WRITES, Write};
use crate::support::harness::{Repo, RunOutput, Sandbox, fed, is_long};

const SHELVES: [&str; 3] = ["journal", "checkpoints", "handoffs"];
/// No room, no permission, a broken disk.
const ERRORS: [(&str, i32); 3] = [("ENOSPC", 28), ("EACCES", 13), ("EIO", 5)];

/// A stored line: namespace, object, text.
type Line = (String, String, String);

/// A prepared repository, to be copied, and what was in it.
struct Template {
    place: Sandbox,
    write: &'static Write,
    arguments: Vec<String>,
    lines: BTreeSet<Line>,
    refs: BTreeMap<String, String>,
}

impl Template {
    fn new(write: &'static Write) -> Self {
        let place = Sandbox::new();
        let arguments = (write.prepare)(&place);
        let repo = place.at("r");
        let mut lines = notes(&repo);
        lines.extend(logged(&repo));
        let refs = refs(&repo);
        Template { write, arguments, lines, refs, place }
    }

    fn copy(&self) -> Sandbox {
        let place = Sandbox::new();
        let (from, to) = (self.place.path().join("."), place.path());
        let ran = std::process::Command::new("cp").arg("-a").args([&from, &to]).status();
        assert!(ran.is_ok_and(|status| status.success()), "it is copied");
        (self.write.in_copy)(&place.at("r"));
        place
    }

    fn run(&self, repo: &Repo<'_>, fault: Option<&str>) -> RunOutput {
        let mut command = repo.program();
        command.args(&self.arguments);
        if !self.is_hook() {
            command.arg("--json");
        }
        if let Some(fault) = fault {
            command.env("EMPIRICA_FAULT", fault);
        }
        let old = fs::read_to_string(repo.place.path().join("old")).unwrap_or_default();
        let input = self.write.input.replace("HEAD", &repo.head()).replace("OLD", &old);
        fed(command, input.as_bytes())
    }

    fn is_hook(&self) -> bool {
        self.arguments[0] == "hook"
    }

    /// The points and steps the write comes by: whether it can fail there, and the name.
    fn points(&self) -> Vec<(bool, String)> {
        let place = self.copy();
        let list = place.path().join("points");
        let ran = self.run(&place.at("r"), Some(&format!("list:{}", list.display())));
        assert_eq!(ran.code, 0, "{}: {} {}", self.write.name, ran.out, ran.err);
        (self.write.done)(&place.at("r"));
        let text = fs::read_to_string(list).unwrap_or_default();
        let words = text.lines().map(|line| line.splitn(3, ' ').skip(1).collect::<Vec<_>>());
        words.map(|words| (words[0] == "point", words[1].to_owned())).collect()
    }

    /// Killed at the `n`-th point.
    fn killed(&self, n: usize) {
        let place = self.copy();
        let repo = place.at("r");
        let ran = self.run(&repo, Some(&format!("kill:{n}")));
        assert_eq!(ran.code, -1, "it was not killed: {} {}", ran.out, ran.err);
        self.old_or_new(&repo);
        self.assert_continues(&repo, None);
    }

    /// Failed at the `n`-th point.
    fn failed(&self, n: usize, errno: i32) {
        let place = self.copy();
        let repo = place.at("r");
        let ran = self.run(&repo, Some(&format!("fail:{n}:{errno}")));
        assert_ne!(ran.code, -1, "{} {}", ran.out, ran.err);
        let mut text = None;
        if !self.is_hook() {
            let json = ran.json();
            assert_eq!(json["ok"], ran.code == 0, "{json}");
            assert!(ran.code == 0 || json["reason"].as_str().is_some_and(|why| !why.is_empty()), "{json}");
            assert!(
                ran.code == 0 || json["suggestion"].is_string() || json["recovery_commands"][0].is_string(),
                "{json}"
            );
            assert!(json["degraded_mode"] != true || json["warning"].is_string(), "{json}");
            let keys = ["handoff_id", "checkpoint_id", "id"];
            text = keys.iter().find_map(|key| json[key].as_str()).filter(|_| ran.code == 0).map(str::to_owned);
        }
        self.old_or_new(&repo);
        self.assert_continues(&repo, text);
    }

    /// Right after the fault: git is content, each ref is old or newer, no ref of others moved.
    fn old_or_new(&self, repo: &Repo<'_>) {
        if !self.write.damaged {
            repo.fsck();
        }
        let now = refs(repo);
        for (name, old) in &self.refs {
            let new = now.get(name).cloned().unwrap_or_default();
            if new == *old || (self.write.rewrites && name.starts_with("refs/notes/empirica/") && !new.is_empty()) {
                continue;
            }
            assert!(name.starts_with("refs/notes/empirica/"), "{name} moved");
            assert_eq!(repo.git(["merge-base", "--is-ancestor", old, &new]).code, 0, "{name}: {old} is lost in {new}");
        }
    }

    /// Runs the next commands: they work, or name the obstacle and its removal, and no acknowledged record is lost.
    fn assert_continues(&self, repo: &Repo<'_>, acknowledged: Option<String>) {
        let logged = logged(repo);
        let status = repo.json(["status"]);
        assert!(status["warning"].is_null() || self.write.rewrites || locked(repo), "{status}");
        let after = repo.json(["finding", "said afterwards", "--session", "latest"]);
        let mut flushed = repo.json(["flush"]);
        if flushed["degraded_mode"] == true {
            for _ in 0..3 {
                mend(repo, &flushed);
                flushed = repo.json(["flush"]);
                if flushed["degraded_mode"] == false {
                    break;
                }
            }
        }
        assert_eq!((&flushed["degraded_mode"], &flushed["waiting"]), (&false.into(), &0.into()), "{flushed}");
        let all = notes(repo);
        let texts: BTreeSet<(&str, &str)> =
            all.iter().map(|(namespace, _, text)| (namespace.as_str(), text.as_str())).collect();
        let count =
            |id: &str| all.iter().filter(|(.., text)| text.contains(&format!("\"id\":\"{id}\",\"kind\""))).count();
        if !self.write.rewrites || self.write.damaged {
            for (namespace, _, text) in self.lines.iter().chain(&logged) {
                assert!(texts.contains(&(namespace, text)), "lost: {text}");
            }
        }
        let mut known: BTreeMap<(&str, &str, String), &str> = BTreeMap::new();
        for (namespace, on, text) in &all {
            let id = serde_json::from_str::<Value>(text).expect("a record")["id"].as_str().expect("an id").to_owned();
            let other = known.insert((namespace, on, id), text);
            assert_eq!(other, None, "twice: {text}");
        }
        assert_eq!(count(after["id"].as_str().expect("an id")), 1, "what was said afterwards");
        if let Some(id) = acknowledged.filter(|_| !self.write.rewrites) {
            assert!(count(&id) > 0, "{id} was acknowledged");
        }
        assert!(temporaries(&repo.path.join(".git/empirica")) <= 1);
        repo.git(["commit", "-q", "--allow-empty", "-m", "Further"]).ok();
        if self.write.again {
            let mut ran = self.run(repo, None);
            while ran.code != 0 && locked(repo) {
                mend(repo, &ran.json());
                ran = self.run(repo, None);
            }
            assert_eq!(ran.code, 0, "again: {} {}", ran.out, ran.err);
            (self.write.done)(repo);
        }
    }
}

/// A lock that a process left is all that may stand in the way, and the command that is named removes it.
fn mend(repo: &Repo<'_>, text: &Value) {
    assert!(locked(repo), "{text}");
    let command = text["recovery_commands"][0].as_str().expect("a command");
    assert!(command.starts_with("rm -f ") && command.ends_with(".lock"), "{command}");
    let ran = repo.place.command("sh", &repo.path).args(["-c", command]).status().expect("a shell");
    assert!(ran.success(), "{command}");
}

/// Whether a lock that git would take is on one of our refs.
fn locked(repo: &Repo<'_>) -> bool {
    fn has_lock(folder: &Path) -> bool {
        let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.any(|entry| entry.path().extension().is_some_and(|end| end == "lock") || has_lock(&entry.path()))
    }
    has_lock(&repo.path.join(".git/refs/notes/empirica"))
}

fn refs(repo: &Repo<'_>) -> BTreeMap<String, String> {
    let all = repo.git_out(["for-each-ref", "--format=%(refname) %(objectname)"]);
    let pairs = all.lines().filter_map(|line| line.split_once(' '));
    // where a branch of a remote is, git itself says
    pairs.filter(|(name, _)| !name.contains("/remotes/")).map(|(name, id)| (name.into(), id.into())).collect()
}

/// Every line of our data notes, as git reads them.
fn notes(repo: &Repo<'_>) -> BTreeSet<Line> {
    let mut places = Vec::new();
    for namespace in SHELVES {
        let reference = format!("refs/notes/empirica/data/{namespace}");
        let listed = repo.git(["ls-tree", "-r", "--format=%(objectname) %(path)", &reference]);
        for line in listed.out.lines() {
            let (blob, path) = line.split_once(' ').expect("two words");
            let on = path.replace('/', "");
            if on.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                places.push((namespace, on, blob.to_owned()));
            }
        }
    }
    let mut command = repo.place.command("git", &repo.path);
    command.args(["cat-file", "--batch"]);
    let wanted: String = places.iter().map(|(.., blob)| format!("{blob}\n")).collect();
    let text = fed(command, wanted.as_bytes()).ok().out;
    let mut rest = text.as_str();
    let mut out = BTreeSet::new();
    for (namespace, on, _) in places {
        let (head, after) = rest.split_once('\n').expect("a header");
        let size: usize = head.rsplit(' ').next().and_then(|size| size.parse().ok()).expect("a size");
        for line in after[..size].lines().filter(|line| !line.is_empty()) {
            assert!(out.insert((namespace.to_owned(), on.clone(), line.to_owned())), "twice in a note: {line}");
        }
        rest = &after[size + 1..];
    }
    out
}

/// Every whole record in the logs.
fn logged(repo: &Repo<'_>) -> BTreeSet<Line> {
    let wal = repo.path.join(".git/empirica/wal");
    let mut out = BTreeSet::new();
    for folder in [wal.clone(), wal.join("taken")] {
        for file in fs::read_dir(folder).into_iter().flatten().flatten().filter(|file| file.path().is_file()) {
            let text = fs::read_to_string(file.path()).expect("UTF-8");
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            for line in whole.lines() {
                let words: Vec<&str> = line.splitn(3, ' ').collect();
                if let [namespace, on, record] = words[..]
                    && serde_json::from_str::<Value>(record).is_ok()
                {
                    out.insert((namespace.to_owned(), on.to_owned(), record.to_owned()));
                }
            }
        }
    }
    out
}

/// How many files that were not finished are in a folder and below it.
fn temporaries(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.path().is_dir() {
            true => temporaries(&entry.path()),
            false => usize::from(entry.file_name().to_string_lossy().starts_with('.')),
        })
        .sum()
}

/// Does all of it, two at a time; says of all that went wrong at which point it did.
#[expect(clippy::print_stdout, reason = "the figure for docs/reliability.md")]
fn walk(jobs: Vec<(String, Box<dyn Fn() + Send + Sync + '_>)>) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((name, job)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(cause) = catch_unwind(AssertUnwindSafe(job)) {
                let text = cause.downcast_ref::<String>().cloned();
                let text = text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                wrong.lock().expect("a list").push(format!("{name}: {}", text.unwrap_or_default()));
            }
        }
    };
    std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().expect("a list");
    assert!(wrong.is_empty(), "{} of {} went wrong:\n{}", wrong.len(), jobs.len(), wrong.join("\n"));
    println!("{} faults", jobs.len());
}

/// Whether the `n`-th point of a write is tried: in the short walk every fourth one, other ones for each write. Most points are
/// those of several writes. Not if it lies among objects that are written one after the other: nothing names them yet, so that it is there
/// as before the first and after the last of them.
fn is_tried(write: usize, points: &[(bool, String)], n: usize) -> bool {
    let is_object = |at: usize| points.get(at).is_some_and(|(_, name)| name.starts_with("object: "));
    is_long() || ((n + write).is_multiple_of(4) && !(n >= 2 && (n - 2..=n).all(is_object)))
}

fn templates() -> Vec<(Template, Vec<(bool, String)>)> {
    #[expect(clippy::disallowed_methods, reason = "a switch of this test, not of the program")]
    let only = std::env::var("EMPIRICA_WALK").unwrap_or_default();
    let is_wanted = |write: &&Write| match only.as_str() {
        "" => is_long() || !write.similar,
        only => only.split(',').any(|name| name == write.name),
    };
    let wanted = WRITES.iter().filter(is_wanted);
    let all = wanted.map(Template::new).map(|template| {
        let points = template.points();
        assert!(points.len() > 3, "{}: {points:?}", template.write.name);
        (template, points)
    });
    all.collect()
}

#[test]
fn every_write_killed_at_every_step_leaves_old_or_new_and_loses_nothing() {
    let templates = templates();
    let mut jobs: Vec<(String, Box<dyn Fn() + Send + Sync + '_>)> = Vec::new();
    for (write, (template, points)) in templates.iter().enumerate() {
        for (n, (_, point)) in points.iter().enumerate().map(|(n, point)| (n + 1, point)) {
            if !is_tried(write, points, n) {
                continue;
            }
            let name = format!("{} killed at {n}, {point}", template.write.name);
            jobs.push((name, Box::new(move || template.killed(n))));
        }
    }
    walk(jobs);
}

#[test]
fn every_step_that_fails_is_answered_and_loses_nothing() {
    let long = is_long();
    let templates = templates();
    let mut jobs: Vec<(String, Box<dyn Fn() + Send + Sync + '_>)> = Vec::new();
    for (write, (template, points)) in templates.iter().enumerate() {
        for (n, (_, point)) in points.iter().enumerate().map(|(n, point)| (n + 1, point)).filter(|(_, point)| point.0) {
            if !is_tried(write, points, n) {
                continue;
            }
            // each error at each point in the long walk, else in turn
            let errors = ERRORS.iter().enumerate().filter(|(at, _)| long || *at == n / 4 % ERRORS.len());
            for (_, (error, errno)) in errors {
                let name = format!("{} failed at {n} with {error}, {point}", template.write.name);
                jobs.push((name, Box::new(move || template.failed(n, *errno))));
            }
        }
    }
    walk(jobs);
}
