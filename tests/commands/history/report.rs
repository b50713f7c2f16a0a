//! `report --html`: one file with the stored records, whose texts are escaped.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::harness::{Repo, Sandbox};

/// Texts that would be more than text in elements, attributes, styles, scripts, templates or terminals.
const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</style></title></svg></script><script>alert(1)</script>",
    "{{ 7*7 }}{% include 'x' %}",
    "javascript:alert(1)//",
    "]]><!--<svg/onload=alert(1)>",
    "\u{202e}gnp.exe\u{1b}[31m\u{2028}\u{200b}x",
];

/// Two agents, a handoff that is taken up, and something of each kind.
fn played(repo: &Repo<'_>) {
    repo.start("ada", "Mend the login");
    repo.json(["preflight", "-v", "know=0.4,do=0.5,uncertainty=0.7"]);
    let edit = repo.json(["activity", "edit", "changed the cache", "--file", "src/cache.rs"]);
    let led_from = edit["id"].as_str().expect("an id");
    repo.json(["finding", "Tokens are cached", "--impact", "0.9", "--led-from", led_from]);
    repo.json(["unknown", "Who reads the ledger?"]);
    repo.json(["deadend", "Retrying", "--why", "the token is stale"]);
    repo.json(["goal", "add", "The login test passes"]);
    repo.json(["check", "-v", "know=0.6,do=0.6,uncertainty=0.4", "--confidence", "0.7"]);
    repo.json(["postflight", "-v", "know=0.8,do=0.7,uncertainty=0.2"]);
    repo.json(["session", "end"]);
    repo.json(["session", "start", "--ai", "bo", "--from", "latest:ada", "--task", "Go on with the login"]);
}

#[track_caller]
fn page(repo: &Repo<'_>, more: &[&str]) -> (String, Value) {
    let arguments = [&["report", "--html", "report.html"], more].concat();
    let json = repo.json(&arguments);
    let page = std::fs::read_to_string(repo.path.join("report.html")).expect("a page");
    assert_eq!(json["bytes"], page.len(), "{json}");
    (page, json)
}

#[track_caller]
fn has(page: &str, wanted: &[&str]) {
    for wanted in wanted {
        assert!(page.contains(wanted), "{wanted} is not in the page");
    }
}

/// Every attribute of a name.
fn attributes<'p>(page: &'p str, name: &str) -> Vec<&'p str> {
    let begin = format!(" {name}=\"");
    page.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// The page before its script: elements and texts.
fn body(page: &str) -> &str {
    let after = page.split("</style>").nth(1).expect("a style");
    after.split("<script>").next().expect("a body")
}

#[test]
fn the_page_shows_what_is_stored() {
    let place = Sandbox::new();
    let repo = place.repo("harbour");
    played(&repo);
    let (page, json) = page(&repo, &[]);
    has(
        &page,
        &[
            "<title>harbour: what agents know</title>",
            "2026-03-01 12:00 UTC",
            "Mend the login",
            "Go on with the login",
            "Tokens are cached",
            "src&#x2f;cache.rs",
            "Who reads the ledger?",
            "the token is stale",
            "The login test passes",
            "0.40 → 0.60 → 0.80",
            "continued by <a href=\"#s-",
            "class=\"passed\"",
            "class=\"timeline\" role=\"img\"",
            "class=\"growth\" role=\"img\"",
            "class=\"graph\" role=\"img\"",
            "Only 1 session judged",
            "<main id=\"content\"",
        ],
    );
    let expected = [
        ("sessions", 2),
        ("sessions_active", 1),
        ("agents", 2),
        ("handoffs", 1),
        ("findings", 1),
        ("dead_ends", 1),
        ("unknowns_open", 1),
    ];
    for (key, count) in expected {
        assert_eq!(json[key], count, "{key}: {json}");
    }
    assert_eq!(json["left_out"], serde_json::json!([]));
    assert_eq!(json["file"], repo.path.join("report.html").to_str().expect("UTF-8"));
}

