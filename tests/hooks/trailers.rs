//! `empirica.trailers`: commits made in a session name it in their message.

use crate::support::harness::{Repo, RunOutput, Sandbox};

/// A repository that is set up with trailers, and an active session.
fn with_trailers<'s>(sandbox: &'s Sandbox) -> (Repo<'s>, String) {
    let repo = sandbox.repo("r");
    repo.git(["config", "empirica.trailers", "true"]).ok();
    repo.run(["init"]).ok();
    let session = repo.start("ada", "Work");
    (repo, session)
}

/// The sessions in the trailers of a commit, as git reads them.
fn trailers(repo: &Repo<'_>, commit: &str) -> Vec<String> {
    let format = "--format=%(trailers:key=Empirica-Session,valueonly,separator=%x0A)";
    let out = repo.git_out(["log", "-1", format, commit]);
    out.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn message(repo: &Repo<'_>) -> String {
    repo.git_out(["log", "-1", "--format=%B"])
}

#[test]
fn a_commit_in_a_session_names_it_once() {
    let sandbox = Sandbox::new();
    let (repo, session) = with_trailers(&sandbox);
    repo.commit("a.txt", "a\n", "One line");
    assert_eq!(message(&repo), format!("One line\n\nEmpirica-Session: {session}"));
    // beside other trailers, behind a line that looks like the end of a patch's message
    repo.commit("a.txt", "b\n", "Subject\n\nBody\n---\nmore\n\nSigned-off-by: A <a@b.example>");
    assert!(message(&repo).ends_with(&format!("Signed-off-by: A <a@b.example>\nEmpirica-Session: {session}")));
    // amended
    repo.git(["commit", "-q", "--amend", "--no-edit"]).ok();
    assert_eq!(trailers(&repo, "HEAD"), std::slice::from_ref(&session));
    // by another session: both worked on it
    repo.json(["session", "end", "--session", &session]);
    let other = repo.start("bo", "More");
    repo.git(["commit", "-q", "--amend", "--no-edit"]).ok();
    assert_eq!(trailers(&repo, "HEAD"), [session.clone(), other.clone()]);
    // a squash whose messages name the session in the middle
    repo.git(["checkout", "-q", "-b", "topic"]).ok();
    repo.commit("b.txt", "b\n", "Topic");
    repo.git(["checkout", "-q", "-"]).ok();
    repo.git(["merge", "-q", "--squash", "topic"]).ok();
    repo.git(["commit", "-q", "--no-edit"]).ok();
    assert_eq!(message(&repo).matches(&other).count(), 1, "{}", message(&repo));
    // no session, no trailer
    repo.json(["session", "end", "--session", &other]);
    repo.commit("a.txt", "c\n", "Alone");
    assert_eq!(message(&repo), "Alone");
}

#[test]
fn the_commits_of_others_and_those_that_git_makes_name_none() {
    let sandbox = Sandbox::new();
    let (repo, session) = with_trailers(&sandbox);
    repo.json(["session", "end"]);
    repo.git(["checkout", "-q", "-b", "topic"]).ok();
    repo.commit("b.txt", "b\n", "Theirs");
    repo.git(["commit", "-q", "--amend", "--no-edit", "--author", "Else <else@example.com>"]).ok();
    repo.git(["checkout", "-q", "main"]).ok();
    let second = repo.start("ada", "Pick");
    repo.commit("a.txt", "a\n", "Mine");
    assert_eq!(trailers(&repo, "HEAD"), [second]);
    for arguments in [
        vec!["cherry-pick", "topic"],
        vec!["commit", "--amend", "--no-edit"],
        vec!["commit", "--amend", "-m", "Theirs, in other words"],
        vec!["revert", "--no-edit", "HEAD"],
        vec!["reset", "-q", "--hard", "HEAD~2"],
        vec!["merge", "-q", "--no-ff", "--no-edit", "topic"],
        vec!["checkout", "-q", "topic"],
        vec!["rebase", "-q", "--force-rebase", "main~1"],
    ] {
        repo.git(&arguments).ok();
        let named = arguments[0] == "reset";
        assert_eq!(trailers(&repo, "HEAD").is_empty(), !named, "{arguments:?}: {}", message(&repo));
    }
    // an edited pick, and git am
    repo.git(["checkout", "-q", "-b", "patched", "main~1"]).ok();
    repo.git(["cherry-pick", "--no-commit", "topic"]).ok();
    repo.git(["commit", "-q", "-C", "topic"]).ok();
    assert!(trailers(&repo, "HEAD").is_empty(), "{}", message(&repo));
    assert!(!repo.git_out(["log", "--format=%B", "--all", "--exclude=refs/notes/*"]).contains(&session));
}

/// Commits with an editor that runs a script on the message.
fn edited(repo: &Repo<'_>, script: &str, arguments: &[&str]) -> RunOutput {
    let editor = repo.path.join(".git/editor");
    crate::setup::init::script(&editor, &format!("#!/bin/sh\n{script}\n"));
    repo.write("e.txt", &format!("{script}{arguments:?}\n"));
    repo.git(["add", "."]).ok();
    let mut command = repo.place.command("git", &repo.path);
    let ran = command.arg("commit").args(arguments).env("GIT_EDITOR", &editor).output().expect("git starts");
    RunOutput::new(ran)
}

#[test]
fn an_empty_message_still_stops_the_commit() {
    let sandbox = Sandbox::new();
    let (repo, session) = with_trailers(&sandbox);
    let head = repo.head();
    for arguments in [vec![], vec!["--verbose"], vec!["--cleanup=scissors"], vec!["--cleanup=scissors", "-v"]] {
        let refused = edited(&repo, "exit 0", &arguments);
        assert_ne!(refused.code, 0, "{arguments:?}");
        assert!(refused.err.contains("empty commit message"), "{arguments:?}: {}", refused.err);
        assert_eq!(repo.head(), head, "{arguments:?}");
    }
    // with a text, in each of them
    for arguments in [vec![], vec!["--verbose"], vec!["--cleanup=scissors", "-v"]] {
        edited(&repo, "{ echo Text; cat \"$1\"; } > \"$1.new\" && mv \"$1.new\" \"$1\"", &arguments).ok();
        assert_eq!(message(&repo), format!("Text\n\nEmpirica-Session: {session}"), "{arguments:?}");
    }
    repo.git(["config", "core.commentChar", ";"]).ok();
    assert_ne!(edited(&repo, "exit 0", &["-v"]).code, 0);
}

#[test]
fn another_hook_decides_first_and_a_fault_stops_no_commit() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    let theirs = repo.path.join(".git/hooks/commit-msg");
    crate::setup::init::script(
        &theirs,
        "#!/bin/sh\ngrep -q Empirica \"$1\" && exit 3\ngrep -q bad \"$1\" && exit 4\nexit 0\n",
    );
    repo.git(["config", "empirica.trailers", "true"]).ok();
    repo.run(["init"]).ok();
    let session = repo.start("ada", "Work");
    repo.commit("a.txt", "a\n", "Good");
    assert_eq!(trailers(&repo, "HEAD"), [session]);
    repo.write("a.txt", "b\n");
    let refused = repo.git(["commit", "-q", "-a", "-m", "bad"]);
    assert_ne!(refused.code, 0, "theirs refuses");
    // what cannot be done is left out
    std::fs::write(repo.path.join(".git/empirica/current/main/broken"), "no session").expect("a file");
    repo.git(["config", "trailer.separators", "%"]).ok();
    repo.git(["commit", "-q", "-a", "-m", "Fine"]).ok();
    assert!(message(&repo).starts_with("Fine"));
}

