//! The answer of `embed`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::meaning::update::EmbedOutcome;
use empirica_embed::Source;

/// The vectors of the records.
#[derive(Serialize, JsonSchema)]
pub struct EmbedView {
    /// The endpoint; null for a model in a folder.
    url: Option<String>,
    /// The model: its name, or its folder.
    model: String,
    /// How many vectors were computed now.
    embedded: usize,
    /// How many there are.
    total: usize,
    /// The length of a vector; 0 without any.
    dimension: usize,
}

pub fn answer(outcome: &EmbedOutcome) -> Answer {
    let EmbedOutcome { source, embedded, total, dimension, .. } = outcome;
    let (url, model) = match source {
        Source::Endpoint { url, model } => (Some(url.clone()), model.clone()),
        Source::Model(folder) => (None, folder.display().to_string()),
    };
    let text = format!("{} computed, {total} in all, of {dimension} numbers\n", format::count(*embedded, "vector"));
    Answer::new(EmbedView { url, model, embedded: *embedded, total: *total, dimension: *dimension }).text(text)
}

/// What leaves the machine, said before it does for the first time.
pub fn begins(source: &Source, records: usize) -> String {
    let records = format::count(records, "record");
    match source {
        Source::Endpoint { url, model } => format!(
            "Sending the texts of {records}, and from now on of new ones and of queries, to {} (model {}), without the secrets that are \
             found in them. The vectors stay in this clone.",
            safe::line(url),
            safe::line(model)
        ),
        Source::Model(folder) => {
            format!(
                "Reading {records} with the model in {}; nothing leaves this machine.",
                safe::line(&folder.display().to_string())
            )
        }
    }
}
