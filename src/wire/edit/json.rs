//! JSON, with comments and trailing commas: where an entry goes, in the form of what stands around it, and taking it out.

use std::io::{self, Write};
use std::ops::Range;

use jsonc_parser::ast::{ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast, parse_to_serde_value};
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use serde_json::{Map, Value};

use super::{Change, Fault, Spot};

/// What agents accept beyond JSON: comments and trailing commas.
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

fn fault(error: &jsonc_parser::errors::ParseError) -> Fault {
    Fault::Syntax { line: error.line_display(), what: error.kind().to_string() }
}

/// What a text says; one without a value is an empty object.
pub fn read(text: &str) -> Result<Value, Fault> {
    let value: Option<Value> =
        parse_to_serde_value(text.trim_start_matches('\u{feff}'), &OPTIONS).map_err(|error| fault(&error))?;
    Ok(value.unwrap_or_else(|| Value::Object(Map::new())))
}

/// A text and where things are in it.
struct Document<'t> {
    text: &'t str,
    root: Option<Node<'t>>,
    tokens: Vec<TokenAndRange<'t>>,
    end: &'static str,
    /// What a level is indented by.
    unit: String,
    /// Whether it has lines: else everything is on one.
    lines: bool,
}

/// An object or a list: where its brackets are, and what is in it.
struct Container {
    range: Range<usize>,
    children: Vec<Range<usize>>,
}

fn range(ranged: &impl Ranged) -> Range<usize> {
    ranged.start()..ranged.end()
}

/// Writes JSON on one line, with a space behind each comma and colon.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

