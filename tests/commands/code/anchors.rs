//! Whether the code that a claim is about is still as it was: holds, moved, changed, gone.

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};
use crate::sync::team::{clones, hub, sync};

pub fn id(logged: &Value) -> String {
    logged["id"].as_str().expect("an id").to_owned()
}

/// Twenty different lines.
pub fn lines(word: &str) -> String {
    (1..=20).map(|n| format!("{word} {n}\n")).collect()
}

/// The states of a claim's places, and where they are by now.
pub fn places(repo: &Repo<'_>, id: &str) -> Vec<(String, String)> {
    let shown = repo.json(["show", id]);
    let text = |place: &Value| match (&place["path"], &place["lines"]) {
        (Value::String(path), Value::Null) => path.clone(),
        (Value::String(path), lines) if lines[0] == lines[1] => format!("{path}:{}", lines[0]),
        (Value::String(path), lines) => format!("{path}:{}-{}", lines[0], lines[1]),
        other => panic!("{other:?}"),
    };
    let one = |place: &Value| {
        let now = if place["now"].is_null() { place } else { &place["now"] };
        (place["state"].as_str().expect("a word").to_owned(), text(now))
    };
    shown["anchors"].as_array().expect("anchors").iter().map(one).collect()
}

/// The only place of a claim.
#[track_caller]
pub fn place(repo: &Repo<'_>, id: &str) -> (String, String) {
    let [one] = places(repo, id).try_into().expect("one place");
    one
}

fn is(state: &str, at: &str) -> (String, String) {
    (state.to_owned(), at.to_owned())
}

/// A repository with a file, and a claim about its lines 10 to 12 and one about all of it.
fn anchored(place: &Sandbox) -> (Repo<'_>, String, String) {
    let repo = place.repo("r");
    repo.commit("src/a.rs", &lines("line"), "Add a file");
    repo.start("ada", "Learn");
    let part = id(&repo.json(["finding", "needs a retry", "--at", "src/a.rs:10-12"]));
    let whole = id(&repo.json(["decision", "one file", "--why", "small", "--at", "src/a.rs"]));
    (repo, part, whole)
}

#[test]
fn in_a_long_log_the_first_fifty_commits_that_are_shown_say_what_changed() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("a.rs", &lines("line"), "Add a file");
    let [ada, bob] = ["ada", "bob"].map(|ai| repo.start(ai, "Learn"));
    for n in 0..85 {
        // those of bob are passed over
        let session = if n < 55 { &ada } else { &bob };
        repo.run(["finding", &format!("claim {n}"), "--at", "a.rs:10", "--session", session]).ok();
        repo.git(["commit", "-q", "--no-verify", "--allow-empty", "-m", "Go on"]).ok();
    }
    repo.write("a.rs", &lines("other"));
    let shown = repo.run(["log", "--journal", "--ai", "ada"]).ok().out;
    let claims: Vec<&str> = shown.lines().filter(|line| line.contains("claim ")).collect();
    assert_eq!(claims.len(), 55, "{shown}");
    for (at, claim) in claims.iter().enumerate() {
        assert!(claim.contains(&format!("claim {}", 54 - at)), "{at}: {claim}");
        assert_eq!(claim.contains("(a.rs:10 changed)"), at < 50, "{at}: {claim}");
        assert!(claim.matches("changed").count() < 2, "{claim}");
    }
}

#[test]
fn lines_hold_move_change_and_go() {
    let sandbox = Sandbox::new();
    let (repo, part, whole) = anchored(&sandbox);
    let is_now = |words: [&str; 4]| {
        assert_eq!(place(&repo, &part), is(words[0], words[1]));
        assert_eq!(place(&repo, &whole), is(words[2], words[3]));
    };
    is_now(["holds", "src/a.rs:10-12", "holds", "src/a.rs"]);
    // white space at the ends of lines is none of the text
    repo.write("src/a.rs", &lines("line").replace('\n', "  \r\n").replace("line 11", "\tline 11"));
    is_now(["holds", "src/a.rs:10-12", "holds", "src/a.rs"]);
    let moved = format!("new\nnew\n{}", lines("line"));
    repo.write("src/a.rs", &moved);
    is_now(["moved", "src/a.rs:12-14", "changed", "src/a.rs"]);
    repo.commit("src/a.rs", &moved, "Move it");
    is_now(["moved", "src/a.rs:12-14", "changed", "src/a.rs"]);
    repo.commit("src/a.rs", &moved.replace("line 11", "LINE 11"), "Change it");
    is_now(["changed", "src/a.rs:10-12", "changed", "src/a.rs"]);
    repo.commit("src/a.rs", &lines("line"), "Change it back");
    is_now(["holds", "src/a.rs:10-12", "holds", "src/a.rs"]);
    repo.git(["rm", "-q", "src/a.rs"]).ok();
    is_now(["gone", "src/a.rs:10-12", "gone", "src/a.rs"]);
    repo.git(["commit", "-q", "-m", "Remove it"]).ok();
    is_now(["gone", "src/a.rs:10-12", "gone", "src/a.rs"]);
    // a folder is no file
    repo.write("src/a.rs/b", "x\n");
    is_now(["gone", "src/a.rs:10-12", "gone", "src/a.rs"]);
}

