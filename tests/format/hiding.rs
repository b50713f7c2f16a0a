//! A teammate who can push retracts, replaces, supersedes, doubles or predates what is ours: it stays to be found, and whoever reads is told.

use serde_json::{Value, json};

use super::attacks::{CHECKPOINTS, HANDOFFS, JOURNAL, OURS, SESSION, Team, handoff, id, record};
use crate::agents::hook_payloads::At;
use crate::mcp::server::Client;
use crate::support::harness::Sandbox;

fn sha256(line: &str) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(line.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The id and the session of our finding, and the id of our handoff.
fn ours(team: &Team<'_>) -> (String, String, String) {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let finding = &team.ours.json(["search", "cache", "noon", "--kind", "finding"])["hits"][0];
    let handoff = team.ours.json(["show"]);
    (text(&finding["id"]), text(&handoff["session_id"]), text(&handoff["handoff_id"]))
}

#[test]
fn a_handoff_tells_which_of_its_claims_were_retracted_and_by_whom() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let (finding, _, handoff) = ours(&team);
    assert!(team.ours.run(["show", &handoff]).ok().out.contains("nothing changed"));
    team.say(JOURNAL, &[record(&id(1), "retract", &json!({"of": [finding], "why": "so they say"}))]);
    team.ours.run(["sync"]).ok();
    let changed = &team.ours.json(["show", &handoff])["arrival"]["retracted_claims"];
    assert_eq!(*changed, json!([{"id": finding, "ai_id": "mal", "why": "so they say"}]));
    for arguments in [&["show", &handoff][..], &["resume"]] {
        let out = team.ours.run(arguments).ok().out;
        assert!(out.contains(&format!("retracted: {} (mal: so they say)", &finding[28..])), "{out}");
    }
    let resumed = &team.ours.json(["resume"])["sessions"][0]["arrival"]["retracted_claims"];
    assert_eq!(resumed, changed);
    let out = team.ours.run(["search", "cache", "noon", "--all"]).ok().out;
    assert!(out.contains("retracted") && out.contains(OURS), "{out}");
    // one that is replaced is in the handoff, with its replacement
    team.say(
        JOURNAL,
        &[
            record(&id(2), "finding", &json!({"text": "theirs"})),
            record(&id(3), "retract", &json!({"of": [finding], "by": id(2)})),
        ],
    );
    team.ours.run(["sync"]).ok();
    assert_eq!(team.ours.json(["show", &handoff])["arrival"]["retracted_claims"], json!([]));
    assert!(team.ours.run(["show", &handoff]).ok().out.contains("theirs (corrected by mal)"));
}

#[test]
fn only_its_own_session_supersedes_a_handoff() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let (_, session, ours) = ours(&team);
    let by = id(2);
    team.say(
        HANDOFFS,
        &[
            record(&by, "handoff", &handoff(&json!({}))),
            record(&id(3), "supersede", &json!({"of": ours, "by": by})),
            record(&id(4), "supersede", &json!({"of": ours, "by": id(5)})),
            record(&id(6), "supersede", &json!({"of": ours, "by": by, "session": null})),
        ],
    );
    team.ours.run(["sync"]).ok();
    for arguments in [&["log", "--handoffs"][..], &["handoff", "list"], &["log", "--handoffs", "--no-walk"]] {
        let out = team.ours.run(arguments).out;
        assert!(out.is_empty() || out.contains(&ours[28..]), "{arguments:?}: {out}");
    }
    assert_eq!(team.ours.json(["handoff", "list"])["total_found"], 2);
    assert!(team.ours.git_out(["log", "-1", "--notes=empirica/handoffs"]).contains(&ours[28..]));
    assert_eq!(team.ours.json(["resume", "--session", &session])["sessions"][0]["handoff_id"], ours);
    // nor does one by what nobody has
    team.say(HANDOFFS, &[record(&id(7), "supersede", &json!({"of": ours, "by": id(99), "session": session}))]);
    team.ours.run(["sync"]).ok();
    assert_eq!(team.ours.json(["handoff", "list"])["total_found"], 2);
    assert!(team.ours.run(["search", "ours", "--kind", "handoff"]).ok().out.contains(&ours[28..]));
    // a later one of the session does
    team.ours.run(["handoff", "-m", "ours again", "--context", "c", "--next", "n"]).ok();
    assert_eq!(team.ours.json(["handoff", "list"])["total_found"], 2);
}

