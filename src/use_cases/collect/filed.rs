//! The records of a transcript's new part. The start and end of its session are dated as the transcript, on the commits of
//! these times.

use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};
use sha2::{Digest, Sha256};

use crate::context::{CommandContext, WorkingSession, records};
use crate::fold::collected::{pending_text, task_of};
use crate::fold::handoff_report::{GitWork, HandoffInput, report};
use crate::fold::session_records::SessionRecords;
use crate::text::shorten::short;
use empirica_notes::error::Result;
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::collected::Collected;
use empirica_notes::model::handoff::substance::Substance;
use empirica_notes::model::hash::fnv;
use empirica_notes::model::journal::Decision;
use empirica_notes::model::session::{SessionEnd, SessionStart};
use empirica_notes::model::{Body, Envelope, Handoff, Id, Record, SessionId};
use empirica_transcripts::model::{Role, Transcript};

/// Longest quotation of a message in its handoff, in characters.
const MAX_QUOTE: usize = 600;
/// The newest decisions, and failed commands, in its handoff.
const DECISIONS: usize = 8;
const FAILED: usize = 3;

/// How records are made of a transcript.
pub struct Filing<'f> {
    /// Whether it is one of all transcripts. Then the command names neither its session nor its agent; if the session is over,
    /// it gets a handoff, and all its records are dated as the transcript, with ids derived from it: clones that collect the same
    /// transcript store the same records.
    pub is_one_of_all: bool,
    /// When the transcript was changed last, RFC 3339, to date one without times.
    pub changed_at: Option<String>,
    /// The commit at a time, in seconds since 1970.
    pub commit_at: &'f dyn Fn(i64) -> Result<Option<Oid>>,
}

/// A transcript and its session.
pub struct Filed<'f> {
    pub context: &'f CommandContext<'f>,
    pub filing: &'f Filing<'f>,
    pub session: &'f WorkingSession,
    pub transcript: &'f Transcript,
    /// Its ID in records.
    pub id: &'f str,
    /// Whether the session is started for it.
    pub is_new: bool,
    /// Whether the session is new or has ended.
    pub is_over: bool,
}

fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in ["empirica-collect"].iter().chain(parts) {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().into()
}

/// The ID of the session started for a transcript.
pub fn session_id(transcript: &Transcript, id: &str) -> SessionId {
    let mut bits = [0; 16];
    bits.copy_from_slice(&digest(&[transcript.agent.name(), id])[..16]);
    SessionId::derived(bits)
}

fn parsed(time: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(time).ok().map(|time| time.to_utc())
}

