//! Secrets that would be pushed with more than the current notes: in their history, messages, other files, and by the user's own pushes;
//! and their removal outside of records.

use crate::redact::records::assert_gone;
use crate::support::harness::{Repo, Sandbox};
use crate::sync::team::{clones, hub, lines, sync, tips};

const JOURNAL: &str = "refs/notes/empirica/data/journal";
const HANDOFFS: &str = "refs/notes/empirica/handoffs";

/// A token of an issuer's form, put together here.
fn token() -> String {
    format!("gh{}_{}", "p", "a8Kd03nfKq92mfLwP20sXz71bVcN5tYh6RjQ")
}

/// A clone with a record on every ref that its hub has, and one more that it has not.
fn working<'p>(place: &'p Sandbox, hub: &Repo<'p>) -> Repo<'p> {
    let repo = clones(place, hub, 1).remove(0);
    repo.start("one", "t");
    repo.json(["finding", "beside it"]);
    repo.json(["handoff", "-m", "handed over"]);
    sync(&repo);
    repo.json(["finding", "not sent yet"]);
    repo.json(["flush"]);
    repo
}

/// Nothing leaves, `redact --secrets` takes it out, all else leaves then and stays.
#[track_caller]
fn held_until_scrubbed(hub: &Repo<'_>, repo: &Repo<'_>, what: &str) {
    let failed = repo.fails(1, ["sync"]);
    let error = failed["error"].as_str().expect("an error");
    assert!(error.contains(what) && error.contains("holds a secret"), "{failed}");
    assert!(!failed.to_string().contains(&token()), "{failed}");
    assert!(failed["recovery_commands"].to_string().contains("git empirica redact --secrets"), "{failed}");
    let doctor = repo.run(["doctor", "--secrets"]);
    let output = format!("{}{}", doctor.out, doctor.err);
    assert!(doctor.code == 1 && output.contains(what) && output.contains("git empirica redact --secrets"), "{output}");
    let would = repo.json(["redact", "--secrets", "--dry-run"]);
    let done = repo.json(["redact", "--secrets"]);
    assert_eq!(would["scrubbed"], done["scrubbed"]);
    assert!(done["scrubbed"][0]["ref"].is_string(), "{done}");
    repo.json(["status"]);
    sync(repo);
    repo.json(["status"]);
    let all = lines(hub).join("\n");
    assert!(all.contains("beside it") && all.contains("not sent yet"), "{all}");
    assert_gone(hub, &token());
    assert_gone(repo, &token());
    assert_eq!(repo.json(["redact", "--secrets"])["scrubbed"], serde_json::json!([]));
    assert_eq!(repo.run(["doctor", "--secrets"]).out.matches("holds a secret").count(), 0);
}

#[test]
fn a_secret_in_a_line_that_is_no_record_is_named_and_replaced() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = working(&place, &hub);
    repo.git(["notes", "--ref", JOURNAL, "append", "-m", &format!("a reviewer's token: {}", token())]).ok();
    held_until_scrubbed(&hub, &repo, &format!("in the note of {} in {JOURNAL}", repo.head()));
    let note = repo.git_out(["notes", "--ref", JOURNAL, "show", "HEAD"]);
    assert!(note.contains("a reviewer's token: [redacted:"), "{note}");
}

#[test]
fn secrets_in_markdown_of_people_are_named_and_replaced() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = working(&place, &hub);
    repo.git(["notes", "--ref", HANDOFFS, "append", "-m", &format!("Reviewed with {}", token())]).ok();
    held_until_scrubbed(&hub, &repo, &format!("in the note of {} in {HANDOFFS}", repo.head()));
    let note = repo.git_out(["notes", "--ref", HANDOFFS, "show", "HEAD"]);
    assert!(note.contains("Reviewed with [redacted:") && note.contains("handed over"), "{note}");
}

#[test]
fn a_secret_that_only_the_history_of_the_notes_has_does_not_leave() {
    for name in [JOURNAL, HANDOFFS] {
        let place = Sandbox::new();
        let hub = hub(&place);
        let repo = working(&place, &hub);
        let before = repo.git_out(["notes", "--ref", name, "show", "HEAD"]);
        repo.git(["notes", "--ref", name, "append", "-m", &format!("token {}", token())]).ok();
        repo.git(["notes", "--ref", name, "add", "-f", "-m", &before]).ok();
        repo.json(["handoff", "-m", "handed over again"]);
        held_until_scrubbed(&hub, &repo, &format!("an older version of the note of {} in {name}", repo.head()));
    }
}

