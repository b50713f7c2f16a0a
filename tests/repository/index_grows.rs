//! An updated index equals a rebuilt one after any change to the notes.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OpenFlags};

use crate::repository::index::{answers, equal, folder, ids, records, remove, sessions};
use crate::support::harness::{Repo, Sandbox, is_long};
use crate::sync::sync_epochs::{redact, stub};
use crate::sync::team::{REFS, clones, hub, sync};

/// What an index holds, without the numbers of its rows.
pub fn content(file: &Path) -> BTreeMap<&'static str, BTreeSet<String>> {
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("an index");
    db.execute_batch("CREATE VIRTUAL TABLE temp.listed USING fts5vocab(main, words, instance)").expect("a table");
    let questions = [
        ("key", "SELECT name, value FROM meta"),
        (
            "records",
            "SELECT hex(o.id), short, tail, o.kind, hex(session.id), version, doubled, superseded, closed FROM record o LEFT JOIN session USING(s)",
        ),
        (
            "standing",
            "SELECT hex(o.id), hex(target), namespace, extra, hex(blob), hex(text) FROM record o JOIN (SELECT r, note AS n FROM record UNION SELECT r, n FROM attached) USING(r) JOIN note USING(n)",
        ),
        ("notes", "SELECT hex(target), namespace, extra, hex(blob), hex(text) FROM note"),
        (
            "concerns",
            "SELECT hex(o.id), hex(session.id) FROM record o JOIN concerns USING(r) JOIN session ON session.s = concerns.s",
        ),
        ("names", "SELECT hex(o.id), hex(names.id) FROM record o JOIN names USING(r)"),
        (
            "handoffs",
            "SELECT hex(o.id), hex(h.id), hex(session_id), ai_id, timestamp, task_id, task_summary, calibration_status, type, h.superseded FROM handoff_reports h JOIN record o USING(r)",
        ),
        (
            "anchors",
            "SELECT hex(o.id), hex(a.id), path, n, first, last, hex(blob), hash, urgency FROM anchor a JOIN record o USING(r)",
        ),
        ("anchored", "SELECT path FROM anchored"),
        ("with anchors", "SELECT DISTINCT path FROM anchor"),
        ("replaced", "SELECT hex(o.id), hex(p.id), hex(p.by) FROM replaced p JOIN record o USING(r)"),
        ("disputed", "SELECT hex(id) FROM disputed"),
        ("mentions", "SELECT hex(o.id), path FROM mention JOIN record o USING(r)"),
        ("taken", "SELECT hex(id), hex(by) FROM taken"),
        ("quotes", "SELECT hex(o.id), hex(q.id) FROM quotes q JOIN record o USING(r)"),
        ("memory", "SELECT hex(o.id), word FROM memory JOIN record o USING(r)"),
        ("paths", "SELECT hex(o.id), path FROM path JOIN record o USING(r)"),
        ("words", "SELECT hex(o.id), listed.term, listed.offset FROM listed JOIN record o ON o.r = listed.doc"),
        (
            "orphans",
            "SELECT 'attached', r FROM attached WHERE r NOT IN (SELECT r FROM record) UNION SELECT 'path', r FROM path WHERE r NOT IN (SELECT r FROM record) \
           UNION SELECT 'anchor', r FROM anchor WHERE r NOT IN (SELECT r FROM record) UNION SELECT 'words', doc FROM listed WHERE doc NOT IN (SELECT r FROM record) UNION SELECT 'notes', n FROM attached WHERE n NOT IN (SELECT n FROM note)",
        ),
        (
            "sessions",
            "SELECT hex(id), hex(began), hex(newest), ai, started_at, ended_at, task, kind, external_id, head, worktree, place, summary, know, uncertainty FROM session WHERE began IS NOT NULL",
        ),
        ("tally", "SELECT kind, ai, superseded, closed, n FROM tally WHERE n <> 0"),
        ("counted", "SELECT kind, ai, superseded, closed, count(*) FROM record GROUP BY 1, 2, 3, 4"),
        ("sums", "SELECT name, n, total FROM sums"),
        (
            "summed",
            "SELECT 'session', count(began), 0 FROM session UNION ALL SELECT 'know', count(know), ifnull(sum(CAST(round(know * 1000000) AS INTEGER)), 0) FROM session \
           UNION ALL SELECT 'uncertainty', count(uncertainty), ifnull(sum(CAST(round(uncertainty * 1000000) AS INTEGER)), 0) FROM session",
        ),
    ];
    let mut out = BTreeMap::new();
    for (name, sql) in questions {
        let mut find = db.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let columns = find.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            let cells = (0..columns).map(|at| row.get::<_, Cell>(at)).collect::<Result<Vec<_>, _>>()?;
            Ok(format!("{cells:?}"))
        };
        let rows: Vec<String> = find.query_map([], row).expect("rows").collect::<Result<_, _>>().expect("rows");
        out.insert(name, rows.into_iter().collect());
    }
    assert_eq!(out["tally"], out["counted"]);
    assert_eq!(out["sums"], out["summed"]);
    assert_eq!(out["anchored"], out["with anchors"]);
    out
}

