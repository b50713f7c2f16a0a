//! Every text is scanned for secrets before it is stored anywhere.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

/// Secrets of three shapes, put together here so that no scanner finds them in this file.
fn secrets() -> [String; 3] {
    let letters = "q7Zt2Lw9Xc4Vb8Nm1Kj6Hg3Fd5Sa0PyRuEo3";
    let block = |edge: &str| format!("-----{edge} RSA PRIVATE {}-----", "KEY");
    let base64 = "MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiJjRazXBZ1BjP5CE5WwVmRv0f8";
    [
        format!("gh{}_{letters}", "p"),
        format!("AK{}{}", "IA", "Q3EGRZX7VWTN5KLD"),
        format!("{}\n{base64}\n{base64}\n{}", block("BEGIN"), block("END")),
    ]
}

/// What must not be found anywhere: the telling part of each secret.
fn telling() -> [String; 3] {
    let [token, key, block] = secrets();
    let body = block.lines().nth(1).expect("a body").to_owned();
    [token, key, body]
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() { files(&entry, out) } else { out.push(entry) }
    }
}

/// Everything under `.git`: all objects as they are inside, and every file as it is.
fn everything(repo: &Repo<'_>) -> Vec<Vec<u8>> {
    let arguments = ["cat-file", "--batch-all-objects", "--batch"];
    let objects = repo.place.command("git", &repo.path).args(arguments).output().expect("git starts");
    assert!(objects.status.success());
    let mut paths = Vec::new();
    files(&repo.path.join(".git"), &mut paths);
    let mut out = vec![objects.stdout];
    out.extend(paths.iter().map(|path| fs::read(path).expect("a file")));
    out
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[track_caller]
fn nowhere(repo: &Repo<'_>) {
    for (at, content) in everything(repo).iter().enumerate() {
        for secret in telling() {
            assert!(!holds(content, &secret), "secret in content {at}: {}", String::from_utf8_lossy(content));
        }
    }
}

/// Runs a command with a secret in one field; it must say so and not store it.
#[track_caller]
fn redacted(repo: &Repo<'_>, field: &str, arguments: &[&str]) -> Value {
    let json = repo.json(arguments);
    let found = json["redacted"].as_array().unwrap_or_else(|| panic!("nothing was redacted: {arguments:?}: {json}"));
    let names: Vec<&str> = found.iter().filter_map(|entry| entry["field"].as_str()).collect();
    assert!(names.iter().any(|name| name.contains(field)), "{field} is not among {names:?}");
    assert!(found.iter().all(|entry| entry["rule"].as_str().is_some_and(|rule| !rule.is_empty())), "{json}");
    let warning = json["warning"].as_str().expect("a warning");
    assert!(warning.contains(field), "the warning names the field {field}: {warning}");
    for secret in telling() {
        assert!(!json.to_string().contains(&secret), "{json}");
    }
    json
}

#[test]
fn a_secret_in_any_field_is_replaced_before_it_is_stored() {
    for secret in secrets() {
        let place = Sandbox::new();
        let repo = place.repo("r");
        let text = format!("it is {secret} as of today");
        let text = text.as_str();
        repo.start("a", "t");
        redacted(&repo, "text", &["finding", text]);
        redacted(&repo, "text", &["unknown", text]);
        redacted(&repo, "why", &["deadend", "x", "--why", text]);
        redacted(&repo, "alternatives", &["decision", "x", "--why", "y", "--alternative", "z", "--alternative", text]);
        redacted(&repo, "command", &["evidence", text, "--exit", "0"]);
        redacted(&repo, "text", &["goal", "add", text]);
        redacted(&repo, "meta", &["preflight", "-v", "know=0.5", "--meta", &format!("note={text}")]);
        redacted(&repo, "task", &["session", "start", "--ai", "b", "--task", text]);
        let handed = redacted(&repo, "context", &["handoff", "--ai", "a", "--context", text]);
        assert!(handed["markdown"].as_str().expect("a text").contains("[redacted:"), "{handed}");
        redacted(&repo, "task", &["handoff", "--ai", "a", "-m", text]);
        repo.json(["flush"]);
        nowhere(&repo);
        let journal = repo.lines("journal").join("\n");
        // the goal that the PREFLIGHT sets quotes the unknown and the dead end
        assert_eq!(journal.matches("it is [redacted:").count(), 9, "{journal}");
        assert!(journal.matches(" as of today").count() >= 7, "the text around it stays: {journal}");
    }
}

#[test]
fn a_quotation_cuts_no_secret_in_two() {
    for secret in secrets() {
        let place = Sandbox::new();
        let repo = place.repo("r");
        repo.start("a", "t");
        // what quotes these texts ends in the middle of the secret
        for before in [130, 140, 150, 155] {
            let text = format!("{} {secret}", "x".repeat(before));
            repo.json(["preflight", "-v", "know=0.5", "--task", &text, "--unknown", &text, "--reasoning", &text]);
        }
        let start: String = secret.chars().take(12).collect();
        let journal = repo.lines("journal").join("\n");
        assert!(!journal.contains(&start), "{start}: {journal}");
    }
}

#[test]
fn a_secret_is_not_in_the_log_before_the_flush_either() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    for secret in secrets() {
        repo.json(["finding", &format!("see {secret}")]);
    }
    assert!(repo.json(["status"])["unflushed"].as_u64().expect("a number") >= 3);
    nowhere(&repo);
}