#[test]
fn a_secret_in_a_message_does_not_leave() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = working(&place, &hub);
    let message = format!("Notes with {}", token());
    let commit = repo.git_out(["commit-tree", &format!("{JOURNAL}^{{tree}}"), "-p", JOURNAL, "-m", &message]);
    repo.git(["update-ref", JOURNAL, &commit]).ok();
    held_until_scrubbed(&hub, &repo, &format!("the commit {commit} of {JOURNAL}"));
}

#[test]
fn a_secret_in_the_head_of_a_commit_does_not_leave() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = working(&place, &hub);
    let head = repo.git_out(["cat-file", "commit", JOURNAL]);
    let head = head.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    std::fs::write(repo.path.join("../commit"), format!("{head}\nx-note {}\n\nNotes\n", token())).expect("a file");
    let commit = repo.git_out(["hash-object", "-t", "commit", "-w", "../commit"]);
    repo.git(["update-ref", JOURNAL, &commit]).ok();
    held_until_scrubbed(&hub, &repo, &format!("the commit {commit} of {JOURNAL}"));
}

#[test]
fn a_secret_in_another_file_or_its_name_does_not_leave() {
    for (path, text) in [("README", format!("token {}\n", token())), ("docs", "x\n".to_owned())] {
        let place = Sandbox::new();
        let hub = hub(&place);
        let repo = working(&place, &hub);
        std::fs::write(repo.path.join("..").join("text"), &text).expect("a file");
        let blob = repo.git_out(["hash-object", "-w", "../text"]);
        let tree = repo.git_out(["ls-tree", JOURNAL]);
        let entry = if path == "docs" {
            std::fs::write(repo.path.join("..").join("folder"), format!("100644 blob {blob}\t{}\n", token()))
                .expect("a file");
            let folder = shell(&repo, "git mktree < ../folder");
            format!("040000 tree {folder}\tdocs")
        } else {
            format!("100644 blob {blob}\t{path}")
        };
        std::fs::write(repo.path.join("..").join("tree"), format!("{tree}\n{entry}\n")).expect("a file");
        let tree = shell(&repo, "git mktree < ../tree");
        let commit = repo.git_out(["commit-tree", &tree, "-p", JOURNAL, "-m", "Other files"]);
        repo.git(["update-ref", JOURNAL, &commit]).ok();
        let what = if path == "docs" { "the name of a file in" } else { "the file README in" };
        held_until_scrubbed(&hub, &repo, what);
    }
}

#[test]
fn a_secret_edited_into_a_handoff_block_is_not_pushed() {
    for allowed in [false, true] {
        let place = Sandbox::new();
        let hub = hub(&place);
        let repo = working(&place, &hub);
        let other = format!("gl{}-{}", "pat", "Xk3vQz2Lr9Tw7mNb4cJd");
        let text = format!("the sample {other} is public");
        let also: &[&str] = if allowed { &["--context", &text, "--allow-secret"] } else { &[] };
        repo.json([&["handoff", "-m", "with a block"], also].concat());
        let note = repo.git_out(["notes", "--ref", HANDOFFS, "show", "HEAD"]);
        let edited = note.replacen("with a block", &format!("with a block, reviewer says {}", token()), 1);
        assert_ne!(note, edited);
        std::fs::write(repo.path.join("../note"), edited).expect("a file");
        repo.git(["notes", "--ref", HANDOFFS, "add", "-f", "-F", "../note"]).ok();
        held_until_scrubbed(&hub, &repo, &format!("in the note of {} in {HANDOFFS}", repo.head()));
        let all = lines(&hub).join("\n");
        assert_eq!(all.contains(&other), allowed, "{all}");
    }
}

#[test]
fn a_secret_in_the_epoch_a_key_or_a_stub_does_not_leave() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = working(&place, &hub);
    std::fs::write(repo.path.join("../text"), format!("1\npassword for it {}\n", token())).expect("a file");
    let blob = repo.git_out(["hash-object", "-w", "../text"]);
    let entries = format!("{}\n100644 blob {blob}\tepoch\n", repo.git_out(["ls-tree", JOURNAL]));
    std::fs::write(repo.path.join("../tree"), entries).expect("a file");
    let tree = shell(&repo, "git mktree < ../tree");
    let commit = repo.git_out(["commit-tree", &tree, "-p", JOURNAL, "-m", "An epoch"]);
    repo.git(["update-ref", JOURNAL, &commit]).ok();
    held_until_scrubbed(&hub, &repo, "the file epoch in");
    let id = "019ca945-0a01-7867-aa2f-bbce3ccae37f";
    let stub = format!(r#"{{"v":1,"id":"{id}","kind":"redacted","of":"finding","reason":"it was {}"}}"#, token());
    repo.git(["notes", "--ref", JOURNAL, "append", "-m", &stub]).ok();
    held_until_scrubbed(&hub, &repo, &format!("in the note of {} in {JOURNAL}", repo.head()));
    let record = format!(
        r#"{{"v":1,"id":"019ca945-0a02-7867-aa2f-bbce3ccae37f","kind":"finding","session":null,"ai":"x","at":"2026-03-01T12:00:00.000Z","commit":null,"tree":null,"text":"x","{}":1}}"#,
        token()
    );
    repo.git(["notes", "--ref", JOURNAL, "append", "-m", &record]).ok();
    let failed = repo.fails(1, ["sync"]);
    assert!(failed["reason"].as_str().is_some_and(|why| why.contains("the name of a field")), "{failed}");
    let command = failed["recovery_commands"][0].as_str().expect("a command").to_owned();
    shell(&repo, &command);
    sync(&repo);
    assert_gone(&hub, &token());
}

