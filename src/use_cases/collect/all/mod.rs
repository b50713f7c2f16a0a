//! Collects all transcripts of the repository that the agents on this machine keep.

pub mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::context::caller::stored_id;
use crate::context::stored::StoreReport;
use crate::use_cases::collect::filed::Filing;
use crate::use_cases::collect::seen::SeenTranscripts;
use crate::use_cases::collect::{id_of, prepare_read, sessions_with_external_id};
use crate::use_cases::meaning;
use crate::use_cases::sync::policy::destinations;
use empirica_notes::error::{Command, Error, Result, empirica};
use empirica_notes::git::history::FirstParents;
use empirica_notes::git::{parse_oid, remotes};
use empirica_notes::model::{Body, Record, SessionId};
use empirica_notes::store::FlushTiming;
use empirica_notes::store::SyncPolicy;
use empirica_transcripts::find;
use empirica_transcripts::find::{FoundTranscript, FoundTranscripts};
use empirica_transcripts::model::{Agent, Tokens, Transcript};

/// A transcript changed so recently may be of a session that goes on.
const IN_USE: Duration = Duration::from_secs(5 * 60);
/// The most transcripts, and bytes of them, whose records are stored at once.
const BATCH: usize = 64;
const BATCH_BYTES: u64 = 64 << 20;
/// How long to wait for another process that collects.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Default)]
pub struct CollectAllRequest {
    /// A folder where the repository was earlier.
    pub earlier: Option<String>,
    /// Only the transcripts of this one.
    pub agent: Option<Agent>,
    pub dry_run: bool,
}

/// The transcripts of an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentTranscripts {
    /// The agent.
    pub agent: Agent,
    /// How many it has.
    pub transcripts: usize,
    /// How many of them were not collected, or have changed since.
    pub new: usize,
    /// The earliest time in them, RFC 3339 UTC.
    pub since: Option<String>,
    /// Their size.
    pub bytes: u64,
}

/// A transcript that could not be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailedTranscript {
    /// Its file.
    pub path: String,
    /// The agent's own id of the session; null if the file has only one.
    #[serde(rename = "external_id")]
    pub session: Option<String>,
    /// Why.
    pub error: String,
}

/// Transcripts of which nothing shows whose they are.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UnprovenView")]
pub struct UnprovenTranscripts {
    /// The folder they were made in: it no longer exists, or they name a remote of another repository.
    pub folder: String,
    /// How many they are.
    pub transcripts: usize,
    /// The command that collects them, too.
    #[schemars(with = "String")]
    pub command: Command,
}

/// All transcripts of the repository on this machine.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "CollectedAllView")]
pub struct CollectAllOutcome {
    /// Whether nothing was read and stored.
    pub dry_run: bool,
    /// The agents that have any.
    pub agents: Vec<AgentTranscripts>,
    /// The number of transcripts with new parts.
    pub collected: usize,
    /// The sessions started for them.
    pub new_sessions: usize,
    /// The handoffs written for them: by each session that is over and has something to hand over.
    pub handoffs: usize,
    /// The number of new rows.
    pub rows: u64,
    /// The number of rows not read: invalid JSON, or longer than 16 MB.
    pub skipped_rows: u64,
    /// The new tokens, each message of the API once.
    pub tokens: Tokens,
    /// The number of transcripts left out as they changed within the last 5 minutes: their sessions may go on.
    pub in_use: usize,
    /// The transcripts that could not be read.
    pub failed: Vec<FailedTranscript>,
    /// The transcripts left out as nothing shows whose they are, by folder.
    pub unproven: Vec<UnprovenTranscripts>,
    /// The remotes to which the next push or `sync` sends the records.
    pub sent_to: Vec<String>,
    /// Warnings and remedies of storing.
    #[serde(skip)]
    pub stored: StoreReport,
}