/// The commits that lists show our handoff on.
fn shown_on(team: &Team<'_>) -> Vec<Value> {
    let log = team.ours.json(["log", "--handoffs"]);
    let commits = log["commits"].as_array().expect("a list").iter().map(|commit| commit["commit"].clone());
    commits.collect()
}

#[test]
fn an_attach_moves_nothing_to_where_it_is_not_or_to_its_past() {
    for with_the_lines in [false, true] {
        let place = Sandbox::new();
        let team = Team::new(&place);
        let root = team.ours.head();
        team.ours.commit("a", "a", "Ours");
        let blocking = &team.ours.json(["unknown", "is it safe?", "--blocking"])["id"];
        team.ours.hand_over("ours on the second");
        team.ours.run(["sync"]).ok();
        let (_, _, handed_over) = ours(&team);
        let head = team.ours.head();
        // a commit that no branch has, and no child of ours
        let other = team.ours.git_out(["commit-tree", "HEAD^{tree}", "-p", &root, "-m", "theirs"]);
        let before = (shown_on(&team), team.ours.json(["handoff", "--pr", "HEAD~1..HEAD"])["markdown"].clone());
        assert!(before.1.as_str().is_some_and(|text| text.contains("is it safe?")), "{}", before.1);
        for (at, to) in [root.as_str(), &other].into_iter().enumerate() {
            for (name, of) in [(HANDOFFS, json!([handed_over])), (JOURNAL, json!([blocking]))] {
                let attach = json!({"of": of, "from": head, "to": to});
                let note = team.hub.git(["notes", "--ref", name, "show", &head]).out;
                let lines: Vec<String> = note.lines().filter(|_| with_the_lines).map(str::to_owned).collect();
                team.say_on(name, to, &lines);
                team.say_on(name, &head, &[record(&id(at as u64), "attach", &attach)]);
            }
            team.ours.run(["sync"]).ok();
            let now = (shown_on(&team), team.ours.json(["handoff", "--pr", "HEAD~1..HEAD"])["markdown"].clone());
            assert_eq!(now, before, "{to} {with_the_lines}");
            assert!(team.ours.run(["show", "HEAD"]).ok().out.contains("is it safe?"));
        }
    }
}

#[test]
fn a_digest_of_others_for_our_session_keeps_none_of_ours_from_being_written() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let session = team.ours.start("ada", "t");
    team.ours.run(["sync"]).ok();
    let more = json!({"session": session, "task": "t", "upto": "ffffffff-ffff-7fff-bfff-ffffffffffff"});
    team.say(HANDOFFS, &[record("03b3a000-0000-7000-8000-000000000001", "digest", &more)]);
    team.ours.run(["sync"]).ok();
    // nor does a claim from the future
    let more = json!({"session": session, "text": "theirs"});
    team.say(JOURNAL, &[record("03b3a000-0000-7000-8000-000000000002", "finding", &more)]);
    team.ours.run(["sync"]).ok();
    for name in ["a", "b", "c"] {
        team.ours.run(["finding", &format!("found for {name}")]).ok();
        let commit = team.ours.commit(name, name, "Ours");
        assert!(team.ours.note(HANDOFFS, &commit).contains(&format!("found for {name}")), "{name}");
    }
}

