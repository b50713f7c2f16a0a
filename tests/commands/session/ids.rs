//! Every command accepts printed IDs and their unique prefixes, for every kind of record.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox, is_long};

/// The kind of thing an ID in a row names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Of {
    Session,
    Finding,
    Unknown,
    Goal,
    Step,
    Handoff,
    Checkpoint,
    Question,
    Task,
    Commit,
}
use Of::{Checkpoint, Commit, Finding, Goal, Handoff, Question, Session, Step, Task, Unknown};

/// A command that takes an id, as `ID`, and the kinds of things that it may name.
#[rustfmt::skip]
const COMMANDS: &[(&[&str], &[Of])] = &[
    (&["show", "ID"], &[Session, Finding, Unknown, Goal, Step, Handoff, Checkpoint, Commit]),
    (&["redact", "ID", "--dry-run"], &[Finding, Unknown, Goal, Step, Handoff, Checkpoint]),
    (&["finding", "f", "--led-from", "ID"], &[Finding, Unknown, Goal, Step, Handoff, Checkpoint]),
    (&["finding", "f", "--session", "ID"], &[Session]),
    (&["resolve", "ID", "so"], &[Unknown]),
    (&["goal", "sub", "ID", "s"], &[Goal]),
    (&["goal", "done", "ID"], &[Goal, Step]),
    (&["goal", "drop", "ID"], &[Goal, Step]),
    (&["goal", "show", "ID"], &[Goal, Step]),
    (&["goal", "take", "ID"], &[Session, Goal]),
    (&["goal", "list", "--session", "ID"], &[Session]),
    (&["session", "show", "ID"], &[Session]),
    (&["session", "end", "--session", "ID"], &[Session]),
    (&["session", "start", "--from", "ID"], &[Session, Handoff]),
    (&["bootstrap", "--session", "ID"], &[Session]),
    (&["resume", "--session", "ID"], &[Session]),
    (&["query", "--session", "ID"], &[Session]),
    (&["search", "session:ID"], &[Session]),
    (&["similar", "ID"], &[Session, Handoff]),
    (&["calibration", "--session", "ID"], &[Session]),
    (&["preflight", "-v", "know=0.9", "--session", "ID"], &[Session]),
    (&["checkpoint", "show", "ID"], &[Checkpoint]),
    (&["checkpoint", "list", "--session", "ID"], &[Session]),
    (&["diff", "ID"], &[Session, Checkpoint, Handoff]),
    (&["handoff", "list", "--session", "ID"], &[Session]),
    (&["handoff", "--regenerate", "ID", "--dry-run"], &[Handoff]),
    (&["accept", "ID"], &[Handoff]),
    (&["metrics", "ID"], &[Handoff]),
    (&["answer", "ID", "so"], &[Question]),
    (&["task", "show", "ID"], &[Task]),
    (&["repair", "--to", "ID=HEAD"], &[Commit]),
    (&["undo", "--session", "ID"], &[Session]),
];

struct World<'p> {
    repo: Repo<'p>,
    ids: Vec<(Of, String)>,
}

fn id(json: &Value, key: &str) -> String {
    json[key].as_str().unwrap_or_else(|| panic!("no {key}: {json}")).to_owned()
}

impl<'p> World<'p> {
    fn new(place: &'p Sandbox) -> Self {
        let repo = place.repo("world");
        let old = repo.head();
        let session = repo.start("ada", "First");
        let goal = id(&repo.json(["goal", "add", "Reach it"]), "id");
        let step = id(&repo.json(["goal", "sub", &goal, "A step"]), "id");
        let finding = id(&repo.json(["finding", "Found"]), "id");
        let unknown = id(&repo.json(["unknown", "Why?"]), "id");
        let checkpoint = id(&repo.json(["preflight", "-v", "know=0.9"]), "checkpoint_id");
        let task =
            ["handoff", "--type", "initialization", "--task-id", "port-the-parser", "--set", "instructions=Do it"];
        let handoff = id(&repo.json(task), "handoff_id");
        let question = repo.json(["accept", &handoff, "--question", "How?"])["question_ids"][0]
            .as_str()
            .expect("an id")
            .to_owned();
        repo.json(["finding", "Found last"]);
        repo.commit("b.txt", "b", "Second");
        repo.git(["config", "empirica.ai", "bob"]).ok();
        repo.start("bob", "Second");
        repo.json(["finding", "Found as well"]);
        let ids = vec![
            (Session, session),
            (Finding, finding),
            (Unknown, unknown),
            (Goal, goal),
            (Step, step),
            (Handoff, handoff),
            (Checkpoint, checkpoint),
            (Question, question),
            (Task, "port-the-parser".to_owned()),
            (Commit, old),
        ];
        World { repo, ids }
    }

