//! Any bytes as a transcript: reading never panics and keeps to its bounds.

use std::path::Path;

use empirica_transcripts::read_from;

pub fn fuzz(data: &[u8]) {
    let Ok(read) = read_from(data, Some(Path::new("/home/dev/repo"))) else { return };
    assert!(read.size <= data.len() as u64, "it ends in what was given");
    assert!(read.tools.iter().all(|tool| tool.errors <= tool.count && tool.samples.len() <= 3), "{:?}", read.tools);
    assert!(read.messages.len() <= 10 && read.decisions.len() <= 20);
    assert!(
        read.files_modified.iter().all(|path| !path.starts_with("../") && !path.contains("/../")),
        "{:?}",
        read.files_modified
    );
    // the stored part can be read again
    let line = serde_json::to_string(&read).expect("JSON");
    assert_eq!(serde_json::from_str::<empirica_transcripts::model::Transcript>(&line).expect("a transcript"), read);
}
