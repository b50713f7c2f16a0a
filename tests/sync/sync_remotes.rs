//! `sync` over git's transports, and with remotes that refuse, vanish, or do not exist.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::support::harness::{Repo, Sandbox};
use crate::sync::team::{
    REFS, all_refs, clones, converge, hook, hub, is_quiet, lines, statuses, sync, tips, trees, work,
};

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

/// A process that is ended when dropped.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `git daemon` over everything in the place, with pushing allowed.
fn daemon(place: &Sandbox) -> (Served, u16) {
    let exec = Command::new("git").arg("--exec-path").output().expect("git starts").stdout;
    let program = std::path::Path::new(String::from_utf8_lossy(&exec).trim()).join("git-daemon");
    for _ in 0..5 {
        let port = free_port();
        let mut command = place.command(&program, &place.path());
        command.args(["--reuseaddr", "--export-all", "--enable=receive-pack", "--listen=127.0.0.1"]);
        command.arg(format!("--base-path={}", place.path().display())).arg(format!("--port={port}"));
        let mut served = Served(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"));
        for _ in 0..500 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return (served, port);
            }
            if !matches!(served.0.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    panic!("git daemon does not listen");
}

/// One request, handed to `git http-backend` as a web server does.
fn serve(place: &Sandbox, stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut backend = place.command("git", &place.path());
    backend.arg("http-backend").env("GIT_PROJECT_ROOT", place.path()).env("GIT_HTTP_EXPORT_ALL", "1");
    backend.env("REQUEST_METHOD", method).env("PATH_INFO", path).env("QUERY_STRING", query).env("REMOTE_USER", "x");
    let (mut length, mut chunked) = (0, false);
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "transfer-encoding" => chunked = value == "chunked",
            "content-type" => drop(backend.env("CONTENT_TYPE", value)),
            "content-encoding" => drop(backend.env("HTTP_CONTENT_ENCODING", value)),
            "git-protocol" => drop(backend.env("GIT_PROTOCOL", value)),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    while chunked {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let mut chunk = vec![0; usize::from_str_radix(line.trim(), 16).ok()? + 2];
        reader.read_exact(&mut chunk).ok()?;
        chunk.truncate(chunk.len() - 2);
        chunked = !chunk.is_empty();
        body.extend(chunk);
    }
    backend.env("CONTENT_LENGTH", body.len().to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = backend.stderr(Stdio::null()).spawn().ok()?;
    let mut input = child.stdin.take()?;
    let writer = std::thread::spawn(move || drop(input.write_all(&body)));
    let mut answer = Vec::new();
    child.stdout.take()?.read_to_end(&mut answer).ok()?;
    writer.join().ok()?;
    child.wait().ok()?;
    let head = String::from_utf8_lossy(&answer[..answer.len().min(2000)]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK").to_owned();
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\n").ok()?;
    stream.write_all(&answer).ok()
}

#[test]
fn clones_converge_over_git_daemon() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let (_served, port) = daemon(&place);
    let repos = clones(&place, &hub, 3);
    for repo in &repos {
        repo.git(["remote", "set-url", "origin", &format!("git://127.0.0.1:{port}/hub.git")]).ok();
    }
    converge(&repos, &hub, 2);
}

#[test]
fn clones_converge_over_smart_http() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 3);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    for repo in &repos {
        repo.git(["remote", "set-url", "origin", &format!("http://{address}/hub.git")]).ok();
    }
    std::thread::scope(|scope| {
        let place = &place;
        scope.spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut byte = [0];
                // a connection that ends at once says that it is over
                if stream.peek(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                scope.spawn(move || serve(place, stream));
            }
        });
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| converge(&repos, &hub, 2)));
        drop(TcpStream::connect(address));
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

#[test]
fn a_url_that_git_rewrites_leads_where_git_goes() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = place.repo("project");
    let base = format!("url.{}/", place.path().display());
    for (key, url) in [("insteadOf", "team:hub.git"), ("pushInsteadOf", "review:hub.git")] {
        repo.git(["config", &format!("{base}.{key}"), url.trim_end_matches("hub.git")]).ok();
        repo.git(["remote", "remove", "origin"]);
        repo.git(["remote", "add", "origin", url]).ok();
        let id = repo.json(["finding", url, "--ai", "ada"])["id"].as_str().expect("an id").to_owned();
        let sent = repo.json(["sync", "origin"]);
        assert_eq!(sent["ok"], true, "{sent}");
        assert!(hub.run(["export", "--jsonl"]).ok().out.contains(&id), "{key}");
    }
}