/// Asserts that the index equals one rebuilt in a copy of the repository.
#[track_caller]
pub fn assert_equals_rebuilt(repo: &Repo<'_>, what: &str) {
    compare(repo, what, false);
}

/// With `held`, nothing can be written to the notes meanwhile, so that what was fetched is read beside them.
#[track_caller]
fn compare(repo: &Repo<'_>, what: &str, held: bool) {
    let hold = |repo: &Repo<'_>| {
        let lock = std::fs::File::options().create(true).append(true).open(folder(repo).join("lock")).expect("a lock");
        lock.lock().expect("the lock");
        lock
    };
    let _lock = held.then(|| hold(repo));
    let refresh = ["query", "--limit", "0"];
    repo.json(refresh);
    let place = repo.place;
    let copy = place.at("copy");
    let _ = std::fs::remove_dir_all(&copy.path);
    let mut cp = place.command("cp", &place.path());
    assert!(cp.args(["-a", &repo.path.to_string_lossy(), "copy"]).status().expect("cp starts").success());
    remove(&copy);
    let _other = held.then(|| hold(&copy));
    copy.json(refresh);
    let (grown, rebuilt) = (content(&folder(repo).join("index.db")), content(&folder(&copy).join("index.db")));
    for (name, rows) in &grown {
        let (more, less): (Vec<_>, Vec<_>) =
            (rows.difference(&rebuilt[name]).collect(), rebuilt[name].difference(rows).collect());
        assert!(more.is_empty() && less.is_empty(), "{name} after {what}\ngrown: {more:#?}\nanew: {less:#?}");
    }
    std::fs::remove_dir_all(&copy.path).expect("a copy");
}

