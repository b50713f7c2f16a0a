//! A Qdrant server of a test: the part of its REST API that the program uses, with the forms and errors of version 1.19. With
//! `EMPIRICA_TEST_QDRANT` set to the URL of a real one, that is used instead.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::http::{Reply, Request, Server};

/// A running server.
pub enum Qdrant {
    Real(String),
    Double(Server),
}

#[derive(Default)]
struct Collection {
    size: Option<u64>,
    indexes: Vec<String>,
    points: BTreeMap<String, (Vec<f64>, Value)>,
}

impl Qdrant {
    /// Without a collection. `key` is that of its configuration, which a real one must have, too.
    pub fn new(key: &'static str) -> Self {
        if let Some(url) = real() {
            let host = url.trim_start_matches("http://");
            let mut stream = TcpStream::connect(host).expect("a server");
            write!(
                stream,
                "DELETE /collections/empirica HTTP/1.1\r\nhost: {host}\r\napi-key: {key}\r\nconnection: close\r\n\r\n"
            )
            .expect("sent");
            stream.read_to_end(&mut Vec::new()).expect("answered");
            return Qdrant::Real(url);
        }
        let collection: Arc<Mutex<Collection>> = Arc::default();
        Qdrant::Double(Server::new(move |asked| {
            let given = asked.headers.get("api-key").map(String::as_str).unwrap_or_default();
            match given == key {
                true => answer(&mut collection.lock().expect("no panic"), asked),
                // no JSON, as the server has it
                false => Reply { status: 401, body: "Invalid API key or JWT".to_owned(), ..Reply::default() },
            }
        }))
    }

    pub fn url(&self) -> String {
        match self {
            Qdrant::Real(url) => url.clone(),
            Qdrant::Double(server) => server.url(),
        }
    }

