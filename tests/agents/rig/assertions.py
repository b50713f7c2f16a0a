"""What must hold after a trial. Each function gives the faults of one assertion, or None if the assertion does not apply."""

import json
import re
from collections.abc import Callable

from cannot import snapshots_of
from facts import MARK, Recorded, Served, contexts, hooks_of, recorded, requests_of, served, tasks
from trial import Trial

# How the text about a file begins.
KNOWN = "what was logged about this code"
# The tags around what agents logged, as the agent shows them.
TAGS = re.compile(r"^[<‹]/?(records-[0-9]{9})[>›]", re.MULTILINE)
# The longest that a hook may take, in milliseconds.
HOOK_LIMIT = 2000


class Seen:
    """A trial with its facts: pairs of what was served and what was recorded, by the agent's id."""

    def __init__(self, trial: Trial):
        self.trial = trial
        # the next command catches up with transcripts that were written after the agent's last hook
        trial.ask("resume")
        self.served, self.recorded = served(trial), recorded(trial)
        self.doctor = trial.ask("doctor")

    def pairs(self) -> list[tuple[Served, Recorded]]:
        return [(one, self.recorded.get(ident, Recorded([]))) for ident, one in self.served.items()]

    def has(self, key: str) -> bool:
        return any(key in run for run in self.trial.runs)

    def did(self, work: Callable) -> bool:
        return any(work(one) for one in self.served.values())


def different(what: str, wanted, found) -> list[str]:
    return [] if wanted == found else [f"{what} {shown(found)}, not {shown(wanted)}"]


def shown(value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} {count}" for key, count in sorted(value.items()) if count) + "}"
    return str(sorted(value) if isinstance(value, set) else value)


def played(seen: Seen) -> list[str]:
    """The scenario was played to its end: else the others say nothing about the program."""
    trial = seen.trial
    out = [f"{ran.run['name']}: exit {ran.exit}: {ran.error.strip()[-200:]}" for ran in trial.ran if ran.exit != 0]
    out += [f"{ran.run['name']}: no id of its session" for ran in trial.ran if not ran.session]
    out += [f"{run}: not all turns were served" for run in trial.model.left()]
    for row in trial.model.served:
        out += [row["error"]] if "error" in row else [f"{row['run']}: no tool for {tool}" for tool in row.get("lacks", [])]
        out += [f"{row['run']}: went on after its end"] if row.get("beyond") else []
    return out


def sessions(seen: Seen) -> list[str]:
    """Each session of an agent is one of the program, with its id and name; a resumed one goes on in it, or in one that continues it."""
    out = different("ids", set(seen.served), set(seen.recorded) - {None})
    if None in seen.recorded:
        out.append(f"{len(seen.recorded[None].sessions)} session(s) without an id of the agent")
    ran = seen.trial.ran
    for one, record in seen.pairs():
        out += different("agents", {one.runs[0].cli.name}, {session["ai_id"] for session in record.sessions})
        # Claude Code resumes a session before it forks it
        forks = sum(after.run["how"] == "fork" and before in one.runs for before, after in zip(ran, ran[1:]))
        if len(record.sessions) > len(one.runs) + forks:
            out.append(f"{len(record.sessions)} sessions of {len(one.runs)} run(s)")
        for before, after in zip(record.sessions, record.sessions[1:]):
            out += different("from", before["session_id"], after["from"])
    return out


def task(seen: Seen) -> list[str]:
    """The task is the user's prompt, or what the agent said it to be."""
    out = []
    for one, record in seen.pairs():
        out += [f"task {session['task']!r}" for session in record.sessions if session["task"] not in tasks(seen.trial, one)]
    return out


def tokens(seen: Seen) -> list[str]:
    """To the token, with those of sub-agents."""
    out = []
    for one, record in seen.pairs():
        out += different("tokens", one.main.tokens + one.agents.tokens + one.summaries, record.main.tokens)
    return out


def tools(seen: Seen) -> list[str]:
    """Each call in its category; waiting for a sub-agent is a task or counts with the unknown tools."""
    out = []
    for one, record in seen.pairs():
        wanted, found = +one.main.tools, +record.main.tools
        if one.waits and found["task"] < wanted["task"] + one.waits:
            wanted["mcp"] += one.waits
        elif one.waits:
            wanted["task"] += one.waits
        out += different("tools", wanted, found)
    return out


def failures(seen: Seen) -> list[str] | None:
    """Commands and edits that failed, and no others."""
    return [fault for one, record in seen.pairs() for fault in different("failures", +one.main.failures, +record.main.failures)]


def files(seen: Seen) -> list[str] | None:
    """Files that an edit changed; not those of failed ones."""
    if not seen.did(lambda one: one.main.files | one.agents.files):
        return None
    return [fault for one, record in seen.pairs() for fault in different("files", one.main.files | one.agents.files, record.main.files | record.agents.files)]


def plan(seen: Seen) -> list[str] | None:
    """Its open entries are pending tasks with their state."""
    if not seen.has("plan"):
        return None
    return [fault for one, record in seen.pairs() for fault in different("plan", one.runs[-1].run["plan"], record.plan)]


def sub_agents(seen: Seen) -> list[str] | None:
    """Their work is marked, with its tools, files, failures and tokens."""
    if not seen.did(lambda one: one.agents.tools):
        return None
    out = []
    for one, record in seen.pairs():
        for what in ("tools", "failures", "files", "tokens"):
            out += different(what, getattr(one.agents, what), getattr(record.agents, what))
    return out


def findings(seen: Seen) -> list[str] | None:
    """Each is in the session of the agent that logged it."""
    if not seen.did(lambda one: one.main.findings):
        return None
    return [fault for one, record in seen.pairs() for fault in different("findings", one.main.findings, record.main.findings)]