#[test]
fn record_texts_are_escaped() {
    let place = Sandbox::new();
    let repo = place.repo("harbour");
    for hostile in HOSTILE {
        repo.json(["session", "start", "--ai", hostile, "--task", hostile, "--type", hostile]);
        let session = "latest";
        let say = |command: &[&str]| {
            repo.json(command.iter().copied().chain(["--session", session]).collect::<Vec<_>>());
        };
        say(&["preflight", "-v", "know=0.5,uncertainty=0.5", "--reasoning", hostile]);
        say(&["activity", "edit", hostile, "--file", hostile]);
        say(&["finding", hostile]);
        say(&["unknown", hostile]);
        say(&["deadend", hostile, "--why", hostile]);
        say(&["decision", hostile, "--why", hostile]);
        say(&["mistake", hostile, "--prevention", hostile]);
        say(&["goal", "add", hostile]);
        say(&["postflight", "-v", "know=0.8,uncertainty=0.2", "--context", hostile]);
        say(&["session", "end"]);
    }
    repo.commit("x", "x", HOSTILE[0]);
    repo.json(["session", "start", "--ai", "z"]);
    repo.json(["finding", "at a commit with a strange subject"]);
    let (page, json) = page(&repo, &[]);
    assert_eq!(json["sessions"], 9);
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (1, 1));
    assert_eq!((page.matches("<style").count(), page.matches("</style").count()), (1, 1));
    for tag in ["<img", "<svg/", "<iframe", "<link", "<base", "<form", "<image", "<use", "<foreignObject", "<!--"] {
        assert!(!page.contains(tag), "{tag}");
    }
    let body = body(&page);
    for word in ["onerror", "onload", "onmouseover"] {
        let attribute = regex::Regex::new(&format!(r#"<[a-zA-Z][^<>]*\s{word}\s*="#)).expect("a pattern");
        assert!(!attribute.is_match(body), "{word} is an attribute");
    }
    assert!(!body.contains(" style="));
    let anchor = regex::Regex::new("^#[a-z0-9-]+$").expect("a pattern");
    for href in attributes(body, "href") {
        assert!(anchor.is_match(href), "{href}");
    }
    let own = regex::Regex::new("^[a-z0-9-]+$").expect("a pattern");
    let ids = attributes(body, "id");
    assert!(ids.iter().all(|id| own.is_match(id)), "{ids:?}");
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "an id stands twice");
    let trick = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2028}\u{200b}".contains(c);
    assert!(!page.contains(trick), "a character that is not seen");
    // it is there, as text
    has(body, &["&lt;script&gt;alert(1)&lt;", "{{ 7*7 }}{% include", "&lt;U+202E&gt;gnp.exe", "javascript:alert(1)"]);
}

#[test]
fn only_its_own_script_runs_and_nothing_is_loaded() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    played(&repo);
    let (page, _) = page(&repo, &[]);
    let policy = attributes(&page, "content")[0].replace("&#x27;", "'").replace("&#x2f;", "/");
    for (element, directive) in [("style", "style-src"), ("script", "script-src")] {
        let inside =
            page.split(&format!("<{element}>")).nth(1).and_then(|rest| rest.split(&format!("</{element}>")).next());
        let digest = Sha256::digest(inside.expect("its text"));
        let ran = crate::support::harness::fed(std::process::Command::new("base64"), &digest);
        assert!(policy.contains(&format!("{directive} 'sha256-{}'", ran.out.trim())), "{policy}");
    }
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    for address in ["http:", "https:", "url(", "@import", "//"] {
        assert!(!body(&page).replace("url(#head)", "").contains(address), "{address}");
    }
    let css = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).expect("a style");
    assert!(!css.contains("url(") && !css.contains("@import"), "the style loads something");
}

#[test]
fn every_number_of_a_picture_is_one() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    played(&repo);
    repo.json(["preflight", "-v", "know=0"]);
    let (page, _) = page(&repo, &[]);
    let number = regex::Regex::new(r"^-?\d+(\.\d+)?$").expect("a pattern");
    let mut seen = 0;
    for name in ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height"] {
        for value in attributes(body(&page), name) {
            assert!(number.is_match(value), "{name}={value}");
            seen += 1;
        }
    }
    assert!(seen > 100, "pictures were found");
    let path = regex::Regex::new(r"^[MLHVCAahlvcaz0-9 .,-]+$").expect("a pattern");
    for value in attributes(body(&page), "d") {
        assert!(path.is_match(value), "{value}");
    }
}

#[test]
fn clones_make_the_same_page() {
    let mut place = Sandbox::new();
    let repo_path = {
        let repo = place.repo("r");
        played(&repo);
        repo.json(["flush"]);
        place.clone(&repo, "one/r", true);
        place.clone(&repo, "two/r", true);
        repo.path
    };
    let written = |place: &Sandbox, name: &str| page(&place.at(name), &[]).0;
    let one = written(&place, "one/r");
    assert_eq!(one, written(&place, "two/r"));
    assert_eq!(one, page(&Repo { place: &place, path: repo_path }, &[]).0);
    place.now = "2026-03-02T12:00:00.000Z".into();
    let later = written(&place, "two/r");
    assert_ne!(one, later);
    assert_eq!(
        one.replace("<p>2026-03-01 12:00 UTC:", "<p>"),
        later.replace("<p>2026-03-02 12:00 UTC:", "<p>"),
        "but for its date, a page stays true"
    );
    let relative = regex::Regex::new(r"just now|yesterday|\b\d+ \w+ ago\b").expect("a pattern");
    assert!(!relative.is_match(&later), "a page is read later than it was made");
}

