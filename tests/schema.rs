//! The schemas under `docs/schema/` are what the formats say; `EMPIRICA_BLESS=1` writes them anew.

use std::path::Path;

use git_empirica::epistemics::payload::schema;
use git_empirica::model::formats::FORMATS;

#[test]
fn the_schemas_are_those_of_the_formats_and_there_are_no_others() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
    let mut names = Vec::new();
    for format in &FORMATS {
        let name = format!("{}.json", format.name);
        let text = serde_json::to_string_pretty(&schema(format)).expect("JSON") + "\n";
        if std::env::var_os("EMPIRICA_BLESS").is_some() {
            std::fs::write(folder.join(&name), &text).expect("a schema");
        }
        let there = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(there == text, "docs/schema/{name} is not current: EMPIRICA_BLESS=1 cargo test schema");
        names.push(name);
    }
    let mut there: Vec<String> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    there.sort();
    names.sort();
    assert_eq!(there, names);
}