/// One thing that happens in one of two clones.
#[derive(Debug, Clone)]
enum Step {
    Start(&'static str),
    Say(&'static str, &'static str),
    /// Answers any session's question.
    Resolve(Index),
    Goal(&'static str),
    Take(Index),
    Finish(Index, &'static str),
    Assess(&'static str, u8),
    Checkpoint(u8),
    HandOver(&'static str),
    Accept(Index),
    Commit,
    Amend,
    Sync,
    /// Fetches without uniting, and reads while nothing can be written.
    Fetched,
    Append(Index, &'static str),
    /// Removes a line by other hands; whether it is remembered here.
    Remove(Index, Index, bool),
    /// Another version of a record, on the same note or on another one.
    Double(Index, bool),
    Back(Index, bool),
    Delete(Index, bool),
    Redact(Index),
}

fn step() -> impl Strategy<Value = Step> {
    let ai = || select(vec!["ada", "bob"]);
    let index = any::<Index>;
    let remembered = any::<bool>;
    prop_oneof![
        2 => ai().prop_map(Step::Start),
        2 => (select(vec!["finding", "unknown", "mistake"]), select(vec!["the cache", "a lock", "日本語の文"])).prop_map(|(kind, text)| Step::Say(kind, text)),
        2 => index().prop_map(Step::Resolve),
        2 => select(vec!["Mend it", "Test it"]).prop_map(Step::Goal),
        2 => index().prop_map(Step::Take),
        1 => (index(), select(vec!["done", "drop"])).prop_map(|(which, how)| Step::Finish(which, how)),
        2 => (select(vec!["preflight", "check", "postflight"]), 1u8..10).prop_map(|(phase, know)| Step::Assess(phase, know)),
        1 => (1u8..10).prop_map(Step::Checkpoint),
        3 => select(vec!["Fix it", "Test task"]).prop_map(Step::HandOver),
        1 => index().prop_map(Step::Accept),
        1 => Just(Step::Commit),
        2 => Just(Step::Amend),
        4 => Just(Step::Sync),
        1 => Just(Step::Fetched),
        1 => (index(), select(vec!["by hand", "{\"v\":1}"])).prop_map(|(which, text)| Step::Append(which, text)),
        2 => (index(), index(), remembered()).prop_map(|(which, line, known)| Step::Remove(which, line, known)),
        2 => (index(), remembered()).prop_map(|(which, here)| Step::Double(which, here)),
        1 => (index(), remembered()).prop_map(|(which, known)| Step::Back(which, known)),
        1 => (index(), remembered()).prop_map(|(which, known)| Step::Delete(which, known)),
        1 => index().prop_map(Step::Redact),
    ]
}

/// The data ref of a number, the objects that have a note there, and these notes.
fn notes(repo: &Repo<'_>, which: &Index) -> (&'static str, Vec<(String, String)>) {
    let name = *which.get(&REFS[..3]);
    let list = repo.git(["notes", "--ref", name, "list"]).out;
    let note = |line: &str| {
        let (blob, object) = line.split_once(' ')?;
        Some((object.to_owned(), repo.git_out(["cat-file", "blob", blob])))
    };
    (name, list.lines().filter_map(note).collect())
}

/// Has the repository remember nothing of what its refs were.
pub fn forget(repo: &Repo<'_>) {
    let _ = std::fs::remove_file(folder(repo).join("tips"));
    crate::repository::index::forget_lists(repo);
}

/// Does it; a step that is impossible now may fail.
fn act(repo: &Repo<'_>, step: &Step, at: usize) {
    let stored = records(repo);
    let pick = |which: &Index, from: Vec<String>| (!from.is_empty()).then(|| which.get(&from).clone());
    match step {
        Step::Start(ai) => drop(repo.run(["session", "start", "--ai", ai])),
        Step::Say(kind, text) => drop(repo.run([kind, text])),
        Step::Resolve(which) => {
            if let Some(id) = pick(which, ids(&stored, "unknown")) {
                repo.run(["resolve", &id, &format!("answer {at}")]);
            }
        }
        Step::Goal(text) => drop(repo.run(["goal", "add", text])),
        Step::Take(which) => {
            if let Some(id) = pick(which, sessions(&stored)) {
                repo.run(["goal", "take", &id]);
            }
        }
        Step::Finish(which, how) => {
            if let Some(id) = pick(which, ids(&stored, "goal")) {
                repo.run(["goal", how, &id]);
            }
        }
        Step::Assess(phase, know) => {
            repo.run([*phase, "-v", &format!("know=0.{know},uncertainty=0.{know}")]);
        }
        Step::Checkpoint(know) => drop(repo.run(["checkpoint", "-v", &format!("know=0.{know}")])),
        Step::HandOver(task) => drop(repo.run(["handoff", "-m", task, "--artifact", "src/a.rs"])),
        Step::Accept(which) => {
            if let Some(id) = pick(which, ids(&stored, "handoff")) {
                repo.run(["accept", &id, "--decision", "COMPLETE", "--understanding", "yes"]);
            }
        }
        Step::Commit => drop(repo.commit(&format!("f{at}"), "f\n", "Add it")),
        Step::Amend => drop(repo.git(["commit", "-q", "--amend", "-m", &format!("Said better, {at}")])),
        Step::Sync => drop(repo.run(["sync"])),
        Step::Fetched => {
            repo.git(["fetch", "-q", "origin"]).ok();
            compare(repo, "a fetch", true);
        }
        Step::Append(which, text) => {
            let (name, _) = notes(repo, which);
            repo.git(["notes", "--ref", name, "append", "-m", text]).ok();
        }
        Step::Remove(which, line, remembered) => {
            let (name, all) = notes(repo, which);
            if let Some((object, note)) = (!all.is_empty()).then(|| line.get(&all)) {
                let all: Vec<&str> = note.lines().collect();
                let gone = line.index(all.len());
                let kept: String =
                    all.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, line)| format!("{line}\n")).collect();
                match kept.is_empty() {
                    true => drop(repo.git(["notes", "--ref", name, "remove", object])),
                    false => repo.set_note(name, object, kept.as_bytes()),
                }
                if !remembered {
                    forget(repo);
                }
            }
        }
        Step::Double(which, here) => {
            let (name, all) = notes(repo, which);
            if let Some((object, note)) = (!all.is_empty()).then(|| which.get(&all)) {
                let other = note
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .replace("the cache", "the core")
                    .replace("\"at\":\"2026-03", "\"at\":\"2026-02");
                let on = if *here { object.clone() } else { repo.git_out(["rev-parse", "HEAD~1"]) };
                let there = repo.note(name, &on);
                repo.set_note(name, &on, format!("{}\n{other}\n", there.trim_end()).trim_start().as_bytes());
            }
        }
        Step::Back(which, remembered) => {
            let name = *which.get(&REFS[..3]);
            let older = format!("{name}~1");
            if repo.git(["rev-parse", "-q", "--verify", &older]).code == 0 {
                repo.git(["update-ref", name, &older]).ok();
                if !remembered {
                    forget(repo);
                }
            }
        }
        Step::Delete(which, remembered) => {
            let name = *which.get(&REFS[..3]);
            repo.git(["update-ref", "-d", name]).ok();
            if !remembered {
                forget(repo);
            }
        }
        Step::Redact(which) => {
            let (name, all) = notes(repo, which);
            let lines: Vec<&str> = all.iter().flat_map(|(_, note)| note.lines()).collect();
            let found = (!lines.is_empty()).then(|| which.get(&lines));
            if let Some(id) = found.and_then(|line| empirica_notes::format::lines::id(line.as_bytes())) {
                redact(repo, name, id, &stub(id), 1 + at as u32);
            }
        }
    }
}

const ASKED: [&str; 8] = [
    "session list",
    "handoff list",
    "calibration",
    "metrics",
    "query --limit 0",
    "resume --last 3 --detail full",
    "query --task task --path src",
    "log --handoffs --journal",
];

fn cases() -> u32 {
    if is_long() { 60 } else { 1 }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: cases(), max_shrink_iters: 24, ..ProptestConfig::default() })]

    #[test]
    fn an_updated_index_equals_a_rebuilt_one_after_any_change(steps in vec((any::<bool>(), step()), 15..25)) {
        let place = Sandbox::new();
        let hub = hub(&place);
        let both = clones(&place, &hub, 2);
        for (repo, ai) in both.iter().zip(["ada", "bob"]) {
            repo.run(["init"]).ok();
            repo.git(["config", "empirica.lockTimeout", "50ms"]).ok();
            repo.start(ai, "t");
            repo.json(["goal", "add", "Begin"]);
            repo.json(["flush"]);
            sync(repo);
        }
        for (at, (first, step)) in steps.iter().enumerate() {
            let repo = &both[usize::from(!first)];
            act(repo, step, at);
            assert_equals_rebuilt(repo, &format!("{:?}", &steps[..=at]));
        }
        for repo in &both {
            let stored = records(repo);
            let grown = answers(repo, &ASKED, &stored);
            remove(repo);
            equal(&grown, &answers(repo, &ASKED, &stored), "made anew");
        }
    }
}

/// Two clones with a session each; their records are on the hub.
fn two<'p>(place: &'p Sandbox, hub: &Repo<'p>) -> (Vec<Repo<'p>>, Vec<String>) {
    let both = clones(place, hub, 2);
    let sessions = both.iter().zip(["ada", "bob"]).map(|(repo, ai)| repo.start(ai, "t")).collect();
    (both, sessions)
}