impl Filed<'_> {
    /// The records of a new part: also the start, the end and the handoff of a session that is over.
    pub fn records(&self, added: &Collected) -> Result<Vec<Record>> {
        let part = Body::Transcript(Box::new(added.clone()));
        let new = |body| self.context.store.writer().new_record(&self.session.id, &self.session.ai, body);
        if !self.is_over {
            return Ok(vec![new(part)]);
        }
        let (began, ended) = (self.transcript.started_at.as_deref(), self.transcript.ended_at.as_deref());
        let mut out = Vec::new();
        if self.is_new {
            out.push(self.dated(Body::SessionStart(self.start()), began, 0)?);
        }
        out.push(if self.filing.is_one_of_all { self.dated(part, ended, 1)? } else { new(part) });
        let reason = Some("its transcript was collected".to_owned());
        let end = self.dated(Body::SessionEnd(SessionEnd { reason }), ended, 3)?;
        let handoff = self.handoff(&out, &end)?;
        out.extend(handoff.map(|handoff| self.dated(Body::Handoff(Box::new(handoff)), ended, 2)).transpose()?);
        out.push(end);
        Ok(out)
    }

    /// A record made at `time`; `rank` orders records of one time.
    fn dated(&self, body: Body, time: Option<&str>, rank: u64) -> Result<Record> {
        let mut envelope = self.context.store.writer().new_envelope(Some(&self.session.id), &self.session.ai);
        if let Some(time) = time.and_then(parsed) {
            if self.filing.is_one_of_all {
                envelope.id = self.derived_id(time, &body, rank);
            }
            envelope.at = time.to_rfc3339_opts(SecondsFormat::Millis, true);
            self.place(&mut envelope, time, matches!(body, Body::SessionStart(_)))?;
        }
        Ok(Record { envelope, body })
    }

    fn derived_id(&self, time: DateTime<Utc>, body: &Body, rank: u64) -> Id {
        let newest = self.context.store.now().timestamp_millis();
        let ms = u64::try_from(time.timestamp_millis().min(newest)).unwrap_or_default();
        let mut bits = [0; 10];
        let from = if let Body::Transcript(part) = body { part.from } else { 0 };
        let part = format!("{from}-{}", self.transcript.size);
        bits.copy_from_slice(&digest(&[self.session.id.as_str(), body.kind(), &part])[..10]);
        Id::derived(ms + rank, &bits)
    }

    /// Sets the commit: that of the transcript for its start, else that of the time.
    fn place(&self, envelope: &mut Envelope, time: DateTime<Utc>, is_start: bool) -> Result<()> {
        let repo = self.context.repo;
        let named = self.transcript.commit.as_deref().filter(|_| is_start).and_then(parse_oid);
        let commit = match named.filter(|commit| repo.is_commit(*commit)) {
            Some(commit) => Some(commit),
            None => (self.filing.commit_at)(time.timestamp())?,
        };
        if let Some(commit) = commit
            && let Ok(tree) = repo.tree_of(commit)
        {
            (envelope.commit, envelope.tree) = (Some(commit.to_string()), Some(tree.to_string()));
        }
        Ok(())
    }

    fn start(&self) -> SessionStart {
        let (worktree, place) = self.worktree();
        SessionStart {
            task: task_of(self.transcript),
            kind: None,
            external_id: Some(self.id.to_owned()),
            from: None,
            from_handoff: None,
            worktree,
            place,
        }
    }

    /// The name of the worktree that the transcript was made in, and its place.
    fn worktree(&self) -> (String, String) {
        let paths = self.context.store.paths();
        let here = || (paths.worktree().to_owned(), paths.worktree_id());
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let Some(cwd) = &self.transcript.cwd else {
            return here();
        };
        let folder = real(Path::new(cwd));
        let trees = self.context.repo.work_trees().into_iter();
        let trees = trees.map(|(name, root)| (name, real(&root))).filter(|(_, root)| folder.starts_with(root));
        match trees.max_by_key(|(_, root)| root.as_os_str().len()) {
            Some((_, root)) if self.context.repo.work_tree().is_some_and(|own| real(&own) == root) => here(),
            // work elsewhere gets another place
            found => (found.map_or("main".to_owned(), |(name, _)| name), format!("{:016x}", fnv(cwd.as_bytes()))),
        }
    }

    /// The handoff of the session with these new records; `None` if one is not wanted, an agent wrote one, or there is
    /// nothing to hand over.
    fn handoff(&self, new: &[Record], end: &Record) -> Result<Option<Handoff>> {
        if !self.filing.is_one_of_all {
            return Ok(None);
        }
        let stored = (!self.is_new).then(|| records::session(self.context, &self.session.id)).transpose()?;
        let mut all: Vec<&Record> = stored.iter().flat_map(|scan| scan.records()).chain(new).chain([end]).collect();
        all.sort_by(|a, b| a.envelope.id.cmp(&b.envelope.id));
        let Some(records) = SessionRecords::collect(all.iter().copied(), &self.session.id) else { return Ok(None) };
        if records.handoffs.iter().any(|(_, handoff)| !handoff.automatic) {
            return Ok(None);
        }
        let until = self.transcript.ended_at.as_deref().and_then(parsed).unwrap_or_else(|| self.context.store.now());
        let mut out = Handoff { automatic: true, ..report(&records, GitWork::default(), self.input(), until) };
        let said = self.transcript.decisions.iter().rev().take(DECISIONS).rev();
        out.decisions.extend(said.map(|text| Decision {
            text: text.clone(),
            why: String::new(),
            alternatives: Vec::new(),
            ..Default::default()
        }));
        Ok((Substance::of(&out) == Substance::Work).then_some(out))
    }

    /// What the transcript says for the next session: its pending tasks, a message without an answer; the last answer, and
    /// commands that still fail.
    fn input(&self) -> HandoffInput {
        let mut next_steps: Vec<String> = self.transcript.pending_tasks.iter().map(pending_text).collect();
        let messages = &self.transcript.messages;
        let unanswered = messages.last().filter(|last| last.role == Role::User);
        next_steps.extend(unanswered.map(|last| format!("unanswered: {}", short(&last.text, MAX_QUOTE))));
        let answer = messages.iter().rev().find(|message| message.role == Role::Assistant);
        let answer = answer.map(|message| &message.text).or(self.transcript.summary.as_ref());
        let failed = self.transcript.failed_commands.iter().rev().take(FAILED).cloned().collect::<Vec<_>>().join("; ");
        let failed = Some(failed)
            .filter(|failed| !failed.is_empty())
            .map(|failed| format!("Commands that still fail: {failed}"));
        let context: Vec<String> = answer.map(|text| short(text, MAX_QUOTE)).into_iter().chain(failed).collect();
        HandoffInput {
            next_steps: (!next_steps.is_empty()).then_some(next_steps),
            context: (!context.is_empty()).then(|| context.join("\n")),
            ..HandoffInput::default()
        }
    }
}
