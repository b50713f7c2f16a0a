//! `diff`, and a checkpoint after a compaction: losses, in a sentence and in a block of context.

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox, tokens};

fn id(json: &Value, key: &str) -> String {
    json[key].as_str().unwrap_or_else(|| panic!("no {key}: {json}")).to_owned()
}

/// What was lost, gained or changed, in words.
fn changes_of(json: &Value, turn: &str) -> Vec<String> {
    let rows = json[turn].as_array().expect("a list").iter();
    rows.map(|row| row["what"].as_str().expect("words").to_owned()).collect()
}

/// A session at work with a goal, findings, reasoning and files that are not committed; the id of its goal's first step.
fn at_work(repo: &Repo<'_>) -> (String, String) {
    let session = repo.start("ada", "Fix the login");
    repo.json(["preflight", "-v", "know=0.8,state=0.7", "--reasoning", "It must be the clock"]);
    let goal = id(&repo.json(["goal", "add", "Login is green"]), "id");
    let step = id(&repo.json(["goal", "sub", &goal, "one"]), "id");
    repo.json(["goal", "sub", &goal, "two"]);
    repo.json(["goal", "done", &step]);
    repo.json(["finding", "It reads the system clock"]);
    repo.write("README.md", "hello\nmore\n");
    repo.write("src/new.rs", "fn a() {}\n");
    (session, goal)
}

#[test]
fn regressions_are_summarized_and_named() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    at_work(&repo);
    let before = id(&repo.json(["checkpoint"]), "checkpoint_id");
    repo.git(["checkout", "-q", "README.md"]).ok();
    std::fs::remove_dir_all(repo.path.join("src")).expect("a folder");
    let json = repo.json(["diff"]);
    assert_eq!(
        json["summary"],
        "2 files went back (1 uncommitted line); the vectors are compared at the next assessment"
    );
    assert_eq!(
        json["lost"],
        json!([{"dimension": "git_state", "what": "2 files went back (1 uncommitted line)", "items": ["README.md", "src/"]}])
    );
    assert_eq!((&json["a"]["id"], &json["b"]["kind"], &json["b"]["id"]), (&json!(before), &json!("now"), &Value::Null));
    let dimensions =
        ["breadcrumbs", "git_state", "goals", "reasoning", "session", "investigation", "reference_docs", "project"];
    assert_eq!(json["compared"], json!(dimensions), "all but the vectors, which were not given anew");
    let text = repo.run(["diff"]).ok().out;
    assert!(text.contains("\n2 files went back (1 uncommitted line); ") && text.contains("- README.md"), "{text}");
    // committed, they did not go back
    repo.write("README.md", "hello\nmore\n");
    repo.commit("src/new.rs", "fn a() {}\n", "Add it");
    repo.git(["commit", "-q", "-am", "Say more"]).ok();
    let json = repo.json(["diff", &before]);
    assert_eq!((changes_of(&json, "lost"), changes_of(&json, "gained")), (vec![], vec!["2 commits more".to_owned()]));
    assert_eq!(json["summary"], "Nothing was lost; 2 commits more; the vectors are compared at the next assessment");
}

#[test]
fn commits_removed_by_a_reset_are_reported_lost() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.commit("a", "a\n", "One");
    repo.commit("b", "b\n", "Two");
    repo.json(["checkpoint"]);
    repo.git(["reset", "-q", "--hard", "HEAD~2"]).ok();
    let json = repo.json(["diff"]);
    assert_eq!(json["summary"], "2 commits are no longer in HEAD's history");
}

