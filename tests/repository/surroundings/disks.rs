//! A disk that fills while writers write, and has space again: a clear error, and nothing acknowledged is lost.

use std::fs;

use serde_json::Value;

use crate::repository::surroundings::{Container, formats, id, repo_of, stored_once};
use crate::support::harness::{Repo, Sandbox, is_long};

/// Which part of a repository is on the small file system.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Full {
    Objects,
    GitDirectory,
    /// With the user's state folder.
    Everything,
}

/// Three writers fill a file system, which then gets space again; the answers of the writers, and of commands in between and
/// after.
fn filled(repo: &Repo<'_>, full: Full) -> Option<(Vec<Value>, String, String)> {
    let name = if full == Full::Objects { ".git/objects" } else { ".git" };
    let at = repo.path.join(name).display().to_string();
    let work = repo.path.with_extension("work");
    fs::create_dir_all(&work).expect("a folder");
    let work = work.display();
    let prepare =
        format!("cp -a '{at}' '{work}/copy' && mount -t tmpfs -o size=32m none '{at}' && cp -a '{work}/copy/.' '{at}'");
    let state = if full == Full::Everything { format!("{at}/state") } else { format!("{work}/state") };
    // a mount point is entered after it is mounted
    let script = format!(
        "cd '{}' && export XDG_STATE_HOME='{state}' EMPIRICA_AI=ada && git empirica session start --task t --json >/dev/null || exit 1
         room() {{ dd if=/dev/zero of='{at}/filler' bs=1k 2>/dev/null; truncate -s -{}k '{at}/filler'; }}
         write() {{
             for n in $(seq {}); do
                 git empirica finding \"of $1, $n: $(seq -s ' ' $n $((n+300)))\" --json
                 [ $((n % 3)) = $(($1 % 3)) ] && git empirica handoff -m \"of $1, $n\" --json
             done >>'{work}/answers-'$1 2>>'{work}/errors'; :
         }}
         room
         for writer in 1 2 3; do write $writer & done; wait
         git empirica export --jsonl >'{work}/shown'
         for line in status resume doctor flush; do git empirica $line --json; done >'{work}/full' 2>&1
         rm '{at}/filler'
         git empirica flush --json >'{work}/after' && cp -a '{at}/.' '{work}/left'",
        repo.path.display(),
        if is_long() { 400 } else { 200 },
        if is_long() { 30 } else { 10 },
    );
    let container = Container { host: "full", user: 0, umask: "0022", prepare };
    container.run(repo, &script)?.ok();
    // what was in the small file system is the repository's now
    fs::remove_dir_all(&at).expect("ours");
    fs::rename(format!("{work}/left"), &at).expect("renamed");
    let text = |name: &str| fs::read_to_string(format!("{work}/{name}")).expect("answers");
    let after: Value = serde_json::from_str(&text("after")).expect("a document");
    assert_eq!((&after["waiting"], &after["degraded_mode"]), (&0.into(), &false.into()), "{full:?}: {after}");
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{full:?}: {error}: {line}"));
    let answers = [1, 2, 3].iter().flat_map(|n| text(&format!("answers-{n}")).lines().map(read).collect::<Vec<_>>());
    Some((answers.collect(), text("full"), text("shown")))
}

#[track_caller]
fn nothing_is_lost(full: Full) {
    let place = Sandbox::new();
    for format in formats(&place) {
        let repo = repo_of(&place, &format!("{}-{}-{full:?}", format.hash, format.refs), format);
        let Some((answers, while_full, shown)) = filled(&repo, full) else { return };
        let (mut ids, mut troubles) = (Vec::new(), 0);
        for answer in &answers {
            let words = if answer["ok"] == true { &answer["warning"] } else { &answer["reason"] };
            if answer["ok"] == true {
                ids.push(id(answer));
            }
            if answer["ok"] == false || answer["degraded_mode"] == true {
                let words = words.as_str().unwrap_or_else(|| panic!("no words: {answer}"));
                let names_it =
                    ["no space left", "the log took only a part of the record", "reftable: transaction failure"]
                        .iter()
                        .any(|cause| words.to_lowercase().contains(cause));
                assert!(names_it, "{full:?}: {words}");
                let is_named = words.to_lowercase().contains("no space left");
                assert!(!is_named || answer["recovery_commands"].to_string().contains("df -h "), "{full:?}: {answer}");
                assert!(!answer["recovery_commands"].as_array().expect("a list").is_empty(), "{full:?}: {answer}");
                troubles += 1;
            }
        }
        assert!(!ids.is_empty() && troubles > 0, "{full:?}: {} of {} failed", troubles, answers.len());
        let refused = answers.iter().filter(|answer| answer["ok"] == false).count();
        assert_eq!(refused > 0, full == Full::Everything, "{full:?}: {refused} are stored nowhere");
        // every command answers also then, and shows what was acknowledged
        let documents: Vec<Value> = while_full.lines().map(|line| serde_json::from_str(line).expect("one")).collect();
        assert_eq!(documents.len(), 4, "{while_full}");
        let missing: Vec<&String> = ids.iter().filter(|id| !shown.contains(id.as_str())).collect();
        assert!(missing.is_empty(), "{full:?}: {missing:?} of {} are not shown", ids.len());
        assert_eq!(documents[3]["degraded_mode"], true, "{while_full}");
        stored_once(&repo, &ids);
    }
}

#[test]
fn when_the_objects_fill_the_disk_records_wait_in_the_log() {
    nothing_is_lost(Full::Objects);
}

#[test]
fn when_the_git_directory_fills_the_disk_records_wait_in_the_state_folder() {
    nothing_is_lost(Full::GitDirectory);
}

#[test]
fn when_everything_is_full_a_record_is_refused_and_none_that_was_acknowledged_is_lost() {
    nothing_is_lost(Full::Everything);
}
