//! `log` follows `git log`: order, selection, colors, pager, and records shown on their commits.

use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

const HANDOFFS: &str = "refs/notes/empirica/handoffs";

/// A commit at a minute of its own, by an author, with a handoff on it when `annotated`.
fn commit(repo: &Repo<'_>, minute: u32, author: &str, file: &str, message: &str, annotated: bool) -> String {
    repo.write(file, &format!("{minute}\n"));
    repo.git(["add", "--", file]).ok();
    let date = format!("2026-03-01T08:{minute:02}:00Z");
    let mut git = repo.place.command("git", &repo.path);
    git.args(["commit", "-q", "-m", message, "--author", &format!("{author} <{author}@example.com>")]);
    git.env("GIT_COMMITTER_DATE", &date).env("GIT_AUTHOR_DATE", &date);
    assert!(git.status().is_ok_and(|status| status.success()));
    if annotated {
        repo.start("ada", message);
        repo.json(["handoff", "--context", message]);
        repo.json(["session", "end"]);
    }
    repo.head()
}

/// A history with two branches and a merge: some commits have handoffs, some none.
fn history(repo: &Repo<'_>) {
    commit(repo, 1, "ann", "x/a", "One", true);
    commit(repo, 2, "ben", "b", "Two", false);
    commit(repo, 3, "ann", "x/a", "Three", true);
    repo.git(["switch", "-q", "-c", "side"]).ok();
    commit(repo, 4, "ben", "c", "Side four", true);
    repo.git(["switch", "-q", "main"]).ok();
    commit(repo, 5, "ann", "d", "Five", true);
    repo.git(["merge", "-q", "--no-ff", "-m", "Join", "side"]).ok();
    repo.start("ada", "Join");
    repo.json(["handoff"]);
    repo.json(["session", "end"]);
    repo.git(["tag", "joined"]).ok();
    repo.git(["switch", "-q", "-c", "apart"]).ok();
    commit(repo, 7, "ben", "e", "Apart", true);
    repo.git(["switch", "-q", "main"]).ok();
    commit(repo, 8, "ann", "x/b", "Eight", false);
}

