"""What an agent does not do without a terminal or does not write down: such an assertion is left out."""

# (agent, scenario, assertion): reason; '' for all
CANNOT = {
    ("claude-code", "code-mode", ""): "has no code mode",
    ("copilot", "code-mode", ""): "has no code mode",
    ("gemini", "code-mode", ""): "has no code mode",
    ("opencode", "code-mode", ""): "has no code mode",
    ("copilot", "fork", ""): "has no option that forks a session",
    ("gemini", "fork", ""): "has no option that forks a session",
    ("gemini", "subfolder", ""): "reads a project's hooks and servers only in the folder it is started in",
} | {(agent, "compaction", "after compaction"): "ends its session with each run" for agent in ("copilot", "gemini")
} | {("claude-code", "subfolder", assertion): "reads a project's hooks only in the folder it is started in" for assertion in ("hooks", "handoff", "ended")}


def snapshots_of(agent: str, scenario: str) -> int:
    """One before a compaction, and one after it if the session goes on."""
    if scenario != "compaction":
        return 0
    return 1 if (agent, scenario, "after compaction") in CANNOT else 2


def reason(agent: str, scenario: str, assertion: str = "") -> str | None:
    """Why it is left out, or None."""
    keys = [(a, s, x) for a in (agent, "") for s in (scenario, "") for x in {assertion, ""}]
    return next((CANNOT[key] for key in keys if key in CANNOT), None)
