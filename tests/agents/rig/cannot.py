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
} | {("claude-code", "subfolder", assertion): "reads a project's hooks only in the folder it is started in" for assertion in ("hooks", "handoff", "ended")}


def reason(agent: str, scenario: str, assertion: str = "") -> str | None:
    """Why it is left out, or None."""
    keys = [(a, s, x) for a in (agent, "") for s in (scenario, "") for x in {assertion, ""}]
    return next((CANNOT[key] for key in keys if key in CANNOT), None)