fn listed(json: &Value) -> Vec<String> {
    json["commits"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|c| c["commit"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn order_and_selection_are_those_of_git_log() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    history(&repo);
    let notes = repo.git_out(["notes", "--ref", HANDOFFS, "list"]);
    let annotated: Vec<&str> = notes.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(annotated.len(), 6);
    for selection in [
        &[][..],
        &["HEAD"],
        &["HEAD~2..HEAD"],
        &["main..apart"],
        &["apart", "^main"],
        &["joined"],
        &["--all"],
        &["--first-parent"],
        &["--reverse"],
        &["--reverse", "--all"],
        &["--since", "2026-03-01T08:03:30Z"],
        &["--until", "2026-03-01T08:03:30Z"],
        &["--author", "ben"],
        &["--author=a[nx]n"],
        &["--grep", "^Th"],
        &["--", "x"],
        &["--all", "--", "c", "e"],
        &["HEAD", "--", "no-such-path"],
        &["x"],
        &["main..apart", "-3"],
        &["--merges"],
        &["--no-merges", "--all"],
        &["--branches"],
        &["--branches=ap*", "--not", "main"],
        &["--tags"],
        &["-i", "--grep", "^t"],
        &["--invert-grep", "--grep=Three"],
        &["--committer=T"],
        &["--topo-order"],
        &["-S", "5"],
        &["--all", "--", "--all"],
        &["--grep", "--all"],
        &["--after=2026-03-01T08:03:30Z", "--before", "2026-03-01T08:05:30Z"],
    ] {
        let git = repo.git_out([&["log", "--format=%H", "--exclude=refs/notes/*"], selection].concat());
        let expected: Vec<&str> = git.lines().filter(|id| annotated.contains(id)).collect();
        let ours = repo.run([&["log", "--json"], selection].concat());
        assert_eq!(listed(&ours.ok().json()), expected, "{selection:?}");
    }
    assert_eq!(listed(&repo.json(["log", "--since", "2031-01-01"])), Vec::<String>::new());
    let all = listed(&repo.json(["log", "--all"]));
    assert_eq!(all.len(), 6, "the commits of the notes are nobody's history");
    assert_eq!(listed(&repo.json(["log", "-n", "2"])), listed(&repo.json(["log"]))[..2], "-n counts annotated commits");
    assert_eq!(listed(&repo.json(["log", "-2"])), listed(&repo.json(["log"]))[..2], "as git's own -2");
    assert_eq!(listed(&repo.json(["log", "--max-count", "0"])), Vec::<String>::new());
    let mut newest = listed(&repo.json(["log", "-n2"]));
    newest.reverse();
    assert_eq!(listed(&repo.json(["log", "--reverse", "-n2"])), newest, "git takes the newest, then reverses");
    let text = repo.run(["log", "--reverse", "-2", "--oneline"]).ok().out;
    let commits: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ')).collect();
    assert!(commits.len() == 2 && newest[1].starts_with(&commits[1][..7]), "{text}");
}

#[test]
fn a_limit_counts_matching_records() {
    let place = Sandbox::new();
    let repo = place.set_up("a");
    for n in 0..3 {
        for who in ["ada", "bob"] {
            repo.start(who, &format!("task {n}"));
            repo.json(["finding", &format!("{who} saw {n}"), "--ai", who]);
            repo.json(["handoff", "--ai", who, "--next", &format!("{who} step {n}")]);
            repo.json(["session", "end", "--ai", who]);
        }
        repo.start("eve", "on the side");
        repo.json(["finding", &format!("digested {n}"), "--ai", "eve"]);
        repo.commit("f", &format!("{n}"), &format!("Commit {n}"));
    }
    let of = |given: &[&str], key: &str| -> Vec<String> {
        let json = repo.json([&["log"], given].concat());
        let commits = json["commits"].as_array().expect("a list").clone();
        let all = |commit: &Value| commit[key].as_array().cloned().unwrap_or_default();
        let text = |record: &Value| record["ai_id"].as_str().expect("an agent").to_owned();
        commits.iter().flat_map(all).map(|record| text(&record)).collect()
    };
    assert_eq!(of(&["--handoffs"], "handoffs").len(), 6);
    for n in [1, 3, 5] {
        let limit = n.to_string();
        assert_eq!(of(&["--handoffs", "-n", &limit], "handoffs").len(), n);
        assert_eq!(of(&["--journal", "-n", &limit], "journal").len(), n);
        assert_eq!(of(&["--journal", "-n", &limit, "--reverse"], "journal").len(), n);
    }
    let newest = repo.json(["log", "--handoffs", "-n1"]);
    assert_eq!(newest["commits"][0]["handoffs"][0]["task"], "task 2");
    assert_eq!(of(&["--handoffs", "-n1"], "handoffs"), ["bob"], "the newest of its commit");
    assert_eq!(of(&["--handoffs"], "digests"), Vec::<String>::new(), "digests have a switch of their own");
    let digests = of(&["--digests"], "digests");
    assert!(!digests.is_empty() && of(&["--digests"], "handoffs").is_empty());
    assert_eq!(of(&[], "digests"), digests, "both without a switch");
    assert_eq!(of(&["--ai", "ada"], "handoffs"), ["ada", "ada", "ada"]);
    assert_eq!(of(&["--ai", "ada", "-1"], "handoffs"), ["ada"]);
    assert!(of(&["--ai", "nobody"], "handoffs").is_empty());
    let text = repo.run(["log", "--handoffs", "-n", "3"]).ok().out;
    assert_eq!(text.lines().filter(|line| line.starts_with("Handoff ")).count(), 3, "{text}");
    assert!(!text.contains("Digest"), "{text}");
    assert_eq!(repo.run(["log", "--checkpoints"]).ok().out, "", "nothing is shown of an empty kind");
}

#[test]
fn options_only_git_log_supports_are_refused_with_its_command() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    for option in ["--stat", "-p", "--format=%h", "--patch", "--left-right", "--skip=1", "--walk-reflogs"] {
        let json = repo.fails(2, ["log", option, "HEAD"]);
        let name = option.split('=').next().expect("a name");
        let command = format!("git log --notes=empirica/handoffs {name}");
        assert_eq!(json["recovery_commands"][0], *command, "{json}");
    }
    assert!(repo.fails(2, ["log", "--onelin"])["suggestion"].to_string().contains("--oneline"));
    let bad = repo.run(["log", "--author"]);
    assert!(bad.code == 1 && bad.err.contains("Option '--author' requires a value"), "{}", bad.err);
}

#[test]
fn text_shows_what_git_log_shows_and_the_records_below() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    history(&repo);
    let merge = repo.git_out(["rev-parse", "joined"]);
    let git = repo.git_out(["log", "-1", "--no-color", "joined"]);
    let ours = repo.run(["log", "-n", "1", "joined"]).ok().out;
    assert!(ours.starts_with(&git), "{ours}\n--- git:\n{git}");
    assert!(ours.contains("\nMerge: ") && ours.contains("Handoff ") && ours.contains("by ada"), "{ours}");
    let line = repo.run(["log", "--oneline", "joined"]).ok().out;
    assert!(line.starts_with(&format!("{} Join\n", repo.git_out(["rev-parse", "--short", &merge]))), "{line}");
    assert_eq!(line.lines().filter(|line| !line.starts_with(' ')).count(), 5, "{line}");
    assert!(line.contains("ada: Side four ("), "{line}");
    repo.git(["config", "log.date", "short"]).ok();
    assert!(repo.run(["log", "-n", "1"]).ok().out.contains("\nDate:   2026-03-01\n"), "log.date is the user's");
}

