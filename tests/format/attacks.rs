//! A teammate who can push writes whatever they like to the notes of the remote: every command ends, within 512 MB of address
//! space beyond the size of the notes, what is ours is still there, and other refs and the code are still pushed.
//! `EMPIRICA_TEST_LONG` tries the full sizes.

use std::cell::Cell;
use std::fs;

use serde_json::{Value, json};

use crate::support::harness::{Repo, RunOutput, Sandbox, is_long};

pub(super) const JOURNAL: &str = "refs/notes/empirica/data/journal";
pub(super) const HANDOFFS: &str = "refs/notes/empirica/data/handoffs";
pub(super) const CHECKPOINTS: &str = "refs/notes/empirica/data/checkpoints";
pub(super) const SESSION: &str = "11111111-2222-4333-8444-555555555555";
pub(super) const OURS: &str = "the cache of ours is cold at noon";
/// The limit of a command beyond the size of what is said, in KiB.
const MEMORY: usize = 512 << 10;

/// An entry of a tree: its mode, its name and the id of its object.
type Entry = (&'static str, String, String);

/// The remote, to which the teammate pushes, and a clone with notes that it has.
pub(super) struct Team<'p> {
    pub(super) hub: Repo<'p>,
    pub(super) ours: Repo<'p>,
    /// The size of the notes pushed, in bytes.
    said: Cell<usize>,
}

impl<'p> Team<'p> {
    pub(super) fn new(place: &'p Sandbox) -> Self {
        let ours = place.repo("r");
        let hub = place.at("hub.git");
        ours.git(["init", "-q", "--bare", "-b", "main", "../hub.git"]).ok();
        ours.git(["remote", "add", "origin", "../hub.git"]).ok();
        ours.git(["push", "-q", "-u", "origin", "main"]).ok();
        ours.run(["init"]).ok();
        ours.start("ada", "ours");
        ours.json(["finding", OURS, "--at", "README.md:1"]);
        ours.hand_over("ours");
        ours.run(["sync"]).ok();
        Team { hub, ours, said: Cell::new(0) }
    }

    /// Stores an object in the remote, unchecked.
    fn object(&self, kind: &str, bytes: &[u8]) -> String {
        let file = self.hub.place.path().join("object");
        fs::write(&file, bytes).expect("a file");
        self.hub.git_out(["hash-object", "-w", "--literally", "-t", kind, file.to_str().expect("UTF-8")])
    }

    fn tree(&self, mut entries: Vec<Entry>) -> String {
        let key = |(mode, name, _): &Entry| format!("{name}{}", if *mode == "40000" { "/" } else { "" });
        entries.sort_by_key(key);
        self.tree_as_is(entries)
    }

