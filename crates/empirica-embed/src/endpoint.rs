//! Endpoints with the embeddings API of OpenAI, as Ollama, llama.cpp, vLLM and hosted services have it.

use std::time::Instant;

use serde::Deserialize;
use serde_json::json;

use crate::error::EmbedError;
use crate::http::Server;

/// The most texts of a request: half of what hosted services take, so that it stays below their limits of tokens.
pub const BATCH: usize = 64;

/// An endpoint.
pub struct Endpoint {
    server: Server,
    model: String,
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
    /// As [`Server::new`].
    pub fn new(url: &str, model: &str, key: Option<String>) -> Result<Self, EmbedError> {
        let server = Server::new(url, key.map(|key| ("authorization", format!("Bearer {key}"))))?;
        Ok(Endpoint { server, model: model.to_owned() })
    }

    /// Asks for the vectors of texts, in their order.
    pub fn embed(&self, texts: &[&str], until: Instant) -> Result<Vec<Vec<f32>>, EmbedError> {
        let asked = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        let answer: Answer = self.server.json("POST", "/embeddings", Some(&asked), until)?;
        let mut out: Vec<Vec<f32>> = vec![Vec::new(); texts.len()];
        for (at, Embedded { index, embedding }) in answer.data.into_iter().enumerate() {
            if let Some(place) = out.get_mut(index.unwrap_or(at)) {
                *place = embedding;
            }
        }
        Ok(out)
    }
}