impl CollectAllOutcome {
    /// How many of the transcripts were not collected before, or have changed since.
    pub fn changed(&self) -> usize {
        self.agents.iter().map(|agent| agent.new).sum()
    }

    /// The earliest time in the transcripts.
    pub fn since(&self) -> Option<&str> {
        self.agents.iter().filter_map(|agent| agent.since.as_deref()).min()
    }
}

/// Finds the repository's transcripts; reads none.
pub fn list(context: &CommandContext<'_>, request: &CollectAllRequest) -> CollectAllOutcome {
    let seen = SeenTranscripts::load(context);
    let found = find_all(context, request, &seen.earlier);
    outcome(context, request, &found, &seen)
}

/// Collects the repository's transcripts, oldest first, and unless it is a dry run, stores their new parts: of sessions that are
/// over also their start, end and a handoff. A transcript that cannot be read stops none of the others. `progress` receives
/// the transcripts done and their total.
pub fn run(
    context: &CommandContext<'_>,
    request: &CollectAllRequest,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<CollectAllOutcome> {
    let mut seen = SeenTranscripts::load(context);
    if let Some(folder) = &request.earlier {
        let folder = context.env.cwd.join(folder);
        if !seen.earlier.contains(&folder) {
            seen.earlier.push(folder);
        }
    }
    let found = find_all(context, request, &seen.earlier);
    let mut outcome = outcome(context, request, &found, &seen);
    if request.dry_run {
        return Ok(outcome);
    }
    let transcripts = found.transcripts;
    if request.agent.is_none() {
        seen.keep(&transcripts);
    }
    let oldest = transcripts.iter().map(|found| began(found).timestamp()).min().unwrap_or_default();
    let commits = FirstParents::since(context.repo, oldest)?;
    let mut batch = Batch { context, commits, outcome: &mut outcome, seen: &mut seen, read: Vec::new(), bytes: 0 };
    let total = transcripts.len();
    let (mut done, mut forks) = (0, Vec::new());
    for at in 0..total {
        progress(done, total);
        match batch.add(&transcripts[at], &transcripts[at + 1..])? {
            Read::Done => done += 1,
            Read::AfterParent => forks.push(at),
        }
    }
    batch.store()?;
    for at in forks.into_iter().rev() {
        progress(done, total);
        batch.add(&transcripts[at], &[])?;
        done += 1;
    }
    batch.store()?;
    progress(total, total);
    seen.save(context);
    meaning::update_in_background(context);
    Ok(outcome)
}

fn find_all(context: &CommandContext<'_>, request: &CollectAllRequest, earlier: &[PathBuf]) -> FoundTranscripts {
    let (repo, env) = (context.repo, context.env);
    let roots: Vec<PathBuf> = repo.work_trees().into_iter().map(|(_, root)| root).collect();
    let urls: Vec<String> = remotes::names(repo).iter().flat_map(|name| urls(context, name)).collect();
    let repository = find::Repository {
        roots: &roots,
        earlier,
        cwd: &env.cwd,
        has_commit: &|commit| parse_oid(commit).is_some_and(|commit| repo.is_commit(commit)),
        has_remote: &|remote| urls.iter().any(|url| is_end_of(&location(remote), url)),
    };
    find::all(&|name| env.get(name).map(PathBuf::from), &repository, request.agent)
}

/// The locations of a remote.
fn urls(context: &CommandContext<'_>, name: &str) -> Vec<String> {
    let keys = ["url", "pushurl"].map(|key| format!("remote.{name}.{key}"));
    keys.iter().flat_map(|key| context.repo.config_all(key)).map(|url| location(&url)).collect()
}

/// Host and path of a URL, however it is written: `https://user@host/path.git`, `host:path`.
fn location(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
    let rest = if scheme.is_empty() { rest.replacen(':', "/", 1) } else { rest.to_owned() };
    rest.trim_end_matches('/').trim_end_matches(".git").trim_end_matches('/').to_lowercase()
}

/// Whether a location is `url`, or its last parts.
fn is_end_of(location: &str, url: &str) -> bool {
    location.contains('/') && url.strip_suffix(location).is_some_and(|host| host.is_empty() || host.ends_with('/'))
}

/// The time at which a transcript begins, as far as known without reading it.
fn began(found: &FoundTranscript) -> DateTime<Utc> {
    let written = found.started_at.as_deref().and_then(|time| DateTime::parse_from_rfc3339(time).ok());
    written.map_or_else(|| found.modified.into(), |time| time.to_utc())
}

fn outcome(
    context: &CommandContext<'_>,
    request: &CollectAllRequest,
    found: &FoundTranscripts,
    seen: &SeenTranscripts,
) -> CollectAllOutcome {
    let of_agent = |agent| {
        let all: Vec<&FoundTranscript> = found.transcripts.iter().filter(|found| found.agent == agent).collect();
        let since = all.iter().map(|found| began(found)).min();
        AgentTranscripts {
            agent,
            transcripts: all.len(),
            new: all.iter().filter(|found| !seen.has(context, found)).count(),
            since: since.map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true)),
            bytes: all.iter().map(|found| found.bytes).sum(),
        }
    };
    let is_sent = SyncPolicy::configured(context.repo).is_ok_and(|policy| policy != SyncPolicy::Nothing);
    CollectAllOutcome {
        dry_run: request.dry_run,
        agents: Agent::ALL.into_iter().map(of_agent).filter(|agent| agent.transcripts > 0).collect(),
        unproven: unproven(&found.unproven),
        sent_to: if is_sent { destinations(context.repo) } else { Vec::new() },
        ..CollectAllOutcome::default()
    }
}

