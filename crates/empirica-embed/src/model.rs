//! Static models in the format of model2vec: a folder with `tokenizer.json`, `model.safetensors` and `config.json`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use model2vec_rs::model::StaticModel;
use serde::Deserialize;
use serde_json::Value;

use crate::error::EmbedError;

/// The most tokens of a text that count.
const TOKENS: usize = 512;
/// The files of a folder; the first two are the places of the weights.
pub const FILES: [&str; 4] =
    ["model.safetensors", "0_StaticEmbedding/model.safetensors", "tokenizer.json", "config.json"];

/// The most bytes of the header of weights.
const HEADER: u64 = 1 << 20;

/// A loaded model.
pub struct Model(StaticModel);

impl Model {
    /// Reads the folder.
    pub fn load(folder: &Path) -> Result<Self, EmbedError> {
        let failed = |cause: String| EmbedError::Model(folder.to_owned(), cause);
        if !FILES[..2].iter().any(|name| folder.join(name).is_file()) {
            return Err(failed("it has no model.safetensors".to_owned()));
        }
        check(folder).map_err(|cause| failed(cause.to_string()))?;
        StaticModel::from_pretrained(folder, None, Some(true), None)
            .map(Model)
            .map_err(|error| failed(error.to_string()))
    }

    /// The vectors of texts, each of length 1; all zeros for a text without a known word.
    pub fn embed(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        self.0.encode_with_args(&texts, Some(TOKENS), 1024)
    }
}

/// The words of a tokenizer, as far as their numbers matter.
#[derive(Deserialize)]
struct Tokenizer {
    model: Vocabulary,
    #[serde(default)]
    added_tokens: Vec<Added>,
}

#[derive(Deserialize)]
struct Vocabulary {
    vocab: Words,
}

/// By their names, or in order.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    Named(HashMap<String, usize>),
    Ordered(Vec<(String, f64)>),
}

#[derive(Deserialize)]
struct Added {
    id: usize,
}

#[derive(Deserialize)]
struct Tensor {
    shape: Vec<usize>,
}

/// Whether the weights have a row for each word: the reader trusts that they do. Without files, or with a mapping of words to rows, it is
/// left to the reader.
fn check(folder: &Path) -> io::Result<()> {
    let weights = FILES[..2].iter().find_map(|name| File::open(folder.join(name)).ok());
    let (Some(mut weights), Ok(tokenizer)) = (weights, File::open(folder.join("tokenizer.json"))) else {
        return Ok(());
    };
    let tokenizer: Tokenizer = serde_json::from_reader(BufReader::new(tokenizer))?;
    let mut length = [0; 8];
    weights.read_exact(&mut length)?;
    let mut header = Vec::new();
    weights.take(u64::from_le_bytes(length).min(HEADER)).read_to_end(&mut header)?;
    let tensors: HashMap<String, Value> = serde_json::from_slice(&header)?;
    let named = |names: &[&str]| names.iter().find_map(|name| tensors.get(*name));
    if named(&["mapping"]).is_some() {
        return Ok(());
    }
    let Some(tensor) = named(&["embeddings", "0", "embedding.weight"]) else { return Ok(()) };
    let rows = serde_json::from_value::<Tensor>(tensor.clone())?.shape.first().copied().unwrap_or(0);
    let words = match tokenizer.model.vocab {
        Words::Named(words) => words.into_values().max().map_or(0, |id| id + 1),
        Words::Ordered(words) => words.len(),
    };
    let words = tokenizer.added_tokens.iter().map(|added| added.id + 1).fold(words, usize::max);
    if rows < words {
        return Err(io::Error::other(format!("it has {rows} vectors for {words} words")));
    }
    Ok(())
}
