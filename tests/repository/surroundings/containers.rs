//! Two containers on one clone: other host names and users, equal process ids, other umasks.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::Value;

use crate::repository::surroundings::{Container, below, formats, id, is_root, repo_of, set_mode, shared, stored_once};
use crate::support::harness::{Repo, RunOutput, Sandbox, each};

/// What an agent does: a session, findings, a checkpoint and a handoff, at the same time as the other; it is the first
/// process of its container. Its answers are in a file.
fn work(place: &Sandbox, host: &str, others: &str) -> String {
    let at = |name: &str| place.path().join("out").join(name).display().to_string();
    let (out, here, there) = (at(&format!("out-{host}")), at(&format!("here-{host}")), at(&format!("here-{others}")));
    format!(
        "exec >'{out}' 2>&1 && echo \"$(hostname) $$ $(umask) $(id -u)\" && export GEMINI_CLI=1 \
         && git empirica session start --task 'Work of {host}' --json && : >'{here}' \
         && n=0 && while [ ! -e '{there}' ] && [ $n -lt 1000 ]; do n=$((n+1)); sleep 0.01; done \
         && for n in 1 2 3 4 5; do git empirica finding \"{host} $n\" --json || exit 1; done \
         && git empirica checkpoint -v know=0.5 --json && git empirica handoff -m 'Work of {host}' --json"
    )
}

/// The first line, and the answers after it, which must be successes.
#[track_caller]
fn answers(place: &Sandbox, host: &str) -> (String, Vec<Value>) {
    let text = fs::read_to_string(place.path().join(format!("out/out-{host}"))).expect("answers");
    let mut lines = text.lines();
    let first = lines.next().expect("who it is").to_owned();
    let read = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {text}"));
    let answers: Vec<Value> = lines.map(read).collect();
    assert_eq!(answers.len(), 8, "{text}");
    for answer in &answers {
        assert_eq!(answer["ok"], true, "{text}");
        assert!(answer["degraded_mode"] != true && answer["storage"] != "user_state", "{text}");
    }
    (first, answers)
}

/// Both containers work at once; every record is stored once, in the session of its own agent.
#[track_caller]
fn both_work(repo: &Repo<'_>, containers: &[Container<'_>; 2]) -> Option<()> {
    let place = repo.place;
    // an agent is a process that is no shell
    let agent = place.path().join("agent");
    if !agent.exists() {
        fs::copy(fs::canonicalize("/bin/sh").expect("a shell"), &agent).expect("a program");
        set_mode(&agent, 0o755);
    }
    let out = place.path().join("out");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir(&out).expect("a folder");
    set_mode(&out, 0o777);
    let mut running = Vec::new();
    for (container, other) in containers.iter().zip(containers.iter().rev()) {
        let script = work(place, container.host, other.host);
        let script = format!("exec '{}' -c '{}'", agent.display(), script.replace('\'', r"'\''"));
        running.push(container.command(repo, &script)?.spawn().expect("it starts"));
    }
    for child in running {
        RunOutput::new(child.wait_with_output().expect("it ends")).ok();
    }
    let mut ids = Vec::new();
    for container in containers {
        let (first, all) = answers(place, container.host);
        assert_eq!(first, format!("{} 1 {} {}", container.host, container.umask, container.user));
        let session = all[0]["session_id"].clone();
        assert!(all.iter().all(|answer| answer["session_id"] == session), "{}: {all:?}", container.host);
        ids.extend(all[1..].iter().map(id));
        let shown = repo.json(["session", "show", session.as_str().expect("an id")])["findings"].to_string();
        for (host, count) in containers.iter().map(|one| (one.host, if one.host == container.host { 5 } else { 0 })) {
            assert_eq!(shown.matches(&format!("{host} ")).count(), count, "{shown}");
        }
    }
    stored_once(repo, &ids);
    Some(())
}

#[test]
fn two_containers_with_equal_process_ids_lose_no_record_and_keep_their_sessions_apart() {
    let place = Sandbox::new();
    for format in formats(&place) {
        let repo = repo_of(&place, &format!("{}-{}", format.hash, format.refs), format);
        let container = |host, umask| Container { host, user: 0, umask, prepare: String::new() };
        let containers = [container("alpha", "0022"), container("beta", "0077")];
        if both_work(&repo, &containers).is_none() {
            return;
        }
    }
}

#[test]
fn containers_of_two_users_with_two_umasks_can_write_after_each_other() {
    if !is_root() {
        return;
    }
    let place = Sandbox::new();
    for format in formats(&place) {
        let repo = shared(&place, &format!("{}-{}", format.hash, format.refs), format);
        repo.git(["config", "--global", "safe.directory", "*"]).ok();
        let container = |host, user, umask| Container { host, user, umask, prepare: String::new() };
        for round in 0..3 / each(3) {
            let umasks = if round % 2 == 0 { ["0077", "0002"] } else { ["0022", "0077"] };
            let containers = [container("alpha", 12345, umasks[0]), container("beta", 12346, umasks[1])];
            if both_work(&repo, &containers).is_none() {
                return;
            }
        }
        let git = repo.path.join(".git");
        for path in below(&git).iter().filter(|path| !path.starts_with(git.join("hooks"))) {
            let found = fs::symlink_metadata(path).expect("there");
            let is_object = path.starts_with(git.join("objects")) && found.is_file();
            let wanted = if is_object { 0o040 } else { 0o060 };
            assert_eq!(found.mode() & wanted, wanted, "the group may not: {:o} {}", found.mode(), path.display());
        }
    }
}
