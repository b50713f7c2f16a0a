//! Sessions of OpenCode, in its database and its older storage.

use rusqlite::Connection;
use serde_json::json;

use super::*;
use crate::agents::opencode::storage;
use crate::read::files::entries;

fn is_first_session(summary: &Transcript) {
    assert_eq!((summary.agent, summary.session_id.as_deref()), (Agent::OpenCode, Some("ses_1")));
    assert_eq!(counts(&summary.tools), [("shell", 1, 0), ("read", 1, 0), ("write", 1, 1), ("edit", 1, 0)]);
    assert_eq!(summary.files_modified, ["a.ts", "gen.ts"]);
    assert_eq!((tokens(summary), summary.context_tokens), ([18, 18, 111, 62], Some(15)));
    assert_eq!((pending(summary), summary.task.as_deref()), (vec![("cover b", "pending")], Some("Test it")));
    assert_eq!(texts(summary, Role::Assistant), ["I'll go with unit tests instead of a script.", "Tested."]);
    assert_eq!((summary.decisions.len(), summary.rows, summary.skipped_rows, summary.size > 1000), (1, 19, 0, true));
    assert_eq!(summary.started_at.as_deref(), Some("2026-03-04T04:53:20Z"));
    let [agent] = summary.subagents.as_slice() else { panic!("{:?}", summary.subagents) };
    assert_eq!(
        (agent.name.as_deref(), agent.id.as_deref(), &agent.files_modified[..]),
        (Some("Helper"), Some("ses_2"), ["helper.ts".to_owned()].as_slice())
    );
}

#[test]
fn open_code_is_read_from_its_older_storage() {
    for name in ["opencode/storage", "opencode", "opencode/storage/session/p1/ses_1.json"] {
        is_first_session(&read_fixture(name));
        assert_eq!(detect(&fixture(name)), Some(Agent::OpenCode));
    }
    let newest = read(&fixture("opencode/storage"), None).unwrap();
    assert_eq!((newest.session_id.as_deref(), newest.rows), (Some("ses_3"), 0));
    let error = read(&fixture("opencode/storage"), Some(Path::new("/nowhere"))).unwrap_err();
    assert!(matches!(error, Error::NoSession { .. }), "{error}");
}

/// OpenCode's database with the sessions of the fixture.
fn database(folder: &Path, journal: &str) -> PathBuf {
    let path = folder.join("my %41?#.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(&format!("PRAGMA journal_mode={journal};
        CREATE TABLE project(id TEXT PRIMARY KEY, worktree TEXT);
        CREATE TABLE session(id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
        CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);")).unwrap();
    let storage = fixture("opencode/storage");
    for (_, info) in storage::list(&storage) {
        let times = (info.created as i64, info.updated as i64);
        let values = (&info.id, &info.parent, &info.folder, &info.title, times.0, times.1);
        db.execute("INSERT INTO session VALUES(?1, 'p', ?2, ?3, ?4, '1', ?5, ?6)", values).unwrap();
        for file in entries(&storage.join("message").join(&info.id)) {
            let mut data: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
            let (at, id) = (data["time"]["created"].as_i64(), data.as_object_mut().unwrap().remove("id").unwrap());
            db.execute("INSERT INTO message VALUES(?1, ?2, ?3, ?3, ?4)", (id.as_str(), &info.id, at, data.to_string()))
                .unwrap();
            for (number, part) in entries(&storage.join("part").join(id.as_str().unwrap())).into_iter().enumerate() {
                let name = format!("prt_{}_{number:02}", id.as_str().unwrap());
                let data = std::fs::read_to_string(part).unwrap();
                db.execute("INSERT INTO part VALUES(?1, ?2, ?3, 0, 0, ?4)", (name, id.as_str(), &info.id, data))
                    .unwrap();
            }
        }
    }
    path
}

#[test]
fn open_code_is_read_from_its_database_and_nothing_is_left_beside_it() {
    for journal in ["WAL", "DELETE"] {
        let folder = tempfile::tempdir().unwrap();
        let path = database(folder.path(), journal);
        let before = (entries(folder.path()), std::fs::read(&path).unwrap());
        is_first_session(&read(&path, Some(Path::new("/home/dev/repo"))).unwrap());
        assert_eq!(detect(&path), Some(Agent::OpenCode));
        assert_eq!(before, (entries(folder.path()), std::fs::read(&path).unwrap()), "{journal}");
    }
}

#[test]
fn each_session_of_a_database_is_found_and_read_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("opencode");
    std::fs::create_dir(&data).unwrap();
    std::fs::rename(database(folder.path(), "WAL"), data.join("opencode.db")).unwrap();
    // the storage has the same sessions, which are found once
    std::os::unix::fs::symlink(fixture("opencode/storage"), data.join("storage")).unwrap();
    let variable = |name: &str| (name == "XDG_DATA_HOME").then(|| folder.path().to_owned());
    let root = PathBuf::from("/home/dev/repo");
    let no = |_: &str| false;
    let repository = find::Repository {
        roots: std::slice::from_ref(&root),
        earlier: &[],
        cwd: &root,
        has_commit: &no,
        has_remote: &no,
    };
    let found = find::all(&variable, &repository, None).transcripts;
    let read: Vec<Transcript> = found.iter().map(|found| find::read(found).unwrap()).collect();
    let ids: Vec<Option<&str>> = read.iter().map(|transcript| transcript.session_id.as_deref()).collect();
    assert_eq!(ids, found.iter().map(|found| found.session.as_deref()).collect::<Vec<_>>());
    let first = ids.iter().position(|id| *id == Some("ses_1")).unwrap();
    is_first_session(&read[first]);
    assert!(found[first].bytes > 1000 && found.iter().all(|found| found.path == data.join("opencode.db")), "{found:?}");
    assert!(!ids.contains(&Some("ses_2")), "a subagent's session is part of another");
}

