//! The snapshot of a checkpoint: every key of the example, the content of each part, and its bounds.

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};

const EXAMPLE: &str = include_str!("../../fixtures/documents/snapshot.json");
const ALL: &str = "engagement=0.85,know=0.70,uncertainty=0.30,do=0.75,context=0.80,clarity=0.85,coherence=0.80,signal=0.75,\
                   density=0.65,state=0.80,change=0.15,completion=0.60,impact=0.75";

fn id(json: &Value) -> String {
    json["id"].as_str().expect("an id").to_owned()
}

/// Every key of `expected` must be in `found`, with a value of the same kind.
#[track_caller]
fn walk(expected: &Value, found: &Value, path: &str) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (key, inner) in expected {
                let path = format!("{path}.{key}");
                walk(inner, found.get(key).unwrap_or_else(|| panic!("there is no {path}")), &path);
            }
        }
        (Value::Array(expected), Value::Array(found)) => {
            if let Some(expected) = expected.first() {
                assert!(!found.is_empty(), "{path} is empty");
                found.iter().for_each(|found| walk(expected, found, &format!("{path}[]")));
            }
        }
        // a decision belongs to checks only
        (Value::Null, _) => {}
        (Value::String(_), Value::String(_)) | (Value::Number(_), Value::Number(_)) => {}
        (Value::Bool(_), Value::Bool(_)) => {}
        _ => panic!("{path} should be like {expected}, not {found}"),
    }
}

/// A session in which everything happened that a snapshot tells.
fn rich<'p>(place: &'p Sandbox) -> Repo<'p> {
    let bare = place.init("hub.git");
    bare.git(["config", "receive.denyCurrentBranch", "ignore"]).ok();
    let repo = place.repo("r");
    std::fs::write(repo.path.join(".git/description"), "Empirica CLI and framework\n").expect("a file");
    let url = bare.path.to_str().expect("UTF-8").to_owned();
    repo.git(["remote", "add", "origin", &url]).ok();
    repo.git(["push", "-q", "-u", "origin", "main"]).ok();
    repo.start("qwen-testing", "Test the hooks");
    repo.json(["preflight", "-v", "know=0.5,uncertainty=0.5"]);
    repo.json(["postflight", "-v", "know=0.65,uncertainty=0.4"]);
    repo.json(["session", "end"]);
    repo.start("qwen-testing", "Test more");
    repo.start("claude", "Debug action hooks");
    let run_json = |arguments: &[&str]| repo.json(arguments.iter().chain(&["--ai", "claude"]));
    run_json(&["preflight", "-v", ALL, "--reasoning", "Starting investigation", "--tag", "debugging"]);
    let goal = id(&run_json(&["goal", "add", "Debug action hooks"]));
    let step = id(&run_json(&["goal", "sub", &goal, "read them"]));
    run_json(&["goal", "sub", &goal, "mend them"]);
    run_json(&["goal", "done", &step]);
    run_json(&["source", "docs/architecture/INVESTIGATION_CYCLE_TRACKING.md"]);
    let mismatch = id(&run_json(&["finding", "CheckpointManager mismatch"]));
    let why = id(&run_json(&["unknown", "Why does checkpoint-list work?", "--led-from", &mismatch]));
    run_json(&[
        "check",
        "-v",
        ALL,
        "--confidence",
        "0.65",
        "--reasoning",
        "Found root cause",
        "--cycle",
        "2",
        "--scope",
        "0.5",
    ]);
    let logger = id(&run_json(&["finding", "GitEnhancedReflexLogger used instead", "--led-from", &why]));
    run_json(&["activity", "edit", "Changed line 409", "--file", "monitor_commands.py", "--led-from", &logger]);
    run_json(&["deadend", "Using CheckpointManager", "--why", "Wrong storage layer"]);
    run_json(&["mistake", "Edited the vendored copy", "--prevention", "grep first"]);
    run_json(&["checkpoint", "--trigger", "pre_compact", "-v", ALL]);
    repo.commit("fixed.rs", "fn a() {}\n", "Fix hooks");
    repo.write("README.md", "hello\nagain\n");
    repo.write("new.rs", "fn b() {}\n");
    repo
}