#[test]
fn a_renamed_file_is_followed() {
    let sandbox = Sandbox::new();
    let (repo, part, whole) = anchored(&sandbox);
    repo.git(["mv", "src/a.rs", "src/b.rs"]).ok();
    assert_eq!(place(&repo, &part), is("moved", "src/b.rs:10-12"), "before the commit");
    assert_eq!(place(&repo, &whole), is("moved", "src/b.rs"));
    repo.git(["commit", "-q", "-m", "Rename it"]).ok();
    assert_eq!(place(&repo, &part), is("moved", "src/b.rs:10-12"));
    // several times, with changes, from any folder
    std::fs::create_dir_all(repo.path.join("lib/deep")).expect("a folder");
    repo.git(["mv", "src/b.rs", "lib/deep/ü c.rs"]).ok();
    repo.write("lib/deep/ü c.rs", &format!("more\n{}", lines("line")));
    repo.git(["commit", "-q", "-a", "-m", "Rename and change it"]).ok();
    repo.commit("other", "x\n", "Another");
    assert_eq!(place(&repo, &part), is("moved", "lib/deep/ü c.rs:11-13"));
    assert_eq!(place(&repo, &whole), is("changed", "lib/deep/ü c.rs"));
    let deep = sandbox.at(repo.path.join("lib/deep"));
    assert_eq!(place(&deep, &part), is("moved", "lib/deep/ü c.rs:11-13"));
    let text = repo.run(["search", "retry"]).ok().out;
    assert!(text.contains("src/a.rs:10-12 moved to lib/deep/ü c.rs:11-13"), "{text}");
    // git does not know what was only moved
    std::fs::rename(repo.path.join("lib/deep/ü c.rs"), repo.path.join("lib/d.rs")).expect("renamed");
    assert_eq!(place(&repo, &part).0, "gone");
    repo.git(["add", "-A"]).ok();
    assert_eq!(place(&repo, &part), is("moved", "lib/d.rs:11-13"));
}

#[test]
fn a_file_that_was_new_when_the_claim_was_made_is_followed() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("a", "a", "first");
    repo.start("ada", "Learn");
    repo.write("new.rs", &lines("line"));
    let claim = id(&repo.json(["finding", "x", "--at", "new.rs:3"]));
    assert_eq!(place(&repo, &claim), is("holds", "new.rs:3"));
    repo.git(["add", "-A"]).ok();
    repo.git(["commit", "-q", "-m", "Add it"]).ok();
    assert_eq!(place(&repo, &claim), is("holds", "new.rs:3"));
    repo.git(["mv", "new.rs", "newer.rs"]).ok();
    repo.git(["commit", "-q", "-m", "Rename it"]).ok();
    assert_eq!(place(&repo, &claim), is("moved", "newer.rs:3"));
    repo.git(["checkout", "-q", "HEAD~2"]).ok();
    assert_eq!(place(&repo, &claim).0, "gone", "there is no such file on this commit");
}

