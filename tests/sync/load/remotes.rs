//! Remotes that rewind, hang, answer slowly, refuse, fill up or are replaced: nothing is lost, and the user's push is as without us.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::repository::surroundings::{Container, id};
use crate::setup::init::script;
use crate::support::harness::{Repo, RunOutput, Sandbox, each, fed};
use crate::sync::sync_pushes::hooked;
use crate::sync::team::{REFS, hook, hub, sync, tips, trees};

/// How long a remote hangs, in seconds.
const HANG: u32 = 120;
/// What a push may take longer than its limit on a busy machine; much less than [`HANG`].
const SLACK: Duration = Duration::from_secs(30);

/// A finding and a handoff; their ids are added to `ids`.
#[track_caller]
pub fn log(repo: &Repo<'_>, text: &str, ids: &mut Vec<String>) {
    ids.push(id(&repo.run(["finding", text, "--json"]).ok().json()));
    ids.push(id(&repo.run(["handoff", "-m", text, "--next", text, "--json"]).ok().json()));
}

/// Commits, and pushes to a branch of the clone's own, which must end as without the program; what git said, and how long it took.
#[track_caller]
fn push(repo: &Repo<'_>, hub: &Repo<'_>, file: &str) -> (RunOutput, Duration) {
    repo.commit(file, "x\n", file);
    let name = repo.path.file_name().expect("a name").to_str().expect("UTF-8");
    let began = Instant::now();
    let pushed = repo.git(["push", "-q", "origin", &format!("main:refs/heads/of-{name}")]).ok();
    let took = began.elapsed();
    assert_eq!(hub.git_out(["rev-parse", &format!("of-{name}")]), repo.head(), "{file}");
    (pushed, took)
}

/// How often each id is in the notes of a repository, as git reads them; in no note twice.
#[track_caller]
pub fn stored(repo: &Repo<'_>) -> BTreeMap<String, usize> {
    let mut blobs = String::new();
    for reference in &REFS[..3] {
        let list = repo.git(["notes", "--ref", reference, "list"]).out;
        blobs.extend(list.lines().flat_map(|line| [&line[..line.find(' ').expect("a blob")], "\n"]));
    }
    let mut read = repo.place.command("git", &repo.path);
    read.args(["cat-file", "--batch=%(objectname)"]);
    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    let mut of_note = BTreeMap::new();
    for line in fed(read, blobs.as_bytes()).ok().out.lines() {
        if let Some((before, _)) = line.split_once("\",\"kind\"") {
            let id = before.rsplit('"').next().expect("an id");
            let times = of_note.entry(id.to_owned()).or_insert(0);
            *times += 1;
            assert_eq!(*times, 1, "{id} is twice in a note");
            *ids.entry(id.to_owned()).or_default() += 1;
        } else if !line.is_empty() {
            of_note.clear();
        }
    }
    ids
}

/// Syncs all with all their remotes, twice; then all must have the same, with every id of `ids` in one to `most` notes.
#[track_caller]
pub fn all_have(repos: &[Repo<'_>], hubs: &[&Repo<'_>], ids: &[String], most: usize) {
    for repo in repos.iter().chain(repos) {
        repo.run(["sync"]).ok();
    }
    let expected = trees(hubs[0]);
    for repo in repos.iter().chain(hubs.iter().copied()) {
        assert_eq!(trees(repo), expected, "{}", repo.path.display());
        repo.fsck();
    }
    let stored = stored(hubs[0]);
    let notes = |id: &String| stored.get(id).copied().unwrap_or_default();
    let wrong: Vec<_> = ids.iter().map(|id| (id, notes(id))).filter(|(_, notes)| !(1..=most).contains(notes)).collect();
    assert!(wrong.is_empty() && !ids.is_empty(), "of {} ids: {wrong:?}", ids.len());
}