#[test]
fn every_key_of_the_example_is_there() {
    let place = Sandbox::new();
    let repo = rich(&place);
    let flags = ["--cycle", "3", "--scope", "0.75", "--tag", "hook_integration", "--meta", "owner=ada"];
    let arguments =
        ["checkpoint", "--trigger", "pre_compact", "-v", ALL, "--ai", "claude", "--reasoning", "Implemented fix"];
    let json = repo.json(arguments.iter().chain(&flags));
    let example: Value = serde_json::from_str(EXAMPLE).expect("JSON");
    walk(&example, &json, "");
    assert_eq!(json["type"], example["type"]);
    assert_eq!(json["metadata"], json!({"owner": "ada"}));
    // the same when it is shown, in another clone
    repo.git(["push", "-q", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    let clone = place.clone(&place.at("hub.git"), "clone", true);
    let shown = clone.json(["checkpoint", "show", json["checkpoint_id"].as_str().expect("an id")]);
    walk(&example, &shown, "");
    for key in ["vectors", "git_state", "reasoning", "breadcrumbs", "goals", "session", "project", "investigation"] {
        assert_eq!(shown[key], json[key], "{key}");
    }
    let root = repo.git_out(["rev-list", "--max-parents=0", "HEAD"]);
    assert_eq!((&json["project"]["project_id"], &json["session"]["project_id"]), (&json!(root), &json!(root)));
    let text = clone.run(["checkpoint", "show"]).ok().out;
    for expected in
        ["Implemented fix", "CheckpointManager mismatch → Why does checkpoint-list work?", "1 modified, 1 added"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn each_part_is_accurate() {
    let place = Sandbox::new();
    let repo = rich(&place);
    let json = repo.json(["checkpoint", "--ai", "claude", "--reasoning", "Implemented fix", "--cycle", "3"]);
    assert_eq!(
        json["git_state"]["uncommitted_changes"],
        json!({"files_modified": 1, "files_added": 1, "files_deleted": 0, "insertions": 1, "deletions": 0,
               "paths": ["README.md", "new.rs"], "paths_omitted": 0})
    );
    assert_eq!(json["git_state"]["ahead_behind"], json!({"ahead": 1, "behind": 0}));
    let commits = &json["git_state"]["commits_since_last_checkpoint"];
    // some versions of git write Z, others +00:00
    let at = repo.git_out(["log", "-1", "--format=%cI"]);
    assert!(at.starts_with("2026-03-01T11:00:00"));
    assert_eq!(commits, &json!([{"hash": repo.head(), "message": "Fix hooks", "timestamp": at}]));
    let reasoning = &json["reasoning"];
    let thoughts: Vec<&Value> =
        reasoning["trajectory"].as_array().expect("a list").iter().map(|t| &t["reasoning"]).collect();
    assert_eq!(thoughts, ["Starting investigation", "Found root cause", "Implemented fix"]);
    assert_eq!(
        reasoning["decision_history"],
        json!([{"checkpoint": "PREFLIGHT", "decision": null, "confidence": 0.7056},
               {"checkpoint": "CHECK-1", "decision": "investigate", "confidence": 0.65}])
    );
    let crumbs = &json["breadcrumbs"];
    assert_eq!((&crumbs["findings"]["total"], &crumbs["findings"]["session"]), (&json!(2), &json!(2)));
    assert_eq!((&crumbs["unknowns"]["unresolved"], &crumbs["unknowns"]["resolved"]), (&json!(1), &json!(0)));
    assert_eq!(crumbs["mistakes"]["recent"][0]["prevention"], "grep first");
    assert_eq!(json["goals"]["current"]["progress"], "1/2 subtasks");
    assert_eq!(json["handoffs"]["most_recent"]["from_ai"], "qwen-testing");
    let session = &json["session"];
    assert_eq!(
        (&session["cascade_phase"], &session["round"], &session["cycle"]),
        (&json!("CHECK"), &json!(1), &json!(3))
    );
    assert_eq!((&session["scope_depth"], &session["checkpoints_count"]), (&json!(0.5), &json!(3)));
    let project = &json["project"];
    assert_eq!(project["learning_deltas"], json!({"know": 0.15, "uncertainty": -0.1}));
    assert_eq!((&project["total_sessions"], &project["active_total"]), (&json!(3), &json!(2)));
    assert_eq!((&project["name"], &project["description"]), (&json!("hub"), &json!("Empirica CLI and framework")));
    assert_eq!(
        json["investigation"]["breadcrumb_chains"],
        json!([{"finding": "CheckpointManager mismatch", "led_to_unknown": "Why does checkpoint-list work?",
                "led_to_finding": "GitEnhancedReflexLogger used instead", "led_to_fix": "Changed line 409"}])
    );
    assert_eq!(
        json["investigation"]["exploration_paths"],
        json!(["docs/architecture/INVESTIGATION_CYCLE_TRACKING.md → monitor_commands.py"])
    );
    assert_eq!(json["reference_docs"]["pre_summaries"]["most_recent"]["impact"], 0.75);
    // without vectors, those of the last assessment are taken and marked
    let check = repo.json(["checkpoint", "list", "--ai", "claude"]);
    let last = check["checkpoints"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|c| c["phase"] == "CHECK" && c["kind"] == "assessment");
    assert_eq!(json["vectors_from"], last.expect("the check")["checkpoint_id"]);
    let own = repo.json(["checkpoint", "-v", ALL, "--ai", "claude", "--phase", "check", "--round", "7"]);
    assert!(own["vectors_from"].is_null());
    assert_eq!(
        (&own["round"], &own["session"]["round"], &own["investigation"]["round"]),
        (&json!(7), &json!(7), &json!(7))
    );
    let text = repo.run(["checkpoint", "show"]).ok().out;
    for expected in ["CHECK 7, cycle 3, scope 0.50", "Decided:   CHECK-1 investigate (0.65)", "1 open, 0 done (0 %)"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_snapshot_is_bounded_for_any_records() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start(&"agent ".repeat(400), &"task 任務 ".repeat(3000));
    let long = |n: usize| format!("{n} {}", "ein Text \u{1}任務".repeat(300));
    for n in 0..7 {
        repo.json(["finding", &long(n)]);
        repo.json(["unknown", &long(n)]);
        repo.json(["deadend", &long(n), "--why", &long(n)]);
        repo.json(["mistake", &long(n), "--prevention", &long(n)]);
        repo.json(["source", &format!("docs/{}", long(n))]);
        repo.json(["decision", &long(n), "--why", "w"]);
    }
    for n in 0..23 {
        repo.json(["preflight", "-v", "know=0.9", "--reasoning", &long(n), "--tag", &format!("tag {n}")]);
    }
    for n in 0..150 {
        repo.write(&format!("{}/{n}", "folder".repeat(30)), "x\n");
    }
    repo.git(["config", "status.showUntrackedFiles", "all"]).ok();
    repo.git(["add", "."]).ok();
    let json = repo.json(["checkpoint"]);
    assert!(json.to_string().len() <= 16 * 1024, "{}", json.to_string().len());
    let line = repo.lines("checkpoints").into_iter().find(|line| line.contains("\"kind\":\"checkpoint\"")).expect("it");
    assert!(line.len() <= 16 * 1024, "{}", line.len());
    for list in ["findings", "unknowns", "dead_ends", "mistakes"] {
        assert_eq!(json["breadcrumbs"][list]["total"], 7, "{list}");
        assert_eq!(json["breadcrumbs"][list]["recent"].as_array().map(Vec::len), Some(5), "{list}");
    }
    assert_eq!(json["reasoning"]["trajectory"].as_array().map(Vec::len), Some(20));
    assert_eq!(json["reasoning"]["decision_history"].as_array().map(Vec::len), Some(20));
    let changes = &json["git_state"]["uncommitted_changes"];
    let kept = changes["paths"].as_array().expect("a list").len() as u64;
    assert_eq!((changes["files_added"].as_u64(), changes["paths_omitted"].as_u64()), (Some(150), Some(150 - kept)));
    // what the agent says with it is whole, or refused
    let json = repo.json(["checkpoint", "--reasoning", &"r".repeat(4000)]);
    assert_eq!(json["said"].as_str().map(str::len), Some(4000));
    assert!(json.to_string().len() <= 16 * 1024, "{}", json.to_string().len());
    let refused = repo.fails(2, ["checkpoint", "--reasoning", &"r".repeat(20_000)]);
    assert!(refused["suggestion"].as_str().is_some_and(|text| text.contains("finding")), "{refused}");
}

#[test]
fn a_snapshot_of_an_empty_repository_reports_unknowns() {
    let place = Sandbox::new();
    let repo = place.init("r");
    repo.start("ada", "t");
    let json = repo.json(["checkpoint"]);
    assert_eq!(json["project"]["project_id"], Value::Null);
    assert_eq!((&json["phase"], &json["session"]["last_checkpoint"]), (&Value::Null, &Value::Null));
    assert_eq!(json["git_state"]["ahead_behind"], json!({"ahead": null, "behind": null}));
    assert_eq!(
        json["goals"],
        json!({"total": 0, "active": 0, "completed": 0, "completion_rate": null, "current": null})
    );
    // in a bare one there is no work tree
    let bare = place.path().join("b.git");
    repo.git(["init", "-q", "--bare", bare.to_str().expect("UTF-8")]).ok();
    let bare = place.at(&bare);
    bare.start("ada", "t");
    assert_eq!(bare.json(["checkpoint"])["git_state"]["dirty"], false);
    // a shallow clone does not have the first commit
    let repo = place.repo("full");
    repo.commit("a", "a", "Second");
    let url = format!("file://{}", repo.path.display());
    repo.git(["clone", "-q", "--depth", "1", &url, "../shallow"]).ok();
    let shallow = place.at("shallow");
    shallow.start("ada", "t");
    assert_eq!(shallow.json(["checkpoint"])["project"]["project_id"], Value::Null);
}

#[test]
fn the_names_of_the_seed_work() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let session = repo.start("ada", "t");
    for name in ["checkpoint-create", "assess-state"] {
        assert_eq!(repo.json([name])["type"], "epistemic_state_snapshot");
        assert_eq!(repo.json([name, "--session-id", &session])["session_id"], session.as_str());
    }
    assert_eq!(repo.json(["project-bootstrap", "--session-id", &session])["own_session_id"], session.as_str());
    assert_eq!(repo.json(["sessions-list"])["sessions"][0]["session_id"], session.as_str());
    repo.json(["session", "end"]);
    assert_eq!(repo.json(["sessions-list", "--active"])["total_sessions"], 0);
}

#[test]
fn checkpoints_of_earlier_versions_are_still_shown() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let session = repo.start("ada", "t");
    let old = format!(
        "{{\"v\":1,\"id\":\"019ca945-0a00-7af1-b313-34f13e898f8a\",\"kind\":\"checkpoint\",\"session\":\"{session}\",\
         \"ai\":\"ada\",\"at\":\"2026-03-01T12:00:00.000Z\",\"commit\":\"{0}\",\"tree\":null,\"phase\":\"CHECK\",\"round\":1,\
         \"trigger\":\"manual\",\"vectors\":{{\"know\":0.5}},\"git_state\":{{\"head_commit\":\"{0}\",\"branch\":\"main\",\
         \"uncommitted_changes\":{{\"files_modified\":[\"a\",\"b\"],\"files_added\":[],\"files_deleted\":[]}},\"dirty\":true,\
         \"commits_since_last_checkpoint\":[{{\"commit\":\"{0}\",\"subject\":\"Begin\"}}]}}}}\n",
        repo.head()
    );
    repo.set_note("refs/notes/empirica/data/checkpoints", "HEAD", old.as_bytes());
    let json = repo.json(["checkpoint", "show"]);
    assert_eq!(json["git_state"]["uncommitted_changes"]["files_modified"], 2);
    assert_eq!(json["git_state"]["commits_since_last_checkpoint"][0]["message"], "Begin");
    assert!(json.get("breadcrumbs").is_none());
    assert!(repo.run(["checkpoint", "show"]).ok().out.contains("know 0.50"));
}

#[test]
fn a_snapshot_has_the_newest_value_of_each_vector_and_where_it_is_from() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let first = repo.json(["preflight", "-v", ALL])["checkpoint_id"].clone();
    let second = repo.json(["check", "-v", "know=0.81,uncertainty=0.22"])["checkpoint_id"].clone();
    let taken = repo.json(["checkpoint"]);
    assert_eq!(taken["vectors"].as_object().map(serde_json::Map::len), Some(13), "{taken}");
    assert_eq!((&taken["vectors"]["know"], &taken["vector_sources"]["know"]), (&json!(0.81), &second));
    assert_eq!((&taken["vector_sources"]["do"], &taken["vectors_from"]), (&first, &second));
    let text = repo.run(["checkpoint", "show"]).ok().out;
    let short = |id: &Value| id.as_str().expect("an id")[28..].to_owned();
    assert!(text.contains(&format!("(of assessment {}; change, clarity", short(&second))), "{text}");
    // those given with it go before, and are of no assessment
    let given = repo.json(["checkpoint", "-v", "know=0.9"]);
    assert_eq!((&given["vectors"]["know"], &given["vector_sources"]["know"]), (&json!(0.9), &Value::Null));
    assert_eq!((&given["vectors"]["uncertainty"], &given["vectors_from"]), (&json!(0.22), &Value::Null));
    // vectors without a newer assessment are not compared
    let id = taken["checkpoint_id"].as_str().expect("an id");
    repo.json(["check", "-v", "know=0.7,uncertainty=0.22"]);
    assert_eq!(repo.json(["diff", id])["vector_deltas"], json!({"know": -0.11, "uncertainty": 0.0}));
}

#[test]
fn the_round_is_the_same_at_each_place() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let rounds = |arguments: &[&str]| {
        let json = repo.json(arguments);
        let shown = repo.json(["checkpoint", "show", json["checkpoint_id"].as_str().expect("an id")]);
        [&json["round"], &json["session"]["round"], &json["investigation"]["round"], &shown["session"]["round"]]
            .map(|round| round.as_u64().unwrap_or_else(|| panic!("no round: {json}")))
    };
    assert_eq!(rounds(&["checkpoint"]), [1; 4]);
    repo.json(["check", "-v", "know=.5"]);
    repo.json(["check", "-v", "know=.5"]);
    assert_eq!(rounds(&["checkpoint"]), [2; 4]);
    assert_eq!(rounds(&["checkpoint"]), [2; 4]);
    assert_eq!(rounds(&["checkpoint", "--round", "7"]), [7; 4]);
    assert_eq!(rounds(&["checkpoint", "--phase", "ACT"]), [1; 4]);
    assert_eq!(rounds(&["checkpoint", "--phase", "ACT"]), [1; 4]);
}

#[test]
fn only_declared_causes_form_a_chain() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.json(["finding", "The clock is UTC"]);
    let question = id(&repo.json(["unknown", "Who pays?"]));
    repo.json(["finding", "The cache is cold"]);
    repo.json(["decision", "Warm it", "--why", "cheap"]);
    let chains = || repo.json(["checkpoint"])["investigation"]["breadcrumb_chains"].clone();
    assert_eq!(chains(), json!([]));
    repo.json(["resolve", &question, "The team"]);
    let stated =
        json!([{"finding": null, "led_to_unknown": "Who pays?", "led_to_finding": "The team", "led_to_fix": null}]);
    assert_eq!(chains(), stated);
}