    /// The requests since the last call, as method and path; of a real server none.
    pub fn take(&self) -> Vec<String> {
        match self {
            Qdrant::Real(_) => Vec::new(),
            Qdrant::Double(server) => server.take().iter().map(|one| format!("{} {}", one.method, one.path)).collect(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a switch of the tests, not of the program")]
fn real() -> Option<String> {
    std::env::var("EMPIRICA_TEST_QDRANT").ok()
}

fn ok(result: &Value) -> Reply {
    Reply::json(200, &json!({"result": result, "status": "ok", "time": 0.0001, "usage": null}))
}

fn error(status: u16, words: &str) -> Reply {
    Reply::json(status, &json!({"status": {"error": words}, "time": 0.0}))
}

fn answer(collection: &mut Collection, asked: &Request) -> Reply {
    const NAME: &str = "/collections/empirica";
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    let Some(path) = path.strip_prefix(NAME) else {
        return Reply { status: 404, ..Reply::default() };
    };
    assert!(["", "wait=true"].contains(&query), "{query}");
    let body = &asked.body;
    let missing = || error(404, "Not found: Collection `empirica` doesn't exist!");
    match (asked.method.as_str(), path) {
        ("DELETE", "") => {
            let was_there = std::mem::take(collection).size.is_some();
            return ok(&json!(was_there));
        }
        ("PUT", "") if collection.size.is_some() => {
            return error(409, "Wrong input: Collection `empirica` already exists!");
        }
        ("PUT", "") => {
            assert_eq!(body["vectors"]["distance"], "Cosine");
            assert_eq!(body["quantization_config"]["scalar"]["type"], "int8");
            collection.size = Some(body["vectors"]["size"].as_u64().expect("a number"));
            return ok(&json!(true));
        }
        _ => {}
    }
    let Some(size) = collection.size else { return missing() };
    let done = || ok(&json!({"operation_id": 1, "status": "completed"}));
    match (asked.method.as_str(), path) {
        ("GET", "") => ok(&json!({
            "status": "green", "points_count": collection.points.len(),
            "config": {"params": {"vectors": {"size": size, "distance": "Cosine"}}},
            "payload_schema": collection.indexes.iter().map(|name| (name.clone(), json!({"data_type": "keyword"})))
                .collect::<serde_json::Map<_, _>>(),
        })),
        ("PUT", "/index") => {
            assert_eq!(body["field_schema"], "keyword");
            collection.indexes.push(body["field_name"].as_str().expect("a name").to_owned());
            done()
        }
        ("PUT", "/points") => {
            let points = body["points"].as_array().expect("a list");
            if points.is_empty() {
                return error(400, "Bad request: Empty update request");
            }
            for point in points {
                let vector: Vec<f64> =
                    point["vector"].as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
                if vector.len() as u64 != size {
                    let words = "Wrong input: Vector dimension error: expected dim:";
                    return error(400, &format!("{words} {size}, got {}", vector.len()));
                }
                let id = point["id"].as_str().expect("a name");
                uuid::Uuid::parse_str(id).expect("a UUID");
                collection.points.insert(id.to_owned(), (vector, point["payload"].clone()));
            }
            done()
        }
        ("POST", "/points/payload") => {
            for id in ids(body) {
                let Some((_, payload)) = collection.points.get_mut(&id) else {
                    return error(404, &format!("Not found: No point with id {id} found"));
                };
                for (key, value) in body["payload"].as_object().expect("an object") {
                    payload[key] = value.clone();
                }
            }
            done()
        }
        ("POST", "/points/delete") => {
            let gone = ids(body);
            let filter = body.get("filter");
            collection.points.retain(|id, (_, payload)| {
                !gone.contains(id) && !filter.is_some_and(|filter| admits(&collection.indexes, filter, payload))
            });
            done()
        }
        ("POST", "/points/scroll") => scroll(collection, body),
        ("POST", "/points/query") => nearest(collection, body, size),
        _ => Reply { status: 404, ..Reply::default() },
    }
}

fn ids(body: &Value) -> Vec<String> {
    body["points"].as_array().into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

/// Whether a filter of `must` and `any` admits a point; its fields must have an index.
fn admits(indexes: &[String], filter: &Value, payload: &Value) -> bool {
    let keys: Vec<&String> = filter.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["must"]);
    filter["must"].as_array().expect("a list").iter().all(|condition| {
        let key = condition["key"].as_str().expect("a name");
        assert!(indexes.iter().any(|index| index == key), "{key} has no index");
        condition["match"]["any"].as_array().expect("a list").contains(&payload[key])
    })
}

fn scroll(collection: &Collection, body: &Value) -> Reply {
    let limit = usize::try_from(body["limit"].as_u64().expect("a number")).expect("small");
    if limit == 0 {
        let words = "Validation error in JSON body: [scroll_request.limit: value 0 invalid, must be 1 or larger]";
        return error(422, words);
    }
    let offset = body["offset"].as_str().unwrap_or_default();
    let is_asked = |(id, (_, payload)): &(&String, &(Vec<f64>, Value))| {
        id.as_str() >= offset && admits(&collection.indexes, &body["filter"], payload)
    };
    let mut found: Vec<_> = collection.points.iter().filter(is_asked).collect();
    let next = found.get(limit).map(|(id, _)| (*id).clone());
    found.truncate(limit);
    let points: Vec<Value> =
        found.into_iter().map(|(id, (_, payload))| json!({"id": id, "payload": {"state": payload["state"]}})).collect();
    ok(&json!({"points": points, "next_page_offset": next}))
}

fn nearest(collection: &Collection, body: &Value, size: u64) -> Reply {
    let wanted: Vec<f64> = body["query"].as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
    if wanted.len() as u64 != size {
        let words = "Wrong input: Vector dimension error: expected dim:";
        return error(400, &format!("{words} {size}, got {}", wanted.len()));
    }
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let cosine =
        |vector: &[f64]| product(vector, &wanted) / product(vector, vector).sqrt() / product(&wanted, &wanted).sqrt();
    let mut found: Vec<(f64, &String, &Value)> = collection
        .points
        .iter()
        .filter(|(_, (_, payload))| admits(&collection.indexes, &body["filter"], payload))
        .map(|(id, (vector, payload))| (cosine(vector), id, payload))
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(usize::try_from(body["limit"].as_u64().expect("a number")).expect("small"));
    assert_eq!(body["with_payload"], true);
    let points: Vec<Value> = found
        .into_iter()
        .map(|(score, id, payload)| json!({"id": id, "version": 3, "score": score, "payload": payload}))
        .collect();
    ok(&json!({ "points": points }))
}