#[test]
fn rows_in_the_wal_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), "WAL");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA wal_autocheckpoint=0; UPDATE session SET title='New' WHERE id='ses_2'").unwrap();
    let summary = read(&path, Some(Path::new("/home/dev/repo"))).unwrap();
    assert_eq!(summary.subagents[0].name.as_deref(), Some("New"));
}

#[test]
fn a_damaged_or_foreign_database_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE a(b)").unwrap();
    assert!(read(&path, None).unwrap_err().to_string().contains("as OpenCode's"));
    let whole = std::fs::read(database(folder.path(), "DELETE")).unwrap();
    for kept in [100, 4096, whole.len() / 2] {
        std::fs::write(&path, &whole[..kept]).unwrap();
        assert!(read(&path, None).is_err(), "{kept}");
    }
    let mut torn = whole;
    let from = torn.len() / 3;
    torn[from..].iter_mut().step_by(7).for_each(|byte| *byte ^= 0x55);
    std::fs::write(&path, torn).unwrap();
    let _ = read(&path, None);
}

#[test]
fn a_command_that_exits_with_an_error_failed_though_the_call_was_completed() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), "DELETE");
    let db = Connection::open(&path).unwrap();
    let part = |exit: Value| {
        let state = json!({"status": "completed", "input": {"command": "x"}, "metadata": {"exit": exit}});
        json!({"type": "tool", "tool": "bash", "callID": format!("exit{exit}"), "state": state}).to_string()
    };
    for (at, exit) in [json!(3), json!(0), Value::Null].into_iter().enumerate() {
        db.execute("INSERT INTO part VALUES(?1, 'msg_3', 'ses_1', 0, 0, ?2)", (format!("x{at}"), part(exit))).unwrap();
    }
    let summary = read(&path, Some(Path::new("/home/dev/repo"))).unwrap();
    assert_eq!(counts(&summary.tools)[0], ("shell", 4, 1));
}

#[test]
fn what_a_forked_session_copied_counts_in_its_parent_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), "DELETE");
    let db = Connection::open(&path).unwrap();
    let at = 4_000_000_000_000_i64;
    db.execute("INSERT INTO session VALUES('ses_f', 'p', NULL, '/home/dev/repo', 'T (fork #1)', '1', ?1, ?1)", [at])
        .unwrap();
    db.execute_batch(
        "INSERT INTO message SELECT 'f_' || id, 'ses_f', time_created, time_updated, data FROM message WHERE session_id = 'ses_1';
         INSERT INTO part SELECT 'f_' || id, 'f_' || message_id, 'ses_f', 0, 0, data FROM part WHERE session_id = 'ses_1';",
    )
    .unwrap();
    let own =
        json!({"role": "assistant", "time": {"created": at + 5}, "tokens": {"input": 7, "output": 2}}).to_string();
    db.execute("INSERT INTO message VALUES('own', 'ses_f', ?1, ?1, ?2)", (at + 5, own)).unwrap();
    let summary = read(&path, Some(Path::new("/home/dev/repo"))).unwrap();
    assert_eq!((summary.session_id.as_deref(), summary.parent.as_deref()), (Some("ses_f"), Some("ses_1")));
    assert_eq!((tokens(&summary), summary.tools.len(), summary.files_modified.len()), ([7, 2, 0, 0], 0, 0));
    assert_eq!((pending(&summary), summary.task.as_deref()), (vec![("cover b", "pending")], None));
}
