//! `export`, `import`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::Form;

/// Export all records as lines of JSON, or handoffs as Markdown files
///
/// With --jsonl, on standard output, for backups: records come as the bytes they are, each with the object it stands on:
/// {"commit":…,"record":{…}}. Records of versions and kinds that this program does not know, and lines that other tools wrote into
/// the notes, come along, and what was redacted is told. The lines are sorted, so that two clones with the same records give the same bytes.
///
/// With --markdown, below a folder: DIR/<ai>/<session>.md holds the handoffs of a session that are in force, oldest first, and
/// DIR/<ai>/<session>.json the same for programs. Where the name of an agent is no good name for a folder, its folder has another one,
/// which is told. Files that are there are replaced; others stay.
#[derive(Debug, Args)]
#[allow(missing_docs)]
#[command(group = ArgGroup::new("what").required(true))]
pub struct Export {
    /// Everything, as JSON lines
    #[arg(long, group = "what")]
    pub jsonl: bool,
    /// Handoffs, as files below this folder, which is made
    #[arg(long, value_name = "DIR", group = "what")]
    pub markdown: Option<PathBuf>,
    /// With --markdown: answer with exactly one JSON document on standard output, also on failure
    #[arg(long, conflicts_with = "jsonl")]
    pub json: bool,
}

/// Import what export wrote, or the notes of the Python tool empirica
///
/// Without --jsonl, reads the notes of the Python tool below refs/notes/empirica/ and makes records of them, on the commits they
/// annotate, with their own times and, under the key foreign, all that was said. Its notes stay as they are. A second time
/// changes nothing, and clones that both import have the same records. What is not understood is listed.
///
/// With --jsonl, takes in what export wrote: all lines or, when one is wrong, none. Any JSON that says the same will do:
/// records are stored as this program writes them, other lines as they are, in one commit a ref, and the Markdown of handoffs is rendered.
///
/// What is here already changes nothing. The commits that records stand on need not be here.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Import {
    /// JSON lines as export writes them: a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub jsonl: Option<PathBuf>,
    /// Count what the Python tool kept, and store nothing
    #[arg(long, conflicts_with = "jsonl")]
    pub dry_run: bool,
    #[command(flatten)]
    pub form: Form,
}