fn written(value: &Value, form: impl Formatter) -> String {
    let mut bytes = Vec::new();
    // writing to memory cannot fail
    let _ = serde::Serialize::serialize(value, &mut Serializer::with_formatter(&mut bytes, form));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The property that a key stands for: of several, readers take the last.
fn property<'n, 't>(node: &'n Node<'t>, key: &str) -> Option<&'n ObjectProp<'t>> {
    node.as_object()?.properties.iter().rev().find(|property| property.name.as_str() == key)
}

fn container(node: &Node<'_>) -> Option<Container> {
    let children = match node {
        Node::Object(object) => object.properties.iter().map(range).collect(),
        Node::Array(array) => array.elements.iter().map(range).collect(),
        _ => return None,
    };
    Some(Container { range: range(node), children })
}

impl<'t> Document<'t> {
    /// Parses a text that begins with no byte order mark.
    fn new(text: &'t str) -> Result<Self, Fault> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(text, &collect, &OPTIONS).map_err(|error| fault(&error))?;
        let (root, tokens) = (parsed.value, parsed.tokens.unwrap_or_default());
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut document = Document { text, root, tokens, end, unit: "  ".to_owned(), lines: true };
        if let Some(root) = document.root.as_ref().and_then(container)
            && let Some(first) = root.children.first()
        {
            document.lines = text[root.range.clone()].contains('\n');
            if let Some(indent) = document.own_line(first.start) {
                document.unit = indent.strip_prefix(document.indent(root.range.start)).unwrap_or(indent).to_owned();
            }
        }
        Ok(document)
    }

    /// The white space that the line of a place begins with.
    fn indent(&self, at: usize) -> &'t str {
        let start = self.text[..at].rfind('\n').map_or(0, |at| at + 1);
        let line = &self.text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// The white space before a place that nothing else stands before on its line.
    fn own_line(&self, at: usize) -> Option<&'t str> {
        let indent = self.indent(at);
        self.text[..at].strip_suffix(indent)?.ends_with('\n').then_some(indent)
    }

    fn is_comment(token: &Token<'_>) -> bool {
        matches!(token, Token::CommentLine(_) | Token::CommentBlock(_))
    }

    /// The comma behind a child, before anything else but comments.
    fn comma(&self, behind: usize) -> Option<Range<usize>> {
        let mut rest = self.tokens.iter().filter(|token| token.start() >= behind);
        let next = rest.find(|token| !Self::is_comment(&token.token))?;
        (next.token == Token::Comma).then(|| range(next))
    }

    /// The end of what stands behind a place on its line: comments.
    fn with_comments(&self, behind: usize) -> usize {
        let mut end = behind;
        for token in self.tokens.iter().filter(|token| token.start() >= behind) {
            if !Self::is_comment(&token.token) || self.text[end..token.start()].contains('\n') {
                break;
            }
            end = token.end();
        }
        end
    }

    /// Whether commas and colons have spaces behind them, of what is on one line.
    fn is_spaced(&self) -> bool {
        self.text.contains("\": ") || self.text.contains(", ")
    }

    fn rendered(&self, key: Option<&str>, value: &Value, indent: Option<&str>) -> String {
        let spaced = indent.is_some() || self.is_spaced();
        let key = key.map(|key| format!("{}:{}", Value::from(key), if spaced { " " } else { "" })).unwrap_or_default();
        let text = match indent {
            Some(indent) => {
                let pretty = PrettyFormatter::with_indent(self.unit.as_bytes());
                written(value, pretty).replace('\n', &format!("{}{indent}", self.end))
            }
            None if spaced => written(value, Spaced),
            None => value.to_string(),
        };
        key + &text
    }

    /// The change that adds a child behind those that are there.
    fn add(&self, container: &Container, key: Option<&str>, value: &Value) -> Change {
        let (open, close) = (container.range.start + 1, container.range.end - 1);
        let base = self.indent(container.range.start);
        let Some((last, first)) = container.children.last().zip(container.children.first()) else {
            // behind comments, if there are any
            let mut comments = self.tokens.iter().rev().filter(|token| token.start() >= open && token.end() <= close);
            let at = comments.next().map_or(open, Ranged::end);
            if !self.lines {
                return Change { range: at..at, now: self.rendered(key, value, None) };
            }
            let indent = format!("{base}{}", self.unit);
            let now = format!("{}{indent}{}", self.end, self.rendered(key, value, Some(&indent)));
            return if self.text[at..close].contains('\n') {
                Change { range: at..at, now }
            } else {
                Change { range: at..close, now: format!("{now}{}{base}", self.end) }
            };
        };
        let comma = self.comma(last.end);
        let behind = comma.as_ref().map_or(last.end, |comma| comma.end);
        if !self.text[open..first.start].contains('\n') {
            let gap = if self.is_spaced() { " " } else { "" };
            let now = format!("{}{gap}{}", if comma.is_some() { "" } else { "," }, self.rendered(key, value, None));
            return Change { range: behind..behind, now };
        }
        let indent = self.own_line(last.start).or_else(|| self.own_line(first.start)).unwrap_or_default();
        let at = self.with_comments(behind);
        let line = format!("{}{indent}{}", self.end, self.rendered(key, value, Some(indent)));
        match comma {
            Some(_) => Change { range: at..at, now: format!("{line},") },
            None => Change { range: behind..at, now: format!(",{}{line}", &self.text[behind..at]) },
        }
    }

    /// The changes that take a child out, in their order: with the white space before it and the comma that is no longer needed.
    fn remove(&self, container: &Container, index: usize) -> Vec<Change> {
        let child = &container.children[index];
        let (open, close) = (container.range.start + 1, container.range.end - 1);
        let inside = |token: &&TokenAndRange<'_>| token.start() >= open && token.end() <= close;
        let gone = |range: Range<usize>| Change { range, now: String::new() };
        let commented =
            self.tokens.iter().filter(inside).any(|token| {
                Self::is_comment(&token.token) && !(token.start() >= child.start && token.end() <= child.end)
            });
        if container.children.len() == 1 && !commented {
            return vec![gone(open..close)];
        }
        let before = self.tokens.iter().rfind(|token| token.end() <= child.start);
        // what ends with its line must keep the end of its line
        let start = match before {
            Some(token) if matches!(token.token, Token::CommentLine(_)) => child.start,
            Some(token) => token.end(),
            None => child.start,
        };
        let mut out = vec![gone(start..child.end)];
        match self.comma(child.end).filter(|comma| comma.start < close) {
            Some(comma) => out.push(gone(comma)),
            None if index > 0 => {
                let former = container.children[index - 1].end;
                out.splice(0..0, self.comma(former).map(gone));
            }
            None => {}
        }
        out
    }
}