#[test]
fn a_dry_run_shows_no_secret_that_would_not_be_stored() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let [token, ..] = secrets();
    repo.json(["handoff", "--dry-run", "--context", &token]);
    nowhere(&repo);
}

#[test]
fn an_external_id_that_would_not_be_stored_as_it_is_begins_no_session() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let [token, ..] = secrets();
    let start = ["session", "start", "--ai", "a", "--external-id", &token];
    for _ in 0..2 {
        assert_eq!(repo.fails(2, start)["error"], "cannot use the external id: it looks like a secret");
    }
    assert_eq!(repo.json(["session", "list"])["total_sessions"], 0);
    // stored as it is, it is found again
    let first = repo.json(start.iter().chain(&["--allow-secret"]))["session_id"].clone();
    let again = repo.json(start.iter().chain(&["--allow-secret"]));
    assert_eq!((&again["session_id"], &again["resumed"]), (&first, &true.into()), "{again}");
}

#[test]
fn people_are_warned_on_standard_error() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let [token, ..] = secrets();
    let ran = repo.run(["finding", &token]).ok();
    assert!(ran.err.lines().any(|line| line.starts_with("warning: ") && line.contains("text")), "{}", ran.err);
    assert!(!ran.err.contains(&token) && !ran.out.contains(&token));
}

#[test]
fn the_scan_can_be_turned_off() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let says_off = || repo.run(["doctor"]).out.contains("empirica.redact is off");
    assert!(!says_off());
    repo.git(["config", "empirica.redact", "false"]).ok();
    assert!(says_off());
    repo.start("a", "t");
    let [token, ..] = secrets();
    let json = repo.json(["finding", &token]);
    assert!(json.get("redacted").is_none() && json.get("warning").is_none(), "{json}");
    repo.json(["flush"]);
    assert!(repo.lines("journal").iter().any(|line| line.contains(&token)));
}

#[test]
fn texts_that_resemble_secrets_are_kept() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    for text in [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b broke it",
        "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 is the empty file",
        "session 11111111-2222-4333-8444-555555555555 and 019ca945-0a1e-7195-909d-083512cff3d8",
        "the password is asked for at login, the token bucket refills, the secret santa list is in docs/",
        "api_key is read from the environment; see `config.api_key`",
        "md5 d41d8cd98f00b204e9800998ecf8427e, integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg",
        "https://example.com/a/very/long/path/with/many/segments?and=a&query=string#and-a-fragment",
        "AKIA is how AWS keys begin and ghp_ how tokens do",
    ] {
        let json = repo.json(["finding", text]);
        assert!(json.get("redacted").is_none(), "{text}: {json}");
        let session = json["session_id"].as_str().expect("an id");
        assert!(repo.json(["session", "show", session]).to_string().contains(text), "{text}");
    }
}