/// That these stand in the page in this order.
#[track_caller]
fn in_order(page: &str, wanted: &[&str]) {
    let mut last = 0;
    for wanted in wanted {
        last += page[last..].find(wanted).unwrap_or_else(|| panic!("{wanted} does not follow")) + wanted.len();
    }
}

#[test]
fn the_page_begins_with_what_needs_attention() {
    let mut place = Sandbox::new();
    let path = place.repo("r").path;
    place.now = "2026-02-01T12:00:00.000Z".into();
    {
        let repo = Repo { place: &place, path: path.clone() };
        repo.commit("src/cache.rs", "one\n", "Add a cache");
        repo.start("ada", "Mend the login");
        repo.json(["evidence", "cargo test", "--exit", "0", "--file", "src/cache.rs"]);
        repo.json(["finding", "src/cache.rs:1 keys by user"]);
        repo.json(["decision", "Key by nonce", "--why", "tokens stay unique"]);
        repo.json(["handoff", "--next", "Mend the cache", "--context", "c"]);
        repo.json(["session", "end"]);
        repo.start("zoe", "Left lying");
        repo.commit("src/cache.rs", "two\n", "Change the cache");
    }
    place.now = "2026-03-01T12:00:00.000Z".into();
    let repo = Repo { place: &place, path: path.clone() };
    repo.start("bo", "Look at the ledger");
    let unknown = repo.json(["unknown", "Who reads the ledger?", "--ai", "bo"])["id"].clone();
    repo.json(["evidence", "make lint", "--exit", "1", "--ai", "bo"]);
    repo.json(["goal", "add", "The ledger is read once", "--ai", "bo"]);
    let (first, _) = page(&repo, &[]);
    in_order(
        &first,
        &[
            "<h2 id=\"attention-heading\">Needs attention",
            "Open questions (1)",
            "Who reads the ledger?",
            "Failed checks (1)",
            "exit 1",
            "Handed over, taken up by nobody (1)",
            "Mend the login",
            "Checks older than the code (1)",
            "<bdi>src&#x2f;cache.rs</bdi>",
            "Sessions not ended, silent for a week (1)",
            "Left lying",
            "last record 2026-02-01 12:00 UTC",
            "Goals not reached (1)",
            "The ledger is read once",
            "<h2 id=\"sessions-heading\">Sessions (3)",
            "class=\"when\">2026-03-01 12:00 UTC",
            "<h2 id=\"knowledge-heading\">What is known",
            "src&#x2f;cache.rs:1 keys by user",
            "Key by nonce",
            "tokens stay unique",
            "<h2 id=\"pictures-heading\">Pictures",
            "class=\"timeline\"",
            "class=\"graph\"",
        ],
    );
    // resolved entries need none
    repo.json(["resolve", unknown.as_str().expect("an id"), "the board", "--ai", "bo"]);
    repo.json(["evidence", "make lint", "--exit", "0", "--ai", "bo"]);
    let (second, _) = page(&repo, &[]);
    assert!(!second.contains("Open questions") && !second.contains("Failed checks"), "both are settled");
    has(&second, &["Answered questions"]);
    repo.json(["session", "start", "--ai", "cy", "--from", "latest:ada", "--task", "Go on"]);
    let (third, _) = page(&repo, &[]);
    assert!(!third.contains("taken up by nobody"), "cy took it up");
}

#[test]
fn without_vectors_there_is_no_chart() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.json(["finding", "Tokens are cached"]);
    let (first, _) = page(&repo, &[]);
    let shown = body(&first).to_lowercase();
    for word in
        ["confidence", "calibration", "assess", "brier", "vector", "bias", "class=\"growth", "class=\"cells", "0."]
    {
        assert!(!shown.contains(word), "{word}");
    }
    has(&first, &["Tokens are cached", "class=\"timeline\"", "Nothing: no open question"]);
    assert!(!first.contains("class=\"graph\""), "no file to draw it for");
}