    /// Runs in a copy: no row lives on what another one left.
    fn run(&self, command: &[&str], named: &str) -> (i32, Value) {
        let words: Vec<String> = command.iter().map(|word| word.replace("ID", named)).collect();
        let ran = self.repo.copied("copy").run(words.iter().map(String::as_str).chain(["--json"]));
        (ran.code, ran.json())
    }
}

/// The forms in which something is printed, and beginnings of them that only it has.
fn forms(of: Of, id: &str) -> Vec<String> {
    let short = &id[id.len().saturating_sub(8)..];
    match of {
        Session => [id, &id[..8], &id[..4], &id[..13], &id[..8].to_uppercase()].map(str::to_owned).to_vec(),
        Commit => [id, &id[..8], &id[..7], &id[..8].to_uppercase()].map(str::to_owned).to_vec(),
        Task => [id, &id[..5], &id[..1]].map(str::to_owned).to_vec(),
        // the short ID of the asking session, a dot and a number
        Question => [id, &id[4..], &id.to_uppercase()].map(str::to_owned).to_vec(),
        _ => [id, short, &short[..5], &short.to_uppercase(), &id[..id.len() - 1]].map(str::to_owned).to_vec(),
    }
}

#[test]
fn every_command_accepts_printed_ids_and_their_unique_prefixes() {
    let place = Sandbox::new();
    let world = World::new(&place);
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for (command, kinds) in COMMANDS {
        for (of, id) in world.ids.iter().filter(|(of, _)| kinds.contains(of)) {
            // the rarer forms where the kind is first taken; else the short one
            let first = seen.insert(*of);
            let forms = forms(*of, id);
            let rest = if is_long() { &forms[..2] } else { &forms[1..2] };
            for form in if first { &forms[..] } else { rest } {
                let (code, text) = world.run(command, form);
                if code != 0 {
                    wrong.push(format!("{command:?} with {form} for {of:?}: {text}"));
                }
            }
        }
        for unknown in ["fffffff0", "ffffffff-0000-4000-8000-000000000000"] {
            let (code, text) = world.run(command, unknown);
            let named = text["error"].to_string().contains(unknown);
            if code != 1 || !named || text["recovery_commands"].as_array().map(Vec::len) != Some(1) {
                wrong.push(format!("{command:?} with {unknown}: {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_ambiguous_prefix_lists_its_matches() {
    let place = Sandbox::new();
    let world = World::new(&place);
    world.repo.json(["unknown", "And why not?", "--session", "latest:ada"]);
    let again = ["handoff", "--type", "initialization", "--task-id", "port-the-lexer", "--set", "instructions=Do it"];
    world.repo.json(again);
    // ids of one time begin alike, and so do tasks
    let (_, of_unknown) = &world.ids[2];
    let begin = &of_unknown[..6];
    let rows: &[(&[&str], &str, &[&str])] = &[
        (&["resolve", "ID", "so"], begin, &["unknown ", "Why?", "And why not?"]),
        (&["show", "ID"], begin, &["finding ", "Found"]),
        (&["redact", "ID", "--dry-run"], begin, &["finding ", "Found"]),
        (&["finding", "f", "--led-from", "ID"], begin, &["unknown "]),
        (&["accept", "ID"], begin, &["handoff "]),
        (&["session", "start", "--from", "ID"], begin, &["handoff "]),
        (&["similar", "ID"], begin, &["handoff "]),
        (&["diff", "ID"], begin, &["assessment ", "handoff "]),
        (&["task", "show", "ID"], "port", &["port-the-parser", "port-the-lexer"]),
    ];
    for (command, named, listed) in rows {
        let (code, text) = world.run(command, named);
        assert_eq!(code, 1, "{command:?}: {text}");
        let reason = text["reason"].as_str().expect("a reason");
        assert!(
            reason.starts_with("it could be ") && listed.iter().all(|one| reason.contains(one)),
            "{command:?}: {text}"
        );
        assert!(text["alternatives"].as_array().is_some_and(|all| all.len() >= 2), "{command:?}: {text}");
        assert_eq!(text["recovery_commands"].as_array().map(Vec::len), Some(1), "{command:?}: {text}");
    }
}
