//! Real faults of the notes' storage: the answer of each command, the report of `status`, and that nothing is lost or
//! duplicated once the fault is gone. `faults_logs.rs` has those of the logs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::harness::{Repo, RunOutput, Sandbox};

const MARKDOWN: &str = "refs/notes/empirica/handoffs";

/// A shell around the program: `$@` is the program and its arguments.
pub type Wrap<'w> = Option<&'w str>;

/// Runs the program with `--json`, inside `wrap` when there is one.
#[track_caller]
pub fn run(repo: &Repo<'_>, wrap: Wrap<'_>, arguments: &[&str]) -> RunOutput {
    let Some(script) = wrap else { return repo.run(arguments.iter().copied().chain(["--json"])) };
    let program = env!("CARGO_BIN_EXE_git-empirica");
    let state = state(repo);
    let mut command = repo.place.command("sh", &repo.path);
    command.env("XDG_STATE_HOME", state).args(["-c", script, "sh", program]).args(arguments).arg("--json");
    let out = command.output().expect("a shell");
    RunOutput {
        code: out.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&out.stdout).into_owned(),
        err: String::from_utf8_lossy(&out.stderr).into_owned(),
    }
}

/// Where the user's state folder is in these tests.
pub fn state(repo: &Repo<'_>) -> PathBuf {
    repo.place.path().join("home/.local/state")
}

#[track_caller]
pub fn answers(repo: &Repo<'_>, wrap: Wrap<'_>, arguments: &[&str]) -> Value {
    let ran = run(repo, wrap, arguments).ok();
    let json = ran.json();
    assert_eq!(json["ok"], true, "{json}");
    json
}

/// The id of what a command stored.
pub fn id(json: &Value) -> String {
    let keys = ["handoff_id", "checkpoint_id", "id"];
    keys.iter().find_map(|key| json[key].as_str()).expect("an id").to_owned()
}

/// A session on a first commit, its records in the notes.
pub fn begun<'p>(place: &'p Sandbox) -> Repo<'p> {
    let repo = place.repo("r");
    repo.git(["config", "empirica.lockTimeout", "200ms"]).ok();
    repo.start("ada", "Work");
    repo.json(["flush"]);
    repo
}

/// Stores one record of each namespace while a fault is there: each succeeds, says that it is degraded, where it is (`storage`)
/// and why; everything reads it; `status` counts it and says why it waits. Returns the ids.
#[track_caller]
pub fn says_and_reads(repo: &Repo<'_>, wrap: Wrap<'_>, storage: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for (command, by_design) in [
        (&["finding", "said in need"][..], true),
        (&["goal", "add", "wanted in need"], true),
        (&["checkpoint", "-v", "know=0.5"], false),
        (&["preflight", "-v", "know=0.5,uncertainty=0.3"], false),
        (&["handoff", "-m", "handed over in need"], false),
    ] {
        let json = answers(repo, wrap, command);
        let degraded = !by_design || storage == "user_state";
        assert_eq!(json["storage"], storage, "{command:?}: {json}");
        assert_eq!(json["degraded_mode"], degraded, "{command:?}: {json}");
        if degraded {
            assert!(!json["warning"].as_str().unwrap_or_default().is_empty(), "{command:?}: {json}");
            assert!(json["recovery_commands"].is_array(), "{command:?}: {json}");
        } else {
            assert!(json.get("recovery_commands").is_none(), "{command:?}: {json}");
        }
        ids.push(id(&json));
    }
    let shown = answers(repo, wrap, &["session", "show", "latest"]).to_string();
    assert!(ids.iter().all(|id| shown.contains(id.as_str())), "{ids:?}: {shown}");
    assert_eq!(answers(repo, wrap, &["handoff", "list"])["handoffs"][0]["handoff_id"], *ids[4]);
    let status = answers(repo, wrap, &["status"]);
    let waiting = &status["waiting"];
    let sum: u64 = ["log", "user_state", "interrupted"].iter().filter_map(|place| waiting[place].as_u64()).sum();
    assert_eq!(status["unflushed"], sum, "{status}");
    assert!(sum >= 5, "{status}");
    assert!(waiting["since"].as_str().is_some_and(|at| at.starts_with("2026-03-01T12:00:00")), "{status}");
    assert_eq!(waiting["command"], "git empirica flush");
    ids
}