    /// A tree with its entries in this order, which git would not make.
    fn tree_as_is(&self, entries: Vec<Entry>) -> String {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend(format!("{mode} {name}\0").into_bytes());
            bytes.extend((0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).expect("hex")));
        }
        self.object("tree", &bytes)
    }

    fn entries(&self, name: &str) -> Vec<Entry> {
        let listed = self.hub.git(["ls-tree", name]).out;
        let entry = |line: &str| {
            let (head, name) = line.split_once('\t').expect("a name");
            let mode = if head.contains("tree") { "40000" } else { "100644" };
            (mode, name.to_owned(), head.rsplit(' ').next().expect("an id").to_owned())
        };
        listed.lines().map(entry).collect()
    }

    /// Pushes a tree of notes on top of those that are there.
    fn push(&self, name: &str, tree: &str) {
        let tip = self.hub.git(["rev-parse", "-q", "--verify", name]).out;
        let mut arguments =
            vec!["-c", "user.name=mal", "-c", "user.email=mal@example.com", "commit-tree", tree, "-m", "x"];
        arguments.extend((!tip.is_empty()).then_some(["-p", tip.trim_end()]).into_iter().flatten());
        let commit = self.hub.git_out(arguments);
        self.hub.git(["update-ref", name, &commit]).ok();
    }

    /// Pushes other entries in addition.
    fn add(&self, name: &str, more: Vec<Entry>) {
        let mut all = self.entries(name);
        all.retain(|(_, name, _)| more.iter().all(|(_, other, _)| other != name));
        all.extend(more);
        self.push(name, &self.tree(all));
    }

    /// Pushes lines in the note of HEAD.
    pub(super) fn say(&self, name: &str, lines: &[String]) {
        self.say_on(name, &self.ours.head(), lines);
    }

    /// Pushes lines in the note of a commit, which the remote need not have.
    pub(super) fn say_on(&self, name: &str, commit: &str, lines: &[String]) {
        let note = self.hub.git(["cat-file", "blob", &format!("{name}:{commit}")]).out + &lines.join("\n") + "\n";
        self.said.set(self.said.get() + note.len());
        let blob = self.object("blob", note.as_bytes());
        self.add(name, vec![("100644", commit.to_owned(), blob)]);
    }

    /// Pushes these lines as the note of HEAD, and these redactions.
    pub(super) fn redact(&self, name: &str, lines: &str, epoch: &str) {
        let head = self.ours.head();
        let [note, epoch] = [lines, epoch].map(|text| self.object("blob", text.as_bytes()));
        self.add(name, vec![("100644", head, note), file("epoch", epoch)]);
    }

    /// Runs the program within the limit of memory.
    pub(super) fn run(&self, arguments: &[&str]) -> RunOutput {
        let program = self.ours.program();
        let limited = format!("ulimit -v {}; exec \"$@\"", MEMORY + self.said.get() / 1024);
        let mut command = self.ours.place.command("sh", &self.ours.path);
        command.args(["-c", &limited, "sh"]).arg(program.get_program()).args(arguments);
        RunOutput::new(command.output().expect("sh starts"))
    }

    /// The commands that read work, before and after a sync with this exit code, and have what is ours. Returns what that sync said.
    #[track_caller]
    pub(super) fn survives(&self, code: i32) -> String {
        self.ours.git(["fetch", "-q", "origin"]);
        self.reads();
        let synced = self.run(&["sync"]);
        assert_eq!(synced.code, code, "{}{}", synced.out, synced.err);
        self.reads();
        self.writes();
        synced.err
    }

    #[track_caller]
    fn reads(&self) {
        for arguments in [
            &["status"][..],
            &["resume"],
            &["show"],
            &["log", "--handoffs", "--checkpoints", "--journal"],
            &["search", "cache", "noon"],
            &["why", "README.md"],
            &["doctor"],
            &["session", "list"],
            &["handoff", "list"],
            &["query"],
            &["task", "list"],
            &["metrics"],
            &["calibration"],
            &["bootstrap"],
            &["report", "--html", "../page.html"],
        ] {
            let ran = self.run(arguments);
            assert!([0, 1].contains(&ran.code), "{arguments:?}: {}: {:.2000}", ran.code, ran.err);
            assert!(!ran.err.contains("panicked"), "{arguments:?}: {:.2000}", ran.err);
            if arguments[0] == "search" {
                assert!(ran.out.contains(OURS), "{:.2000}", ran.out);
            }
        }
    }

    /// Records, commits and pushes, whether or not the notes can be sent.
    #[track_caller]
    fn writes(&self) {
        assert_eq!(self.run(&["finding", "later"]).code, 0);
        self.ours.git(["commit", "-q", "--allow-empty", "-m", "Later"]).ok();
        self.ours.git(["push", "-q", "origin", "main"]).ok();
        assert_eq!(self.hub.git_out(["rev-parse", "main"]), self.ours.head());
        assert!(self.run(&["search", "cache", "noon"]).out.contains(OURS));
    }

    /// Whether the remote has as many notes as the clone.
    fn is_sent(&self, name: &str) -> bool {
        self.hub.git_out(["rev-parse", name]) == self.ours.git_out(["rev-parse", name])
    }
}

pub(super) fn id(number: u64) -> String {
    format!("019b7000-0000-7000-8000-{number:012x}")
}

pub(super) fn record(id: &str, kind: &str, rest: &Value) -> String {
    let mut json = json!({"v": 1, "id": id, "kind": kind, "session": SESSION, "ai": "mal", "at": "2026-01-01T00:00:00.000Z",
        "commit": null, "tree": null});
    json.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
    json.to_string()
}

pub(super) fn handoff(more: &Value) -> Value {
    let mut json = json!({"type": "epistemic", "task": "theirs", "started_at": "2026-01-01T00:00:00.000Z", "duration_seconds": 1,
        "session_status": "ended", "trajectory": [], "calibration_status": "not_assessable", "accomplished": [], "commits": [],
        "findings": [], "gaps_filled": [], "unknowns": [], "dead_ends": [], "mistakes": [], "decisions": [], "evidence": [],
        "goals": [], "tools": [], "sources": [], "context": "c", "next_steps": [], "recommendations": [], "artifacts": [],
        "assessments": []});
    json.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    json
}

fn file(name: &str, blob: String) -> Entry {
    ("100644", name.to_owned(), blob)
}

#[test]
fn a_tree_of_a_few_objects_that_lists_any_number_of_notes_is_refused() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let blob = team.object("blob", b"x\n");
    let mut tree = team.tree((0..256).map(|at| file(&format!("{at:02x}"), blob.clone())).collect());
    for _ in 0..18 {
        tree = team.tree((0..256).map(|at| ("40000", format!("{at:02x}"), tree.clone())).collect());
    }
    team.add(JOURNAL, vec![("40000", "ab".to_owned(), tree)]);
    team.run(&["preflight", "-v", "know=0.4"]).ok();
    let said = team.survives(128);
    assert!(said.contains("data/journal of origin") && said.contains("in them too often"), "{said}");
    assert!(team.is_sent(CHECKPOINTS) && team.is_sent(HANDOFFS), "other refs are sent");
    assert!(!team.is_sent(JOURNAL));
}

