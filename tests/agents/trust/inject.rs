//! `empirica.inject`: which records hooks tell an agent, and by whom they are signed.

use std::fs;

use serde_json::{Value, json};

use crate::agents::hook_payloads::At;
use crate::commands::code::anchors::{id, lines};
use crate::commands::handoff::trust::{allow, ssh_key};
use crate::support::harness::{Repo, Sandbox, unfenced};
use crate::sync::team::{clones, hub, sync};

/// A hub with two clones: ada's, who signs, and bob's, who knows her key, works with her notes, and has a claim of his own.
struct Team<'p> {
    ada: Repo<'p>,
    bob: Repo<'p>,
    key: String,
}

impl<'p> Team<'p> {
    fn new(place: &'p Sandbox) -> Self {
        let hub = hub(place);
        let [ada, bob]: [Repo<'p>; 2] = clones(place, &hub, 2).try_into().unwrap_or_else(|_| panic!("two"));
        ada.commit("src/a.rs", &lines("line"), "Add it");
        ada.git(["push", "-q", "origin", "HEAD"]).ok();
        bob.git(["pull", "-q"]).ok();
        let key = ssh_key(&ada, "ada-key");
        allow(&ada, &[("ada@example.com", &key)]);
        allow(&bob, &[("ada@example.com", &key)]);
        Team { ada, bob, key }
    }

    /// A session of ada's with a claim of each kind, handed over; the claims' ids.
    fn works(&self, name: &str, signs: bool) -> Vec<String> {
        let start = self.ada.start("ada", &format!("{name} task"));
        let log = |words: &[&str]| id(&self.ada.json(words.iter().copied()));
        let about = ["--at", "src/a.rs:2"];
        let text = |word: &str| format!("{name} {word}");
        let claims = vec![
            log(&[&["deadend", &text("deadend"), "--why", "slow"], &about[..]].concat()),
            log(&[&["decision", &text("decision"), "--why", "fast", "--alternative", "none"], &about[..]].concat()),
            log(&[&["finding", &text("finding"), "--until", "2027-01-01"], &about[..]].concat()),
            log(&[&["mistake", &text("mistake"), "--prevention", "look"], &about[..]].concat()),
            log(&[&["unknown", &text("unknown")], &about[..]].concat()),
        ];
        let next = format!("{name} next");
        let mut words = vec!["handoff", "--next", next.as_str()];
        words.extend(signs.then_some("--sign"));
        let made = self.ada.json(words);
        assert_eq!(made["signature_id"].is_string(), signs, "{made}");
        self.ada.json(["session", "end", "--session", &start]);
        claims
    }

    fn exchange(&self) {
        for repo in [&self.ada, &self.bob, &self.ada, &self.bob] {
            sync(repo);
        }
    }
}

/// What hooks tell a new session of Claude Code: at its start, when it reads the file, and after a compaction.
fn told(repo: &Repo<'_>, session: &str) -> [String; 3] {
    let at = At { repo, agent: "claude-code", session: format!("0f5e0000-0000-4000-8000-0000000000{session}") };
    let begun = at.context("SessionStart", json!({"source": "startup"}));
    let mut touched = String::new();
    loop {
        let path = repo.path.join("src/a.rs");
        let call = json!({"tool_name": "Read", "tool_input": {"file_path": path}, "tool_response": {}});
        let more = at.context("PostToolUse", call);
        if more.is_empty() {
            break;
        }
        touched.push_str(&unfenced(&more));
    }
    at.quiet("PreCompact", json!({"trigger": "auto"}));
    let compacted = at.context("SessionStart", json!({"source": "compact"}));
    at.tell("SessionEnd", json!({"reason": "other"}));
    [begun, touched, compacted]
}

/// Which of these words are told at each of the three times.
fn words<'w>(told: &[String; 3], words: &[&'w str]) -> [Vec<&'w str>; 3] {
    [0, 1, 2].map(|at| words.iter().copied().filter(|word| told[at].contains(word)).collect())
}

fn set(repo: &Repo<'_>, value: &str) {
    repo.git(["config", "empirica.inject", value]).ok();
}

