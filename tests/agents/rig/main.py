"""Drives the agents and prints a table of what holds: `main.py AGENT SCENARIO`; an empty name, or a part of one, chooses several."""

import json
import os
import statistics
import sys
import time

import cannot
import record
from assertions import ASSERTIONS, Seen
from clis import CLIS, OTHER
from facts import contexts
from scenarios import SCENARIOS
from trial import Trial


def schemas(request: str) -> int:
    """The characters of the schemas of our tools in a request."""
    tools = json.loads(request).get("tools") or []
    listed = [one for tool in tools for one in tool.get("functionDeclarations") or [tool.get("function", tool)]]
    return sum(len(json.dumps(tool)) for tool in listed if "empirica" in tool.get("name", ""))


def in_request(text: str, request: str) -> bool:
    """Whether a request has a hook's text, as a string of JSON, which agents wrap and end as they like."""
    lines = [line for line in text.splitlines() if line]
    return all(json.dumps(line, ensure_ascii=form)[1:-1] in request for line in lines for form in [request.isascii()])


def figures(trials: list[Trial]) -> str:
    """What the program costs an agent: the time of its hooks, and its part of all that was sent to the model."""
    times = sorted(row["ms"] for trial in trials for row in trial.hooks)
    whole = told = schema = 0
    for trial in trials:
        texts = {text for row in trial.hooks for text in contexts(row)}
        for request in (row["request"] for row in trial.model.served if not row["side"]):
            whole += len(request)
            told += sum(len(text) for text in texts if in_request(text, request))
            schema += schemas(request)
    if not times or not whole:
        return "nothing was measured"
    p95 = times[-(len(times) // 20) - 1]
    return f"{len(times)} hooks, median {statistics.median(times):.0f} ms, p95 {p95:.0f} ms; of all requests, {100 * told / whole:.2f} % text of hooks, {100 * schema / whole:.1f} % schemas of tools"


def checked(agent: str, name: str, trial: Trial) -> dict[str, list[str]]:
    """The faults of each assertion that applies."""
    seen, out = Seen(trial), {}
    for assertion, function in ASSERTIONS.items():
        if cannot.reason(agent, name, assertion) is None:
            try:
                faults = function(seen)
            except Exception as error:
                faults = [f"{type(error).__name__}: {error}"]
            if faults is not None:
                out[assertion] = faults
    return out


def main() -> int:
    wanted = [*sys.argv[1:], "", ""][:2]
    agents = [name for name in CLIS if wanted[0] in name]
    table: dict[tuple[str, str], dict[str, bool]] = {}
    failed, measured = 0, []
    for agent in agents:
        if not CLIS[agent].is_installed():
            print(f"{agent} is not installed")
            continue
        trials = []
        for name, runs in SCENARIOS.items():
            exact = wanted[1] in SCENARIOS
            if (name != wanted[1] if exact else wanted[1] not in name) or cannot.reason(agent, name):
                continue
            if name == "together" and not CLIS[OTHER[agent]].is_installed():
                print(f"{agent} {name}: {OTHER[agent]} is not installed")
                continue
            began = time.time()
            try:
                trial = Trial(agent, name, runs).run()
                found = checked(agent, name, trial)
                trials.append(trial)
                if os.environ.get("EMPIRICA_RECORD") and not found["played"]:
                    record.write(trial)
            except Exception as error:
                found = {"played": [f"{type(error).__name__}: {error}"]}
            for assertion, why in found.items():
                table.setdefault((name, assertion), {})[agent] = not why
            faults = [f"\n    {assertion}: {'; '.join(why)[:500]}" for assertion, why in found.items() if why]
            failed += len(faults)
            print(f"{'FAILED' if faults else 'ok':6} {agent} {name} ({len(found)} assertions, {time.time() - began:.1f} s){''.join(faults)}")
        measured.append(f"{agent}: {figures(trials)}")

    shown = [agent for agent in agents if any(agent in row for row in table.values())]
    print(f"\n{'scenario':12} {'assertion':18}" + "".join(f"{agent:>13}" for agent in shown))
    for (name, assertion), row in table.items():
        cells = ("-" if agent not in row else "ok" if row[agent] else "FAILED" for agent in shown)
        print(f"{name:12} {assertion:18}" + "".join(f"{cell:>13}" for cell in cells))
    print("\nMeasured:", *measured, sep="\n  ")
    print("\nLeft out:")
    for (agent, name, assertion), reason in cannot.CANNOT.items():
        print(f"  {agent or 'every agent'} {name} {assertion}: {reason}".replace("  ", " "))
    number = sum(len(row) for row in table.values())
    print(f"\n{number} assertions, {failed} failed")
    return 1 if failed or not number else 0


sys.exit(main())
