//! Chains over clones: conflicting claims are settled alike everywhere, and no task is lost or done twice unknowingly.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox, is_long};
use crate::sync::team::{clones, hub, sync};

/// Commits rules to the hub.
fn with_rules(place: &Sandbox, hub: &Repo<'_>, rules: &str) {
    let seed = place.clone(hub, "rules", false);
    seed.commit(".empirica/routes.toml", rules, "Add rules");
    seed.git(["push", "-q", "origin", "main"]).ok();
}

#[track_caller]
fn by(repo: &Repo<'_>, session: &str, arguments: &[&str]) -> Value {
    repo.json_with_env(&[("EMPIRICA_SESSION", session)], arguments)
}

#[track_caller]
fn begin(repo: &Repo<'_>, ai: &str) -> String {
    let json = repo.json_with_env(&[("EMPIRICA_AI", ai)], ["session", "start"]);
    json["session_id"].as_str().expect("an id").to_owned()
}

fn id(json: &Value) -> String {
    json["handoff_id"].as_str().expect("an id").to_owned()
}

#[test]
fn conflicting_claims_have_one_holder_everywhere_and_the_loser_is_told() {
    for first in [0, 1] {
        conflict(first);
    }
}

/// Two clones take up one handoff; the `first` syncs first.
fn conflict(first: usize) {
    let place = Sandbox::new();
    let hub = hub(&place);
    with_rules(
        &place,
        &hub,
        "[[route]]\nfrom = \"lead\"\nto = \"tester\"\n\n[[route]]\nfrom = \"tester\"\nto = \"validator\"\n",
    );
    let repos = clones(&place, &hub, 3);
    let lead = begin(&repos[0], "lead");
    let handed = id(&by(&repos[0], &lead, &["handoff", "-m", "Test", "--task-id", "t", "--next", "n"]));
    repos.iter().for_each(|repo| drop(sync(repo)));
    let testers: Vec<String> = repos[1..].iter().map(|repo| begin(repo, "tester")).collect();
    // each knows nothing of the other
    for (repo, session) in repos[1..].iter().zip(&testers) {
        by(repo, session, &["accept", &handed]);
    }
    let mut told: [String; 2] = Default::default();
    for at in [first, 1 - first, first] {
        told[at].push_str(repos[1 + at].json(["sync"])["warning"].as_str().unwrap_or_default());
    }
    sync(&repos[0]);
    let chains: Vec<Value> = repos.iter().map(|repo| repo.json(["task", "show", "t"])["chain"][0].clone()).collect();
    let holder = chains[0]["owner"]["session_id"].as_str().expect("an id").to_owned();
    for chain in &chains {
        assert_eq!(chain["owner"], chains[0]["owner"]);
        assert_eq!(chain["rivals"].as_array().map(Vec::len), Some(1));
    }
    let (won, lost) = (first, 1 - first);
    assert_eq!(holder, testers[won], "who reaches the remote first has it");
    let text = format!(
        "tester, session {}: tester (session {}) owns handoff {}",
        &testers[lost][..8],
        &holder[..8],
        &handed[28..]
    );
    assert!(told[lost].contains(&text) && !told[won].contains(" owns handoff "), "{told:?}");
    let (winner, loser) = (&repos[1 + won], &repos[1 + lost]);
    assert!(loser.json(["status"])["warning"].as_str().is_some_and(|warning| warning.contains(&text)));
    let inbox = by(loser, &testers[lost], &["inbox"]);
    assert_eq!(
        (&inbox["lost"][0]["handoff_id"], &inbox["lost"][0]["owner_session_id"]),
        (&json!(handed), &json!(holder))
    );
    assert_eq!(inbox["working"], json!([]));
    // what the loser hands over is kept, and is no second way of the task
    let own = by(loser, &testers[lost], &["handoff", "--next", "n"]);
    assert!(own["warning"].as_str().is_some_and(|warning| warning.contains("does not continue the task 't'")), "{own}");
    assert_eq!((&own["to"], &own["task_id"]), (&json!(null), &json!(null)), "no rule hands on what was not its own");
    let next = by(winner, &testers[won], &["handoff", "--next", "n"]);
    assert_eq!((&next["to"], &next["task_id"]), (&json!("validator"), &json!("t")));
}

