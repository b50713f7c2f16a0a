//! A collection of a Qdrant server, by its REST API (1.10 and newer).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::EmbedError;
use crate::http::Server;

/// The collection; one for all repositories.
const COLLECTION: &str = "/collections/empirica";
/// The fields by which points are filtered.
const FILTERED: [&str; 6] = ["repository", "model", "agent", "kind", "state", "id"];
/// The most points that are read at once.
pub const BATCH: usize = 1000;
/// The most points that are written at once: a request is limited to 32 MB, and a point of 4,096 numbers with its text has 60 KB.
const WRITTEN: usize = 200;
/// How long a request may take, except for a search.
const TIME: Duration = Duration::from_secs(60);

/// A server.
pub struct Qdrant(Server);

/// A vector with its payload.
#[derive(Debug, Clone)]
pub struct Point {
    /// A UUID.
    pub id: String,
    /// The vector.
    pub vector: Vec<f32>,
    /// An object.
    pub payload: Value,
}

/// The conditions on points: each field must have one of its values. A field without values admits all.
pub fn filter<'f>(fields: impl IntoIterator<Item = (&'f str, Vec<&'f str>)>) -> Value {
    let fields = fields.into_iter().filter(|(_, values)| !values.is_empty());
    let must: Vec<Value> = fields.map(|(key, any)| json!({"key": key, "match": {"any": any}})).collect();
    json!({ "must": must })
}

impl Qdrant {
    /// As [`Server::new`].
    pub fn new(url: &str, key: Option<String>) -> Result<Self, EmbedError> {
        Server::new(url, key.map(|key| ("api-key", key))).map(Qdrant)
    }

    /// The result of a request below the collection.
    fn result(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
        until: Instant,
    ) -> Result<Value, EmbedError> {
        let answer: Value = self.0.json(method, &format!("{COLLECTION}{path}"), body, until)?;
        answer.get("result").cloned().ok_or_else(|| EmbedError::Answer("it has no result".to_owned()))
    }

    fn change(&self, method: &'static str, path: &str, body: &Value) -> Result<(), EmbedError> {
        self.result(method, &format!("{path}?wait=true"), Some(body), Instant::now() + TIME).map(|_| ())
    }

    /// Creates the collection for vectors of this length, and its indexes, if they are missing. Refuses one of another length.
    pub fn create(&self, length: usize) -> Result<(), EmbedError> {
        let until = Instant::now() + TIME;
        let found = match self.result("GET", "", None, until) {
            Err(EmbedError::Refused(404, _)) => {
                let quantized = json!({"scalar": {"type": "int8", "always_ram": true}});
                let made = json!({"vectors": {"size": length, "distance": "Cosine"}, "quantization_config": quantized});
                match self.result("PUT", "", Some(&made), until) {
                    // another process may create it meanwhile
                    Ok(_) | Err(EmbedError::Refused(409, _)) => self.result("GET", "", None, until)?,
                    Err(error) => return Err(error),
                }
            }
            found => found?,
        };
        match found.pointer("/config/params/vectors/size").and_then(Value::as_u64) {
            Some(size) if size == length as u64 => {}
            Some(size) => return Err(EmbedError::Length(usize::try_from(size).unwrap_or(usize::MAX), length)),
            None => return Err(EmbedError::Answer("the collection has vectors of another kind".to_owned())),
        }
        let is_missing = |field: &&&str| found.pointer(&format!("/payload_schema/{field}")).is_none();
        FILTERED.iter().filter(is_missing).try_for_each(|field| {
            self.change("PUT", "/index", &json!({"field_name": field, "field_schema": "keyword"}))
        })
    }

    /// The points that a filter admits, each with its state. Empty without a collection.
    pub fn states(&self, filter: &Value) -> Result<HashMap<String, String>, EmbedError> {
        let mut out = HashMap::new();
        let mut offset = Value::Null;
        loop {
            let asked = json!({"filter": filter, "limit": BATCH, "offset": offset, "with_payload": ["state"]});
            let page = match self.result("POST", "/points/scroll", Some(&asked), Instant::now() + TIME) {
                Err(EmbedError::Refused(404, _)) => return Ok(out),
                page => page?,
            };
            let before = out.len();
            for point in page["points"].as_array().into_iter().flatten() {
                if let Some(id) = point["id"].as_str() {
                    let state = point["payload"]["state"].as_str().unwrap_or_default();
                    out.insert(id.to_owned(), state.to_owned());
                }
            }
            offset = page["next_page_offset"].clone();
            // a page without new points ends it, too
            if offset.is_null() || out.len() == before {
                return Ok(out);
            }
        }
    }

    /// Adds points, or replaces those of the same ids.
    pub fn put(&self, points: &[Point]) -> Result<(), EmbedError> {
        let point = |Point { id, vector, payload }: &Point| json!({"id": id, "vector": vector, "payload": payload});
        points.chunks(WRITTEN).try_for_each(|points| {
            let points: Vec<Value> = points.iter().map(point).collect();
            self.change("PUT", "/points", &json!({ "points": points }))
        })
    }

    /// Changes the state of points.
    pub fn set_state(&self, ids: &[String], state: &str) -> Result<(), EmbedError> {
        let change = |points: &[String]| {
            self.change("POST", "/points/payload", &json!({"points": points, "payload": {"state": state}}))
        };
        ids.chunks(BATCH).try_for_each(change)
    }

    /// Removes the points that a filter admits. Does nothing without a collection.
    pub fn delete(&self, filter: &Value) -> Result<(), EmbedError> {
        match self.change("POST", "/points/delete", &json!({ "filter": filter })) {
            Err(EmbedError::Refused(404, _)) => Ok(()),
            done => done,
        }
    }

    /// The points nearest to a vector with their cosine, the nearest first, of those that a filter admits.
    pub fn nearest(
        &self,
        vector: &[f32],
        filter: &Value,
        most: usize,
        until: Instant,
    ) -> Result<Vec<(f64, Value)>, EmbedError> {
        let asked = json!({"query": vector, "filter": filter, "limit": most, "with_payload": true});
        let found = self.result("POST", "/points/query", Some(&asked), until)?;
        let points = found["points"].as_array().into_iter().flatten();
        Ok(points.map(|point| (point["score"].as_f64().unwrap_or(0.0), point["payload"].clone())).collect())
    }
}
