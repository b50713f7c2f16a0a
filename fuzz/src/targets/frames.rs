//! Any input to the MCP server: it ends with its input and writes only frames of the protocol.

use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};

use empirica_notes::env::Env;
use git_empirica::mcp::serve;
use serde_json::Value;

/// A folder that is not a repository: tool calls there are refused.
static NOWHERE: LazyLock<PathBuf> =
    LazyLock::new(|| tempfile::tempdir().expect("a folder").keep().canonicalize().expect("its path"));

const BEGIN: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"begin","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);

#[derive(Clone, Default)]
struct SharedOutput(Arc<Mutex<Vec<u8>>>);

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub fn fuzz(data: &[u8]) {
    let env = Env::new([], NOWHERE.clone(), PathBuf::new());
    // half of the inputs begin a conversation themselves, or fail to
    let begin = if data.first().is_some_and(|byte| *byte == b'!') { "" } else { BEGIN };
    let input = [begin.as_bytes(), data.strip_prefix(b"!").unwrap_or(data)].concat();
    let output = SharedOutput::default();
    let code = serve(&env, data.len().is_multiple_of(2), Cursor::new(input), output.clone());
    assert!(code == 0 || (code == 1 && begin.is_empty()), "it ended with {code}");
    let output = output.0.lock().expect("not poisoned").clone();
    assert!(output.is_empty() || output.ends_with(b"\n"), "frames are whole");
    let frames = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let frames: Vec<Value> = frames.map(|line| serde_json::from_slice(line).expect("JSON")).collect();
    assert!(frames.iter().all(|frame| frame["jsonrpc"] == "2.0"), "{frames:?}");
    if !begin.is_empty() {
        assert!(frames.iter().any(|frame| frame["id"] == "begin" && frame.get("result").is_some()), "{frames:?}");
    }
}