#[test]
fn whatever_was_fetched_before_a_claim_that_reached_the_remote_first_stands() {
    let place = Sandbox::new();
    let hub = hub(&place);
    with_rules(&place, &hub, "[[route]]\nfrom = \"lead\"\nto = \"tester\"\n");
    let repos = clones(&place, &hub, 2);
    let lead = begin(&repos[0], "lead");
    let hand =
        |task: &str, next: &str| id(&by(&repos[0], &lead, &["handoff", "-m", task, "--task-id", task, "--next", next]));
    for (task, fetches, again) in [("plain", false, false), ("fetched", true, false), ("newer", true, true)] {
        let first = hand(task, "n");
        repos.iter().for_each(|repo| drop(sync(repo)));
        let testers: Vec<String> = repos.iter().map(|repo| begin(repo, "tester")).collect();
        // the second clone claims first, and syncs last
        by(&repos[1], &testers[1], &["accept", &first]);
        let newest = if again { hand(task, "m") } else { first.clone() };
        by(&repos[0], &testers[0], &["accept", &newest]);
        sync(&repos[0]);
        if fetches {
            repos[1].git(["fetch", "-q"]).ok();
            by(&repos[1], &testers[1], &["status"]);
        }
        let told = repos[1].json(["sync"])["warning"].as_str().unwrap_or_default().to_owned();
        let text = format!("session {}: tester (session {}) owns", &testers[1][..8], &testers[0][..8]);
        assert_eq!(told.matches(&text).count(), 1, "{task}: {told}");
        let quiet = repos[0].json(["sync"])["warning"].as_str().unwrap_or_default().to_owned();
        assert!(!quiet.contains(" owns "), "{task}: {quiet}");
        for repo in &repos {
            let chain = repo.json(["task", "show", task])["chain"][0].clone();
            assert_eq!(chain["owner"]["session_id"], *testers[0], "{task}: {chain}");
        }
        for (repo, session) in repos.iter().zip(&testers) {
            by(repo, session, &["session", "end"]);
        }
    }
}

#[test]
fn work_that_two_did_is_told_to_both() {
    let place = Sandbox::new();
    let hub = hub(&place);
    with_rules(
        &place,
        &hub,
        "[[route]]\nfrom = \"lead\"\nto = \"tester\"\n\n[[route]]\nfrom = \"tester\"\nto = \"validator\"\n",
    );
    let repos = clones(&place, &hub, 2);
    let lead = begin(&repos[0], "lead");
    let handed = id(&by(&repos[0], &lead, &["handoff", "-m", "Test", "--task-id", "t", "--next", "n"]));
    repos.iter().for_each(|repo| drop(sync(repo)));
    let testers: Vec<String> = repos.iter().map(|repo| begin(repo, "tester")).collect();
    by(&repos[1], &testers[1], &["accept", &handed]);
    let done = id(&by(&repos[1], &testers[1], &["handoff", "--next", "done"]));
    by(&repos[1], &testers[1], &["session", "end"]);
    by(&repos[0], &testers[0], &["accept", &handed]);
    sync(&repos[0]);
    let loser = repos[1].json(["sync"])["warning"].as_str().unwrap_or_default().to_owned();
    assert!(
        loser.contains(&format!("session {}: tester (session {}) owns", &testers[1][..8], &testers[0][..8])),
        "{loser}"
    );
    let winner = repos[0].json(["sync"])["warning"].as_str().unwrap_or_default().to_owned();
    let text = format!("the work of handoff {} was also done by tester: see handoff {}", &handed[28..], &done[28..]);
    assert!(winner.contains(&text), "{winner}");
}

/// Numbers that look random, and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// An agent in a clone, what it works on, and whether it synced after it took that up.
struct Worker {
    repo: usize,
    session: String,
    at_work: Option<(String, bool)>,
    /// How often its clone synced since it looked at its inbox.
    syncs: usize,
}

/// Remembers that a clone synced, for each of its workers that is not told of a loss when it looks next.
fn mark_synced(workers: &mut [Worker], repo: usize) {
    for worker in workers.iter_mut().filter(|worker| worker.repo == repo) {
        worker.syncs += 1;
    }
}