#[test]
fn hooks_tell_all_what_is_signed_or_what_is_ones_own() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    team.works("plain", false);
    team.works("signed", true);
    team.exchange();
    team.bob.json(["deadend", "own deadend", "--why", "no", "--at", "src/a.rs:2", "--ai", "bob"]);
    team.bob.json(["session", "end", "--ai", "bob"]);
    let kinds =
        |name: &str| ["deadend", "decision", "finding", "mistake", "unknown"].map(|kind| format!("{name} {kind}"));
    let all: Vec<String> = [kinds("plain").to_vec(), kinds("signed").to_vec(), vec!["own deadend".to_owned()]].concat();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let by = |prefixes: &[&str]| -> Vec<&str> {
        all.iter().copied().filter(|word| prefixes.iter().any(|prefix| word.starts_with(prefix))).collect()
    };
    for (at, (value, admitted)) in
        [(None, &["plain", "signed", "own"][..]), (Some("signed"), &["signed", "own"]), (Some("mine"), &["own"])]
            .into_iter()
            .enumerate()
    {
        if let Some(value) = value {
            set(&team.bob, value);
        }
        // room for all
        team.bob.git(["config", "empirica.startBudget", "2000"]).ok();
        let told = told(&team.bob, &format!("1{at}"));
        let expected = by(admitted);
        assert_eq!(words(&told, &all), [expected.clone(), expected.clone(), expected], "{value:?}: {told:#?}");
        // the last handoff that may be told
        let handed_over = ["signed task", "signed next", "plain task"].map(|text| told[0].contains(text));
        assert_eq!(handed_over, [value != Some("mine"), value != Some("mine"), false], "{value:?}: {}", told[0]);
        for text in &told {
            let signed = text.lines().filter(|line| line.contains("signed by ada@example.com"));
            assert!(
                signed.clone().all(|line| !line.contains("plain ") && !line.contains(": own ")),
                "{value:?}: {text}"
            );
            assert_eq!(signed.count() >= 4, value != Some("mine"), "{value:?}: {text}");
        }
    }
    // asked for, it is there, and says who signed it
    for words in [&["why", "src/a.rs"][..], &["search", "deadend"], &["status", "--all", "--budget", "9000"]] {
        let text = team.bob.run(words).ok().out;
        assert!(text.contains("plain deadend") && text.contains("signed by ada@example.com"), "{words:?}: {text}");
    }
    let resumed = team.bob.run(["resume", "--ai", "ada", "--last", "2"]).ok().out;
    let heads: Vec<&str> = resumed.lines().filter(|line| line.starts_with("# Session ")).collect();
    assert_eq!(heads.len(), 2, "{resumed}");
    assert!(heads[0].ends_with(" by ada, signed by ada@example.com: signed task"), "{resumed}");
    assert!(heads[1].ends_with(" by ada: plain task"), "{resumed}");
    let sessions = team.bob.json(["resume", "--ai", "ada", "--last", "2"])["sessions"].clone();
    let by = [0, 1].map(|at| sessions[at]["signed_by"].clone());
    assert_eq!(by, [json!("ada@example.com"), Value::Null]);
    // a word that is none of them restricts
    set(&team.bob, "singed");
    let told = told(&team.bob, "19");
    assert_eq!(words(&told, &all), [vec!["own deadend"], vec!["own deadend"], vec!["own deadend"]], "{told:#?}");
    let checks = team.bob.run(["doctor"]).out;
    assert!(checks.contains("empirica.inject is 'singed' and must be all, signed or mine"), "{checks}");
}

#[test]
fn ones_own_key_counts_in_another_clone_as_mine() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    team.works("signed", true);
    team.exchange();
    set(&team.bob, "mine");
    let own = |session: &str| words(&told(&team.bob, session), &["signed deadend"]).map(|words| words.len());
    assert_eq!(own("21"), [0, 0, 0]);
    team.bob.git(["config", "user.email", "ada@example.com"]).ok();
    assert_eq!(own("22"), [1, 1, 1]);
    // a key that is no longer known vouches for nothing, from then on
    allow(&team.bob, &[("eve@example.com", &team.key)]);
    assert_eq!(own("23"), [0, 0, 0]);
    allow(&team.bob, &[]);
    set(&team.bob, "signed");
    assert_eq!(own("24"), [0, 0, 0]);
}

/// Changes lines of the journal as whoever can push notes may.
fn forge(repo: &Repo<'_>, change: impl Fn(&str) -> Vec<String>) {
    let reference = "refs/notes/empirica/data/journal";
    let head = repo.head();
    let lines: Vec<String> = repo.note(reference, &head).lines().flat_map(change).collect();
    repo.set_note(reference, &head, (lines.join("\n") + "\n").as_bytes());
    fs::remove_dir_all(repo.path.join(".git/empirica")).expect("the state");
}

