//! A clock that jumps an hour back and forth, and clones whose clocks differ by an hour.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::repository::surroundings::{below, formats, id, repo_of, stored_once};
use crate::support::harness::{Repo, RunOutput, Sandbox};

const NOON: &str = "2026-03-01T12:00:00.000Z";
const BEFORE: &str = "2026-03-01T11:00:00.000Z";
const AFTER: &str = "2026-03-01T13:00:00.000Z";

/// Sets the times of the program's files, as a clock did that has jumped since.
fn touch(repo: &Repo<'_>, at: SystemTime) {
    for path in below(&repo.path.join(".git/empirica")).into_iter().filter(|path| path.is_file()) {
        fs::File::options().write(true).open(path).and_then(|file| file.set_modified(at)).expect("a time");
    }
}

#[test]
fn a_clock_that_jumps_an_hour_back_and_forth_changes_no_order_and_loses_nothing() {
    let place = Sandbox::new();
    for format in formats(&place) {
        let repo = repo_of(&place, &format!("{}-{}", format.hash, format.refs), format);
        repo.run(["init"]).ok();
        let (mut ids, mut handoffs, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        let hour = Duration::from_secs(3600);
        let times = [NOON, BEFORE, AFTER, BEFORE, NOON];
        for (n, now) in times.into_iter().enumerate() {
            let at = |arguments: &[&str]| repo.json_with_env(&[("EMPIRICA_NOW", now)], arguments.iter());
            let real = SystemTime::now();
            touch(&repo, if n % 2 == 0 { real - hour } else { real + hour });
            if n == 0 {
                at(&["session", "start", "--ai", "ada", "--task", "Work"]);
                at(&["preflight", "-v", "know=0.5,uncertainty=0.5"]);
            }
            texts.push(format!("said {n}"));
            ids.push(id(&at(&["finding", &texts[n]])));
            let open = at(&["unknown", &format!("asked {n}")]);
            ids.push(id(&at(&["resolve", &id(&open), "so"])));
            repo.commit("f", &format!("{n}\n"), &format!("Commit {n}"));
            let handed = at(&["handoff", "-m", &format!("task {n}")]);
            assert_eq!((&handed["degraded_mode"], &handed["commit"]), (&false.into(), &repo.head().into()), "{handed}");
            handoffs.push(id(&handed));
            // the newest is the one that was written last
            assert_eq!(at(&["handoff", "list"])["handoffs"][0]["handoff_id"], handoffs[n].as_str());
            assert_eq!(at(&["resume"])["sessions"][0]["task"], format!("task {n}"));
            assert_eq!(at(&["search", &texts[n]])["hits"][0]["text"], texts[n].as_str());
        }
        let ended = repo.json_with_env(&[("EMPIRICA_NOW", BEFORE)], ["postflight", "-v", "know=0.8"]);
        assert_eq!(ended["ok"], true);
        let ended = repo.json_with_env(&[("EMPIRICA_NOW", BEFORE)], ["session", "end"]);
        assert!(ended["duration_seconds"].as_f64().is_none_or(|seconds| seconds >= 0.0), "{ended}");
        assert!(ids.iter().zip(handoffs.iter()).all(|(finding, handoff)| !finding.is_empty() && !handoff.is_empty()));
        assert!(handoffs.is_sorted(), "ids increase: {handoffs:?}");
        let shown = repo.json(["session", "show", "latest"])["findings"].to_string();
        let places: Vec<usize> = texts.iter().map(|text| shown.find(text.as_str()).expect("each")).collect();
        assert!(places.is_sorted(), "in the order they were said: {shown}");
        ids.extend(handoffs);
        stored_once(&repo, &ids);
    }
}

#[test]
fn writers_whose_clocks_differ_by_an_hour_write_at_once_and_in_two_clones() {
    let place = Sandbox::new();
    for format in formats(&place) {
        let name = format!("{}-{}", format.hash, format.refs);
        let repo = repo_of(&place, &name, format);
        repo.git(
            ["clone", "-q", "--bare", ".", &format!("../{name}.git")]
                .into_iter()
                .chain((format.refs != "files").then_some("--ref-format=reftable")),
        )
        .ok();
        repo.git(["remote", "add", "origin", &format!("../{name}.git")]).ok();
        let session = repo.start("ada", "Work");
        let times = [NOON, BEFORE, AFTER];
        let writer = |n: usize| -> Child {
            let text = format!("of writer {n}");
            let mut command = repo.program();
            match n % 3 {
                0 => command.args(["finding", &text]),
                1 => command.args(["checkpoint", "-v", "know=0.5"]),
                _ => command.args(["handoff", "-m", &text]),
            };
            command.args(["--session", &session, "--json"]).env("EMPIRICA_NOW", times[n / 3 % 3]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        };
        let writers: Vec<Child> = (0..9).map(writer).collect();
        let answer = |child: Child| -> Value { RunOutput::new(child.wait_with_output().expect("it ends")).ok().json() };
        let mut ids: Vec<String> = writers.into_iter().map(|child| id(&answer(child))).collect();
        // a clone whose clock is an hour behind takes them, adds its own, and both end with the same
        let other = place.at(format!("{name}-other"));
        let url = place.path().join(format!("{name}.git"));
        let reftable = (format.refs != "files").then_some("--ref-format=reftable");
        let words = ["clone", "-q", url.to_str().expect("UTF-8"), other.path.to_str().expect("UTF-8")];
        repo.git(words.into_iter().chain(reftable)).ok();
        other.git(["config", "user.name", "Other"]).ok();
        other.git(["config", "user.email", "other@example.com"]).ok();
        let (ahead, behind) = ([("EMPIRICA_NOW", AFTER)], [("EMPIRICA_NOW", BEFORE)]);
        for round in 0..2 {
            ids.push(id(&repo.json_with_env(&ahead, ["finding", &format!("ahead {round}"), "--session", &session])));
            repo.json_with_env(&ahead, ["sync"]);
            other.json_with_env(&behind, ["sync"]);
            ids.push(id(&other.json_with_env(&behind, ["finding", &format!("behind {round}"), "--ai", "eve"])));
            other.json_with_env(&behind, ["sync"]);
            repo.json_with_env(&ahead, ["sync"]);
        }
        for clone in [&repo, &other] {
            stored_once(clone, &ids);
        }
        let tree = |clone: &Repo<'_>| clone.git_out(["rev-parse", "refs/notes/empirica/data/journal^{tree}"]);
        assert_eq!(tree(&repo), tree(&other));
        assert_eq!(repo.json_with_env(&ahead, ["sync"])["remotes"][0]["outgoing"]["records"], 0);
    }
}