#[test]
fn two_snapshots_are_compared_with_their_vectors_and_texts() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (_, goal) = at_work(&repo);
    let first = id(&repo.json(["checkpoint"]), "checkpoint_id");
    repo.json(["finding", "And it is UTC"]);
    repo.json(["check", "-v", "know=0.6,state=0.9", "--reasoning", "No, it is the cache"]);
    repo.json(["goal", "done", &goal]);
    let second = id(&repo.json(["checkpoint"]), "checkpoint_id");
    let json = repo.json(["diff", &first, &second]);
    assert_eq!(json["vector_deltas"], json!({"know": -0.2, "state": 0.2}));
    assert_eq!(changes_of(&json, "lost"), ["know fell by 0.20"]);
    assert_eq!(
        changes_of(&json, "gained"),
        ["1 finding more", "1 goal done", "1 step of reasoning more", "state rose by 0.20"]
    );
    assert_eq!(json["summary"], "Know fell by 0.20");
    let diff = json["text_diff"].as_str().expect("a text");
    assert!(
        diff.contains("+reasoning: No, it is the cache\n") && diff.contains("-context: Login is green\n"),
        "{diff}"
    );
    // the other way round, what was gained is missing
    let back = repo.json(["diff", &second, &first]);
    let lost = changes_of(&back, "lost");
    assert!(lost[0] == "1 finding is missing" && lost.contains(&"the completion of goals was forgotten".into()));
    assert_eq!(back["lost"][0]["items"], json!(["And it is UTC"]));
    let same = repo.json(["diff", &first, &first]);
    assert_eq!(same["summary"], "Nothing changed");
    assert_eq!(same["text_diff"], "");
}

#[test]
fn a_commit_that_was_amended_is_not_lost() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("ada", "t");
    repo.commit("a", "a\n", "One");
    let before = id(&repo.json(["checkpoint"]), "checkpoint_id");
    repo.git(["commit", "-q", "--amend", "-m", "Better"]).ok();
    let json = repo.json(["diff", &before]);
    assert_eq!(changes_of(&json, "lost"), Vec::<String>::new(), "{json}");
    repo.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    assert_eq!(changes_of(&repo.json(["diff", &before]), "lost"), ["1 commit is no longer in HEAD's history"]);
}

#[test]
fn comparing_a_handoff_with_the_present_claims_nothing_false() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (session, _) = at_work(&repo);
    repo.json(["goal", "add", "Second"]);
    repo.json(["goal", "add", "Third"]);
    repo.json(["finding", "I found that it is UTC"]);
    let question = id(&repo.json(["unknown", "Which clock?"]), "id");
    repo.json(["resolve", &question, "The system's"]);
    let handoff = id(&repo.json(["handoff", "--context", "c", "--next", "n"]), "handoff_id");
    let json = repo.json(["diff", &handoff]);
    assert_eq!(json["summary"], "Nothing changed; the vectors are compared at the next assessment", "{json}");
    repo.json(["session", "end"]);
    // another session takes the goals over and ends one of them
    repo.start("bob", "Go on");
    let text = changes_of(&repo.json(["diff", &handoff]), "lost");
    assert_eq!(text, ["3 open goals were not taken over", "the reasoning was forgotten"]);
    repo.json(["goal", "take", &session]);
    let open = repo.json(["goal", "list", "--open"]);
    repo.json(["goal", "done", &id(&open["goals"][2], "id")]);
    repo.commit("c", "c\n", "Go on");
    let json = repo.json(["diff", &handoff]);
    assert_eq!(changes_of(&json, "lost"), ["the reasoning was forgotten"], "{json}");
    assert_eq!(changes_of(&json, "gained"), ["1 commit more"]);
    assert!(json["compared"].as_array().expect("a list").contains(&json!("git_state")), "{json}");
    let later = id(&repo.json(["handoff", "--context", "d"]), "handoff_id");
    let json = repo.json(["diff", &handoff, &later]);
    assert!(changes_of(&json, "changed").contains(&"task, context or next steps are different".to_owned()), "{json}");
    assert!(!json["summary"].as_str().expect("words").contains("next assessment"), "{json}");
}

#[test]
fn the_text_diff_is_colored_as_git_does() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    at_work(&repo);
    repo.json(["checkpoint"]);
    repo.json(["check", "-v", "know=0.8", "--reasoning", "No, it is the cache"]);
    repo.git(["config", "color.ui", "always"]).ok();
    let text = repo.run(["diff"]).ok().out;
    assert!(text.contains("\u{1b}[32m+reasoning: No, it is the cache\u{1b}[0m"), "{text:?}");
    repo.git(["config", "color.ui", "never"]).ok();
    assert!(!repo.run(["diff"]).ok().out.contains('\u{1b}'));
}

