//! The origin of a record: the committer of its line, and signatures by git's keys.

use std::fs;

use serde_json::Value;

use crate::support::harness::{Repo, RunOutput, Sandbox};

const HANDOFFS: &str = "refs/notes/empirica/data/handoffs";
const JOURNAL: &str = "refs/notes/empirica/data/journal";

/// Makes an ssh key and lets the repository sign with it.
pub fn ssh_key(repo: &Repo<'_>, name: &str) -> String {
    let file = repo.place.path().join(name);
    let file = file.to_str().expect("UTF-8").to_owned();
    let mut make = repo.place.command("ssh-keygen", &repo.path);
    make.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", &file]);
    assert!(make.status().expect("ssh-keygen").success());
    repo.git(["config", "gpg.format", "ssh"]).ok();
    repo.git(["config", "user.signingKey", &file]).ok();
    fs::read_to_string(format!("{file}.pub")).expect("a key")
}

/// Says in a repository which keys are whose.
pub fn allow(repo: &Repo<'_>, signers: &[(&str, &str)]) {
    let file = repo.path.join(".git/signers");
    let lines: String = signers.iter().map(|(who, key)| format!("{who} {key}")).collect();
    fs::write(&file, lines).expect("a file");
    repo.git(["config", "gpg.ssh.allowedSignersFile", file.to_str().expect("UTF-8")]).ok();
}

/// A repository with a key of the user's own that it knows, and a signed handoff.
fn signed(place: &Sandbox) -> (Repo<'_>, String, String) {
    let repo = place.repo("r");
    let key = ssh_key(&repo, "key");
    allow(&repo, &[("test@example.com", &key)]);
    repo.start("ada", "t");
    let made = repo.json(["handoff", "--context", "c", "--next", "n", "--sign"]);
    assert!(made["signature_id"].is_string() && made["warnings"].is_null(), "{made}");
    (repo, made["handoff_id"].as_str().expect("an id").to_owned(), key)
}

/// What `show --verify` says.
#[track_caller]
fn state(repo: &Repo<'_>, id: &str) -> String {
    let ran = repo.run(["show", id, "--verify", "--json"]);
    let json = ran.json();
    let state = json["verification"]["state"].as_str().expect("a state").to_owned();
    assert_eq!((ran.code == 0, &json["ok"] == true), (state == "good", state == "good"), "{json}");
    state
}

fn note_without(repo: &Repo<'_>, change: impl Fn(&str) -> Option<String>) {
    let head = repo.head();
    let lines: Vec<String> = repo.note(HANDOFFS, &head).lines().filter_map(change).collect();
    repo.set_note(HANDOFFS, &head, (lines.join("\n") + "\n").as_bytes());
    // the remembered tip would bring the old lines back
    fs::remove_dir_all(repo.path.join(".git/empirica")).expect("the state");
}

#[test]
fn a_signed_handoff_is_verified_by_git_here_and_in_a_clone() {
    let place = Sandbox::new();
    let (repo, id, key) = signed(&place);
    let before = repo.git_out(["count-objects", "-v"]);
    let shown = repo.json(["show", &id, "--verify"]);
    let one = &shown["verification"]["signatures"][0];
    assert_eq!(one["state"], "good", "{shown}");
    assert_eq!(one["signer"], "test@example.com");
    assert!(one["fingerprint"].as_str().is_some_and(|text| text.starts_with("SHA256:")), "{shown}");
    let text = repo.run(["show", &id, "--verify"]).ok().out;
    assert!(text.contains(": good by test@example.com, key SHA256:"), "{text}");
    assert_eq!(repo.git_out(["count-objects", "-v"]), before, "nothing stays");
    assert_eq!(
        fs::read_dir(repo.path.join(".git/empirica"))
            .expect("a folder")
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("signing"))
            .count(),
        0
    );
    let clone = place.clone(&repo, "clone", true);
    assert_eq!(state(&clone, &id), "unknown_key");
    allow(&clone, &[("test@example.com", &key)]);
    assert_eq!(state(&clone, &id), "good");
    repo.fsck();
}