/// Clones that pushed something each.
fn shared<'p>(place: &'p Sandbox, count: usize, ids: &mut Vec<String>) -> (Repo<'p>, Vec<Repo<'p>>) {
    let hub = hub(place);
    let team = hooked(place, &hub, count);
    for (n, repo) in team.iter().enumerate() {
        repo.start(&format!("ai{n}"), "t");
        log(repo, &format!("first of {n}"), ids);
        push(repo, &hub, &format!("first-{n}"));
    }
    (hub, team)
}

/// The notes refs of a remote, in the form of `git update-ref --stdin`.
fn notes_of(hub: &Repo<'_>) -> String {
    hub.git_out(["for-each-ref", "--format=update %(refname) %(objectname)", "refs/notes"]) + "\n"
}

#[track_caller]
fn update_refs(hub: &Repo<'_>, commands: &str) {
    let mut update = hub.place.command("git", &hub.path);
    update.args(["update-ref", "--stdin"]);
    fed(update, commands.as_bytes()).ok();
}

#[test]
fn a_remote_that_rewinds_again_and_again_gets_everything_back() {
    let place = Sandbox::new();
    let mut ids = Vec::new();
    let (hub, team) = shared(&place, 3, &mut ids);
    let early = notes_of(&hub);
    log(&team[0], "before the rewind", &mut ids);
    push(&team[0], &hub, "before");
    for (n, repo) in team.iter().enumerate() {
        // restored from a backup; once without one of the refs, once after some took the rewound ones
        update_refs(&hub, &early);
        match n {
            1 => update_refs(&hub, &format!("delete {}\n", REFS[n])),
            2 => team.iter().for_each(|other| drop(other.git(["fetch", "-q", "--prune"]).ok())),
            _ => {}
        }
        log(repo, &format!("after rewind {n}"), &mut ids);
        push(repo, &hub, &format!("rewind-{n}"));
    }
    // who has all of it sends what the remote lost with the next push
    log(&team[0], "the last", &mut ids);
    push(&team[0], &hub, "last");
    all_have(&team, &[&hub], &ids, 2);
}

#[test]
fn a_remote_replaced_by_an_empty_one_gets_everything_with_the_next_records() {
    let place = Sandbox::new();
    let mut ids = Vec::new();
    let (hub, team) = shared(&place, 3, &mut ids);
    team.iter().for_each(|repo| drop(sync(repo)));
    fs::remove_dir_all(&hub.path).expect("a remote");
    team[0].git(["init", "-q", "--bare", "-b", "main", "../hub.git"]).ok();
    for (n, repo) in team.iter().enumerate() {
        log(repo, &format!("new to {n}"), &mut ids);
        push(repo, &hub, &format!("new-{n}"));
    }
    assert_eq!(stored(&hub).len(), stored(&team[2]).len(), "the first push brings all, the last has all");
    all_have(&team, &[&hub], &ids, 2);
}

#[test]
fn a_remote_replaced_by_one_with_another_history_is_united_with_it() {
    let place = Sandbox::new();
    let mut ids = Vec::new();
    let (hub, team) = shared(&place, 3, &mut ids);
    // another project with the same name, and agents of its own
    let other = place.init("other");
    other.commit("z", "z\n", "Another beginning");
    other.start("eve", "t");
    log(&other, "of the other history", &mut ids);
    fs::remove_dir_all(&hub.path).expect("a remote");
    other.git(["clone", "-q", "--bare", ".", "../hub.git"]).ok();
    other.run(["sync", "../hub.git"]).ok();
    let theirs = hub.git_out(["rev-parse", "main"]);
    for (n, repo) in team.iter().enumerate() {
        log(repo, &format!("new to {n}"), &mut ids);
        // main is refused, as it is without the program; another branch is not
        repo.git(["push", "-q", "origin", "main"]).code(1);
        push(repo, &hub, &format!("new-{n}"));
    }
    assert_eq!(hub.git_out(["rev-parse", "main"]), theirs);
    all_have(&team, &[&hub], &ids, 2);
}

