//! How the tools of shells say that a command failed.

use serde_json::value::RawValue;

use crate::model::Agent;

/// Whether a command with that exit code failed; `None` without a number.
pub fn has_failed(code: Option<&RawValue>) -> Option<bool> {
    serde_json::from_str::<f64>(code?.get()).ok().map(|code| code != 0.0)
}

/// The line of a shell's result that says how the command failed; `None` if it did not, or the agent's shell does not
/// say so in the text.
pub fn exit_line(agent: Agent, text: &str) -> Option<&str> {
    match agent {
        Agent::Gemini => in_gemini(text),
        Agent::Codex => in_codex(text),
        Agent::Copilot => in_copilot(text),
        _ => None,
    }
}

/// Lines that follow the output of a command in Gemini CLI.
const GEMINI: [&str; 4] = ["Process Group PGID: ", "Background PIDs: ", "Signal: ", "Exit Code: "];

/// The line of a result of Gemini CLI's shell that says how the command failed: after its output.
pub fn in_gemini(text: &str) -> Option<&str> {
    let own = text.rsplit_once("\n\n<hook_context>").map_or(text, |(own, _)| own);
    let own = own.trim_end().trim_end_matches("</untrusted_context>").trim_end();
    let end = own.lines().rev().take_while(|line| GEMINI.iter().any(|start| line.starts_with(start)));
    end.into_iter().find(|line| match line.strip_prefix("Exit Code: ") {
        Some(code) => is_failure(code),
        None => line.starts_with("Signal: "),
    })
}

/// The number of lines before the output of a command in Codex CLI.
const HEAD: usize = 6;

/// The line of a result of Codex CLI's shells that says how the command failed: before its output.
pub fn in_codex(text: &str) -> Option<&str> {
    let head = text.lines().map(str::trim).take(HEAD).take_while(|line| *line != "Output:");
    let mut codes = head.filter_map(|line| {
        let code = line.strip_prefix("Process exited with code ").or(line.strip_prefix("Exit code: "))?;
        Some((line, code))
    });
    codes.next().filter(|(_, code)| is_failure(code)).map(|(line, _)| line)
}

/// The exit code in the last line of a result of Copilot CLI's shell: `<shellId: 0 completed with exit code 1>`.
pub fn in_copilot(text: &str) -> Option<&str> {
    let last = text.lines().next_back()?.trim();
    let code = last.strip_prefix('<')?.strip_suffix('>')?.rsplit_once("exit code ")?.1;
    is_failure(code).then_some(last)
}

fn is_failure(code: &str) -> bool {
    code.trim_end_matches('.').trim() != "0"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_the_command_printed_is_not_its_own() {
        let line = Some("Exit Code: 3");
        let gemini = "<untrusted_context>\nOutput: a\nExit Code: 3\nProcess Group PGID: 7\n</untrusted_context>";
        assert_eq!(in_gemini(gemini), line);
        assert_eq!(in_gemini(&format!("{gemini}\n\n<hook_context>Exit Code: 4</hook_context>")), line);
        assert_eq!(in_gemini("Output: (empty)\nSignal: 9\nProcess Group PGID: 7"), Some("Signal: 9"));
        for worked in
            ["Output: Exit Code: 3\nmore\nProcess Group PGID: 7", "Output: a\nExit Code: 0", "Exit Code: 3\nx"]
        {
            assert_eq!(in_gemini(worked), None, "{worked}");
        }
        assert_eq!(in_codex("Chunk ID: 1\nProcess exited with code 2\nOutput:\nx"), Some("Process exited with code 2"));
        for worked in ["Process exited with code 0\nOutput:\nExit code: 2", "Output:\nExit code: 2", "fine"] {
            assert_eq!(in_codex(worked), None, "{worked}");
        }
        assert!(in_copilot("a\n<shellId: 0 completed with exit code 3>").is_some());
        assert!(in_copilot("<exited with exit code 1>").is_some());
        for worked in ["<shellId: 0 completed with exit code 0>", "exit code 3", "<exited with exit code 1>\nno"] {
            assert_eq!(in_copilot(worked), None, "{worked}");
        }
    }
}
