//! `handoff`, and the commands below it.

use crate::cli::commands::prelude::*;
use crate::cli::editor;
use crate::cli::input::Input;
use crate::fold::handoff_report;
use crate::use_cases::handoff::pack::Detail;
use crate::use_cases::handoff::{managed, view, write};
use crate::use_cases::report::review::{self, ReviewRequest};

mod list;
mod sign;

/// Content of a handoff in addition to the journal. A text can be `-` (standard input) or `@FILE`.
#[derive(Debug, Clone, Args)]
pub struct HandoffArguments {
    /// The task, instead of the session's
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub task: Option<String>,
    /// A finding to log first; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub finding: Vec<String>,
    /// An open question to log first; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub unknown: Vec<String>,
    /// A result of the work; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub accomplished: Vec<String>,
    /// Information for the next session
    #[arg(long, value_name = "TEXT")]
    pub context: Option<String>,
    /// A next step; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub next: Vec<String>,
    /// A created or changed file that git does not show; can be given several times
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub artifact: Vec<String>,
    /// Sign it with your git signing key (user.signingKey, gpg.format). If git cannot sign, it is stored unsigned
    #[arg(long, hide_short_help = true)]
    pub sign: bool,
}

impl HandoffArguments {
    pub fn input(self, input: &mut Input<'_>) -> Result<handoff_report::HandoffInput> {
        Ok(handoff_report::HandoffInput {
            task: input.optional(self.task)?,
            accomplished: input.each(self.accomplished)?,
            findings: input.each(self.finding)?,
            unknowns: input.each(self.unknown)?,
            context: input.optional(self.context)?,
            next_steps: Some(input.each(self.next)?).filter(|steps| !steps.is_empty()),
            artifacts: self.artifact,
        })
    }
}

/// Hand the session over: a report of its log, its assessments and git
///
/// Without flags, its content comes from the log and from git; flags add to it or override it. A newer handoff of
/// a session supersedes its earlier ones for the same stage of a task. The types initialization, progress, error_recovery and escalation pass a task
/// between a manager and a worker, with fields of their own; the type context is one document for the session that continues
/// this one, and supersedes no other handoff: see git empirica help tasks.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Handoff {
    #[command(subcommand)]
    pub command: Option<HandoffCommand>,
    #[command(flatten)]
    pub content: HandoffArguments,
    /// The type [default: that of the document, else epistemic]; git empirica help tasks describes each
    #[arg(long = "type", value_name = "TYPE", value_parser = handoff_types())]
    pub kind: Option<&'static str>,
    /// The receiving agent [default: that of the first rule of .empirica/routes.toml that matches; see git empirica help routes]
    #[arg(long, value_name = "AI", hide_short_help = true)]
    pub to: Option<String>,
    /// The task; its handoffs form a chain
    #[arg(long, value_name = "ID", hide_short_help = true)]
    pub task_id: Option<String>,
    /// A field of the type, as in worker_report.status=COMPLETED; repeat it to add to a list. Write an object as JSON
    #[arg(long, value_name = "PATH=TEXT", hide_short_help = true)]
    pub set: Vec<String>,
    /// A document of the type, JSON, from a file or - for standard input
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub from: Option<String>,
    /// Print an example document of the type, and store nothing
    #[arg(long, hide_short_help = true, requires = "kind", conflicts_with_all = [
        "set", "from", "edit", "dry_run", "task_id", "to", "task", "finding", "unknown", "accomplished", "context", "next",
        "artifact", "ai", "session", "validate", "regenerate", "transcript", "detail", "budget", "incremental",
        "sign",
    ])]
    pub example: bool,
    /// Hand over the session of an agent's transcript, after collecting it; the default type is context
    #[arg(long, value_name = "FILE", conflicts_with = "regenerate", hide_short_help = true)]
    pub transcript: Option<String>,
    /// The size of a document of the type context: summary 400 tokens, detailed 800, full 1,250
    #[arg(long, value_name = "LEVEL", value_parser = named(Detail::ALL, Detail::name), hide_short_help = true)]
    pub detail: Option<Detail>,
    /// Most tokens of a document of the type context, 250 or more, instead of --detail
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(250..), hide_short_help = true)]
    pub budget: Option<u32>,
    /// Only changes since the last handoff to the same receiver
    #[arg(long, conflicts_with = "regenerate", hide_short_help = true)]
    pub incremental: bool,
    /// Rewrite a handoff with the questions and gaps of its receivers; flags override its texts. It replaces the old one
    #[arg(long, value_name = "HANDOFF", conflicts_with = "session", hide_short_help = true)]
    pub regenerate: Option<String>,
    /// Check it before storing: an error stores nothing, with exit code 3
    #[arg(long, hide_short_help = true)]
    pub validate: bool,
    /// Complete the draft in your editor
    #[arg(long)]
    pub edit: bool,
    /// Show it and store nothing
    #[arg(long, conflicts_with = "sign")]
    pub dry_run: bool,
    /// Print the records of a range of commits as Markdown for a pull request
    ///
    /// Stores nothing. Without a range: the commits of HEAD that the branch it is to be merged into lacks. With --validate, the exit code is 3
    /// if the range breaks a rule of empirica.require.
    #[arg(long, value_name = "BASE..HEAD", num_args = 0..=1, conflicts_with_all = [
        "kind", "set", "from", "edit", "dry_run", "task_id", "to", "task", "finding", "unknown", "accomplished", "context", "next",
        "artifact", "ai", "session", "allow_secret", "regenerate", "transcript", "detail", "budget", "incremental",
        "sign", "example",
    ])]
    pub pr: Option<Option<String>>,
    #[command(flatten)]
    pub author: Author,
}

