//! Lines of an export: what was written is read as it was, and what is read can be written.
#![no_main]

use empirica_notes::format::portable::{Portable, Read, read, shelf_of, write, write_epoch};
use empirica_notes::model::Shelf;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for line in data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let commit = "0123456789012345678901234567890123456789";
        let shelf = shelf_of(line).unwrap_or(Shelf::ALL[line.len() % Shelf::ALL.len()]);
        let text = write(commit, shelf, line);
        assert!(!text.contains('\n'));
        let whole = Portable { commit: commit.to_owned(), shelf, line: line.to_owned() };
        assert_eq!(read(text.as_bytes()), Ok(Read::Line(whole)), "{text}");
        match read(line) {
            Ok(Read::Line(found)) => {
                assert!(!found.line.is_empty() && !found.line.contains(&b'\n'));
                let text = write(commit, found.shelf, &found.line);
                let again = Portable { commit: commit.to_owned(), ..found };
                assert_eq!(read(text.as_bytes()), Ok(Read::Line(again)), "{text}");
            }
            Ok(Read::Epoch(shelf, epoch)) => {
                let text = write_epoch(shelf, &epoch);
                assert_eq!(read(text.as_bytes()), Ok(Read::Epoch(shelf, epoch)));
            }
            Err(why) => assert!(!why.is_empty()),
        }
    }
});
