//! The JSON documents of the commands: each with its schema, from which the reference is generated.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::assess::calibration;
use crate::checkpoint::diff;
use crate::claim::goal;
use crate::collect;
use crate::handoff::{arrival, managed, receive};
use crate::history::show::{record, trust};
use crate::history::{log, metrics, show};
use crate::import::python;
use crate::render::answer::{FailureView, StoredView};
use crate::search;
use crate::session::{bootstrap, compaction, resume, status};
use crate::setup::{agents, doctor};
use crate::sync::{redact, repair};
use crate::{assess, checkpoint, claim, handoff, report, session, setup, task};

/// The schema of a type.
pub type Part = fn(&mut SchemaGenerator) -> Schema;

/// A document that a command answers with when it succeeds.
pub struct Document {
    /// The commands that answer with it; a command can have several documents.
    pub commands: &'static [&'static str],
    /// When it is this one; empty for the only document of its commands.
    pub when: &'static str,
    /// The view whose keys it has, then those that add keys to it.
    pub parts: &'static [Part],
}

macro_rules! documents {
    ($($commands:expr, $when:literal: $($view:ty),+;)*) => {
        &[$(Document { commands: &$commands, when: $when, parts: &[$(SchemaGenerator::root_schema_for::<$view>),+] }),*]
    };
}

/// All documents, in the order of the reference.
pub const DOCUMENTS: &[Document] = documents! {
    ["session start"], "": crate::session::lifecycle::StartOutcome, StoredView;
    ["session end"], "": session::view::EndedView, StoredView;
    ["session list"], "": session::view::ListView;
    ["session show"], "": session::view::ShownView, trust::CommittersView;
    ["status"], "": status::view::StatusView;
    ["status --all"], "": bootstrap::view::ProjectView, bootstrap::view::ProjectListsView, CountedView;
    ["preflight", "check"], "": assess::view::AssessedView, StoredView;
    ["postflight"], "": assess::view::AssessedView, assess::view::HandedOverView, StoredView;
    ["check --drift"], "": assess::view::DriftedView;
    ["finding", "unknown", "resolve", "deadend", "mistake", "decision", "source", "evidence", "activity"], "": crate::claim::add::AddedClaim, StoredView;
    ["undo"], "": claim::view::UndoneView, StoredView;
    ["goal add", "goal sub", "goal done", "goal drop", "goal take"], "": goal::view::ChangedView, StoredView;
    ["goal list"], "": goal::view::ListView;
    ["goal show"], "": goal::view::ShownView;
    ["collect"], "": collect::view::CollectedView, StoredView;
    ["checkpoint"], "": checkpoint::view::StoredCheckpointView, StoredView, CountedView;
    ["checkpoint"], "with `--trigger post_compact`": checkpoint::view::StoredCheckpointView, StoredView, CountedView, compaction::view::CompactionView;
    ["checkpoint list"], "": record::PointsView;
    ["checkpoint show"], "of a checkpoint": checkpoint::view::StoredCheckpointView;
    ["checkpoint show"], "of an assessment": record::StoredAssessmentView;
    ["handoff"], "": handoff::view::WrittenView, StoredView;
    ["handoff"], "with `--example`": managed::view::ExampleView;
    ["handoff sign"], "": crate::handoff::sign::SignOutcome, StoredView;
    ["handoff list"], "": handoff::view::ListView;
    ["show"], "of a handoff": handoff::view::HandoffView, arrival::view::ArrivalView, receive::view::ReceivedView, trust::CommittedView, trust::VerifiedView;
    ["show"], "of a handoff, with `--format compact`": handoff::view::CompactView;
    ["show"], "of a session": session::view::ShownView, trust::CommittersView;
    ["show"], "of a checkpoint": checkpoint::view::StoredCheckpointView, trust::CommittedView, show::view::RetractedView;
    ["show"], "of an assessment": record::StoredAssessmentView, trust::CommittedView, show::view::RetractedView;
    ["show"], "of another record": record::StoredRecordView, trust::CommittedView, show::view::RetractedView;
    ["show"], "of a commit": show::view::CommitView;
    ["accept"], "": receive::view::AcceptedView, StoredView;
    ["answer"], "": receive::view::AnsweredView, StoredView;
    ["resume"], "": resume::view::ResumeView;
    ["log"], "": log::view::LogView;
    ["diff"], "": diff::view::DiffView;
    ["search", "search --handoffs"], "for records": search::view::HitsView;
    ["search", "search --handoffs"], "for handoffs": search::reports::ReportsView;
    ["search --like"], "": search::view::AlikesView;
    ["calibration"], "": calibration::view::CalibrationView;
    ["metrics"], "": metrics::view::MetricsView;
    ["metrics"], "with a handoff": metrics::view::HandedOverView;
    ["report"], "": report::view::ReportView;
    ["init"], "": setup::view::InitView;
    ["deinit"], "": setup::view::DeinitView;
    ["instructions"], "": agents::view::ShownView;
    ["instructions"], "with `--write`": agents::view::WrittenView;
    ["setup"], "": setup::view::SetUpView;
    ["demo"], "": crate::setup::demo::DemoOutcome;
    ["flush"], "": crate::sync::view::FlushedView;
    ["doctor"], "": doctor::view::DoctorView;
    ["doctor --repairs"], "": repair::view::RepairsView, StoredView;
    ["redact"], "": redact::view::RedactView;
    ["redact"], "with `--secrets`": crate::sync::redact::ScrubOutcome;
    ["sync"], "": crate::sync::run::SyncOutcome;
    ["export"], "with `--markdown`": crate::import::markdown::MarkdownOutcome;
    ["import"], "from the Python tool": python::view::ImportedView, StoredView;
    ["import"], "with `--jsonl`": crate::import::lines::ImportOutcome, StoredView;
    ["task list"], "": task::view::ListView;
    ["task show"], "": task::view::ShownView;
};

