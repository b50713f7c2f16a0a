//! After a redaction, git's tools and a search of raw bytes find nothing of the text, wherever it was: in notes, logs, the index, pages, the
//! state folder, on the remote, in other clones. What cannot be removed is said.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::support::harness::{Repo, Sandbox, is_long};

const SECRET: &str = "the \"stagingdoor77\" of Zürich\nopens with hunter2hunter2 \\ five";
/// Pieces of it that no escaping changes.
const PIECES: [&str; 2] = ["stagingdoor77", "hunter2hunter2"];

/// The pieces as they may be stored: in any case, as UTF-16, in hex, in base64 behind any number of bytes.
fn forms() -> Vec<Vec<u8>> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let base64 = |piece: &[u8]| -> Vec<u8> {
        let triples = piece.chunks_exact(3).map(|three| u32::from_be_bytes([0, three[0], three[1], three[2]]));
        triples.flat_map(|bits| [18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift & 63) as usize])).collect()
    };
    let mut out = Vec::new();
    for piece in PIECES {
        let bytes = piece.as_bytes();
        out.push(bytes.to_vec());
        out.push(piece.encode_utf16().flat_map(u16::to_le_bytes).collect());
        out.push(bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect());
        out.extend((0..3).map(|skipped| base64(&bytes[skipped..])));
    }
    out
}

fn holds(bytes: &[u8]) -> bool {
    let bytes = bytes.to_ascii_lowercase();
    let forms = forms().into_iter().map(|form| form.to_ascii_lowercase());
    forms.into_iter().any(|form| bytes.windows(form.len()).any(|part| part == form))
}

/// Every file below a folder, as it is, that holds it.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("its kind");
        if kind.is_dir() {
            files(&entry.path(), out);
        } else if kind.is_file() && holds(&fs::read(entry.path()).expect("a file")) {
            out.push(entry.path());
        }
    }
}

/// The objects that hold it, reachable or not.
fn objects(repo: &Repo<'_>) -> bool {
    let arguments = ["cat-file", "--batch-all-objects", "--batch", "--unordered"];
    let output = repo.place.command("git", &repo.path).args(arguments).output().expect("git starts");
    assert!(output.status.success());
    holds(&output.stdout)
}

/// What git finds from its refs and reflogs, in every version of every file, and in messages.
fn reachable(repo: &Repo<'_>) -> bool {
    let tips = repo.git(["for-each-ref", "--format=%(objectname)"]).ok().out;
    let old = repo.git(["reflog", "list"]).out;
    let old: String = old.lines().map(|name| repo.git(["log", "-g", "--format=%H", name]).out).collect();
    let commits = repo.git(["rev-list", "--all"]).ok().out;
    let all: Vec<&str> = tips.lines().chain(old.lines()).chain(commits.lines()).collect();
    let messages = repo.git(["log", "--all", "-g", "--format=%B%gs"]).ok().out;
    PIECES.iter().any(|piece| {
        let grep = ["grep", "-q", "-i", "-F", "-e", piece];
        repo.git(grep.iter().chain(&all)).code == 0
    }) || holds(messages.as_bytes())
}

/// The words of the index.
fn words(repo: &Repo<'_>) -> Vec<String> {
    let file = repo.path.join(repo.git_out(["rev-parse", "--git-common-dir"])).join("empirica/index.db");
    let Ok(index) = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY) else { return Vec::new() };
    index.execute_batch("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, words, row)").expect("its words");
    let mut find = index.prepare("SELECT term FROM temp.terms").expect("a query");
    let all = find.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    all.map(|word| word.expect("a word")).collect()
}

/// A remote, and clones of it, set up, in a format.
fn team<'p>(place: &'p Sandbox, hash: &str, refs: &str) -> (Repo<'p>, Vec<Repo<'p>>) {
    let seed = place.at("seed");
    fs::create_dir(&seed.path).expect("a folder");
    let format = [format!("--object-format={hash}"), format!("--ref-format={refs}")];
    seed.git(["init", "-q", "-b", "main"].into_iter().chain(format.iter().map(String::as_str))).ok();
    let named = |repo: &Repo<'_>| {
        repo.git(["config", "user.name", "Test"]).ok();
        repo.git(["config", "user.email", "test@example.com"]).ok();
    };
    named(&seed);
    seed.commit("a", "a\n", "First");
    seed.git(["clone", "-q", "--bare", &format[1], ".", "../hub.git"]).ok();
    let clone = |at: usize| {
        let name = format!("c{at}");
        seed.git(["clone", "-q", &format[1], "../hub.git", &format!("../{name}")]).ok();
        let repo = place.at(&name);
        named(&repo);
        repo.run(["init"]).ok();
        repo
    };
    (place.at("hub.git"), (0..3).map(clone).collect())
}