#[test]
fn the_hook_is_there_only_while_it_is_wanted() {
    let sandbox = Sandbox::new();
    for newer in [false, true] {
        let sandbox = if newer { Sandbox::newer_git() } else { Sandbox::older_git() };
        let repo = sandbox.repo("r");
        let hook = || match newer {
            true => repo.git(["config", "--get", "hook.empirica-commit-msg.command"]).code == 0,
            false => repo.path.join(".git/hooks/commit-msg").exists(),
        };
        repo.run(["init"]).ok();
        assert!(!hook(), "{newer}");
        repo.git(["config", "empirica.trailers", "true"]).ok();
        let doctor = repo.run(["doctor"]);
        assert!(doctor.out.contains("git empirica init"), "{}", doctor.out);
        repo.run(["init"]).ok();
        assert!(hook(), "{newer}");
        repo.git(["config", "empirica.trailers", "false"]).ok();
        repo.run(["init"]).ok();
        assert!(!hook(), "{newer}");
        repo.git(["config", "empirica.trailers", "true"]).ok();
        repo.run(["init"]).ok();
        repo.run(["deinit"]).ok();
        assert!(!hook(), "{newer}");
    }
    // in a folder of ours, the other tool's hook is called meanwhile
    let repo = sandbox.repo("r");
    let theirs = repo.path.join(".husky/commit-msg");
    crate::setup::init::script(&theirs, "#!/bin/sh\necho theirs >> \"$1\"\n");
    repo.git(["config", "core.hooksPath", ".husky"]).ok();
    repo.run(["init"]).ok();
    let session = repo.start("ada", "Work");
    repo.commit("a.txt", "a\n", "One");
    assert_eq!(message(&repo), "One\ntheirs");
    repo.git(["config", "empirica.trailers", "true"]).ok();
    repo.run(["init"]).ok();
    repo.commit("a.txt", "b\n", "Two");
    assert_eq!(message(&repo), format!("Two\ntheirs\n\nEmpirica-Session: {session}"));
    repo.git(["config", "empirica.trailers", "false"]).ok();
    repo.run(["init"]).ok();
    repo.commit("a.txt", "c\n", "Three");
    assert_eq!(message(&repo), "Three\ntheirs");
}

