//! One command to one use case to one answer.

use super::args::{CheckpointCommand, Command, GoalCommand, SessionCommand};
use super::input::Input;
use super::output::Output;
use super::progress::Progress;
use super::{args, hooks, manual, requests};
use crate::assess::calibration;
use crate::assess::drift::current;
use crate::checkpoint::{compaction, diff, snapshot};
use crate::claim::add::ClaimInput;
use crate::claim::{goal, undo};
use crate::context::{CommandContext, Selection, active};
use crate::handoff::note::BuiltIn;
use crate::history::log::reader;
use crate::history::show::committer;
use crate::history::{log, metrics};
use crate::render::answer::Answer;
use crate::render::budget::OutputForm;
use crate::render::template::Templates;
use crate::session::{bootstrap, lifecycle, resume, status};
use crate::setup::{deinit, demo, user};
use crate::sync::flush;
use crate::{assess, checkpoint, claim, handoff, sync};
use empirica_notes::env::Env;
use empirica_notes::error::{Result, empirica};
use empirica_notes::git::Repository;
use empirica_notes::model::{Phase, Trigger};

/// Runs a command and writes its answer.
pub fn run(command: Command, env: &Env, output: &mut Output) -> Result<u8> {
    match command {
        Command::Setup(given) => match given.completions {
            Some(shell) => {
                output.write(&String::from_utf8_lossy(&manual::completions(shell)))?;
                output.flush()?;
            }
            None => {
                let outcome = user::run(env, &manual::files(), given.dry_run)?;
                output.answer(&crate::claim::view::set_up(&outcome), env, None)?;
            }
        },
        Command::Hook(given) => return Ok(u8::from(!hooks::run(given, env, output))),
        Command::Demo(_) => {
            let outcome = demo::run(env)?;
            let answer = crate::setup::demo::view::answer(&outcome, &mut Templates::built_in())?;
            output.answer(&answer, env, None)?;
        }
        command => {
            let repo = Repository::discover(env)?;
            let mut here = Here {
                env,
                repo: &repo,
                terminal: Templates::for_terminal(repo.config_path("empirica.templateDir")),
                output,
            };
            if let Some(answer) = here.answer(command)? {
                let mut answer = answer.warn(crate::render::format::unreadable(&repo.unreadable()));
                if !answer.hints_once.is_empty() && here.output.gives_hints(Some(&repo)) {
                    let context = here.context(Selection::default())?;
                    let once = std::mem::take(&mut answer.hints_once).into_iter();
                    let new = once.filter(|(session, kind, _)| active::takes_hint(&context, session, kind));
                    answer.hints.extend(new.map(|(.., hint)| hint));
                }
                here.output.answer(&answer, env, Some(&repo))?;
                return Ok(answer.exit_code());
            }
        }
    }
    Ok(0)
}

/// A repository, and where answers go.
pub(super) struct Here<'a> {
    pub(super) env: &'a Env,
    pub(super) repo: &'a Repository,
    pub(super) terminal: Templates,
    pub(super) output: &'a mut Output,
}