#[test]
fn a_modified_handoff_has_no_good_signature() {
    let place = Sandbox::new();
    let (repo, id, key) = signed(&place);
    let is_line = |line: &str| line.contains(&format!("\"id\":\"{id}\""));
    // the handoff says something else
    note_without(&repo, |line| {
        Some(if is_line(line) { line.replace("\"context\":\"c\"", "\"context\":\"d\"") } else { line.to_owned() })
    });
    assert_eq!(state(&repo, &id), "other_text");
    note_without(&repo, |line| {
        Some(if is_line(line) { line.replace("\"context\":\"d\"", "\"context\":\"c\"") } else { line.to_owned() })
    });
    assert_eq!(state(&repo, &id), "good");
    // the signed commit says something else
    note_without(&repo, |line| {
        Some(if is_line(line) { line.to_owned() } else { line.replace("SHA-256 of", "SHA-256  of") })
    });
    assert_eq!(state(&repo, &id), "bad");
    note_without(&repo, |line| {
        Some(if is_line(line) { line.to_owned() } else { line.replace("SHA-256  of", "SHA-256 of") })
    });
    assert_eq!(state(&repo, &id), "good");
    // a key that is another's
    let other = ssh_key(&repo, "other");
    allow(&repo, &[("eve@example.com", &other)]);
    assert_eq!(state(&repo, &id), "unknown_key");
    allow(&repo, &[("test@example.com", &key)]);
    // a second variant of the same id, of greater bytes, takes its place
    let head = repo.head();
    let note = repo.note(HANDOFFS, &head);
    let line = note.lines().find(|line| is_line(line)).expect("the line");
    let variant = line.replace("\"context\":\"c\"", "\"context\":\"z\"");
    repo.set_note(HANDOFFS, &head, format!("{note}{variant}\n").as_bytes());
    assert_eq!(state(&repo, &id), "other_text");
}

#[test]
fn a_signature_copied_to_another_handoff_is_of_another_text() {
    let place = Sandbox::new();
    let (repo, first, _) = signed(&place);
    repo.start("bob", "u");
    let second = repo.json(["handoff", "--ai", "bob", "--context", "x", "--next", "y"]);
    let second = second["handoff_id"].as_str().expect("an id").to_owned();
    assert_eq!(state(&repo, &second), "unsigned");
    let head = repo.head();
    let note = repo.note(HANDOFFS, &head);
    let signature = note.lines().find(|line| line.contains("\"kind\":\"signature\"")).expect("a signature");
    let id: Value = serde_json::from_str(signature).expect("a record");
    let copied = signature
        .replace(id["id"].as_str().expect("an id"), "019b7000-0000-7000-8000-000000000001")
        .replace(&format!("\"of\":\"{first}\""), &format!("\"of\":\"{second}\""));
    repo.set_note(HANDOFFS, &head, format!("{note}{copied}\n").as_bytes());
    assert_eq!(state(&repo, &second), "other_text");
    assert_eq!(state(&repo, &first), "good");
    for signed in ["", "x", "tree 0\n\nx", &"x".repeat(100_000)] {
        let mut json: Value = serde_json::from_str(&copied).expect("a record");
        json["signed"] = Value::from(signed);
        fs::remove_dir_all(repo.path.join(".git/empirica")).expect("the state");
        repo.set_note(HANDOFFS, &head, format!("{note}{json}\n").as_bytes());
        assert_eq!(state(&repo, &second), "bad", "{signed:.20}");
    }
}

#[test]
fn a_handoff_that_cannot_be_signed_is_stored_and_signed_later() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["config", "gpg.format", "ssh"]).ok();
    repo.git(["config", "user.signingKey", "/nowhere/key"]).ok();
    repo.start("ada", "t");
    let made = repo.json(["postflight", "-v", "know=0.8", "--context", "c", "--next", "n", "--sign"]);
    assert!(made["handoff"]["signature_id"].is_null(), "{made}");
    let warning = made["warning"].as_str().expect("a warning");
    assert!(
        warning.contains("cannot sign the handoff, which is stored") && warning.contains("git empirica handoff sign "),
        "{warning}"
    );
    let id = made["handoff"]["handoff_id"].as_str().expect("an id").to_owned();
    assert_eq!(state(&repo, &id), "unsigned");
    repo.fails(1, ["handoff", "sign", &id]);
    let key = ssh_key(&repo, "key");
    allow(&repo, &[("test@example.com", &key)]);
    repo.json(["handoff", "sign", &id]);
    assert_eq!(state(&repo, &id), "good");
    assert_eq!(repo.run(["show", "HEAD", "--verify"]).code(1).out, "");
    assert_eq!(repo.run(["handoff", "--sign", "--dry-run"]).code, 2);
    // it goes along with its handoff, and is nothing to read by itself
    repo.git(["commit", "-q", "--amend", "-m", "Anew"]).ok();
    repo.run(["repair", "--apply"]).ok();
    assert_eq!(state(&repo, &id), "good");
    let log = repo.run(["log", "--handoffs"]).ok().out;
    assert!(!log.contains("SIGNATURE"), "{log}");
    let out = repo.run(["export", "--jsonl"]).ok().out;
    let other = place.clone(&repo, "other", false);
    other.run_with_input(["import", "--jsonl", "-"], out.as_bytes()).ok();
    allow(&other, &[("test@example.com", &key)]);
    assert_eq!(state(&other, &id), "good");
}

