//! Lines of an export round-trip, and every line that is read can be written.

use empirica_notes::format::export::{ExportEntry, ExportLine, decode, encode, encode_tombstones, namespace_of};
use empirica_notes::model::Namespace;

pub fn fuzz(data: &[u8]) {
    for line in data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let commit = "0123456789012345678901234567890123456789";
        let namespace = namespace_of(line).unwrap_or(Namespace::ALL[line.len() % Namespace::ALL.len()]);
        let text = encode(commit, namespace, line);
        assert!(!text.contains('\n'));
        let whole = ExportLine { commit: commit.to_owned(), namespace, line: line.to_owned() };
        assert_eq!(decode(text.as_bytes()), Ok(ExportEntry::Line(whole)), "{text}");
        match decode(line) {
            Ok(ExportEntry::Line(found)) => {
                assert!(!found.line.is_empty() && !found.line.contains(&b'\n'));
                let text = encode(commit, found.namespace, &found.line);
                let again = ExportLine { commit: commit.to_owned(), ..found };
                assert_eq!(decode(text.as_bytes()), Ok(ExportEntry::Line(again)), "{text}");
            }
            Ok(ExportEntry::Tombstones(namespace, epoch)) => {
                let text = encode_tombstones(namespace, &epoch);
                assert_eq!(decode(text.as_bytes()), Ok(ExportEntry::Tombstones(namespace, epoch)));
            }
            Err(why) => assert!(!why.is_empty()),
        }
    }
}
