//! `embed`.

use crate::cli::commands::prelude::*;
use crate::cli::progress::Progress;
use crate::use_cases::meaning::update::{self, EmbedRequest};
use crate::use_cases::meaning::view;

/// Compute the vectors of records, for search by meaning
///
/// The model is that of an endpoint with OpenAI's embeddings API (empirica.embed.url and empirica.embed.model), whose key is in
/// EMPIRICA_EMBED_KEY or git's credential helper, or a static model in a folder (empirica.embed.model alone). Tells which texts leave
/// the machine before it sends any. Later searches compute missing vectors in the background. The git directory holds them.
///
/// With empirica.qdrant.url, also sends texts and vectors to that Qdrant server, for search --repository.
#[derive(Debug, Args)]
pub struct Embed {
    /// Recompute all vectors
    #[arg(long)]
    pub rebuild: bool,
    /// Refuse to send to a server for the first time
    #[arg(long, hide = true)]
    pub unasked: bool,
}

impl Embed {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let opened = context.open(Selection::default())?;
        let progress = Progress::new(context.output, "computing vectors");
        let mut written = Ok(());
        let outcome = update::run(
            &opened,
            EmbedRequest { rebuild: self.rebuild, unasked: self.unasked },
            &mut |announcement| written = context.output.say(&view::announce(&announcement)),
            &mut |done, total| progress.set(done, total),
        );
        written.and(outcome).map(|outcome| view::answer(&outcome))
    }
}
