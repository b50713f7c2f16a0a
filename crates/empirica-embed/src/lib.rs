//! Vectors of texts, for search by meaning: computed by an endpoint or a model file, quantized, kept in a file, searched exactly.

pub mod endpoint;
pub mod error;
pub mod file;
pub mod http;
pub mod model;
pub mod qdrant;
pub mod quantized;

use std::path::PathBuf;
use std::time::Instant;

use sha2::{Digest, Sha256};

use crate::endpoint::Endpoint;
use crate::error::EmbedError;
use crate::model::Model;

/// Where vectors come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An endpoint with the API of OpenAI: texts go there.
    Endpoint {
        /// Up to the last part of the path, `/embeddings`.
        url: String,
        /// The name of its model.
        model: String,
    },
    /// The folder of a static model in the format of model2vec: texts stay here.
    Model(PathBuf),
}

impl Source {
    /// A name for the vectors of this source: 16 hex digits, which begin with its [`place`](Self::place). That of a model changes with
    /// its files.
    pub fn name(&self) -> String {
        let mut detail = String::new();
        match self {
            Source::Endpoint { model, .. } => detail.push_str(model),
            Source::Model(folder) => {
                for file in model::FILES.iter().filter_map(|name| folder.join(name).metadata().ok()) {
                    let changed = file.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
                    let changed = changed.map_or(0, |since| since.as_nanos());
                    detail.push_str(&format!("{}\0{changed}\0", file.len()));
                }
            }
        }
        self.place() + &hex(&detail)
    }

    /// A name for where texts go: 8 hex digits.
    pub fn place(&self) -> String {
        match self {
            Source::Endpoint { url, .. } => hex(&format!("endpoint\0{}", url.trim_end_matches('/'))),
            Source::Model(folder) => hex(&format!("model\0{}", folder.display())),
        }
    }
}

fn hex(text: &str) -> String {
    Sha256::digest(text).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// A source that is ready.
pub enum Provider {
    /// An endpoint.
    Endpoint(Endpoint),
    /// A model that was loaded.
    Model(Box<Model>),
}

impl Provider {
    /// Loads a model, or prepares an endpoint, with the key that `key` gives if it is asked for; nothing is sent yet.
    pub fn open(source: &Source, key: impl FnOnce(&str) -> Option<String>) -> Result<Self, EmbedError> {
        Ok(match source {
            Source::Endpoint { url, model } => Provider::Endpoint(Endpoint::new(url, model, key(url))?),
            Source::Model(folder) => Provider::Model(Box::new(Model::load(folder)?)),
        })
    }

    /// The vectors of texts, in their order, all of one length; within `until`, which a model does not need. None for no text.
    pub fn embed(&self, texts: &[&str], until: Instant) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let vectors = match self {
            Provider::Endpoint(endpoint) => endpoint.embed(texts, until)?,
            Provider::Model(model) => model.embed(texts),
        };
        let length = vectors.first().map_or(0, Vec::len);
        let is_whole = |vector: &Vec<f32>| vector.len() == length && vector.iter().all(|number| number.is_finite());
        match vectors.len() == texts.len() && length > 0 && vectors.iter().all(is_whole) {
            true => Ok(vectors),
            false => Err(EmbedError::Answer("it gave other vectors than were asked for".to_owned())),
        }
    }

    /// The most texts of one call.
    pub fn batch(&self) -> usize {
        match self {
            Provider::Endpoint(_) => endpoint::BATCH,
            Provider::Model(_) => 1024,
        }
    }
}