#[test]
fn the_program_for_openpgp_is_git_s_own() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let program = place.path().join("fake-gpg");
    let script = "#!/bin/sh\ncase \"$*\" in\n*--verify*) cat >/dev/null; echo '[GNUPG:] NEWSIG'; \
        echo '[GNUPG:] GOODSIG 0123456789ABCDEF Fake <f@example.com>'; \
        echo '[GNUPG:] VALIDSIG 0123456789ABCDEF0123456789ABCDEF01234567 2026-01-01 0 0 0 0 0 0 0 0123456789ABCDEF0123456789ABCDEF01234567'; \
        echo '[GNUPG:] TRUST_ULTIMATE 0 pgp' ;;\n\
        *) cat >/dev/null; echo '[GNUPG:] SIG_CREATED D 1 8 00 0 0' >&2; \
        printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nfake\\n-----END PGP SIGNATURE-----\\n' ;;\nesac\n";
    crate::setup::init::script(&program, script);
    repo.git(["config", "gpg.program", program.to_str().expect("UTF-8")]).ok();
    repo.git(["config", "user.signingKey", "0123456789ABCDEF"]).ok();
    repo.start("ada", "t");
    let made = repo.json(["handoff", "--context", "c", "--next", "n", "--sign"]);
    assert!(made["warnings"].is_null(), "{made}");
    let shown = repo.json(["show", "--verify"]);
    assert_eq!(shown["verification"]["signatures"][0]["signer"], "Fake <f@example.com>", "{shown}");
    assert_eq!(shown["verification"]["signatures"][0]["key"], "0123456789ABCDEF");
}

#[test]
fn an_expired_key_is_reported() {
    let place = Sandbox::new();
    let (repo, id, key) = signed(&place);
    allow(&repo, &[("test@example.com valid-before=\"20200101\"", &key)]);
    assert_eq!(state(&repo, &id), "expired");
    allow(&repo, &[("test@example.com", &key)]);
    repo.git(["config", "gpg.ssh.revocationFile", place.path().join("key.pub").to_str().expect("UTF-8")]).ok();
    assert_eq!(state(&repo, &id), "bad");
}

#[test]
fn a_real_openpgp_key_signs_and_is_verified() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let gpg = |arguments: &[&str]| {
        let mut command = repo.place.command("gpg", &repo.path);
        command.args(["--batch", "--quiet", "--passphrase", ""]).args(arguments);
        command.output()
    };
    // only where there is gpg
    let Ok(made) = gpg(&["--quick-generate-key", "Test <test@example.com>", "ed25519", "sign", "never"]) else {
        return;
    };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    repo.start("ada", "t");
    let made = repo.json(["handoff", "--context", "c", "--next", "n", "--sign"]);
    assert!(made["signature_id"].is_string() && made["warnings"].is_null(), "{made}");
    let id = made["handoff_id"].as_str().expect("an id");
    assert_eq!(state(&repo, id), "good");
    let shown = repo.json(["show", id, "--verify"]);
    assert_eq!(shown["verification"]["signatures"][0]["signer"], "Test <test@example.com>", "{shown}");
    let signed_by = || repo.json(["resume"])["sessions"][0]["signed_by"].clone();
    assert_eq!(signed_by(), "Test <test@example.com>");
    // a key that git knows and nobody trusts vouches for nothing
    let trust = repo.place.path().join("trust");
    fs::write(
        &trust,
        shown["verification"]["signatures"][0]["fingerprint"].as_str().expect("hex").to_owned() + ":2:\n",
    )
    .expect("a file");
    assert!(gpg(&["--import-ownertrust", trust.to_str().expect("UTF-8")]).expect("gpg").status.success());
    assert_eq!(signed_by(), Value::Null);
    note_without(&repo, |line| Some(line.replace("\"next_steps\":[\"n\"]", "\"next_steps\":[\"other\"]")));
    assert_eq!(state(&repo, id), "other_text");
    let mut agent = repo.place.command("gpgconf", &repo.path);
    assert!(agent.args(["--kill", "all"]).status().expect("gpgconf").success());
}

