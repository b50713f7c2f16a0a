//! A log of many commits, rendered by several threads, is ordered and complete.

use crate::support::harness::{Repo, Sandbox};

/// Enough that others help.
const COMMITS: usize = 400;

fn import(repo: &Repo<'_>, stream: &str) {
    repo.write("stream", stream);
    let mut sh = repo.place.command("sh", &repo.path);
    let done = sh.args(["-c", "git fast-import --quiet --force < stream && rm stream"]).status();
    assert!(done.is_ok_and(|status| status.success()));
}

fn id(n: usize) -> String {
    format!("019ab000-0000-7000-8000-{n:012x}")
}

fn line(n: usize, kind: &str, session: usize, commit: &str, rest: &str) -> String {
    format!(
        "{{\"v\":1,\"id\":\"{}\",\"kind\":\"{kind}\",\"session\":\"{session:08x}-2222-4333-8444-555555555555\",\"ai\":\"ada\",\
         \"at\":\"2026-01-02T03:04:05.678Z\",\"commit\":\"{commit}\",\"tree\":null,{rest}}}\n",
        id(n)
    )
}

/// A history with notes of every kind; returns the expected output, newest first: the commit, the task of its handoff.
fn history(repo: &Repo<'_>) -> Vec<(String, String)> {
    let commit = |n: usize| {
        let from = if n == 0 { "from refs/heads/main^0\n" } else { "" };
        let time = 1_772_400_000 + n;
        format!("commit refs/heads/main\ncommitter T <t@example.com> {time} +0000\ndata 2\nc\n{from}\n")
    };
    import(repo, &(0..COMMITS).map(commit).collect::<String>());
    let made = repo.git_out(["rev-list", "--reverse", "--max-count", &COMMITS.to_string(), "main"]);
    let made: Vec<&str> = made.lines().collect();
    let mut notes = vec![String::new(); COMMITS];
    let mut shown = Vec::new();
    for (n, commit) in made.iter().enumerate() {
        let handoff =
            |id: usize, task: &str| line(id, "handoff", n, commit, &format!(r#""type":"epistemic","task":"{task}""#));
        match n % 8 {
            // none
            0 | 5 => {}
            // replaced by a newer one
            2 => {
                let supersede = format!(r#""of":"{}","by":"{}""#, id(10 * n), id(10 * n + 1));
                notes[n] += &handoff(10 * n, "older");
                notes[n] += &handoff(10 * n + 1, &format!("newer {n}"));
                notes[n] += &line(10 * n + 2, "supersede", n, commit, &supersede);
                shown.push(((*commit).to_owned(), format!("newer {n}")));
            }
            // gone to the next commit, which has no note of its own
            4 if n + 1 < COMMITS => {
                let attach = format!(r#""of":["{}"],"from":"{commit}","to":"{}""#, id(10 * n), made[n + 1]);
                let both = handoff(10 * n, &format!("gone {n}")) + &line(10 * n + 1, "attach", n, commit, &attach);
                notes[n] += &both;
                notes[n + 1] += &both;
                shown.push((made[n + 1].to_owned(), format!("gone {n}")));
            }
            // nothing that is understood, and what was made on another commit
            6 => notes[n] += &format!("{}Reviewed\n", line(10 * n, "handoff", n, made[0], r#""type":"epistemic""#)),
            _ => {
                notes[n] += &handoff(10 * n, &format!("plain {n}"));
                shown.push(((*commit).to_owned(), format!("plain {n}")));
            }
        }
    }
    let mut stream =
        "commit refs/notes/empirica/data/handoffs\ncommitter T <t@example.com> 1 +0000\ndata 0\n".to_owned();
    for (commit, note) in made.iter().zip(&notes).filter(|(_, note)| !note.is_empty()) {
        stream += &format!("N inline {commit}\ndata {}\n{note}\n", note.len());
    }
    import(repo, &stream);
    shown.reverse();
    shown
}

#[test]
fn a_long_log_shows_every_handoff_at_its_commit_in_gits_order() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let expected = history(&repo);
    assert!(expected.len() > 200);
    let json = repo.json(["log", "--handoffs"]);
    let listed: Vec<(String, String)> = json["commits"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|commit| {
            let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
            assert_eq!(commit["handoffs"].as_array().map(Vec::len), Some(1));
            assert_eq!(commit["handoffs"][0]["commit"], commit["commit"]);
            (text(&commit["commit"]), text(&commit["handoffs"][0]["task"]))
        })
        .collect();
    assert_eq!(listed, expected);

    // as text, and as git would show a part of it
    let whole = repo.run(["log", "--handoffs"]).ok().out;
    let of = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix("commit ").map(str::to_owned)).collect()
    };
    let ids: Vec<String> = expected.iter().map(|(commit, _)| commit.clone()).collect();
    assert_eq!(of(&whole), ids);
    for limit in [1, 49, 50, 51, 130] {
        let part = repo.run(["log", "--handoffs", "-n", &limit.to_string()]).ok().out;
        assert_eq!(of(&part), ids[..limit], "{limit}");
        assert!(whole.starts_with(&part), "{limit}");
    }
    // all of it in the user's own words
    std::fs::create_dir(place.path().join("templates")).expect("a folder");
    let own = "{% for h in handoffs %}own: {{ h.task|line }}\n{% endfor %}";
    std::fs::write(place.path().join("templates/log.txt"), own).expect("a template");
    repo.git(["config", "empirica.templateDir", place.path().join("templates").to_str().expect("UTF-8")]).ok();
    let own = repo.run(["log", "--handoffs"]).ok().out;
    let tasks: Vec<&str> = own.lines().filter_map(|line| line.strip_prefix("own: ")).collect();
    assert_eq!(tasks, expected.iter().map(|(_, task)| task.as_str()).collect::<Vec<_>>());
}

#[test]
fn records_found_before_history_breaks_are_shown() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let tree = repo.git_out(["rev-parse", "HEAD^{tree}"]);
    let who = "T <t@example.com> 1772000000 +0000";
    let broken = format!("tree {}\nparent {}\nauthor {who}\ncommitter {who}\n\nx\n", tree.trim(), "1".repeat(40));
    repo.write("broken", &broken);
    let broken = repo.git_out(["hash-object", "-t", "commit", "-w", "--literally", "broken"]);
    std::fs::remove_file(repo.path.join("broken")).expect("removed");
    repo.git(["update-ref", "refs/heads/main", broken.trim()]).ok();
    let expected = history(&repo);
    for limit in ["400", "60"] {
        let log = repo.run(["log", "--handoffs", "-n", limit]);
        let shown = log.out.lines().filter_map(|line| line.strip_prefix("commit "));
        let wanted = expected.iter().map(|(commit, _)| commit.as_str()).take(limit.parse().expect("a number"));
        assert!(shown.eq(wanted), "{limit}: {}", log.err);
        assert_eq!(log.code == 0, limit == "60", "{}", log.err);
    }
}

#[test]
fn a_note_of_megabytes_beside_small_ones_is_in_the_index_line_by_line() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    history(&repo);
    let made = repo.git_out(["rev-list", "--max-count", "2", "main"]);
    let [one, other] = made.lines().collect::<Vec<_>>()[..] else { panic!("{made}") };
    let finding =
        |n: usize| line(100_000 + n, "finding", n % 50, one, &format!(r#""text":"long{n} {}""#, "y".repeat(300)));
    let long: String = (0..4_000).map(finding).collect();
    assert!(long.len() > 2 << 20);
    let small = line(99_999, "finding", 3, other, r#""text":"small""#);
    let mut stream =
        "commit refs/notes/empirica/data/journal\ncommitter T <t@example.com> 1 +0000\ndata 0\n".to_owned();
    for (on, note) in [(one, &long), (other, &small)] {
        stream += &format!("N inline {on}\ndata {}\n{note}\n", note.len());
    }
    import(&repo, &stream);
    for index in ["true", "false"] {
        repo.git(["config", "empirica.index", index]).ok();
        assert_eq!(repo.json(["search", "kind:finding"])["total_found"], 4_001, "{index}");
        // without an index each question reads all notes
        for n in [0, 1_234, 3_999].into_iter().skip(if index == "true" { 0 } else { 2 }) {
            let found = repo.json(["search", &format!("long{n}")]);
            assert_eq!(
                (&found["total_found"], &found["hits"][0]["id"]),
                (&1.into(), &id(100_000 + n).into()),
                "{found}"
            );
        }
        assert_eq!(repo.json(["search", "small"])["total_found"], 1);
    }
}
