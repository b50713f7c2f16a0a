//! `search`.

use clap::{Args, ValueEnum};

use super::{Form, HandoffType};

/// Find records by words, best first, or by agent, time, path, kind, likeness
///
/// Finds the records that have all the words, without regard to case and accents; when none has, those that have one of them
/// in any form. In quotes within the query, words are a phrase: search '"flaky login"'. tok* is the beginning of a word, -word
/// must not be there (after -- when it is the first). Fields: kind:deadend (or finding, unknown, decision, mistake, handoff),
/// ai:NAME, session:ALIAS; the same field twice means either. Superseded handoffs are not searched.
///
/// Without words, the newest records that fit all filters are listed; with --task, --range, --path, --type or
/// --self-assessment, which only handoffs have, the handoffs in a table. DATE is an ISO date or anything git knows
/// ("7 days ago", yesterday); an ISO day without a time is the whole day, in your time zone.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Search {
    /// Words, "phrases", beginnings*, -exclusions and fields
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,
    /// Only this kind; can be given several times
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<KindWord>,
    /// Only records of this agent
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// Only records of this session, as --session names it elsewhere
    #[arg(long, alias = "session-id", value_name = "ALIAS")]
    pub session: Option<String>,
    /// Only records made since then: 2026-01-31, "7 days ago", yesterday
    #[arg(long, value_name = "DATE", alias = "after")]
    pub since: Option<String>,
    /// Only records made until then
    #[arg(long, value_name = "DATE", alias = "before")]
    pub until: Option<String>,
    /// Only handoffs that made or changed this file, or one below this folder
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub path: Option<String>,
    /// Only handoffs on these commits, as git log takes them: main..topic, v1..; can be given several times
    #[arg(long, value_name = "REVISION")]
    pub range: Vec<String>,
    /// Only handoffs whose task matches this regular expression, without regard to case
    #[arg(long, alias = "task-pattern", value_name = "REGEX", hide_short_help = true)]
    pub task: Option<String>,
    /// Only handoffs of this type
    #[arg(long = "type", value_name = "TYPE", hide_short_help = true)]
    pub handoff_type: Option<HandoffType>,
    /// Only handoffs whose session assessed itself so: did know and uncertainty move together?
    #[arg(long, aliases = ["calibration", "calibration-status"], value_name = "STATUS", hide_short_help = true)]
    pub self_assessment: Option<SelfAssessmentWord>,
    /// The form of listed handoffs [default: table]; json is that of --json, jsonl a report a line
    #[arg(long, value_name = "FORMAT", hide_short_help = true, conflicts_with = "words")]
    pub format: Option<ListFormat>,
    /// The words are a plan: what was tried and failed comes first
    #[arg(long, conflicts_with_all = ["path", "range", "task", "handoff_type", "self_assessment", "format"])]
    pub plan: bool,
    /// List sessions that resemble WORDS: a handoff, a session, or a text (- is standard input, @FILE a file)
    #[arg(long, requires = "words", conflicts_with_all = [
        "kind", "ai", "session", "since", "until", "path", "range", "task", "handoff_type", "self_assessment", "plan",
    ])]
    pub like: bool,
    /// Without words, list handoffs
    #[arg(long, hide = true)]
    pub handoffs: bool,
    /// At most so many; 0 lists none, and total_found still counts all
    #[arg(long, value_name = "N", default_value = "10")]
    pub limit: usize,
    #[command(flatten)]
    pub form: Form,
}

/// The forms of listed handoffs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum ListFormat {
    Table,
    Markdown,
    Json,
    Jsonl,
}

/// The words for a self-assessment.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum SelfAssessmentWord {
    #[value(aliases = ["well_calibrated", "well-calibrated"])]
    Consistent,
    Overconfident,
    Underconfident,
    #[value(alias = "not-assessable")]
    NotAssessable,
}

/// The kinds that are searched.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
pub enum KindWord {
    Finding,
    Unknown,
    #[value(alias = "dead_end", alias = "dead-end")]
    Deadend,
    Decision,
    Mistake,
    Handoff,
}

impl KindWord {
    /// The word of the `kind` key.
    pub fn key(self) -> &'static str {
        match self {
            KindWord::Finding => "finding",
            KindWord::Unknown => "unknown",
            KindWord::Deadend => "dead_end",
            KindWord::Decision => "decision",
            KindWord::Mistake => "mistake",
            KindWord::Handoff => "handoff",
        }
    }
}