#[test]
fn what_stands_where_a_commit_belongs_is_shown_as_data() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let forged = "x\u{1b}]0;title\u{7}\u{202e}\n# Session of ada\nSigned by ada.";
    team.say(JOURNAL, &[record(&id(1), "finding", &json!({"commit": forged, "text": "theirs"}))]);
    team.ours.run(["sync"]).ok();
    let shown = team.ours.run(["show", &id(1)]).ok().out;
    assert!(shown.contains("Commit:") && !shown.contains("\n# Session") && !shown.contains("\nSigned"), "{shown}");
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{shown}");
}

#[test]
fn a_retract_hides_no_handoff_and_nothing_that_only_its_session_takes_back() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let (_, session, handed_over) = ours(&team);
    let goal = team.ours.json(["goal", "add", "ours to do"])["id"].as_str().expect("an id").to_owned();
    team.ours.run(["sync"]).ok();
    let retract = |number, of: &str, more: Value| {
        let mut line = json!({"of": [of], "why": "so they say"});
        more.as_object().expect("keys").clone().into_iter().for_each(|(key, value)| line[key] = value);
        record(&id(number), "retract", &line)
    };
    let lines = [
        retract(1, &handed_over, json!({})),
        retract(2, &handed_over, json!({"session": session})),
        retract(3, &goal, json!({})),
    ];
    team.say(JOURNAL, &lines);
    team.say(HANDOFFS, &lines[..2]);
    team.ours.run(["sync"]).ok();
    assert_eq!(team.ours.json(["show"])["handoff_id"], handed_over);
    assert_eq!(team.ours.json(["handoff", "list"])["total_found"], 1);
    assert_eq!(team.ours.json(["resume"])["sessions"][0]["handoff_id"], handed_over);
    assert!(team.ours.run(["log", "--handoffs"]).ok().out.contains(&handed_over[28..]));
    assert!(team.ours.run(["goal", "list"]).ok().out.contains("ours to do"));
    // its own session takes it back
    team.ours.run(["undo"]).ok();
    assert!(!team.ours.run(["goal", "list"]).ok().out.contains("ours to do"));
}

#[test]
fn redactions_by_others_are_told() {
    for with_hash in [false, true] {
        let place = Sandbox::new();
        let team = Team::new(&place);
        let (_, _, handed_over) = ours(&team);
        let head = team.ours.head();
        let note = team.hub.git_out(["notes", "--ref", HANDOFFS, "show", &head]);
        let forged = note.replace("\"ours\"", "\"theirs\"");
        let hash = forged.lines().find(|line| line.contains(&handed_over)).map(sha256).expect("a line");
        let row = if with_hash { format!("{handed_over} {hash} {}", id(7)) } else { handed_over.clone() };
        let lines = if with_hash { forged } else { String::new() };
        team.redact(HANDOFFS, &lines, &format!("1\n{row}\n"));
        let told = team.ours.run(["sync"]).ok().err;
        let warning = format!("others redacted records that were here, or texts in them: {}", &handed_over[28..]);
        assert!(told.contains(&warning), "{with_hash}: {told}");
        assert!(!team.ours.run(["sync"]).ok().err.contains("redacted"));
    }
}