/// Says it wherever a session can; returns the finding.
fn say_everywhere(repo: &Repo<'_>) -> String {
    repo.start("ada", "Look for it");
    repo.json(["preflight", "-v", "know=0.4,uncertainty=0.6", "--reasoning", SECRET]);
    let id = repo.json(["finding", SECRET, "--at", "a:1"])["id"].as_str().expect("an id").to_owned();
    repo.json(["unknown", &format!("Who said {SECRET}?")]);
    repo.json(["decision", "Change it", "--why", SECRET]);
    repo.json(["checkpoint", "--search", SECRET]);
    repo.json(["handoff", "--context", SECRET, "--next", SECRET]);
    repo.git(["notes", "--ref", "refs/notes/empirica/handoffs", "append", "-m", &format!("Reviewed: {SECRET}")]).ok();
    let line = format!("a line: {}", SECRET.replace('\n', " "));
    repo.git(["notes", "--ref", "refs/notes/empirica/data/journal", "append", "-m", &line]).ok();
    // in the index, a page, and git's files
    repo.run(["search", "stagingdoor77"]).ok();
    repo.run(["report", "--html", "../page.html"]).ok();
    repo.git(["log", "-1", "--notes=*"]).ok();
    id
}

#[test]
fn an_independent_search_finds_nothing_of_it_anywhere() {
    let formats = [("sha1", "files"), ("sha256", "reftable"), ("sha1", "reftable"), ("sha256", "files")];
    for (hash, refs) in formats.into_iter().take(if is_long() { 4 } else { 2 }) {
        let place = Sandbox::new();
        let (hub, clones) = team(&place, hash, refs);
        let [ours, theirs, late] = clones.as_slice() else { panic!("three clones") };
        let id = say_everywhere(ours);
        ours.git(["worktree", "add", "-q", "../tree"]).ok();
        ours.run(["sync"]).ok();
        // a teammate quotes it, another has it and is away
        theirs.run(["sync"]).ok();
        theirs.start("bob", "Go on");
        theirs.json(["finding", &format!("ada says: {SECRET}")]);
        theirs.json(["handoff", "--next", SECRET]);
        theirs.run(["search", "stagingdoor77"]).ok();
        theirs.run(["sync"]).ok();
        late.run(["sync"]).ok();
        late.run(["search", "stagingdoor77"]).ok();
        // pending in the log, and in the user's state folder
        let again = ours.json(["finding", SECRET])["id"].as_str().expect("an id").to_owned();
        let state = ours.path.join(".git/empirica");
        fs::rename(&state, ours.path.join(".git/kept")).expect("a folder");
        fs::write(&state, "in the way").expect("a file");
        let elsewhere = ours.json(["finding", SECRET, "--session", "latest"]);
        assert_eq!(elsewhere["storage"], "user_state", "{elsewhere}");
        let elsewhere = elsewhere["id"].as_str().expect("an id").to_owned();
        fs::remove_file(&state).expect("it goes");
        fs::rename(ours.path.join(".git/kept"), &state).expect("a folder");
        let mut before = Vec::new();
        files(&place.path(), &mut before);
        let is_among = |part: &str| before.iter().any(|path| path.to_string_lossy().contains(part));
        assert!(["page.html", "index.db", "/wal/", "state/"].iter().all(|part| is_among(part)), "{before:?}");
        assert!(clones.iter().chain([&hub]).all(|repo| objects(repo) && reachable(repo)));
        assert!(words(ours).iter().any(|word| word.starts_with("hunter2")));

        let done = ours.run(["redact", &id, &again, &elsewhere, "--reason", "a password"]).ok();
        for said in ["git gc --prune=now", "servers", "pages"] {
            assert!(done.err.contains(said), "{said}: {}", done.err);
        }
        // nothing of git leads to it, without gc, here and on the remote
        assert!(!reachable(ours), "{}{}", done.out, done.err);
        assert!(!reachable(&hub));
        // others lose it with their next sync
        theirs.run(["sync"]).ok();
        late.run(["sync"]).ok();
        for repo in [ours, theirs, late] {
            repo.run(["search", "door"]).ok();
            repo.run(["status"]).ok();
            assert!(!reachable(repo));
            let left =
                words(repo).into_iter().find(|word| word.starts_with("hunter2") || word.starts_with("stagingdoor"));
            assert_eq!(left, None, "{}", repo.path.display());
        }
        ours.run(["report", "--html", "../page.html"]).ok();
        // and git removes what nothing leads to
        for repo in clones.iter().chain([&hub]) {
            repo.git(["gc", "--quiet", "--prune=now"]).ok();
            assert!(!objects(repo), "{}", repo.path.display());
        }
        let mut left = Vec::new();
        files(&place.path(), &mut left);
        assert_eq!(left, Vec::<PathBuf>::new());
        // the rest is there
        for repo in [ours, theirs, late] {
            let all = repo.run(["log", "--journal", "--handoffs", "--checkpoints"]).ok().out;
            let kept = ["Change it", "ada says: [redacted]", "Who said [redacted]?"];
            assert!(kept.iter().all(|kept| all.contains(kept)), "{all}");
            repo.fsck();
        }
    }
}