#[test]
fn a_server_that_refuses_notes_is_named_with_its_own_words_and_the_records_stay() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &clones(&place, &hub, 1)[0];
    work(repo, "one");
    let before = tips(repo);
    let script = "while read old new ref; do case $ref in refs/notes/*) echo no notes here >&2; exit 1;; esac; done";
    let refuses = hook(&hub, "pre-receive", script);
    let failed = repo.fails(1, ["sync"]);
    assert!(failed["error"].as_str().is_some_and(|text| text.contains("rejected")), "{failed}");
    assert!(failed["reason"].as_str().is_some_and(|text| text.contains("hook declined")), "{failed}");
    assert_eq!(tips(repo), before);
    let remembered = || std::fs::read_dir(repo.path.join(".git/empirica/refused")).map_or(0, |folder| folder.count());
    assert_eq!(remembered(), 1);
    std::fs::remove_file(refuses).expect("a file");
    assert_eq!(statuses(&sync(repo)), ["sent"; 4], "asked for by name it is tried all the same");
    assert_eq!(remembered(), 0);
}

#[test]
fn a_sync_that_cannot_write_what_is_pending_fails_after_it_sent_the_rest() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &clones(&place, &hub, 1)[0];
    work(repo, "one");
    repo.run(["flush"]).ok();
    repo.run(["finding", "still pending"]).ok();
    let lock = repo.path.join(".git").join(format!("{}.lock", REFS[0]));
    std::fs::write(&lock, "").expect("a lock");
    let failed = repo.run(["sync", "--json"]);
    assert!(failed.code != 0 && failed.out.contains("journal.lock"), "{failed:?}");
    assert!(tips(&hub).iter().all(Option::is_some), "what was in the notes was sent");
    std::fs::remove_file(lock).expect("a lock");
    sync(repo);
    assert!(lines(&hub).join("\n").contains("still pending"));
}

#[test]
fn one_ref_that_is_refused_does_not_keep_the_others() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &clones(&place, &hub, 1)[0];
    work(repo, "one");
    hook(&hub, "update", "case $1 in refs/notes/empirica/data/journal) exit 1;; esac");
    let failed = repo.fails(1, ["sync"]);
    assert!(failed["error"].as_str().is_some_and(|text| text.contains(REFS[0])), "{failed}");
    let there = tips(&hub);
    assert!(there[0].is_none() && there[1..].iter().all(Option::is_some), "{there:?}");
}

#[test]
fn a_server_that_denies_non_fast_forwards_accepts_every_sync() {
    let place = Sandbox::new();
    let hub = hub(&place);
    hub.git(["config", "receive.denyNonFastForwards", "true"]).ok();
    hub.git(["config", "receive.denyDeletes", "true"]).ok();
    let repos = clones(&place, &hub, 3);
    converge(&repos, &hub, 2);
}

#[test]
fn a_remote_that_vanishes_midway_loses_nothing() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    work(&repos[0], "one");
    sync(&repos[0]);
    work(&repos[1], "two");
    let all = lines(&repos[1]);
    // it lets itself be fetched from, and dies while it is pushed to
    let dies = hook(&hub, "pre-receive", "kill -9 $PPID");
    let there = all_refs(&hub);
    let failed = repos[1].fails(1, ["sync"]);
    assert!(failed["suggestion"].as_str().is_some_and(|text| text.contains("safe")), "{failed}");
    let now = lines(&repos[1]);
    assert!(all.iter().all(|line| now.contains(line)));
    assert_eq!(all_refs(&hub), there);
    std::fs::remove_file(dies).expect("a file");
    sync(&repos[1]);
    sync(&repos[0]);
    assert_eq!(trees(&repos[0]), trees(&repos[1]));
    assert_eq!(trees(&repos[0]), trees(&hub));
}

