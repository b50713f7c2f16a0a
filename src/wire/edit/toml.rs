//! TOML: a table of ours behind what is there.

use serde_json::Value;
use toml_edit::{Document, Item};

use super::{Change, Fault, Spot};

fn parsed(text: &str) -> Result<Document<&str>, Fault> {
    Document::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        Fault::Syntax { line, what: error.message().lines().collect::<Vec<_>>().join(", ") }
    })
}

/// What a text says.
pub fn read(text: &str) -> Result<Value, Fault> {
    parsed(text)?;
    toml_edit::de::from_str(text).map_err(|error| Fault::Syntax { line: 0, what: error.message().to_owned() })
}

/// A value as it is written on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let pairs: Vec<String> = map.iter().map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        // strings of JSON are basic strings of TOML
        other => other.to_string(),
    }
}

/// The change that puts an object in at the end, as a table, or into an inline table around it; and how many tables were made
/// around it.
pub fn put(text: &str, spot: &Spot, value: &Value) -> Result<(Change, usize), Fault> {
    let shape = || Fault::Shape { at: spot.path.join("."), wanted: "an object" };
    let document = parsed(text)?;
    let Some((key, above)) = spot.path.split_last() else { return Err(shape()) };
    let around = above.iter().try_fold(document.as_item(), |item, key| item.get(key));
    let made = usize::from(around.is_none());
    let change = match around {
        Some(Item::Value(toml_edit::Value::InlineTable(table))) => {
            let range = table.span().filter(|range| text[..range.end].ends_with('}')).ok_or_else(shape)?;
            let inner = text[range.start + 1..range.end - 1].trim_end();
            let at = range.start + 1 + inner.len();
            let comma = if inner.is_empty() { "" } else { "," };
            Change { range: at..at, now: format!("{comma} {key} = {}", inline(value)) }
        }
        None | Some(Item::None | Item::Table(_)) => {
            let Value::Object(map) = value else { return Err(shape()) };
            let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
            let gap = match text {
                _ if text.trim_start_matches('\u{feff}').is_empty() => "",
                _ if text.ends_with(&format!("{end}{end}")) => "",
                _ if text.ends_with('\n') => end,
                _ => &end.repeat(2),
            };
            let head = format!("{gap}[{}]{end}", spot.path.join("."));
            let lines = map.iter().map(|(key, value)| format!("{key} = {}{end}", inline(value)));
            Change { range: text.len()..text.len(), now: head + &lines.collect::<String>() }
        }
        Some(_) => return Err(Fault::Shape { at: above.join("."), wanted: "an object" }),
    };
    // whatever the form, it must say what it should and nothing else
    let mut wanted = read(text)?;
    let mut place = &mut wanted;
    for key in above {
        let Value::Object(map) = place else { return Err(shape()) };
        place = map.entry(key.clone()).or_insert_with(|| Value::Object(Default::default()));
    }
    let Value::Object(map) = place else { return Err(shape()) };
    if map.insert(key.clone(), value.clone()).is_some() || read(&change.apply(text)) != Ok(wanted) {
        return Err(shape());
    }
    Ok((change, made))
}
