//! The supported agents, a file or folder for each.

pub mod claude;
pub mod codex;
mod copilot;
mod cursor;
pub mod format;
pub mod gemini;
pub mod opencode;

use crate::agents::format::{Format, Match, RowFormat, Sessions};
use crate::model::Agent;
use crate::read::call;
use crate::read::keys::Keys;

/// All formats, in the order in which rows are compared with them.
pub(crate) static FORMATS: [&Format; 6] =
    [&gemini::FORMAT, &codex::FORMAT, &copilot::FORMAT, &claude::FORMAT, &cursor::FORMAT, &opencode::store::FORMAT];

/// The agent of a row.
pub(crate) fn format_of_row(row: &Keys) -> Option<(Agent, &'static RowFormat)> {
    let formats = FORMATS.iter().filter_map(|format| match &format.sessions {
        Sessions::Rows(rows) => Some((format.agent, rows, (rows.matches)(row))),
        Sessions::Store(_) => None,
    });
    let first = |sought| formats.clone().find(|(_, _, found)| *found == sought);
    first(Match::Certain).or_else(|| first(Match::Possible)).map(|(agent, rows, _)| (agent, rows))
}

/// The category of an agent's tool, one of [`CATEGORIES`](crate::model::CATEGORIES); `None` for tools that set task
/// lists. Names are case-sensitive.
pub fn category(agent: Agent, tool: &str) -> Option<&'static str> {
    let format = FORMATS.iter().find(|format| format.agent == agent);
    call::category(format.map_or(&[], |format| format.tools), tool)
}

/// The files that a call of an agent's tool reads or would modify, resolved from the folder `cwd`; of a command, each of its words
/// could be one. At most 64; none of an input that cannot be read.
pub fn files_of(agent: Agent, tool: &str, input: &str, cwd: Option<&str>) -> Vec<String> {
    let format = FORMATS.iter().find(|format| format.agent == agent);
    call::Call::files_of(format.map_or(&[], |format| format.tools), tool, input, cwd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_a_format_and_its_own_names_of_tools() {
        for agent in Agent::ALL {
            assert_eq!(FORMATS.iter().filter(|format| format.agent == agent).count(), 1, "{agent:?}");
        }
        assert_eq!(category(Agent::OpenCode, "write"), Some("write"));
        assert_eq!(category(Agent::Codex, "shell"), Some("shell"));
        assert_eq!(category(Agent::ClaudeCode, "shell"), Some("mcp"));
    }
}
