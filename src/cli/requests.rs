//! What the arguments ask for, as requests of the use cases.

use clap::ValueEnum;

use super::args;
use super::input::Input;
use crate::assess::submit::{AssessRequest, vector_error};
use crate::context::Selection;
use crate::fold::handoff_report::HandoffInput;
use crate::handoff::managed;
use crate::handoff::pack::Detail;
use crate::handoff::receive::accept;
use crate::history::log::reader;
use crate::history::metrics::fold::Period;
use crate::history::search::filter::FilterInput;
use crate::history::search::reports;
use crate::history::show::view::Format;
use crate::history::{log, search};
use crate::setup::init;
use crate::{handoff, hooks};
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::model::assessment::Trigger;
use empirica_notes::model::goal::Priority;
use empirica_notes::model::handoff::Calibration;
use empirica_notes::model::{Phase, Vectors, Verdict};
use empirica_transcripts::model::Agent;

impl From<args::Who> for Selection {
    fn from(who: args::Who) -> Self {
        Selection { ai: who.ai, session: who.session, ..Default::default() }
    }
}

impl From<args::Speaker> for Selection {
    fn from(speaker: args::Speaker) -> Self {
        Selection { allow_secret: speaker.allow_secret, ..speaker.who.into() }
    }
}

impl From<args::Filter> for Selection {
    fn from(filter: args::Filter) -> Self {
        Selection { ai: filter.ai, session: filter.session, ..Default::default() }
    }
}

/// What `init` is asked for.
pub fn init(given: args::Init) -> Result<init::InitRequest> {
    let named: Option<Vec<Agent>> = given.agents.iter().map(|name| Agent::parse(name)).collect();
    let agents = match (given.agents.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), named) {
        ([], _) => init::Agents::Asked,
        (["auto"], _) => init::Agents::Used,
        (["none"], _) if !given.all_tools => init::Agents::Named(Vec::new()),
        (_, Some(named)) => init::Agents::Named(named),
        _ => {
            return Err(Error::usage("auto and none stand alone, and none enters no tools")
                .suggest("Name the agents, or let those be entered that are used here.")
                .command(empirica("init").option("--agents", "auto")));
        }
    };
    Ok(init::InitRequest { agents, all_tools: given.all_tools, dry_run: given.changes.dry_run })
}

impl From<args::PhaseWord> for Phase {
    fn from(word: args::PhaseWord) -> Self {
        match word {
            args::PhaseWord::Preflight => Phase::Preflight,
            args::PhaseWord::Check => Phase::Check,
            args::PhaseWord::Act => Phase::Act,
            args::PhaseWord::Postflight => Phase::Postflight,
        }
    }
}

impl From<args::TriggerWord> for Trigger {
    fn from(word: args::TriggerWord) -> Self {
        match word {
            args::TriggerWord::Manual => Trigger::Manual,
            args::TriggerWord::PreCompact => Trigger::PreCompact,
            args::TriggerWord::PostCompact => Trigger::PostCompact,
        }
    }
}

impl From<args::PriorityWord> for Priority {
    fn from(word: args::PriorityWord) -> Self {
        match word {
            args::PriorityWord::High => Priority::High,
            args::PriorityWord::Medium => Priority::Medium,
            args::PriorityWord::Low => Priority::Low,
        }
    }
}

impl From<args::DetailWord> for Detail {
    fn from(word: args::DetailWord) -> Self {
        match word {
            args::DetailWord::Summary => Detail::Summary,
            args::DetailWord::Detailed => Detail::Detailed,
            args::DetailWord::Full => Detail::Full,
        }
    }
}

impl From<args::FormatWord> for Format {
    fn from(word: args::FormatWord) -> Self {
        match word {
            args::FormatWord::Markdown => Format::Markdown,
            args::FormatWord::Json => Format::Json,
            args::FormatWord::Compact => Format::Compact,
        }
    }
}

impl From<args::VerdictWord> for Verdict {
    fn from(word: args::VerdictWord) -> Self {
        match word {
            args::VerdictWord::Complete => Verdict::Complete,
            args::VerdictWord::Continue => Verdict::Continue,
            args::VerdictWord::Escalate => Verdict::Escalate,
            args::VerdictWord::Refine => Verdict::Refine,
        }
    }
}