#[test]
fn an_empty_repository_says_how_to_begin() {
    let place = Sandbox::new();
    for repo in [place.repo("r"), place.init("unborn")] {
        let (page, json) = page(&repo, &[]);
        has(&page, &["Nothing is stored here yet", "git empirica finding"]);
        assert!(!page.contains("<script"), "there is nothing to filter");
        assert_eq!((&json["sessions"], &json["left_out"]), (&0.into(), &serde_json::json!([])));
        let ran = repo.run(["report", "--html", "report.html"]).ok();
        assert!(ran.out.ends_with("/report.html\n"), "{}", ran.out);
        assert!(ran.err.contains("hint: start a session"), "{}", ran.err);
    }
}

#[test]
fn only_matching_records_are_shown() {
    let mut place = Sandbox::new();
    let path = place.repo("r").path;
    place.now = "2026-02-01T12:00:00.000Z".into();
    let at = |place: &Sandbox, ai: &str, text: &str| {
        let repo = Repo { place, path: path.clone() };
        repo.start(ai, text);
        repo.json(["finding", text, "--ai", ai]);
        repo.json(["unknown", &format!("{text}?"), "--ai", ai]);
        repo.json(["goal", "add", &format!("Reach {text}"), "--ai", ai]);
    };
    at(&place, "ada", "old thing");
    place.now = "2026-03-01T12:00:00.000Z".into();
    at(&place, "bo", "new thing");
    let repo = Repo { place: &place, path };
    let cases: [(&[&str], bool, bool); 5] = [
        (&[], true, true),
        (&["--ai", "ada"], true, false),
        (&["--since", "2026-02-15"], false, true),
        (&["--until", "2026-02-15"], true, false),
        (&["--ai", "bo", "--since", "2026-02-15", "--until", "2026-03-02"], false, true),
    ];
    for (expected, old, new) in cases {
        let (page, json) = page(&repo, expected);
        assert_eq!((page.contains("old thing"), page.contains("new thing")), (old, new), "{expected:?}");
        let count = usize::from(old) + usize::from(new);
        for key in ["sessions", "agents", "findings", "unknowns_open", "goals_open"] {
            assert_eq!(json[key], count, "{key} {expected:?}");
        }
    }
    let (page, json) = page(&repo, &["--ai", "nobody"]);
    has(&page, &["No session fits", "of nobody"]);
    assert_eq!((&json["sessions"], &json["ai_id"]), (&0.into(), &"nobody".into()));
}

#[test]
fn omitted_entries_are_counted() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let commit = repo.head();
    let mut lines = String::new();
    for n in 0..510u64 {
        let session = format!("{n:08x}-0000-4000-8000-000000000000");
        let mut say = |at: u64, kind: &str, body: &str| {
            let ms = 1_767_225_600_000 + n * 60_000 + at;
            let id = format!("{:08x}-{:04x}-7000-8000-000000000000", ms >> 16, ms & 0xffff);
            let date = chrono::DateTime::from_timestamp_millis(ms as i64).expect("a time").to_rfc3339();
            let head = format!(
                "\"v\":1,\"id\":\"{id}\",\"kind\":\"{kind}\",\"session\":\"{session}\",\"ai\":\"a{}\",\"at\":\"{date}\",\"commit\":\"{commit}\",\"tree\":null",
                n % 20
            );
            lines.push_str(&format!("{{\"commit\":\"{commit}\",\"record\":{{{head},{body}}}}}\n"));
        };
        say(0, "session_start", "\"task\":\"t\",\"worktree\":\"main\",\"place\":\"p\"");
        say(1, "assessment", "\"phase\":\"PREFLIGHT\",\"round\":1,\"vectors\":{\"know\":0.5}");
        say(2, "unknown", &format!("\"text\":\"question {n}?\""));
        say(3, "goal", "\"text\":\"goal\",\"priority\":\"low\"");
        say(4, "handoff", "\"type\":\"epistemic\",\"task\":\"t\",\"to\":\"bo\"");
        say(5, "finding", "\"text\":\"found\"");
    }
    std::fs::write(place.path().join("many.jsonl"), lines).expect("a file");
    repo.run(["import", "--jsonl", "../many.jsonl"]).ok();
    let (page, json) = page(&repo, &[]);
    let texts: Vec<(String, u64)> = json["left_out"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|gone| (gone["what"].as_str().expect("a word").to_owned(), gone["count"].as_u64().expect("a number")))
        .collect();
    let expected = [
        ("sessions", 10),
        ("timeline", 486),
        ("growth", 420),
        ("handoffs", 310),
        ("unknowns", 310),
        ("goals", 310),
        ("knowledge", 410),
    ];
    assert_eq!(texts, expected.map(|(what, count)| (what.to_owned(), count)));
    for gone in json["left_out"].as_array().expect("a list") {
        let command = gone["command"].as_str().expect("a command");
        has(&page, &[&format!("See them: <code>{command}</code>")]);
        let words: Vec<&str> = command.split(' ').skip(2).collect();
        repo.run(words).ok();
    }
    assert_eq!(page.matches("<details class=\"session\"").count(), 500);
    has(&page, &["question 509?"]);
    assert!(!page.contains("question 9?"), "the oldest are left out");
}