#[test]
fn checkpoints_and_journal_stand_beside_their_commits() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    repo.start("ada", "Work");
    repo.json(["finding", "On the first"]);
    repo.json(["preflight", "-v", "know=0.5"]);
    repo.commit("b", "b\n", "Second");
    repo.json(["finding", "On the second"]);
    let json = repo.json(["log", "--journal"]);
    assert_eq!(listed(&json).len(), 2, "also what waits in the log: {json}");
    assert_eq!(json["commits"][0]["journal"][0]["text"], "On the second");
    let json = repo.json(["log", "--checkpoints"]);
    assert_eq!((listed(&json).len(), &json["commits"][0]["subject"]), (1, &"Begin".into()));
    assert_eq!(listed(&repo.json(["log"])).len(), 0, "handoffs are the default");
    assert_eq!(listed(&repo.json(["log", "--handoffs", "--checkpoints", "--journal"])).len(), 2);
}

#[test]
fn an_attached_record_is_shown_once_at_its_first_commit() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let first = repo.commit("b", "b\n", "Draft");
    repo.start("ada", "Work");
    let handoff = repo.json(["handoff", "--context", "C"])["handoff_id"].as_str().expect("an id").to_owned();
    repo.git(["commit", "-q", "--amend", "-m", "Final"]).ok();
    let second = repo.head();
    assert_eq!(listed(&repo.json(["log"])), Vec::<String>::new(), "nothing has attached it yet");
    let data = "refs/notes/empirica/data/handoffs";
    let attach = format!(
        "{{\"v\":1,\"id\":\"019ca945-ffff-7ba9-9fc4-000000000001\",\"kind\":\"attach\",\"session\":null,\"ai\":\"x\",\"at\":\"2026-03-01T13:00:00.000Z\",\"commit\":null,\"tree\":null,\"of\":[\"{handoff}\"],\"from\":\"{first}\",\"to\":\"{second}\"}}\n"
    );
    repo.write("note", &(repo.note(data, &first) + &attach));
    for on in [&first, &second] {
        repo.git(["notes", "--ref", data, "add", "-f", "-F", "note", on]).ok();
    }
    let json = repo.json(["log"]);
    assert_eq!(listed(&json), [&second[..]]);
    assert_eq!(json["commits"][0]["handoffs"][0]["handoff_id"], *handoff);
    repo.git(["branch", "old", &first]).ok();
    assert_eq!(listed(&repo.json(["log", "--all"])), [second], "at home only, though the old commit has a copy");
    assert_eq!(repo.json(["handoff", "list"])["total_found"], 1);
}

#[test]
fn a_detached_and_an_unborn_head_have_a_log() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    history(&repo);
    repo.git(["switch", "-q", "--detach", "joined"]).ok();
    assert_eq!(listed(&repo.json(["log"])).len(), 5);
    let unborn = place.init("unborn");
    assert_eq!(listed(&unborn.json(["log"])), Vec::<String>::new());
    assert_eq!(unborn.run(["log"]).ok().out, "");
    unborn.start("ada", "Begin");
    unborn.json(["handoff", "--next", "Go"]);
    assert_eq!(unborn.run(["log", "--all"]).ok().out, "");
    let first = unborn.commit("a", "a\n", "First");
    assert_eq!(listed(&unborn.json(["log"])), [first], "what was said before the first commit is attached to it");
}

