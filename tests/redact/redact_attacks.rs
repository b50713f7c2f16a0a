//! A redacted text stays removed despite diverging refs, locks, kills and missing remotes.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::redact::records::{SECRET, assert_gone, holders, say, shared};
use crate::support::harness::{Repo, Sandbox, each};
use crate::sync::team::{REFS, clones, hub, is_quiet, lines, sync, trees, work};

/// The second clone quotes a record of the first on refs that the first does not have, and has pushed none of it.
fn quoting<'p>(place: &'p Sandbox) -> (Repo<'p>, Vec<Repo<'p>>, String) {
    let hub = hub(place);
    let repos = clones(place, &hub, 2);
    repos[0].start("one", "t");
    let id = say(&repos[0]);
    sync(&repos[0]);
    sync(&repos[1]);
    repos[1].start("two", "t");
    repos[1].json(["checkpoint", "-v", "know=0.5", "--search", "staging password"]);
    repos[1].json(["handoff", "--next", &format!("quoted: {SECRET}"), "--context", "and this stays"]);
    repos[1].json(["finding", &format!("waits with: {SECRET}")]);
    (hub, repos, id)
}

#[track_caller]
fn assert_clean(repos: &[&Repo<'_>]) {
    for repo in repos {
        assert_gone(repo, "hunter2hunter2");
        repo.fsck();
    }
    assert!(lines(repos[0]).join("\n").contains("quoted: [redacted]"));
    assert!(lines(repos[0]).join("\n").contains("and this stays"));
}

#[test]
fn refs_only_in_another_clone_are_redacted_there() {
    let place = Sandbox::new();
    let (hub, repos, id) = quoting(&place);
    assert_eq!(repos[0].json(["redact", &id])["complete"], true);
    let synced = sync(&repos[1]);
    assert!(!synced["outgoing"]["kinds"].to_string().contains("\"redacted\""), "{synced}");
    sync(&repos[0]);
    assert_clean(&[&repos[1], &repos[0], &hub]);
    assert_eq!(trees(&repos[0]), trees(&repos[1]));
    assert!(is_quiet(&sync(&repos[1])));
}

#[test]
fn the_journal_that_comes_alone_cleans_everything() {
    let place = Sandbox::new();
    let (hub, repos, id) = quoting(&place);
    repos[0].json(["redact", &id]);
    let journal = format!("+{}:refs/notes/empirica/remotes/origin/data/journal", REFS[0]);
    repos[1].git(["fetch", "-q", "--refmap=", "origin", &journal]).ok();
    repos[1].json(["status"]);
    assert_gone(&repos[1], "hunter2hunter2");
    sync(&repos[1]);
    assert_clean(&[&repos[1], &hub]);
}

#[test]
fn a_lock_on_one_ref_keeps_everything_from_leaving_until_it_is_gone() {
    let place = Sandbox::new();
    for locked in REFS.into_iter().skip(1).step_by(each(2)) {
        let place_of = Sandbox::new();
        let (hub, repos, id) = quoting(&place_of);
        repos[1].json(["flush"]);
        repos[0].json(["redact", &id]);
        repos[1].git(["config", "empirica.lockTimeout", "50ms"]).ok();
        let lock = repos[1].path.join(".git").join(format!("{locked}.lock"));
        std::fs::write(&lock, "").expect("a lock");
        let ran = repos[1].run(["sync", "--json"]);
        assert_ne!(ran.code, 0, "{locked}: {}", ran.out);
        assert_gone(&hub, "hunter2hunter2");
        std::fs::remove_file(lock).expect("a lock");
        sync(&repos[1]);
        assert_clean(&[&repos[1], &hub]);
        assert!(!repos[1].path.join(".git/empirica/forgetting").exists());
    }
    drop(place);
}

fn remove_locks(folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            remove_locks(&path);
        } else if path.extension().is_some_and(|ending| ending == "lock") {
            std::fs::remove_file(path).expect("a lock");
        }
    }
}