/// The commands below `handoff`.
#[derive(Debug, Subcommand)]
pub enum HandoffCommand {
    List(list::List),
    Sign(sign::Sign),
}

impl Handoff {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        match self.command {
            Some(HandoffCommand::List(list)) => return list.run(context),
            Some(HandoffCommand::Sign(sign)) => return sign.run(context),
            None => {}
        }
        if let Some(range) = self.pr {
            let request = ReviewRequest { range, validate: self.validate };
            return review::view::answer(&review::run(&context.open(Selection::default())?, &request)?);
        }
        if let (true, Some(kind)) = (self.example, self.kind) {
            return managed::view::example(kind);
        }
        let author = self.author.clone();
        let request = self.request(&mut context.input())?;
        let (repo, is_terminal) = (context.repo()?, context.output.is_terminal());
        let outcome = write::run(&context.open(author)?, request, &|text| editor::edit(repo, text, is_terminal))?;
        view::answer(&outcome, &mut context.templates()?)
    }

    fn request(self, input: &mut Input<'_>) -> Result<write::HandoffRequest> {
        let text = |value: String, input: &mut Input<'_>| match value.split_once('=') {
            Some((path, text)) => Ok(format!("{path}={}", input.text(text.to_owned())?)),
            None => Ok(value),
        };
        // a document names its own type
        let has_document = self.from.is_some();
        let document = self.from.map(|file| match file.as_str() {
            "-" => input.text(file),
            name if name.starts_with('@') => input.text(format!("@./{name}")),
            name => input.text(format!("@{name}")),
        });
        // a transcript has only context
        let kind = self.kind.or(self.transcript.as_ref().map(|_| "context"));
        if kind != Some("context") && (self.detail.is_some() || self.budget.is_some()) && !has_document {
            return Err(Error::usage("cannot apply --detail or --budget: they are for the type context")
                .reason("a document of another type is stored and shown whole")
                .suggest("Leave them out, or hand over the context.")
                .command(empirica("handoff").option("--type", "context")));
        }
        let detail = self.detail.unwrap_or(Detail::Full);
        let sign = self.content.sign;
        let managed = managed::ManagedInput {
            kind,
            to: self.to,
            task_id: self.task_id,
            document: document.transpose()?,
            values: self.set.into_iter().map(|value| text(value, input)).collect::<Result<_>>()?,
            ..managed::ManagedInput::default()
        };
        Ok(write::HandoffRequest {
            input: self.content.input(input)?,
            managed,
            regenerate: self.regenerate,
            transcript: self.transcript,
            budget: Some(self.budget.map_or(detail.budget(), |budget| budget as usize)),
            incremental: self.incremental,
            sign,
            edit: self.edit,
            validate: self.validate,
            dry_run: self.dry_run,
        })
    }
}
