//! Session names: any input resolves to a matching session or to none, and then the error lists the choices.

use std::sync::LazyLock;

use crate::input::texts;
use empirica_notes::model::session::Session;
use empirica_notes::model::{Id, SessionId};
use git_empirica::context::names::pick;

static SESSIONS: LazyLock<Vec<Session>> = LazyLock::new(|| {
    let session = |(at, (id, ai, external)): (usize, (&str, &str, Option<&str>))| Session {
        id: SessionId::parse(id).expect("an id"),
        began: Id::parse(&format!("019ab000-0000-7000-8000-{at:012x}")).expect("an id"),
        ai: ai.to_owned(),
        started_at: "2026-01-02T03:04:05.678Z".to_owned(),
        ended_at: (at % 2 == 0).then(|| "2026-01-03T03:04:05.678Z".to_owned()),
        task: None,
        kind: None,
        external_id: external.map(str::to_owned),
        commit: None,
        worktree: None,
        place: None,
        from: None,
        from_handoff: None,
    };
    let all = [
        ("11111111-2222-4333-8444-555555555555", "claude", None),
        ("11111111-2222-4333-8444-555555555556", "claude", Some("external")),
        ("1111aaaa-2222-4333-8444-555555555555", "codex", Some("external")),
        ("abcdef01-2222-4333-8444-555555555555", "a:b", Some("latest")),
        ("abcdef02-2222-4333-8444-555555555555", "", Some("1111")),
    ];
    all.into_iter().enumerate().map(session).collect()
});

pub fn fuzz(data: &[u8]) {
    let Some([given, ai]) = texts(data) else { return };
    let mut all = SESSIONS.clone();
    all[2].ai = ai.to_owned();
    match pick(&all, given) {
        Ok(found) => {
            let begins = given.len() >= 4 && found.id.as_str().starts_with(&given.to_ascii_lowercase());
            let is_alias = match given.strip_prefix("latest") {
                Some("") => true,
                Some(":active") => found.is_active() || found.ai == "active",
                Some(rest) => {
                    let ai = rest.strip_prefix(":active:").filter(|_| found.is_active()).or(rest.strip_prefix(':'));
                    ai == Some(found.ai.as_str())
                }
                None => false,
            };
            assert!(begins || is_alias || found.external_id.as_deref() == Some(given), "{given:?}: {found:?}");
        }
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.commands().is_empty(), "{given:?}");
        }
    }
    for session in &all {
        assert_eq!(pick(&all, session.id.as_str()).expect("there").id, session.id);
    }
}