#[test]
fn two_remotes_that_disagree_end_with_the_same_through_a_clone_that_has_both() {
    let place = Sandbox::new();
    let mut ids = Vec::new();
    let (one, team) = shared(&place, 3, &mut ids);
    let early = notes_of(&one);
    one.git(["clone", "-q", "--bare", ".", "../two.git"]).ok();
    let two = place.at("two.git");
    // c1 goes to the other remote from now on; c2 has both
    team[1].git(["remote", "set-url", "origin", "../two.git"]).ok();
    team[2].git(["remote", "add", "two", "../two.git"]).ok();
    team[2].git(["config", "--add", "empirica.remote", "two"]).ok();
    for round in 0..2 {
        for (n, (repo, hub)) in team.iter().zip([&one, &two, &one]).enumerate() {
            log(repo, &format!("{round} of {n}"), &mut ids);
            push(repo, hub, &format!("round-{round}-{n}"));
        }
        team[2].git(["push", "-q", "two", "HEAD:refs/heads/both"]).ok();
        if round == 0 {
            update_refs(&one, &early);
        }
    }
    // one of them does not take what the other does
    log(&team[2], "refused by one", &mut ids);
    let refuses = hook(&two, "pre-receive", "exit 1");
    let failed = team[2].run(["sync"]).code(1);
    assert!(failed.err.contains("two rejected it"), "{}", failed.err);
    assert_eq!(tips(&one), tips(&team[2]));
    fs::remove_file(refuses).expect("a hook");
    all_have(&team, &[&one, &two], &ids, 2);
}

/// A program in place of git's own that serves a remote.
fn served_by(place: &Sandbox, name: &str, body: &str) -> String {
    let path = place.path().join(name);
    script(&path, &format!("#!/bin/sh\n{body}\n"));
    path.display().to_string()
}

/// Shell that hangs, and says which process does. The user's own transfers go on.
fn hang(place: &Sandbox) -> (PathBuf, String) {
    let process = place.path().join("hangs");
    let body = format!("[ \"$EMPIRICA_IN_HOOK\" ] && {{ echo $$ >'{}'; exec sleep {HANG}; }}", process.display());
    (process, body)
}

/// Whether the process in a file runs.
fn runs(process: &Path) -> bool {
    let id = fs::read_to_string(process).expect("it hung");
    fs::read(format!("/proc/{}/cmdline", id.trim())).is_ok_and(|line| !line.is_empty())
}

/// Shell that does something for pushes of notes.
fn for_notes(body: &str) -> String {
    format!("while read old new ref; do case $ref in refs/notes/*) {body};; esac; done")
}

#[test]
fn a_remote_that_hangs_costs_a_push_no_more_than_the_limit_and_loses_nothing() {
    let place = Sandbox::new();
    let mut ids = Vec::new();
    let (hub, team) = shared(&place, 2, &mut ids);
    let (repo, (process, hang)) = (&team[0], hang(&place));
    let upload = |body: &str| {
        let path = served_by(&place, "upload-pack", &format!("{body}\nexec git-upload-pack \"$@\""));
        repo.git(["config", "remote.origin.uploadpack", &path]).ok();
    };
    let over_ssh = || {
        // what the remote runs is the last argument
        let run = "for last; do :; done; exec sh -c \"$last\"";
        let ssh = served_by(&place, "ssh", &format!("case \"$*\" in *upload-pack*) {hang};; esac\n{run}"));
        repo.git(["config", "core.sshCommand", &ssh]).ok();
        repo.git(["remote", "set-url", "--push", "origin", &format!("ssh://host{}", hub.path.display())]).ok();
    };
    let ways: [(&str, &dyn Fn()); 7] = [
        ("it does not answer", &|| upload(&hang)),
        ("it stops answering", &|| upload(&hang.replace("exec", "git-upload-pack \"$@\" | head -c 200; exec"))),
        ("it ignores signals", &|| upload(&format!("trap '' TERM INT HUP PIPE\n{hang}"))),
        ("ssh hangs", &over_ssh),
        ("it takes nothing", &|| drop(hook(&hub, "pre-receive", &for_notes(&hang)))),
        ("it takes a part", &|| drop(hook(&hub, "update", &format!("case $1 in {}) {hang};; esac", REFS[3])))),
        ("it took all", &|| drop(hook(&hub, "post-receive", &for_notes(&hang)))),
    ];
    for (name, prepare) in ways {
        let _ = fs::remove_file(&process);
        // on a busy machine a short time is over before it hangs
        let reached = [300, 1000, 3000, 9000].into_iter().find(|limit| {
            log(repo, &format!("{name}, {limit}"), &mut ids);
            prepare();
            repo.git(["config", "empirica.syncTimeout", &format!("{limit}ms")]).ok();
            let (pushed, took) = push(repo, &hub, &format!("{name}-{limit}"));
            assert!(pushed.err.contains("timed out"), "{name}: {}", pushed.err);
            assert!(took < Duration::from_millis(*limit) + SLACK, "{name}: {took:?} for a limit of {limit} ms");
            for key in ["remote.origin.uploadpack", "core.sshCommand", "remote.origin.pushurl"] {
                repo.git(["config", "--unset-all", key]);
            }
            for hook in ["pre-receive", "update", "post-receive"] {
                let _ = fs::remove_file(hub.path.join("hooks").join(hook));
            }
            process.exists()
        });
        assert!(reached.is_some() && !runs(&process), "{name}: {reached:?}");
    }
    repo.git(["config", "empirica.syncTimeout", "60s"]).ok();
    log(repo, "after all", &mut ids);
    push(repo, &hub, "after");
    assert_eq!(tips(&hub), tips(repo), "what was ended goes along");
    all_have(&team, &[&hub], &ids, 2);
}

