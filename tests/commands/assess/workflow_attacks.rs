//! Attacks on the workflow: repository states that could mislead `diff`, forged records, secrets in
//! derived texts.

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};

const CHECKPOINTS: &str = "refs/notes/empirica/data/checkpoints";
/// A token as its issuer makes them; none of its beginnings is recognized as one.
const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyzABCDEF0123";

/// What was lost, gained or changed, in words.
fn changes_of(json: &Value, turn: &str) -> Vec<String> {
    let rows = json[turn].as_array().expect("a list").iter();
    rows.map(|row| row["what"].as_str().expect("words").to_owned()).collect()
}

fn id(json: &Value, key: &str) -> String {
    json[key].as_str().unwrap_or_else(|| panic!("no {key}: {json}")).to_owned()
}

#[test]
fn work_in_the_first_commit_is_not_reported_as_reverted() {
    let place = Sandbox::new();
    let repo = place.init("r");
    repo.start("ada", "Begin");
    repo.write("a.txt", "a\n");
    repo.json(["checkpoint"]);
    repo.git(["add", "."]).ok();
    repo.git(["commit", "-qm", "Begin"]).ok();
    let json = repo.json(["diff"]);
    assert_eq!((changes_of(&json, "lost"), changes_of(&json, "gained")), (vec![], vec!["1 commit more".to_owned()]));
}

#[test]
fn a_new_folder_that_is_no_longer_staged_did_not_go_back() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Stage");
    repo.write("new/x", "x\n");
    repo.write("new/y", "y\n");
    repo.git(["add", "new"]).ok();
    repo.json(["checkpoint"]);
    repo.git(["reset", "-q"]).ok();
    assert_eq!(changes_of(&repo.json(["diff"]), "lost"), Vec::<String>::new());
}

#[test]
fn a_file_that_is_ignored_now_is_still_there() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Ignore");
    repo.write("log.txt", "l\n");
    repo.write("gone.txt", "g\n");
    repo.json(["checkpoint"]);
    repo.write(".gitignore", "*.txt\n");
    std::fs::remove_file(repo.path.join("gone.txt")).expect("a file");
    let json = repo.json(["diff"]);
    assert_eq!(json["lost"], json!([{"dimension": "git_state", "what": "1 file went back", "items": ["gone.txt"]}]));
}

#[test]
fn the_work_tree_of_another_worktree_is_not_compared() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Here");
    repo.write("README.md", "changed\n");
    let taken = id(&repo.json(["checkpoint"]), "checkpoint_id");
    repo.git(["worktree", "add", "-q", "../beside"]).ok();
    let beside = place.at("beside");
    beside.write("another.txt", "a\n");
    let json = beside.json(["diff", &taken]);
    assert_eq!((changes_of(&json, "lost"), changes_of(&json, "gained")), (vec![], vec![]));
    // a checkpoint of a session over there as well
    beside.start("bob", "There");
    let there = id(&beside.json(["checkpoint"]), "checkpoint_id");
    let json = repo.json(["diff", &taken, &there]);
    assert_eq!(changes_of(&json, "lost"), Vec::<String>::new(), "{json}");
    // where it was taken, it is
    repo.git(["checkout", "-q", "README.md"]).ok();
    assert_eq!(changes_of(&repo.json(["diff", &taken]), "lost"), ["1 file went back (uncommitted lines: +1 −1)"]);
}

#[test]
fn files_of_a_missing_commit_are_not_reported_as_reverted() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Amend");
    repo.commit("b", "b\n", "Second");
    repo.write("b", "changed\n");
    repo.json(["checkpoint"]);
    repo.git(["commit", "-q", "--amend", "-am", "Second, changed"]).ok();
    assert_eq!(changes_of(&repo.json(["diff"]), "lost"), ["1 commit is no longer in HEAD's history"]);
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    repo.git(["gc", "-q", "--prune=now"]).ok();
    let json = repo.json(["diff"]);
    assert_eq!(changes_of(&json, "lost"), Vec::<String>::new(), "what is not known is not said");
    assert!(changes_of(&json, "changed").iter().any(|what| what.starts_with("HEAD: ")), "{json}");
}