#[test]
fn other_entries_that_unfold_without_end_are_not_unfolded() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let blob = team.object("blob", b"x");
    let mut tree = team.tree((0..64).map(|at| file(&format!("z{at}"), blob.clone())).collect());
    for _ in 0..40 {
        tree = team.tree((0..64).map(|at| ("40000", format!("z{at}"), tree.clone())).collect());
    }
    team.add(JOURNAL, vec![("40000", "zz".to_owned(), tree)]);
    team.survives(0);
    assert!(team.is_sent(JOURNAL));
}

#[test]
fn a_note_that_unpacks_to_more_than_is_read_is_refused() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let size = if is_long() { 500 << 20 } else { 65 << 20 };
    let blob = team.object("blob", &vec![b' '; size]);
    team.add(JOURNAL, vec![file(&"a".repeat(40), blob)]);
    let said = team.survives(128);
    assert!(said.contains("data/journal of origin") && said.contains("MiB, and no more than 64 are read"), "{said}");
}

#[test]
fn a_note_that_unpacks_to_more_than_is_read_is_passed_over_by_a_long_log() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let size = if is_long() { 500 << 20 } else { 65 << 20 };
    let mut notes = Vec::new();
    for number in 0..60 {
        team.ours.git(["commit", "-q", "--no-verify", "--allow-empty", "-m", "Go on"]).ok();
        let mut note =
            record(&id(number), "finding", &json!({"text": format!("claim {number} of theirs")})).into_bytes();
        // the oldest is read by another thread than the first of a log
        note.resize(if number > 0 { note.len() + 1 } else { size }, b'\n');
        notes.push(("100644", team.ours.head(), team.object("blob", &note)));
    }
    team.add(JOURNAL, notes);
    team.ours.git(["fetch", "-q", "origin"]).ok();
    let shown = team.run(&["log", "--journal"]).ok();
    let is_shown = |number: usize| shown.out.contains(&format!("claim {number} of theirs"));
    assert!((1..60).all(is_shown) && !is_shown(0), "{:.2000}", shown.out);
}

#[test]
fn a_large_note_that_git_stores_as_a_delta_is_read() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    team.ours.git(["commit", "-q", "--allow-empty", "-m", "Go on"]).ok();
    let on = team.ours.head();
    // git stores the smaller one as a delta; to read it, the size of the larger one is needed twice
    for (number, more) in [(0, 1), (1, 0)] {
        let line = record(&id(number), "finding", &json!({"text": format!("claim {number} of a large note")}));
        let mut note = (line + "\n").into_bytes();
        note.resize((33 << 20) + more, b'\n');
        team.add(JOURNAL, vec![("100644", on.clone(), team.object("blob", &note))]);
    }
    team.ours.git(["fetch", "-q", "origin"]).ok();
    team.ours.git(["repack", "-adfq"]).ok();
    let shown = team.run(&["log", "--journal"]).ok();
    assert!(shown.out.contains("claim 1 of a large note"), "{:.2000}", shown.out);
}

#[test]
fn a_commit_that_unpacks_to_more_than_is_read_is_passed_over() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let (tip, tree) =
        (team.hub.git_out(["rev-parse", JOURNAL]), team.hub.git_out(["rev-parse", &format!("{JOURNAL}^{{tree}}")]));
    let who = "mal <mal@example.com> 1 +0000";
    let mut bytes = format!("tree {tree}\nparent {tip}\nauthor {who}\ncommitter {who}\n\n").into_bytes();
    bytes.resize(65 << 20, b' ');
    let commit = team.object("commit", &bytes);
    team.hub.git(["update-ref", JOURNAL, &commit]).ok();
    team.ours.git(["fetch", "-q", "origin"]).ok();
    team.reads();
    team.writes();
}

#[test]
fn redactions_beyond_any_number_are_refused() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let most = if is_long() { 1_000_000 } else { 60_000 };
    let redact = |number: u64| {
        let text: String = (0..number).map(|at| id(at) + "\n").collect();
        let blob = team.object("blob", format!("9\n{text}").as_bytes());
        team.add(JOURNAL, vec![file("epoch", blob)]);
    };
    // both are refused: what is merged leaves room for redactions of our own
    redact(30_000);
    let synced = team.run(&["sync"]).code(128);
    assert!(synced.err.contains("redactions") && synced.err.contains("more than 1 MiB"), "{}", synced.err);
    redact(most);
    let said = team.survives(128);
    assert!(said.contains("redactions") && said.contains("more than 2 MiB"), "{said}");
}

#[test]
fn redactions_of_what_nobody_has_hide_nothing() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let number = if is_long() { 25_000 } else { 500 };
    let text: String = (0..number).map(|at| id(at) + "\n").collect();
    // no number is greater
    let blob = team.object("blob", format!("{}\n{text}", u64::MAX).as_bytes());
    team.add(JOURNAL, vec![file("epoch", blob)]);
    team.survives(0);
    assert!(team.is_sent(JOURNAL));
}