#[test]
fn a_slow_remote_gets_all_in_time_and_loses_nothing_where_the_limit_is_short() {
    let place = Sandbox::new();
    let mut ids = Vec::new();
    let (hub, team) = shared(&place, 2, &mut ids);
    let repo = &team[0];
    let upload = served_by(&place, "upload-pack", "sleep 0.2; exec git-upload-pack \"$@\"");
    repo.git(["config", "remote.origin.uploadpack", &upload]).ok();
    hook(&hub, "pre-receive", &for_notes("sleep 0.1"));
    repo.git(["config", "empirica.syncTimeout", "60s"]).ok();
    log(repo, "slowly", &mut ids);
    push(repo, &hub, "slow");
    assert_eq!(tips(&hub), tips(repo), "it had the time");
    // ended before, in and after each part of it
    for limit in (0..800).step_by(40 * each(5)) {
        repo.git(["config", "empirica.syncTimeout", &format!("{limit}ms")]).ok();
        log(repo, &format!("within {limit}"), &mut ids);
        push(repo, &hub, &format!("limit-{limit}"));
    }
    repo.git(["config", "empirica.syncTimeout", "60s"]).ok();
    log(repo, "at last", &mut ids);
    push(repo, &hub, "last");
    assert_eq!(tips(&hub), tips(repo), "what was ended goes along");
    all_have(&team, &[&hub], &ids, 2);
}

#[test]
fn a_remote_with_a_full_disk_gets_all_with_the_first_push_after_it_has_space() {
    let place = Sandbox::new();
    let mut ids = Vec::new();
    let (hub, team) = shared(&place, 2, &mut ids);
    all_have(&team, &[&hub], &ids, 2);
    let (repo, at) = (&team[0], hub.path.join("objects").display().to_string());
    let prepare = format!(
        "cp -a '{at}' '{at}.copy' && mount -t tmpfs -o size=4m none '{at}' && cp -a '{at}.copy/.' '{at}' && rm -r '{at}.copy'"
    );
    // a branch whose commits are there needs no space
    let script = format!(
        "dd if=/dev/zero of='{at}/filler' bs=1k 2>/dev/null
         git empirica finding 'while it is full' --json
         git push origin HEAD~1:refs/heads/while-full 2>../full
         echo \"{{\\\"pushed\\\":$?}}\"
         git empirica sync --json
         rm '{at}/filler'
         git push origin HEAD~1:refs/heads/with-space 2>../space
         echo \"{{\\\"pushed\\\":$?}}\"
         cp -a '{at}/.' '{at}.left'"
    );
    let container = Container { host: "full", user: 0, umask: "0022", prepare };
    let Some(ran) = container.run(repo, &script) else { return };
    fs::remove_dir_all(&at).expect("the remote's");
    fs::rename(format!("{at}.left"), &at).expect("renamed");
    let said = |name: &str| fs::read_to_string(place.path().join(name)).expect("what git said");
    let answers: Vec<serde_json::Value> =
        ran.ok().out.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    let [finding, full, synced, space] = answers.as_slice() else { panic!("{answers:?}") };
    ids.push(id(finding));
    assert_eq!((&full["pushed"], &space["pushed"]), (&0.into(), &0.into()), "{} {}", said("full"), said("space"));
    for name in ["while-full", "with-space"] {
        assert_eq!(hub.git_out(["rev-parse", name]), repo.git_out(["rev-parse", "HEAD~1"]));
    }
    assert_eq!(synced["ok"], false, "{synced}");
    assert!(synced["reason"].to_string().contains("No space left on device"), "{synced}");
    assert!(!synced["recovery_commands"].to_string().contains("--without-damaged"), "{synced}");
    assert_eq!(tips(&hub), tips(repo), "{}{}", said("full"), said("space"));
    all_have(&team, &[&hub], &ids, 2);
}

