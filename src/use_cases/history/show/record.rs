//! Answers about single records: assessments, checkpoints and others.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::fold::assessment::confidence::overall;
use crate::render::answer::{Answer, EnvelopeView};
use crate::render::{format, safe};
use crate::use_cases::checkpoint;
use crate::use_cases::checkpoint::view::StoredCheckpointView;
use crate::use_cases::history::record_line;
use empirica_notes::format::record::body_to_map;
use empirica_notes::model::{Assessment, Body, Id, Phase, Record};

/// A record. Checkpoints and assessments have `checkpoint_id` and overall confidence.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
pub enum PointView<'a> {
    /// A checkpoint.
    Checkpoint(Box<StoredCheckpointView<'a>>),
    /// An assessment.
    Assessment(StoredAssessmentView<'a>),
    /// Any other record.
    Other(StoredRecordView<'a>),
}

/// An assessment.
#[derive(Serialize, JsonSchema)]
pub struct StoredAssessmentView<'a> {
    /// The assessment.
    checkpoint_id: &'a Id,
    /// Its kind.
    kind: &'a str,
    #[serde(flatten)]
    envelope: EnvelopeView<'a>,
    #[serde(flatten)]
    assessment: &'a Assessment,
    /// Null if it assessed only uncertainty.
    overall_confidence: Option<f64>,
}

/// A record, with the keys of its kind.
#[derive(Serialize, JsonSchema)]
pub struct StoredRecordView<'a> {
    /// The record.
    id: &'a Id,
    /// Its kind.
    kind: &'a str,
    #[serde(flatten)]
    envelope: EnvelopeView<'a>,
    #[serde(flatten)]
    keys: Map<String, Value>,
}

impl<'a> From<&'a Record> for PointView<'a> {
    fn from(Record { envelope, body }: &'a Record) -> Self {
        let (kind, view) = (body.kind(), EnvelopeView::from(envelope));
        match body {
            Body::Checkpoint(checkpoint) => {
                PointView::Checkpoint(Box::new(StoredCheckpointView::brief(envelope, checkpoint)))
            }
            Body::Assessment(assessment) => PointView::Assessment(StoredAssessmentView {
                checkpoint_id: &envelope.id,
                kind,
                envelope: view,
                assessment,
                overall_confidence: overall(&assessment.vectors),
            }),
            _ => PointView::Other(StoredRecordView { id: &envelope.id, kind, envelope: view, keys: body_to_map(body) }),
        }
    }
}

/// Stored checkpoints and assessments.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CheckpointListView")]
pub struct PointsView<'a> {
    /// Newest first; checkpoints without `git_state` and snapshot.
    checkpoints: Vec<PointView<'a>>,
    /// Number of checkpoints.
    total_found: usize,
}

/// Short name of a checkpoint or assessment.
pub fn point_name(record: &Record) -> String {
    match &record.body {
        Body::Assessment(a) => format!("{} {}", a.phase.name(), a.round),
        Body::Checkpoint(c) => format!("checkpoint {} {}", c.phase.map_or("–", Phase::name), c.round),
        other => other.kind().to_owned(),
    }
}

/// A record other than checkpoints.
fn any(record: &Record, warnings: Vec<String>) -> Answer {
    let envelope = &record.envelope;
    let mut text = format!(
        "{} {}\nId:      {}\nAgent:   {}\nSession: {}\nDate:    {}\nCommit:  {}\n",
        record.body.kind().replace('_', " "),
        envelope.id.short(),
        envelope.id,
        safe::line(&envelope.ai),
        envelope.session.as_ref().map_or("–", |id| id.as_str()),
        format::date(&envelope.at),
        envelope.commit.as_deref().map_or("none yet".into(), safe::line),
    );
    // the state shows the anchors
    for (key, value) in body_to_map(&record.body).into_iter().filter(|(key, _)| key != "anchors") {
        let shown = match &value {
            Value::String(text) => safe::indented(text, 4),
            Value::Object(map) if map.values().all(Value::is_number) => {
                let pairs: Vec<String> = map.iter().map(|(name, value)| format!("{name} {value}")).collect();
                safe::indented(&pairs.join(", "), 4)
            }
            Value::Null => "–".to_owned(),
            other => safe::indented(&other.to_string(), 4),
        };
        text.push_str(&format!("{key}: {shown}\n"));
    }
    Answer::new(PointView::from(record)).text(text).warn(warnings).paged()
}

/// The answer of `checkpoint list`.
pub fn points(records: &[Record], warnings: Vec<String>) -> Answer {
    let line = |record: &Record| {
        format!(
            "{} {} {:<22} {:<12} {}\n",
            record.envelope.id.short(),
            format::date(&record.envelope.at),
            point_name(record),
            safe::line(&record.envelope.ai),
            record_line::text(record)
        )
    };
    let checkpoints = records.iter().map(PointView::from).collect();
    let answer = Answer::new(PointsView { checkpoints, total_found: records.len() })
        .text(records.iter().map(line).collect::<String>())
        .warn(warnings)
        .paged();
    if records.is_empty() { answer.say("No checkpoint is stored here.") } else { answer }
}

/// The answer of `checkpoint show`, and of `show` for records other than handoffs.
pub fn shown(record: &Record, warnings: Vec<String>) -> Answer {
    match &record.body {
        Body::Checkpoint(checkpoint) => Answer::new(StoredCheckpointView::whole(&record.envelope, checkpoint))
            .text(checkpoint::view::text(&record.envelope, checkpoint))
            .warn(warnings)
            .paged(),
        _ => any(record, warnings),
    }
}