/// Where each value comes from; of several that begin a field's name, the longest counts.
const ORIGINS: [(&str, &str); 47] = [
    ("type", "always the same"),
    ("timestamp", "the clock, when it is stored"),
    ("trigger", "`--trigger`"),
    ("vectors", "`-v`, else the newest value of each in the session's assessments and checkpoints"),
    ("git_state.head_commit", "HEAD"),
    ("git_state.branch", "HEAD"),
    ("git_state.ahead_behind", "the commits of the branch and its upstream"),
    ("git_state.uncommitted_changes", "the index and the work tree against HEAD"),
    ("git_state.commits_since_last_checkpoint", "the commits since the session's last checkpoint or assessment"),
    ("git_state.dirty", "whether there are uncommitted changes"),
    ("reasoning.latest", "`--reasoning`, else that of the last assessment"),
    ("reasoning.trajectory", "`--reasoning` of every assessment and checkpoint"),
    ("reasoning.decision_history", "`preflight`, `check` and `postflight`; only a check decides"),
    ("reasoning.epistemic_tags", "`--tag`"),
    ("breadcrumbs.findings.total", "`finding`, of all sessions"),
    ("breadcrumbs.findings.session", "`finding`, of the session"),
    ("breadcrumbs.findings.recent", "`finding`, the session's first"),
    ("breadcrumbs.unknowns.total", "`unknown`, of all sessions"),
    ("breadcrumbs.unknowns.unresolved", "`unknown` without an answer"),
    ("breadcrumbs.unknowns.resolved", "`resolve`"),
    ("breadcrumbs.unknowns.session", "`unknown`, of the session"),
    ("breadcrumbs.unknowns.recent", "`unknown`, the session's first"),
    ("breadcrumbs.dead_ends", "`deadend`, counted and listed likewise"),
    ("breadcrumbs.mistakes", "`mistake`, counted and listed likewise"),
    ("goals", "`goal`, of the session"),
    ("goals.current", "`goal`: the open one that was worked on last, and its subtasks"),
    ("handoffs", "`handoff`, of all sessions, without superseded ones"),
    ("session.session_id", "`session start`"),
    ("session.ai_id", "`session start --ai`"),
    ("session.project_id", "the first root commit"),
    ("session.start_time", "`session start`"),
    ("session.duration_minutes", "from the start to the checkpoint"),
    ("session.cascade_phase", "`--phase`, else the last assessment"),
    ("session.round", "`--round`, else the last assessment"),
    ("session.cycle", "`--cycle`, else the last that was given"),
    ("session.scope_depth", "`--scope`, else the last that was given"),
    ("session.checkpoints_count", "the session's assessments and checkpoints before this one"),
    ("session.last_checkpoint", "the last assessment or checkpoint"),
    ("project.project_id", "the first root commit"),
    ("project.name", "the name of the remote, else of the folder"),
    ("project.description", "git's description of the repository"),
    ("project.repos", "the URLs of the remotes"),
    ("project", "the sessions of all clones"),
    ("project.learning_deltas", "the mean change from `preflight` to `postflight`, of all sessions"),
    ("investigation", "as in `session`"),
    ("investigation.breadcrumb_chains", "`--led-from`, `resolve`, and what was decided, done or edited for it"),
    ("investigation.exploration_paths", "`source`, and the files of `activity` and `evidence`"),
];