/// After the fault: the next command, on another commit and a day later, drains every record to the commit and with the time
/// it was made, once, and git is content.
#[track_caller]
pub fn drains(place: &mut Sandbox, made_on: &str, ids: &[String]) {
    place.now = "2026-03-02T00:00:00.000Z".into();
    let repo = place.at("r");
    let later = repo.commit("later", "later", "Later");
    let json = repo.json(["checkpoint", "-v", "know=0.6", "--session", "latest"]);
    assert_eq!(json["degraded_mode"], false, "{json}");
    assert_eq!(json["storage"], "git_notes", "{json}");
    let status = repo.json(["status"]);
    assert_eq!(status["unflushed"], 0, "{status}");
    assert_eq!(status["waiting"]["command"], Value::Null);
    assert_eq!(status["waiting"]["since"], Value::Null);
    for id in ids {
        let quoted = format!("\"id\":\"{id}\",\"kind\"");
        let found: Vec<Value> = ["journal", "checkpoints", "handoffs"]
            .iter()
            .flat_map(|namespace| repo.lines(namespace))
            .filter(|line| line.contains(&quoted))
            .map(|line| serde_json::from_str(&line).expect("a record"))
            .collect();
        assert_eq!(found.len(), 1, "{id} is stored once: {found:?}");
        assert_eq!(found[0]["commit"], *made_on);
        assert!(found[0]["at"].as_str().is_some_and(|at| at.starts_with("2026-03-01T12:00:00")), "{found:?}");
    }
    let handoff = ids.last().expect("a handoff");
    assert!(repo.note(MARKDOWN, made_on).contains(handoff.as_str()), "the Markdown is made up for");
    assert!(!repo.note(MARKDOWN, &later).contains(handoff.as_str()));
    assert_eq!(repo.json(["handoff", "list"])["total_found"], 1);
    repo.fsck();
}

/// Why records wait, as status says.
#[track_caller]
fn reason(repo: &Repo<'_>, wrap: Wrap<'_>) -> String {
    let status = answers(repo, wrap, &["status"]);
    status["waiting"]["reason"].as_str().unwrap_or_else(|| panic!("no reason: {status}")).to_owned()
}

fn permits(command: &[&str]) -> bool {
    let ran = std::process::Command::new(command[0]).args(&command[1..]).output();
    ran.is_ok_and(|out| out.status.success())
}

/// Whether a file system of our own can be mounted.
fn can_mount() -> bool {
    permits(&["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"])
}

#[test]
fn stored_records_report_their_location() {
    let place = Sandbox::new();
    let repo = begun(&place);
    let run_json = |arguments: &[&str], storage: &str| {
        let json = repo.json(arguments);
        assert_eq!((&json["storage"], &json["degraded_mode"]), (&Value::from(storage), &Value::from(false)), "{json}");
        assert!(json.get("recovery_commands").is_none(), "{json}");
        json
    };
    let unknown = id(&run_json(&["unknown", "why?"], "log"));
    run_json(&["resolve", &unknown, "so"], "log");
    run_json(&["activity", "shell", "ls"], "log");
    let goal = id(&run_json(&["goal", "add", "g"], "log"));
    run_json(&["goal", "done", &goal], "log");
    let status = repo.json(["status"]);
    assert_eq!((&status["waiting"]["log"], &status["waiting"]["reason"]), (&Value::from(5), &Value::Null), "{status}");
    run_json(&["preflight", "-v", "know=0.5"], "git_notes");
    run_json(&["check", "-v", "know=0.5"], "git_notes");
    run_json(&["checkpoint"], "git_notes");
    run_json(&["finding", "f"], "log");
    let post = run_json(&["postflight", "-v", "know=0.6"], "git_notes");
    assert!(post["handoff"]["handoff_id"].is_string(), "{post}");
    run_json(&["handoff"], "git_notes");
    let dry = repo.json(["handoff", "--dry-run"]);
    assert_eq!(dry["storage"], Value::Null, "{dry}");
    run_json(&["session", "end"], "git_notes");
    run_json(&["session", "start", "--ai", "bob", "--task", "t"], "log");
    // the text shows only exceptional states
    let ran = repo.run(["finding", "f"]).ok();
    assert!(!ran.err.contains("log") && !ran.out.contains("log"), "{} {}", ran.out, ran.err);
}