#[test]
fn a_forged_record_is_neither_signed_nor_ones_own() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let signed = team.works("signed", true);
    team.exchange();
    // bob's own claims
    team.bob.start("bob", "Own");
    let own = id(&team.bob.json(["deadend", "own deadend", "--why", "no", "--at", "src/a.rs:2"]));
    let copied = id(&team.bob.json(["finding", "copied finding", "--at", "src/a.rs:2"]));
    team.bob.json(["session", "end"]);
    team.exchange();
    // ada's clone turns hostile: other texts under the ids of signed claims and of bob's, and an id like bob's
    let is = |line: &str, id: &str| line.contains(&format!("\"id\":\"{id}\""));
    let alike = format!("{}{}", &own[..35], if own.ends_with('0') { '1' } else { '0' });
    forge(&team.ada, |line| {
        let mut out = vec![line.to_owned()];
        if is(line, &signed[0]) {
            out = vec![line.replace("signed deadend", "signed evil")];
        } else if is(line, &signed[2]) {
            // under another session
            let (begin, end) = line.split_once("\"session\":\"").expect("a session");
            out = vec![format!("{begin}\"session\":\"00000000{}", &end[8..])];
        } else if is(line, &copied) {
            out.push(line.replace("copied finding", "zz evil"));
        } else if is(line, &own) {
            out.push(line.replace(&own, &alike).replace("own deadend", "alike evil"));
        }
        out
    });
    team.exchange();
    let asked = team.bob.run(["why", "src/a.rs", "--budget", "9000"]).ok().out;
    for text in ["alike evil", "signed evil", "zz evil"] {
        assert!(asked.contains(text), "{text}: {asked}");
    }
    for (at, value) in ["signed", "mine"].into_iter().enumerate() {
        set(&team.bob, value);
        let told = told(&team.bob, &format!("3{at}"));
        for text in &told {
            assert!(!text.contains("evil"), "{value}: {text}");
        }
        assert_eq!(words(&told, &["own deadend"]).map(|words| words.len()), [1, 1, 1], "{value}: {told:#?}");
    }
}

/// What replaces a claim of a signed handoff is not signed, and says who it is from.
#[test]
fn a_correction_by_another_is_not_under_the_signature() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let signed = team.works("signed", true);
    team.exchange();
    team.bob.json(["replace", &signed[2], "evil finding", "--ai", "eve"]);
    let resumed = team.bob.run(["resume", "--ai", "ada"]).ok().out;
    assert!(resumed.contains("- evil finding (corrected by eve)"), "{resumed}");
    assert!(!resumed.contains("signed by"), "{resumed}");
    let known = team.bob.json(["why", "src/a.rs"])["known"].clone();
    let by = |text: &str| {
        let mut all = known.as_array().expect("a list").iter();
        all.find(|known| known["text"] == text).unwrap_or_else(|| panic!("{text}: {known}"))["signed_by"].clone()
    };
    assert_eq!((by("signed deadend"), by("evil finding")), (json!("ada@example.com"), Value::Null));
}

/// Records as others may have made them, brought in: each a kind, its session, its agent and its keys.
fn forged(repo: &Repo<'_>, records: &[(&str, Option<&str>, &str, Value)]) -> Vec<String> {
    let mut ids = Vec::new();
    let mut text = String::new();
    for (kind, session, ai, keys) in records {
        let id = empirica_notes::model::Id::at(1_772_366_400_500 + ids.len() as u64).to_string();
        let mut record = json!({"v": 1, "id": id, "kind": kind, "session": session, "ai": ai, "at": "2026-03-01T12:00:00.000Z",
            "commit": repo.head(), "tree": repo.git_out(["rev-parse", "HEAD^{tree}"])});
        record.as_object_mut().expect("an object").extend(keys.as_object().expect("an object").clone());
        let shelf = match *kind {
            "handoff" | "signature" => "handoffs",
            "assessment" | "checkpoint" => "checkpoints",
            _ => "journal",
        };
        text.push_str(&format!("{}\n", json!({"commit": repo.head(), "shelf": shelf, "record": record})));
        ids.push(id);
    }
    repo.run_with_input(["import", "--jsonl", "-"], text.as_bytes()).ok();
    ids
}

fn anchor(path: &str) -> Value {
    json!({"path": path, "lines": [2, 2], "blob": "0".repeat(40), "hash": "0123456789abcdef"})
}

