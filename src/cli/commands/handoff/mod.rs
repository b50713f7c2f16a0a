//! `handoff`, and the commands below it.

use crate::cli::commands::prelude::*;
use crate::cli::editor;
use crate::cli::input::Input;
use crate::fold::handoff_report;
use crate::handoff::pack::Detail;
use crate::handoff::{managed, view, write};

mod list;
mod sign;

/// What a handoff says beyond the journal. A text can be `-` (standard input) or `@FILE`.
#[derive(Debug, Clone, Args)]
pub struct Said {
    /// The task, instead of the session's
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub task: Option<String>,
    /// Something learned, journalled first; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub finding: Vec<String>,
    /// Something still unknown, journalled first; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub unknown: Vec<String>,
    /// Something done; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub accomplished: Vec<String>,
    /// What the next session must know
    #[arg(long, value_name = "TEXT")]
    pub context: Option<String>,
    /// A next step; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub next: Vec<String>,
    /// A file made or changed, beyond what git knows; can be given several times
    #[arg(long, value_name = "PATH")]
    pub artifact: Vec<String>,
    /// Sign it with your git signing key (user.signingKey, gpg.format). When git cannot sign, it is stored without
    #[arg(long, hide_short_help = true)]
    pub sign: bool,
}

impl Said {
    /// What the handoff says.
    pub fn read(self, input: &mut Input<'_>) -> Result<handoff_report::HandoffInput> {
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
/// Without flags everything comes from what was logged and from git. Flags add to it or override it. A newer handoff of
/// a session supersedes its earlier ones. The types initialization, progress, error_recovery and escalation pass a task
/// between a manager and a worker, with fields of their own; the type context is one document for the session that continues
/// this one, and supersedes no other handoff: see git empirica help tasks.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Handoff {
    #[command(subcommand)]
    pub command: Option<HandoffCommand>,
    #[command(flatten)]
    pub said: Said,
    /// The type [default: that of the document given, else epistemic]; git empirica help tasks says what each is for
    #[arg(long = "type", value_name = "TYPE", value_parser = handoff_types())]
    pub kind: Option<&'static str>,
    /// The agent it is for
    #[arg(long, value_name = "AI", hide_short_help = true)]
    pub to: Option<String>,
    /// The task; its handoffs form a chain
    #[arg(long, value_name = "ID", hide_short_help = true)]
    pub task_id: Option<String>,
    /// What a field of the type says, as in worker_report.status=COMPLETED; given again, it adds to a list. An object is
    /// given as JSON
    #[arg(long, value_name = "PATH=TEXT", hide_short_help = true)]
    pub set: Vec<String>,
    /// A document of the type, JSON, from a file or - for standard input
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub from: Option<String>,
    /// Print a document of the type to begin with, and store nothing
    #[arg(long, hide_short_help = true, requires = "kind", conflicts_with_all = [
        "set", "from", "edit", "dry_run", "task_id", "to", "task", "finding", "unknown", "accomplished", "context", "next",
        "artifact", "ai", "session", "validate", "regenerate", "transcript", "detail", "budget", "incremental",
        "sign",
    ])]
    pub example: bool,
    /// Hand over the session of an agent's transcript, which is collected first; the type is context unless --type says otherwise
    #[arg(long, value_name = "FILE", conflicts_with = "regenerate", hide_short_help = true)]
    pub transcript: Option<String>,
    /// How much a document of the type context has: summary 400 tokens, detailed 800, full 1,250
    #[arg(long, value_name = "LEVEL", value_parser = details(), hide_short_help = true)]
    pub detail: Option<Detail>,
    /// The most tokens of a document of the type context, 250 or more, instead of what --detail allows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(250..), hide_short_help = true)]
    pub budget: Option<u32>,
    /// Only what changed since the last handoff to the same receiver
    #[arg(long, conflicts_with = "regenerate", hide_short_help = true)]
    pub incremental: bool,
    /// Rewrite a handoff with the questions and gaps of its receivers; flags override its texts. It replaces the old one
    #[arg(long, value_name = "HANDOFF", conflicts_with = "session", hide_short_help = true)]
    pub regenerate: Option<String>,
    /// Check it before it is stored: where a check has an error, nothing is, and the exit code is 3
    #[arg(long, hide_short_help = true)]
    pub validate: bool,
    /// Complete the draft in your editor
    #[arg(long)]
    pub edit: bool,
    /// Show it and store nothing
    #[arg(long, conflicts_with = "sign")]
    pub dry_run: bool,
    #[command(flatten)]
    pub who: Author,
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
        if let (true, Some(kind)) = (self.example, self.kind) {
            return managed::view::example(kind);
        }
        let who = self.who.clone();
        let request = self.request(&mut context.input())?;
        let (repo, is_terminal) = (context.repo()?, context.output.is_terminal());
        let outcome = write::run(&context.open(who)?, request, &|text| editor::edit(repo, text, is_terminal))?;
        view::answer(&outcome, &mut context.templates()?)
    }

    /// What is handed over.
    fn request(self, input: &mut Input<'_>) -> Result<write::HandoffRequest> {
        let text = |value: String, input: &mut Input<'_>| match value.split_once('=') {
            Some((path, text)) => Ok(format!("{path}={}", input.text(text.to_owned())?)),
            None => Ok(value),
        };
        // a document says its type itself
        let has_document = self.from.is_some();
        let document = self.from.map(|file| match file.as_str() {
            "-" => input.text(file),
            name if name.starts_with('@') => input.text(format!("@./{name}")),
            name => input.text(format!("@{name}")),
        });
        // of a transcript, the context is what there is
        let kind = self.kind.or(self.transcript.as_ref().map(|_| "context"));
        if kind != Some("context") && (self.detail.is_some() || self.budget.is_some()) && !has_document {
            return Err(Error::usage("--detail and --budget are for the type context")
                .reason("what another type says is stored and shown whole")
                .suggest("Leave them out, or hand over the context.")
                .command(empirica("handoff").option("--type", "context")));
        }
        let detail = self.detail.unwrap_or(Detail::Full);
        let sign = self.said.sign;
        let managed = managed::ManagedInput {
            kind,
            to: self.to,
            task_id: self.task_id,
            document: document.transpose()?,
            values: self.set.into_iter().map(|value| text(value, input)).collect::<Result<_>>()?,
            ..managed::ManagedInput::default()
        };
        Ok(write::HandoffRequest {
            said: self.said.read(input)?,
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