def goes_on(seen: Seen) -> list[str] | None:
    """A resumed session is not told that it has started."""
    later = [ran for ran in seen.trial.ran if ran.run["how"] in ("resume", "continue")]
    if not later:
        return None
    told = [text for ran in later for row in hooks_of(seen.trial, ran) for text in contexts(row)]
    return [text.splitlines()[0] for text in told if "has started" in text]


def child(seen: Seen) -> list[str] | None:
    """A fork is a child of its parent."""
    forks = [n for n, ran in enumerate(seen.trial.ran) if ran.run["how"] == "fork"]
    if not forks:
        return None
    out = []
    for n in forks:
        parent, fork = (seen.recorded.get(seen.trial.ran[at].session) for at in (n - 1, n))
        if not parent or not fork or parent is fork:
            out.append("no session of its own")
        else:
            if fork.sessions[0]["from"] not in [session["session_id"] for session in parent.sessions]:
                out.append(f"from {fork.sessions[0]['from']}, which is no session of the parent")
    return out


def hooks(seen: Seen) -> list[str]:
    """They exit with 0 in time, and print nothing on standard error."""
    out = [] if seen.trial.hooks else ["no hook was called"]
    for row in seen.trial.hooks:
        if row["exit"] != 0 or row["stderr"] or row["ms"] > HOOK_LIMIT:
            out.append(f"{row['agent']} {row['event']}: exit {row['exit']}, {row['ms']} ms, {row['stderr'][:100]!r}")
    return out


def doctor(seen: Seen) -> list[str]:
    """No error of a hook, and the setup is whole."""
    return [f"{check['check']}: {check['what']}" for check in seen.doctor["checks"] if not check["ok"]]


def handoff(seen: Seen) -> list[str] | None:
    """At its end a session that did something has a handoff."""
    useful = [(one, record) for one, record in seen.pairs() if one.main.tools]
    return [f"{one.runs[0].cli.name}: none" for one, record in useful if not any(session["handoffs"] for session in record.sessions)]


def ended(seen: Seen) -> list[str]:
    return [f"{session['external_id']} is active" for _, record in seen.pairs() for session in record.sessions if session["active"]]


def start_context(seen: Seen) -> list[str] | None:
    """What earlier sessions found reaches the model."""
    runs = [ran for ran in seen.trial.ran if "shows" in ran.run]
    return missing(seen, runs, lambda ran: [MARK, ran.run["shows"]]) if runs else None


def drift(seen: Seen) -> list[str] | None:
    """An unsafe CHECK is told to the model with the next prompt."""
    runs = [ran for ran in seen.trial.ran if "warns" in ran.run]
    return missing(seen, runs, lambda _: [MARK, "Drift:"]) if runs else None


def guard(seen: Seen) -> list[str] | None:
    """What is known of a file reaches the model with the request after it was read, once."""
    runs = [ran for ran in seen.trial.ran if "knows" in ran.run]
    if not runs:
        return None
    out = []
    for ran in runs:
        first, *later = [[line for line in request.split("\\n") if KNOWN in line] for request in requests_of(seen.trial, ran)]
        told = [text for row in hooks_of(seen.trial, ran) for text in contexts(row) if KNOWN in text]
        out += different("texts", 1, len(told))
        out += [] if not first else ["it was told before the file was read"]
        out += different("requests after it without it", [], [n for n, lines in enumerate(later, 2) if len(lines) != 1])
        out += [f"{text!r}" for text in told if ran.run["knows"] not in text or len(TAGS.findall(text)) != 2 or len(set(TAGS.findall(text))) != 1]
        out += [f"not whole: {text!r}" for text in told if not all(said(text) in request for request in requests_of(seen.trial, ran)[1:])]
    return out


def said(text: str) -> str:
    """A text as it is in a request."""
    return json.dumps(text.strip(), ensure_ascii=False)[1:-1]


def missing(seen: Seen, runs: list, wanted: Callable) -> list[str]:
    out = []
    for ran in runs:
        requests = requests_of(seen.trial, ran)
        # the conversation of a resumed session repeats what its first run was told
        told = [text for row in hooks_of(seen.trial, ran) for text in contexts(row)]
        reached = [text for text in told if any(said(text) in request for request in requests)]
        if not reached:
            out.append(f"{ran.run['name']}: {len(told)} texts, none reached the model")
        elif not any(all(word in text for word in wanted(ran)) for text in reached):
            out.append(f"{ran.run['name']}: {reached[0][:300]!r}")
    return out


def snapshots(seen: Seen) -> list[str]:
    """A snapshot before a compaction and one after it; none without."""
    number = snapshots_of(seen.trial.agent, seen.trial.scenario)
    return [fault for _, record in seen.pairs() for fault in different("snapshots", number, sum(len(session["checkpoints"]) for session in record.sessions))]


def after_compaction(seen: Seen) -> list[str] | None:
    """What was found before it reaches the model."""
    if seen.trial.scenario != "compaction":
        return None
    faults = [missing(seen, [ran], lambda _: [MARK, "After", "The files have few words"]) for ran in seen.trial.ran[1:]]
    return [] if [] in faults else faults[0] + faults[1]


def compacted(seen: Seen) -> list[str] | None:
    """The agent asked for a summary: else the trial says nothing."""
    if seen.trial.scenario != "compaction":
        return None
    return [] if any(row.get("summary") for row in seen.trial.model.served) else ["it did not compact"]


ASSERTIONS = {
    function.__name__.replace("_", " "): function
    for function in (
        played, compacted, sessions, task, tokens, tools, failures, files, plan, sub_agents, findings, goes_on, child, start_context, drift,
        guard, snapshots, after_compaction, hooks, doctor, handoff, ended,
    )
}  # fmt: skip