/// The change that puts a value in, with the objects and lists around it that are not there; and how many those are.
pub fn put(text: &str, spot: &Spot, value: &Value) -> Result<(Change, usize), Fault> {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let document = Document::new(&text[mark..])?;
    let shape = |depth: usize, wanted| Fault::Shape { at: spot.path[..depth].join("."), wanted };
    // what is to be put at a depth when nothing is there
    let nested = |depth: usize| {
        let inner = if spot.list { Value::Array(vec![value.clone()]) } else { value.clone() };
        let wrap = |inner, key: &String| Value::Object(Map::from_iter([(key.clone(), inner)]));
        spot.path[depth..].iter().rev().fold(inner, wrap)
    };
    let levels = spot.path.len();
    let made = |depth: usize| levels - depth - usize::from(!spot.list);
    let shifted = |change: Change| Change { range: change.range.start + mark..change.range.end + mark, ..change };
    let Some(mut node) = document.root.as_ref() else {
        let gap = if document.text.is_empty() || document.text.ends_with('\n') { "" } else { document.end };
        let now = format!("{gap}{}{}", document.rendered(None, &nested(0), Some("")), document.end);
        let at = document.text.len();
        return Ok((shifted(Change { range: at..at, now }), levels));
    };
    for (depth, key) in spot.path.iter().enumerate() {
        let Some(object) = node.as_object().and_then(|_| container(node)) else {
            return Err(shape(depth, "an object"));
        };
        match property(node, key) {
            None => return Ok((shifted(document.add(&object, Some(key), &nested(depth + 1))), made(depth))),
            Some(found) => node = &found.value,
        }
    }
    match node.as_array().and_then(|_| container(node)).filter(|_| spot.list) {
        Some(list) => Ok((shifted(document.add(&list, None, value)), 0)),
        None => Err(shape(levels, if spot.list { "a list" } else { "an object" })),
    }
}

/// Takes out of a text whatever makes `now`, which it says, differ from `wanted`; `None` when that is more than to leave out.
pub fn take(text: &str, now: &Value, wanted: &Value) -> Result<Option<String>, Fault> {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let document = Document::new(&text[mark..])?;
    let mut changes = Vec::new();
    let known = document.root.as_ref().is_some_and(|root| differing(&document, root, now, wanted, &mut changes));
    let mut out = text.to_owned();
    for change in changes.into_iter().rev() {
        out.replace_range(change.range.start + mark..change.range.end + mark, &change.now);
    }
    Ok(known.then_some(out))
}

/// Finds the one child that has to go; whether there is one, and no other difference.
fn differing(document: &Document<'_>, node: &Node<'_>, now: &Value, wanted: &Value, out: &mut Vec<Change>) -> bool {
    let Some(around) = container(node) else { return false };
    match (node, now, wanted) {
        (Node::Object(object), Value::Object(have), Value::Object(want)) => {
            let Some(key) = have.keys().find(|key| have.get(*key) != want.get(*key)) else { return false };
            let Some(at) = object.properties.iter().rposition(|property| property.name.as_str() == key) else {
                return false;
            };
            match want.get(key) {
                None => out.extend(document.remove(&around, at)),
                Some(want) => return differing(document, &object.properties[at].value, &have[key], want, out),
            }
            true
        }
        (Node::Array(array), Value::Array(have), Value::Array(want)) => {
            let same = have.iter().zip(want).take_while(|(have, want)| have == want).count();
            match have.get(same) {
                Some(have) if want.len() == array.elements.len() => {
                    differing(document, &array.elements[same], have, &want[same], out)
                }
                Some(_) => {
                    out.extend(document.remove(&around, same));
                    true
                }
                None => false,
            }
        }
        _ => false,
    }
}