#[test]
fn a_missing_or_wrong_remote_error_suggests_a_fix() {
    let place = Sandbox::new();
    let alone = place.repo("alone");
    let failed = alone.fails(1, ["sync"]);
    assert!(failed["suggestion"].to_string().contains("git remote add"), "{failed}");
    for name in ["b/x", "a"] {
        alone.git(["remote", "add", name, "../nowhere.git"]).ok();
    }
    let failed = alone.fails(1, ["sync"]);
    assert_eq!(failed["alternatives"], serde_json::json!(["a", "b/x"]), "{failed}");
    assert_eq!(alone.fails(1, ["sync", "nosuch"])["provided"], "nosuch");
    let ran = alone.run(["sync", "--json", "--", "--upload-pack=touch x"]).code(1);
    assert_eq!(ran.json()["provided"], "--upload-pack=touch x");
    let failed = alone.fails(1, ["sync", "a"]);
    assert!(failed["reason"].as_str().is_some_and(|text| text.contains("nowhere.git")), "{failed}");
    assert!(failed["suggestion"].as_str().is_some_and(|text| text.contains("no such repository")), "{failed}");
}

#[test]
fn a_remote_with_an_odd_name_a_path_and_a_url_are_places_too() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    work(&repos[0], "one");
    repos[0].git(["remote", "rename", "origin", "up/data"]).ok();
    assert_eq!(statuses(&sync(&repos[0])), ["sent"; 4]);
    assert!(is_quiet(&sync(&repos[0])));
    work(&repos[1], "two");
    repos[1].git(["remote", "remove", "origin"]).ok();
    let url = format!("file://{}", hub.path.display());
    let synced = repos[1].json(["sync", &url])["remotes"][0].clone();
    assert_eq!(statuses(&synced), ["exchanged"; 4]);
    for given in [url.as_str(), "../hub.git"] {
        assert!(is_quiet(&repos[1].json(["sync", given])["remotes"][0]), "{given}");
    }
    let kept = repos[1].git_out(["for-each-ref", "--format=%(refname)", "refs/notes/empirica/remotes"]);
    assert!(kept.lines().all(|name| name.starts_with("refs/notes/empirica/remotes/url-")), "{kept}");
    sync(&repos[0]);
    assert_eq!(trees(&repos[0]), trees(&repos[1]));
}

#[test]
fn it_goes_to_the_remote_that_is_configured_or_tracked() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &clones(&place, &hub, 1)[0];
    for name in ["one", "two"] {
        hub.git(["clone", "-q", "--bare", ".", &format!("../{name}.git")]).ok();
        repo.git(["remote", "add", name, &format!("../{name}.git")]).ok();
    }
    work(repo, "a");
    let (one, two) = (place.at("one.git"), place.at("two.git"));
    repo.git(["config", "branch.main.remote", "two"]).ok();
    assert_eq!(sync(repo)["remote"], "two");
    assert_eq!((tips(&one), tips(&two)), (vec![None; 4], tips(repo)));
    repo.git(["config", "--add", "empirica.remote", "one"]).ok();
    repo.git(["config", "--add", "empirica.remote", "origin"]).ok();
    let json = repo.json(["sync"]);
    assert_eq!(json["remotes"].as_array().map(Vec::len), Some(2), "{json}");
    assert_eq!((tips(&one), tips(&hub)), (tips(repo), tips(repo)));
}

#[test]
fn the_python_tools_refs_are_left_alone_and_stay_here() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let theirs = [
        "refs/notes/empirica/session/0a1b/PREFLIGHT/1",
        "refs/notes/empirica/handoff/0a1b",
        "refs/notes/empirica/findings/0a1b",
        "refs/notes/empirica-precompact",
        "refs/notes/breadcrumbs",
    ];
    for name in theirs {
        repos[0].git(["notes", "--ref", name, "add", "-m", "{}"]).ok();
    }
    let ids: Vec<_> = theirs.iter().map(|name| repos[0].git_out(["rev-parse", name])).collect();
    work(&repos[0], "one");
    sync(&repos[0]);
    sync(&repos[1]);
    assert_eq!(theirs.iter().map(|name| repos[0].git_out(["rev-parse", name])).collect::<Vec<_>>(), ids);
    for repo in [&hub, &repos[1]] {
        let refs = all_refs(repo);
        assert!(theirs.iter().all(|name| !refs.contains(name)), "{refs}");
    }
}

/// A clone made by git with options, over `file://`, so that they count.
fn special<'p>(place: &'p Sandbox, hub: &Repo<'p>, name: &str, options: &[&str]) -> Repo<'p> {
    let url = format!("file://{}", hub.path.display());
    hub.git(["clone", "-q"].iter().chain(options).chain(&[url.as_str(), &format!("../{name}")])).ok();
    let repo = place.at(name);
    repo.git(["config", "user.name", "Special"]).ok();
    repo.git(["config", "user.email", "special@example.com"]).ok();
    repo
}