/// The keys that any document of a success has, or can have.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct SuccessView {
    /// Always true.
    ok: bool,
    /// What the user should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// The warnings in one text, joined by `; `.
    #[serde(skip_serializing_if = "String::is_empty")]
    warning: String,
}

/// The size of the document.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct CountedView {
    /// The tokens that this document takes, estimated.
    token_count: usize,
}

/// The schema of a type, of which no object has other keys than those it names.
fn schema_of(schema: Part) -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = schema(&mut generator);
    let mut close = RecursiveTransform(|schema: &mut Schema| {
        if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
            schema.insert("additionalProperties".to_owned(), json!(false));
        }
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace("`None`", "null");
        }
        // widths of numbers, which JSON does not have
        schema.remove("format");
        schema.remove("minimum");
    });
    close.transform(&mut schema);
    schema.to_value()
}

/// The schemas of the keys of any success, of any command that stores, and of any failure.
pub fn common() -> (Value, Value, Value) {
    (
        schema_of(SchemaGenerator::root_schema_for::<SuccessView>),
        schema_of(SchemaGenerator::root_schema_for::<StoredView>),
        schema_of(SchemaGenerator::root_schema_for::<FailureView>),
    )
}

impl Document {
    /// The schema of the whole document.
    pub fn schema(&self) -> Value {
        let parts = self.parts.iter().map(|part| schema_of(*part));
        let mut parts = parts.chain(std::iter::once(common().0));
        let mut out = parts.next().unwrap_or_default();
        for part in parts {
            for key in ["properties", "$defs"] {
                let more = part[key].as_object().cloned().unwrap_or_default();
                if let Some(own) = out[key].as_object_mut() {
                    own.extend(more);
                } else if !more.is_empty() {
                    out[key] = more.into();
                }
            }
            let required = [&out, &part].into_iter().flat_map(|schema| schema["required"].as_array().cloned());
            out["required"] = required.flatten().collect();
        }
        out
    }
}
