//! An entry added to a file has the right value, and removing it restores the file to the byte.

use serde_json::{Value, json};

use git_empirica::use_cases::setup::agents::edit::spot::EntryPath;
use git_empirica::use_cases::setup::agents::edit::{FileFormat, MARK};
use git_empirica::use_cases::setup::agents::marked;

fn entries() -> [(FileFormat, EntryPath, Value); 5] {
    let hook = json!({"type": "command", "command": format!("{MARK}x Stop 2>/dev/null || true"), "timeout": 5});
    let apart = json!({"command": "git-empirica", "args": ["mcp"]});
    let joined = json!({"type": "local", "command": ["git-empirica", "mcp"], "enabled": true});
    [
        (FileFormat::Json, EntryPath::list(&["hooks", "Stop"]), json!({"hooks": [hook.clone()]})),
        (FileFormat::Json, EntryPath::list(&["hooks", "stop"]), hook),
        (FileFormat::Json, EntryPath::key(&["mcpServers", "empirica"]), apart.clone()),
        (FileFormat::Json, EntryPath::key(&["mcp", "empirica"]), joined),
        (FileFormat::Toml, EntryPath::key(&["mcp_servers", "empirica"]), apart),
    ]
}

/// The value in place of an entry.
fn at<'v>(value: &'v Value, spot: &EntryPath) -> Option<&'v Value> {
    let found = spot.path.iter().try_fold(value, |value, key| value.get(key))?;
    if spot.list { found.as_array()?.last() } else { Some(found) }
}

pub fn fuzz(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for (form, spot, value) in entries() {
        let Ok((with, entry)) = form.put(text, &spot, &value) else { continue };
        let read = form.read(&with).unwrap_or_else(|fault| panic!("{fault:?}: {with}"));
        assert_eq!(at(&read, &spot), Some(&value), "{with}");
        match form.take(&with, &entry) {
            Ok(left) => assert_eq!(left.as_deref(), Some(text), "{with}"),
            Err(fault) => panic!("{fault:?}: {with}"),
        }
        // of another text than it was put into: what is left is of the form, or nothing is done
        if let Ok(Some(left)) = form.take(text, &entry) {
            assert!(form.read(&left).is_ok(), "{left}");
        }
    }
    if let Ok(put) = marked::put(text, "one\ntwo") {
        assert!(matches!(marked::find(&put.text), Ok(Some(_))));
        let back = marked::take(&put.text, put.before, put.after, put.former.as_deref());
        assert_eq!(back.as_deref(), Ok(text));
    }
}