/// A clone of a repository whose `main` has the squash of a branch, without the branch. Returns the session of the branch.
fn squashed<'s>(sandbox: &'s Sandbox) -> (Repo<'s>, String) {
    let (repo, session) = with_trailers(sandbox);
    repo.git(["checkout", "-q", "-b", "topic"]).ok();
    repo.json(["decision", "Use a ring", "--why", "bounded memory"]);
    repo.commit("a.txt", "one\n", "First");
    repo.json(["deadend", "mmap", "--why", "NFS"]);
    repo.commit("a.txt", "two\n", "Second");
    repo.hand_over("The ring");
    repo.json(["session", "end"]);
    // as a host squashes: the messages below each other, the content changed while it was merged
    let messages = repo.git_out(["log", "--reverse", "--format=* %B", "main..topic"]);
    repo.git(["checkout", "-q", "main"]).ok();
    repo.commit("a.txt", "three\n", &format!("The ring (#1)\n\n{messages}"));
    repo.run(["flush"]).ok();
    repo.git(["branch", "-q", "-D", "topic"]).ok();
    let url = format!("file://{}", repo.path.display());
    let target = sandbox.path().join("clone");
    repo.git(["clone", "-q", &url, target.to_str().expect("UTF-8")]).ok();
    let clone = sandbox.at("clone");
    clone.git(["config", "user.name", "Other"]).ok();
    clone.git(["config", "user.email", "other@example.com"]).ok();
    clone.git(["fetch", "-q", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    (clone, session)
}

#[test]
fn what_a_squash_left_behind_is_found_by_its_message() {
    let sandbox = Sandbox::new();
    let (clone, session) = squashed(&sandbox);
    let head = clone.head();
    let log = clone.json(["log"]);
    assert_eq!(log["commits"][0]["commit"], head);
    assert_eq!(log["commits"][0]["handoffs"][0]["session_id"], session);
    assert_eq!(log["commits"].as_array().map(Vec::len), Some(1), "{log}");
    let one = clone.run(["log", "--oneline"]).ok().out;
    assert!(one.contains("The ring"), "{one}");
    let why = clone.json(["why", "a.txt"]);
    let known: Vec<&str> =
        why["known"].as_array().expect("a list").iter().filter_map(|one| one["text"].as_str()).collect();
    assert!(
        known.iter().any(|text| text.contains("Use a ring")) && known.iter().any(|text| text.contains("mmap")),
        "{why}"
    );
    let told = clone.run(["handoff", "--pr", "HEAD~1..HEAD"]).ok().out;
    assert!(told.contains("Use a ring — bounded memory") && told.contains("mmap — NFS"), "{told}");
    // attached for good
    let repairs = clone.json(["doctor", "--repairs"]);
    let repair = &repairs["repairs"][0];
    assert_eq!((&repair["rule"], &repair["to"]), (&"trailer".into(), &head.clone().into()), "{repairs}");
    clone.run(["doctor", "--fix"]).ok();
    assert!(!clone.handoffs_at(&head).is_empty());
    assert!(clone.note("refs/notes/empirica/handoffs", &head).contains("# The ring (ada, "));
}
