//! A repository with as many handoffs as wanted, each of a session of its own and on a commit of its own: what agents
//! would have recorded in years, in two streams for git's fast-import.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use chrono::{DateTime, SecondsFormat, Utc};
use empirica_notes::format::record;
use empirica_notes::model::assessment::CommitLine;
use empirica_notes::model::handoff::RepositoryState;
use empirica_notes::model::journal::anchor::Anchor;
use empirica_notes::model::journal::{DeadEnd, Decision, Evidence, Finding, Resolve, Unknown};
use empirica_notes::model::session::{SessionEnd, SessionStart};
use empirica_notes::model::{Assessment, Body, Envelope, Id, Namespace, Phase, Record, SessionId, Vector, Vectors};
use empirica_notes::store::Render;
use git_empirica::fold::handoff_report::{GitWork, HandoffInput, report};
use git_empirica::fold::session_records::SessionRecords;
use git_empirica::use_cases::handoff::note::BuiltIn;

use super::common::{Bench, run};
use super::words::Words;

/// Who works, with how many percent of the sessions.
pub const AGENTS: [(&str, usize); 6] =
    [("claude-code", 40), ("codex", 25), ("gemini", 15), ("copilot", 10), ("aider", 9), ("rare-agent", 1)];
/// When the first commit was made, in seconds since 1970, and how many seconds later each next one.
const BEGIN: u64 = 1_700_000_000;
const BETWEEN: u64 = 600;
const FILES: usize = 400;
/// The refs of the notes: one for each namespace, in their order, then the Markdown.
const REFS: [&str; 4] =
    ["empirica/data/journal", "empirica/data/checkpoints", "empirica/data/handoffs", "empirica/handoffs"];
/// What a session logs, 40 claims.
const FINDINGS: usize = 22;
const QUESTIONS: usize = 5;
const DEAD_ENDS: usize = 4;
const DECISIONS: usize = 4;
const CHECKS: usize = 5;
const WHO: &str = "Bench <bench@example.com>";

/// A commit that records are made on.
struct Made {
    id: String,
    tree: String,
    subject: String,
    files: Vec<String>,
}

/// `n` handoffs below `folder`, packed, with an active session of the agent `bench`. One that is there is packed again: what was measured in it wrote
/// objects.
pub fn repository(bench: &Bench, folder: &Path, n: usize) -> PathBuf {
    let path = folder.join(format!("handoffs-{n}"));
    let ready = path.join(".git/ready");
    if ready.exists() {
        run(bench.git(&path, &["repack", "-q", "-a", "-d"]));
        return path;
    }
    std::fs::create_dir_all(&path).expect("a folder");
    run(bench.git(&path, &["init", "-q", "-b", "main"]));
    bench.configure(&path);
    let mut words = Words::new(n as u64);
    let made = commits(bench, &path, &mut words, n);
    bench.import(&path, |to| notes(to, &mut words, &made));
    // as git packs what came in small pieces: fast-import knows no deltas between blobs that are far apart
    run(bench.git(&path, &["repack", "-q", "-a", "-d", "-f"]));
    run(bench.git(&path, &["gc", "-q"]));
    run(bench.git(&path, &["reset", "-q", "--hard"]));
    // git compares the content of files written in the second of its index, until it writes that later
    std::thread::sleep(std::time::Duration::from_millis(1100));
    run(bench.git(&path, &["status"]));
    run(bench.ours(&path, &["session", "start", "--ai", "bench", "--task", "Measure the whole history"]));
    // what changed by other hands is looked at once, not in what is measured
    run(bench.ours(&path, &["flush"]));
    std::fs::write(ready, "").expect("a file");
    path
}

/// The history: a commit to begin with, and one for each handoff.
fn commits(bench: &Bench, path: &Path, words: &mut Words, n: usize) -> Vec<Made> {
    let names: Vec<String> =
        (0..FILES).map(|i| format!("src/{}/{}.rs", words.ranked(200 + i % 20), words.ranked(300 + i))).collect();
    let mut made = Vec::with_capacity(n + 1);
    bench.import(path, |to| {
        for i in 0..=n {
            let subject = words.text(4);
            let message = format!("{subject}\n\n{}.\n", words.text(12));
            let mut files: Vec<String> =
                (0..=words.random.below(3)).map(|_| names[words.random.below(FILES)].clone()).collect();
            files.sort();
            files.dedup();
            put(to, &format!("commit refs/heads/main\nmark :{}\ncommitter {WHO} {} +0000\n", i + 1, time(i)));
            data(to, &message);
            if i > 0 {
                put(to, &format!("from :{i}\n"));
            }
            for file in &files {
                put(to, &format!("M 100644 inline {file}\n"));
                data(to, &format!("// {i}\n{}\n", words.text(8)));
            }
            made.push(Made { id: String::new(), tree: String::new(), subject, files });
        }
    });
    let listed = bench.git(path, &["log", "--reverse", "--format=%H %T", "main"]).stdout(Stdio::piped()).output();
    let listed = String::from_utf8(listed.expect("git log").stdout).expect("ids");
    for (made, line) in made.iter_mut().zip(listed.lines()) {
        let (id, tree) = line.split_once(' ').expect("two ids");
        (made.id, made.tree) = (id.to_owned(), tree.to_owned());
    }
    made
}

