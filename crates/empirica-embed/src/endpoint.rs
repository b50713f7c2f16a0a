//! Endpoints with the embeddings API of OpenAI, as Ollama, llama.cpp, vLLM and hosted services have it.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Uri;

use crate::error::EmbedError;

/// The most texts of a request: half of what hosted services take, so that it stays below their limits of tokens.
pub const BATCH: usize = 64;
/// The most bytes of an answer: 64 vectors of 4,096 numbers of 20 digits, and as much again.
const ANSWER: u64 = 16 << 20;
/// The most characters of an error's own words.
const WORDS: usize = 200;

/// An endpoint.
pub struct Endpoint {
    url: String,
    model: String,
    key: Option<String>,
    agent: Agent,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedded>,
}

#[derive(Deserialize)]
struct Embedded {
    /// The place of its text; in order without it.
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Endpoint {
    /// For a URL of http or https with a host. Credentials in the URL are refused, as they would be told with it.
    pub fn new(url: &str, model: &str, key: Option<String>) -> Result<Self, EmbedError> {
        let parsed: Uri = url.parse().map_err(|_| EmbedError::Url(format!("{url} is none")))?;
        let authority = parsed.authority().map(ToString::to_string).unwrap_or_default();
        match parsed.scheme_str() {
            Some("http" | "https") if authority.contains('@') => {
                return Err(EmbedError::Url("it has credentials; keep them in git's credential helper".to_owned()));
            }
            Some("http" | "https") if !authority.is_empty() => {}
            _ => return Err(EmbedError::Url(format!("{url} begins with neither http:// nor https://"))),
        }
        // a redirection would take the texts and the key elsewhere
        let agent = Agent::config_builder().max_redirects(0).http_status_as_error(false).build().into();
        Ok(Endpoint { url: url.trim_end_matches('/').to_owned(), model: model.to_owned(), key, agent })
    }

    /// Asks for the vectors of texts, in their order.
    pub fn embed(&self, texts: &[&str], until: Instant) -> Result<Vec<Vec<f32>>, EmbedError> {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let mut request =
            self.agent.post(format!("{}/embeddings", self.url)).config().timeout_global(Some(left)).build();
        request = request.header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let asked = json!({"model": self.model, "input": texts, "encoding_format": "float"}).to_string();
        let mut response = request.send(asked).map_err(unreachable)?;
        let status = response.status().as_u16();
        let after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        let body = response.body_mut().with_config().limit(ANSWER).read_to_vec().map_err(unreachable)?;
        match status {
            200 => read(&body, texts.len()),
            408 | 429 | 502 | 503 | 504 => Err(EmbedError::Busy(status, after.map(Duration::from_secs))),
            _ => Err(EmbedError::Refused(status, words(&body))),
        }
    }
}

fn unreachable(error: ureq::Error) -> EmbedError {
    match error {
        ureq::Error::Timeout(_) => EmbedError::Unreachable("it took too long".to_owned()),
        ureq::Error::BodyExceedsLimit(most) => EmbedError::Answer(format!("it has more than {} MB", most >> 20)),
        error => EmbedError::Unreachable(error.to_string()),
    }
}

fn read(body: &[u8], count: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
    let answer: Answer = serde_json::from_slice(body).map_err(|error| EmbedError::Answer(error.to_string()))?;
    let mut out: Vec<Vec<f32>> = vec![Vec::new(); count];
    for (at, Embedded { index, embedding }) in answer.data.into_iter().enumerate() {
        if let Some(place) = out.get_mut(index.unwrap_or(at)) {
            *place = embedding;
        }
    }
    Ok(out)
}

/// What the body of an error says, on one line.
fn words(body: &[u8]) -> String {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = json.pointer("/error/message").or(json.get("error")).or(json.get("message")).and_then(Value::as_str);
    let said = said.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    said.chars().take(WORDS).collect()
}