#[test]
fn a_line_longer_than_a_record_is_kept_and_not_shown() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let long = record(&id(1), "finding", &json!({"text": "word ".repeat((8 << 20) / 5 + 1)}));
    team.say(JOURNAL, std::slice::from_ref(&long));
    team.survives(0);
    let shown = team.run(&["log", "--journal"]).ok();
    assert!(shown.out.contains(OURS) && !shown.out.contains("word word"), "{:.500}", shown.out);
    let note = team.ours.note(JOURNAL, &team.ours.git_out(["rev-parse", "HEAD~1"]));
    assert!(note.contains(&long));
    // and none is stored
    let input = "word ".repeat((8 << 20) / 5 + 1);
    let refused = team.ours.run_with_input(["finding", "-"], input.as_bytes());
    assert!(refused.code != 0 && refused.err.contains("cannot store a record of 8 MiB"), "{:.500}", refused.err);
}

#[test]
fn a_record_of_different_words_is_found_by_any_of_them() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let words: usize = if is_long() { 830_000 } else { 200_000 };
    let text = (0..words).map(|number| format!("w{number:06}")).collect::<Vec<_>>().join(" ");
    team.say(JOURNAL, &[record(&id(1), "finding", &json!({"text": text}))]);
    team.survives(0);
    let last = format!("w{:06}", words - 1);
    let found = team.run(&["search", &last]).ok();
    assert!(found.out.contains(&last) && found.out.len() < 2_000, "{:.2000}", found.out);
}

#[test]
fn chains_and_circles_of_any_length_end() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let number: u64 = if is_long() { 10_000 } else { 100 };
    let (mut journal, mut handoffs) = (Vec::new(), Vec::new());
    let to = team.ours.head();
    for at in 0..number {
        let next = |kind: u64| id(kind * 1_000_000 + (at + 1) % number);
        let own = |kind: u64| id(kind * 1_000_000 + at);
        let before = id(7_000_000 + at.saturating_sub(1));
        for (kind, name, rest) in [
            (1, "finding", json!({"text": "theirs", "led_from": next(1)})),
            (2, "retract", json!({"of": [own(1)], "why": "w", "by": next(1)})),
            (3, "retract", json!({"of": [next(3)], "why": "w"})),
            (4, "subtask", json!({"of": next(4), "text": "theirs"})),
            (5, "resolve", json!({"of": next(5), "text": "theirs"})),
            (6, "goal_take", json!({"from": SESSION, "of": [next(6)]})),
            (7, "retract", json!({"of": [before], "why": "w"})),
        ] {
            journal.push(record(&own(kind), name, &rest));
        }
        for (kind, name, rest) in [
            (
                11,
                "handoff",
                handoff(&json!({"task_id": "T", "continues": next(11), "regenerates": next(11), "iteration": at + 1})),
            ),
            (12, "accept", json!({"of": own(11), "takes_over": next(12), "yields_to": next(12), "questions": ["q"]})),
            (13, "answer", json!({"of": own(12), "question": 0, "text": "theirs"})),
            (14, "supersede", json!({"of": own(11), "by": next(11)})),
            (15, "attach", json!({"of": [own(11), next(15)], "to": to})),
        ] {
            handoffs.push(record(&own(kind), name, &rest));
        }
    }
    team.say(JOURNAL, &journal);
    team.say(HANDOFFS, &handoffs);
    team.survives(0);
    // a push may have stopped waiting
    team.run(&["sync"]).ok();
    assert!(team.is_sent(JOURNAL));
}

#[test]
fn sessions_of_any_number_of_agents_are_counted_and_the_newest_shown() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let number: u64 = if is_long() { 60_000 } else { 600 };
    let (mut journal, mut checkpoints) = (Vec::new(), Vec::new());
    for at in 0..number {
        let own = json!({"session": format!("11111111-2222-4333-8444-{at:012}"), "ai": format!("mal{at}"), "worktree": "main",
            "place": "p", "text": "theirs", "phase": "CHECK", "round": 1, "vectors": {"know": 0.5}});
        journal.push(record(&id(2 * at), "session_start", &own));
        journal.push(record(&id(2 * at + 1), "finding", &own));
        checkpoints.push(record(&id(10_000_000 + at), "assessment", &own));
    }
    team.say(JOURNAL, &journal);
    team.say(CHECKPOINTS, &checkpoints);
    team.survives(0);
    // the total counts all
    for command in ["calibration", "metrics"] {
        let table = team.ours.json([command]);
        let rows = table["agents"].as_array().map(Vec::len);
        assert_eq!((rows, &table["total_agents"]), (Some(500), &json!(number + 1)), "{command}");
        let ran = team.run(&[command]);
        assert!(ran.err.contains(&format!("{} agents; ", number - 499)), "{}", ran.err);
    }
    let calibration = team.ours.json(["calibration"]);
    let listed = calibration["sessions"].as_array().map(Vec::len);
    assert_eq!((listed, &calibration["total_sessions"]), (Some(500), &json!(number + 1)));
    let project = team.ours.json(["status", "--all", "--budget", "100000"]);
    let counts = json!({"sessions": number + 1, "active_sessions": number + 1, "agents": number + 1});
    assert_eq!(project["project"], counts);
    let shown = project["active_sessions"].as_array().expect("a list");
    assert!((200..1000).contains(&shown.len()) && shown[0]["ai_id"] == "ada", "{}", shown.len());
}

