//! `log`, which writes each commit when it finds it.

use crate::cli::commands::prelude::*;
use crate::cli::output::ColorWord;
use crate::use_cases::history::log::decoration::{Decorate, Decorations};
use crate::use_cases::history::log::reader::{AnnotatedCommit, RecordFilter};
use crate::use_cases::history::log::{self, view};

/// Show history with the records beside the commits
///
/// Lists the commits with records like git log, each when it is found. Accepts the options with which git log selects commits: revisions
/// and ranges, paths, --since, --until, --author, --committer, --grep, -S, -G, --merges, --no-merges, --first-parent, --all,
/// --branches, --tags, --remotes, --not, --reverse, --topo-order and others. Options for diffs remain with git log:
/// git log --notes=empirica/handoffs.
#[derive(Debug, Args)]
#[command(override_usage = "git empirica log [OPTIONS] [SELECTION OF GIT LOG]... [REVISION]... [-- PATH...]")]
pub struct Log {
    /// Handoffs, and the answers of their receivers
    #[arg(long)]
    pub handoffs: bool,
    /// Digests: the claims of a session before a commit, if it wrote no handoff [default: handoffs and digests]
    #[arg(long)]
    pub digests: bool,
    /// Checkpoints and assessments
    #[arg(long)]
    pub checkpoints: bool,
    /// Journal entries
    #[arg(long)]
    pub journal: bool,
    /// Most commits with records, also as -N; with one of the four options above, most records
    #[arg(short = 'n', long = "max-count", value_name = "N")]
    pub limit: Option<usize>,
    /// Only records of this agent
    #[arg(long, value_name = "ID")]
    pub ai: Option<String>,
    /// One line per commit and handoff
    #[arg(long)]
    pub oneline: bool,
    /// Use colors; --no-color means never [default: as configured in git]
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "always", conflicts_with = "json")]
    pub color: Option<ColorWord>,
    /// Name the refs beside the commits; --no-decorate means no [default: log.decorate, else auto: short on a terminal]
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "short", value_parser = named(Decorate::ALL, Decorate::name), conflicts_with = "json")]
    pub decorate: Option<Decorate>,
    /// Arguments of git log that select commits
    #[arg(last = true, hide = true)]
    pub selection: Vec<String>,
}

impl Log {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        context.output.color = self.color;
        let any = self.handoffs || self.digests || self.checkpoints || self.journal;
        let request = log::LogRequest {
            wanted: RecordFilter {
                handoffs: self.handoffs || !any,
                digests: self.digests || !any,
                checkpoints: self.checkpoints,
                journal: self.journal,
                ai: self.ai,
                counts_records: any,
            },
            limit: self.limit,
            abbreviate: self.oneline,
            marks: !context.output.as_json && !self.oneline,
            selection: self.selection,
        };
        let opened = context.open(Selection::default())?;
        if context.output.as_json {
            let mut commits = Vec::new();
            let render = |found: &AnnotatedCommit| Ok(view::json(found, self.checkpoints, self.journal));
            let warnings = log::run(&opened, &request, &render, &mut |commit| {
                commits.extend(commit);
                Ok(())
            })?;
            return Ok(view::answer(commits).warn(warnings));
        }
        let (paint, mut templates) = (context.paint()?, context.templates()?);
        let decorations = Decorations::read(&opened, self.decorate, context.output.shows_terminal(context.env))?;
        context.output.page(context.env);
        let terminal = view::Terminal::new(&mut templates);
        let mut any = false;
        let render = |found: &AnnotatedCommit| match self.oneline {
            true => Ok(view::one_line(found, paint, &decorations)),
            false => view::entry(found, paint, &decorations, &terminal),
        };
        let warnings = log::run(&opened, &request, &render, &mut |text| {
            any |= text.is_some();
            match text {
                Some(text) => context.output.write(&text),
                None => context.output.flush(),
            }
        })?;
        if !any {
            context.output.say("No commit here has such records.")?;
        }
        Ok(Answer::default().warn(warnings))
    }
}