#[test]
fn handoffs_are_compared_by_what_they_name() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    at_work(&repo);
    repo.json(["unknown", "Which clock?"]);
    let first = id(&repo.json(["handoff", "--finding", "Only here", "--next", "Ask"]), "handoff_id");
    let second = id(&repo.json(["handoff", "--unknown", "Which cache?", "--next", "Tell"]), "handoff_id");
    let json = repo.json(["diff", &first, &second]);
    assert_eq!(changes_of(&json, "lost"), Vec::<String>::new(), "what was journalled stays: {json}");
    assert_eq!(changes_of(&json, "gained"), ["1 question more"]);
    assert!(json["text_diff"].as_str().is_some_and(|diff| diff.contains("-context: Ask\n+context: Tell\n")), "{json}");
    // a handoff beside the present, a session for its newest, an assessment
    assert_eq!(repo.json(["diff", &second])["b"]["kind"], "now");
    let session = id(&repo.json(["session", "list"])["sessions"][0], "session_id");
    assert_eq!(repo.json(["diff", &session])["a"]["id"], json!(second));
    let preflight = repo.json(["checkpoint", "list"])["checkpoints"][0]["checkpoint_id"].clone();
    assert_eq!(repo.json(["diff", preflight.as_str().expect("an id")])["a"]["kind"], "assessment");
}

#[test]
fn in_another_clone_what_was_not_fetched_is_missing() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    at_work(&repo);
    let bare = place.path().join("hub.git");
    repo.git(["clone", "-q", "--bare", ".", bare.to_str().expect("UTF-8")]).ok();
    repo.json(["sync", "../hub.git"]);
    let early = place.clone(&repo, "early", false);
    early.json(["sync", "../hub.git"]);
    repo.json(["finding", "Said later"]);
    let taken = repo.json(["checkpoint"]);
    // the checkpoint comes without the journal it was made from
    let namespace = "refs/notes/empirica/data/checkpoints";
    early.git(["fetch", "-q", "../r", &format!("+{namespace}:{namespace}")]).ok();
    let json = early.json(["diff", &id(&taken, "checkpoint_id")]);
    assert_eq!(json["lost"][0]["what"], "1 finding is missing", "{json}");
    assert_eq!(json["lost"][0]["items"], json!(["Said later"]));
}

#[test]
fn names_that_cannot_be_compared_are_refused() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.fails(1, ["diff"]);
    repo.start("ada", "t");
    let none = repo.fails(1, ["diff"]);
    assert!(
        none["recovery_commands"].as_array().expect("a list").contains(&json!("git empirica checkpoint")),
        "{none}"
    );
    repo.fails(1, ["diff", "latest"]);
    let finding = id(&repo.json(["finding", "f"]), "id");
    let other = repo.fails(1, ["diff", &finding]);
    assert_eq!(other["reason"], "what has that id is of the kind finding");
    assert_eq!(other["recovery_commands"], json!(["git empirica checkpoint list"]));
    let nobody = repo.fails(1, ["diff", "latest:nobody"]);
    assert_eq!(nobody["reason"], "No sessions are stored here for ai_id 'nobody'");
    repo.fails(1, ["diff", "zzzz"]);
}

#[test]
fn hostile_texts_stay_texts() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t\n+++ forged\n\u{1b}[31m");
    repo.json(["preflight", "-v", "know=0.8", "--reasoning", "a\n--- b\n+reasoning: forged\u{1b}[0m"]);
    repo.json(["goal", "add", "g\n# heading"]);
    repo.json(["checkpoint", "--trigger", "pre_compact"]);
    repo.json(["check", "-v", "know=0.8", "--reasoning", "b\n@@ x"]);
    for arguments in [&["diff"][..], &["checkpoint", "--trigger", "post_compact"], &["checkpoint", "show"]] {
        let text = repo.run(arguments).ok().out;
        assert!(!text.contains('\u{1b}'), "{text:?}");
        let forged = |line: &str| line.starts_with("+++ forged") || line == "+reasoning: forged" || line == "# heading";
        assert!(!text.lines().any(forged), "{text}");
    }
}