/// Runs a command and kills it after some time; whether it was still at it.
fn killed(repo: &Repo<'_>, arguments: &[&str], after: Duration) -> bool {
    let mut command = repo.program();
    let mut child = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    std::thread::sleep(after);
    let was_at_it = child.try_wait().expect("a state").is_none();
    let _ = child.kill();
    child.wait().expect("an end");
    // a git that it had started ends by itself; the locks of a dead process the user removes, as every message says
    std::thread::sleep(Duration::from_millis(150));
    remove_locks(&repo.path.join(".git"));
    was_at_it
}

#[test]
fn a_killed_redaction_is_completed_by_the_next_command() {
    let mut hits = 0;
    let place = Sandbox::new();
    let (hub, repos, id) = quoting(&place);
    repos[0].json(["redact", &id]);
    repos[1].git(["fetch", "-q"]).ok();
    for at in (0..14).step_by(each(2)) {
        // the same state each time
        let copy = place.path().join(format!("copy{at}"));
        let copied = place.command("cp", &place.path()).args(["-a", "c1"]).arg(&copy).status().expect("cp starts");
        assert!(copied.success());
        let copy = place.at(format!("copy{at}"));
        hits += usize::from(killed(&copy, &["status"], Duration::from_millis(4 + at * 6)));
        copy.json(["status"]);
        assert_gone(&copy, "hunter2hunter2");
        assert!(lines(&copy).join("\n").contains("waits with: [redacted]"));
    }
    assert!(hits > 0, "nobody was ever at it");
    sync(&repos[1]);
    assert_clean(&[&repos[1], &hub]);
}

#[test]
fn a_redaction_that_is_killed_is_done_or_was_not_begun() {
    let place = Sandbox::new();
    let (_hub, _repos, id) = quoting(&place);
    let (mut tried, mut hits, mut done) = (0, 0, 0);
    for at in (0..14).step_by(each(2)) {
        let copy = place.path().join(format!("copy{at}"));
        let copied = place.command("cp", &place.path()).args(["-a", "c0"]).arg(&copy).status().expect("cp starts");
        assert!(copied.success());
        let copy = place.at(format!("copy{at}"));
        copy.git(["remote", "remove", "origin"]).ok();
        copy.json(["handoff", "--next", "and this stays"]);
        tried += 1;
        hits += usize::from(killed(&copy, &["redact", &id], Duration::from_millis(4 + at * 6)));
        copy.json(["status"]);
        assert!(!copy.path.join(".git/empirica/forgetting").exists());
        match lines(&copy).join("\n").contains(SECRET) {
            true => assert!(lines(&copy).iter().filter(|line| line.contains(SECRET)).count() >= 2, "half of it"),
            false => {
                done += 1;
                assert_gone(&copy, "hunter2hunter2");
            }
        }
        copy.json(["redact", &id]);
        assert_gone(&copy, "hunter2hunter2");
        assert!(lines(&copy).join("\n").contains("and this stays"));
    }
    assert!(hits > 0 && done < tried, "{hits} {done}");
}