#[test]
fn a_second_version_of_a_record_is_shown_beside_the_first_and_warned_of() {
    // of greater bytes than ours, so that it counts, and of smaller ones
    for theirs in ["ffffffff-2222-4333-8444-555555555555", "00000000-2222-4333-8444-555555555555"] {
        let place = Sandbox::new();
        let team = Team::new(&place);
        let (finding, _, handed_over) = ours(&team);
        assert_eq!(team.ours.json(["show", &finding])["other_versions"], Value::Null);
        let text = json!({"text": "theirs is hot", "session": theirs});
        team.say(JOURNAL, &[record(&finding, "finding", &text)]);
        team.say(HANDOFFS, &[record(&handed_over, "handoff", &handoff(&json!({"task": "theirs", "session": theirs})))]);
        team.ours.run(["sync"]).ok();
        team.ours.commit("b", "b", "B");
        let all = team.ours.run(["show", &finding]).ok().out;
        assert!(all.contains("theirs is hot") && all.contains(OURS) && all.contains("Another version of it"), "{all}");
        let all = team.ours.json(["show", &handed_over]);
        let tasks = [&all["task"], &all["other_versions"][0]["task"]];
        assert!(tasks.contains(&&json!("theirs")) && tasks.contains(&&json!("ours")), "{all}");
        let warning = |id: &str| format!("two versions of the record {id}");
        for arguments in [
            &["resume"][..],
            &["search", "cache", "noon"],
            &["search", "nothing like it"],
            &["why", "README.md"],
            &["log", "--handoffs"],
            &["log", "--oneline"],
            &["handoff", "list"],
            &["status"],
            &["show", "HEAD~1"],
            &["handoff", "--pr", "HEAD~1..HEAD"],
        ] {
            let said = team.ours.run(arguments).ok().err;
            assert!([&finding, &handed_over].iter().all(|id| said.contains(&warning(id))), "{arguments:?}: {said}");
        }
        // in another clone it is found by the words of each
        let other = team.ours.place.clone(&team.ours, "other", true);
        for arguments in [&["search", "cache", "noon"], &["search", "theirs", "hot"]] {
            let ran = other.run(arguments).ok();
            assert!(ran.out.contains(&finding[28..]) && ran.err.contains(&warning(&finding)), "{ran:?}");
        }
    }
}

#[test]
fn a_version_that_is_no_handoff_hides_none_without_a_word() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let (_, _, handed_over) = ours(&team);
    team.say(HANDOFFS, &[record(&handed_over, "redacted", &json!({"was": "handoff"}))]);
    team.ours.run(["sync"]).ok();
    let ran = team.ours.run(["show"]);
    assert!(
        format!("{}{}", ran.out, ran.err).contains(&format!("two versions of the record {handed_over}")),
        "{ran:?}"
    );
    let shown = team.ours.run(["show", &handed_over]).ok().out;
    assert!(shown.contains("ours"), "{shown}");
}

#[test]
fn who_writes_under_a_session_of_this_clone_is_told_from_it() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let (finding, session, handed_over) = ours(&team);
    team.ours.json(["finding", "another of ours at noon"]);
    let as_ours = |id: &str, kind: &str, more: Value| {
        let mut line = json!({"ai": "ada", "session": session});
        more.as_object().expect("keys").clone().into_iter().for_each(|(key, value)| line[key] = value);
        record(id, kind, &line)
    };
    let start = json!({"worktree": "main", "place": "p", "at": "2026-01-01T00:00:00.000Z"});
    team.say(
        JOURNAL,
        &[
            as_ours(&id(1), "finding", json!({"text": "the cache of theirs is hot at noon, README.md:1"})),
            // a later start does not make it their session
            as_ours(&id(2), "session_start", start),
            // nor is one of their own session any doubt
            record(&id(3), "finding", &json!({"text": "the cache is theirs at noon"})),
        ],
    );
    let vectors = json!({"phase": "CHECK", "round": 1, "vectors": {"know": 0.1, "uncertainty": 0.9}});
    team.say(CHECKPOINTS, &[as_ours(&id(4), "assessment", vectors)]);
    // later than ours
    let newest = format!("{}-7fff-bfff-fffffffffff4", &handed_over[..13]);
    team.say(HANDOFFS, &[as_ours(&newest, "handoff", handoff(&json!({"task": "theirs"})))]);
    team.ours.run(["sync"]).ok();
    let doubt = |id: &str| format!("cannot tell who stored the record {id} under a session of this clone");
    for (arguments, forged) in [
        (&["resume"][..], newest.clone()),
        (&["log", "--handoffs"], newest.clone()),
        (&["handoff", "list"], newest.clone()),
        (&["search", "cache", "noon"], id(1)),
        (&["why", "README.md"], id(1)),
    ] {
        let said = team.ours.run(arguments).ok().err;
        assert!(said.contains(&doubt(&forged)), "{arguments:?}: {said}");
        for honest in [&finding, &handed_over, &id(3)] {
            assert!(!said.contains(&doubt(honest)), "{arguments:?}: {said}");
        }
        let command = format!("git empirica show {}", &forged[28..]);
        assert!(said.contains(&command), "{said}");
        assert_eq!(team.ours.json(["show", &forged])["committed_by"]["email"], "mal@example.com");
    }
    // an assessment counts in the state of its session
    for arguments in [&["status"][..], &["check", "--drift"], &["check", "-v", "know=0.8"]] {
        let said = team.ours.run(arguments).ok().err;
        assert!(said.contains(&doubt(&id(4))), "{arguments:?}: {said}");
    }
    // an end counts for no session that is active here
    team.say(JOURNAL, &[as_ours(&id(5), "session_end", json!({}))]);
    team.ours.run(["sync"]).ok();
    team.ours.json(["check", "-v", "know=0.9"]);
    // hooks tell no such claim, and doubt such a handoff
    let at = At { repo: &team.ours, agent: "claude-code", session: "0f5e0000-0000-4000-8000-000000000001".to_owned() };
    let begun = at.context("SessionStart", json!({"source": "startup"}));
    assert!(begun.contains(&doubt(&newest)) && begun.contains("another of ours"), "{begun}");
    assert!(!begun.contains("theirs is hot"), "{begun}");
    let call = json!({"tool_name": "Read", "tool_input": {"file_path": team.ours.path.join("README.md")}, "tool_response": {}});
    let told = at.context("PostToolUse", call);
    assert!(told.contains(OURS) && !told.contains("theirs"), "{told}");
    let mut client = Client::new(&team.ours, &[]);
    let prompt = client.ask("prompts/get", json!({"name": "take-up"})).to_string();
    assert!(prompt.contains(&doubt(&newest)), "{prompt}");
    // whoever hands such a claim on is warned
    let handed_on = team.ours.run(["handoff", "-m", "x", "--session", &session]).ok().err;
    assert!(handed_on.contains(&doubt(&id(1))), "{handed_on}");
}

