//! `search` for words in more records than are ranked by FTS5.

use crate::support::harness::{Repo, Sandbox};

/// More than are ranked.
const RECORDS: usize = 13_400;
/// The oldest record, which alone has a rare word; one of two with another; the newest.
const OLDEST: usize = 0;
const OLD: usize = 17;
/// An old record with both of two words of which most others have one.
const BOTH: usize = 41;
const NEWEST: usize = RECORDS - 1;

fn id(n: usize) -> String {
    format!("019ab000-0000-7000-8000-{n:012x}")
}

/// Findings on three commits; the older commit has the greater object id or not, as it comes.
fn history(repo: &Repo<'_>) {
    let commits = [0, 1, 2].map(|n| {
        let time = format!("{} +0000", 1_772_400_000 + n);
        let mut git = repo.place.command("git", &repo.path);
        git.env("GIT_COMMITTER_DATE", time).args(["commit", "-q", "--allow-empty", "-m", &n.to_string()]);
        assert!(git.status().is_ok_and(|status| status.success()));
        repo.head()
    });
    let mut notes = vec![String::new(); commits.len()];
    for n in 0..RECORDS {
        let at = n * commits.len() / RECORDS;
        let rest = match n {
            OLDEST => " zyzzyva",
            OLD => " quokka",
            _ if n == NEWEST - 1 => " quokka",
            BOTH => " even odd",
            _ if n % 2 == 0 => " even",
            _ if n % 8 > 1 => " odd",
            _ => "",
        };
        notes[at] += &format!(
            "{{\"v\":1,\"id\":\"{}\",\"kind\":\"finding\",\"session\":\"11111111-2222-4333-8444-555555555555\",\"ai\":\"ada\",\
             \"at\":\"2026-01-02T03:04:05.678Z\",\"commit\":\"{}\",\"tree\":null,\"text\":\"common {n}{rest}\"}}\n",
            id(n),
            commits[at]
        );
    }
    for (commit, note) in commits.iter().zip(notes) {
        repo.write("note", &note);
        repo.git(["notes", "--ref", "refs/notes/empirica/data/journal", "add", "-F", "note", commit]).ok();
    }
}

fn found(repo: &Repo<'_>, arguments: &[&str]) -> (Vec<String>, usize) {
    let json = repo.json([&["search", "--limit", "3"], arguments].concat());
    let hits = json["hits"].as_array().expect("a list");
    let ids = hits.iter().map(|hit| hit["id"].as_str().expect("an id").to_owned()).collect();
    (ids, json["total_found"].as_u64().expect("a number") as usize)
}

#[test]
fn of_very_many_matches_the_newest_and_those_with_rare_words_are_found() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    // of the newest, the shorter texts
    assert_eq!(found(&repo, &["common"]), (vec![id(NEWEST - 6), id(NEWEST - 14), id(NEWEST - 22)], 10_001));
    // a rare word counts more than a frequent one, however old its record is
    let (ids, total) = found(&repo, &["common", "zyzzyva"]);
    assert_eq!((&ids[0], total), (&id(OLDEST), 10_001));
    let (ids, _) = found(&repo, &["common", "even", "quokka"]);
    assert_eq!(ids[..2], [id(NEWEST - 1), id(OLD)]);
    // one with all words comes before the newest with some
    let (ids, total) = found(&repo, &["even", "odd"]);
    assert_eq!((&ids[0], total), (&id(BOTH), 10_001));
    // few matches are counted and ranked as ever
    assert_eq!(found(&repo, &["quokka"]), (vec![id(NEWEST - 1), id(OLD)], 2));
    assert_eq!(found(&repo, &["\"common 17\""]), (vec![id(OLD)], 1));
    // and what is excluded, filtered or no longer holds is in neither
    assert_eq!(found(&repo, &["common -even"]).1, RECORDS - RECORDS / 2 + 1);
    assert_eq!(found(&repo, &["common", "ai:nobody"]), (Vec::new(), 0));
    repo.json(["retract", &id(NEWEST - 6), "--why", "It was wrong"]);
    repo.json(["flush"]);
    assert_eq!(found(&repo, &["common"]), (vec![id(NEWEST - 14), id(NEWEST - 22), id(NEWEST - 30)], 10_001));
    assert_eq!(found(&repo, &["common", "--all"]).1, 10_001);
    let ran = repo.run(["search", "common", "--limit", "2"]).ok();
    assert!(ran.err.contains("more than 10000 fit: use rarer words or a filter"), "{}", ran.err);
    // who asks for all gets all
    let json = repo.json(["search", "common", "--limit", "14000"]);
    assert_eq!(json["total_found"], RECORDS - 1);
    assert_eq!(json["hits"].as_array().map(Vec::len), Some(RECORDS - 1));
}
