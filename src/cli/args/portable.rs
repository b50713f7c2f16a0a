//! `export`, `import`.

use std::path::PathBuf;

use clap::Args;

use super::Form;

/// Write everything that is stored to standard output, a line each, for backups and tests
///
/// Records come as the bytes they are, each with the object it stands on: {"commit":…,"record":{…}}. Records of
/// versions and kinds that this program does not know, and lines that other tools wrote into the notes, come along. The
/// lines are sorted, so that two clones with the same records give the same bytes. What was redacted stays out.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Export {
    /// As JSON lines
    #[arg(long, required = true)]
    pub jsonl: bool,
}

/// Take in what export wrote: all lines or, when one is wrong, none
///
/// What is here already changes nothing. Lines are stored as the bytes they are, in one commit a ref, and the Markdown of
/// handoffs is rendered. The commits they stand on need not be here.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Import {
    /// The JSON lines: a file, or - for standard input
    #[arg(long, value_name = "FILE", required = true)]
    pub jsonl: PathBuf,
    #[command(flatten)]
    pub form: Form,
}