#[test]
fn records_dated_ahead_of_the_clock_come_last() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let (finding, session, handed_over) = ours(&team);
    let later = |number: u64| format!("fff00000-0000-7000-8000-{number:012x}");
    let (mut journal, mut handoffs) = (Vec::new(), Vec::new());
    for at in 0..20 {
        let own = format!("11111111-2222-4333-8444-{at:012}");
        let start = json!({"session": own, "at": "9999-01-01T00:00:00.000Z", "worktree": "main", "place": "p"});
        journal.push(record(&later(at), "session_start", &start));
        journal.push(record(&later(at + 100), "finding", &json!({"session": own, "text": "theirs"})));
        handoffs.push(record(&later(at + 200), "handoff", &handoff(&json!({"session": own}))));
    }
    // in our session, too
    journal.push(record(&later(400), "finding", &json!({"session": session, "text": "theirs"})));
    team.say(JOURNAL, &journal);
    team.say(HANDOFFS, &handoffs);
    team.ours.run(["sync"]).ok();
    assert_eq!(team.ours.json(["resume"])["sessions"][0]["session_id"], session);
    let listed = team.ours.json(["handoff", "list"]);
    assert_eq!((&listed["total_found"], &listed["handoffs"][0]["handoff_id"]), (&json!(21), &json!(handed_over)));
    assert_eq!(team.ours.json(["search", "--kind", "finding"])["hits"][0]["id"], finding);
    assert_eq!(team.ours.json(["show"])["handoff_id"], handed_over);
    // all of them are there
    let mut seen = team.ours.json(["search", "--kind", "handoff", "--limit", "50"]);
    assert_eq!(seen["hits"].as_array_mut().map(|hits| hits.len()), Some(21));
    assert_eq!(team.ours.json(["resume", "--last", "5"])["total_sessions"], 5);
    assert_ne!(SESSION, session);
}