#[test]
fn many_agents_in_clones_lose_no_task_and_do_none_twice_unknowingly() {
    let (agents, tasks) = if is_long() { (5, 50) } else { (2, 8) };
    let place = Sandbox::new();
    let hub = hub(&place);
    with_rules(
        &place,
        &hub,
        "[[route]]\nfrom = \"lead\"\nto = \"tester\"\n\n[[route]]\nfrom = \"tester\"\nto = \"validator\"\n",
    );
    let repos = clones(&place, &hub, 3);
    let lead = begin(&repos[0], "lead");
    for n in 0..tasks {
        let (title, task) = (format!("Task {n}"), format!("t-{n}"));
        by(&repos[0], &lead, &["handoff", "-m", &title, "--task-id", &task, "--next", "n"]);
    }
    repos.iter().for_each(|repo| drop(sync(repo)));
    let mut workers: Vec<Worker> = Vec::new();
    for (repo, clone) in repos.iter().enumerate() {
        for n in 0..agents {
            let ai = if n % 2 == 0 { "tester" } else { "validator" };
            workers.push(Worker { repo, session: begin(clone, ai), at_work: None, syncs: 0 });
        }
    }
    // of each handoff, who did its work and whether after a sync; and the times that one left what another had
    let mut done: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
    let mut knowingly = 0;
    let mut dice = Dice(7);
    let mut idle = 0;
    while idle < 6 * workers.len() {
        let at = dice.below(workers.len());
        let repo = &repos[workers[at].repo];
        // clones see each other only now and then
        if dice.below(4) == 0 {
            sync(repo);
            let repo = workers[at].repo;
            mark_synced(&mut workers, repo);
        }
        let worker = &mut workers[at];
        let inbox = by(repo, &worker.session, &["inbox"]);
        let has_looked_after_a_sync = std::mem::take(&mut worker.syncs) > 0;
        if let Some((handed, has_synced)) = &mut worker.at_work {
            let lost = inbox["lost"].as_array().expect("a list").iter();
            if lost.into_iter().any(|lost| lost["handoff_id"] == **handed) {
                assert!(!*has_synced, "{handed} was its own when it synced");
                // it leaves the work to the other
                worker.at_work = None;
                knowingly += 1;
            } else if let (true, false) = (has_looked_after_a_sync, *has_synced) {
                // from now on it may rely on it
                *has_synced = true;
            } else if dice.below(2) == 0 {
                let handed = handed.clone();
                let ended = if inbox["ai_id"] == "tester" {
                    by(repo, &worker.session, &["handoff", "--next", "n"])
                } else {
                    by(repo, &worker.session, &["accept", &handed, "--decision", "COMPLETE"])
                };
                assert_eq!(ended["ok"], true);
                done.entry(handed).or_default().push((worker.session.clone(), *has_synced));
                worker.at_work = None;
            }
            idle = 0;
            continue;
        }
        let waiting: Vec<String> = inbox["waiting"].as_array().expect("a list").iter().map(id).collect();
        if waiting.is_empty() {
            idle += 1;
            sync(repo);
            let repo = workers[at].repo;
            mark_synced(&mut workers, repo);
            continue;
        }
        idle = 0;
        let handed = waiting[dice.below(waiting.len().min(3))].clone();
        by(repo, &worker.session, &["accept", &handed]);
        let syncs = dice.below(2) == 0;
        let told =
            if syncs { repo.json(["sync"])["warning"].as_str().unwrap_or_default().to_owned() } else { String::new() };
        // it may be told of earlier work, too
        let is_lost = told
            .split("; ")
            .any(|text| text.contains(&format!("session {}: ", &worker.session[..8])) && text.contains(&handed[28..]));
        knowingly += usize::from(is_lost);
        worker.at_work = (!is_lost).then_some((handed, syncs));
        if syncs {
            let repo = workers[at].repo;
            mark_synced(&mut workers, repo);
        }
    }
    for _ in 0..3 {
        repos.iter().for_each(|repo| drop(sync(repo)));
    }
    let all: Vec<Value> = repos.iter().map(|repo| repo.json(["task", "list"])).collect();
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], all[2]);
    assert_eq!(all[0]["total_found"], tasks);
    let mut twice = 0;
    for task in all[0]["tasks"].as_array().expect("a list") {
        assert_eq!(
            task["status"],
            "complete",
            "{task}: {}",
            repos[0].json(["task", "show", task["task_id"].as_str().expect("a text")])["chain"]
        );
        let name = task["task_id"].as_str().expect("a text");
        let shown: Vec<Value> = repos.iter().map(|repo| repo.json(["task", "show", name])["chain"].clone()).collect();
        assert!(shown.iter().all(|chain| *chain == shown[0]), "{name} is the same everywhere");
        for link in shown[0].as_array().expect("a list") {
            let workers = done.get(&id(link)).cloned().unwrap_or_default();
            let holder = link["owner"]["session_id"].as_str().map(str::to_owned);
            let rivals = link["rivals"].as_array().expect("a list").iter();
            let also: BTreeSet<&str> = rivals.filter_map(|rival| rival["session_id"].as_str()).collect();
            // who did the work, too, is named beside who has it
            assert!(workers.iter().filter(|(_, has_synced)| *has_synced).count() <= 1, "{name}: {workers:?} {link}");
            for (other, _) in workers.iter().filter(|(other, _)| Some(other) != holder.as_ref()) {
                assert!(also.contains(other.as_str()), "{name}: {other} did it unknown to all: {link}");
                twice += 1;
            }
        }
    }
    println!("{tasks} tasks: {knowingly} left to another in time, {twice} done by two who are both named");
    assert!(knowingly + twice > 0, "nothing was in conflict");
}