impl From<args::PeriodWord> for Period {
    fn from(word: args::PeriodWord) -> Self {
        match word {
            args::PeriodWord::Day => Period::Day,
            args::PeriodWord::Week => Period::Week,
            args::PeriodWord::Month => Period::Month,
        }
    }
}

/// What the receiver of a handoff says, and who that is.
pub fn accept(given: args::Accept, input: &mut Input<'_>) -> Result<(accept::AcceptRequest, Selection)> {
    let request = accept::AcceptRequest {
        handoff: given.handoff,
        understanding: input.optional(given.understanding)?,
        decision: given.decision.map(Verdict::from),
        instructions: input.optional(given.instructions)?,
        questions: input.each(given.question)?,
        gaps: input.each(given.gap)?,
        resolution: input.optional(given.resolution)?,
    };
    Ok((request, given.who.into()))
}

/// The vectors of `-v` and `--vectors`; possibly none.
pub fn vectors(given: args::Vectors, input: &mut Input<'_>) -> Result<Vectors> {
    let mut out = Vectors::default();
    let (files, pairs): (Vec<String>, _) = given.vector.into_iter().partition(|v| v == "-" || v.starts_with('@'));
    let named = given.vectors.map(|file| if file == "-" { file } else { format!("@{file}") });
    for argument in named.into_iter().chain(files) {
        let text = input.text(argument)?;
        if text.trim_start().starts_with('{') {
            let map: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).map_err(|error| {
                Error::usage("the vectors are not valid JSON")
                    .suggest("Write them as {\"know\": 0.6, \"uncertainty\": 0.4}.")
                    .caused_by(error)
            })?;
            for (name, value) in map {
                out.add_pairs(&format!("{name}={value}")).map_err(|error| vector_error(&error))?;
            }
        } else {
            let pairs: Vec<&str> = text.split_whitespace().collect();
            out.add_pairs(&pairs.join(",")).map_err(|error| vector_error(&error))?;
        }
    }
    for pairs in pairs {
        out.add_pairs(&pairs).map_err(|error| vector_error(&error))?;
    }
    Ok(out)
}

/// What an assessment says; phase and what only some phases have are added by the caller.
pub fn about(about: args::About, input: &mut Input<'_>) -> Result<(AssessRequest, Selection)> {
    let request = AssessRequest {
        vectors: vectors(about.vectors, input)?,
        reasoning: input.optional(about.reasoning)?,
        cycle: about.cycle,
        scope: about.scope,
        tags: about.tag,
        meta: about.meta.into_iter().collect(),
        ..Default::default()
    };
    Ok((request, about.who.into()))
}

/// The budget of what is printed after a compaction; given for another checkpoint, which prints no such thing, it is an
/// error.
pub fn block_budget(given: Option<u32>, trigger: Trigger) -> Result<usize> {
    if given.is_some() && trigger != Trigger::PostCompact {
        return Err(Error::usage("--budget is for checkpoints after a compaction")
            .reason("only with --trigger post_compact is there anything to bound")
            .suggest("Leave it out, or add --trigger post_compact."));
    }
    Ok(given.map_or(crate::checkpoint::compaction::view::BUDGET, |budget| budget as usize))
}

/// What a handoff says.
pub fn said(said: args::Said, input: &mut Input<'_>) -> Result<HandoffInput> {
    Ok(HandoffInput {
        task: input.optional(said.task)?,
        accomplished: input.each(said.accomplished)?,
        findings: input.each(said.finding)?,
        unknowns: input.each(said.unknown)?,
        context: input.optional(said.context)?,
        next_steps: Some(input.each(said.next)?).filter(|steps| !steps.is_empty()),
        artifacts: said.artifact,
    })
}

