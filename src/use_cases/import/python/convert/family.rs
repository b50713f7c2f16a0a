//! Ref names of the Python tool.

/// Ref prefixes: stored items, and archived deletions.
pub const PREFIXES: [&str; 2] = ["refs/notes/empirica/", "refs/notes/empirica-archive/"];

/// Folders with one item per ref, named by its ID.
const ARTIFACTS: [&str; 9] =
    ["findings", "unknowns", "dead_ends", "mistakes", "assumptions", "decisions", "sources", "goals", "tasks"];

const UNKNOWN: &str = "the Python tool has no ref of this name";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonRef<'n> {
    /// The folder; `archive` for deleted items.
    pub folder: &'static str,
    /// The session ID of the tool.
    pub session: Option<&'n str>,
    /// Phase and round, unparsed.
    pub phase: Option<(&'n str, &'n str)>,
    /// The ID; for a deleted item, its folder.
    pub id: &'n str,
}

impl PythonRef<'_> {
    /// Whether a ref holds a single item, or entries with IDs.
    pub fn is_single(&self) -> bool {
        ARTIFACTS.contains(&self.folder)
    }

    /// Whether payloads are plain text.
    pub fn is_text(&self) -> bool {
        self.folder == "cascades"
    }
}

/// Whether a ref below [`PREFIXES`] belongs to this program.
pub fn is_ours(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIXES[0]) else { return false };
    rest == "handoffs" || rest.starts_with("data/") || rest.starts_with("remotes/")
}

/// Parses a ref name; the error gives the reason.
pub fn family(name: &str) -> Result<PythonRef<'_>, String> {
    let plain = |folder, id| PythonRef { folder, session: None, phase: None, id };
    if let Some(rest) = name.strip_prefix(PREFIXES[1]) {
        let (kind, _) = rest.split_once('/').unwrap_or((rest, ""));
        return Ok(plain("archive", kind));
    }
    let rest = name.strip_prefix(PREFIXES[0]).unwrap_or(name);
    let parts: Vec<&str> = rest.split('/').collect();
    let of = |folder, session, phase| PythonRef { folder, session: Some(session), phase, id: "" };
    Ok(match parts.as_slice() {
        ["session", session] => of("session", session, None),
        ["session", session, phase, round] | ["session", session, "noema", phase, round] => {
            of("session", session, Some((*phase, *round)))
        }
        ["signatures", session, phase, round] | ["signatures", session, "noema", phase, round] => {
            of("signatures", session, Some((*phase, *round)))
        }
        ["handoff", session] => of("handoff", session, None),
        ["cascades", session, _] => of("cascades", session, None),
        ["checkpoints"] => plain("checkpoints", ""),
        ["messages", .., id] if parts.len() > 2 => plain("messages", id),
        [folder, id] => {
            let artifact = ARTIFACTS.into_iter().find(|artifact| artifact == folder);
            plain(artifact.ok_or(UNKNOWN)?, id)
        }
        _ => return Err(UNKNOWN.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ref_names_determine_their_kind() {
        let of = |name: &'static str| family(name).map(|found| (found.folder, found.session, found.phase));
        assert_eq!(of("refs/notes/empirica/session/s/CHECK/None"), Ok(("session", Some("s"), Some(("CHECK", "None")))));
        assert_eq!(of("refs/notes/empirica/session/s/noema/ACT/2"), Ok(("session", Some("s"), Some(("ACT", "2")))));
        assert_eq!(of("refs/notes/empirica/session/12345678"), Ok(("session", Some("12345678"), None)));
        assert_eq!(of("refs/notes/empirica/checkpoints"), Ok(("checkpoints", None, None)));
        assert_eq!(of("refs/notes/empirica/messages/a/b/c"), Ok(("messages", None, None)));
        assert_eq!(of("refs/notes/empirica-archive/findings/x"), Ok(("archive", None, None)));
        for no in ["test", "test-conflict-check", "findings", "handoff/a/markdown", "messages/x", "data/journal"] {
            assert!(family(&format!("refs/notes/empirica/{no}")).is_err(), "{no}");
        }
    }

    #[test]
    fn own_refs_are_not_the_python_tools() {
        for ours in ["handoffs", "data/journal", "remotes/origin-1/data/handoffs"] {
            assert!(is_ours(&format!("refs/notes/empirica/{ours}")));
        }
        for theirs in ["handoff/s", "checkpoints", "database", "handoffs2"] {
            assert!(!is_ours(&format!("refs/notes/empirica/{theirs}")));
        }
    }
}