#[test]
fn a_dry_run_counts_replacements_and_shows_no_secret() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let [token, ..] = secrets();
    let ran = repo.run(["handoff", "--dry-run", "--context", &token, "--json"]).ok();
    assert!(!ran.out.contains(&token) && ran.out.contains("[redacted:"), "{}", ran.out);
    assert!(ran.json()["warnings"].to_string().contains("a secret would be replaced by [redacted:"), "{}", ran.out);
    let ran = repo.run(["handoff", "--dry-run", "--context", &token]).ok();
    assert!(!ran.out.contains(&token) && !ran.err.contains(&token), "{} {}", ran.out, ran.err);
}

#[test]
fn no_error_message_contains_a_secret() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let [token, ..] = secrets();
    let pair = format!("know={token}");
    let file = format!("./{token}.jsonl");
    for command in [
        &["finding", "F", "--as", &token][..],
        &["finding", "F", "--led-from", &token],
        &["resolve", &token, "answer"],
        &["redact", &token],
        &["show", &token],
        &["session", "show", &token],
        &["preflight", "-v", &pair],
        &["handoff", "--type", &token],
        &["handoff", "--type", "progress", "--set", &token],
        &["import", "--jsonl", &file],
        &[token.as_str()],
        &["status", &token],
    ] {
        for json in [&["--json"][..], &[]] {
            let ran = repo.run(command.iter().chain(json));
            assert_ne!(ran.code, 0, "{command:?}");
            assert!(!ran.out.contains(&token) && !ran.err.contains(&token), "{command:?}: {} {}", ran.out, ran.err);
        }
    }
}

#[test]
fn a_name_with_a_secret_is_masked_and_keeps_its_identity() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let [token, ..] = secrets();
    let name = format!("ada {token}");
    let started = repo.json(["session", "start", "--ai", &name, "--task", "t"]);
    assert!(!started.to_string().contains(&token), "{started}");
    assert_eq!(started["redacted"][0]["field"], "ai", "{started}");
    let again = repo.json(["finding", "F", "--ai", &name]);
    assert_eq!(again["session_id"], started["session_id"]);
    let listed = repo.json(["session", "list", "--ai", &name]);
    assert_eq!(listed["sessions"][0]["session_id"], started["session_id"], "{listed}");
    nowhere(&repo);
}

#[test]
fn an_imported_line_with_its_own_allowance_is_reported() {
    let place = Sandbox::new();
    let from = place.repo("from");
    from.start("a", "t");
    let [token, ..] = secrets();
    from.json(["finding", &format!("a sample: {token}"), "--allow-secret"]);
    let exported = from.run(["export", "--jsonl"]).ok().out;
    let repo = place.repo("to");
    fs::write(repo.path.join("../lines.jsonl"), exported).expect("a file");
    let imported = repo.json(["import", "--jsonl", "../lines.jsonl"]);
    assert!(
        imported["warning"].as_str().is_some_and(|text| text.contains("with the secrets that they allow")),
        "{imported}"
    );
}

#[test]
fn values_of_secret_names_are_replaced_unless_placeholders() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Configure it");
    for name in ["password", "passwd", "pwd", "secret", "token", "api_key", "DB_PASSWORD", "apiKey", "api-key"] {
        for (before, after) in [("=", ""), (": ", ""), ("='", "'"), ("=", " in the file .env")] {
            let value = ["hunter2", "secret"].concat();
            let json = repo.json(["finding", &format!("set {name}{before}{value}{after}")]);
            let shown = repo.json(["show", json["id"].as_str().expect("an id")]);
            assert_eq!(shown["text"], format!("set {name}{before}[redacted:assigned-secret]{after}"), "{json}");
            assert_eq!(json["redacted"][0]["field"], "text");
        }
        for value in ["<your-password1a>", "${DB_PASSWORD_2A}", "changeme2you", "xxxxxxxx2x", "required"] {
            let answer = repo.json(["finding", &format!("set {name}={value}")]);
            assert_eq!(answer["redacted"], Value::Null, "{name}={value}");
        }
    }
}
