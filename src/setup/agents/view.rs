//! The instructions for agents, and the answer of `instructions`.

use serde_json::json;

use crate::render::answer::Answer;
use crate::render::format;
use crate::render::template::Templates;
use crate::setup;
use crate::setup::agents::instructions::InstructionsOutcome;
use crate::setup::agents::readers::{InstructionFile, Reader};
use empirica_notes::error::{Result, empirica};

/// What agents are told in a file: Markdown, from the template `instructions.md`; in general words without a file.
pub fn text(file: Option<InstructionFile>, templates: &mut Templates) -> Result<String> {
    let (ai, prefix) = file.map_or((None, ""), |file| (file.ai, file.prefix));
    let text = templates.render("instructions.md", json!({"ai": ai, "prefix": prefix}))?;
    Ok(text.trim_end().to_owned() + "\n")
}

/// The answer that shows the text.
pub fn shown(reader: Option<Reader>, text: String) -> Answer {
    let file = reader.map(|reader| reader.file().path);
    Answer::new(json!({"agent": reader.map(Reader::name), "file": file, "text": text})).text(text).paged()
}

/// The answer of `--write`.
pub fn written(reader: Option<Reader>, outcome: &InstructionsOutcome) -> Answer {
    let (changes, mut text) = setup::view::changes(&outcome.steps, outcome.dry_run);
    let said = match (changes.len(), outcome.dry_run) {
        (0, _) => "Nothing is left to do.".to_owned(),
        (count, true) => format!("{} would be made.", format::count(count, "change")),
        (count, false) => format!("{} made; {} takes them back.", format::count(count, "change"), empirica("deinit")),
    };
    let unchanged: Vec<String> = outcome.current.iter().map(|path| path.display().to_string()).collect();
    for path in &unchanged {
        text.push_str(&format!("current {}\n", crate::render::safe::line(path)));
    }
    let agent = reader.map(Reader::name);
    let json = json!({"agent": agent, "dry_run": outcome.dry_run, "changes": changes, "unchanged": unchanged});
    Answer::new(json).text(text).say(said)
}