/// Runs as another committer.
fn as_mallory(repo: &Repo<'_>, arguments: &[&str]) -> RunOutput {
    let env = [("GIT_COMMITTER_NAME", "Mallory"), ("GIT_COMMITTER_EMAIL", "mallory@example.com")];
    repo.run_with_env(&env, arguments).ok()
}

#[test]
fn the_committer_of_a_record_is_shown_and_a_forgery_detected() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let session = repo.start("ada", "t");
    repo.json(["finding", "an honest one"]);
    repo.json(["handoff", "--context", "c", "--next", "n"]);
    let shown = repo.json(["show"]);
    assert_eq!(shown["committed_by"]["email"], "test@example.com", "{shown}");
    assert_eq!(shown["committed_by_other"], false);
    assert!(repo.run(["show"]).ok().out.contains("Committed by Test <test@example.com>."));
    let all = repo.json(["session", "show", &session]);
    assert_eq!(all["committed_by_others"], serde_json::json!([]), "{all}");
    assert_eq!(all["committers"].as_array().map(Vec::len), Some(1));
    // a teammate says something in ada's name
    as_mallory(&repo, &["finding", "a forged one", "--ai", "ada", "--session", &session]);
    as_mallory(&repo, &["handoff", "--ai", "ada", "--session", &session, "--context", "d", "--next", "n"]);
    let shown = repo.json(["show"]);
    assert_eq!(shown["ai_id"], "ada", "{shown}");
    assert_eq!(shown["committed_by"]["name"], "Mallory");
    assert_eq!(shown["committed_by_other"], true);
    let text = repo.run(["show"]).ok().out;
    assert!(text.contains("Committed by Mallory <mallory@example.com>"), "{text}");
    assert!(text.contains("The start of its session was committed by Test <test@example.com>."), "{text}");
    let all = repo.json(["session", "show", &session]);
    let others = all["committed_by_others"].as_array().expect("a list");
    assert_eq!(
        others.iter().map(|other| other["kind"].as_str().expect("a kind")).collect::<Vec<_>>(),
        ["finding", "handoff"]
    );
    let text = repo.run(["session", "show", &session]).ok().out;
    assert!(text.contains("finding by ada, committed by Mallory <mallory@example.com>"), "{text}");
    // a clone that fetches sees the same, and merges change nothing
    let clone = place.clone(&repo, "clone", true);
    clone.start("bob", "u");
    clone.json(["flush"]);
    assert_eq!(clone.json(["session", "show", &session])["committed_by_others"], all["committed_by_others"]);
}

#[test]
fn values_missing_from_history_are_null() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let session = repo.start("ada", "t");
    let waiting = repo.json(["finding", "waits in the log"]);
    let shown = repo.json(["show", waiting["id"].as_str().expect("an id")]);
    assert!(shown["committed_by"].is_null() && shown["committed_by_other"] == false, "{shown}");
    repo.json(["handoff", "--context", "c", "--next", "n"]);
    let secret = repo.json(["finding", "to be redacted"]);
    repo.json(["flush"]);
    repo.json(["redact", secret["id"].as_str().expect("an id")]);
    let all = repo.json(["session", "show", &session]);
    assert_eq!(all["committed_by_others"], serde_json::json!([]), "{all}");
    let out = repo.run(["export", "--jsonl"]).ok().out;
    let other = place.clone(&repo, "other", false);
    other.run_with_input(["import", "--jsonl", "-"], out.as_bytes()).ok();
    // the importing user is its committer
    assert_eq!(other.json(["show"])["committed_by"]["email"], "other@example.com");
    assert!(!repo.note(JOURNAL, &repo.head()).contains("to be redacted"));
}

#[test]
fn a_committer_s_name_drives_no_terminal() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["config", "user.name", "Ev\u{1b}[31mil\u{202e} # x"]).ok();
    repo.start("ada", "t");
    repo.json(["handoff", "--context", "c", "--next", "n"]);
    let text = repo.run(["show"]).ok().out;
    assert!(text.contains("Committed by ") && !text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
}