#[test]
fn repeating_the_command_retries_the_remote_and_every_url() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 1);
    let repo = &repos[0];
    for name in ["second.git", "third.git", "never.git"] {
        repo.git(["init", "-q", "--bare", &format!("../{name}")]).ok();
    }
    let url = |name: &str| place.path().join(name).display().to_string();
    repo.git(["remote", "add", "second", &url("second.git")]).ok();
    repo.git(["remote", "add", "mirror", &url("third.git")]).ok();
    work(repo, "one");
    let id = say(repo);
    sync(repo);
    repo.json(["sync", "second"]);
    // a copy that no sync made
    repo.git(["push", "-q", "mirror", "refs/notes/empirica/data/*:refs/notes/empirica/data/*"]).ok();
    repo.git(["remote", "set-url", "second", &url("gone.git")]).ok();
    let answer = repo.run(["redact", &id, "--json"]).code(1).json();
    let state = |answer: &serde_json::Value, name: &str| {
        let all = answer["remotes"].as_array().expect("a list");
        all.iter().find(|r| r["remote"] == name).map(|r| r["state"].clone()).unwrap_or_default()
    };
    assert_eq!(
        (state(&answer, "origin"), state(&answer, "second")),
        (json!("redacted"), json!("not_redacted")),
        "{answer}"
    );
    assert_eq!(state(&answer, "mirror"), json!("redacted"), "{answer}");
    assert_gone(&place.at("third.git"), "hunter2hunter2");
    repo.git(["remote", "set-url", "second", &url("second.git")]).ok();
    let answer = repo.json(["redact", &id]);
    assert_eq!((state(&answer, "second"), &answer["complete"]), (json!("redacted"), &json!(true)), "{answer}");
    assert_gone(&place.at("second.git"), "hunter2hunter2");
    // a remote that never existed is reported and does not prevent completion
    repo.git(["remote", "add", "nowhere", &url("nowhere.git")]).ok();
    let answer = repo.json(["redact", &id]);
    assert_eq!((state(&answer, "nowhere"), &answer["complete"]), (json!("not_asked"), &json!(true)), "{answer}");
    // both push URLs of a remote are contacted
    repo.git(["remote", "remove", "nowhere"]).ok();
    let again = say(repo);
    for name in ["hub.git", "second.git"] {
        repo.git(["remote", "set-url", "--add", "--push", "origin", &url(name)]).ok();
    }
    repo.json(["sync"]);
    repo.json(["sync", "second"]);
    repo.git(["remote", "remove", "second"]).ok();
    assert!(!holders(&place.at("second.git"), SECRET).is_empty());
    assert_eq!(repo.json(["redact", &again])["complete"], true);
    assert_gone(&place.at("second.git"), "hunter2hunter2");
    assert_gone(&hub, "hunter2hunter2");
}

#[test]
fn tracking_refs_copied_by_a_mirror_are_reported() {
    let place = Sandbox::new();
    let (hub, repos, id) = shared(&place, 1);
    let repo = &repos[0];
    repo.git(["push", "-q", "origin", "refs/notes/*:refs/notes/*"]).ok();
    let answer = repo.json(["redact", &id]);
    let warning = answer["warnings"][0].as_str().expect("a warning").to_owned();
    let command = warning.split_once("remove them: git ").expect("a command").1.to_owned();
    repo.git(command.split(' ')).ok();
    assert_eq!(repo.json(["redact", &id])["warnings"], json!(null));
    assert_gone(&hub, "hunter2hunter2");
}

#[test]
fn records_sharing_other_values_with_a_redacted_one_stay() {
    let place = Sandbox::new();
    let repo = place.set_up("a");
    repo.start("one", "implement the login page");
    let assessed = repo.json(["preflight", "-v", "know=0.5", "--tag", "medium", "--reasoning", "medium"]);
    let assessed = assessed["checkpoint_id"].as_str().expect("an id").to_owned();
    repo.json(["goal", "add", "a goal", "--priority", "medium"]);
    repo.json(["finding", "innocent and important"]);
    let handed = repo.json(["handoff", "--next", SECRET])["handoff_id"].as_str().expect("an id").to_owned();
    repo.json(["session", "end"]);
    repo.start("two", "implement the login page");
    repo.json(["handoff", "--next", "of the other"]);
    repo.json(["redact", &assessed]);
    let all = repo.json(["query"]);
    assert_eq!(all["total_found"], 2, "{all}");
    let answer = repo.json(["redact", &handed]);
    assert_gone(&repo, "hunter2hunter2");
    let kept = repo.run(["resume", "--detail", "full"]).ok().out;
    assert!(kept.contains("implement the login page") && kept.contains("of the other"), "{kept}");
    // records with the same text are reported
    assert!(answer["look_at"].to_string().contains("session_start"), "{answer}");
    assert!(lines(&repo).join("\n").contains("innocent and important"));
}

