//! Project files that tell an agent which hooks to run, which MCP server to start and which plugin to load.

use empirica_transcripts::model::Agent;

/// Configuration of an agent: what and where.
#[derive(Debug, Clone, Copy)]
pub struct AgentFiles {
    /// The agent's program.
    pub program: &'static str,
    /// Files and folders, from the worktree root, that only its users have.
    pub traces: &'static [&'static str],
    /// Its hooks; `None` for agents with a plugin instead.
    pub hooks: Option<Hooks>,
    pub plugin: Option<Plugin>,
    pub server: Server,
    /// What the user must do before using this, as a sentence.
    pub then: &'static str,
}

/// The hooks of an agent.
#[derive(Debug, Clone, Copy)]
pub struct Hooks {
    /// The file, from the worktree root.
    pub file: &'static str,
    /// Whether the file needs `"version": 1`.
    pub versioned: bool,
    /// Whether hooks are listed in a group: `{"hooks": [{…}]}`.
    pub grouped: bool,
    /// Whether a hook has a `"type": "command"`.
    pub typed: bool,
    /// Key of the command line.
    pub command: &'static str,
    /// Key of the timeout.
    pub timeout: &'static str,
    /// Timeout units per second.
    pub second: u64,
    /// Events by the agent's names, with their timeouts in seconds.
    pub events: &'static [(&'static str, u64)],
}

/// A file entirely ours.
#[derive(Debug, Clone, Copy)]
pub struct Plugin {
    /// The file, from the worktree root.
    pub file: &'static str,
    /// Its content.
    pub content: &'static str,
}

/// Place of an MCP server entry.
#[derive(Debug, Clone, Copy)]
pub struct Server {
    /// Possible files, from the worktree root; the first is created if none exists.
    pub files: &'static [&'static str],
    /// Key of the servers.
    pub key: &'static str,
    /// Whether the command and its arguments are one list, with type `local`.
    pub joined: bool,
    /// `$schema` of a new file.
    pub schema: Option<&'static str>,
}

/// Name of our MCP server in those files.
pub const SERVER: &str = "empirica";

/// Arguments that start the server with its core tools, or with `all`.
pub fn server_arguments(all: bool) -> [&'static str; 3] {
    ["mcp", "--tools", if all { "all" } else { "core" }]
}

const JSON_SERVERS: Server = Server { files: &[".mcp.json"], key: "mcpServers", joined: false, schema: None };