#[test]
fn in_a_shallow_history_no_commit_is_reported_missing() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let url = format!("file://{}", repo.path.display());
    repo.git(["clone", "-q", "--depth", "1", &url, "../shallow"]).ok();
    let shallow = place.at("shallow");
    shallow.start("ada", "Fetch");
    shallow.json(["checkpoint"]);
    repo.commit("b", "b\n", "Second");
    shallow.git(["fetch", "-q", "--depth", "1"]).ok();
    shallow.git(["reset", "-q", "--hard", "origin/main"]).ok();
    let json = shallow.json(["diff"]);
    assert_eq!(
        (changes_of(&json, "lost"), changes_of(&json, "gained")),
        (vec![], vec![]),
        "the first one is an ancestor"
    );
    assert!(changes_of(&json, "changed").iter().any(|what| what.starts_with("HEAD: ")), "{json}");
}

#[test]
fn vectors_of_an_assessment_before_the_snapshot_are_no_fall() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Look");
    repo.json(["check", "-v", "know=0.4"]);
    repo.json(["checkpoint", "-v", "know=0.8"]);
    let json = repo.json(["diff"]);
    assert_eq!((changes_of(&json, "lost"), &json["vector_deltas"]), (vec![], &Value::Null));
    repo.json(["check", "-v", "know=0.5"]);
    assert_eq!(changes_of(&repo.json(["diff"]), "lost"), ["know fell by 0.30"]);
}

#[test]
fn goals_taken_over_or_done_are_not_reported_open() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let first = repo.start("ada", "One");
    let goals: Vec<String> = ["g1", "g2", "g3", "g4"].map(|text| id(&repo.json(["goal", "add", text]), "id")).into();
    let handoff = repo.hand_over("One");
    repo.json(["goal", "done", &goals[2]]);
    repo.json(["session", "end"]);
    repo.start("ada", "Two");
    assert_eq!(changes_of(&repo.json(["diff", &handoff]), "lost"), ["3 open goals were not taken over"]);
    repo.json(["goal", "take", &first]);
    assert_eq!(changes_of(&repo.json(["diff", &handoff]), "lost"), Vec::<String>::new());
}

#[test]
fn dropping_the_goal_selects_no_other() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Drop");
    let goal = id(&repo.json(["goal", "add", "g"]), "id");
    repo.json(["checkpoint"]);
    repo.json(["goal", "drop", &goal]);
    assert_eq!(changes_of(&repo.json(["diff"]), "changed"), ["no goal is worked on"]);
}

#[test]
fn files_that_the_index_only_means_to_have_are_new_ones() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Add");
    repo.write("meant", "m\n");
    repo.git(["add", "-N", "meant"]).ok();
    repo.write("brief", "b\n");
    repo.git(["add", "brief"]).ok();
    std::fs::remove_file(repo.path.join("brief")).expect("a file");
    let changes = repo.json(["checkpoint"])["git_state"]["uncommitted_changes"].clone();
    let counts = ["files_modified", "files_added", "files_deleted"].map(|key| changes[key].as_u64());
    assert_eq!(counts, [Some(0), Some(2), Some(0)], "{changes}");
}

/// Adds variants of a checkpoint to its note; their ids.
fn forge(repo: &Repo<'_>, of: &str, variants: &[&dyn Fn(&mut Value)]) -> Vec<String> {
    let head = repo.head();
    let mut lines: Vec<String> = repo.note(CHECKPOINTS, &head).lines().map(str::to_owned).collect();
    let line = lines.iter().find(|line| line.contains(of)).expect("the checkpoint").clone();
    let mut ids = Vec::new();
    for (at, change) in variants.iter().enumerate() {
        let mut record: Value = serde_json::from_str(&line).expect("a record");
        let id = format!("{}{at:06x}", &of[..30]);
        record["id"] = json!(id);
        change(&mut record);
        // what marks a record is its beginning
        let rest = record
            .as_object()
            .expect("an object")
            .iter()
            .filter(|(key, _)| !["v", "id", "kind"].contains(&key.as_str()));
        let rest: Vec<String> = rest.map(|(key, value)| format!(",{}:{value}", json!(key))).collect();
        lines.push(format!("{{\"v\":1,\"id\":\"{id}\",\"kind\":\"checkpoint\"{}}}", rest.concat()));
        ids.push(id);
    }
    repo.set_note(CHECKPOINTS, &head, format!("{}\n", lines.join("\n")).as_bytes());
    ids
}

