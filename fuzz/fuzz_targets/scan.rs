//! The ID of a frame too large to read: the same in any chunks, and that of the object if valid.
#![no_main]

use git_empirica::mcp::scan::Scan;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fn id(data: &[u8], pieces: usize) -> Option<Value> {
    let mut scan = Scan::default();
    data.chunks(pieces).for_each(|piece| scan.feed(piece));
    scan.id()
}

fuzz_target!(|data: &[u8]| {
    let whole = id(data, data.len().max(1));
    assert!(whole.as_ref().is_none_or(|id| id.is_string() || id.is_number()));
    for pieces in [1, 2, 7] {
        assert_eq!(id(data, pieces), whole);
    }
    // a key can be written in other ways, which are not looked for
    if let Ok(Value::Object(map)) = serde_json::from_slice(data)
        && !data.contains(&b'\\')
        && let Some(found) = whole
    {
        assert_eq!(map.get("id"), Some(&found));
    }
});
