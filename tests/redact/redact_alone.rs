//! A redaction is published without any record that was not pushed before.

use serde_json::json;

use crate::redact::records::{SECRET, assert_gone, holders, shared};
use crate::support::harness::{Repo, Sandbox};
use crate::sync::team::{sync, trees};

const PRIVATE: &str = "privately";

/// Records of every ref, and Markdown of people, that were not sent.
fn keep_private(repo: &Repo<'_>) {
    repo.json(["finding", &format!("{PRIVATE} found")]);
    repo.json(["checkpoint", "--reasoning", &format!("{PRIVATE} thought")]);
    repo.json(["handoff", "--next", &format!("{PRIVATE} planned, for {SECRET}")]);
    repo.git(["notes", "--ref=refs/notes/empirica/handoffs", "append", "-m", &format!("{PRIVATE} remarked")]).ok();
    repo.commit("more.txt", "more", "More");
    repo.json(["handoff", "--context", &format!("{PRIVATE} handed over")]);
    repo.json(["deadend", &format!("{PRIVATE} tried"), "--why", "it waits in the log"]);
}

#[test]
fn a_redaction_pushes_no_unsent_records() {
    let place = Sandbox::new();
    let (hub, repos, id) = shared(&place, 2);
    let [one, two] = &repos[..] else { panic!("two clones") };
    keep_private(one);
    // a concurrent writer added more records with it
    sync(two);
    two.start("two", "t");
    two.json(["finding", &format!("in other words: {SECRET}")]);
    two.json(["finding", "of another clone"]);
    sync(two);
    let done = one.json(["redact", &id]);
    assert_eq!((&done["complete"], &done["remotes"][0]["state"]), (&json!(true), &json!("redacted")), "{done}");
    assert_gone(&hub, "hunter2hunter2");
    assert_eq!(holders(&hub, PRIVATE), Vec::<String>::new(), "what was not sent left");
    assert_ne!(holders(&hub, "of another clone"), Vec::<String>::new());
    // a clone that fetches it loses the text and nothing else
    sync(two);
    assert_gone(two, "hunter2hunter2");
    assert_ne!(holders(two, "of another clone"), Vec::<String>::new());
    // again, there is nothing to do; a sync then sends what it is there to send
    assert_eq!(one.json(["redact", &id])["complete"], true);
    assert_eq!(holders(&hub, PRIVATE), Vec::<String>::new());
    for repo in [one, two, one] {
        sync(repo);
    }
    assert_eq!((trees(one), trees(two)), (trees(&hub), trees(&hub)));
    for repo in [&hub, one, two] {
        assert_gone(repo, "hunter2hunter2");
        repo.fsck();
    }
    for text in ["found", "thought", "remarked", "handed over", "tried"] {
        assert_ne!(holders(&hub, &format!("{PRIVATE} {text}")), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn unsent_records_are_redacted_without_a_push() {
    let place = Sandbox::new();
    let (hub, repos, _) = shared(&place, 1);
    let repo = &repos[0];
    let own = repo.json(["finding", "never sent: opens with correcthorse"])["id"].as_str().expect("an id").to_owned();
    keep_private(repo);
    assert_eq!(repo.json(["redact", &own])["complete"], true);
    assert_gone(repo, "correcthorse");
    assert_eq!(holders(&hub, PRIVATE), Vec::<String>::new());
    // and where nothing may leave, nothing does
    repo.git(["config", "empirica.sync", "off"]).ok();
    let before = trees(&hub);
    let sent = repo.json(["finding", "another"])["id"].as_str().expect("an id").to_owned();
    repo.run(["redact", &sent, "--json"]).code(1);
    assert_eq!(trees(&hub), before);
}

#[test]
fn a_redaction_is_fsynced_if_core_fsync_requires_it() {
    let place = Sandbox::new();
    let (_, repos, id) = shared(&place, 1);
    let trace = place.path().join("trace");
    let begin = ["-f", "-y", "-e", "trace=fsync", "-o", trace.to_str().expect("UTF-8"), "git-empirica", "redact", &id];
    let synced = |setting: &str| {
        repos[0].git(["config", "core.fsync", setting]).ok();
        let mut strace = place.command("strace", &repos[0].path);
        strace.args(begin).arg("--json");
        crate::support::harness::fed(strace, b"").ok();
        std::fs::read_to_string(&trace).expect("a trace").contains(".git/empirica/forgetting>")
    };
    // a machine without strace, or where nothing may be traced
    let tried = std::process::Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    if tried.is_ok_and(|out| out.status.success()) {
        assert!(synced("all"));
    }
}