#[test]
fn nothing_of_others_gets_into_what_is_told_through_ones_own_records() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.commit("src/a.rs", &lines("line"), "first");
    set(&repo, "mine");
    let at = At { repo: &repo, agent: "claude-code", session: "0f5e0000-0000-4000-8000-000000000041".into() };
    at.tell("SessionStart", json!({"source": "startup"}));
    let own = at.own()["session_id"].as_str().expect("an id").to_owned();
    let claim = id(&repo.json(["deadend", "own deadend", "--why", "no", "--at", "src/a.rs:2", "--session", &own]));
    let asked = id(&repo.json(["unknown", "own question", "--session", &own]));
    repo.json(["preflight", "-v", "know=0.5,uncertainty=0.4", "--session", &own]);
    at.quiet("PreCompact", json!({"trigger": "auto"}));
    let session = Some(own.as_str());
    let about = |text: &str| json!({"text": text, "anchors": [anchor("src/a.rs"), anchor("EVIL path")]});
    let put = forged(
        &repo,
        &[
            ("confirm", None, "EVIL", json!({"of": claim, "anchors": [anchor("src/a.rs"), anchor("EVIL: run it")]})),
            (
                "session_start",
                session,
                "EVIL",
                json!({"task": "EVIL task", "worktree": "EVIL", "place": "x", "external_id": at.session}),
            ),
            (
                "assessment",
                session,
                "EVIL",
                json!({"phase": "CHECK", "round": 9, "vectors": {"know": 0.1}, "reasoning": "EVIL", "task": "EVIL"}),
            ),
            ("goal", session, "EVIL", json!({"text": "EVIL goal", "priority": "high"})),
            ("finding", session, "EVIL", about("EVIL in the session src/a.rs")),
            ("evidence", session, "EVIL", json!({"command": "EVIL", "exit": 0, "files": ["src/a.rs"]})),
            ("finding", None, "EVIL", about("EVIL beside it src/a.rs")),
            ("resolve", None, "EVIL", json!({"of": asked, "text": "EVIL answer"})),
            ("unknown", None, "EVIL", about("EVIL replacement src/a.rs")),
        ],
    );
    // another record under the id of its start
    repo.json(["flush"]);
    let journal = repo.lines("journal");
    let start = journal
        .iter()
        .find(|line| line.contains("\"kind\":\"session_start\"") && line.contains(&own))
        .expect("a start");
    let mut start: Value = serde_json::from_str(start).expect("a record");
    start["task"] = json!("EVIL start");
    let line = json!({"commit": repo.head(), "shelf": "journal", "record": start}).to_string();
    repo.run_with_input(["import", "--jsonl", "-"], line.as_bytes()).ok();
    let compacted = at.context("SessionStart", json!({"source": "compact"}));
    assert!(
        !compacted.contains("EVIL") && !compacted.contains("Drift") && compacted.contains("own deadend"),
        "{compacted}"
    );
    let call =
        json!({"tool_name": "Read", "tool_input": {"file_path": repo.path.join("src/a.rs")}, "tool_response": {}});
    // the CHECK that another stored under it is none of its own
    at.quiet("UserPromptSubmit", json!({"prompt": "go"}));
    at.quiet("PostToolUse", call.clone());
    at.tell("SessionEnd", json!({"reason": "other"}));
    repo.write("src/a.rs", &lines("LINE"));
    let next = told(&repo, "42");
    assert!(next[0].contains("Last handed over by claude-code") && next[1].contains("own deadend"), "{next:#?}");
    assert!(next.iter().all(|text| !text.contains("EVIL")), "{next:#?}");
    // a correction by another, which the own handoff would show
    forged(&repo, &[("retract", None, "EVIL", json!({"of": [asked], "by": put[8], "why": "EVIL"}))]);
    let next = told(&repo, "43");
    assert!(next.iter().all(|text| !text.contains("EVIL")), "{next:#?}");
    // a session of another's with the agent's id is not continued
    let other = "00000000-0000-4000-8000-0000000000ff";
    forged(
        &repo,
        &[(
            "session_start",
            Some(other),
            "EVIL",
            json!({"task": "EVIL", "worktree": "main", "place": "x", "external_id": at.session}),
        )],
    );
    let resumed = at.context("SessionStart", json!({"source": "resume"}));
    assert!(!resumed.contains("EVIL") && !resumed.contains(&other[..8]), "{resumed}");
    // nor does it get the agent's transcript, which says what the agent does
    let transcript = repo.path.join(".git/transcript.jsonl");
    let row = |kind: &str, text: &str| {
        json!({"type": kind, "sessionId": at.session, "timestamp": "2026-03-01T12:00:00.000Z", "uuid": text, "cwd": repo.path,
            "message": {"role": kind, "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 5, "output_tokens": 7}}})
    };
    fs::write(&transcript, format!("{}\n{}\n", row("user", "go"), row("assistant", "done"))).expect("a file");
    at.tell("Stop", json!({"transcript_path": transcript}));
    repo.json(["flush"]);
    let records = repo.lines("journal").into_iter().map(|line| serde_json::from_str::<Value>(&line).expect("a record"));
    let collected: Vec<Value> = records.filter(|record| record["kind"] == "transcript").collect();
    assert!(!collected.is_empty() && collected.iter().all(|record| record["session"] != other), "{collected:?}");
}

#[test]
fn a_signature_that_git_cannot_read_silences_nothing() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    team.works("plain", false);
    team.exchange();
    let handoff = team.bob.json(["search", "kind:handoff"])["hits"][0]["id"].as_str().expect("an id").to_owned();
    let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let signed = format!(
        "tree {empty}\nparent {}\nauthor a <a@x> 1 +0000\ncommitter a <a@x> 1 +0000\ngpgsig -----BEGIN SSH SIGNATURE-----\n x\n \
         -----END SSH SIGNATURE-----\n\nHandoff x\n",
        "1".repeat(40)
    );
    for signed in [signed.as_str(), "", "x", "tree\n\n"] {
        forged(
            &team.bob,
            &[("signature", None, "EVIL", json!({"of": handoff, "sha256": "0".repeat(64), "signed": signed}))],
        );
    }
    for words in [&["resume"][..], &["why", "src/a.rs"], &["search", "deadend"], &["status", "--all"], &["show"]] {
        let text = team.bob.run(words).ok().out;
        assert!(text.contains("plain") && !text.contains("signed by"), "{words:?}: {text}");
    }
    let told = told(&team.bob, "51");
    assert!(told.iter().all(|text| text.contains("plain deadend")), "{told:#?}");
    assert_ne!(team.bob.fails(1, ["show", &handoff, "--verify"])["verification"]["state"], "good");
}

#[test]
fn a_signature_is_of_the_whole_claim_and_of_no_commit_of_code() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let claims = team.works("signed", true);
    team.exchange();
    set(&team.bob, "signed");
    let is = |line: &str, id: &str| line.contains(&format!("\"id\":\"{id}\""));
    forge(&team.ada, |line| {
        let other = match claims.iter().position(|id| is(line, id)) {
            Some(0) => line.replace("\"ai\":\"ada\"", "\"ai\":\"zz EVIL\""),
            Some(1) => line.replace("src/a.rs", "src/a.rs EVIL"),
            Some(2) => line.replace("2027-01-01", "2028-EVIL"),
            Some(3) => line.replace("\"at\":\"2026", "\"at\":\"EVIL"),
            _ => line.to_owned(),
        };
        vec![other]
    });
    team.exchange();
    let next = told(&team.bob, "61");
    for text in &next {
        assert!(!text.contains("EVIL"), "{text}");
    }
    assert_eq!(words(&next, &["signed unknown"]).map(|words| words.len()), [1, 1, 1], "{next:#?}");
    // a commit of code that ada signed, as a rebase does, with the words of a signature
    let evil = forged(
        &team.bob,
        &[(
            "handoff",
            None,
            "EVIL",
            json!({"type": "epistemic", "task": "EVIL", "context": "EVIL", "next_steps": ["EVIL"]}),
        )],
    );
    let line = team.bob.lines("handoffs").into_iter().find(|line| is(line, &evil[0])).expect("a line");
    let hash: String = sha2_hex(line.as_bytes());
    let message = format!("Handoff {}\n\nSHA-256 of its record: {hash}\n", evil[0]);
    for (tree, parents) in [("HEAD^{tree}", &[][..]), ("4b825dc642cb6eb9a060e54bf8d69288fbee4904", &["-p", "HEAD"])] {
        let made = [&["commit-tree", "-S", "-m", message.trim_end(), tree], parents].concat();
        let commit = team.ada.git_out(made);
        let raw = team.ada.git(["cat-file", "commit", commit.trim()]).ok().out;
        assert!(raw.contains("gpgsig") && raw.ends_with(&message), "{raw}");
        forged(&team.bob, &[("signature", None, "EVIL", json!({"of": evil[0], "sha256": hash, "signed": raw}))]);
    }
    let state = team.bob.fails(1, ["show", &evil[0], "--verify"])["verification"]["state"].clone();
    assert!(state == "other_text" || state == "bad", "{state}");
    let next = told(&team.bob, "62");
    assert!(next.iter().all(|text| !text.contains("EVIL")), "{next:#?}");
}

fn sha2_hex(bytes: &[u8]) -> String {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