#[test]
fn a_checkpoint_with_odd_keys_is_listed_and_the_others_are_used() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Forge");
    repo.json(["finding", "one"]);
    let taken = id(&repo.json(["checkpoint", "-v", "know=0.6", "--meta", "build=17"]), "checkpoint_id");
    let findings =
        |count: Value| move |record: &mut Value| record["snapshot"]["breadcrumbs"]["findings"] = count.clone();
    let files = |count: Value| {
        move |record: &mut Value| {
            let changes = &mut record["git_state"]["uncommitted_changes"];
            for key in ["files_modified", "files_added", "files_deleted"] {
                changes[key] = count.clone();
            }
            changes["paths_omitted"] = json!(3);
        }
    };
    let ids = forge(
        &repo,
        &taken,
        &[
            &|record| record["snapshot"] = json!("odd"),
            &|record| record["snapshot"] = json!({}),
            &|record| record["snapshot"]["session"]["session_id"] = json!("nobody"),
            &|record| record["git_state"] = json!([1]),
            &|record| record["git_state"]["uncommitted_changes"] = json!({"files_modified": -1}),
            &|record| record["compared_with"] = json!("nothing"),
            &|record| (record["tags"], record["metadata"], record["said"]) = (json!("x"), json!([1]), json!(5)),
            &|record| record["phase"] = json!("SLEEP"),
            &|record| record["vectors"] = json!(["know"]),
            &|record| (0..10_000).for_each(|n| record[format!("future{n}")] = json!({"a": [n]})),
            &findings(json!({"total": u64::MAX, "session": i64::MIN.unsigned_abs(), "recent": []})),
            &findings(json!({"total": -5})),
            &files(json!(u64::MAX)),
        ],
    );
    let listed = repo.json(["checkpoint", "list"]);
    let listed: Vec<&Value> = listed["checkpoints"].as_array().expect("a list").iter().collect();
    for id in &ids {
        let row = listed.iter().find(|row| row["checkpoint_id"] == json!(id));
        let know = &row.unwrap_or_else(|| panic!("{id} is not listed"))["vectors"]["know"];
        assert!(*know == json!(0.6) || (know.is_null() && *id == ids[8]), "{id}: {know}");
        repo.run(["checkpoint", "show", id]).ok();
        repo.json(["diff", id]);
        repo.json(["diff", &taken, id]);
    }
    let odd = repo.json(["checkpoint", "show", &ids[0]]);
    assert_eq!((&odd["git_state"]["branch"], &odd["metadata"]), (&json!("main"), &json!({"build": "17"})));
    let fewer = &repo.json(["diff", &ids[10]])["lost"];
    assert_eq!(fewer[0]["what"], format!("{} findings are missing", u64::MAX - 1));
    for command in ["bootstrap", "resume", "status", "drift", "calibration", "checkpoint"] {
        repo.json([command]);
    }
}

#[test]
fn cyclic_causes_form_no_endless_chain() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Turn");
    repo.json(["finding", "one"]);
    repo.json(["flush"]);
    let journal = "refs/notes/empirica/data/journal";
    let note = repo.note(journal, &repo.head());
    let line = note.lines().find(|line| line.contains("\"finding\"")).expect("the finding");
    let of: Value = serde_json::from_str(line).expect("a record");
    let of = of["id"].as_str().expect("an id");
    let with = |n: u8, from: u8, kind: &str| {
        let id = |n: u8| format!("{}{n:06x}", &of[..30]);
        let line = line.replacen(of, &id(n), 1).replacen("\"finding\"", &format!("\"{kind}\""), 1);
        line.replacen("\"text\"", &format!("\"led_from\":\"{}\",\"text\"", id(from)), 1)
    };
    let forged = [with(1, 1, "finding"), with(2, 3, "unknown"), with(3, 2, "finding"), with(4, 4, "unknown")];
    repo.set_note(journal, &repo.head(), format!("{note}{}\n", forged.join("\n")).as_bytes());
    let taken = id(&repo.json(["checkpoint"]), "checkpoint_id");
    let chains = repo.json(["checkpoint", "show", &taken])["investigation"]["breadcrumb_chains"].clone();
    assert_eq!(chains.as_array().map(Vec::len), Some(1), "that of the question which was answered: {chains}");
}