/// The folders with the most transcripts first.
fn unproven(found: &BTreeMap<String, usize>) -> Vec<UnprovenTranscripts> {
    let one = |(folder, transcripts): (&String, &usize)| UnprovenTranscripts {
        folder: folder.clone(),
        transcripts: *transcripts,
        command: empirica("collect").flag("--all").arg(folder),
    };
    let mut out: Vec<UnprovenTranscripts> = found.iter().map(one).collect();
    out.sort_by_key(|one| std::cmp::Reverse(one.transcripts));
    out
}

/// Transcripts that were read, whose records are to be stored at once.
struct Batch<'b, 'c> {
    context: &'b CommandContext<'c>,
    commits: FirstParents,
    outcome: &'b mut CollectAllOutcome,
    seen: &'b mut SeenTranscripts,
    read: Vec<(FoundTranscript, Transcript)>,
    bytes: u64,
}

#[derive(PartialEq)]
enum Read {
    Done,
    /// To be read again after the transcript of its parent, which it names.
    AfterParent,
}

impl Batch<'_, '_> {
    /// Reads a transcript, unless it is unchanged since it was read, or a fork of one of `later`.
    fn add(&mut self, found: &FoundTranscript, later: &[FoundTranscript]) -> Result<Read> {
        if self.seen.has(self.context, found) {
            return Ok(Read::Done);
        }
        match find::read(found) {
            Ok(transcript) if is_empty(&transcript) => self.seen.add(found, None),
            Ok(transcript) if is_fork_of_any(&transcript, later) => return Ok(Read::AfterParent),
            Ok(transcript) => {
                self.bytes += found.bytes;
                self.read.push((found.clone(), transcript));
            }
            Err(error) => self.fail(found, &Error::from(error)),
        }
        if self.read.len() >= BATCH || self.bytes >= BATCH_BYTES {
            self.store()?;
        }
        Ok(Read::Done)
    }

    fn fail(&mut self, found: &FoundTranscript, error: &Error) {
        let (path, session) = (found.path.display().to_string(), found.session.clone());
        self.outcome.failed.push(FailedTranscript { path, session, error: error.in_one_line() });
    }