#[test]
fn what_any_number_of_sessions_say_about_one_record_counts() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let number: u64 = if is_long() { 3_000 } else { 300 };
    let [question, goal, step, claim, handed] = [1, 2, 3, 4, 5].map(id);
    let of_us = |kind: &str, id: &str, rest: Value| record(id, kind, &rest);
    let (mut journal, mut handoffs) = (Vec::new(), Vec::new());
    journal.push(of_us("unknown", &question, json!({"text": "theirs"})));
    journal.push(of_us("goal", &goal, json!({"text": "theirs"})));
    journal.push(of_us("subtask", &step, json!({"of": goal, "text": "theirs"})));
    journal.push(of_us("finding", &claim, json!({"text": "theirs"})));
    handoffs.push(of_us("handoff", &handed, handoff(&json!({"task_id": "T", "to": "mal"}))));
    for at in 0..number {
        let session = format!("22222222-2222-4333-8444-{at:012}");
        let own = |kind: u64| id(kind * 1_000_000 + at);
        let say = |list: &mut Vec<String>, kind: u64, name: &str, mut rest: Value| {
            rest["session"] = session.clone().into();
            list.push(record(&own(kind), name, &rest));
        };
        say(&mut journal, 1, "resolve", json!({"of": question, "text": "theirs"}));
        say(&mut journal, 2, "goal_take", json!({"from": SESSION, "of": [goal]}));
        say(&mut journal, 3, "goal_done", json!({"of": step}));
        say(&mut journal, 4, "confirm", json!({"of": claim}));
        say(&mut journal, 5, "retract", json!({"of": [claim], "why": "w", "by": own(6)}));
        say(&mut journal, 6, "finding", json!({"text": "theirs"}));
        let other = id(7_000_000 + at.saturating_sub(1));
        say(&mut handoffs, 7, "accept", json!({"of": handed, "takes_over": other, "questions": ["q"]}));
        say(&mut handoffs, 8, "answer", json!({"of": own(7), "question": 0, "text": "theirs"}));
    }
    team.say(JOURNAL, &journal);
    team.say(HANDOFFS, &handoffs);
    team.survives(0);
    let shown = team.ours.json(["goal", "show", &goal])["goal"].clone();
    let last = format!("22222222-2222-4333-8444-{:012}", number - 1);
    assert_eq!((&shown["session_id"], &shown["progress"]), (&last.into(), &"1/1 subtasks".into()));
}

#[test]
fn a_task_of_any_number_of_handoffs_is_shown() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let number: u64 = if is_long() { 3_000 } else { 300 };
    let mut lines = Vec::new();
    let mut say = |kind: u64, at: u64, ai: &str, name: &str, rest: Value| {
        let mut said = json!({"ai": ai, "session": format!("22222222-2222-4333-8444-{at:012}")});
        said.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
        lines.push(record(&id(kind * 1_000_000 + at), name, &said));
    };
    let of = |kind: u64, at: u64| id(kind * 1_000_000 + at);
    for at in 0..number {
        let (ai, next) = (format!("a{at}"), format!("a{}", at + 1));
        // a chain, each claimed by the next
        let mut handed = json!({"task_id": "chain", "to": next});
        if at > 0 {
            handed["continues"] = of(1, at - 1).into();
        }
        say(1, at, &ai, "handoff", handoff(&handed));
        say(2, at + 1, &next, "accept", json!({"of": of(1, at), "questions": ["q"]}));
        say(3, at, &ai, "answer", json!({"of": of(2, at + 1), "question": 1, "text": "theirs"}));
        // versions of one, each decided and resolved
        let revised = json!({"task_id": "versions", "to": "b", "regenerates": of(4, at.saturating_sub(1))});
        say(4, at, "mal", "handoff", handoff(&revised));
        let resolved = json!({"of": of(4, number - 1 - at), "decision": "ESCALATE", "resolution": "r"});
        say(5, at, "b", "accept", resolved);
        // handed to and fro, by nobody claimed
        let (from, to) = if at < number / 2 { ("x", "z") } else { ("z", "x") };
        say(6, at, from, "handoff", handoff(&json!({"task_id": "unclaimed", "to": to, "session": SESSION})));
    }
    team.say(HANDOFFS, &lines);
    team.survives(0);
    let shown = team.ours.json(["task", "show", "chain"])["chain"].clone();
    let links = shown.as_array().expect("a chain");
    let is_claimed = |link: &&Value| link["owner"]["ai_id"] == link["to"];
    assert_eq!(links.iter().filter(is_claimed).count() as u64, number);
    for task in ["versions", "unclaimed"] {
        assert_eq!(team.run(&["task", "show", task]).code, 0);
    }
}

#[test]
fn a_page_is_made_from_the_newest_records_and_says_so() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let claims: Vec<String> = (0..10_000).map(|at| record(&id(at), "finding", &json!({"text": "theirs"}))).collect();
    let page = |team: &Team<'_>| team.run(&["report", "--html", "../page.html"]).ok().err;
    assert!(!page(&team).contains("records of a kind"));
    team.say(JOURNAL, &claims);
    team.run(&["sync"]).ok();
    let said = page(&team);
    assert!(said.contains("newest 10000 records of a kind; stored: 10001 finding\n"), "{said}");
}