impl<'a> Here<'a> {
    pub(super) fn context(&self, asked: impl Into<Selection>) -> Result<CommandContext<'a>> {
        let context = CommandContext::new(self.env, self.repo, &BuiltIn, asked.into())?;
        context.opener.on_progress(Box::new(Progress::counting(self.output, "indexing notes")));
        Ok(context)
    }

    /// The answer of a command; `None` when it has written its own.
    fn answer(&mut self, command: Command) -> Result<Option<Answer>> {
        Ok(Some(match command {
            Command::Session(command) => self.session(command)?,
            Command::Preflight(given) => self.assessed(Phase::Preflight, given.noted, given.about, None)?,
            Command::Check(given) if given.drift => {
                let context = self.context(given.about.who)?;
                crate::assess::view::drifted(&current::run(&context, given.window as usize)?)
            }
            Command::Check(given) => self.assessed(Phase::Check, given.noted, given.about, given.confidence)?,
            Command::Postflight(given) => self.postflight(given)?,
            Command::Checkpoint(given) => self.checkpoint(given)?,
            Command::Undo(given) => crate::claim::view::undone(&undo::run(&self.context(given.who)?)?),
            Command::Goal(command) => self.goal(command)?,
            Command::Handoff(given) => self.handoff(given)?,
            Command::Accept(given) => self.accept(given)?,
            Command::Answer(given) => self.answer_to(given)?,
            Command::Task(command) => self.task(command)?,
            Command::Collect(given) => self.collect(given)?,
            Command::Show(given) => self.show(given)?,
            Command::Diff(given) => {
                let context = self.context(given.who)?;
                crate::checkpoint::diff::view::answer(&diff::run(
                    &context,
                    given.a.as_deref(),
                    given.b.as_deref(),
                    Default::default(),
                )?)
            }
            Command::Resume(given) => {
                let wanted = crate::session::resume::view::ResumeForm {
                    detail: given.detail.into(),
                    budget: given.budget.map(|budget| budget as usize),
                    form: if self.output.as_json { OutputForm::Json } else { OutputForm::Text },
                };
                let context = self.context(given.filter)?;
                let outcome = resume::run(&context, &resume::ResumeRequest { last: given.last as usize })?;
                crate::session::resume::view::answer(&outcome, wanted, &mut self.terminal)?
            }
            Command::Log(given) => return self.log(given),
            Command::Search(given) => self.search(given)?,
            Command::Calibration(given) => {
                crate::assess::calibration::view::answer(&calibration::run(&self.context(given.filter)?)?)
            }
            Command::Metrics(given) => self.metrics(given)?,
            Command::Report(given) => self.report(given)?,
            Command::Status(given) => {
                let context = self.context(Selection { ai: given.ai, session: given.session, ..Default::default() })?;
                match given.budget.or(given.all.then_some(crate::session::bootstrap::view::BUDGET)) {
                    Some(budget) => {
                        let form = if self.output.as_json { OutputForm::Json } else { OutputForm::Text };
                        let outcome = bootstrap::run(&context, &bootstrap::BootstrapRequest::default())?;
                        crate::session::bootstrap::view::answer(&outcome, budget as usize, form, &mut self.terminal)?
                    }
                    None => crate::session::status::view::answer(&status::run(&context)?, &mut self.terminal)?,
                }
            }
            Command::Sync(given) => self.sync(given)?,
            Command::Export(given) => return self.export(given),
            Command::Import(given) => self.import(given)?,
            Command::Redact(given) => self.redact(given)?,
            Command::Init(given) => self.init(given)?,
            Command::Deinit(given) => crate::setup::view::taken_back(&deinit::run(self.repo, given.changes.dry_run)?),
            Command::Instructions(given) => self.instructions(given)?,
            Command::Doctor(given) => self.doctor(given)?,
            Command::Flush(given) => {
                crate::claim::view::flushed(&flush::run(&self.context(Selection::default())?, given.without_damaged)?)
            }
            other => self.journal(other)?,
        }))
    }

    fn session(&mut self, command: SessionCommand) -> Result<Answer> {
        Ok(match command {
            SessionCommand::Start(given) => {
                let asked = Selection { ai: given.ai, allow_secret: given.allow_secret, ..Default::default() };
                let context = self.context(asked)?;
                let request = lifecycle::StartRequest {
                    task: Input::new(self.output.stdin()).optional(given.task)?,
                    kind: given.kind,
                    external_id: given.external_id,
                    by_hook: false,
                    since_ms: Some(self.env.now().timestamp_millis().max(0) as u64),
                    from: given.from,
                };
                crate::session::view::started(&lifecycle::start(&context, request)?)
            }
            SessionCommand::End(given) => {
                let reason = Input::new(self.output.stdin()).optional(given.reason)?;
                crate::session::view::ended(&lifecycle::end(&self.context(given.who)?, reason)?)
            }
            SessionCommand::List(given) => {
                let context = self.context(Selection { ai: given.ai, session: None, ..Default::default() })?;
                crate::session::view::list(&lifecycle::list(&context, given.active)?)
            }
            SessionCommand::Show(given) => {
                let context = self.context(Selection::default())?;
                let (gathered, warnings) = lifecycle::show(&context, given.name.as_deref())?;
                let committers = committer::of_session(&context, &gathered.session.id)?;
                crate::history::show::trust::session(
                    crate::session::view::show(&gathered, warnings, &mut self.terminal)?,
                    &committers,
                )
            }
        })
    }

    fn sync(&mut self, given: args::Sync) -> Result<Answer> {
        let shown = self.output.tells_progress();
        let request = sync::run::SyncRequest {
            remote: given.remote,
            dry_run: given.dry_run,
            allow_secret: given.allow_secret,
            shown,
            unattended: false,
        };
        let context = self.context(Selection::default())?;
        let (output, mut unsaid) = (&mut *self.output, Ok(()));
        let outcome = sync::run::run(&context, &request, &mut |line| {
            if !output.as_json {
                unsaid = output.say(&crate::render::safe::lines(line));
            }
        });
        unsaid.and(outcome).map(|outcome| crate::sync::view::answer(&outcome))
    }

    fn assessed(
        &mut self,
        phase: Phase,
        noted: args::Noted,
        about: args::About,
        confidence: Option<f64>,
    ) -> Result<Answer> {
        let mut input = Input::new(self.output.stdin());
        let (mut request, asked) = requests::about(about, &mut input)?;
        request.task = input.optional(noted.task)?;
        request.findings = input.each(noted.finding)?;
        request.unknowns = input.each(noted.unknown)?;
        request.confidence = confidence;
        crate::assess::view::assessed(&assess::submit::run(&self.context(asked)?, phase, request, None)?)
    }

    fn postflight(&mut self, given: args::Postflight) -> Result<Answer> {
        let mut input = Input::new(self.output.stdin());
        let (mut request, asked) = requests::about(given.about, &mut input)?;
        let sign = given.said.sign;
        let mut said = requests::said(given.said, &mut input)?;
        // journalled with the assessment, before the handoff
        request.findings = std::mem::take(&mut said.findings);
        request.unknowns = std::mem::take(&mut said.unknowns);
        request.task = said.task.clone();
        request.sign = sign;
        let context = self.context(asked)?;
        handoff::write::check(&context, &said)?;
        let outcome = assess::submit::run(&context, Phase::Postflight, request, (!given.no_handoff).then_some(said))?;
        crate::assess::view::assessed(&outcome)
    }

    fn checkpoint(&mut self, given: args::Checkpoint) -> Result<Answer> {
        Ok(match given.command {
            None => {
                let (said, asked) = requests::about(given.about, &mut Input::new(self.output.stdin()))?;
                let request = snapshot::SnapshotRequest {
                    phase: given.phase.map(Phase::from),
                    round: given.round,
                    trigger: given.trigger.into(),
                    vectors: said.vectors,
                    reasoning: said.reasoning,
                    cycle: said.cycle,
                    scope: said.scope,
                    tags: said.tags,
                    metadata: said.meta,
                    search: given.semantic_query.or(given.search),
                };
                let budget = requests::block_budget(given.budget, request.trigger)?;
                let context = self.context(asked)?;
                let taken = checkpoint::save::run(&context, request)?;
                if taken.checkpoint.trigger != Trigger::PostCompact {
                    return Ok(crate::checkpoint::view::taken(&taken));
                }
                let outcome = compaction::run(&context, &taken)?;
                let form = if self.output.as_json { OutputForm::Json } else { OutputForm::Text };
                crate::checkpoint::compaction::view::answer(&taken, &outcome, budget, form, &mut self.terminal)?
            }
            Some(CheckpointCommand::List { filter, .. }) => {
                let (records, warnings) = checkpoint::save::list(&self.context(filter)?)?;
                crate::history::show::record::points(&records, warnings)
            }
            Some(CheckpointCommand::Show { id, .. }) => {
                let (record, warnings) = checkpoint::save::show(&self.context(Selection::default())?, id.as_deref())?;
                crate::history::show::record::shown(&record, warnings)
            }
        })
    }

    fn goal(&mut self, command: GoalCommand) -> Result<Answer> {
        let mut input = Input::new(self.output.stdin());
        let (request, who) = match command {
            GoalCommand::Add { text, criterion, priority, who, .. } => {
                let request = goal::GoalRequest::Add {
                    text: input.words(text)?,
                    criteria: input.each(criterion)?,
                    priority: priority.into(),
                };
                (request, who)
            }
            GoalCommand::Sub { goal, text, who, .. } => {
                let text = input.words(text)?;
                (goal::GoalRequest::Sub { goal, text }, who)
            }
            GoalCommand::Done { id, evidence, who, .. } => {
                let evidence = input.optional(evidence)?;
                (goal::GoalRequest::Done { id, evidence }, who)
            }
            GoalCommand::Drop { id, why, who, .. } => {
                let why = input.optional(why)?;
                (goal::GoalRequest::Drop { id, why }, who)
            }
            GoalCommand::Take { from, who, .. } => {
                (goal::GoalRequest::Take { from }, args::Speaker { who, allow_secret: false })
            }
            GoalCommand::List { open, filter, .. } => {
                let (goals, warnings) = goal::list(&self.context(filter)?, open)?;
                return Ok(crate::claim::goal::view::list(&goals, warnings));
            }
            GoalCommand::Show { goal, .. } => {
                let (owned, warnings) = goal::show(&self.context(Selection::default())?, &goal)?;
                return Ok(crate::claim::goal::view::shown(&owned, warnings));
            }
        };
        Ok(crate::claim::goal::view::changed(&goal::run(&self.context(who)?, request)?))
    }

    fn metrics(&mut self, given: args::Metrics) -> Result<Answer> {
        let context = self.context(Selection { ai: given.ai, session: None, ..Default::default() })?;
        match given.handoff {
            Some(handoff) => {
                let one = metrics::one(&context, &handoff, given.exact)?;
                crate::history::metrics::view::of_handoff(&one, &mut self.terminal)
            }
            None => {
                let request = metrics::MetricsRequest {
                    since: given.since,
                    until: given.until,
                    by: given.by.into(),
                    limit: given.limit,
                    exact: given.exact,
                };
                crate::history::metrics::view::answer(&metrics::run(&context, &request)?, &mut self.terminal)
            }
        }
    }

    /// The commands of the journal.
    fn journal(&mut self, command: Command) -> Result<Answer> {
        let mut input = Input::new(self.output.stdin());
        let (entry, args::Entry { led_from, who, .. }) = match command {
            Command::Finding(args::Finding { text, impact, memory, entry }) => {
                (ClaimInput::Finding { text: input.words(text)?, impact, memory }, entry)
            }
            Command::Unknown(args::Unknown { text, entry }) => {
                (ClaimInput::Unknown { text: input.words(text)? }, entry)
            }
            Command::Resolve(args::Resolve { id, text, again, who, form }) => (
                ClaimInput::Resolve { of: id, text: input.words(text)?, again },
                args::Entry { led_from: None, who, form },
            ),
            Command::Deadend(args::DeadEnd { approach, why, entry }) => {
                (ClaimInput::DeadEnd { approach: input.words(approach)?, why: input.text(why)? }, entry)
            }
            Command::Mistake(args::Mistake { text, prevention, entry }) => {
                (ClaimInput::Mistake { text: input.words(text)?, prevention: input.optional(prevention)? }, entry)
            }
            Command::Decision(args::Decision { text, why, alternative, entry }) => {
                let (text, why) = (input.words(text)?, input.text(why)?);
                (ClaimInput::Decision { text, why, alternatives: input.each(alternative)? }, entry)
            }
            Command::Source(args::Source { location, entry }) => (ClaimInput::Source { location }, entry),
            Command::Evidence(args::Evidence { command, exit, file, entry }) => {
                (ClaimInput::Evidence { command: input.text(command)?, exit, files: file }, entry)
            }
            Command::Activity(args::Activity { category, text, failed, file, entry }) => {
                (ClaimInput::Activity { category, text: input.words(text)?, failed, files: file }, entry)
            }
            other => {
                return Err(empirica_notes::error::Error::usage(format!("this command has no answer: {other:?}"))
                    .suggest("See which commands there are.")
                    .command(empirica("").flag("-h")));
            }
        };
        Ok(crate::claim::view::logged(&claim::add::log(&self.context(who)?, entry, led_from.as_deref())?))
    }

    /// The log writes each commit as soon as it is found.
    fn log(&mut self, given: args::Log) -> Result<Option<Answer>> {
        let (oneline, checkpoints, journal) = (given.oneline, given.checkpoints, given.journal);
        self.output.color = given.color;
        let request = requests::log(given);
        let context = self.context(Selection::default())?;
        if self.output.as_json {
            let mut commits = Vec::new();
            let make = |found: &reader::AnnotatedCommit, out: &mut Vec<_>| {
                crate::history::log::view::json_line(found, checkpoints, journal, out)
            };
            let warnings = log::run(&context, &request, &make, &mut |made| {
                commits
                    .extend(made.into_iter().flat_map(|(sheet, at)| sheet[at].iter_mut().map(serde_json::Value::take)));
                Ok(())
            })?;
            let answer = Answer::new(serde_json::json!({"commits": commits, "total_found": commits.len()}));
            return Ok(Some(answer.warn(warnings)));
        }
        let paint = self.output.paint(self.env, Some(self.repo));
        self.output.page(self.env);
        let (output, terminal) = (&mut *self.output, crate::history::log::view::Terminal::new(&mut self.terminal));
        let mut any = false;
        let make = |found: &reader::AnnotatedCommit, out: &mut String| match oneline {
            true => crate::history::log::view::one_line(found, paint, out),
            false => crate::history::log::view::entry(found, paint, &terminal, out),
        };
        let mut warnings = log::run(&context, &request, &make, &mut |made| {
            any |= made.is_some();
            match made {
                Some((sheet, at)) => output.write(&sheet[at]),
                None => output.flush(),
            }
        })?;
        if !any {
            output.say("No commit here has such records.")?;
        }
        warnings.extend(crate::render::format::unreadable(&self.repo.unreadable()));
        output.aside(&warnings, &[])?;
        Ok(None)
    }
}
