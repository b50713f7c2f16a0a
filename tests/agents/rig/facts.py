"""What the model served, and what the program recorded, in the same terms."""

import json
from collections import Counter
from dataclasses import dataclass, field

from scenarios import LOG
from trial import Ran, Trial

MARK = "git empirica:"
# The agents whose transcripts have the tokens of the request that compacts.
SUMMARIES = ("codex", "opencode")


@dataclass
class Work:
    """What was done in a session of an agent."""

    tokens: Counter = field(default_factory=Counter)
    tools: Counter = field(default_factory=Counter)
    failures: Counter = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)
    findings: list[str] = field(default_factory=list)


@dataclass
class Served:
    """What the model let the runs of a session do; `agents` is the part of sub-agents, `summaries` the tokens of compactions."""

    runs: list[Ran]
    main: Work = field(default_factory=Work)
    agents: Work = field(default_factory=Work)
    summaries: Counter = field(default_factory=Counter)
    waits: int = 0


def tokens_of(row: dict) -> Counter:
    return Counter(input=row["tokens"]["in"], output=row["tokens"]["out"], cache_read=row["tokens"]["cached"])


def of_row(work: Work, row: dict) -> None:
    work.tokens += tokens_of(row)
    for call in row["calls"]:
        if call.category in ("plan", "wait"):
            continue
        work.tools[call.category] += 1
        if call.fails:
            work.failures[call.category] += 1
        elif call.file:
            work.files.add(call.file)
        work.findings += [finding for finding in [finding_of(call.arguments)] if finding]


def finding_of(arguments: dict | str) -> str | None:
    """The finding that a call logs; in code mode it stands in a script."""
    if isinstance(arguments, dict):
        return arguments.get("finding")
    _, found, after = arguments.partition(f"mcp__empirica__{LOG}(")
    return json.loads(after[: after.index(");")])["finding"] if found else None


def served(trial: Trial) -> dict[str, Served]:
    """By the agent's id of the session, in the order of their first runs."""
    out: dict[str, Served] = {}
    for ran in trial.ran:
        out.setdefault(ran.session or "?", Served([])).runs.append(ran)
    for one in out.values():
        names = [ran.run["name"] for ran in one.runs]
        for row in trial.model.served:
            if row["run"] in names and not row["side"]:
                of_row(one.agents if row["agent"] else one.main, row)
                one.waits += sum(call.category == "wait" for call in row["calls"])
            elif row.get("summary") and len(out) == 1 and one.runs[0].cli.name in SUMMARIES:
                one.summaries += tokens_of(row)
    return out


@dataclass
class Recorded:
    """The sessions of the program with one id of an agent, oldest first, and their parts together."""

    sessions: list[dict]
    main: Work = field(default_factory=Work)
    agents: Work = field(default_factory=Work)
    plan: list[tuple[str, str]] = field(default_factory=list)


def add_tools(work: Work, summaries: list[dict]) -> None:
    for tool in summaries:
        work.tools[tool["category"]] += tool["count"]
        work.failures[tool["category"]] += tool["errors"]


def recorded(trial: Trial) -> dict[str | None, Recorded]:
    """By the agent's id of the session."""
    out: dict[str | None, Recorded] = {}
    listed = [session for session in trial.ask("session", "list")["sessions"] if session["session_id"] not in trial.known]
    for listed in sorted(listed, key=lambda one: one["started_at"]):
        session = trial.ask("session", "show", listed["session_id"])
        one = out.setdefault(session["external_id"], Recorded([]))
        one.sessions.append(session)
        one.main.findings += [finding["text"] for finding in session["findings"]]
        for transcript in session["transcripts"]:
            one.main.tokens += Counter({key: transcript["tokens"][key] for key in ("input", "output", "cache_read")})
            add_tools(one.main, transcript["tool_summaries"])
            one.main.files |= set(transcript["files_modified"])
            one.plan = [(task["text"], task["status"]) for task in transcript["pending_tasks"]]
            for agent in transcript["subagents"]:
                add_tools(one.agents, agent["tools"])
                one.agents.files |= set(agent["files_modified"])
                one.agents.tokens += Counter({key: agent["tokens"][key] for key in ("input", "output", "cache_read")})
    return out


def hooks_of(trial: Trial, ran: Ran) -> list[dict]:
    """The hooks of a run: by its session, where several ran at once."""
    rows = [row for row in trial.hooks if ran.begun <= row["at"] <= ran.ended + 1 and row["agent"] == ran.cli.name]
    return [row for row in rows if not ran.session or ran.session in row["stdin"]]


def tasks(trial: Trial, one: Served) -> list[str]:
    """What may be the task of a session: the user's prompts, and what the agent said it to be."""
    calls = [call.arguments for row in trial.model.served for call in row.get("calls", []) if call.category == "mcp" and isinstance(call.arguments, dict)]
    said = [arguments[key] for arguments in calls for key in ("task", "task_summary") if key in arguments]
    return [run.run["prompt"] for run in one.runs] + said


def contexts(row: dict) -> list[str]:
    """The texts for the model in a hook's answer."""
    try:
        answer = json.loads(row["stdout"] or "{}")
    except ValueError:
        return [row["stdout"]]
    values = list(answer.values()) + list((answer.get("hookSpecificOutput") or {}).values())
    return [value for value in values if isinstance(value, str) and MARK in value]


def requests_of(trial: Trial, ran: Ran) -> list[str]:
    """The requests of a run's conversation, as they reached the model."""
    return [row["request"] for row in trial.model.served if row["run"] == ran.run["name"] and not row["side"]]