#[test]
fn every_view_says_what_is_not_as_it_was() {
    let sandbox = Sandbox::new();
    let (repo, part, _) = anchored(&sandbox);
    let fresh = id(&repo.json(["finding", "needs a rest"]));
    let text = |words: &[&str]| repo.run(words.iter().copied()).ok().unfenced();
    let before = text(&["resume"]);
    assert!(!before.contains("may no longer hold") && !before.contains("changed"), "{before}");
    for handed_over in [false, true] {
        if handed_over {
            repo.write("src/a.rs", &lines("line"));
            repo.json(["handoff"]);
            repo.git(["checkout", "-q", "--", "."]).ok();
        }
        repo.write("src/a.rs", &lines("LINE"));
        let changed = "needs a retry (src/a.rs:10-12 changed)";
        let resumed = text(&["resume"]);
        let first = resumed.lines().nth(3).expect("a line").to_owned() + resumed.lines().nth(4).unwrap_or_default();
        assert!(first.contains("may no longer hold: "), "{resumed}");
        for words in [&["resume"][..], &["session", "show"]] {
            assert!(text(words).contains(changed), "{words:?}: {}", text(words));
        }
        let arrival = &repo.json(["resume"])["sessions"][0]["arrival"]["claims"];
        assert_eq!(arrival.as_array().map(Vec::len), Some(2), "{arrival}");
    }
    for words in [["log", "--journal"], ["log", "--handoffs"]] {
        assert!(text(&words).contains("needs a retry (src/a.rs:10-12 changed)"), "{words:?}: {}", text(&words));
        assert!(!repo.run(words.into_iter().chain(["--json"])).ok().out.contains(" changed)"), "{words:?}");
    }
    let handoff = text(&["show"]);
    assert!(handoff.contains("may no longer hold: ") && handoff.contains("src/a.rs:10-12 changed"), "{handoff}");
    let project = text(&["status", "--all"]);
    assert!(project.contains("needs a retry (src/a.rs:10-12 changed"), "{project}");
    assert!(project.find("needs a rest") < project.find("needs a retry"), "{project}");
    let hits = repo.json(["search", "needs", "kind:finding"]);
    let order: Vec<&Value> = hits["hits"].as_array().expect("hits").iter().map(|hit| &hit["id"]).collect();
    assert_eq!(order, [&json!(fresh), &json!(part)], "what is about changed code comes last: {hits}");
    let doctor = repo.run(["doctor"]);
    assert!(doctor.out.contains("may no longer hold: src/a.rs:10-12 changed"), "{}", doctor.out);
    let page = sandbox.path().join("page.html");
    repo.run(["report", "--html", page.to_str().expect("a path")]).ok();
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("Claims about code that changed") && page.contains("a.rs:10-12 changed"));
    // the same without an index file, and without an index
    let whole = text(&["resume"]);
    std::fs::remove_file(repo.path.join(".git/empirica/index.db")).ok();
    assert_eq!(text(&["resume"]), whole);
    repo.git(["config", "empirica.index", "false"]).ok();
    assert_eq!(text(&["resume"]), whole);
}

#[test]
fn a_claim_can_hold_until_its_code_changes() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("a.rs", &lines("line"), "first");
    repo.start("ada", "Learn");
    let error = repo.fails(2, ["finding", "slow", "--until", "changed"]);
    assert!(error["error"].as_str().expect("a text").contains("it names no code"), "{error}");
    let claim = id(&repo.json(["finding", "slow", "--until", "changed", "--at", "a.rs:5"]));
    assert_eq!(repo.json(["show", &claim])["state"], "holds");
    repo.write("a.rs", &format!("x\n{}", lines("line")));
    assert_eq!(repo.json(["show", &claim])["state"], "holds", "it only moved");
    repo.write("a.rs", &lines("LINE"));
    assert_eq!(repo.json(["show", &claim])["state"], "ran_out");
    let shown = repo.run(["show", &claim]).ok().unfenced();
    assert!(shown.starts_with("Held until its code changed.\nCode: a.rs:5 changed.\n"), "{shown}");
    let project = repo.json(["status", "--all"]);
    assert_eq!(project["findings"][0]["ran_out"], true, "{project}");
    repo.json(["handoff"]);
    let handoff = repo.run(["log", "--handoffs"]).ok().out;
    assert!(handoff.contains("slow (until its code changes)"), "{handoff}");
}