/// Where the value of a field comes from.
#[track_caller]
fn origin(field: &str) -> &'static str {
    let more = [
        ("reference_docs.loaded_count", "`source`, of the session"),
        ("reference_docs.recent", "`source`; the type is `url`, the folder below `docs`, `documentation` or `code`"),
        ("reference_docs.pre_summaries", "the session's checkpoints before a compaction"),
    ];
    let begins =
        |name: &str| field.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    let found = ORIGINS.iter().chain(&more).filter(|(name, _)| begins(name)).max_by_key(|(name, _)| name.len());
    found.unwrap_or_else(|| panic!("where {field} comes from is not said")).1
}

/// A row for each field of `expected`: its name, its value in `found`, and where that comes from.
fn rows(expected: &Value, found: &Value, field: &str, out: &mut String) {
    match (expected, found) {
        (Value::Object(expected), _) => {
            for (key, inner) in expected {
                let field = if field.is_empty() { key.clone() } else { format!("{field}.{key}") };
                rows(inner, &found[key], &field, out);
            }
        }
        (Value::Array(expected), Value::Array(found)) if !expected.is_empty() => {
            // the last of a list has the most: of decisions, it is one of a check
            let last = found.last().unwrap_or_else(|| panic!("{field} is empty"));
            rows(&expected[0], last, &format!("{field}[]"), out);
        }
        (Value::Array(_), _) => panic!("{field} is empty: {found}"),
        _ => {
            assert!(!found.is_null(), "{field} has no value");
            let value = masked(&found.to_string().replace('"', ""));
            *out += &format!("| `{field}` | {value} | {} |\n", origin(field));
        }
    }
}