#[test]
fn a_concurrently_claimed_goal_has_one_owner_in_every_index() {
    for later in [0, 1] {
        let place = Sandbox::new();
        let hub = hub(&place);
        let (both, owners) = two(&place, &hub);
        let setter = both[0].start("cyd", "t");
        both[0].json(["goal", "add", "Mend it", "--session", &setter]);
        sync(&both[0]);
        sync(&both[1]);
        for (at, owner) in owners.iter().enumerate() {
            let now = if at == later { "2026-03-01T13:00:00Z" } else { "2026-03-01T12:30:00Z" };
            both[at].json_with_env(&[("EMPIRICA_NOW", now)], ["goal", "take", &setter, "--session", owner]);
            both[at].json(["flush"]);
            both[at].json(["query"]);
        }
        for at in [1, 0, 1] {
            sync(&both[at]);
        }
        both.iter().for_each(|repo| assert_equals_rebuilt(repo, "two takes"));
    }
}

#[test]
fn a_goal_whose_note_is_removed_leaves_its_owner() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let setter = repo.start("ada", "t");
    repo.json(["goal", "add", "Mend it"]);
    repo.json(["flush"]);
    repo.commit("f", "f\n", "Later");
    repo.start("bob", "t");
    let own = repo.start("bob", "t");
    repo.json(["goal", "take", &setter, "--session", &own]);
    repo.json(["flush"]);
    assert_equals_rebuilt(&repo, "the take");
    // its note goes, the other hand's way
    forget(&repo);
    repo.git(["notes", "--ref", REFS[0], "remove", "HEAD~1"]).ok();
    assert_equals_rebuilt(&repo, "the removal");
}