#[test]
fn a_confirmation_and_a_replacement_look_for_the_code_anew() {
    let sandbox = Sandbox::new();
    let (repo, part, whole) = anchored(&sandbox);
    repo.json(["flush"]);
    let changed = format!("new\n{}", lines("line").replace("line 11", "LINE 11"));
    repo.commit("src/a.rs", &changed, "Change it");
    assert_eq!(place(&repo, &part).0, "changed");
    repo.json(["confirm", &part]);
    assert_eq!(place(&repo, &part), is("holds", "src/a.rs:11-13"), "between the lines around it");
    let new = id(&repo.json(["replace", &whole, "one file still", "--why", "small"]));
    assert_eq!(place(&repo, &new), is("holds", "src/a.rs"));
    repo.commit("src/a.rs", &changed.replace("LINE 11", "Line 11"), "Change it again");
    assert_eq!((place(&repo, &part).0, place(&repo, &new).0), ("changed".to_owned(), "changed".to_owned()));
    // elsewhere, when that is said
    repo.json(["confirm", &part, "--at", "src/a.rs:2"]);
    assert_eq!(place(&repo, &part), is("holds", "src/a.rs:2"));
    let newer = id(&repo.json(["replace", &new, "two lines", "--why", "small", "--at", "src/a.rs:1-2"]));
    assert_eq!(place(&repo, &newer), is("holds", "src/a.rs:1-2"));
    // undone, the confirmation before it counts
    repo.json(["confirm", &part, "--at", "src/a.rs:4"]);
    repo.json(["undo"]);
    assert_eq!(place(&repo, &part), is("holds", "src/a.rs:2"));
    // only what is said now is looked for: the old text names a line, too
    let named = id(&repo.json(["deadend", "a mutex", "--why", "it waits at src/a.rs:10"]));
    repo.write("src/a.rs", &format!("1\n2\n{}", lines("line")));
    let named = id(&repo.json(["replace", &named, "a lock"]));
    assert_eq!(places(&repo, &named), [is("holds", "src/a.rs:11")]);
    repo.json(["confirm", &named, "--at", "src/a.rs:2"]);
    assert_eq!(places(&repo, &named), [is("holds", "src/a.rs:2")]);
    // what is gone has no place
    let limited = id(&repo.json(["finding", "x", "--at", "src/a.rs:3", "--until", "changed"]));
    repo.git(["rm", "-q", "-f", "src/a.rs"]).ok();
    let error = repo.fails(1, ["confirm", &limited]);
    assert!(error["error"].as_str().expect("a text").ends_with("its code is gone"), "{error}");
    assert!(!repo.run(["doctor"]).out.contains(&format!("git empirica confirm {}", &limited[28..])));
    let held = id(&repo.json(["replace", &limited, "y"]));
    assert_eq!((&repo.json(["show", &held])["until"], places(&repo, &held).len()), (&Value::Null, 0));
    let last = id(&repo.json(["replace", &newer, "no lines", "--why", "gone"]));
    assert!(places(&repo, &last).is_empty());
}

#[test]
fn in_another_clone_the_claim_no_longer_holds_and_its_replacement_is_told_everywhere() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let [ada, bob] = clones(&sandbox, &hub, 2).try_into().map_err(|_| ()).expect("two clones");
    ada.commit("src/a.rs", &lines("line"), "Add a file");
    ada.git(["push", "-q", "origin", "main"]).ok();
    ada.start("ada", "Learn");
    let old = id(&ada.json(["finding", "the lock is held too long", "--at", "src/a.rs:10-12"]));
    ada.json(["handoff"]);
    sync(&ada);
    bob.git(["pull", "-q", "--rebase"]).ok();
    sync(&bob);
    assert!(!bob.run(["resume"]).ok().out.contains("may no longer hold"));
    bob.commit("src/a.rs", &lines("line").replace("line 11", "unlock"), "Release the lock");
    let resumed = bob.run(["resume"]).ok().out;
    assert!(resumed.contains("the lock is held too long (src/a.rs:10-12 changed)"), "{resumed}");
    bob.start("bob", "Correct");
    let new = id(&bob.json(["replace", &old, "the lock is released early", "--at", "src/a.rs:11"]));
    sync(&bob);
    bob.git(["push", "-q", "origin", "HEAD:main"]).ok();
    ada.git(["pull", "-q", "--rebase"]).ok();
    sync(&ada);
    for clone in [&ada, &bob] {
        // ada's handoff tells what replaced its finding
        for words in [&["resume", "--ai", "ada"][..], &["show"], &["search", "lock"], &["status", "--all"]] {
            let text = clone.run(words.iter().copied()).ok().out;
            assert!(
                text.contains("the lock is released early") && !text.contains("held too long"),
                "{words:?}: {text}"
            );
        }
        assert_eq!(place(clone, &new), is("holds", "src/a.rs:11"));
        clone.fsck();
    }
}
