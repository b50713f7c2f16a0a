//! The instructions for agents, and the answer of `instructions`.

use minijinja::context;
use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::format;
use crate::render::template::Templates;
use crate::use_cases::setup;
use crate::use_cases::setup::agents::instructions::InstructionsOutcome;
use crate::use_cases::setup::agents::readers::{InstructionFile, Reader};
use crate::use_cases::setup::view::ChangeView;
use empirica_notes::error::{Result, empirica};

/// The instructions in a file: Markdown from the template `instructions.md`; generic without a file.
pub fn text(file: Option<InstructionFile>, templates: &mut Templates) -> Result<String> {
    let (ai, prefix) = file.map_or((None, ""), |file| (file.ai, file.prefix));
    let text = templates.render("instructions.md", context! { ai, prefix })?;
    Ok(text.trim_end().to_owned() + "\n")
}

/// The instructions for an agent.
#[derive(Serialize, JsonSchema)]
pub struct ShownView<'a> {
    /// The agent, as `--agent` names it; null for any.
    agent: Option<&'a str>,
    /// The file that it reads, from the root of the work tree; null for any.
    file: Option<&'a str>,
    /// The instructions, Markdown.
    text: &'a str,
}

/// The instructions in the files of agents.
#[derive(Serialize, JsonSchema)]
pub struct WrittenView<'a> {
    /// The agent, as `--agent` names it; null for any.
    agent: Option<&'a str>,
    /// Whether nothing was changed.
    dry_run: bool,
    /// The changes made, or to be made.
    changes: Vec<ChangeView<'a>>,
    /// The files that are up to date, absolute.
    unchanged: &'a [String],
}

pub fn shown(reader: Option<Reader>, text: String) -> Answer {
    let file = reader.map(|reader| reader.file().path);
    Answer::new(ShownView { agent: reader.map(Reader::name), file, text: &text }).text(text).paged()
}

pub fn written(reader: Option<Reader>, outcome: &InstructionsOutcome) -> Answer {
    let (changes, mut text) = setup::view::changes(&outcome.steps, outcome.dry_run);
    let message = match (changes.len(), outcome.dry_run) {
        (0, _) => "Nothing is left to do.".to_owned(),
        (count, true) => format!("{} would be made.", format::count(count, "change")),
        (count, false) => {
            let them = if count == 1 { "it" } else { "them" };
            format!("{} made; {} reverts {them}.", format::count(count, "change"), empirica("deinit"))
        }
    };
    let unchanged: Vec<String> = outcome.current.iter().map(|path| path.display().to_string()).collect();
    for path in &unchanged {
        text.push_str(&format!("current {}\n", crate::render::safe::line(path)));
    }
    let agent = reader.map(Reader::name);
    let view = WrittenView { agent, dry_run: outcome.dry_run, changes, unchanged: &unchanged };
    Answer::new(view).text(text).say(message)
}