#[test]
fn the_page_can_go_to_standard_output() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    played(&repo);
    let (page, _) = page(&repo, &[]);
    let ran = repo.run(["report", "--html", "-"]).ok();
    assert_eq!((ran.out, ran.err), (page, String::new()));
    let json = repo.fails(2, ["report", "--html", "-"]);
    assert_eq!(json["error"], "cannot combine --html - and --json: both write to standard output");
    assert!(!repo.path.join("-").exists());
    repo.run(["report"]).code(2);
}

#[test]
fn a_file_is_replaced_atomically_and_a_link_is_followed() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    played(&repo);
    let (first, _) = page(&repo, &[]);
    repo.write("old.html", "old");
    let old = repo.path.join("old.html");
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o640)).expect("a mode");
    std::os::unix::fs::symlink("old.html", repo.path.join("link.html")).expect("a link");
    std::os::unix::fs::symlink("made.html", repo.path.join("dangling.html")).expect("a link");
    repo.run(["report", "--html", "link.html"]).ok();
    assert_eq!(std::fs::read_to_string(&old).expect("a page"), first);
    assert_eq!(std::fs::metadata(&old).expect("a file").permissions().mode() & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(repo.path.join("link.html")).expect("it").is_symlink(), "the link stays");
    repo.run(["report", "--html", "dangling.html"]).ok();
    assert_eq!(std::fs::read_to_string(repo.path.join("made.html")).expect("a page"), first);
    // from a folder, it is relative to that
    repo.write("sub/x", "");
    let sub = Repo { place: &place, path: repo.path.join("sub") };
    sub.run(["report", "--html", "here.html"]).ok();
    assert!(repo.path.join("sub/here.html").is_file());
    let left: Vec<String> = std::fs::read_dir(&repo.path)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with('.') && name != ".git")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn write_errors_are_reported() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    played(&repo);
    repo.write("folder/x", "");
    for folder in ["folder", "folder/", "new/"] {
        let json = repo.fails(2, ["report", "--html", folder]);
        assert_eq!(json["error"], format!("cannot write the page to {folder}: it is a folder"));
    }
    let json = repo.fails(1, ["report", "--html", "no/such/page.html"]);
    assert_eq!(json["error"], "cannot write the page to no/such/page.html");
    assert!(json["recovery_commands"][0].as_str().expect("a command").starts_with("mkdir -p "), "{json}");
    std::os::unix::fs::symlink("circle.html", repo.path.join("circle.html")).expect("a link");
    repo.fails(1, ["report", "--html", "circle.html"]);
    repo.fails(1, ["report", "--html", "folder/x/page.html"]);
    repo.fails(2, ["report", "--html", "page.html", "--since", "2026-13-45"]);
    assert!(!repo.path.join("page.html").exists(), "nothing is written when nothing is answered");
    let ran = repo.run(["report", "--html", "/dev/null"]).ok();
    assert_eq!((ran.out.as_str(), ran.err.contains("Wrote a page")), ("/dev/null\n", true), "{}", ran.err);
}

#[test]
fn a_session_is_drawn_in_the_terminal() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    played(&repo);
    let ran = repo.run(["session", "show", "latest:ada"]).ok();
    let drawn = "Trajectory, from the first assessment to the last:
    know        0.40 ▄▅▇ 0.80  +0.40
    do          0.50 ▅▅▆ 0.70  +0.20
    uncertainty 0.70 ▆▄▂ 0.20  -0.50
    overall     0.45 ▄▅▇ 0.75  +0.30
";
    assert!(ran.out.contains(drawn), "{}", ran.out);
    let ran = repo.run(["session", "show", "latest:bo"]).ok();
    assert!(!ran.out.contains("Trajectory"), "nothing was assessed: {}", ran.out);
    repo.json(["preflight", "-v", "know=0.3"]);
    let ran = repo.run(["session", "show", "latest:bo"]).ok();
    assert!(ran.out.contains("    know        0.30\n    overall     0.30\n"), "{}", ran.out);
}
