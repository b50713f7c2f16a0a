//! The schemas under `docs/schema/` are the formats of managed handoffs.

use std::path::Path;

use git_empirica::handoff::managed::formats::FORMATS;

#[test]
fn every_schema_is_a_format_and_is_written_in_one_form() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
    let mut names = Vec::new();
    for format in FORMATS.iter() {
        let name = format!("{}.json", format.name);
        let text = std::fs::read_to_string(folder.join(&name)).expect("a schema");
        assert_eq!(format.schema["title"], format.name, "{name}");
        assert_eq!(format.schema["properties"]["handoff_type"]["const"], format.name, "{name}");
        assert!(text == format!("{:#}\n", format.schema), "{name} is not written as serde_json writes it");
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
