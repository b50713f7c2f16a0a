//! Static models in the format of model2vec: a folder with `tokenizer.json`, `model.safetensors` and `config.json`.

use std::fs::File;
use std::path::Path;

use model2vec_rs::model::StaticModel;

use crate::error::EmbedError;

/// The most tokens of a text that count.
const TOKENS: usize = 512;
/// The places of the weights in a folder.
const WEIGHTS: [&str; 2] = ["model.safetensors", "0_StaticEmbedding/model.safetensors"];

/// A loaded model.
pub struct Model(StaticModel);

impl Model {
    /// Reads the folder.
    pub fn load(folder: &Path) -> Result<Self, EmbedError> {
        let failed = |cause: String| EmbedError::Model(folder.to_owned(), cause);
        if weights(folder).is_none() {
            return Err(failed("it has no model.safetensors".to_owned()));
        }
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

/// The file of the weights of a folder; `None` without one.
pub fn weights(folder: &Path) -> Option<File> {
    WEIGHTS.iter().find_map(|name| File::open(folder.join(name)).ok())
}
