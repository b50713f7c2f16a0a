//! The readers for each agent's rows and files.

pub mod claude;
pub mod codex;
pub mod copilot;
pub mod cursor;
pub mod gemini;
pub mod opencode;
pub mod reader;

use std::io::BufRead;

use crate::agents::reader::Reader;
use crate::model::Agent;
use crate::read::lenient;
use crate::read::rows::{Piece, Rows};
use crate::summary::fold::Fold;

/// The reader of one agent's rows.
pub(crate) enum Any {
    Claude(claude::Claude),
    Codex(codex::Codex),
    Gemini(gemini::Gemini),
    Copilot(copilot::Copilot),
    Cursor(cursor::Cursor),
}

impl Any {
    pub(crate) fn of(agent: Agent) -> Option<Any> {
        Some(match agent {
            Agent::ClaudeCode => Any::Claude(Default::default()),
            Agent::Codex => Any::Codex(Default::default()),
            Agent::Gemini => Any::Gemini(Default::default()),
            Agent::Copilot => Any::Copilot(Default::default()),
            Agent::Cursor => Any::Cursor(Default::default()),
            Agent::OpenCode => return None,
        })
    }

    pub(crate) fn reader(&mut self) -> &mut dyn Reader {
        match self {
            Any::Claude(reader) => reader,
            Any::Codex(reader) => reader,
            Any::Gemini(reader) => reader,
            Any::Copilot(reader) => reader,
            Any::Cursor(reader) => reader,
        }
    }

    /// Reads a row, repaired if necessary, and counts it; members of a document are not counted. Returns whether it
    /// could be read.
    pub(crate) fn take(&mut self, text: &str, piece: Piece, fold: &mut Fold) -> bool {
        let reader = self.reader();
        let read = reader.row(text, fold) || lenient::repaired(text).is_some_and(|text| reader.row(&text, fold));
        match (read, piece) {
            (true, Piece::Member) => {}
            (true, _) => fold.out.rows += 1,
            (false, _) => fold.out.skipped_rows += 1,
        }
        read
    }
}

pub(crate) fn take<R: BufRead>(any: &mut Any, piece: Piece, row: &[u8], rows: &mut Rows<R>, fold: &mut Fold) {
    if piece == Piece::Lost {
        fold.out.skipped_rows += 1;
        fold.out.torn = rows.is_torn();
    } else if !row.trim_ascii().is_empty() {
        let read = any.take(&String::from_utf8_lossy(row), piece, fold);
        let unended = piece == (Piece::Row { whole: false });
        if read && unended {
            rows.keep_last();
        }
        fold.out.torn = !read && unended;
    }
}
