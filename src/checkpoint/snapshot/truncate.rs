//! A snapshot bounded: its texts are shortened until it fits.

use crate::text::shorten::short;
use empirica_notes::model::Checkpoint;
use empirica_notes::model::snapshot::{GitState, Snapshot};

/// The most bytes of a checkpoint as JSON.
pub const MOST: usize = 16 * 1024;
/// What its envelope takes, without the agent's name.
const ENVELOPE: usize = 640;
/// How many characters of a text are kept: the first that fits.
const TEXTS: [usize; 8] = [1000, 500, 250, 120, 60, 20, 5, 0];
/// How many bytes of paths are kept with each of them.
const PATHS: [usize; 8] = [4096, 3072, 2048, 1024, 512, 256, 128, 0];

/// Shortens the derived texts and leaves out paths until the checkpoint of the agent `ai`, as JSON, is at most [`MOST`]
/// bytes. What the agent said with the checkpoint is not touched. `false` when that alone is too much.
pub fn bound(checkpoint: &mut Checkpoint, ai: &str) -> bool {
    let whole = checkpoint.clone();
    let taken = ENVELOPE + serde_json::to_vec(ai).map_or(0, |json| json.len());
    let fits = |checkpoint: &Checkpoint| serde_json::to_vec(checkpoint).is_ok_and(|json| json.len() + taken <= MOST);
    for (texts, paths) in TEXTS.into_iter().zip(PATHS) {
        checkpoint.snapshot = whole.snapshot.clone().map(|snapshot| shortened(snapshot, texts));
        checkpoint.git_state = whole.git_state.clone().map(|state| with_fewer_paths(state, texts, paths));
        if fits(checkpoint) {
            return true;
        }
    }
    false
}

fn with_fewer_paths(mut state: GitState, texts: usize, most: usize) -> GitState {
    let changes = &mut state.uncommitted_changes;
    let all = changes.paths.len();
    let mut bytes = 0;
    changes.paths.retain(|path| {
        bytes += path.len() + 3;
        bytes <= most
    });
    changes.paths_omitted += (all - changes.paths.len()) as u64;
    for commit in &mut state.commits_since_last_checkpoint {
        commit.message = short(&commit.message, texts);
    }
    state
}

fn shortened(mut s: Snapshot, most: usize) -> Snapshot {
    let cut = |text: &mut String| *text = short(text, most);
    s.reasoning.latest.as_mut().map(cut);
    s.reasoning.trajectory.iter_mut().for_each(|thought| cut(&mut thought.reasoning));
    s.reasoning.epistemic_tags.iter_mut().for_each(cut);
    let crumbs = &mut s.breadcrumbs;
    crumbs.findings.recent.iter_mut().for_each(|seen| cut(&mut seen.finding));
    crumbs.unknowns.recent.iter_mut().for_each(|seen| cut(&mut seen.unknown));
    for seen in &mut crumbs.dead_ends.recent {
        cut(&mut seen.approach);
        cut(&mut seen.why_failed);
    }
    for seen in &mut crumbs.mistakes.recent {
        cut(&mut seen.mistake);
        seen.prevention.as_mut().map(cut);
    }
    if let Some(goal) = &mut s.goals.current {
        cut(&mut goal.objective);
    }
    if let Some(handoff) = &mut s.handoffs.most_recent {
        cut(&mut handoff.summary);
        cut(&mut handoff.from_ai);
    }
    cut(&mut s.session.ai_id);
    s.session.task.as_mut().map(cut);
    cut(&mut s.project.name);
    s.project.description.as_mut().map(cut);
    s.project.repos.iter_mut().for_each(cut);
    s.project.ai_collaborators.iter_mut().for_each(cut);
    s.project.active_sessions.iter_mut().for_each(|session| cut(&mut session.ai_id));
    for chain in &mut s.investigation.breadcrumb_chains {
        let links = [&mut chain.finding, &mut chain.led_to_unknown, &mut chain.led_to_finding, &mut chain.led_to_fix];
        links.into_iter().flatten().for_each(cut);
    }
    s.investigation.exploration_paths.iter_mut().for_each(cut);
    if let Some(context) = &mut s.semantic_context {
        cut(&mut context.query);
        for found in &mut context.results {
            cut(&mut found.text);
            cut(&mut found.ai_id);
        }
    }
    for doc in &mut s.reference_docs.recent {
        cut(&mut doc.path);
        cut(&mut doc.kind);
    }
    s
}