#[test]
fn invalid_utf_8_stays_byte_for_byte() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("one", "t");
    repo.json(["flush"]);
    let token = token();
    let line = [&b"other \xff\xfe line"[..], b"caf\xe9 ", token.as_bytes(), b" end"];
    std::fs::write(repo.path.join("../text"), [line[0], b"\n", &line[1..].concat()[..], b"\n"].concat())
        .expect("a file");
    repo.git(["notes", "--ref", JOURNAL, "append", "-F", "../text"]).ok();
    repo.json(["redact", "--secrets"]);
    let blob = repo.git_out(["notes", "--ref", JOURNAL, "list", "HEAD"]);
    let mut git = place.command("git", &repo.path);
    let note = git.args(["cat-file", "blob", &blob]).output().expect("git starts").stdout;
    let holds = |part: &[u8]| note.windows(part.len()).any(|bytes| bytes == part);
    assert!(holds(line[0]) && holds(b"caf\xe9 [redacted:") && holds(b"] end") && !holds(token.as_bytes()));
}

#[test]
fn secrets_already_on_a_remote_are_reported_to_return() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = working(&place, &hub);
    repo.git(["notes", "--ref", JOURNAL, "append", "-m", &format!("token {}", token())]).ok();
    repo.json(["sync", "--allow-secret"]);
    let done = repo.json(["redact", "--secrets"]);
    assert_eq!(done["scrubbed"][0]["published"], true, "{done}");
    assert!(done["warning"].as_str().is_some_and(|text| text.contains("fetches it again")), "{done}");
}

#[test]
fn the_scan_before_a_push_is_bounded_in_time() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = working(&place, &hub);
    repo.json(["init"]);
    let lines: String = (0..60_000).map(|n| format!("harmless line of text number {n}\n")).collect();
    std::fs::write(repo.path.join("../lines"), lines).expect("a file");
    repo.git(["notes", "--ref", JOURNAL, "append", "-F", "../lines"]).ok();
    repo.json(["status"]);
    repo.git(["config", "empirica.syncTimeout", "300ms"]).ok();
    repo.commit("c", "c\n", "Next");
    let ran = repo.git(["push", "origin", "main"]);
    assert!(ran.code == 0 && ran.err.contains("timed out"), "{}", ran.err);
    repo.git(["config", "--unset", "empirica.syncTimeout"]).ok();
    sync(&repo);
}

#[test]
fn files_whose_names_hold_secrets_keep_each_their_content() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = working(&place, &hub);
    let blobs = ["content one", "content two"].map(|text| {
        std::fs::write(repo.path.join("../text"), text).expect("a file");
        repo.git_out(["hash-object", "-w", "../text"])
    });
    let names = [token(), token().replace("a8K", "b9L")];
    let entries: String =
        blobs.iter().zip(&names).map(|(blob, name)| format!("100644 blob {blob}\t{name}\n")).collect();
    std::fs::write(repo.path.join("../tree"), format!("{}\n{entries}", repo.git_out(["ls-tree", JOURNAL])))
        .expect("a file");
    let tree = shell(&repo, "git mktree < ../tree");
    let commit = repo.git_out(["commit-tree", &tree, "-p", JOURNAL, "-m", "Other files"]);
    repo.git(["update-ref", JOURNAL, &commit]).ok();
    repo.json(["redact", "--secrets"]);
    let left = repo.git_out(["ls-tree", JOURNAL]);
    assert!(blobs.iter().all(|blob| left.contains(blob.as_str())), "{left}");
    assert!(names.iter().all(|name| !left.contains(name.as_str())), "{left}");
}