#[test]
fn a_full_object_store_loses_nothing() {
    // a limit on the size of files, which the log keeps and the note of this commit, with a reviewer's long line in it, does not
    let mut place = Sandbox::new();
    let (head, ids) = {
        let repo = begun(&place);
        let mut seed = 1u64;
        let mut noise = || -> String {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            format!("{:016x}", seed)
        };
        let long: String = (0..20_000).map(|_| noise()).collect();
        for namespace in ["journal", "checkpoints", "handoffs"] {
            let reference = format!("refs/notes/empirica/data/{namespace}");
            let note = repo.note(&reference, &repo.head());
            repo.set_note(&reference, &repo.head(), format!("{note}{long}\n").as_bytes());
        }
        repo.json(["flush"]);
        let wrap = Some("trap '' XFSZ; ulimit -f 128; exec \"$@\"");
        let ids = says_and_reads(&repo, wrap, "log");
        (repo.head(), ids)
    };
    drains(&mut place, &head, &ids);
}

#[test]
fn a_full_file_system_of_objects_loses_nothing() {
    if !can_mount() {
        // above, a file size limit simulates it
        return;
    }
    let mut place = Sandbox::new();
    let (head, ids) = {
        let repo = begun(&place);
        // a mount hides the existing objects: they are copied to a small file system, which is then filled
        let wrap = "exec unshare -rm sh -c 'cp -R .git/objects ../copy.$$ && mount -t tmpfs -o size=256k none .git/objects \
            && cp -R ../copy.$$/. .git/objects && rm -r ../copy.$$; \
            dd if=/dev/zero of=.git/objects/filler bs=1k 2>/dev/null; exec \"$@\"' sh \"$@\"";
        let ids = says_and_reads(&repo, Some(wrap), "log");
        let why = reason(&repo, Some(wrap));
        assert!(why.contains("objects") && why.contains("no space"), "{why}");
        (repo.head(), ids)
    };
    drains(&mut place, &head, &ids);
}

#[test]
fn a_read_only_object_store_loses_nothing() {
    let mut place = Sandbox::new();
    let (head, ids) = {
        let repo = begun(&place);
        let objects = repo.path.join(".git/objects");
        let set = |mode: u32| {
            let folders =
                repo.place.command("find", &repo.path).arg(&objects).args(["-type", "d"]).output().expect("find");
            for folder in String::from_utf8_lossy(&folders.stdout).lines() {
                fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("a mode");
            }
        };
        set(0o555);
        let bound = fs::File::create(objects.join("probe")).is_err();
        let (wrap, word) = if bound {
            (None, "chmod u+rwx")
        } else {
            set(0o755);
            fs::remove_file(objects.join("probe")).expect("a file");
            // permissions do not bind root: a mount does, else a file in place of a folder
            match can_mount() {
                true => {
                    let mount = "mount --bind .git/objects .git/objects && mount -o remount,ro,bind .git/objects";
                    (Some(format!("exec unshare -rm sh -c '{mount} && exec \"$@\"' sh \"$@\"")), "df -h")
                }
                false => {
                    repo.git(["repack", "-adq"]).ok();
                    in_the_way(&repo, true);
                    (None, "mv ")
                }
            }
        };
        let ids = says_and_reads(&repo, wrap.as_deref(), "log");
        assert!(reason(&repo, wrap.as_deref()).contains("object"), "it says why");
        let status = answers(&repo, wrap.as_deref(), &["status"]);
        let commands = status["waiting"]["recovery_commands"].to_string();
        assert!(commands.contains(word), "{word}: {commands}");
        set(0o755);
        in_the_way(&repo, false);
        (repo.head(), ids)
    };
    drains(&mut place, &head, &ids);
}