#[test]
fn of_two_that_take_over_the_first_at_the_remote_has_it() {
    for is_claimed in [true, false] {
        let place = Sandbox::new();
        let hub = hub(&place);
        let repos = clones(&place, &hub, 2);
        let lead = begin(&repos[0], "lead");
        let handed =
            id(&by(&repos[0], &lead, &["handoff", "-m", "Test", "--task-id", "t", "--to", "tester", "--next", "n"]));
        if is_claimed {
            let first = begin(&repos[0], "tester");
            by(&repos[0], &first, &["accept", &handed]);
        }
        repos.iter().for_each(|repo| drop(sync(repo)));
        // without a first owner, one takes what is for another agent, who claims it meanwhile
        let sessions = [begin(&repos[0], "tester"), begin(&repos[1], if is_claimed { "tester" } else { "other" })];
        by(&repos[1], &sessions[1], &["accept", &handed, "--take-over"]);
        let claim: &[&str] = if is_claimed { &["accept", &handed, "--take-over"] } else { &["accept", &handed] };
        by(&repos[0], &sessions[0], claim);
        sync(&repos[0]);
        let told = repos[1].json(["sync"])["warning"].clone();
        assert!(told.as_str().is_some_and(|text| text.contains("stop work on it")), "{told}");
        sync(&repos[0]);
        for repo in &repos {
            let chain = repo.json(["task", "show", "t"])["chain"][0].clone();
            assert_eq!(chain["owner"]["session_id"], json!(sessions[0]), "{is_claimed}: {chain}");
        }
        // it may be taken over from the new owner, who is then told
        by(&repos[1], &sessions[1], &["accept", &handed, "--take-over"]);
        sync(&repos[1]);
        sync(&repos[0]);
        let chain = repos[0].json(["task", "show", "t"])["chain"][0].clone();
        assert_eq!(chain["owner"]["session_id"], json!(sessions[1]), "{chain}");
        let told = by(&repos[0], &sessions[0], &["status"])["warning"].clone();
        assert!(told.as_str().is_some_and(|text| text.contains("stop work on it")), "{told}");
    }
}

#[test]
fn who_reached_the_remote_keeps_it_whatever_it_says_later() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let lead = begin(&repos[0], "lead");
    let handed =
        id(&by(&repos[0], &lead, &["handoff", "-m", "Test", "--task-id", "t", "--to", "tester", "--next", "n"]));
    repos.iter().for_each(|repo| drop(sync(repo)));
    let (first, second) = (begin(&repos[0], "tester"), begin(&repos[1], "tester"));
    by(&repos[1], &second, &["accept", &handed]);
    by(&repos[0], &first, &["accept", &handed]);
    sync(&repos[0]);
    // the other leaves it
    sync(&repos[1]);
    by(&repos[0], &first, &["accept", &handed, "--understanding", "All of it"]);
    let told = repos[0].json(["sync"])["warning"].clone();
    assert!(!told.as_str().unwrap_or_default().contains("stop work"), "{told}");
    sync(&repos[1]);
    for repo in &repos {
        let chain = repo.json(["task", "show", "t"])["chain"][0].clone();
        assert_eq!(chain["owner"]["session_id"], json!(first), "{chain}");
    }
    assert_eq!(by(&repos[1], &second, &["inbox"])["lost"].as_array().map(Vec::len), Some(1));
}
