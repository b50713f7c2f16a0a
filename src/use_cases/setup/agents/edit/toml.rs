//! TOML: adds a table.

use serde_json::Value;
use toml_edit::{Document, Item, Table, TableLike};

use crate::use_cases::setup::agents::edit::spot::{EditError, EntryPath};

fn parsed(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        EditError::Syntax { line, what: error.message().lines().collect::<Vec<_>>().join(", ") }
    })
}

pub fn read(text: &str) -> Result<Value, EditError> {
    parsed(text)?;
    toml_edit::de::from_str(text).map_err(|error| EditError::Syntax { line: 0, what: error.message().to_owned() })
}

/// Adds an object as a table, or as an inline table inside one; returns the text and the number of tables created
/// around it.
pub fn put(text: &str, spot: &EntryPath, value: &Value) -> Result<(String, usize), EditError> {
    let shape = |depth: usize| EditError::Shape { at: spot.path[..depth].join("."), expected: "an object" };
    let levels = spot.path.len();
    let Some((key, above)) = spot.path.split_last() else { return Err(shape(0)) };
    let mut document = parsed(text)?.into_mut();
    let mut new = toml_edit::ser::to_document(value).map_err(|_| shape(levels))?.into_table();
    if !text.trim_start_matches('\u{feff}').is_empty() {
        new.decor_mut().set_prefix("\n");
    }
    let (mut table, mut made, mut inline): (&mut dyn TableLike, _, _) = (document.as_table_mut(), 0, false);
    for (depth, key) in above.iter().enumerate() {
        let item = table.entry(key).or_insert_with(|| {
            made += 1;
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        inline = item.is_inline_table();
        table = item.as_table_like_mut().ok_or_else(|| shape(depth + 1))?;
    }
    let item = if inline { Item::Value(new.into_inline_table().into()) } else { Item::Table(new) };
    if table.insert(key, item).is_some() {
        return Err(shape(levels));
    }
    let out = document.to_string();
    let out = if text.contains("\r\n") { out.replace("\r\n", "\n").replace('\n', "\r\n") } else { out };
    // only the entry may differ
    let mut expected = read(text)?;
    let place = above.iter().try_fold(&mut expected, |place, key| {
        place.as_object_mut().map(|map| map.entry(key.clone()).or_insert_with(|| Value::Object(Default::default())))
    });
    place.and_then(Value::as_object_mut).map(|map| map.insert(key.clone(), value.clone()));
    if read(&out) == Ok(expected) { Ok((out, made)) } else { Err(shape(levels)) }
}
