//! The answer of `embed`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::meaning::update::{Announcement, EmbedOutcome};
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
    /// How many were sent to Qdrant now; null without `empirica.qdrant.url`.
    sent: Option<usize>,
}

pub fn answer(outcome: &EmbedOutcome) -> Answer {
    let EmbedOutcome { source, embedded, total, dimension, sent } = outcome;
    let (url, model) = match source {
        Source::Endpoint { url, model } => (Some(url.clone()), model.clone()),
        Source::Model(folder) => (None, folder.display().to_string()),
    };
    let to_team = sent.map(|sent| format!(", {sent} sent to Qdrant")).unwrap_or_default();
    let computed = format::count(*embedded, "vector");
    let text = format!("{computed} computed, {total} in all, of {dimension} numbers{to_team}\n");
    let view = EmbedView { url, model, embedded: *embedded, total: *total, dimension: *dimension, sent: *sent };
    Answer::new(view).text(text)
}

/// The announcement of a first transfer.
pub fn announce(announcement: &Announcement<'_>) -> String {
    let without = "without the secrets that are found in them";
    match announcement {
        Announcement::Vectors(Source::Endpoint { url, model }, records) => format!(
            "Sending the texts of {}, and from now on of new ones and of queries, to {} (model {}), {without}.",
            format::count(*records, "record"),
            safe::line(url),
            safe::line(model)
        ),
        Announcement::Vectors(Source::Model(folder), records) => format!(
            "Reading {} with the model in {}; nothing leaves this machine.",
            format::count(*records, "record"),
            safe::line(&folder.display().to_string())
        ),
        Announcement::Team(url, repository, records) => format!(
            "Sending the texts and vectors of {}, and from now on of new ones, to Qdrant at {} as those of {}, {without}.",
            format::count(*records, "record"),
            safe::line(url),
            safe::line(repository)
        ),
    }
}
