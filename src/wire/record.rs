//! One record as one line of JSON with a fixed key order.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::record::{Attach, Supersede, VERSION};
use crate::model::{Body, Head, Id, Record, SessionId};

#[derive(Serialize, Deserialize)]
struct HeadWire {
    v: u32,
    id: Id,
    kind: String,
    session: Option<SessionId>,
    ai: String,
    at: String,
    commit: Option<String>,
    tree: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct AttachWire {
    of: Vec<Id>,
    from: String,
    to: String,
}

#[derive(Serialize, Deserialize)]
struct SupersedeWire {
    of: Id,
    by: Id,
}

fn to_map(value: impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        // every body is a struct of strings, numbers and lists of them
        _ => Map::new(),
    }
}

/// The keys of a body, in their fixed order, without the envelope.
pub fn body_to_map(body: &Body) -> Map<String, Value> {
    match body {
        Body::SessionStart(b) => to_map(b),
        Body::SessionEnd(b) => to_map(b),
        Body::Finding(b) => to_map(b),
        Body::Unknown(b) => to_map(b),
        Body::Resolve(b) => to_map(b),
        Body::DeadEnd(b) => to_map(b),
        Body::Mistake(b) => to_map(b),
        Body::Decision(b) => to_map(b),
        Body::Source(b) => to_map(b),
        Body::Evidence(b) => to_map(b),
        Body::Activity(b) => to_map(b),
        Body::Goal(b) => to_map(b),
        Body::Subtask(b) => to_map(b),
        Body::GoalDone(b) => to_map(b),
        Body::GoalDrop(b) => to_map(b),
        Body::GoalTake(b) => to_map(b),
        Body::Assessment(b) => to_map(b),
        Body::Checkpoint(b) => to_map(b),
        Body::Handoff(b) => to_map(b),
        Body::Digest(b) => to_map(b),
        Body::Accept(b) => to_map(b),
        Body::Attach(b) => to_map(AttachWire { of: b.of.clone(), from: b.from.clone(), to: b.to.clone() }),
        Body::Supersede(b) => to_map(SupersedeWire { of: b.of.clone(), by: b.by.clone() }),
    }
}

/// Reads a body of `kind` from JSON that holds its keys; `None` for a kind or a shape that is not known. Other keys are
/// passed over.
pub fn body_from_json(kind: &str, json: &[u8]) -> Option<Body> {
    fn read<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
        serde_json::from_slice(json).ok()
    }
    Some(match kind {
        "session_start" => Body::SessionStart(read(json)?),
        "session_end" => Body::SessionEnd(read(json)?),
        "finding" => Body::Finding(read(json)?),
        "unknown" => Body::Unknown(read(json)?),
        "resolve" => Body::Resolve(read(json)?),
        "dead_end" => Body::DeadEnd(read(json)?),
        "mistake" => Body::Mistake(read(json)?),
        "decision" => Body::Decision(read(json)?),
        "source" => Body::Source(read(json)?),
        "evidence" => Body::Evidence(read(json)?),
        "activity" => Body::Activity(read(json)?),
        "goal" => Body::Goal(read(json)?),
        "subtask" => Body::Subtask(read(json)?),
        "goal_done" => Body::GoalDone(read(json)?),
        "goal_drop" => Body::GoalDrop(read(json)?),
        "goal_take" => Body::GoalTake(read(json)?),
        "assessment" => Body::Assessment(Box::new(read(json)?)),
        "checkpoint" => Body::Checkpoint(Box::new(read(json)?)),
        "handoff" => Body::Handoff(Box::new(read(json)?)),
        "digest" => Body::Digest(Box::new(read(json)?)),
        "accept" => Body::Accept(read(json)?),
        "attach" => {
            let AttachWire { of, from, to } = read(json)?;
            Body::Attach(Attach { of, from, to })
        }
        "supersede" => {
            let SupersedeWire { of, by } = read(json)?;
            Body::Supersede(Supersede { of, by })
        }
        _ => return None,
    })
}

/// The record as one line, without the final LF.
pub fn encode(record: &Record) -> String {
    encode_with(&record.head, record.body.kind(), body_to_map(&record.body))
}

/// A line from an envelope and the keys of a body.
pub fn encode_with(head: &Head, kind: &str, body: Map<String, Value>) -> String {
    let mut line = to_map(HeadWire {
        v: head.v,
        id: head.id.clone(),
        kind: kind.to_owned(),
        session: head.session.clone(),
        ai: head.ai.clone(),
        at: head.at.clone(),
        commit: head.commit.clone(),
        tree: head.tree.clone(),
    });
    line.extend(body);
    Value::Object(line).to_string()
}

/// Reads a line; `None` when it is no record of a version and kind this program understands.
pub fn decode(line: &[u8]) -> Option<Record> {
    super::lines::id(line)?;
    let head: HeadWire = serde_json::from_slice(line).ok()?;
    if head.v != VERSION {
        return None;
    }
    let body = body_from_json(&head.kind, line)?;
    let HeadWire { v, id, session, ai, at, commit, tree, .. } = head;
    Some(Record { head: Head { v, id, session, ai, at, commit, tree }, body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::journal::Finding;

    #[test]
    fn a_record_has_a_fixed_key_order_and_comes_back() {
        let record = Record {
            head: Head {
                v: 1,
                id: Id::parse("019ab000-0000-7000-8000-00000000000a").unwrap(),
                session: SessionId::parse("11111111-2222-4333-8444-555555555555"),
                ai: "claude".into(),
                at: "2026-01-02T03:04:05.678Z".into(),
                commit: None,
                tree: None,
            },
            body: Body::Finding(Finding {
                text: "a\n\"b\" é \u{1b}".into(),
                impact: Some(0.7),
                memory: None,
                led_from: None,
            }),
        };
        let line = encode(&record);
        assert_eq!(
            line,
            r#"{"v":1,"id":"019ab000-0000-7000-8000-00000000000a","kind":"finding","session":"11111111-2222-4333-8444-555555555555","ai":"claude","at":"2026-01-02T03:04:05.678Z","commit":null,"tree":null,"text":"a\n\"b\" é \u001b","impact":0.7}"#
        );
        assert_eq!(decode(line.as_bytes()), Some(record));
    }

    #[test]
    fn other_versions_and_kinds_are_not_understood_and_not_an_error() {
        let id = r#""id":"019ab000-0000-7000-8000-00000000000a""#;
        let rest = r#""session":null,"ai":"x","at":"","commit":null,"tree":null,"text":"t""#;
        assert!(decode(format!(r#"{{"v":1,{id},"kind":"finding",{rest},"new":[1]}}"#).as_bytes()).is_some());
        assert!(decode(format!(r#"{{"v":2,{id},"kind":"finding",{rest}}}"#).as_bytes()).is_none());
        assert!(decode(format!(r#"{{"v":1,{id},"kind":"prophecy",{rest}}}"#).as_bytes()).is_none());
        assert!(decode(b"{\"v\":1}").is_none());
        assert!(decode("[".repeat(100_000).as_bytes()).is_none());
    }
}
