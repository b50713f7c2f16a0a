//! Texts in arguments: literal, `-` for standard input, `@FILE` for the content of a file.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::use_cases::import::lines::unread;
use empirica_notes::error::{Error, Result};

/// Reads the texts of one command; standard input at most once.
pub struct Input<'a> {
    stdin: Option<&'a mut dyn Read>,
}

impl<'a> Input<'a> {
    pub fn new(stdin: &'a mut dyn Read) -> Self {
        Input { stdin: Some(stdin) }
    }

    /// The text of an argument. `@@x` is the text `@x`. Drops the final line end of a file.
    pub fn text(&mut self, argument: String) -> Result<String> {
        if argument == "-" {
            let stdin = self.stdin.take().ok_or_else(|| {
                Error::usage("cannot read several arguments from standard input")
                    .reason("it ends after the first of them")
                    .suggest("Use @FILE for the others.")
            })?;
            let mut bytes = Vec::new();
            stdin.read_to_end(&mut bytes).map_err(|error| {
                Error::usage("cannot read standard input")
                    .suggest("Give the text as an argument, or as @FILE.")
                    .caused_by(error)
            })?;
            return utf8(bytes, "standard input");
        }
        match argument.strip_prefix('@') {
            Some(literal) if literal.starts_with('@') => Ok(literal.to_owned()),
            Some(file) if !file.is_empty() => {
                let bytes = std::fs::read(file).map_err(|error| {
                    let out = Error::usage(format!("cannot read the file '{file}'"));
                    let out = match error.kind() {
                        std::io::ErrorKind::PermissionDenied => out.about_path(Path::new(file), &error),
                        _ => out,
                    };
                    match out.has_suggestion() {
                        true => out.alternative(format!("@@{file}")),
                        false => out.suggest(format!("To give the text '@{file}' itself, write '@@{file}'.")),
                    }
                    .provided(file)
                    .caused_by(error)
                })?;
                utf8(bytes, file)
            }
            _ => Ok(argument),
        }
    }

    /// The text of an argument of one or more words; several words are literal.
    pub fn words(&mut self, words: Vec<String>) -> Result<String> {
        match <[String; 1]>::try_from(words) {
            Ok([one]) => self.text(one),
            Err(words) => Ok(words.join(" ")),
        }
    }

    /// The text of an optional argument.
    pub fn optional(&mut self, argument: Option<String>) -> Result<Option<String>> {
        argument.map(|argument| self.text(argument)).transpose()
    }

    /// The text of each argument.
    pub fn each(&mut self, arguments: Vec<String>) -> Result<Vec<String>> {
        arguments.into_iter().map(|argument| self.text(argument)).collect()
    }
}

/// The lines of a file, or of standard input for `-`, and its name for messages.
pub fn lines<'a>(stdin: &'a mut dyn Read, file: &Path) -> Result<(Box<dyn BufRead + 'a>, String)> {
    if file == Path::new("-") {
        return Ok((Box::new(BufReader::new(stdin)), "standard input".to_owned()));
    }
    let name = file.to_string_lossy().into_owned();
    let opened = File::open(file).map_err(|error| unread(&name, error))?;
    Ok((Box::new(BufReader::new(opened)), name))
}

fn utf8(bytes: Vec<u8>, name: &str) -> Result<String> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        Error::usage(format!("cannot read {name}: it is not valid UTF-8"))
            .suggest("Convert it to UTF-8 first.")
            .caused_by(error.utf8_error())
    })?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}
