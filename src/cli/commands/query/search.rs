//! `search`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::cli::commands::prelude::*;
use crate::text::query::{KINDS, kind, name};
use crate::use_cases::search::filter::FilterInput;
use crate::use_cases::search::reports::Format;
use crate::use_cases::search::{self, Method, view};
use empirica_notes::model::handoff::Calibration;

/// The parser of kinds.
fn kinds() -> impl TypedValueParser<Value = &'static str> {
    let words = KINDS.map(|kind| PossibleValue::new(name(kind)).aliases([kind.to_owned(), kind.replace('_', "-")]));
    PossibleValuesParser::new(words).try_map(|word| kind(&word).ok_or("it is not a kind"))
}

/// Find records by words, best first, or by agent, time, path, kind, likeness
///
/// Finds records with any of the words in any form, ignoring case and accents; those with more and rarer ones come first.
/// Quotes within the query make a phrase that must occur: search '"flaky login"'. tok* matches the beginning of a word, -word
/// excludes a word (write it after -- if it is the first). Fields: kind:deadend (or finding, unknown, decision, mistake,
/// handoff), ai:NAME, session:ALIAS; a repeated field matches either value. Superseded handoffs are not searched.
///
/// Without words, lists the newest records that match all filters; with --task, --range, --path, --type or
/// --self-assessment, which only handoffs have, lists handoffs in a table. DATE is an ISO date or any date that git accepts
/// ("7 days ago", yesterday); an ISO day without a time is the whole day, in your time zone.
#[derive(Debug, Args)]
pub struct Search {
    /// Words, "phrases", beginnings*, -exclusions and fields
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,
    /// Only this kind; can be given several times
    #[arg(long, value_name = "KIND")]
    #[arg(value_parser = kinds())]
    pub kind: Vec<&'static str>,
    /// Only records of this agent
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// Only records of this session, as --session names it elsewhere
    #[arg(long, alias = "session-id", value_name = "ALIAS")]
    pub session: Option<String>,
    /// Only records since then: 2026-01-31, "7 days ago", yesterday
    #[arg(long, value_name = "DATE", alias = "after")]
    pub since: Option<String>,
    /// Only records until then
    #[arg(long, value_name = "DATE", alias = "before")]
    pub until: Option<String>,
    /// Only handoffs with this created or changed file, or with one below this folder
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub path: Option<String>,
    /// Only handoffs on these commits, as in git log: main..topic, v1..; can be given several times
    #[arg(long, value_name = "REVISION")]
    pub range: Vec<String>,
    /// Only handoffs whose task matches this regular expression, ignoring case
    #[arg(long, alias = "task-pattern", value_name = "REGEX", hide_short_help = true)]
    pub task: Option<String>,
    /// Only handoffs of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = handoff_types(), hide_short_help = true)]
    pub handoff_type: Option<&'static str>,
    /// Only handoffs whose session has this self-assessment: did know and uncertainty move together?
    #[arg(long, aliases = ["calibration", "calibration-status"], value_name = "STATUS", hide_short_help = true)]
    #[arg(value_parser = one_of([
        ("consistent|well_calibrated|well-calibrated", Calibration::WellCalibrated),
        ("overconfident", Calibration::Overconfident),
        ("underconfident", Calibration::Underconfident),
        ("not_assessable|not-assessable", Calibration::NotAssessable),
    ]))]
    pub self_assessment: Option<Calibration>,
    /// The format of listed handoffs [default: table]; json is that of --json, jsonl one report per line
    #[arg(long, value_name = "FORMAT", hide_short_help = true, conflicts_with = "words")]
    #[arg(value_parser = ["table", "markdown", "json", "jsonl"])]
    pub format: Option<String>,
    /// The words are a plan: list failed attempts first
    #[arg(long, conflicts_with_all = ["path", "range", "task", "handoff_type", "self_assessment", "format"])]
    pub plan: bool,
    /// List sessions that resemble WORDS: a handoff, a session, or a text (- is standard input, @FILE a file)
    #[arg(long, requires = "words", conflicts_with_all = [
        "kind", "ai", "session", "since", "until", "path", "range", "task", "handoff_type", "self_assessment", "plan",
    ])]
    pub like: bool,
    /// By words alone, though search by meaning is set up (git empirica help embed)
    #[arg(long, conflicts_with_all = ["semantic", "like"], hide_short_help = true)]
    pub lexical: bool,
    /// By meaning alone
    #[arg(long, requires = "words", conflicts_with = "like", hide_short_help = true)]
    pub semantic: bool,
    /// By meaning in this repository of the team's Qdrant collection, or in all
    #[arg(long, value_name = "NAME|all", requires = "words", hide_short_help = true, conflicts_with_all = [
        "lexical", "like", "plan", "session", "since", "until", "path", "range", "task", "handoff_type", "self_assessment",
    ])]
    pub repository: Option<String>,
    /// Also claims that were replaced or retracted, after the others
    #[arg(long, conflicts_with = "like", hide_short_help = true)]
    pub all: bool,
    /// Without words, list handoffs
    #[arg(long, hide = true)]
    pub handoffs: bool,
    /// Most results to list; total_found counts all
    #[arg(long, value_name = "N", default_value = "10")]
    pub limit: usize,
}

impl Search {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let words = match self.like {
            true => vec![context.input().text(self.words.join(" "))?],
            false => self.words,
        };
        if let Some(format) = self.format.as_deref().filter(|name| context.output.as_json && *name != "json") {
            return Err(Error::usage(format!("cannot combine --json and --format {format}: they are two formats"))
                .provided(format)
                .reason("with --json the answer is one document")
                .suggest("Omit one of them."));
        }
        let format = match self.format.as_deref() {
            Some("markdown") => Format::Markdown,
            Some("jsonl") => Format::Lines,
            // the output writes --format json like --json
            _ => Format::Table,
        };
        let request = search::SearchRequest {
            words,
            plan: self.plan,
            kinds: self.kind,
            filter: FilterInput {
                since: self.since,
                until: self.until,
                task: self.task,
                range: self.range,
                path: self.path,
                kind: self.handoff_type.map(str::to_owned),
                calibration: self.self_assessment,
            },
            all: self.all,
            handoffs: self.handoffs || self.format.is_some(),
            like: self.like,
            limit: self.limit,
            method: match (self.lexical, self.semantic) {
                (true, _) => Method::Lexical,
                (_, true) => Method::Semantic,
                _ => Method::Both,
            },
            repository: self.repository,
        };
        let selection = Selection { ai: self.ai, session: self.session, ..Default::default() };
        let outcome = search::run(&context.open(selection)?, &request)?;
        Ok(view::answer(&outcome, format, context.paint()?, context.output.width(context.env)))
    }
}
