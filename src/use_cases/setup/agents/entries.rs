//! The table of agents: the files written for each, and the dialect of its hooks.

use empirica_transcripts::model::Agent;
use serde_json::{Value, json};

use crate::use_cases::setup::agents::entries::EventKind::*;

#[derive(Debug, Clone, Copy)]
pub struct AgentEntry {
    pub program: &'static str,
    /// Files and folders, from the worktree root, that only its users have.
    pub traces: &'static [&'static str],
    /// The files it reads instructions from; the first is the one to create.
    pub instructions: &'static [&'static str],
    pub tool_prefix: &'static str,
    /// Where its hooks are entered; `None` for agents with a plugin instead.
    pub hooks: Option<HookFile>,
    pub plugin: Option<Plugin>,
    pub server: Server,
    /// What the user must do before using this, as a sentence.
    pub then: &'static str,
    pub dialect: Dialect,
}

#[derive(Debug, Clone, Copy)]
pub struct HookFile {
    /// From the worktree root.
    pub path: &'static str,
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
    /// Timeout of the last event, in seconds.
    pub end: u64,
    /// Whether the agent reads the file only in the folder where it is started.
    pub at_start: bool,
    /// The tools whose end is told, as a matcher; `None` for all.
    pub matcher: Option<&'static str>,
}

/// A file entirely ours.
#[derive(Debug, Clone, Copy)]
pub struct Plugin {
    /// From the worktree root.
    pub file: &'static str,
    pub content: &'static str,
}

/// Place of an MCP server entry.
#[derive(Debug, Clone, Copy)]
pub struct Server {
    /// Possible files, from the worktree root; the first is created if none exists.
    pub files: &'static [&'static str],
    pub key: &'static str,
    /// Whether the command and its arguments are one list, with type `local`.
    pub joined: bool,
    /// `$schema` of a new file.
    pub schema: Option<&'static str>,
}

/// The calls of an agent's hooks, and the replies it reads.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// Case and punctuation of names are ignored.
    pub events: &'static [(&'static str, EventKind)],
    /// Keys of its payloads, each with the common key it replaces.
    pub keys: &'static [(&'static str, &'static str)],
    /// The variable with the project's folder.
    pub project: Option<&'static str>,
    /// Variables, or keys of payloads, that no other agent has when it runs a hook.
    pub signs: &'static [&'static str],
    /// The reply that adds a text to the model's context, for an event by its name and kind.
    pub reply: fn(&str, EventKind, String) -> Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A session starts or resumes.
    Begins,
    Prompt,
    /// The context will be compacted.
    Compacts,
    Compacted,
    /// The same, by an agent that reads the reply.
    CompactedWithReply,
    Failed,
    /// A tool failed or not.
    ToolEnded,
    /// The agent finished its turn.
    Stops,
    Ends,
}

/// Name of our MCP server in those files.
pub const SERVER: &str = "empirica";

/// Arguments that start the server with its core tools, or with `all`.
pub fn server_arguments(all: bool) -> [&'static str; 3] {
    ["mcp", "--tools", if all { "all" } else { "core" }]
}

const HOOKS: HookFile = HookFile {
    path: "",
    versioned: false,
    grouped: true,
    typed: true,
    command: "command",
    timeout: "timeout",
    second: 1,
    end: 10,
    at_start: false,
    matcher: None,
};

/// Claude Code's tools that read or change files.
const FILE_TOOLS: &str = "Read|Edit|MultiEdit|Write|NotebookEdit|Bash";

const SERVERS: Server = Server { files: &[".mcp.json"], key: "mcpServers", joined: false, schema: None };

const DIALECT: Dialect = Dialect { events: &[], keys: &[], project: None, signs: &[], reply: nested };

fn nested(event: &str, _: EventKind, context: String) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})
}

fn flat(_: &str, _: EventKind, context: String) -> Value {
    json!({"additionalContext": context})
}

const ENTRY: AgentEntry = AgentEntry {
    program: "",
    traces: &[],
    instructions: &["AGENTS.md"],
    tool_prefix: "",
    hooks: None,
    plugin: None,
    server: SERVERS,
    then: "",
    dialect: DIALECT,
};

