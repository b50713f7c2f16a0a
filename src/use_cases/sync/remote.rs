//! An exchange with one remote.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::context::CommandContext;
use crate::use_cases::sync::exchange::{RefStatus, RefSync, RemoteSync, Transfer};
use crate::use_cases::sync::yielding::yield_claims;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::fault;
use empirica_notes::git::Oid;
use empirica_notes::git::remotes::transfer::{Pushed, TransferOptions};
use empirica_notes::git::remotes::{RemoteTarget, is_partial, transfer};
use empirica_notes::model::Namespace;
use empirica_notes::store::SyncPolicy;
use empirica_notes::store::{Leak, MARKDOWN_REF, RefComparison, TransferLines, data_ref, pause};

/// Most attempts while the remote keeps changing.
const ROUNDS: u32 = 12;
/// Most rejections of a ref as outdated while it is unchanged there.
const MAX_STALE_REJECTIONS: u32 = 3;

pub struct RemoteSyncRun<'t, 's> {
    pub context: &'t CommandContext<'s>,
    pub target: &'t RemoteTarget,
    pub options: TransferOptions,
    pub policy: SyncPolicy,
    /// Push records with secrets, too.
    pub allow_secret: bool,
    /// Push only redactions of records already sent.
    pub only_redactions: bool,
    /// What was fetched before: it is received now.
    pub fetched: TransferByRef,
}

pub type TransferByRef = BTreeMap<String, TransferLines>;

impl<'t, 's> RemoteSyncRun<'t, 's> {
    /// Of all records that the policy lets leave, without secrets.
    pub fn new(
        context: &'t CommandContext<'s>,
        target: &'t RemoteTarget,
        options: TransferOptions,
        policy: SyncPolicy,
    ) -> Self {
        let fetched = TransferByRef::new();
        RemoteSyncRun { context, target, options, policy, allow_secret: false, only_redactions: false, fetched }
    }
}

impl RemoteSyncRun<'_, '_> {
    /// Fetches tracking refs and reports what would be transferred; refs held back are warnings.
    pub fn dry_run(&self, warnings: &mut Vec<String>) -> Result<RemoteSync> {
        let (refs, _) = self.fetch()?;
        let (mut incoming, mut outgoing) = (TransferByRef::new(), TransferByRef::new());
        for compared in &refs {
            let (received, unsent) = self.context.store.remotes().lines_to_transfer(compared)?;
            incoming.insert(compared.name.clone(), received);
            outgoing.insert(compared.name.clone(), unsent);
        }
        let mut secret = None;
        for name in self.held(&refs, &mut secret, warnings)? {
            outgoing.remove(&name);
        }
        if let Some(leak) = secret {
            let error = leak_error(&leak);
            let commands: Vec<String> = error.commands().iter().map(ToString::to_string).collect();
            warnings.push(format!("{error}: {}", commands.join(", or ")));
        }
        Ok(self.synced(&refs, &incoming, &outgoing, 1, is_first(&refs)))
    }

    /// Fetches, and compares our refs with the remote's. Ensures that all objects for the merge are present.
    fn fetch(&self) -> Result<(Vec<RefComparison>, BTreeSet<String>)> {
        let repo = self.context.store.repo();
        let fetch = |whole| -> Result<(Vec<RefComparison>, BTreeSet<String>)> {
            let fetched = transfer::fetch(repo, self.target, &self.options, whole)?;
            Ok((self.context.store.remotes().compare_refs(&self.target.tracking, Some(&fetched))?, fetched))
        };
        let differs = |compared: &RefComparison| !compared.equal && compared.theirs.is_some();
        let found = fetch(false);
        let lacks = |found: &Result<(Vec<RefComparison>, BTreeSet<String>)>| match found {
            Ok((refs, _)) => refs.iter().any(|s| differs(s) && !self.context.store.remotes().is_whole(s)),
            // a tree is missing
            Err(error) => error.kind() == empirica_notes::error::Kind::Storage,
        };
        if is_partial(repo) && lacks(&found) { fetch(true) } else { found }
    }