#[test]
fn partial_clones_fetch_notes_in_one_batch_and_push_their_own() {
    let place = Sandbox::new();
    let hub = hub(&place);
    hub.git(["config", "uploadpack.allowFilter", "true"]).ok();
    hub.git(["config", "uploadpack.allowAnySHA1InWant", "true"]).ok();
    let full = &clones(&place, &hub, 1)[0];
    work(full, "one");
    sync(full);
    for (name, filter) in [("blobless", "--filter=blob:none"), ("treeless", "--filter=tree:0")] {
        let repo = special(&place, &hub, name, &[filter]);
        // the user's own fetch brings the commits without what they hold
        repo.git(["fetch", "-q", "origin"].iter().chain(&crate::sync::team::SPECS)).ok();
        let read = repo.json(["handoff", "list"]);
        assert!(read.get("warning").is_none(), "what is lacking is fetched: {read}");
        assert!(read["handoffs"].to_string().contains("task of one"), "{read}");
        let trace = place.path().join(format!("{name}.trace"));
        let trace = trace.to_str().expect("UTF-8");
        let synced = repo.json_with_env(&[("GIT_TRACE", trace)], ["sync"]);
        assert_eq!(synced["remotes"][0]["rounds"], 1, "{synced}");
        let fetches = std::fs::read_to_string(trace).expect("a trace").matches("built-in: git fetch").count();
        assert!(fetches <= 2, "{fetches} fetches");
        assert_eq!(trees(&repo), trees(&hub), "{name}");
        assert!(lines(&repo).join("\n").contains("finding of one"));
        work(&repo, name);
        assert_eq!(statuses(&sync(&repo)), ["sent"; 4]);
        sync(full);
        assert!(lines(full).join("\n").contains(&format!("finding of {name}")));
        repo.fsck();
    }
}

#[test]
fn a_shallow_clone_that_pruned_and_pushed_deletes_nothing_for_anyone() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    work(&repos[0], "new");
    repos[0].git(["checkout", "-q", "HEAD~2"]).ok();
    work(&repos[0], "old");
    sync(&repos[0]);
    sync(&repos[1]);
    let (whole, all) = (trees(&hub), lines(&hub));
    let shallow = special(&place, &hub, "shallow", &["--depth=1"]);
    shallow.git(["fetch", "-q", "--depth=1", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    for name in REFS {
        shallow.git(["notes", "--ref", name, "prune"]).ok();
        shallow.git(["push", "-q", "origin", name]).ok();
    }
    assert_ne!(trees(&hub), whole, "the prune was to remove notes");
    // by git's own words it is a fast-forward
    repos[1].git(["fetch", "-q", "origin"]).ok();
    repos[1].json(["status"]);
    assert_eq!(trees(&repos[1]), whole);
    sync(&repos[0]);
    assert_eq!((trees(&hub), lines(&hub)), (whole.clone(), all));
    work(&shallow, "shallow");
    sync(&shallow);
    sync(&repos[1]);
    assert_eq!(trees(&shallow), trees(&repos[1]));
    assert!(lines(&repos[1]).join("\n").contains("finding of old"));
}

#[test]
fn it_works_from_a_subfolder_a_linked_worktree_a_bare_repository_and_a_given_git_dir() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &clones(&place, &hub, 1)[0];
    repo.git(["config", "remote.origin.url", "../hub.git"]).ok();
    work(repo, "one");
    repo.write("sub/deep/f", "f\n");
    let deep = Repo { place: &place, path: repo.path.join("sub/deep") };
    assert_eq!(statuses(&sync(&deep)), ["sent"; 4]);
    repo.json(["finding", "two"]);
    let set = [("GIT_DIR", "../../.git"), ("GIT_WORK_TREE", "../..")];
    let json = deep.json_with_env(&set, ["sync"]);
    assert_eq!(json["remotes"][0]["refs"][0]["status"], "sent", "{json}");
    repo.git(["worktree", "add", "-q", "-b", "topic", "../linked"]).ok();
    let linked = place.at("linked");
    linked.start("three", "t");
    linked.json(["finding", "three"]);
    assert_eq!(statuses(&sync(&linked))[0], "sent");
    hub.git(["clone", "-q", "--bare", ".", "../bare.git"]).ok();
    let bare = place.at("bare.git");
    bare.git(["config", "remote.origin.url", hub.path.to_str().expect("UTF-8")]).ok();
    assert_eq!(statuses(&sync(&bare)), ["received"; 4]);
    assert_eq!(trees(&bare), trees(repo));
}
