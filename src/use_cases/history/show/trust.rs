//! Provenance of records: committers and signatures.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::claims::signed::{CheckedSignature, SignatureState, Verification};
use crate::render::answer::Answer;
use crate::render::safe;
use crate::use_cases::handoff::sign::SignOutcome;
use crate::use_cases::history::record_line;
use crate::use_cases::history::show::committer::{Committed, Committers};
use crate::use_cases::history::show::record::PointView;
use empirica_notes::error::{Error, empirica};
use empirica_notes::model::Id;
use empirica_notes::store::LineOrigin;

fn name(by: &LineOrigin) -> String {
    safe::words(&format!("{} <{}>", by.name, by.email)).replace("\\<", "<")
}

/// Where a record is from.
#[derive(Serialize, JsonSchema)]
pub struct CommittedView<'a> {
    /// Its committer; null if unknown.
    committed_by: Option<&'a LineOrigin>,
    /// Whether its committer is known to differ from that of its session's start.
    committed_by_other: bool,
    /// Other records with its id: of them all, the one with the greater bytes counts. Absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_versions: Vec<PointView<'a>>,
}

/// Adds the committer and other versions to the answer of `show`, and `in_text` lines of text.
pub fn committed(answer: Answer, committed: &Committed, in_text: bool) -> Answer {
    let view = CommittedView {
        committed_by: committed.by.as_ref(),
        committed_by_other: committed.is_other(),
        other_versions: committed.other_versions.iter().map(PointView::from).collect(),
    };
    let mut answer = answer.with(view);
    if !in_text {
        return answer;
    }
    for other in &committed.other_versions {
        let by = safe::words(&other.envelope.ai);
        let text = safe::indented(&record_line::text(other), 4);
        answer.text.push_str(&format!("\nAnother version of it, by {by}:\n    {text}\n"));
    }
    let Some(by) = &committed.by else { return answer };
    answer.text.push_str(&format!("\nCommitted by {}.\n", name(by)));
    if let Some(start) = committed.start.as_ref().filter(|_| committed.is_other()) {
        answer.text.push_str(&format!("The start of its session was committed by {}.\n", name(start)));
    }
    answer
}

/// Committers of a session's records.
#[derive(Serialize, JsonSchema)]
pub struct CommittersView<'a> {
    /// The committers, in order of first record; unknown ones last.
    committers: Vec<CommitterCountView<'a>>,
    /// Records not committed by the committer of the session's start.
    committed_by_others: Vec<CommittedByOtherView<'a>>,
}

/// A committer of records of a session.
#[derive(Serialize, JsonSchema)]
struct CommitterCountView<'a> {
    /// The name; null if the committer is unknown.
    name: Option<&'a str>,
    /// The email address; null likewise.
    email: Option<&'a str>,
    /// Number of records.
    records: usize,
}

/// A record not committed by the committer of its session's start.
#[derive(Serialize, JsonSchema)]
struct CommittedByOtherView<'a> {
    /// The record.
    id: &'a Id,
    /// Its kind.
    kind: &'a str,
    /// Its agent, as claimed.
    ai_id: &'a str,
    /// Its committer.
    committed_by: &'a LineOrigin,
}

/// Adds the committers to the answer about a session; in the text only if there are several.
pub fn session(answer: Answer, committers: &Committers) -> Answer {
    let all = committers.all.iter().map(|(by, records)| {
        let (name, email) = by.as_ref().map(|by| (by.name.as_str(), by.email.as_str())).unzip();
        CommitterCountView { name, email, records: *records }
    });
    let others = committers.others.iter().map(|(head, kind, by)| CommittedByOtherView {
        id: &head.id,
        kind,
        ai_id: &head.ai,
        committed_by: by,
    });
    let mut answer = answer.with(CommittersView { committers: all.collect(), committed_by_others: others.collect() });
    if !committers.others.is_empty() {
        answer.text.push_str("\nNot committed by the committer of the session's start:\n");
    }
    for (head, kind, by) in &committers.others {
        let what = format!("{} {}", head.id.short(), kind.replace('_', " "));
        answer.text.push_str(&format!("  {what} by {}, committed by {}\n", safe::words(&head.ai), name(by)));
    }
    answer
}

pub fn signed(outcome: &SignOutcome) -> Answer {
    Answer::new(outcome)
        .text(format!("{}\n", outcome.signature_id.short()))
        .say(format!("Signed handoff {}.", outcome.of.short()))
        .hint(empirica("show").arg(outcome.of.short()).flag("--verify"))
        .stored(&outcome.stored)
}

/// Signature check of `--verify`. The command fails unless the state is `good`.
#[derive(Serialize, JsonSchema)]
pub struct VerifiedView<'a> {
    /// Verification of signatures; absent without `--verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<&'a Verification>,
}

/// Adds the verification to the answer of `show`, under `verification` and at the end of the text. Fails unless a
/// signature is good.
pub fn verified(answer: Answer, verification: &Verification) -> Answer {
    let mut answer = answer.with(VerifiedView { verification: Some(verification) });
    for checked in &verification.signatures {
        answer.text.push_str(&format!("\nSignature {}: {}\n", checked.signature_id.short(), description(checked)));
    }
    if verification.state != SignatureState::Good {
        let id = verification.of.short();
        let error = Error::refused(format!("cannot verify handoff {id}: it has no good signature"))
            .reason(reason(verification));
        answer.failed = Some(match verification.state {
            SignatureState::UnknownKey => error
                .suggest("If you know the key, tell git so: import it, or add it to the file of allowed signers.")
                .command("git config --get gpg.ssh.allowedSignersFile || true"),
            SignatureState::Unsigned => {
                error.suggest("Its author can still sign it.").command(empirica("handoff sign").arg(id))
            }
            _ => {
                error.suggest("Do not rely on it before its author has confirmed it.").command(empirica("show").arg(id))
            }
        });
    }
    answer
}

fn description(checked: &CheckedSignature) -> String {
    let signer = checked.git.signer.as_ref().map(|signer| format!(" by {}", safe::words(signer)));
    let key = checked.git.fingerprint.as_ref().or(checked.git.key.as_ref());
    let key = key.map(|key| format!(", key {}", safe::words(key)));
    format!("{}{}{}", meaning(checked.state), signer.unwrap_or_default(), key.unwrap_or_default())
}

fn meaning(state: SignatureState) -> &'static str {
    match state {
        SignatureState::Good => "good",
        SignatureState::UnknownKey => "its key is unknown or untrusted here",
        SignatureState::Expired => "it or its key has expired or was revoked",
        SignatureState::OtherText => "it signs a text other than the stored handoff",
        SignatureState::Bad => "bad: it does not fit what it signs",
        SignatureState::Unsigned => "there is none",
    }
}

fn reason(verification: &Verification) -> String {
    let words = verification.signatures.first().map(|best| best.git.words.lines().collect::<Vec<_>>().join("; "));
    match words.filter(|words| !words.is_empty()) {
        Some(words) => format!("{}; git says: {}", meaning(verification.state), safe::line(&words)),
        None => meaning(verification.state).to_owned(),
    }
}