#[test]
fn a_lock_that_a_process_left_in_the_remote_is_named_and_costs_no_day() {
    let place = Sandbox::new();
    let mut ids = Vec::new();
    let (hub, team) = shared(&place, 2, &mut ids);
    all_have(&team, &[&hub], &ids, 2);
    let repo = &team[0];
    let lock = hub.path.join("refs/notes/empirica/data/journal.lock");
    fs::write(&lock, "").expect("a lock");
    log(repo, "while it is locked", &mut ids);
    push(repo, &hub, "while-locked");
    let failed = repo.fails(1, ["sync"]);
    let reason = failed["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("cannot lock ref") && reason.contains("journal.lock': File exists"), "{failed}");
    assert!(failed["suggestion"].to_string().contains("administrator to remove the lock"), "{failed}");
    assert!(lock.exists(), "it is the server's");
    fs::remove_file(&lock).expect("a lock");
    push(repo, &hub, "after");
    assert_eq!(tips(&hub), tips(repo), "the next push sends them");
    all_have(&team, &[&hub], &ids, 2);
}

#[test]
fn records_of_a_user_who_may_push_branches_but_no_notes_stay_and_reach_others_another_way() {
    let place = Sandbox::new();
    let mut ids = Vec::new();
    let (hub, team) = shared(&place, 3, &mut ids);
    let guest = &team[1];
    // the server knows who pushes; here by the option that git passes on
    hub.git(["config", "receive.advertisePushOptions", "true"]).ok();
    guest.git(["config", "push.pushOption", "guest"]).ok();
    let refuses =
        hook(&hub, "pre-receive", &format!("[ \"$GIT_PUSH_OPTION_0\" = guest ] || exit 0\n{}", for_notes("exit 1")));
    for round in 0..2 {
        for (n, repo) in team.iter().enumerate() {
            log(repo, &format!("{round} of {n}"), &mut ids);
            push(repo, &hub, &format!("round-{round}-{n}"));
        }
    }
    let (all, theirs) = (stored(guest), stored(&hub));
    // what others push is there after the guest's own pull
    guest.git(["pull", "-q"]).ok();
    guest.run(["status"]).ok();
    assert!(theirs.keys().all(|id| stored(guest).contains_key(id)));
    let unsent: Vec<&String> = all.keys().filter(|id| !theirs.contains_key(*id)).collect();
    assert!(unsent.len() >= 4, "{unsent:?}");
    // a member takes them from the guest's clone and passes them on
    team[0].run(["sync", "../c1"]).ok();
    log(&team[0], "and passes them on", &mut ids);
    push(&team[0], &hub, "passed-on");
    let now = stored(&hub);
    assert!(unsent.iter().all(|id| now.contains_key(*id)));
    fs::remove_file(refuses).expect("a hook");
    all_have(&team, &[&hub], &ids, 2);
}