#[test]
fn a_change_that_was_reset_with_the_commit_below_it_is_lost() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Fix the login");
    repo.commit("a.txt", "one\n", "Add it");
    repo.commit("a.txt", "one\ntwo\n", "Change it");
    repo.write("a.txt", "one\ntwo\nthree\n");
    repo.json(["checkpoint", "--trigger", "pre_compact"]);
    repo.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    let json = repo.json(["checkpoint", "--trigger", "post_compact"])["compaction"].clone();
    let lost = ["1 commit is no longer in HEAD's history", "1 file went back (1 uncommitted line)"];
    assert_eq!(
        (changes_of(&json, "lost"), changes_of(&json, "changed")),
        (lost.map(str::to_owned).to_vec(), vec![]),
        "{json}"
    );
    assert_eq!(json["lost"][1]["items"], json!(["a.txt"]));
    assert!(repo.run(["checkpoint", "--trigger", "post_compact"]).ok().out.contains("- a.txt"));
    // what an amend takes in is committed, and only that
    repo.write("a.txt", "one\nmore\n");
    repo.write("README.md", "hello\nmore\n");
    let before = id(&repo.json(["checkpoint"]), "checkpoint_id");
    repo.git(["commit", "-q", "--amend", "-m", "Add more", "a.txt"]).ok();
    repo.git(["checkout", "-q", "README.md"]).ok();
    let json = repo.json(["diff", &before]);
    assert_eq!((&json["lost"][1]["items"], &json["lost"][2]), (&json!(["README.md"]), &Value::Null), "{json}");
}

#[test]
fn after_a_compaction_one_block_lists_losses_and_needs() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (session, _) = at_work(&repo);
    repo.json(["unknown", "Which clock?"]);
    let before = repo.json(["checkpoint", "--trigger", "pre_compact", "--cycle", "2"]);
    let pre = id(&before, "checkpoint_id");
    repo.json(["checkpoint"]);
    repo.git(["checkout", "-q", "README.md"]).ok();
    let json = repo.json(["checkpoint", "--trigger", "post_compact"]);
    assert_eq!(json["trigger"], "post_compact");
    assert_eq!((&json["compared_with"], &json["compaction"]["pre_checkpoint_id"]), (&json!(pre), &json!(pre)));
    assert_eq!(changes_of(&json["compaction"], "lost"), ["1 file went back (1 uncommitted line)"]);
    assert_eq!(json["bootstrap"]["own_session_id"], session.as_str());
    assert_eq!(json["bootstrap"]["unknowns"][0]["text"], "Which clock?");
    let block = json["context"].as_str().expect("a text");
    for text in [
        "# After the compaction: 1 file went back (1 uncommitted line); the vectors are compared at the next assessment\n",
        "- README.md",
        "Then: PREFLIGHT 1, cycle 2.",
        "- Fix the login",
        "- Login is green",
        "- reasoning: It must be the clock",
        "Which clock?",
        "It reads the system clock",
        "Login is green (1/2 subtasks)",
    ] {
        assert!(block.contains(text), "{text:?}: {block}");
    }
    // the text is the block and nothing else
    let text = repo.run(["checkpoint", "--trigger", "post_compact"]).ok();
    assert!(text.out.starts_with("# After the compaction: ") && !text.out.contains("Checkpoint "), "{}", text.out);
}

#[test]
fn the_workflow_phase_is_the_latest_recorded() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    at_work(&repo);
    repo.json(["check", "-v", "know=0.8", "--cycle", "2", "--scope", "0.5"]);
    repo.json(["checkpoint", "--trigger", "pre_compact", "--phase", "act", "--cycle", "3", "--scope", "0.75"]);
    let post = repo.json(["checkpoint", "--trigger", "post_compact"]);
    assert_eq!((&post["phase"], &post["session"]["cycle"]), (&json!("ACT"), &json!(3)), "{post}");
    assert_eq!(post["compaction"]["lost"], json!([]), "no cycle was forgotten");
    assert_eq!(post["compaction"]["changed"], json!([]), "no phase is another");
    repo.json(["check", "-v", "know=0.8", "--cycle", "4"]);
    let next = repo.json(["checkpoint"]);
    assert_eq!((&next["phase"], &next["session"]["cycle"]), (&json!("CHECK"), &json!(4)));
    assert_eq!(next["session"]["scope_depth"], 0.75);
}