    /// Fetches, merges and pushes until the remote has everything that may leave. Removes tracking refs that still
    /// reach redacted records.
    pub fn run(&self, warnings: &mut Vec<String>, say: &mut dyn FnMut(&str)) -> Result<RemoteSync> {
        let synced = self.run_once(warnings, say);
        let unredacted = self.context.store.redaction().forget_tracking(&self.target.tracking);
        let mut synced = synced?;
        synced.unredacted = unredacted?;
        for name in &synced.unredacted {
            warnings.push(format!("{} still has records in {name} that were redacted here", self.target.name));
        }
        Ok(synced)
    }

    fn run_once(&self, warnings: &mut Vec<String>, say: &mut dyn FnMut(&str)) -> Result<RemoteSync> {
        let store = &self.context.store;
        let (mut incoming, mut sent) = (self.fetched.clone(), TransferByRef::new());
        let mut first = false;
        let mut refused: BTreeMap<String, String> = BTreeMap::new();
        let mut outrun: BTreeMap<String, (Option<Oid>, u32)> = BTreeMap::new();
        let mut secret: Option<Leak> = None;
        let mut unread: BTreeMap<String, Error> = BTreeMap::new();
        for round in 1..=ROUNDS {
            let (mut refs, fetched) = self.fetch()?;
            fault::step("sync: fetched");
            first |= round == 1 && is_first(&refs);
            let mut outgoing = TransferByRef::new();
            for compared in refs.iter().filter(|compared| !compared.equal) {
                let (received, unsent) = match store.remotes().lines_to_transfer(compared) {
                    Ok(lines) => lines,
                    // the other refs go on
                    Err(error) if compared.theirs.is_some() => {
                        unread.insert(compared.name.clone(), error);
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                add(incoming.entry(compared.name.clone()).or_default(), received);
                outgoing.insert(compared.name.clone(), unsent);
            }
            refs.retain(|compared| !unread.contains_key(&compared.name));
            let allowed = |name: &str| self.policy.allows(name);
            if refs.iter().any(|compared| !compared.equal && compared.theirs.is_some()) {
                let (told, failed) = store.remotes().unite(&refs, allowed)?;
                warnings.extend(told);
                unread.extend(failed);
            }
            let handoffs = data_ref(Namespace::Handoffs);
            if let Some(unsent) = outgoing.get(&handoffs).filter(|_| allowed(&handoffs)) {
                match yield_claims(self.context, unsent) {
                    Ok(yielded) => warnings.extend(yielded),
                    // the least id decides then
                    Err(error) => warnings.push(format!("cannot compare claims: {}", error.in_one_line())),
                }
            }
            fault::step("sync: united");
            refs = store.remotes().compare_refs(&self.target.tracking, Some(&fetched))?;
            refs.retain(|compared| !unread.contains_key(&compared.name));
            if self.only_redactions {
                refs = refs.into_iter().map(|s| store.remotes().with_redactions_only(s)).collect::<Result<_>>()?;
            }
            let held = self.held(&refs, &mut secret, warnings)?;
            let held_tips =
                refs.iter().filter(|s| held.contains(&s.name)).filter_map(|s| Some((s.name.clone(), s.ours?)));
            store.server(&self.target.push).set_held_back(&held_tips.collect());
            let due: Vec<&RefComparison> = refs
                .iter()
                .filter(|s| !s.equal && allowed(&s.name) && !held.contains(&s.name) && !refused.contains_key(&s.name))
                .collect();
            let updates =
                due.iter().map(|compared| store.remotes().push_update(compared)).collect::<Result<Vec<_>>>()?;
            let updates: Vec<_> = updates.into_iter().flatten().collect();
            if updates.is_empty() {
                add_all(&mut outgoing, &sent);
                let synced = self.synced(&refs, &incoming, &outgoing, round, first);
                return self.result(synced, refused, secret, unread);
            }
            if first && sent.is_empty() && round == 1 {
                say(&self.first_message(&outgoing));
            }
            if store.redaction().is_incomplete() {
                return Err(Error::storage("cannot push: a redaction is incomplete")
                    .reason("cannot write a ref or a log; nothing is sent until this works")
                    .suggest("Find the cause, then sync again.")
                    .command(empirica("doctor")));
            }
            let pushed = transfer::push(store.repo(), self.target, &updates, &self.options)?;
            fault::step("sync: pushed");
            let mut done = Vec::new();
            for (update, pushed) in updates.iter().zip(pushed) {
                match pushed {
                    Pushed::Done => done.push((update.name.clone(), update.new)),
                    Pushed::LostRace(words) => {
                        let theirs = refs.iter().find(|s| s.name == update.name).and_then(|s| s.theirs);
                        let seen = outrun.entry(update.name.clone()).or_insert((theirs, 0));
                        *seen = (theirs, if seen.0 == theirs { seen.1 + 1 } else { 1 });
                        // the ref has not moved: the remote will not accept it
                        if seen.1 >= MAX_STALE_REJECTIONS {
                            refused.insert(update.name.clone(), words);
                        }
                    }
                    Pushed::Refused(words) => drop(refused.insert(update.name.clone(), words)),
                }
            }
            for (name, _) in &done {
                add(sent.entry(name.clone()).or_default(), outgoing.get(name).cloned().unwrap_or_default());
            }
            store.remotes().record_push(&self.target.tracking, &done)?;
            if updates.iter().all(|u| refused.contains_key(&u.name) || done.iter().any(|(name, _)| *name == u.name)) {
                add_all(&mut outgoing, &sent);
                let synced = self.synced(&refs, &incoming, &outgoing, round, first);
                return self.result(synced, refused, secret, unread);
            }
            self.wait_before_retry(round)?;
        }
        Err(Error::refused(format!("cannot sync: gave up after {ROUNDS} attempts: the remote kept changing"))
            .reason(format!("{} received other notes between each of our fetches and pushes", self.target.name))
            .suggest("Your records are safe here. Run it again.")
            .command(empirica("sync")))
    }

    /// Waits for a random time, so that concurrent clones do not stay in step.
    fn wait_before_retry(&self, round: u32) -> Result<()> {
        let pause = pause(round) * 4;
        let left = self.options.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left <= pause + Duration::from_millis(1)) {
            return Err(Error::refused("cannot sync: timed out (empirica.syncTimeout)")
                .reason("others pushed at the same moment")
                .suggest("Your records are safe here. Run it when you have the time.")
                .command(empirica("sync")));
        }
        std::thread::sleep(pause);
        Ok(())
    }

    /// Refs not to be pushed because they contain a secret. The Markdown is held back with its handoffs.
    fn held(
        &self,
        refs: &[RefComparison],
        secret: &mut Option<Leak>,
        warnings: &mut Vec<String>,
    ) -> Result<BTreeSet<String>> {
        let mut held = BTreeSet::new();
        for compared in refs.iter().filter(|compared| !compared.equal && self.policy.allows(&compared.name)) {
            let found = self.context.store.secret_scan().to_send(compared)?;
            if self.allow_secret {
                for leak in &found {
                    let warning = format!("{} holds a secret (rule {}) and was sent", leak.location(), leak.rule);
                    if !warnings.contains(&warning) {
                        warnings.push(warning);
                    }
                }
                continue;
            }
            let Some(found) = found.into_iter().next() else { continue };
            held.insert(compared.name.clone());
            if compared.name == data_ref(Namespace::Handoffs) {
                held.insert(MARKDOWN_REF.to_owned());
            }
            secret.get_or_insert(found);
        }
        Ok(held)
    }

    fn first_message(&self, outgoing: &TransferByRef) -> String {
        let leaving = outgoing.iter().filter(|(name, _)| self.policy.allows(name)).map(|(_, transferred)| transferred);
        let kinds: Vec<String> =
            Transfer::new(leaving).kinds.iter().map(|(kind, n)| format!("{} {n}", kind.replace('_', " "))).collect();
        let kinds = if kinds.is_empty() { "notes".to_owned() } else { kinds.join(", ") };
        format!("{} has no notes of this kind yet; publishing there: {kinds}", self.target.name)
    }

    fn synced(
        &self,
        refs: &[RefComparison],
        incoming: &TransferByRef,
        outgoing: &TransferByRef,
        rounds: u32,
        first: bool,
    ) -> RemoteSync {
        let size = |transfers: &TransferByRef, name: &str| {
            transfers.get(name).map_or(0, |t| if name == MARKDOWN_REF { t.notes } else { t.lines.len() })
        };
        let refs: Vec<RefSync> = refs
            .iter()
            .map(|compared| {
                let (received, unsent) = (size(incoming, &compared.name), size(outgoing, &compared.name));
                let sent = if self.policy.allows(&compared.name) { unsent } else { 0 };
                let status = match (received > 0, sent > 0) {
                    (true, true) => RefStatus::Exchanged,
                    (true, false) => RefStatus::Received,
                    (false, true) => RefStatus::Sent,
                    (false, false) if unsent > 0 => RefStatus::HeldBack,
                    (false, false) => RefStatus::Unchanged,
                };
                RefSync { name: compared.name.clone(), status, incoming: received, outgoing: sent }
            })
            .collect();
        let left = outgoing.iter().filter(|(name, _)| self.policy.allows(name)).map(|(_, transferred)| transferred);
        RemoteSync {
            remote: self.target.name.clone(),
            first,
            rounds,
            refs,
            incoming: Transfer::new(incoming.values()),
            outgoing: Transfer::new(left),
            unredacted: Vec::new(),
        }
    }

    /// The result, or the failures that remain.
    fn result(
        &self,
        synced: RemoteSync,
        refused: BTreeMap<String, String>,
        secret: Option<Leak>,
        unread: BTreeMap<String, Error>,
    ) -> Result<RemoteSync> {
        if let Some((name, error)) = unread.into_iter().next() {
            return Err(cannot_merge(&name, &self.target.name, error));
        }
        let words = refused.iter().next();
        // what fails at present is no refusal: the next push tries again
        let is_incomplete =
            |words: &str| words.contains("unpacker error") || words.contains("missing necessary objects");
        let refusal = words.map(|(_, words)| words.as_str());
        let passes = |words: &str| transfer::is_unwritable(words) || transfer::is_held(words);
        let refusal = refusal.filter(|words| !is_incomplete(words) && !passes(words));
        self.context.store.server(&self.target.push).set_refusal(refusal);
        if let Some((name, words)) = words {
            let error =
                Error::refused(format!("cannot push {name}: {} rejected it", self.target.name)).reason(words.clone());
            if transfer::is_unwritable(words) {
                return Err(error
                    .suggest("Your records are safe here. The server cannot write: sync again when it can.")
                    .command(empirica("sync")));
            }
            if transfer::is_held(words) {
                return Err(error
                    .suggest("Your records are safe here. Another push may be under way: sync again. If it is not, a process died there: ask the server's administrator to remove the lock.")
                    .command(empirica("sync")));
            }
            // the remote lacks objects that are unreadable here
            if is_incomplete(words) {
                return Err(error
                    .suggest("An object of the notes or their history may be damaged or missing. Run doctor; if that does not help, rewrite the notes without the object, and sync again.")
                    .command(empirica("doctor"))
                    .command(empirica("flush").flag("--without-damaged")));
            }
            return Err(error
                .suggest(
                    "Your records are safe here. Ask the server's administrator to allow refs/notes/empirica/*, or set empirica.remote to another remote.",
                )
                .command("git config empirica.sync off"));
        }
        secret.map_or(Ok(synced), |leak| Err(held_back(&leak)))
    }
}

/// Why a ref was held back. Names the field and the rule, never the secret.
fn held_back(leak: &Leak) -> Error {
    leak_error(leak).command(empirica("sync").flag("--allow-secret"))
}

fn leak_error(leak: &Leak) -> Error {
    let field = leak.field.as_ref().map_or_else(String::new, |field| format!(" in {field}"));
    let error = Error::refused(format!("cannot send the notes: {} holds a secret", leak.location()))
        .reason(format!("the rule {} matched{field}, in records not sent before", leak.rule))
        .suggest("Change the secret and redact it; or send it if it is none.");
    leak.remedies().into_iter().fold(error, Error::command)
}

fn cannot_merge(name: &str, remote: &str, error: Error) -> Error {
    let commands = error.commands().to_vec();
    let out = Error::storage(format!("cannot merge {name} of {remote}: {}", error.in_one_line()))
        .suggest("Your records are safe here. Where the ref comes from, it must be set back.");
    commands.into_iter().fold(out, Error::command)
}

fn is_first(refs: &[RefComparison]) -> bool {
    refs.iter().all(|compared| compared.theirs.is_none())
}

fn add(to: &mut TransferLines, more: TransferLines) {
    to.lines.extend(more.lines);
    to.lines.sort();
    to.lines.dedup();
    to.notes = to.notes.max(more.notes);
}

fn add_all(to: &mut TransferByRef, more: &TransferByRef) {
    for (name, transferred) in more {
        add(to.entry(name.clone()).or_default(), transferred.clone());
    }
}