/// Puts a file where each folder of objects would be, or takes those away.
pub fn in_the_way(repo: &Repo<'_>, there: bool) {
    for n in 0..256 {
        let path = repo.path.join(format!(".git/objects/{n:02x}"));
        match there {
            true => {
                let _ = fs::remove_dir(&path);
                fs::write(&path, "").expect("a file");
            }
            false if path.is_file() => fs::remove_file(&path).expect("it goes"),
            false => {}
        }
    }
}

#[test]
fn files_where_folders_of_objects_should_be_are_named_with_the_command_that_moves_them() {
    let mut place = Sandbox::new();
    let (head, ids) = {
        let repo = begun(&place);
        repo.git(["repack", "-adq"]).ok();
        in_the_way(&repo, true);
        let ids = says_and_reads(&repo, None, "log");
        assert!(reason(&repo, None).contains("is a file where a folder has to be"));
        in_the_way(&repo, false);
        (repo.head(), ids)
    };
    drains(&mut place, &head, &ids);
}

#[test]
fn a_lock_that_is_held_loses_nothing() {
    let mut place = Sandbox::new();
    let (head, ids) = {
        let repo = begun(&place);
        let lock = fs::File::options().append(true).open(repo.path.join(".git/empirica/lock")).expect("the lock");
        lock.lock().expect("it is ours");
        let ids = says_and_reads(&repo, None, "log");
        assert!(reason(&repo, None).contains("another process holds it"));
        drop(lock);
        (repo.head(), ids)
    };
    drains(&mut place, &head, &ids);
}

/// A fault of refs that the recovery command in the warning fixes.
#[track_caller]
fn mended_by_its_own_command(block: impl Fn(&Repo<'_>), why: &str) {
    let mut place = Sandbox::new();
    let (head, ids) = {
        let repo = begun(&place);
        block(&repo);
        let ids = says_and_reads(&repo, None, "log");
        let text = reason(&repo, None);
        assert!(text.contains(why), "{text}");
        let json = repo.json(["checkpoint", "-v", "know=0.55"]);
        assert_eq!(json["degraded_mode"], true, "{json}");
        let commands = json["recovery_commands"].as_array().expect("a list");
        assert_eq!(commands.len(), 1, "{json}");
        let hints = repo.run(["checkpoint", "-v", "know=0.55"]).ok().err;
        for command in commands {
            let command = command.as_str().expect("a command");
            assert!(hints.contains(&format!("hint: {command}")), "{hints}");
            let ran = repo.place.command("sh", &repo.path).args(["-c", command]).output().expect("a shell");
            assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
        }
        (repo.head(), ids)
    };
    drains(&mut place, &head, &ids);
}

fn overwrite(repo: &Repo<'_>, reference: &str, content: &str) {
    let path = repo.path.join(".git").join(reference);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, content).expect("a file");
}

#[test]
fn a_corrupt_notes_ref_is_repaired_by_the_suggested_command() {
    for namespace in ["journal", "checkpoints", "handoffs"] {
        let name = format!("refs/notes/empirica/data/{namespace}");
        mended_by_its_own_command(|repo| overwrite(repo, &name, "garbage\n"), &name);
    }
}

#[test]
fn a_corrupt_markdown_ref_is_repaired_by_the_suggested_command() {
    mended_by_its_own_command(|repo| overwrite(repo, MARKDOWN, "garbage\n"), MARKDOWN);
}

#[test]
fn a_ref_to_a_missing_commit_is_repaired_by_the_suggested_command() {
    let gone = format!("{}\n", "1".repeat(40));
    for name in ["refs/notes/empirica/data/journal", MARKDOWN] {
        mended_by_its_own_command(|repo| overwrite(repo, name, &gone), "1111");
    }
}

#[test]
fn a_stale_ref_lock_is_removed_by_the_suggested_command() {
    let name = "refs/notes/empirica/data/journal";
    mended_by_its_own_command(|repo| overwrite(repo, &format!("{name}.lock"), ""), "journal.lock");
}
