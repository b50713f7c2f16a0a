//! `embed`.

use crate::cli::commands::prelude::*;
use crate::cli::progress::Progress;
use crate::use_cases::meaning::update::{self, EmbedRequest};
use crate::use_cases::meaning::view;

/// Compute the vectors of records, for search by meaning
///
/// With empirica.embed.url and empirica.embed.model, the texts go to an endpoint that has the embeddings API of OpenAI, such as Ollama,
/// llama.cpp, vLLM or a hosted one; its key is in EMPIRICA_EMBED_KEY or git's credential helper. With empirica.embed.model alone, the
/// folder of a static model in the format of model2vec, they stay on this machine. From then on search finds records by meaning,
/// too, and computes the vectors of new ones in the background. The vectors are kept in the git directory, never in the notes.
///
/// With empirica.qdrant.url, texts and vectors also go to a collection of that Qdrant server, in which a team searches all its
/// repositories: search --repository.
#[derive(Debug, Args)]
pub struct Embed {
    /// Compute all of them anew
    #[arg(long)]
    pub rebuild: bool,
    /// Send nothing anywhere for the first time
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
            &mut |beginning| written = context.output.say(&view::begins(&beginning)),
            &mut |done, total| progress.set(done, total),
        );
        written.and(outcome).map(|outcome| view::answer(&outcome))
    }
}
