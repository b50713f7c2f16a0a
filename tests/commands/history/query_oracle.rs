//! `query` over random histories and filters matches an independent scan of the notes.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::support::harness::{Repo, Sandbox, is_long};

const HANDOFFS: &str = "refs/notes/empirica/data/handoffs";
const AGENTS: [&str; 3] = ["ada", "bob", "cyd"];
const TASKS: [&str; 4] = ["Fix the login", "Test the LOGIN", "Draw (a+b)*", "Überprüfen"];
const PATTERNS: [(&str, &[&str]); 4] = [
    ("login", &["Fix the login", "Test the LOGIN"]),
    ("^fix|ÜBER", &["Fix the login", "Überprüfen"]),
    (r"\(A\+b\)\*$", &["Draw (a+b)*"]),
    ("nothing", &[]),
];
const FILES: [&str; 4] = ["src/a.rs", "src/deep/b.rs", "docs/c.md", "srcs"];
const PATHS: [&str; 6] = ["src", "src/deep", "docs/c.md", "sr", "srcs", "."];

/// One thing that happens.
#[derive(Debug, Clone)]
enum Step {
    Start(&'static str),
    /// In the agent's newest session, after an assessment with these values or none.
    HandOver(&'static str, &'static str, Option<(u8, u8)>, Option<&'static str>),
    Commit,
    Amend,
    /// A handoff of another type, as another version would write it, on HEAD.
    Foreign(&'static str, &'static str),
}

fn step() -> impl Strategy<Value = Step> {
    let values = || proptest::option::of((1u8..10, 1u8..10));
    let handed = (select(&AGENTS[..]), select(&TASKS[..]), values(), proptest::option::of(select(&FILES[..])));
    prop_oneof![
        2 => select(&AGENTS[..]).prop_map(Step::Start),
        6 => handed.prop_map(|(ai, task, values, file)| Step::HandOver(ai, task, values, file)),
        2 => Just(Step::Commit),
        2 => Just(Step::Amend),
        1 => (select(&AGENTS[..]), select(&TASKS[..])).prop_map(|(ai, task)| Step::Foreign(ai, task)),
    ]
}

/// A question in numbers, of which each history makes arguments.
#[derive(Debug, Clone)]
struct Filters {
    ai: Option<&'static str>,
    task: Option<(&'static str, &'static [&'static str])>,
    path: Option<&'static str>,
    kind: Option<&'static str>,
    status: Option<&'static str>,
    /// Which of the sessions.
    session: Option<prop::sample::Index>,
    /// How many commits behind HEAD it begins and ends.
    range: Option<(prop::sample::Index, prop::sample::Index)>,
    /// Which hours since the beginning.
    since: Option<i64>,
    until: Option<i64>,
    limit: usize,
}

fn arbitrary_filters() -> impl Strategy<Value = Filters> {
    // few of many, so that something fits
    fn rarely<S: Strategy>(strategy: S) -> impl Strategy<Value = Option<S::Value>> {
        proptest::option::weighted(0.2, strategy)
    }
    let statuses = ["well_calibrated", "overconfident", "underconfident", "not_assessable"];
    let names = (
        rarely(select(&AGENTS[..])),
        rarely(select(&PATTERNS[..])),
        rarely(select(&PATHS[..])),
        rarely(select(vec!["epistemic", "progress", "escalation"])),
        rarely(select(statuses.to_vec())),
    );
    let index = any::<prop::sample::Index>;
    let rest = (rarely(index()), rarely((index(), index())), rarely(0i64..120), rarely(0i64..120), 0usize..8);
    (names, rest).prop_map(|((ai, task, path, kind, status), (session, range, since, until, limit))| Filters {
        ai,
        task,
        path,
        kind,
        status,
        session,
        range,
        since,
        until,
        limit,
    })
}

const BEGIN: &str = "2026-02-01T00:00:00Z";

/// Hours since the beginning, as a time.
fn hour(hours: i64) -> chrono::DateTime<chrono::Utc> {
    let begin = chrono::DateTime::parse_from_rfc3339(BEGIN).expect("a time").to_utc();
    begin + chrono::TimeDelta::hours(hours)
}

/// Plays a history, some hours between its steps; returns the sessions.
fn play(repo: &Repo<'_>, steps: &[(Step, i64)]) -> Vec<String> {
    let mut now = hour(0);
    let mut newest: BTreeMap<&str, String> = BTreeMap::new();
    let mut sessions = Vec::new();
    for (at, (step, hours)) in steps.iter().enumerate() {
        now += chrono::TimeDelta::hours(*hours);
        let clock = now.format("%Y-%m-%dT%H:%M:%S.000Z").to_string();
        let env = [("EMPIRICA_NOW", clock.as_str())];
        let start = |ai: &str| -> String {
            let json = repo.json_with_env(&env, ["session", "start", "--ai", ai]);
            json["session_id"].as_str().expect("an id").to_owned()
        };
        match step {
            Step::Start(ai) => {
                newest.insert(ai, start(ai));
                sessions.push(newest[ai].clone());
            }
            Step::HandOver(ai, task, values, file) => {
                let session = newest.entry(ai).or_insert_with(|| {
                    sessions.push(start(ai));
                    sessions[sessions.len() - 1].clone()
                });
                if let Some((know, doubt)) = values {
                    let vectors = format!("know=0.{know},uncertainty=0.{doubt}");
                    let about = ["-v", &vectors, "--session", session.as_str()];
                    repo.run_with_env(&env, [&["preflight"], &about[..2], &about[2..]].concat()).ok();
                    let later = format!("know=0.9,uncertainty=0.{}", 10 - doubt);
                    let arguments = ["postflight", "-v", &later, "--session", session, "--no-handoff"];
                    repo.run_with_env(&env, arguments).ok();
                }
                let mut arguments = vec!["handoff", "--session", session, "-m", task, "--finding", task];
                arguments.extend(file.iter().flat_map(|file| ["--artifact", file]));
                repo.run_with_env(&env, arguments).ok();
            }
            Step::Commit => {
                repo.commit(&format!("f{at}"), "f\n", "Add it");
            }
            Step::Amend => {
                // the hook copies its records
                repo.git(["commit", "-q", "--amend", "-m", &format!("Said better, {at}")]).ok();
            }
            Step::Foreign(ai, task) => {
                let head = repo.head();
                let at = format!("{:08x}-0000-7000-8000-{at:012x}", now.timestamp_millis() >> 16);
                let line = format!(
                    r#"{{"v":1,"id":"{at}","session":null,"ai":"{ai}","at":"{clock}","commit":"{head}","tree":null,"kind":"handoff","type":"progress","task":"{task}"}}"#
                );
                let note = repo.note(HANDOFFS, &head);
                repo.set_note(HANDOFFS, &head, format!("{}\n{line}\n", note.trim_end()).trim_start().as_bytes());
            }
        }
    }
    sessions
}

/// The records of the handoffs' notes, by id, as git and a JSON parser read them.
fn records(repo: &Repo<'_>) -> BTreeMap<String, Value> {
    let mut out = BTreeMap::new();
    for line in repo.lines("handoffs") {
        let record: Value = serde_json::from_str(&line).expect("a record");
        out.insert(record["id"].as_str().expect("an id").to_owned(), record);
    }
    out
}

/// The handoffs in force, with the commits they are at home on: those no `supersede` names, of each session the newest.
fn in_force(repo: &Repo<'_>) -> Vec<(Value, String)> {
    let records = records(repo);
    let of_kind = |kind: &'static str| records.values().filter(move |record| record["kind"] == kind);
    let aside: BTreeSet<&str> = of_kind("supersede").filter_map(|record| record["of"].as_str()).collect();
    let mut current: BTreeMap<String, &Value> = BTreeMap::new();
    for record in of_kind("handoff").filter(|record| !aside.contains(record["id"].as_str().expect("an id"))) {
        let of = if record["type"] == "epistemic" { &record["session"] } else { &record["id"] };
        current.insert(of.as_str().expect("an id").to_owned(), record);
    }
    let home = |record: &Value| {
        let mut home = record["commit"].as_str().expect("a commit").to_owned();
        for attach in of_kind("attach") {
            if attach["of"].as_array().expect("a list").contains(&record["id"]) {
                home = attach["to"].as_str().expect("a commit").to_owned();
            }
        }
        home
    };
    current.into_values().map(|record| (record.clone(), home(record))).collect()
}

/// Whether a file is a path or lies below it.
fn lies(file: &str, path: &str) -> bool {
    path == "." || file == path || file.starts_with(&format!("{path}/"))
}

/// The arguments of a question, and whether each handoff fits it, by the raw record.
fn question(
    repo: &Repo<'_>,
    filters: &Filters,
    sessions: &[String],
    all: &[(Value, String)],
) -> (Vec<String>, Vec<(Value, String)>) {
    let mut arguments = vec!["query".to_owned(), "--limit".to_owned(), filters.limit.to_string()];
    let mut found = all.to_vec();
    let mut add = |flag: &str, value: &str, fits: &dyn Fn(&Value, &str) -> bool| {
        arguments.extend([flag.to_owned(), value.to_owned()]);
        found.retain(|(record, home)| fits(record, home));
    };
    if let Some(ai) = filters.ai {
        add("--ai", ai, &|record, _| record["ai"] == ai);
    }
    if let Some((pattern, tasks)) = filters.task {
        add("--task", pattern, &|record, _| tasks.iter().any(|task| record["task"] == *task));
    }
    if let Some(kind) = filters.kind {
        add("--type", kind, &|record, _| record["type"] == kind);
    }
    if let Some(status) = filters.status {
        let of = |record: &Value| record["calibration_status"].as_str().unwrap_or("not_assessable").to_owned();
        add("--calibration", status, &|record, _| of(record) == status);
    }
    if let Some(path) = filters.path {
        add("--path", path, &|record, _| {
            let named = record["artifacts"].as_array().into_iter().flatten();
            let open = record["uncommitted"].as_array().into_iter().flatten().map(|file| &file["path"]);
            named.chain(open).any(|file| lies(file.as_str().expect("a path"), path))
        });
    }
    if let (Some(which), false) = (filters.session, sessions.is_empty()) {
        let session = which.get(sessions);
        add("--session", session, &|record, _| record["session"] == **session);
    }
    if let Some((from, to)) = &filters.range {
        let count: usize = repo.git_out(["rev-list", "--count", "HEAD"]).parse().expect("a number");
        let range = format!("HEAD~{}..HEAD~{}", from.index(count), to.index(count));
        let listed = repo.git_out(["rev-list", &range]);
        add("--range", &range, &|_, home| listed.lines().any(|line| line == home));
    }
    let seconds = |record: &Value| {
        let at = record["at"].as_str().expect("a time");
        chrono::DateTime::parse_from_rfc3339(at).expect("a time").timestamp()
    };
    let (since, mut until) = (filters.since.map(hour), filters.until.map(hour));
    if since.is_some_and(|since| until.is_some_and(|until| since > until)) {
        until = None;
    }
    if let Some(since) = since {
        add("--since", &since.to_rfc3339(), &|record, _| seconds(record) >= since.timestamp());
    }
    if let Some(until) = until {
        add("--until", &until.to_rfc3339(), &|record, _| seconds(record) <= until.timestamp());
    }
    found.sort_by_key(|(record, _)| {
        (record["at"].as_str().map(str::to_owned), record["id"].as_str().map(str::to_owned))
    });
    found.reverse();
    (arguments, found)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: if is_long() { 64 } else { 2 }, max_shrink_iters: 16, ..ProptestConfig::default() })]

    #[test]
    fn a_query_answers_what_a_plain_scan_of_the_notes_does(
        steps in vec((step(), 0i64..24), 6..16),
        questions in vec(arbitrary_filters(), 32),
    ) {
        let place = Sandbox::new();
        let repo = place.set_up("r");
        let sessions = play(&repo, &steps);
        let all = in_force(&repo);
        for filters in &questions {
            let (arguments, expected) = question(&repo, filters, &sessions, &all);
            let json = repo.json(&arguments);
            let found: Vec<(&Value, &Value)> =
                json["reports"].as_array().expect("a list").iter().map(|report| (&report["handoff_id"], &report["commit"])).collect();
            let page: Vec<(Value, Value)> =
                expected.iter().take(filters.limit).map(|(record, home)| (record["id"].clone(), home.as_str().into())).collect();
            prop_assert_eq!(found, page.iter().map(|(id, home)| (id, home)).collect::<Vec<_>>(), "{:?}", arguments);
            prop_assert_eq!(&json["total_found"], &Value::from(expected.len()), "{:?}", arguments);
        }
    }
}