/// The notes of all refs. As agents work, a session begins on one commit and hands over on the next.
fn notes(to: &mut dyn Write, words: &mut Words, made: &[Made]) {
    let mut placed: [Vec<(&str, usize)>; 4] = Default::default();
    let mut blob = |to: &mut dyn Write, at: usize, on: usize, note: &str| {
        let mark = on * REFS.len() + at + 1;
        put(to, &format!("blob\nmark :{mark}\n"));
        data(to, note);
        placed[at].push((&made[on].id, mark));
    };
    let mut standing = [String::new(), String::new()];
    for i in 1..made.len() {
        let mut next = [String::new(), String::new()];
        for record in session(words, &made[i - 1], &made[i], i) {
            let line = record::encode(&record) + "\n";
            let after = record.envelope.commit.as_ref() == Some(&made[i].id);
            match record.body.namespace() {
                Some(Namespace::Handoffs) => {
                    let block =
                        BuiltIn.blocks(std::slice::from_ref(&record), &BTreeSet::new(), false).expect("a block");
                    blob(to, 2, i, &line);
                    blob(to, 3, i, &format!("{}\n", block.concat()));
                }
                namespace => {
                    let at = usize::from(namespace == Some(Namespace::Checkpoints));
                    if after { &mut next[at] } else { &mut standing[at] }.push_str(&line);
                }
            }
        }
        for (at, note) in std::mem::replace(&mut standing, next).iter().enumerate() {
            blob(to, at, i - 1, note);
        }
    }
    for (at, note) in standing.iter().enumerate() {
        blob(to, at, made.len() - 1, note);
    }
    for (name, mut placed) in REFS.iter().zip(placed) {
        put(to, &format!("commit refs/notes/{name}\ncommitter {WHO} {} +0000\ndata 0\n", time(made.len())));
        placed.sort_unstable();
        lay_out(to, &placed, 0, 0);
        put(to, "\n");
    }
}

/// Writes the notes below the first `n` hex digits, in as many folders as git itself would (`determine_fanout` in its
/// notes.c): one level more where all 16 next digits have several notes. fast-import's own notes are laid out otherwise.
fn lay_out(to: &mut dyn Write, notes: &[(&str, usize)], n: usize, fanout: usize) {
    let groups: Vec<&[(&str, usize)]> = notes.chunk_by(|(a, _), (b, _)| a.as_bytes()[n] == b.as_bytes()[n]).collect();
    let full = groups.len() == 16 && groups.iter().all(|group| group.len() > 1);
    let fanout = fanout + usize::from(n.is_multiple_of(2) && n <= 2 * fanout && full);
    for group in groups {
        let [(id, mark)] = group else {
            lay_out(to, group, n + 1, fanout);
            continue;
        };
        let folders: String = (0..fanout).map(|level| format!("{}/", &id[2 * level..2 * level + 2])).collect();
        put(to, &format!("M 100644 :{mark} {folders}{}\n", &id[2 * fanout..]));
    }
}