/// A text with ids, object ids and the parts of times that differ masked.
fn masked(text: &str) -> String {
    let pattern = |pattern: &str| regex::Regex::new(pattern).expect("a pattern");
    let text = pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").replace_all(text, "an id");
    let text = pattern(r"\b[0-9a-f]{40}\b").replace_all(&text, "a hash");
    let text = pattern(r"\b2026-\S+").replace_all(&text, "a time");
    pattern(r"\S*/hub\.git").replace_all(&text, "its URL").into_owned()
}

#[test]
fn the_documentation_tells_every_field_with_its_value_and_origin() {
    let place = Sandbox::new();
    let repo = rich(&place);
    let by = |arguments: &[&str]| repo.json(arguments.iter().chain(&["--ai", "claude"]));
    by(&["check", "-v", ALL, "--confidence", "0.82", "--reasoning", "Implemented fix"]);
    for (source, kind) in [
        ("docs/architecture/CYCLES.md", "architecture"),
        ("README.md", "documentation"),
        ("fixed.rs", "code"),
        ("https://example.com/hooks", "url"),
    ] {
        by(&["source", source]);
        let json = by(&["checkpoint", "-v", ALL]);
        let newest = &json["reference_docs"]["recent"][0];
        assert_eq!((&newest["path"], &newest["type"]), (&json!(source), &json!(kind)));
    }
    repo.commit("fixed.rs", "fn c() {}\n", "Fix hooks again");
    let json =
        by(&["checkpoint", "--trigger", "pre_compact", "-v", ALL, "--cycle", "3", "--scope", "0.75", "--tag", "hooks"]);
    let mut example: Value = serde_json::from_str(EXAMPLE).expect("JSON");
    example["breadcrumbs"]["mistakes"]["recent"] = json!([{"mistake": "", "prevention": ""}]);
    example["reasoning"]["decision_history"][0]["confidence"] = json!(0.5);
    let mut got = "\
# The fields of a checkpoint

`git empirica checkpoint` stores the state of a session. This is each field of it with its value in a session in which everything
happened, of a list the last entry, and where it comes from. [reference/json.md](reference/json.md#checkpoint) has the types.

| field | value | from |
|---|---|---|
"
    .to_owned();
    rows(&example, &json, "", &mut got);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/checkpoint.md");
    if std::env::var_os("EMPIRICA_BLESS").is_some() {
        std::fs::write(&path, &got).expect("written");
    }
    let told = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(told == got, "docs/checkpoint.md is not true; EMPIRICA_BLESS=1 writes it anew\n{got}");
}