#[test]
fn a_push_of_notes_with_a_secret_by_the_user_gets_a_warning() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = working(&place, &hub);
    repo.json(["init"]);
    repo.git(["config", "empirica.redact", "false"]).ok();
    let id = repo.json(["finding", &format!("token {}", token())])["id"].as_str().expect("an id").to_owned();
    repo.git(["config", "--unset", "empirica.redact"]).ok();
    repo.json(["flush"]);
    let before = tips(&hub);
    repo.git(["config", "empirica.strict", "true"]).ok();
    for push in [&["push", "origin", JOURNAL][..], &["push", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]] {
        let ran = repo.git(push);
        assert!(ran.code != 0 && ran.err.contains(&id) && ran.err.contains(" sends it; "), "{}", ran.err);
        assert!(!ran.err.contains(&token()), "{}", ran.err);
    }
    repo.git(["tag", "another-name", JOURNAL]).ok();
    let ran = repo.git(["push", "origin", "another-name"]);
    assert!(ran.code != 0 && ran.err.contains(&id), "whatever it is called: {}", ran.err);
    assert_eq!(tips(&hub), before, "who is strict is kept from it");
    repo.git(["config", "--unset", "empirica.strict"]).ok();
    for push in [&["push", "origin", JOURNAL][..], &["push", "-f", "--mirror", "origin"]] {
        let ran = repo.git(push);
        assert!(ran.code == 0 || push.contains(&"--mirror"), "{}", ran.err);
        if push.len() == 3 {
            assert!(ran.err.contains(&id) && ran.err.contains("git empirica redact"), "{}", ran.err);
        }
    }
    // records already on the remote are not mentioned again
    repo.json(["finding", "later"]);
    repo.json(["flush"]);
    let ran = repo.git(["push", "origin", JOURNAL]);
    assert!(ran.code == 0 && !ran.err.contains(&id), "{}", ran.err);
}

#[test]
fn a_mirror_push_is_warned_of() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["init", "-q", "--bare", "../mirror.git"]).ok();
    repo.git(["remote", "add", "--mirror=push", "origin", "../mirror.git"]).ok();
    repo.json(["init"]);
    repo.start("one", "t");
    repo.git(["config", "empirica.redact", "false"]).ok();
    let id = repo.json(["finding", &format!("token {}", token())])["id"].as_str().expect("an id").to_owned();
    repo.git(["config", "--unset", "empirica.redact"]).ok();
    repo.json(["flush"]);
    let ran = repo.git(["push", "origin"]);
    assert!(ran.code == 0 && ran.err.contains(&id), "{}", ran.err);
}

#[test]
fn a_redaction_reaches_the_remote_though_another_secret_is_there_already() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &clones(&place, &hub, 1)[0];
    repo.start("one", "t");
    repo.git(["config", "empirica.redact", "false"]).ok();
    let id =
        repo.json(["finding", "the vault opens with swordfish-and-chips"])["id"].as_str().expect("an id").to_owned();
    repo.json(["handoff", "-m", "handed over", "--context", &format!("token {}", token())]);
    sync(repo);
    repo.git(["config", "--unset", "empirica.redact"]).ok();
    let redacted = repo.json(["redact", &id]);
    assert_eq!(
        (&redacted["complete"], &redacted["remotes"][0]["state"]),
        (&true.into(), &"redacted".into()),
        "{redacted}"
    );
    assert_gone(&hub, "swordfish");
    // new records are still withheld
    repo.git(["config", "empirica.redact", "false"]).ok();
    let new = repo.json(["finding", &format!("token {}", token())])["id"].as_str().expect("an id").to_owned();
    repo.git(["config", "--unset", "empirica.redact"]).ok();
    assert!(repo.fails(1, ["sync"])["error"].as_str().is_some_and(|error| error.contains(&new)));
}

#[test]
fn a_dry_run_lists_records_that_would_be_withheld() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = working(&place, &hub);
    repo.git(["config", "empirica.redact", "false"]).ok();
    for flush in [false, true] {
        let text = format!("token {}", token());
        let id = repo.json(["finding", &text])["id"].as_str().expect("an id").to_owned();
        if flush {
            repo.json(["flush"]);
        }
        repo.git(["config", "--unset", "empirica.redact"]).ok();
        let would = repo.json(["sync", "--dry-run"]);
        assert!(would["warning"].as_str().is_some_and(|text| text.contains("cannot send the notes")), "{would}");
        assert!(!would.to_string().contains(&token()), "{would}");
        assert_eq!(would["remotes"][0]["outgoing"]["records"], 0, "{would}");
        repo.run(["redact", &id]);
        repo.git(["config", "empirica.redact", "false"]).ok();
    }
    // at the end nothing of it was sent
    let all = lines(&hub).join("\n");
    assert!(!all.contains(&token()), "{all}");
}

fn shell(repo: &Repo<'_>, line: &str) -> String {
    let ran = repo.place.command("sh", &repo.path).args(["-c", line]).output().expect("a shell");
    assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}
