//! The writes that `faults_walk.rs` interrupts: the state before each, and the state required after a retry.

use std::fs;

use crate::commands::session::collect::here;
use crate::redact::records::holders;
use crate::support::harness::{Repo, Sandbox};

/// A write.
pub struct Write {
    pub name: &'static str,
    /// Makes the repository `r`; returns the arguments of the command.
    pub prepare: fn(&Sandbox) -> Vec<String>,
    /// Standard input; HEAD is replaced by the commit.
    pub input: &'static str,
    /// Whether it can be done again, and `done` holds then.
    pub again: bool,
    /// Whether it may cut a history off, or the refs were set back before.
    pub rewrites: bool,
    pub done: fn(&Repo<'_>),
    /// What has to be done in each copy, because it depends on the path.
    pub in_copy: fn(&Repo<'_>),
    /// Whether git finds something wrong until it is done; then every line is there all the same.
    pub damaged: bool,
    /// Whether it takes the same steps as another one here, and is walked in the long walk only.
    pub similar: bool,
}

/// Most of them.
const PLAIN: Write = Write {
    name: "",
    prepare: |_| Vec::new(),
    input: "",
    again: true,
    rewrites: false,
    done: no_op,
    in_copy: no_op,
    damaged: false,
    similar: false,
};

const SECRET: &str = "the vault opens with plover and xyzzy";

/// A token of an issuer's form, put together here.
fn token() -> String {
    format!("gh{}_{}", "p", "a8Kd03nfKq92mfLwP20sXz71bVcN5tYh6RjQ")
}

fn words(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|word| (*word).to_owned()).collect()
}

fn no_op(_: &Repo<'_>) {}

/// A session with a record of each namespace in the notes, and one that waits in the log.
fn work<'p>(place: &'p Sandbox) -> Repo<'p> {
    let repo = place.repo("r");
    repo.git(["config", "empirica.lockTimeout", "300ms"]).ok();
    repo.start("ada", "Work");
    repo.json(["preflight", "-v", "know=0.4,uncertainty=0.6"]);
    repo.json(["finding", "known before"]);
    repo.json(["checkpoint", "-v", "know=0.5"]);
    repo.json(["handoff", "-m", "handed over before"]);
    repo.json(["finding", "waiting in the log"]);
    // copied often
    let _ = fs::remove_dir_all(repo.path.join(".git/hooks"));
    repo
}

fn simple(place: &Sandbox, arguments: &[&str]) -> Vec<String> {
    work(place);
    words(arguments)
}

fn id(repo: &Repo<'_>, arguments: &[&str]) -> String {
    let json = repo.json(arguments);
    ["handoff_id", "id"].iter().find_map(|key| json[key].as_str()).expect("an id").to_owned()
}

/// A remote that has records of another clone.
fn between_clones(place: &Sandbox) -> Repo<'_> {
    let repo = work(place);
    repo.git(["init", "-q", "--bare", "../hub.git"]).ok();
    repo.git(["remote", "add", "origin", "../hub.git"]).ok();
    repo.git(["push", "-q", "-u", "origin", "main"]).ok();
    repo.json(["sync"]);
    let other = place.clone(&place.at("hub.git"), "other", false);
    other.git(["remote", "set-url", "origin", "../hub.git"]).ok();
    other.start("bob", "Other work");
    other.json(["handoff", "-m", "handed over by another"]);
    other.json(["sync"]);
    repo.json(["finding", "not sent yet"]);
    repo.json(["handoff", "-m", "not sent yet"]);
    repo
}

fn contents(repo: &Repo<'_>) -> String {
    let names = ["data/journal", "data/checkpoints", "data/handoffs", "handoffs"];
    let tree = |name: &&str| repo.git_out(["rev-parse", &format!("refs/notes/empirica/{name}^{{tree}}")]);
    names.iter().map(tree).collect()
}

