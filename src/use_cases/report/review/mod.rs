//! The records of a range of commits, for the reviewers of a pull request.

pub mod checks;
pub mod claims;
pub mod placement;
pub mod references;
pub mod rules;
pub mod text;
pub mod view;
pub mod violations;
pub mod work;

use std::collections::BTreeSet;

use crate::context::{CommandContext, Selection};
use crate::use_cases::report::review::checks::{LastRun, last_runs};
use crate::use_cases::report::review::claims::RangeClaim;
use crate::use_cases::report::review::placement::RangeCommits;
use crate::use_cases::report::review::rules::Rule;
use crate::use_cases::report::review::work::SessionWork;
use empirica_notes::env::Env;
use empirica_notes::error::Result;
use empirica_notes::git::history::range::CommitRange;
use empirica_notes::git::{Oid, Repository};
use empirica_notes::model::{Body, Id, SessionId};

/// Selects a range of commits.
#[derive(Debug, Clone, Default)]
pub struct ReviewRequest {
    /// `BASE..HEAD`; see [`CommitRange::resolve`].
    pub range: Option<String>,
    /// Whether the rules that the repository requires decide.
    pub validate: bool,
}

/// A session with its claims.
#[derive(Debug)]
pub struct ReviewedSession {
    pub work: SessionWork,
    /// Those that hold first, then the newest.
    pub claims: Vec<RangeClaim>,
}

/// The records of a range, folded. They depend on the notes and the range alone: not on the work tree, nor on the time.
#[derive(Debug)]
pub struct Review {
    pub range: CommitRange,
    /// The number of its commits.
    pub commits: usize,
    /// Those that recorded last first.
    pub sessions: Vec<ReviewedSession>,
    /// Failed ones first.
    pub checks: Vec<LastRun>,
    /// Claims from before the range that its changes contradict.
    pub contradicted: Vec<RangeClaim>,
    /// The rules that decide; `None` if none are to be applied.
    pub required: Option<Vec<Rule>>,
    pub warnings: Vec<String>,
}

/// The review of a range.
pub fn run(context: &CommandContext<'_>, request: &ReviewRequest) -> Result<Review> {
    let required = request.validate.then(|| rules::required(context.repo)).transpose()?;
    let mut warnings = context.store.reconcile();
    let range = CommitRange::resolve(context.repo, request.range.as_deref())?;
    let env = at_time_of(context, range.tip);
    let repo = Repository::discover(&env)?.at(range.tip);
    let tip = view(&env, &repo, context)?;
    let commits = RangeCommits::read(&tip, &range)?;
    warnings.extend(commits.warnings.iter().cloned());
    // the version that counts may hide what the range has
    warnings.extend(context.index()?.double_warnings()?);
    let sessions = work::of_range(&tip, &commits)?;
    let checks = last_runs(&repo, &range, &sessions)?;
    let claims = claims::of_sessions(&tip, &sessions)?;
    let own: BTreeSet<&Id> = claims.iter().flatten().map(|claim| &claim.record.envelope.id).collect();
    let contradicted = match range.fork {
        Some(fork) if !commits.commits.is_empty() => {
            let before = Repository::discover(&env)?.at(fork);
            claims::contradicted(&view(&env, &before, context)?, &tip, &range, &own)?
        }
        _ => Vec::new(),
    };
    let sessions = sessions.into_iter().zip(claims).map(|(work, claims)| ReviewedSession { work, claims }).collect();
    let commits = commits.commits.len();
    Ok(Review { range, commits, sessions, checks, contradicted, required, warnings })
}

/// The sessions with records of a range.
pub fn sessions(context: &CommandContext<'_>, range: &str) -> Result<BTreeSet<SessionId>> {
    let range = CommitRange::resolve(context.repo, Some(range))?;
    let repo = Repository::discover(context.env)?.at(range.tip);
    let tip = view(context.env, &repo, context)?;
    let sessions = work::of_range(&tip, &RangeCommits::read(&tip, &range)?)?;
    Ok(sessions.into_iter().map(|work| work.session.id).collect())
}

/// The environment with the time of a commit, so that claims that hold for a time are judged by that.
fn at_time_of(context: &CommandContext<'_>, commit: Oid) -> Env {
    match context.repo.committed(commit) {
        Some(time) => context.env.with("EMPIRICA_NOW", &time),
        None => context.env.clone(),
    }
}

fn view<'a>(env: &'a Env, repo: &'a Repository, of: &CommandContext<'a>) -> Result<CommandContext<'a>> {
    CommandContext::new(env, repo, of.store.render(), Selection::default())
}

impl Review {
    /// Whether nothing was recorded for the range.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.contradicted.is_empty()
    }

    /// The claims of all sessions that match, those that hold first, then the newest.
    pub fn claims(&self, is_kind: impl Fn(&Body) -> bool) -> Vec<&RangeClaim> {
        let all = self.sessions.iter().flat_map(|session| &session.claims);
        let mut out: Vec<&RangeClaim> = all.filter(|claim| is_kind(&claim.record.body)).collect();
        out.sort_by(|a, b| claims::order(a, b));
        out
    }

    /// The claims whose code is not as it was, of the range and from before it.
    pub fn lost(&self) -> impl Iterator<Item = &RangeClaim> {
        let own = self.sessions.iter().flat_map(|session| &session.claims);
        let is_lost = |claim: &&RangeClaim| claim.standing.places.iter().any(|place| place.state.is_lost());
        own.filter(is_lost).chain(&self.contradicted)
    }
}