#[test]
fn nested_texts_are_redacted_in_any_order() {
    for order in [[0, 1], [1, 0]] {
        let place = Sandbox::new();
        let repo = place.set_up("a");
        repo.start("one", "t");
        let other = format!("in prod too: {SECRET}, and the user is bob-the-admin");
        let ids = [say(&repo), repo.json(["finding", &other])["id"].as_str().expect("an id").to_owned()];
        repo.json(["checkpoint", "-v", "know=0.4"]);
        repo.json(["handoff", "--next", "stays"]);
        repo.json(["redact", &ids[order[0]]]);
        repo.json(["redact", &ids[order[1]]]);
        assert_gone(&repo, "hunter2hunter2");
        assert_gone(&repo, "bob-the-admin");
        assert!(repo.note(REFS[3], &repo.head()).contains("stays"));
    }
}

/// A teammate's lines beside a record, with its id: unreadable ones, and records with something that JSON cannot represent
/// in unusual places. Each of them prevented rewriting the whole note.
#[test]
fn an_unreadable_line_prevents_no_redaction() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    repos[0].start("one", "t");
    let id = say(&repos[0]);
    sync(&repos[0]);
    sync(&repos[1]);
    let head = format!("{{\"v\":1,\"id\":\"{id}\",\"kind\":\"finding\"");
    let rest = "\"session\":null,\"ai\":\"x\",\"at\":\"\",\"commit\":null,\"tree\":null";
    let mut forged: Vec<Vec<u8>> = vec![
        format!("{head},no JSON, {SECRET}").into_bytes(),
        format!("{head},{rest},\"text\":\"{SECRET}\",\"x\":1e999}}").into_bytes(),
        format!("{head},{rest},\"text\":\"{SECRET}\",\"x\":\"\\ud800\"}}").into_bytes(),
        format!("{head},{rest},\"text\":\"{SECRET}\",\"x\":{}1{}}}", "[".repeat(200), "]".repeat(200)).into_bytes(),
        // quotes it under an id of its own
        format!("{{\"v\":1,\"id\":\"019ab000-0000-7000-8000-000000000001\",\"kind\":\"finding\",{rest},\"text\":\"{SECRET}\",\"x\":1e999}}")
            .into_bytes(),
    ];
    let broken = format!("{head},{rest},\"text\":\"{SECRET}\",\"x\":\"");
    forged.push([broken.as_bytes(), b"\xff\"}"].concat());
    let on = repos[1].git_out(["notes", "--ref", REFS[0], "list"]);
    let on = on.lines().next().and_then(|line| line.split(' ').nth(1)).expect("a note").to_owned();
    let mut note = repos[1].note_bytes(REFS[0], &on);
    forged.iter().for_each(|line| note.extend([line.as_slice(), b"\n"].concat()));
    repos[1].set_note(REFS[0], &on, &note);
    sync(&repos[1]);
    sync(&repos[0]);
    assert!(lines(&repos[0]).join("\n").contains("no JSON"), "the forged lines arrived");
    let json = repos[0].json(["redact", &id]);
    assert_eq!(json["complete"], true, "{json}");
    assert_gone(&repos[0], "hunter2hunter2");
    sync(&repos[0]);
    sync(&repos[1]);
    for repo in [&repos[0], &repos[1], &hub] {
        assert_gone(repo, "hunter2hunter2");
        repo.fsck();
    }
    let left = lines(&hub);
    let quoting = left.iter().find(|line| line.contains("019ab000-0000-7000-8000-000000000001")).expect("it is there");
    assert!(quoting.contains(r#""text":"[redacted]","x":1e999"#), "{quoting}");
    // the stub names its redactor, once for each readable form
    let stubs: Vec<&String> = left.iter().filter(|line| line.contains(&id)).collect();
    assert!(stubs.len() == 2 && stubs.iter().all(|stub| stub.contains("\"redacted_by\":\"Other\"")), "{stubs:?}");
}
