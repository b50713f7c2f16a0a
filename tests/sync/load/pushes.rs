//! Every form of push has the exit code and effect that it has without the program, whatever the remote does with notes.

use std::fs;
use std::net::TcpListener;

use crate::repository::surroundings::id;
use crate::setup::init::script;
use crate::support::harness::{Repo, Sandbox, each};
use crate::sync::load::remotes::{all_have, log};
use crate::sync::sync_pushes::hooked;
use crate::sync::team::{clones, hook, hub, tips};

/// What a remote does when the hook exchanges notes with it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Exchange {
    Works,
    Refused,
    Hangs,
}

/// A step of the user's: commands of git that come before a push, then the push.
type Step = (&'static [&'static [&'static str]], &'static [&'static str]);

const COMMIT: &[&str] = &["commit", "-q", "--allow-empty", "-m", "More"];
const AMEND: &[&str] = &["commit", "-q", "--allow-empty", "--amend", "-m", "Amended"];

/// Each after the others, with and without the program. `mate` is a push by another clone.
const STEPS: [Step; 26] = [
    (&[COMMIT], &["push", "origin", "main"]),
    (&[&["tag", "-a", "-m", "v", "v1"], &["tag", "light"]], &["push", "origin", "v1", "light"]),
    (&[COMMIT, &["tag", "-a", "-m", "v", "v2"]], &["push", "--follow-tags", "origin", "main"]),
    (&[&["tag", "v3"]], &["push", "--tags"]),
    (&[&["tag", "-f", "light", "HEAD~1"]], &["push", "origin", "light"]),
    (&[], &["push", "--force", "origin", "light"]),
    (&[], &["push", "origin", "--delete", "v1"]),
    (&[], &["push", "origin", ":refs/tags/never"]),
    (&[&["switch", "-q", "-c", "topic"], COMMIT], &["push", "-u", "origin", "topic"]),
    (&[AMEND], &["push", "origin", "topic"]),
    (&[], &["push", "--force-with-lease"]),
    (&[AMEND], &["push", "--force-with-lease=topic:HEAD@{1}", "--force-if-includes", "origin", "topic"]),
    (&[&["mate", "topic"], AMEND], &["push", "--force-with-lease", "origin", "topic"]),
    (&[], &["push", "--force-with-lease=topic:main", "origin", "topic"]),
    (&[&["fetch", "-q"]], &["push", "--force-with-lease", "origin", "topic"]),
    (&[COMMIT, &["branch", "other"]], &["push", "--atomic", "origin", "topic", "other"]),
    (&[&["mate", "other"], COMMIT], &["push", "--atomic", "origin", "topic", "HEAD:other"]),
    (&[], &["push", "origin", "topic", "HEAD:other"]),
    (&[COMMIT], &["push", "--dry-run", "origin", "topic"]),
    (&[COMMIT], &["push", "--all", "origin"]),
    (&[&["fetch", "-q"], &["reset", "-q", "--hard", "origin/other"], COMMIT], &["push", "origin", "HEAD:other"]),
    (&[], &["push", "origin", "--delete", "other"]),
    (&[&["switch", "-q", "--detach"], COMMIT], &["push", "origin", "HEAD:refs/for/main"]),
    (&[&["switch", "-q", "topic"]], &["push", "--prune", "origin", "refs/heads/*:refs/heads/*"]),
    (&[COMMIT, &["tag", "-d", "v2"]], &["push", "--mirror", "origin"]),
    (&[], &["push"]),
];

/// The refs outside of refs/notes.
fn others(repo: &Repo<'_>) -> String {
    repo.git_out(["for-each-ref", "--exclude=refs/notes", "--format=%(refname) %(objectname)"])
}

/// Takes the steps; of each, the exit code, what git said, and the refs of the clone and the remote.
fn take(
    place: &Sandbox,
    repo: &Repo<'_>,
    mate: &Repo<'_>,
    hub: &Repo<'_>,
    before: &mut dyn FnMut(usize),
) -> Vec<(i32, String)> {
    let mut steps = Vec::new();
    for (n, (prepare, push)) in STEPS.iter().enumerate() {
        for command in *prepare {
            if let ["mate", branch] = command {
                mate.git(["fetch", "-q"]).ok();
                mate.git(["switch", "-q", "-C", "theirs", &format!("origin/{branch}")]).ok();
                mate.git(COMMIT).ok();
                mate.git(["push", "-q", "--no-verify", "origin", &format!("HEAD:{branch}")]).ok();
            } else {
                repo.git(*command).ok();
            }
        }
        before(n);
        let pushed = repo.git(push.iter().chain(&["--porcelain"]));
        let is_notes = |line: &&str| !line.contains("refs/notes/");
        let said: Vec<&str> = pushed.out.lines().filter(is_notes).collect();
        let path = place.path().display().to_string();
        let effect = format!("{push:?}\n{}\n{}\n{}", said.join("\n").replace(&path, ""), others(repo), others(hub));
        steps.push((pushed.code, effect));
    }
    steps
}

/// The steps without the program.
fn expected() -> Vec<(i32, String)> {
    let place = Sandbox::new();
    let hub = hub(&place);
    let team = clones(&place, &hub, 2);
    take(&place, &team[0], &team[1], &hub, &mut |_| {})
}

/// The steps with the hooks installed, at a remote that does one thing after another with notes.
fn with_hooks(exchange: impl Fn(usize) -> Exchange) -> Vec<(i32, String)> {
    let place = Sandbox::new();
    let hub = hub(&place);
    let team = hooked(&place, &hub, 2);
    let (repo, mate) = (&team[0], &team[1]);
    let mut ids = Vec::new();
    for clone in [mate, repo] {
        clone.start("ai", "t");
        log(clone, "first", &mut ids);
    }
    mate.run(["sync"]).ok();
    let upload = place.path().join("upload-pack");
    script(&upload, "#!/bin/sh\n[ \"$EMPIRICA_IN_HOOK\" ] && exec sleep 120\nexec git-upload-pack \"$@\"\n");
    let set = |exchange: Exchange| {
        let _ = fs::remove_file(hub.path.join("hooks/update"));
        // a refusal is remembered for a day
        let _ = fs::remove_dir_all(repo.path.join(".git/empirica/refused"));
        let limit = if exchange == Exchange::Hangs { "50ms" } else { "60s" };
        repo.git(["config", "empirica.syncTimeout", limit]).ok();
        repo.git(["config", "--unset-all", "remote.origin.uploadpack"]);
        match exchange {
            Exchange::Works => {}
            Exchange::Refused => drop(hook(&hub, "update", "case $1 in refs/notes/*) exit 1;; esac")),
            Exchange::Hangs => {
                repo.git(["config", "remote.origin.uploadpack", upload.to_str().expect("UTF-8")]).ok();
            }
        }
    };
    let taken = take(&place, repo, mate, &hub, &mut |n| {
        ids.push(id(&repo.run(["finding", &format!("before step {n}"), "--json"]).ok().json()));
        set(exchange(n));
    });
    set(Exchange::Works);
    all_have(&team, &[&hub], &ids, 9);
    taken
}

#[test]
fn every_form_of_push_ends_as_without_hooks_whatever_the_remote_does_with_notes() {
    let expected = expected();
    let exchanges = [Exchange::Works, Exchange::Refused, Exchange::Hangs];
    for first in (0..exchanges.len()).step_by(each(exchanges.len())) {
        let exchange = |n: usize| exchanges[(first + n) % exchanges.len()];
        for (n, ((code, effect), (expected_code, expected))) in with_hooks(exchange).iter().zip(&expected).enumerate() {
            assert_eq!(effect, expected, "step {n}, {:?}", exchange(n));
            // a mirror has the notes, so a server that refuses them refuses a part of what the user pushes
            let is_refused = exchange(n) == Exchange::Refused && STEPS[n].1.contains(&"--mirror");
            assert_eq!(*code, if is_refused { 1 } else { *expected_code }, "{:?}: {effect}", exchange(n));
        }
    }
}

#[test]
fn notes_go_through_the_proxy_and_to_the_program_of_the_users_pushes() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &hooked(&place, &hub, 1)[0];
    let (program, log) = (place.path().join("receive-pack"), place.path().join("received"));
    script(&program, &format!("#!/bin/sh\necho x >>'{}'\nexec git-receive-pack \"$@\"\n", log.display()));
    repo.git(["config", "remote.origin.receivepack", program.to_str().expect("UTF-8")]).ok();
    repo.run(["finding", "one"]).ok();
    repo.git(["push", "-q", "origin", "main:refs/heads/x"]).ok();
    assert_eq!(fs::read_to_string(log).expect("a log"), "x\nx\n", "the user's push, and ours");
    assert_eq!(tips(&hub), tips(repo));
    // nothing listens there
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    repo.git(["remote", "set-url", "--push", "origin", "http://host.invalid/x.git"]).ok();
    repo.git(["config", "remote.origin.proxy", &format!("http://127.0.0.1:{port}")]).ok();
    let failed = repo.run(["sync", "--json"]).code(1).json();
    assert!(failed["reason"].to_string().contains(&format!("127.0.0.1 port {port}")), "{failed}");
}