#[test]
fn a_step_finished_without_knowing_the_owner_counts_for_the_owner() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let (both, owners) = two(&place, &hub);
    let goal = both[0].json(["goal", "add", "Mend it"])["id"].as_str().expect("an id").to_owned();
    let step = both[0].json(["goal", "sub", &goal, "Find it"])["id"].as_str().expect("an id").to_owned();
    sync(&both[0]);
    sync(&both[1]);
    both[1].json(["goal", "take", &owners[0]]);
    both[0].json(["goal", "done", &step]);
    for at in [1, 0, 1] {
        sync(&both[at]);
    }
    for repo in &both {
        let shown = repo.json(["goal", "show", &goal]);
        assert_eq!(shown["goal"]["subtasks"][0]["status"], "done", "{shown}");
        // out of the index, then from the notes it is known to stand on
        crate::repository::index::forget_lists(repo);
        for _ in 0..2 {
            let shown = repo.json(["session", "show", &owners[1]]);
            assert_eq!(shown["goals"][0]["subtasks"][0]["status"], "done", "{shown}");
        }
    }
}

#[test]
fn the_index_is_rebuilt_if_most_notes_differ() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("ada", "Work");
    let finding = repo.json(["finding", "F"])["id"].as_str().expect("an id").to_owned();
    let (head, exported) = (repo.head(), repo.run(["export", "--jsonl"]).ok().out);
    let line = exported.lines().find(|line| line.contains(&finding)).expect("a line");
    let import = |notes: std::ops::Range<usize>| {
        // a note each, on commits that are not here
        let commit = |at: usize| format!("{at:0width$x}", width = head.len());
        let of = |at: usize| {
            line.replace(&head, &commit(at)).replace(&finding, &format!("{}{at:012x}", &finding[..24])) + "\n"
        };
        let lines: String = notes.map(of).collect();
        repo.run_with_input(["import", "--jsonl", "-"], lines.as_bytes()).ok();
        assert_equals_rebuilt(&repo, "an import");
        std::fs::metadata(folder(&repo).join("index.db")).expect("an index").ino()
    };
    let few = import(1..100);
    assert_eq!(import(100..400), few, "few are put in where the others are");
    assert_ne!(import(400..1000), few, "many are put in faster with all others");
}