#[test]
fn the_vectors_follow_at_the_next_assessment_and_once() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    at_work(&repo);
    let pre = id(&repo.json(["checkpoint", "--trigger", "pre_compact"]), "checkpoint_id");
    let post = repo.json(["checkpoint", "--trigger", "post_compact"]);
    assert_eq!(
        (&post["vectors"], &post["compaction"]["vector_deltas"]),
        (&json!({"know": 0.8, "state": 0.7}), &Value::Null)
    );
    let check = repo.json(["check", "-v", "know=0.55,state=0.75"]);
    let since = &check["since_compaction"];
    assert_eq!((&since["pre_checkpoint_id"], &since["post_checkpoint_id"]), (&json!(pre), &post["checkpoint_id"]));
    assert_eq!(since["vector_deltas"], json!({"know": -0.25, "state": 0.05}));
    assert_eq!(since["summary"], "Know fell by 0.25");
    assert!(repo.json(["check", "-v", "know=0.5"]).get("since_compaction").is_none());
    // given with the checkpoint, they are compared at once
    repo.json(["checkpoint", "--trigger", "pre_compact"]);
    let post = repo.json(["checkpoint", "--trigger", "post_compact", "-v", "know=0.9"]);
    assert_eq!(post["compaction"]["vector_deltas"], json!({"know": 0.4}));
    assert!(repo.json(["check", "-v", "know=0.5"]).get("since_compaction").is_none());
}

#[test]
fn a_new_session_after_the_compaction_finds_the_snapshot_of_the_old_one() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (old, _) = at_work(&repo);
    let pre = id(&repo.json(["checkpoint", "--trigger", "pre_compact"]), "checkpoint_id");
    repo.json(["session", "end"]);
    repo.start("bob", "Something else");
    assert_eq!(repo.json(["checkpoint", "--trigger", "post_compact"])["compaction"], Value::Null, "bob had none");
    repo.json(["session", "end"]);
    repo.start("ada", "Fix the login, on");
    let json = repo.json(["checkpoint", "--trigger", "post_compact"]);
    assert_eq!(json["compaction"]["pre_checkpoint_id"], pre.as_str());
    let summary = json["compaction"]["summary"].as_str().expect("words");
    assert!(summary.starts_with("1 open goal was not taken over, the reasoning was forgotten"), "{summary}");
    repo.json(["goal", "take", &old]);
    let json = repo.json(["checkpoint", "--trigger", "post_compact"]);
    assert!(!json["compaction"]["summary"].as_str().expect("words").contains("taken over"), "{json}");
    let check = repo.json(["check", "-v", "know=0.5,state=0.7"]);
    assert_eq!(check["since_compaction"]["vector_deltas"], json!({"know": -0.3, "state": 0.0}));
}

#[test]
fn the_block_keeps_to_its_budget_and_a_missing_snapshot_is_reported() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Fix the login");
    let none = repo.json(["checkpoint", "--trigger", "post_compact"]);
    assert_eq!(none["compaction"], Value::Null);
    assert!(none["context"].as_str().is_some_and(|text| text.contains("what was lost is not known")), "{none}");
    for n in 0..60 {
        repo.json(["finding", &format!("Finding {n}: {}", "the cache is filled before the clock is read ".repeat(9))]);
        repo.write(&format!("file-{n}.txt"), "x\n");
    }
    repo.json(["preflight", "-v", "know=0.8", "--reasoning", &"because of the clock ".repeat(200)]);
    repo.json(["checkpoint", "--trigger", "pre_compact"]);
    for n in 0..60 {
        std::fs::remove_file(repo.path.join(format!("file-{n}.txt"))).expect("a file");
    }
    for budget in ["300", "600", "1500", "4000"] {
        let out = repo.run(["checkpoint", "--trigger", "post_compact", "--budget", budget]).ok().out;
        let spent = tokens(&out);
        assert!(spent <= budget.parse().expect("a number"), "{budget}: {spent}\n{out}");
        assert!(out.contains("60 files went back") || out.contains("files went back"), "{out}");
    }
    repo.run(["checkpoint", "--budget", "300"]).code(2);
    repo.run(["checkpoint", "--trigger", "post_compact", "--budget", "199"]).code(2);
}

#[test]
fn suggested_goals_are_not_missing_in_a_handoff() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.json(["preflight", "-v", "know=0.4,uncertainty=0.8"]);
    let before = id(&repo.json(["checkpoint"]), "checkpoint_id");
    let handoff = id(&repo.json(["handoff", "--finding", "x"]), "handoff_id");
    let json = repo.json(["diff", &before, &handoff]);
    assert_eq!(changes_of(&json, "lost"), Vec::<String>::new(), "{json}");
    assert_eq!(repo.json(["show", &handoff])["goals"], json!([]));
}