#[test]
fn numbers_and_times_beyond_all_bounds_are_data() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let (mut journal, mut handoffs, mut checkpoints) = (Vec::new(), Vec::new(), Vec::new());
    for (at, number) in [json!(u64::MAX), json!(i64::MAX), json!(u32::MAX), json!(0), json!(-1)].into_iter().enumerate()
    {
        let id = |kind: usize| format!("ffffffff-ffff-7fff-bfff-{:012x}", kind * 100 + at);
        let time = ["9999-12-31T23:59:60Z", "+262142-12-31T23:59:59Z", "-262143-01-01T00:00:00Z", "", "0000-00-00"][at];
        journal.extend([
            record(&id(1), "session_start", &json!({"at": time, "worktree": "main", "place": "p"})),
            record(
                &id(2),
                "transcript",
                &json!({"agent": "codex", "transcript": "t", "from": 0, "to": number, "rows": number,
                "tools": [{"category": "shell", "count": number, "errors": number, "samples": []}],
                "tokens": {"input": number, "output": number, "cache_read": number, "cache_write": number}}),
            ),
            record(
                &id(3),
                "finding",
                &json!({"text": "theirs", "until": time, "impact": 1e308, "at": time,
                "anchors": [{"path": "../../../../etc/passwd", "lines": [0, number], "blob": "0".repeat(40)}]}),
            ),
            record(
                &id(4),
                "evidence",
                &json!({"command": "x", "exit": i32::MIN, "files": ["/dev/zero", ".git/config"]}),
            ),
            record(&id(5), "session_end", &json!({"at": time})),
        ]);
        handoffs.extend([
            record(
                &id(6),
                "handoff",
                &handoff(&json!({"task_id": "T", "iteration": number, "started_at": time, "duration_seconds": number,
                "evidence": [{"command": "x", "exit": 0, "runs": number}],
                "tools": [{"tool": "a", "count": number}, {"tool": "b", "count": number}]})),
            ),
            record(&id(7), "accept", &json!({"of": id(6), "questions": ["q"]})),
            record(&id(8), "answer", &json!({"of": id(7), "question": number, "text": "theirs"})),
        ]);
        checkpoints.extend([
            record(
                &id(9),
                "assessment",
                &json!({"phase": "PREFLIGHT", "round": number, "vectors": {"know": 0.5}, "cycle": number}),
            ),
            record(&id(10), "assessment", &json!({"phase": "POSTFLIGHT", "round": number, "vectors": {"know": 1e308}})),
            record(
                &id(11),
                "checkpoint",
                &json!({"phase": null, "round": number, "trigger": "manual", "vectors": {},
                "git_state": {"commits_total": number}}),
            ),
        ]);
    }
    team.say(JOURNAL, &journal);
    team.say(HANDOFFS, &handoffs);
    // the hub has no checkpoints yet
    let blob = team.object("blob", (checkpoints.join("\n") + "\n").as_bytes());
    team.add(CHECKPOINTS, vec![file(&team.ours.head(), blob)]);
    team.survives(0);
    team.run(&["preflight", "-v", "know=0.4"]).ok();
    team.run(&["handoff", "-m", "T", "--context", "c", "--next", "n"]).ok();
    team.run(&["sync"]).ok();
}

#[test]
fn odd_refs_stop_only_themselves() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let tip = team.hub.git_out(["rev-parse", JOURNAL]);
    let blob = team.object("blob", b"x");
    team.hub.git(["update-ref", "refs/notes/empirica/data/zzz", &blob]).ok();
    team.hub.git(["update-ref", "refs/notes/empirica/handoffs-of-them", &tip]).ok();
    for at in 0..if is_long() { 10_000 } else { 50 } {
        fs::write(team.hub.path.join(format!("refs/notes/empirica/data/x{at}")), format!("{tip}\n")).expect("a ref");
    }
    team.survives(0);
    assert!(team.is_sent(JOURNAL) && team.is_sent(HANDOFFS));
    // refs that are gone come back
    team.hub.git(["update-ref", "-d", JOURNAL]).ok();
    team.survives(0);
    assert!(team.is_sent(JOURNAL));
}

#[test]
fn a_ref_that_is_no_notes_stops_only_itself() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let file = team.hub.git_out(["rev-parse", "main:README.md"]);
    for (object, code) in [(file.clone(), 128), (team.hub.git_out(["rev-parse", "main^{tree}"]), 128)] {
        team.hub.git(["update-ref", "--no-deref", JOURNAL, &object]).ok();
        team.ours.json(["preflight", "-v", "know=0.4"]);
        team.ours.run(["handoff", "-m", "more"]).ok();
        team.survives(code);
        assert!(team.is_sent(HANDOFFS));
        // the object is the user's
        let advice = team.ours.run(["doctor"]);
        assert!(!format!("{}{}", advice.out, advice.err).contains("damaged-"), "{}", advice.out);
    }
}

