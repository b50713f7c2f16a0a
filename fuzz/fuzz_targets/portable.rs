//! Lines of an export round-trip, and every line that is read can be written.
#![no_main]

use empirica_notes::format::portable::{Portable, Read, namespace_of, read, write, write_epoch};
use empirica_notes::model::Namespace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for line in data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let commit = "0123456789012345678901234567890123456789";
        let namespace = namespace_of(line).unwrap_or(Namespace::ALL[line.len() % Namespace::ALL.len()]);
        let text = write(commit, namespace, line);
        assert!(!text.contains('\n'));
        let whole = Portable { commit: commit.to_owned(), namespace, line: line.to_owned() };
        assert_eq!(read(text.as_bytes()), Ok(Read::Line(whole)), "{text}");
        match read(line) {
            Ok(Read::Line(found)) => {
                assert!(!found.line.is_empty() && !found.line.contains(&b'\n'));
                let text = write(commit, found.namespace, &found.line);
                let again = Portable { commit: commit.to_owned(), ..found };
                assert_eq!(read(text.as_bytes()), Ok(Read::Line(again)), "{text}");
            }
            Ok(Read::Epoch(namespace, epoch)) => {
                let text = write_epoch(namespace, &epoch);
                assert_eq!(read(text.as_bytes()), Ok(Read::Epoch(namespace, epoch)));
            }
            Err(why) => assert!(!why.is_empty()),
        }
    }
});