#[test]
fn no_part_of_a_secret_of_a_commit_message_is_stored() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Hide");
    repo.json(["checkpoint"]);
    let filler = "w".repeat(985);
    repo.git(["commit", "-q", "--allow-empty", "-m", &format!("{filler} {TOKEN}")]).ok();
    std::fs::write(repo.path.join(".git/description"), format!("{filler} {TOKEN}\n")).expect("a file");
    repo.json(["checkpoint"]);
    let stored = repo.lines("checkpoints").concat();
    assert!(stored.contains(&filler[..900]) && !stored.contains(&TOKEN[..6]), "{stored}");
}

#[test]
fn values_of_secret_keys_in_checkpoint_metadata_are_replaced() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Hide");
    repo.json(["checkpoint", "--meta", "db_password=Xk29fLq8zTn4Rw7v", "--meta", "build=17"]);
    let stored = repo.lines("checkpoints").concat();
    assert!(!stored.contains("Xk29fLq8zTn4Rw7v"), "{stored}");
    assert!(stored.contains("\"metadata\":{\"build\":\"17\",\"db_password\":\"[redacted:"), "{stored}");
}

#[test]
fn the_history_repeats_the_result_of_a_check() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let ada = repo.start("ada", "Ask");
    repo.json(["check", "--session", &ada, "-v", "know=0.5"]);
    let question = id(&repo.json(["unknown", "--session", &ada, "Who calls it?"]), "id");
    let bob = repo.start("bob", "Answer");
    repo.json(["resolve", "--session", &bob, &question, "Nobody"]);
    let check = repo.json(["check", "--session", &ada, "-v", "know=0.9"]);
    assert_eq!(check["decision"], "proceed", "somebody else answered its question");
    let taken = id(&repo.json(["checkpoint", "--session", &ada]), "checkpoint_id");
    let history = repo.json(["checkpoint", "show", &taken])["reasoning"]["decision_history"].clone();
    assert_eq!(history[1]["decision"], "proceed", "{history}");
}

#[test]
fn of_repeated_sources_labels_and_runs_the_newest_counts() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Count");
    for source in ["a.md", "b.md", "a.md"] {
        repo.json(["source", source]);
    }
    for (command, exit) in [("make a", "1"), ("make b", "0"), ("make a", "0")] {
        repo.json(["evidence", command, "--exit", exit]);
    }
    repo.json(["check", "-v", "know=0.5", "--tag", "x", "--tag", "y"]);
    repo.json(["check", "-v", "know=0.5", "--tag", "x"]);
    let taken = repo.json(["checkpoint"]);
    let taken = repo.json(["checkpoint", "show", &id(&taken, "checkpoint_id")]);
    assert_eq!(taken["reasoning"]["epistemic_tags"], json!(["y", "x"]));
    let docs = &taken["reference_docs"];
    assert_eq!((&docs["loaded_count"], &docs["recent"][0]["path"]), (&json!(2), &json!("a.md")));
    let handoff = repo.json(["handoff", "-m", "x"]);
    let evidence = repo.json(["show", &id(&handoff, "handoff_id")])["evidence"].clone();
    let runs: Vec<(&Value, &Value)> =
        evidence.as_array().expect("a list").iter().map(|run| (&run["command"], &run["runs"])).collect();
    assert_eq!(runs, [(&json!("make b"), &Value::Null), (&json!("make a"), &json!(2))]);
}