#[test]
fn commits_with_dates_that_are_none_are_merged() {
    for date in ["99999999999999999999 +0000", "abc", ""] {
        let place = Sandbox::new();
        let team = Team::new(&place);
        let [tree, tip] =
            [format!("{JOURNAL}^{{tree}}"), JOURNAL.to_owned()].map(|name| team.hub.git_out(["rev-parse", &name]));
        let person = format!("m <m@x> {date}");
        let text = format!("tree {tree}\nparent {tip}\nauthor {person}\ncommitter {person}\n\nx\n");
        let commit = team.object("commit", text.as_bytes());
        team.hub.git(["update-ref", JOURNAL, &commit]).ok();
        team.ours.run(["finding", "meanwhile"]).ok();
        team.survives(0);
        assert!(team.is_sent(HANDOFFS), "{date}");
        team.ours.run(["sync"]).ok();
        assert!(team.is_sent(JOURNAL), "{date}");
    }
}

#[test]
fn names_that_no_tree_can_be_written_with_are_left_out() {
    for name in ["a/", "/a", "a//b", "a/b"] {
        for meanwhile in [false, true] {
            let place = Sandbox::new();
            let team = Team::new(&place);
            let mut all = team.entries(JOURNAL);
            all.push(("100644", name.to_owned(), team.object("blob", b"theirs")));
            team.push(JOURNAL, &team.tree(all));
            if meanwhile {
                team.ours.run(["finding", "meanwhile"]).ok();
                team.ours.run(["flush"]).ok();
            }
            team.survives(0);
            team.ours.run(["sync"]).ok();
            let before = team.ours.git_out(["rev-parse", "HEAD~1"]);
            assert!(team.is_sent(JOURNAL) && team.hub.note(JOURNAL, &before).contains("later"), "{name}");
        }
    }
}

#[test]
fn claims_about_many_ranges_of_a_large_text_take_no_memory_each() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    team.ours.commit("big.txt", &"x\n".repeat(1_900_000), "Add a large text");
    let claims: Vec<String> = (0..if is_long() { 300 } else { 12 })
        .map(|at| {
            let anchor = json!({"path": "big.txt", "lines": [1 + at, 2_000 + at * 7], "blob": "0".repeat(40), "hash": format!("{at:016x}")});
            record(&id(at), "finding", &json!({"text": "theirs at noon", "anchors": [anchor]}))
        })
        .collect();
    team.say(JOURNAL, &claims);
    team.ours.run(["sync"]).ok();
    for arguments in [&["why", "big.txt"][..], &["search", "theirs", "noon"], &["status", "--all"], &["bootstrap"]] {
        let ran = team.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {:.1000}", ran.err);
    }
}

/// In other clones, anyone can write any number of notes for a session.
#[test]
fn a_commit_of_a_session_with_any_number_of_notes_reads_the_newest() {
    const NEWEST: usize = 128;
    let place = Sandbox::new();
    let team = Team::new(&place);
    let session = team.ours.start("ada", "a long task");
    team.ours.run(["finding", "the first of ours"]).ok();
    team.ours.commit("a.txt", "a", "A");
    team.ours.run(["finding", "the second of ours"]).ok();
    team.ours.run(["sync"]).ok();
    // ahead of the clock, and so the newest
    let theirs = |at: u64| {
        let more = json!({"text": "theirs", "session": session, "at": "2099-01-01T00:00:00.000Z"});
        record(&format!("03b3a000-0000-7000-8000-{at:012x}"), "finding", &more)
    };
    let count = if is_long() { 20_000 } else { 4 * NEWEST as u64 };
    let notes = (0..count).map(|at| ("100644", format!("{at:040x}"), team.object("blob", theirs(at).as_bytes())));
    team.add(JOURNAL, notes.collect());
    team.ours.run(["sync"]).ok();
    assert_eq!(team.ours.json(["resume"])["sessions"][0]["session_id"], *session);
    team.ours.run(["finding", "the third of ours"]).ok();
    let commit = team.ours.commit("b.txt", "b", "B");
    let note = team.ours.note(HANDOFFS, &commit);
    assert!(note.contains("the second of ours") && note.contains("the third of ours"), "{note:.1000}");
    assert!(!note.contains("the first of ours"), "an earlier digest has it: {note:.1000}");
    assert_eq!(note.matches("\"a long task\"").count(), 1, "{note:.1000}");
    let read = note.matches("\"theirs\"").count();
    assert!((1..=NEWEST).contains(&read), "{read} notes of theirs were read");
}

#[test]
fn who_stored_a_record_is_not_looked_for_in_a_history_without_end() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let handed_over = team.ours.json(["show"])["handoff_id"].as_str().expect("an id").to_owned();
    assert!(team.ours.json(["show", &handed_over])["committed_by"].is_object());
    let (head, ours) = (team.ours.head(), team.hub.note(HANDOFFS, &team.ours.head()));
    // each commit has a note of 3 MB
    for at in 0..if is_long() { 2_000 } else { 24 } {
        let note = format!("{ours}\n{}{at}\n", "x".repeat(3 << 20));
        let blob = team.object("blob", note.as_bytes());
        team.add(HANDOFFS, vec![("100644", head.clone(), blob)]);
    }
    team.said.set(3 << 20);
    team.ours.run(["sync"]).ok();
    let shown = team.run(["show", &handed_over, "--json"].as_slice());
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert_eq!(shown.json()["committed_by"], Value::Null, "64 MiB of notes do not tell");
}