/// Configuration of an agent.
pub fn files(agent: Agent) -> AgentFiles {
    let grouped = Hooks {
        file: "",
        versioned: false,
        grouped: true,
        typed: true,
        command: "command",
        timeout: "timeout",
        second: 1,
        events: &[],
    };
    match agent {
        Agent::ClaudeCode => AgentFiles {
            program: "claude",
            traces: &[".claude", "CLAUDE.md"],
            hooks: Some(Hooks {
                file: ".claude/settings.json",
                events: &[
                    ("SessionStart", 10),
                    ("UserPromptSubmit", 5),
                    ("PreCompact", 5),
                    ("PostToolUseFailure", 5),
                    ("Stop", 10),
                    ("SessionEnd", 10),
                ],
                ..grouped
            }),
            plugin: None,
            server: JSON_SERVERS,
            then: "Claude Code asks once whether it may use the server of .mcp.json",
        },
        Agent::Codex => AgentFiles {
            program: "codex",
            traces: &[".codex"],
            hooks: Some(Hooks {
                file: ".codex/hooks.json",
                events: &[
                    ("SessionStart", 10),
                    ("UserPromptSubmit", 5),
                    ("PreCompact", 5),
                    ("PostToolUse", 5),
                    ("Stop", 10),
                    // the agent warns of longer timeouts
                    ("SessionEnd", 3),
                ],
                ..grouped
            }),
            plugin: None,
            server: Server { files: &[".codex/config.toml"], key: "mcp_servers", ..JSON_SERVERS },
            then: "Codex CLI runs hooks of a trusted project once you have reviewed them with /hooks",
        },
        Agent::Gemini => AgentFiles {
            program: "gemini",
            traces: &[".gemini", "GEMINI.md"],
            hooks: Some(Hooks {
                file: ".gemini/settings.json",
                second: 1_000,
                events: &[
                    ("SessionStart", 10),
                    ("BeforeAgent", 5),
                    ("PreCompress", 5),
                    ("AfterTool", 5),
                    ("AfterAgent", 10),
                    ("SessionEnd", 10),
                ],
                ..grouped
            }),
            plugin: None,
            server: Server { files: &[".gemini/settings.json"], ..JSON_SERVERS },
            then: "Gemini CLI reads the settings of folders that you trust",
        },
        Agent::Cursor => AgentFiles {
            program: "cursor-agent",
            traces: &[".cursor", ".cursorrules"],
            hooks: Some(Hooks {
                file: ".cursor/hooks.json",
                versioned: true,
                grouped: false,
                typed: false,
                events: &[
                    ("sessionStart", 10),
                    ("beforeSubmitPrompt", 5),
                    ("preCompact", 5),
                    ("postToolUseFailure", 5),
                    ("stop", 10),
                    ("sessionEnd", 10),
                ],
                ..grouped
            }),
            plugin: None,
            server: Server { files: &[".cursor/mcp.json"], ..JSON_SERVERS },
            then: "Cursor starts the server empirica once you have switched it on in its settings",
        },
        Agent::OpenCode => AgentFiles {
            program: "opencode",
            traces: &[".opencode", "opencode.json", "opencode.jsonc"],
            hooks: None,
            plugin: Some(Plugin {
                file: ".opencode/plugins/git-empirica.ts",
                content: include_str!("../../../hooks/opencode-plugin.ts"),
            }),
            server: Server {
                files: &["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
                key: "mcp",
                joined: true,
                schema: Some("https://opencode.ai/config.json"),
            },
            then: "OpenCode loads plugins when it starts",
        },
        Agent::Copilot => AgentFiles {
            program: "copilot",
            traces: &[".github/copilot-instructions.md", ".github/hooks/git-empirica.json", "COPILOT_CLAUDE.md"],
            hooks: Some(Hooks {
                file: ".github/hooks/git-empirica.json",
                versioned: true,
                grouped: false,
                command: "bash",
                timeout: "timeoutSec",
                events: &[
                    ("sessionStart", 10),
                    ("userPromptSubmitted", 5),
                    ("preCompact", 5),
                    ("postToolUseFailure", 5),
                    ("agentStop", 10),
                    ("sessionEnd", 10),
                ],
                ..grouped
            }),
            plugin: None,
            server: JSON_SERVERS,
            then: "Copilot CLI runs the hooks of folders that you trust; its cloud agent those of the default branch",
        },
    }
}

/// Command line of a hook. Prints nothing and succeeds if the program is not installed: an exit code can block the
/// agent, and Gemini CLI takes standard error for a reply.
pub fn command(agent: Agent, event: &str) -> String {
    format!("git-empirica hook agent {} {event} 2>/dev/null || true", agent.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_hooks_or_a_plugin_and_a_server() {
        for agent in Agent::ALL {
            let files = files(agent);
            assert!(files.hooks.is_some() != files.plugin.is_some(), "{agent:?}");
            assert!(!files.server.files.is_empty() && !files.then.is_empty(), "{agent:?}");
            assert!(!files.program.is_empty() && !files.traces.is_empty(), "{agent:?}");
            for (event, seconds) in files.hooks.iter().flat_map(|hooks| hooks.events) {
                assert!((1..=10).contains(seconds), "{agent:?} {event}");
            }
            let events = files.hooks.map_or(6, |hooks| hooks.events.len());
            assert_eq!(events, 6, "{agent:?}: start, prompt, compaction, failure, stop, end");
        }
    }
}
