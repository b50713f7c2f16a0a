//! Output fitted to the terminal's width: no word, ID or path is split unless it alone exceeds the width.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::rc::Rc;

use empirica_notes::env::Env;
use git_empirica::cli::{self, Streams};

use crate::support::harness::{Repo, Sandbox};

#[derive(Clone, Default)]
struct Kept(Rc<RefCell<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a command prints to a terminal of so many columns.
fn printed(repo: &Repo<'_>, columns: usize, arguments: &[&str]) -> String {
    let (home, now) = (repo.place.path().join("home"), repo.place.now.clone());
    let variables = [
        ("PATH", std::env::var("PATH").unwrap_or_default()),
        ("HOME", home.to_string_lossy().into_owned()),
        ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ("TERM", "dumb".to_owned()),
        ("EMPIRICA_NOW", now),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    let env = Env::new(variables, repo.path.clone(), env!("CARGO_BIN_EXE_git-empirica").into());
    let (out, err) = (Kept::default(), Kept::default());
    let streams = Streams {
        in_is_terminal: false,
        stdin: Box::new(io::empty()),
        out: Box::new(out.clone()),
        err: Box::new(err.clone()),
        out_is_terminal: true,
        out_width: Some(columns),
        err_is_terminal: false,
    };
    let all = ["git-empirica", "--no-pager"].iter().chain(arguments).map(OsString::from).collect();
    let code = cli::run(all, &env, streams, Some(&|_| 0));
    let text = |kept: &Kept| String::from_utf8(kept.0.borrow().clone()).expect("UTF-8");
    assert_eq!(code, 0, "{arguments:?}: {}", text(&err));
    text(&out)
}

#[test]
fn no_word_id_or_path_is_split_at_the_edge_of_a_terminal() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let task =
        "Mend src/track/carriers/national/route.rs so that scan 01a2004e-a732-738b-ae3d-eb67a874c4a9 counts once";
    let texts = [
        "the login in src/api/handlers/session/login_with_nonce.rs:112 reads 01a2004e-a732-738b-ae3d-eb67a874c4a9 twice",
        "the login keeps 5f1f0a1e2c86d2b4d1a1a5fd2e0e7d1ab7a3c9e4 and deploy/environments/production/compose.override.yaml",
        "short words of the login that are many enough to fill two whole lines of a terminal and then somewhat more of them",
    ];
    repo.start("ada", task);
    for text in texts {
        repo.json(["finding", text]);
        repo.json(["unknown", &format!("Is it so that {text}?")]);
    }
    repo.json(["deadend", texts[0], "--why", texts[1]]);
    repo.json(["handoff"]);
    let views: [&[&str]; 3] = [&["query"], &["search", "login"], &["similar", task]];
    for view in views {
        let whole = printed(&repo, 1000, view);
        let words: Vec<&str> = whole.split_whitespace().collect();
        for columns in [60, 80] {
            let text = printed(&repo, columns, view);
            assert!(text.contains('…'), "{view:?} at {columns} cuts something: {text}");
            for line in text.lines() {
                assert!(line.chars().count() <= columns, "{view:?} at {columns}: {line}");
                for word in line.split_whitespace() {
                    let word = word.trim_end_matches('…');
                    assert!(word.is_empty() || words.contains(&word), "{view:?} at {columns} splits {word}: {line}");
                }
            }
        }
    }
}