/// Each of these took minutes when it was looked at in more than one pass.
#[test]
fn texts_with_any_number_of_marks_are_shown_at_once() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let count = if is_long() { 2_000_000 } else { 200_000 };
    let runs = (1..if is_long() { 2_800 } else { 600 }).map(|length| "`".repeat(length) + "a").collect::<String>();
    let texts = ["<a ".repeat(count), "<a@".repeat(count), runs];
    let lines = |kind: &str, more: &dyn Fn(&str) -> Value| {
        let line = |(at, text): (usize, &String)| record(&id(at as u64 + 1), kind, &more(text));
        texts.iter().enumerate().map(line).collect::<Vec<_>>()
    };
    team.say(JOURNAL, &lines("finding", &|text| json!({"text": text})));
    team.say(HANDOFFS, &lines("handoff", &|text| handoff(&json!({"context": text}))));
    team.survives(0);
    for at in 1..=3 {
        team.run(&["show", &id(at)]);
    }
}

#[test]
fn footers_and_passages_without_end_are_read_once() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let number = if is_long() { 200_000 } else { 10_000 };
    let footers: String = (0..number).map(|at| format!("-- empirica {} r150\n", id(at))).collect();
    let passages: String = (0..number).map(|at| format!("passage {at}\n\n-- empirica: another note\n\n")).collect();
    let blob = team.object("blob", format!("{footers}\n{passages}").as_bytes());
    team.add("refs/notes/empirica/handoffs", vec![("100644", team.ours.head(), blob)]);
    team.survives(0);
}

#[test]
fn trees_out_of_order_with_names_twice_are_merged() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let blob = team.object("blob", b"theirs");
    let named = |name: &str| ("100644", name.to_owned(), blob.clone());
    let inner = team.tree_as_is(vec![named("z"), named("a"), named("z"), named("m")]);
    let folder = |name: &str| ("40000", name.to_owned(), inner.clone());
    let mut all = team.entries(JOURNAL);
    all.extend([named("y"), folder("x"), folder("ab"), named("x"), folder("x"), named("b"), folder("ab"), named("aa")]);
    all.reverse();
    team.push(JOURNAL, &team.tree_as_is(all));
    // both sides have other files
    let script = format!(
        "other=$(printf '100644 blob %s\\tother\\n' $(echo ours | git hash-object -w --stdin) | git mktree); \
         (git ls-tree {JOURNAL}; printf '040000 tree %s\\tx\\n' $other) | git mktree"
    );
    let made = place.command("sh", &team.ours.path).args(["-c", &script]).output().expect("sh starts");
    let tree = RunOutput::new(made).ok().out.trim().to_owned();
    let tip = team.ours.git_out(["commit-tree", &tree, "-p", JOURNAL, "-m", "ours"]);
    team.ours.git(["update-ref", JOURNAL, &tip]).ok();
    team.survives(0);
    assert!(team.is_sent(JOURNAL));
}

#[test]
fn entries_in_the_place_of_notes_replace_none() {
    for at_note in [true, false] {
        let place = Sandbox::new();
        let team = Team::new(&place);
        let (head, file) = (team.ours.head(), team.object("blob", b"nothing"));
        // notes below a folder, as of many commits
        let folder = head[..2].to_owned();
        for name in [JOURNAL, HANDOFFS] {
            let note = team.entries(name).into_iter().find(|(_, name, _)| *name == head).expect("a note").2;
            let inner = team.tree(vec![("100644", head[2..].to_owned(), note)]);
            team.push(name, &team.tree(vec![("40000", folder.clone(), inner)]));
        }
        team.ours.run(["sync"]).ok();
        for name in [JOURNAL, HANDOFFS] {
            let inner = team.tree(vec![("120000", head[2..].to_owned(), file.clone())]);
            let instead =
                if at_note { ("40000", folder.clone(), inner) } else { ("100644", folder.clone(), file.clone()) };
            team.add(name, vec![instead]);
        }
        team.survives(0);
    }
}

#[test]
fn links_and_names_of_paths_in_a_notes_tree_lead_nowhere() {
    let place = Sandbox::new();
    let team = Team::new(&place);
    let link = team.object("blob", b"../../../../../etc/passwd");
    let tree = team.hub.git_out(["rev-parse", &format!("{JOURNAL}^{{tree}}")]);
    team.add(
        JOURNAL,
        vec![
            ("120000", "b".repeat(40), link.clone()),
            ("120000", "epoch".to_owned(), link.clone()),
            ("160000", "c".repeat(40), "1".repeat(40)),
            ("40000", "d".repeat(40), tree.clone()),
            ("40000", "..".to_owned(), tree),
            ("100755", "e".repeat(40), link),
        ],
    );
    team.survives(0);
    let page = fs::read_to_string(place.path().join("page.html")).expect("a page");
    assert!(!page.contains("root:"));
}