#[test]
fn claims_dated_ahead_of_the_clock_displace_none() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let ours = &team.ours;
    ours.json(["deadend", "ours fails", "--why", "we tried", "--at", "README.md:1"]);
    ours.json(["unknown", "ours is open"]);
    ours.json(["mistake", "ours was wrong"]);
    ours.json(["decision", "ours is decided", "--why", "we chose"]);
    ours.json(["goal", "add", "ours is to do"]);
    ours.json(["finding", "ours is a standard", "--as", "standard"]);
    ours.run(["sync"]).ok();
    let blob = ours.git_out(["rev-parse", "HEAD:README.md"]);
    let own = |at: u64| json!({"session": format!("11111111-2222-4333-8444-{:012}", at % 2)});
    let ahead = |id: &str, kind: &str, at: u64, more: Value| {
        let mut line = own(at);
        line["at"] = json!("9999-01-01T00:00:00.000Z");
        line["anchors"] = json!([{"path": "README.md", "blob": blob}]);
        line.as_object_mut().expect("keys").extend(more.as_object().expect("keys").clone());
        record(id, kind, &line)
    };
    // a UUID of no time sorts behind all times
    let id = |at: u64| match at % 2 {
        0 => format!("fff00000-0000-7000-8000-{at:012x}"),
        _ => format!("ffffffff-ffff-4fff-bfff-{at:012x}"),
    };
    let mut journal: Vec<String> =
        (0..2).map(|at| ahead(&id(at), "session_start", at, json!({"worktree": "main", "place": "p"}))).collect();
    let text = |at: u64| json!({"text": format!("theirs {at}"), "impact": 1.0, "memory": "standard"});
    for at in 0..260 {
        let tried = json!({"approach": format!("theirs {at}"), "why": "README.md"});
        let chosen = json!({"text": format!("theirs {at}"), "why": "README.md", "alternatives": []});
        let goal = json!({"text": format!("theirs {at}"), "criteria": [], "priority": "medium"});
        for (place, (kind, more)) in (1..).zip([
            ("finding", text(at)),
            ("unknown", text(at)),
            ("mistake", text(at)),
            ("dead_end", tried),
            ("decision", chosen),
            ("goal", goal),
        ]) {
            journal.push(ahead(&id(1000 * place + at), kind, at, more));
        }
    }
    // nor does a confirmation put a claim behind them
    let failed = ours.json(["search", "ours fails"])["hits"][0]["id"].clone();
    journal.push(ahead(&id(9000), "confirm", 0, json!({"of": failed})));
    team.say(JOURNAL, &journal);
    // in a clone that has no session of its own
    ours.git(["clone", "-q", "../hub.git", "../reader"]).ok();
    let reader = place.at("reader");
    reader.run(["init"]).ok();
    reader.run(["sync"]).ok();
    let project = reader.json(["status", "--all", "--budget", "200000"]);
    for (list, key) in [
        ("findings", "text"),
        ("unknowns", "text"),
        ("mistakes", "text"),
        ("dead_ends", "approach"),
        ("decisions", "text"),
        ("goals", "text"),
    ] {
        let first = project[list][0][key].as_str().unwrap_or_default();
        assert!(first.starts_with("ours"), "{list}: {first}");
    }
    assert_eq!(
        project["working_memory"]["quality_standards"][0], "ours is a standard",
        "{}",
        project["working_memory"]
    );
    assert_eq!(project["active_sessions"][0]["ai_id"], "ada", "{}", project["active_sessions"]);
    let why = reader.run(["why", "README.md"]).ok().out;
    let (failed, theirs) = (why.find("ours fails"), why.find("theirs"));
    assert!(failed.is_some() && theirs.is_none_or(|theirs| failed < Some(theirs)), "{why}");
    let at = At { repo: &reader, agent: "claude-code", session: "0f5e0000-0000-4000-8000-000000000001".to_owned() };
    let begun = at.context("SessionStart", json!({"source": "startup"}));
    assert!(
        begun.contains("ours is open") && begun.contains("ours fails") && begun.contains("ours is decided"),
        "{begun}"
    );
}