/// What one session says: on the commit it begins with, and on the one it hands over.
fn session(words: &mut Words, before: &Made, after: &Made, i: usize) -> Vec<Record> {
    let r = &mut words.random;
    let mut chance = r.below(100);
    let agent = AGENTS.iter().find(|(_, share)| {
        let found = chance < *share;
        chance = chance.saturating_sub(*share);
        found
    });
    let (a, b) = (r.next(), r.next());
    let id = format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 50 | 0x8000,
        b & 0xffff_ffff_ffff
    );
    let mut session = Saying {
        id: SessionId::parse(&id).expect("a session's id"),
        ai: agent.expect("they come to 100").0,
        ms: (time(i) - 480) * 1000,
        records: Vec::new(),
    };
    let task = words.text(4);
    let place = format!("{:016x}", words.random.below(20));
    let start = SessionStart {
        task: Some(task),
        kind: None,
        external_id: None,
        worktree: "main".to_owned(),
        place,
        from: None,
        from_handoff: None,
    };
    session.say(words, before, Body::SessionStart(start));
    session.assess(words, before, Phase::Preflight, 20);
    for n in 0..FINDINGS {
        let anchors = if n % 4 == 0 { vec![anchor(words, before)] } else { Vec::new() };
        let finding = Finding { text: words.text(9), anchors, ..Default::default() };
        session.say(words, before, Body::Finding(finding));
    }
    let mut questions = Vec::new();
    for _ in 0..QUESTIONS {
        let unknown = Unknown { text: words.text(6), ..Default::default() };
        questions.push(session.say(words, before, Body::Unknown(unknown)));
    }
    for _ in 0..DEAD_ENDS {
        let dead = DeadEnd { approach: words.text(5), why: words.text(6), ..Default::default() };
        session.say(words, before, Body::DeadEnd(dead));
    }
    for _ in 0..DECISIONS {
        let (text, why, other) = (words.text(5), words.text(6), words.text(3));
        let decision = Decision { text, why, alternatives: vec![other], ..Default::default() };
        session.say(words, before, Body::Decision(decision));
    }
    session.ms = time(i) * 1000 + 2_000;
    for _ in 0..CHECKS {
        let command = format!("cargo test {}", words.word());
        let evidence = Evidence { command, exit: 0, files: after.files.clone(), ..Default::default() };
        session.say(words, after, Body::Evidence(evidence));
    }
    for of in questions.into_iter().skip(2) {
        let answer = Resolve { of, text: words.text(6), concerns: Vec::new() };
        session.say(words, after, Body::Resolve(answer));
    }
    session.assess(words, after, Phase::Postflight, 50);
    let records = SessionRecords::collect(&session.records, &session.id).expect("a session");
    let work = GitWork {
        commits: vec![CommitLine { commit: after.id.clone(), subject: after.subject.clone() }],
        files: after.files.clone(),
        git: Some(RepositoryState {
            commit: Some(after.id.clone()),
            branch: Some("main".to_owned()),
            ..RepositoryState::default()
        }),
    };
    let input = HandoffInput {
        accomplished: vec![words.text(6)],
        context: Some(words.text(20)),
        next_steps: Some(vec![words.text(5)]),
        ..HandoffInput::default()
    };
    let handoff = report(&records, work, input, when(session.ms));
    session.say(words, after, Body::Handoff(Box::new(handoff)));
    session.say(words, after, Body::SessionEnd(SessionEnd { reason: None }));
    session.records
}

/// A place in one of the commit's files, with a text that the file no longer has.
fn anchor(words: &mut Words, on: &Made) -> Anchor {
    let random = &mut words.random;
    let path = on.files[random.below(on.files.len())].clone();
    let blob = format!("{:016x}{:016x}{:08x}", random.next(), random.next(), random.next() as u32);
    Anchor { path, lines: Some((1, 2)), blob, hash: format!("{:016x}", random.next()) }
}

/// A session that is going on.
struct Saying {
    id: SessionId,
    ai: &'static str,
    ms: u64,
    records: Vec<Record>,
}

impl Saying {
    fn say(&mut self, words: &mut Words, on: &Made, body: Body) -> Id {
        let (a, b) = (words.random.next(), words.random.next());
        let id = format!(
            "{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}",
            self.ms >> 16,
            self.ms & 0xffff,
            a & 0xfff,
            b >> 50 | 0x8000,
            b & 0xffff_ffff_ffff
        );
        let id = Id::parse(&id).expect("a record's id");
        let envelope = Envelope {
            v: 1,
            id: id.clone(),
            session: Some(self.id.clone()),
            ai: self.ai.to_owned(),
            at: when(self.ms).to_rfc3339_opts(SecondsFormat::Millis, true),
            commit: Some(on.id.clone()),
            tree: Some(on.tree.clone()),
        };
        self.records.push(Record { envelope, body });
        self.ms += 1_000 + words.random.below(15_000) as u64;
        id
    }

    fn assess(&mut self, words: &mut Words, on: &Made, phase: Phase, least: usize) {
        let mut vectors = Vectors::default();
        for vector in [Vector::Know, Vector::Do, Vector::Context, Vector::Uncertainty] {
            let value = (least + words.random.below(50)) as f64 / 100.0;
            vectors.set(vector, if vector == Vector::Uncertainty { 1.0 - value } else { value });
        }
        let reasoning = words.random.percent(50).then(|| words.text(8));
        let assessment = Assessment {
            phase,
            round: 1,
            vectors,
            confidence: None,
            reasoning,
            task: None,
            cycle: None,
            scope: None,
            tags: Vec::new(),
            meta: BTreeMap::new(),
        };
        self.say(words, on, Body::Assessment(Box::new(assessment)));
    }
}

/// When the nth commit was made, in seconds since 1970.
fn time(n: usize) -> u64 {
    BEGIN + BETWEEN * n as u64
}

fn when(ms: u64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms as i64).expect("a time")
}

fn put(to: &mut dyn Write, text: &str) {
    to.write_all(text.as_bytes()).expect("the stream");
}

fn data(to: &mut dyn Write, text: &str) {
    put(to, &format!("data {}\n{text}\n", text.len()));
}