pub fn entry(agent: Agent) -> AgentEntry {
    match agent {
        Agent::ClaudeCode => AgentEntry {
            program: "claude",
            traces: &[".claude", "CLAUDE.md"],
            instructions: &["CLAUDE.md"],
            tool_prefix: "mcp__empirica__",
            hooks: Some(HookFile { path: ".claude/settings.json", at_start: true, matcher: Some(FILE_TOOLS), ..HOOKS }),
            then: "start Claude Code at the top of the work tree: it asks for trust in the folder and in the server of .mcp.json",
            dialect: Dialect {
                events: &[
                    ("SessionStart", Begins),
                    ("UserPromptSubmit", Prompt),
                    ("PreCompact", Compacts),
                    ("PostCompact", Compacted),
                    ("PostToolUseFailure", Failed),
                    ("PostToolUse", ToolEnded),
                    ("Stop", Stops),
                    ("SessionEnd", Ends),
                ],
                project: Some("CLAUDE_PROJECT_DIR"),
                ..DIALECT
            },
            ..ENTRY
        },
        Agent::Codex => AgentEntry {
            program: "codex",
            traces: &[".codex"],
            // the agent warns of longer timeouts at the end
            hooks: Some(HookFile { path: ".codex/hooks.json", end: 3, ..HOOKS }),
            server: Server { files: &[".codex/config.toml"], key: "mcp_servers", ..SERVERS },
            then: "start Codex CLI here: it asks for trust in the folder, then in the hooks, and again after each change of them",
            dialect: Dialect {
                events: &[
                    ("SessionStart", Begins),
                    ("UserPromptSubmit", Prompt),
                    ("PreCompact", Compacts),
                    ("PostCompact", Compacted),
                    ("PostToolUse", ToolEnded),
                    ("Stop", Stops),
                    ("SessionEnd", Ends),
                ],
                ..DIALECT
            },
            ..ENTRY
        },
        Agent::Gemini => AgentEntry {
            program: "gemini",
            traces: &[".gemini", "GEMINI.md"],
            instructions: &["GEMINI.md"],
            hooks: Some(HookFile { path: ".gemini/settings.json", second: 1_000, at_start: true, ..HOOKS }),
            server: Server { files: &[".gemini/settings.json"], ..SERVERS },
            then: "start Gemini CLI at the top of the work tree: it asks for trust in the folder",
            dialect: Dialect {
                // PreCompress fires before each request, whether or not anything is compressed
                events: &[
                    ("SessionStart", Begins),
                    ("BeforeAgent", Prompt),
                    ("AfterTool", ToolEnded),
                    ("AfterAgent", Stops),
                    ("SessionEnd", Ends),
                ],
                project: Some("GEMINI_PROJECT_DIR"),
                signs: &["GEMINI_SESSION_ID"],
                // Gemini CLI replaces angle brackets by entities
                reply: |event, kind, context| nested(event, kind, context.replace('<', "‹").replace('>', "›")),
                ..DIALECT
            },
            ..ENTRY
        },
        Agent::Cursor => AgentEntry {
            program: "cursor-agent",
            traces: &[".cursor", ".cursorrules"],
            hooks: Some(HookFile {
                path: ".cursor/hooks.json",
                versioned: true,
                grouped: false,
                typed: false,
                ..HOOKS
            }),
            server: Server { files: &[".cursor/mcp.json"], ..SERVERS },
            then: "Cursor starts the server empirica once you have switched it on in its settings",
            dialect: Dialect {
                events: &[
                    ("sessionStart", Begins),
                    ("beforeSubmitPrompt", Prompt),
                    ("preCompact", Compacts),
                    ("postToolUseFailure", Failed),
                    ("postToolUse", ToolEnded),
                    ("stop", Stops),
                    ("sessionEnd", Ends),
                ],
                keys: &[("conversation_id", "session_id"), ("workspace_roots", "cwd"), ("error_message", "error")],
                project: Some("CURSOR_PROJECT_DIR"),
                signs: &["cursor_version", "CURSOR_VERSION"],
                reply: |_, kind, context| match kind {
                    Prompt => json!({"continue": true, "additional_context": context}),
                    _ => json!({"additional_context": context}),
                },
            },
            ..ENTRY
        },
        Agent::OpenCode => AgentEntry {
            program: "opencode",
            traces: &[".opencode", "opencode.json", "opencode.jsonc"],
            plugin: Some(Plugin {
                file: ".opencode/plugins/git-empirica.ts",
                content: include_str!("../../../../hooks/opencode-plugin.ts"),
            }),
            server: Server {
                files: &["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
                key: "mcp",
                joined: true,
                schema: Some("https://opencode.ai/config.json"),
            },
            then: "OpenCode loads plugins when it starts",
            // our plugin's
            dialect: Dialect {
                events: &[
                    ("session.created", Begins),
                    ("chat.message", Prompt),
                    ("experimental.session.compacting", Compacts),
                    ("session.compacted", CompactedWithReply),
                    ("message.part.updated", Failed),
                    ("tool.execute.after", ToolEnded),
                    ("session.idle", Stops),
                    ("session.deleted", Ends),
                    ("dispose", Ends),
                ],
                reply: flat,
                ..DIALECT
            },
            ..ENTRY
        },
        Agent::Copilot => AgentEntry {
            program: "copilot",
            traces: &[".github/copilot-instructions.md", ".github/hooks/git-empirica.json", "COPILOT_CLAUDE.md"],
            instructions: &[".github/copilot-instructions.md", "COPILOT_CLAUDE.md"],
            hooks: Some(HookFile {
                path: ".github/hooks/git-empirica.json",
                versioned: true,
                grouped: false,
                command: "bash",
                timeout: "timeoutSec",
                ..HOOKS
            }),
            then: "start Copilot CLI here: it asks for trust in the folder; its cloud agent runs the hooks of the default branch",
            dialect: Dialect {
                events: &[
                    ("sessionStart", Begins),
                    ("userPromptSubmitted", Prompt),
                    ("preCompact", Compacts),
                    ("postToolUseFailure", Failed),
                    ("postToolUse", ToolEnded),
                    ("agentStop", Stops),
                    ("sessionEnd", Ends),
                ],
                keys: &[
                    ("sessionId", "session_id"),
                    ("transcriptPath", "transcript_path"),
                    ("toolName", "tool_name"),
                    ("toolArgs", "tool_input"),
                    ("agentId", "agent_id"),
                    ("parentAgentId", "parent_agent_id"),
                ],
                project: Some("COPILOT_PROJECT_DIR"),
                signs: &["COPILOT_CLI"],
                reply: flat,
            },
            ..ENTRY
        },
    }
}

impl HookFile {
    /// The timeout of an event in seconds; `None` for events that need no hook.
    pub fn seconds(&self, kind: EventKind) -> Option<u64> {
        match kind {
            Begins | Stops => Some(10),
            Ends => Some(self.end),
            Prompt | Compacts | Failed | ToolEnded => Some(5),
            Compacted | CompactedWithReply => None,
        }
    }
}

/// Last word of the hooks of a plugin, which leave an event to the project's own hook for it.
pub const PLUGIN: &str = "plugin";

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
            let entry = entry(agent);
            assert!(entry.hooks.is_some() != entry.plugin.is_some(), "{agent:?}");
            assert!(!entry.server.files.is_empty() && !entry.then.is_empty(), "{agent:?}");
            assert!(!entry.program.is_empty() && !entry.traces.is_empty(), "{agent:?}");
            assert!(!entry.instructions.is_empty(), "{agent:?}");
            for kinds in [&[Begins][..], &[Prompt], &[Failed, ToolEnded], &[Stops], &[Ends]] {
                assert!(entry.dialect.events.iter().any(|(_, kind)| kinds.contains(kind)), "{agent:?}: {kinds:?}");
            }
        }
    }
}