#[test]
fn colors_follow_the_configuration_the_terminal_and_no_color() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    history(&repo);
    let colored = |env: &[(&str, &str)], given: &[&str]| repo.run_with_env(env, given).ok().out.contains('\u{1b}');
    for given in [&["log"][..], &["log", "--oneline"], &["status"], &["session", "list"]] {
        assert!(!colored(&[], given), "{given:?}: no terminal, no color");
    }
    repo.git(["config", "color.ui", "always"]).ok();
    for given in [&["log"][..], &["log", "--oneline"]] {
        assert!(colored(&[], given), "{given:?}: always is always");
        assert!(!colored(&[("NO_COLOR", "1")], given), "{given:?}");
        assert!(colored(&[("NO_COLOR", "")], given), "{given:?}: an empty NO_COLOR is none");
        assert!(!colored(&[], &[given, &["--json"]].concat()), "{given:?}");
    }
    repo.git(["config", "color.ui", "never"]).ok();
    assert!(!colored(&[("GIT_PAGER_IN_USE", "true")], &["log"]));
    repo.git(["config", "color.ui", "auto"]).ok();
    assert!(colored(&[("GIT_PAGER_IN_USE", "true"), ("TERM", "xterm")], &["log"]), "git's own pager shows colors");
    for on in [&["log", "--color"][..], &["log", "--color=always", "--oneline"]] {
        assert!(colored(&[("NO_COLOR", "1")], on), "{on:?}: what is asked for is stronger than the environment");
    }
    repo.git(["config", "color.ui", "always"]).ok();
    for off in [&["log", "--no-color"][..], &["log", "--color=never"], &["log", "--color=auto"]] {
        assert!(!colored(&[], off), "{off:?}");
    }
    repo.fails(2, ["log", "--color"]);
}

#[test]
fn the_pager_is_left_alone_without_a_terminal() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    history(&repo);
    for given in [&["log"][..], &["show"], &["session", "list"], &["handoff", "list"]] {
        let ran = repo.run_with_env(&[("GIT_PAGER", "touch paged; cat")], given).ok();
        assert!(!ran.out.is_empty() && !repo.path.join("paged").exists(), "{given:?}");
    }
}

#[test]
fn plain_git_shows_the_handoff_to_people() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    history(&repo);
    let clone = place.clone(&repo, "clone", true);
    let shown = clone.git_out(["log", "-1", "--notes=empirica/handoffs", "joined"]);
    for text in ["Notes (empirica/handoffs):", "# Join (ada, ", "- All: `git empirica show "] {
        assert!(shown.contains(text), "{text:?}:\n{shown}");
    }
    assert!(!shown.contains("{\"v\":1"), "people never see JSON: {shown}");
    assert_eq!(listed(&clone.json(["log", "joined"])), listed(&repo.json(["log", "joined"])));
}

#[test]
fn a_bad_revision_is_refused_in_gits_own_words() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    for bad in ["no-such", "HEAD~99", "main..no-such", "main:no-such", "@{99999999}"] {
        let git = repo.git(["log", bad]);
        assert_eq!(git.code, 128, "{bad}");
        let words = git.err.lines().next().unwrap_or_default().trim_start_matches("fatal: ").to_owned();
        let ran = repo.run(["log", bad]).code(1);
        assert!(ran.err.contains(&words) && ran.out.is_empty(), "{bad}: {words:?}: {}", ran.err);
        assert_eq!(repo.fails(1, ["log", bad])["error"], format!("git failed: {words}"));
    }
}

#[test]
fn output_comes_before_the_whole_history_is_read_and_a_closed_pipe_is_no_error() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    // a long history in one go: the newest commit has a handoff
    let stream: String = (0..3000)
        .map(|n| {
            format!(
                "commit refs/heads/main\ncommitter T <t@example.com> {} +0000\ndata 2\nc\n{}\n",
                1_700_000_000 + n,
                if n == 0 { "from refs/heads/main^0\n" } else { "" }
            )
        })
        .collect();
    repo.write("stream", &stream);
    let import = place.command("sh", &repo.path).args(["-c", "git fast-import --quiet --force < stream"]).status();
    assert!(import.is_ok_and(|status| status.success()));
    repo.start("ada", "Newest");
    repo.json(["handoff"]);
    // more than a pipe holds
    repo.run_with_input(["finding", "-"], "A long finding. ".repeat(20_000).as_bytes()).ok();
    repo.run(["flush"]).ok();
    // the oldest commit cannot be read: reading to the end fails
    let root = repo.git_out(["rev-list", "--max-parents=0", "HEAD"]);
    std::fs::remove_file(repo.path.join(".git/objects").join(&root[..2]).join(&root[2..])).expect("it is loose");
    assert_ne!(repo.run(["log"]).code, 0, "a history that cannot be read whole is not passed over in silence");
    assert_eq!(listed(&repo.json(["log", "-n", "1"])), [repo.head()], "and nothing older is needed for this");
    for reader in [&["log", "--journal"][..], &["log", "--journal", "--handoffs"]] {
        let mut command = repo.program();
        let mut child =
            command.args(reader).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut first = [0; 7];
        child.stdout.take().expect("a pipe").read_exact(&mut first).expect("output");
        assert_eq!(&first, b"commit ");
        // the pipe is closed now
        let out = child.wait_with_output().expect("it ends");
        assert_eq!(out.status.code(), Some(0), "{reader:?}");
        assert_eq!(String::from_utf8_lossy(&out.stderr), "", "{reader:?}");
    }
}
