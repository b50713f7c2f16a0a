//! Arguments of assessments and checkpoints, and their request.

use crate::cli::commands::prelude::*;
use crate::cli::input::Input;
use crate::use_cases::assess::submit::{self, AssessRequest};
use crate::use_cases::assess::view;
use empirica_notes::model::{self, Phase};

/// The vectors of an assessment.
#[derive(Debug, Clone, Args)]
pub struct Vectors {
    /// Vectors from 0 to 1: engagement, know, do, context, clarity, coherence, signal, density, state, change,
    /// completion, impact, uncertainty; @FILE reads a JSON object or NAME=VALUE pairs, - standard input (help vectors)
    #[arg(short = 'v', long = "vector", value_name = "NAME=VALUE[,…]")]
    pub vector: Vec<String>,
    /// Read the vectors from a file, as a JSON object or as NAME=VALUE pairs; - is standard input
    #[arg(long, value_name = "FILE", hide = true)]
    pub vectors: Option<String>,
}

impl Vectors {
    /// The vectors of `-v` and `--vectors`; possibly none.
    fn read(self, input: &mut Input<'_>) -> Result<model::Vectors> {
        let (files, literal): (Vec<String>, _) = self.vector.into_iter().partition(|v| v == "-" || v.starts_with('@'));
        let named = self.vectors.map(|file| if file == "-" { file } else { format!("@{file}") });
        let mut pairs = Vec::new();
        for file in named.into_iter().chain(files) {
            pairs.extend(submit::vector_pairs(&input.text(file)?)?);
        }
        submit::vectors_of(pairs.into_iter().chain(literal))
    }
}

/// The content of an assessment or checkpoint.
#[derive(Debug, Clone, Args)]
pub struct AssessmentArguments {
    #[command(flatten)]
    pub vectors: Vectors,
    /// The reasons for the values
    #[arg(long, value_name = "TEXT")]
    pub reasoning: Option<String>,
    /// The iteration of the investigation, from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub cycle: Option<u32>,
    /// The depth of the scope, from 0 to 1
    #[arg(long, value_name = "X", value_parser = unit, hide_short_help = true)]
    pub scope: Option<f64>,
    /// A label; can be given several times
    #[arg(long, value_name = "TAG", hide_short_help = true)]
    pub tag: Vec<String>,
    /// A value to store with it; can be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair, hide_short_help = true)]
    pub meta: Vec<(String, String)>,
    #[command(flatten)]
    pub author: Author,
}

impl AssessmentArguments {
    /// The request, without the fields of a single phase, and the selection of its session.
    pub fn request(self, input: &mut Input<'_>) -> Result<(AssessRequest, Selection)> {
        let request = AssessRequest {
            vectors: self.vectors.read(input)?,
            reasoning: input.optional(self.reasoning)?,
            cycle: self.cycle,
            scope: self.scope,
            tags: self.tag,
            meta: self.meta.into_iter().collect(),
            ..Default::default()
        };
        Ok((request, self.author.into()))
    }
}

/// The task and claims given with an assessment.
#[derive(Debug, Clone, Args)]
pub struct ClaimArguments {
    /// The task as you see it now
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// A finding to log first; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub finding: Vec<String>,
    /// An open question to log first; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub unknown: Vec<String>,
}

/// Stores a PREFLIGHT or a CHECK.
pub fn assess(
    context: &mut Invocation,
    phase: Phase,
    claims: ClaimArguments,
    assessment: AssessmentArguments,
    confidence: Option<f64>,
) -> Result<Answer> {
    let mut input = context.input();
    let (mut request, selection) = assessment.request(&mut input)?;
    request.task = input.optional(claims.task)?;
    request.findings = input.each(claims.finding)?;
    request.unknowns = input.each(claims.unknown)?;
    request.confidence = confidence;
    view::assessed(&submit::run(&context.open(selection)?, phase, request, None)?)
}

fn pair(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("it must be of the form KEY=VALUE".to_owned()),
    }
}