pub const WRITES: &[Write] = &[
    Write {
        name: "session start",
        prepare: |place| simple(place, &["session", "start", "--ai", "bob", "--task", "interrupted"]),
        done: |repo| assert!(repo.json(["session", "list"]).to_string().contains("interrupted")),
        ..PLAIN
    },
    Write {
        name: "finding",
        prepare: |place| simple(place, &["finding", "interrupted"]),
        done: |repo| assert!(repo.json(["session", "show", "latest:ada"]).to_string().contains("interrupted")),
        ..PLAIN
    },
    Write {
        name: "preflight",
        similar: true,
        prepare: |place| simple(place, &["preflight", "-v", "know=0.5,uncertainty=0.5"]),
        ..PLAIN
    },
    Write {
        name: "postflight",
        similar: true,
        prepare: |place| simple(place, &["postflight", "-v", "know=0.8,uncertainty=0.2"]),
        ..PLAIN
    },
    Write { name: "checkpoint", prepare: |place| simple(place, &["checkpoint", "-v", "know=0.6"]), ..PLAIN },
    Write {
        name: "handoff",
        prepare: |place| simple(place, &["handoff", "-m", "interrupted"]),
        done: |repo| assert!(repo.json(["handoff", "list"]).to_string().contains("interrupted")),
        ..PLAIN
    },
    Write {
        name: "accept",
        similar: true,
        prepare: |place| {
            let repo = work(place);
            let handoff = id(&repo, &["handoff", "-m", "to be accepted"]);
            words(&["accept", &handoff, "--understanding", "interrupted", "--decision", "CONTINUE"])
        },
        ..PLAIN
    },
    Write {
        name: "resolve",
        similar: true,
        prepare: |place| {
            let repo = work(place);
            let unknown = id(&repo, &["unknown", "why?"]);
            words(&["resolve", &unknown, "interrupted"])
        },
        again: false,
        ..PLAIN
    },
    Write { name: "goal", similar: true, prepare: |place| simple(place, &["goal", "add", "interrupted"]), ..PLAIN },
    Write {
        name: "session end",
        similar: true,
        prepare: |place| simple(place, &["session", "end"]),
        again: false,
        ..PLAIN
    },
    Write {
        name: "collect",
        similar: true,
        prepare: |place| {
            let repo = work(place);
            let transcript = place.path().join("session.jsonl");
            fs::write(&transcript, here(&repo, "claude-code/session.jsonl")).expect("a transcript");
            words(&["collect", "../session.jsonl", "--session", "latest"])
        },
        ..PLAIN
    },
    Write { name: "flush", prepare: |place| simple(place, &["flush"]), ..PLAIN },
    Write {
        name: "heal",
        prepare: |place| {
            let repo = work(place);
            for name in ["data/journal", "handoffs"] {
                let name = format!("refs/notes/empirica/{name}");
                repo.git(["update-ref", "-d", &name]).ok();
            }
            words(&["session", "list"])
        },
        done: |repo| assert!(repo.lines("journal").iter().any(|line| line.contains("known before"))),
        ..PLAIN
    },
    Write {
        name: "index",
        prepare: |place| {
            let repo = work(place);
            repo.json(["search", "known"]);
            repo.json(["handoff", "-m", "not in the index yet"]);
            words(&["search", "known"])
        },
        done: |repo| assert!(repo.json(["search", "known"])["hits"].to_string().contains("known before")),
        ..PLAIN
    },
    Write {
        name: "rewrite",
        prepare: |place| {
            let repo = work(place);
            let old = repo.head();
            repo.git(["commit", "-q", "--amend", "-m", "Other words"]).ok();
            fs::write(place.path().join("old"), &old).expect("a file");
            // standard input has the new one
            words(&["hook", "post-rewrite", "amend"])
        },
        input: "OLD HEAD\n",
        again: false,
        ..PLAIN
    },
    Write {
        name: "unborn",
        prepare: |place| {
            let repo = place.init("r");
            repo.git(["config", "empirica.lockTimeout", "300ms"]).ok();
            repo.start("ada", "Work before the first commit");
            repo.json(["handoff", "-m", "made before the first commit"]);
            repo.commit("README.md", "hello\n", "Begin");
            words(&["session", "list"])
        },
        done: |repo| assert!(repo.json(["log", "--handoffs"]).to_string().contains("made before the first commit")),
        ..PLAIN
    },
    Write {
        name: "sync",
        prepare: |place| {
            between_clones(place);
            words(&["sync"])
        },
        done: |repo| {
            assert_eq!(contents(repo), contents(&repo.place.at("hub.git")), "both have the same");
            assert!(repo.json(["handoff", "list"]).to_string().contains("handed over by another"));
        },
        ..PLAIN
    },
    Write {
        name: "redact",
        prepare: |place| {
            let repo = work(place);
            let secret = id(&repo, &["finding", SECRET]);
            repo.json(["handoff", "-m", "quotes it"]);
            words(&["redact", &secret])
        },
        rewrites: true,
        done: |repo| assert_eq!(holders(repo, SECRET), Vec::<String>::new()),
        ..PLAIN
    },
    Write {
        name: "redact secrets",
        similar: true,
        prepare: |place| {
            let repo = work(place);
            let name = "refs/notes/empirica/data/journal";
            let message = format!("Notes with {}", token());
            let tip = repo.git_out(["commit-tree", &format!("{name}^{{tree}}"), "-p", name, "-m", &message]);
            repo.git(["update-ref", name, &tip]).ok();
            words(&["redact", "--secrets"])
        },
        rewrites: true,
        done: |repo| assert_eq!(holders(repo, &token()), Vec::<String>::new()),
        ..PLAIN
    },
    Write {
        name: "flush without damaged",
        prepare: |place| {
            let repo = work(place);
            repo.json(["flush"]);
            let list = |at: &str| {
                let name = format!("refs/notes/empirica/data/journal{at}");
                repo.git_out(["ls-tree", "-r", "--format=%(objectname)", &name])
            };
            // an older version of the note
            let (now, old) = (list(""), list("~1"));
            let blob = old.lines().find(|blob| !now.contains(blob)).expect("an older note");
            fs::remove_file(repo.path.join(".git/objects").join(&blob[..2]).join(&blob[2..])).expect("an object");
            words(&["flush", "--without-damaged"])
        },
        rewrites: true,
        damaged: true,
        done: |repo| {
            repo.git(["reflog", "expire", "--expire=all", "--expire-unreachable=all", "--all"]).ok();
            repo.git(["gc", "-q", "--prune=now"]).ok();
            repo.fsck();
        },
        ..PLAIN
    },
    Write {
        name: "import",
        prepare: |place| {
            let repo = work(place);
            let lines = repo.run(["export", "--jsonl"]).ok().out;
            let other = place.repo("elsewhere");
            other.start("carol", "Elsewhere");
            other.json(["finding", "found elsewhere"]);
            other.json(["handoff", "-m", "handed over elsewhere"]);
            let more = other.run(["export", "--jsonl"]).ok().out;
            fs::write(place.path().join("lines.jsonl"), lines + &more).expect("a file");
            words(&["import", "--jsonl", "../lines.jsonl"])
        },
        done: |repo| assert!(repo.json(["handoff", "list"]).to_string().contains("handed over elsewhere")),
        ..PLAIN
    },
    Write {
        name: "import of another tool",
        prepare: |place| {
            let repo = work(place);
            let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/python-empirica-small.bundle");
            repo.git(["fetch", "-q", bundle, "refs/heads/main:refs/heads/came", "refs/notes/*:refs/notes/*"]).ok();
            words(&["import"])
        },
        done: |repo| assert_eq!(repo.json(["import"])["new"], 0, "nothing is missing"),
        ..PLAIN
    },
    Write {
        name: "init",
        prepare: |place| {
            let repo = work(place);
            crate::setup::init::script(&repo.path.join(".git/hooks/post-commit"), "#!/bin/sh\nexit 0\n");
            words(&["init", "--agents", "claude-code"])
        },
        done: |repo| assert_eq!(repo.json(["init", "--agents", "claude-code"])["changes"], serde_json::json!([])),
        ..PLAIN
    },
    Write {
        name: "deinit",
        prepare: |place| {
            let repo = work(place);
            crate::setup::init::script(&repo.path.join(".git/hooks/post-commit"), "#!/bin/sh\nexit 0\n");
            words(&["deinit"])
        },
        in_copy: |repo| drop(repo.json(["init", "--agents", "claude-code"])),
        done: |repo| assert_eq!(repo.json(["deinit"])["changes"], serde_json::json!([])),
        ..PLAIN
    },
];