/// What `handoff` hands over.
pub fn handoff(given: args::Handoff, input: &mut Input<'_>) -> Result<handoff::write::HandoffRequest> {
    let text = |value: String, input: &mut Input<'_>| match value.split_once('=') {
        Some((path, text)) => Ok(format!("{path}={}", input.text(text.to_owned())?)),
        None => Ok(value),
    };
    // a document says its type itself
    let has_document = given.from.is_some();
    let document = given.from.map(|file| match file.as_str() {
        "-" => input.text(file),
        name if name.starts_with('@') => input.text(format!("@./{name}")),
        name => input.text(format!("@{name}")),
    });
    // of a transcript, the context is what there is
    let kind = given.kind.or(given.transcript.as_ref().map(|_| args::HandoffType::Context));
    let is_context = matches!(kind, Some(args::HandoffType::Context));
    if !is_context && (given.detail.is_some() || given.budget.is_some()) && !has_document {
        return Err(Error::usage("--detail and --budget are for the type context")
            .reason("what another type says is stored and shown whole")
            .suggest("Leave them out, or hand over the context.")
            .command(empirica("handoff").option("--type", "context")));
    }
    let detail = given.detail.map_or(Detail::Full, Detail::from);
    let sign = given.said.sign;
    let managed = managed::ManagedInput {
        kind: kind.map(args::HandoffType::name),
        to: given.to,
        task_id: given.task_id,
        document: document.transpose()?,
        values: given.set.into_iter().map(|value| text(value, input)).collect::<Result<_>>()?,
        ..managed::ManagedInput::default()
    };
    Ok(handoff::write::HandoffRequest {
        said: said(given.said, input)?,
        managed,
        regenerate: given.regenerate,
        transcript: given.transcript,
        budget: Some(given.budget.map_or(detail.budget(), |budget| budget as usize)),
        incremental: given.incremental,
        sign,
        edit: given.edit,
        validate: given.validate,
        dry_run: given.dry_run,
    })
}

/// The hook of git's of that word; `None` for those of agents.
pub fn hook(word: args::HookWord) -> Option<hooks::GitHook> {
    Some(match word {
        args::HookWord::PostCommit => hooks::GitHook::PostCommit,
        args::HookWord::PostApplypatch => hooks::GitHook::PostApplypatch,
        args::HookWord::PostMerge => hooks::GitHook::PostMerge,
        args::HookWord::PostRewrite => hooks::GitHook::PostRewrite,
        args::HookWord::PrePush => hooks::GitHook::PrePush,
        args::HookWord::Agent => return None,
    })
}

impl From<args::SelfAssessmentWord> for Calibration {
    fn from(word: args::SelfAssessmentWord) -> Self {
        match word {
            args::SelfAssessmentWord::Consistent => Calibration::WellCalibrated,
            args::SelfAssessmentWord::Overconfident => Calibration::Overconfident,
            args::SelfAssessmentWord::Underconfident => Calibration::Underconfident,
            args::SelfAssessmentWord::NotAssessable => Calibration::NotAssessable,
        }
    }
}

/// Which commits a log shows, with which records.
pub fn log(given: args::Log) -> log::LogRequest {
    let any = given.handoffs || given.digests || given.checkpoints || given.journal;
    log::LogRequest {
        wanted: reader::RecordFilter {
            handoffs: given.handoffs || !any,
            digests: given.digests || !any,
            checkpoints: given.checkpoints,
            journal: given.journal,
            ai: given.ai,
            counts_records: any,
        },
        limit: given.limit,
        abbreviate: given.oneline,
        selection: given.selection,
    }
}

/// What `search` asks, of whom, and the form of handoffs. One form only: a text cannot be asked for with `--json`.
pub fn search(given: args::Search, as_json: bool) -> Result<(search::SearchRequest, Selection, reports::Format)> {
    let word = |form: args::ListFormat| form.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
    if let Some(form) = given.format.filter(|form| as_json && *form != args::ListFormat::Json) {
        return Err(Error::usage(format!("--json and --format {} are two forms", word(form)))
            .provided(word(form))
            .reason("with --json the answer is one document")
            .suggest("Leave one of them out."));
    }
    let format = match given.format {
        // the document of --format json is written as that of --json
        None | Some(args::ListFormat::Table | args::ListFormat::Json) => reports::Format::Table,
        Some(args::ListFormat::Markdown) => reports::Format::Markdown,
        Some(args::ListFormat::Jsonl) => reports::Format::Lines,
    };
    let request = search::SearchRequest {
        words: given.words,
        plan: given.plan,
        kinds: given.kind.into_iter().map(args::KindWord::key).collect(),
        filter: FilterInput {
            since: given.since,
            until: given.until,
            task: given.task,
            range: given.range,
            path: given.path,
            kind: given.handoff_type.and_then(|kind| Some(kind.to_possible_value()?.get_name().to_owned())),
            calibration: given.self_assessment.map(Calibration::from),
        },
        handoffs: given.handoffs || given.format.is_some(),
        like: given.like,
        limit: given.limit,
    };
    Ok((request, Selection { ai: given.ai, session: given.session, ..Default::default() }, format))
}
