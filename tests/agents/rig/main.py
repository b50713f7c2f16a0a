"""Drives the agents and prints a table of what holds: `main.py AGENT SCENARIO`; an empty name, or a part of one, chooses several."""

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


def figures(trials: list[Trial]) -> str:
    """What the hooks of an agent cost: time, and text at a start in relation to the request."""
    times = sorted(row["ms"] for trial in trials for row in trial.hooks)
    starts = [len(text) for trial in trials for row in trial.hooks for text in contexts(row)]
    requests = [len(row["request"]) for trial in trials for row in trial.model.served if not row["side"]]
    if not times or not requests:
        return "nothing was measured"
    share = f", their texts {max(starts)} characters at most, of requests with {statistics.median(requests):.0f}" if starts else ", no text"
    return f"{len(times)} hooks, median {statistics.median(times):.0f} ms, the longest {times[-1]} ms{share}"


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
    faults, measured = [], []
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
                faults += [f"{agent} {name}: {assertion}: {'; '.join(why)[:500]}"] if why else []
            failed = [assertion for assertion, why in found.items() if why]
            result = f"FAILED {', '.join(failed)}" if failed else f"ok ({len(found)})"
            print(f"{agent:12} {name:12} {time.time() - began:5.1f} s  {result}", flush=True)
        measured.append(f"{agent}: {figures(trials)}")

    shown = [agent for agent in agents if any(agent in row for row in table.values())]
    print(f"\n{'scenario':12} {'assertion':18}" + "".join(f"{agent:>13}" for agent in shown))
    for (name, assertion), row in table.items():
        cells = ("-" if agent not in row else "ok" if row[agent] else "FAILED" for agent in shown)
        print(f"{name:12} {assertion:18}" + "".join(f"{cell:>13}" for cell in cells))
    for title, lines in (("Failed", faults), ("Measured", measured)):
        print(f"\n{title}:" + "".join(f"\n  {line}" for line in lines or ["nothing"]))
    print("\nLeft out:")
    for (agent, name, assertion), reason in cannot.CANNOT.items():
        print(f"  {agent or 'every agent'} {name} {assertion}: {reason}".replace("  ", " "))
    number = sum(len(row) for row in table.values())
    print(f"\n{number} assertions, {len(faults)} failed")
    return 1 if faults or not number else 0


sys.exit(main())