    /// Stores the new parts.
    fn store(&mut self) -> Result<()> {
        self.bytes = 0;
        let read = std::mem::take(&mut self.read);
        if read.is_empty() {
            return Ok(());
        }
        // another process may have collected some meanwhile
        let _alone = self.context.store.try_lock("collecting", PATIENCE).ok_or_else(busy)?;
        let mut records: Vec<Record> = Vec::new();
        let mut sessions: Vec<(FoundTranscript, SessionId)> = Vec::new();
        let mut ids = BTreeSet::new();
        for (found, transcript) in read {
            let id = id_of(&transcript, &found.path);
            let parent = transcript.parent.as_deref().map(|parent| stored_id(transcript.agent.name(), parent));
            if !ids.insert(id.clone()) || parent.is_some_and(|parent| ids.contains(&parent)) {
                // its new part or its session depends on one that is not stored yet
                self.write(std::mem::take(&mut records))?;
            }
            if is_in_use(&found) && sessions_with_external_id(self.context, &id)?.is_empty() {
                self.outcome.in_use += 1;
                continue;
            }
            let changed_at: DateTime<Utc> = found.modified.into();
            let filing = Filing {
                is_one_of_all: true,
                changed_at: Some(changed_at.to_rfc3339_opts(SecondsFormat::Millis, true)),
                commit_at: &|time| self.commits.at(self.context.repo, time),
            };
            let collection = match prepare_read(self.context, found.path.clone(), transcript, &filing) {
                Ok(collection) => collection,
                Err(error) => {
                    self.fail(&found, &error);
                    continue;
                }
            };
            if let Some(added) = &collection.added {
                self.outcome.collected += 1;
                self.outcome.new_sessions += usize::from(collection.is_new_session);
                self.outcome.rows += added.rows;
                self.outcome.skipped_rows += added.skipped_rows;
                self.outcome.tokens = self.outcome.tokens.plus(added.tokens);
            }
            self.outcome.stored.warnings.extend(collection.warnings);
            records.extend(collection.records);
            sessions.push((found, collection.session.id));
        }
        self.write(records)?;
        for (found, session) in sessions {
            self.seen.add(&found, Some(session));
        }
        self.seen.save(self.context);
        Ok(())
    }

    fn write(&mut self, records: Vec<Record>) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        self.outcome.handoffs += records.iter().filter(|record| matches!(record.body, Body::Handoff(_))).count();
        self.outcome.stored.add(&mut self.context.store.writer().append(records, FlushTiming::Now)?);
        Ok(())
    }
}

/// Whether nothing in a transcript is worth a session: nobody said or did anything.
fn is_empty(transcript: &Transcript) -> bool {
    transcript.messages.is_empty() && transcript.tools.is_empty() && transcript.tokens.sum() == 0
}

fn is_fork_of_any(transcript: &Transcript, found: &[FoundTranscript]) -> bool {
    let parent = transcript.parent.as_deref();
    parent.is_some_and(|parent| found.iter().any(|one| one.agent == transcript.agent && one.is_of(parent)))
}

fn is_in_use(found: &FoundTranscript) -> bool {
    // a time ahead of the clock is recent
    SystemTime::now().duration_since(found.modified).map_or(true, |age| age < IN_USE)
}

fn busy() -> Error {
    Error::refused("cannot collect: another process is collecting transcripts")
        .reason(format!("timed out after {} s", PATIENCE.as_secs()))
        .suggest("Wait until it is done, then repeat the command: what was stored is kept.")
        .command(empirica("collect").flag("--all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_is_known_in_each_form_of_its_url() {
        let url = location("https://user:secret@Example.com/Owner/name.git/");
        for form in ["git@example.com:owner/name.git", "ssh://git@example.com/owner/name", "owner/name"] {
            assert!(is_end_of(&location(form), &url), "{form}");
        }
        for form in ["name", "ner/name", "example.com/owner/name2", "other.com/owner/name", ""] {
            assert!(!is_end_of(&location(form), &url), "{form}");
        }
    }
}
