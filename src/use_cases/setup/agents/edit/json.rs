//! JSON with comments and trailing commas: adds an entry after its siblings, or removes one.

use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::{Map, Value};

use crate::use_cases::setup::agents::edit::spot::{EditError, EntryPath};

/// Extensions of JSON that agents accept.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

const MARK: char = '\u{feff}';

fn fault(error: &jsonc_parser::errors::ParseError) -> EditError {
    EditError::Syntax { line: error.line_display(), what: error.kind().to_string() }
}

/// Parses a text; an empty one is an empty object.
pub fn read(text: &str) -> Result<Value, EditError> {
    let value: Option<Value> =
        parse_to_serde_value(text.trim_start_matches(MARK), &OPTIONS).map_err(|error| fault(&error))?;
    Ok(value.unwrap_or_else(|| Value::Object(Map::new())))
}

/// Splits off the byte order mark and parses the rest.
fn parsed(text: &str) -> Result<(&str, CstRootNode), EditError> {
    let (mark, text) = text.split_at(text.len() - text.trim_start_matches(MARK).len());
    Ok((mark, CstRootNode::parse(text, &OPTIONS).map_err(|error| fault(&error))?))
}

/// The property of a key; like readers, takes the last of duplicates.
fn property(object: &CstObject, key: &str) -> Option<CstObjectProp> {
    object.properties().into_iter().rfind(|property| property.decoded_name().as_deref() == Some(key))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

/// Adds a value, and the missing objects and lists around it; returns the text and the number of those added. A
/// parent on one line is spread over several.
pub fn put(text: &str, spot: &EntryPath, value: &Value) -> Result<(String, usize), EditError> {
    let (mark, root) = parsed(text)?;
    let shape = |depth: usize, expected| EditError::Shape { at: spot.path[..depth].join("."), expected };
    // the value with its parents from a depth on
    let nested = |depth: usize| {
        let inner = input(value);
        let inner = if spot.list { CstInputValue::Array(vec![inner]) } else { inner };
        let wrap = |inner, key: &String| CstInputValue::Object(vec![(key.clone(), inner)]);
        spot.path[depth..].iter().rev().fold(inner, wrap)
    };
    let levels = spot.path.len();
    let Some(mut node) = root.value() else {
        root.set_value(nested(0));
        return Ok((format!("{mark}{root}"), levels));
    };
    for (depth, key) in spot.path.iter().enumerate() {
        let object = node.as_object().ok_or_else(|| shape(depth, "an object"))?;
        object.ensure_multiline();
        match property(&object, key).map(|property| property.value()) {
            None => {
                object.append(key, nested(depth + 1));
                return Ok((format!("{mark}{root}"), levels - depth - usize::from(!spot.list)));
            }
            Some(found) => node = found.ok_or_else(|| shape(depth + 1, "an object"))?,
        }
    }
    let Some(list) = node.as_array().filter(|_| spot.list) else {
        return Err(shape(levels, if spot.list { "a list" } else { "an object" }));
    };
    list.ensure_multiline();
    list.append(input(value));
    Ok((format!("{mark}{root}"), 0))
}

/// Removes the one child of `now` that `expected` lacks. `None` if they differ in more than that, or if a comment
/// outside the child would be removed too.
pub fn take(text: &str, now: &Value, expected: &Value) -> Result<Option<String>, EditError> {
    let (mark, root) = parsed(text)?;
    let Some(child) = root.value().and_then(|node| differing(node, now, expected)) else { return Ok(None) };
    let comments = |node: &CstNode| count_comments(&node.children());
    let kept = count_comments(&root.children()) - comments(&child);
    child.remove();
    Ok((count_comments(&root.children()) == kept).then(|| format!("{mark}{root}")))
}

fn count_comments(nodes: &[CstNode]) -> usize {
    nodes.iter().map(|node| usize::from(node.is_comment()) + count_comments(&node.children())).sum()
}

/// First child in `now` but not in `expected`.
fn differing(node: CstNode, now: &Value, expected: &Value) -> Option<CstNode> {
    match (now, expected) {
        (Value::Object(have), Value::Object(want)) => {
            let key = have.keys().find(|key| have.get(*key) != want.get(*key))?;
            let property = property(&node.as_object()?, key)?;
            match want.get(key) {
                None => Some(property.into()),
                Some(want) => differing(property.value()?, &have[key], want),
            }
        }
        (Value::Array(have), Value::Array(want)) => {
            let same = have.iter().zip(want).take_while(|(have, want)| have == want).count();
            let child = node.as_array()?.elements().into_iter().nth(same)?;
            if want.len() == have.len() { differing(child, &have[same], &want[same]) } else { Some(child) }
        }
        _ => None,
    }
}
