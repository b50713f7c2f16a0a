//! Bounds the size of a checkpoint by shortening its derived texts.

use crate::text::shorten::short;
use empirica_notes::model::Checkpoint;
use empirica_notes::model::snapshot::{GitState, Snapshot};

/// Most bytes of a checkpoint as JSON.
pub const MAX_CHECKPOINT_BYTES: usize = 16 * 1024;
/// Bytes of its envelope, without the agent's name.
const ENVELOPE: usize = 640;
/// Most characters of a text and bytes of all paths, tried in order.
const LIMITS: [(usize, usize); 8] =
    [(1000, 4096), (500, 3072), (250, 2048), (120, 1024), (60, 512), (20, 256), (5, 128), (0, 0)];

/// Shortens derived texts and omits paths until the checkpoint of the agent `ai` has at most [`MAX_CHECKPOINT_BYTES`] bytes as JSON. Keeps
/// the agent's own input; returns `false` if that alone is too long.
pub fn bound(checkpoint: &mut Checkpoint, ai: &str) -> bool {
    let whole = checkpoint.clone();
    let envelope = ENVELOPE + serde_json::to_vec(ai).map_or(0, |json| json.len());
    let fits = |checkpoint: &Checkpoint| {
        serde_json::to_vec(checkpoint).is_ok_and(|json| json.len() + envelope <= MAX_CHECKPOINT_BYTES)
    };
    for (texts, paths) in LIMITS {
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
